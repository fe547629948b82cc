"""Lists of items: those that match a text and filters, and counts over all of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from .._texts import shortened
from .._typing import Array, TypedDict
from ..curation import SavedSearches
from ..errors import InvalidInput, NotFound
from ..index import Hit, SemanticIndex
from ..index.browsing import Facet, ItemList
from ..index.label_tree import LabelNode, label_separator
from ..index.metadata_fields import FieldKind, metadata_text
from .common import Count, Given, PageData, cached, find_item, find_label, page_of, rounded
from .items import ItemData, ItemListData, ShownHitData, hits_data, item_data, short_hits

__all__ = ["Mask", "RowData", "balance_of", "ids", "items", "matches", "range_of", "rows", "search"]

# Marks the items that a request selects by what is not in the index: findings, a part of the map.
Mask = Callable[[Given], Array | None]


def _every(given: Given) -> None:
    """Select all items."""


_CARDS, _ROWS = 20, 50
_MOST_COLUMNS = 3
_MOST_GROUPS = 20
_FEW, _FEW_LABELS, _MOST = 6, 20, 300
# Items of a download that are read at once.
ITEMS_AT_ONCE = 500


class BinData(TypedDict):
    """A part of a range, both ends included, and the number of items in it."""

    low: str
    high: str
    count: Count


class FacetData(TypedDict):
    """A key of the metadata: its most frequent values, or for numbers and dates a histogram."""

    field: str
    kind: FieldKind
    values: Annotated[dict[str, Count], "and their numbers of items"]
    more: Annotated[Count, "number of further values"]
    bins: list[BinData]
    low: Annotated[str, "from where items are chosen; empty if there is no limit"]
    high: Annotated[str, "up to where items are chosen; empty if there is no limit"]


class GroupData(TypedDict):
    """Labels with the same beginning; without a name, labels that have none."""

    group: str
    pattern: Annotated[str, "what to give as a label for all of them"]
    count: Annotated[Count, "number of items with one of its labels"]
    labels: Annotated[dict[str, Count], "the most frequent of them"]
    more: Annotated[Count, "number of further labels"]


class SpellingData(TypedDict):
    """A word of the query that no item has, and queries with words that are spelt nearly so."""

    word: str
    near: list[str]
    queries: list[str]


class SearchData(PageData):
    """The answer of ``/search``."""

    unknown: Annotated[list[SpellingData], "words of the query that no item has"]
    sorts: Annotated[list[str], "what the items can be sorted by"]
    columns: Annotated[list[str], "keys of the metadata that a table shows"]
    hits: Annotated[list[ShownHitData], "items of this page"]
    close: Annotated[
        list[ShownHitData], "on the last page: the first that are only close in meaning"
    ]
    close_count: Annotated[Count, "number of items that are only close in meaning; in no count"]
    groups: Annotated[list[GroupData], "labels of all items that match, by their beginnings"]
    facets: Annotated[list[FacetData], "metadata of all items that match"]
    saved: Annotated[dict[str, str], "saved searches: the query string of each name"]
    balance: Annotated[Count, "weight of the embedding in percent"]
    problem: Annotated[str, "why the language model of the index is not used; else empty"]


class IdsData(TypedDict):
    """The answer of ``/search/ids.json``."""

    ids: Annotated[list[str], "of all items of the list, in its order"]


class MatchesData(TypedDict):
    """The answer of ``/map/matches.json``."""

    count: Annotated[Count, "number of items that match"]
    points: Annotated[list[Count], "their positions in the points of the map, the best first"]


class RowData(ItemData):
    """An item in a file to download."""

    text: str
    score: Annotated[float | None, "null if there was no query"]


def search(index: SemanticIndex, given: Given, mask: Mask = _every) -> SearchData:
    """List the items that match, and count labels and metadata over all of them."""
    listed = browse(index, given, mask)
    table = given["show"] == "table"
    size = _ROWS if table else _CARDS
    numbers, page = page_of(given, range(len(listed)), size)
    hits = listed.page(page["page"], size) if numbers else []
    # After the last item that matches, a group of its own.
    near = listed.close if page["page"] == page["pages"] else None
    fields, usual = index.fields(), index.model.balance

    def shown(hits: list[Hit]) -> list[ShownHitData]:
        return hits_data(index, hits, given["q"], scored=listed.scored, suggest=not table)

    return {
        **page,
        "unknown": _unknown(index, given["q"]) if listed.unknown else [],
        "sorts": ["title", "labels", *(f"meta.{key}" for key in fields if key != "title")],
        "columns": [key for key, kind in fields.items() if kind != "text"][:_MOST_COLUMNS],
        "hits": shown(hits),
        "close": shown([] if near is None else near.page(1, size)),
        "close_count": 0 if listed.close is None else len(listed.close),
        "groups": _groups(listed, given),
        "facets": [_facet(facet, given) for facet in listed.facets(_MOST)] if listed.total else [],
        "saved": SavedSearches(index).all(),
        "balance": given["balance"] if given["balance"] >= 0 else round(100 * usual),
        "problem": index.problem,
    }


def items(index: SemanticIndex, given: Given) -> ItemListData:
    """Find items by a text, labels and metadata; without a text, list them."""
    listed = browse(index, given)
    if not len(listed) and listed.close is not None and len(listed.close):
        # Nothing has the words: what is close in meaning is better than nothing.
        listed = listed.close
    numbers, page = page_of(given, range(len(listed)), given["k"])
    hits = listed.page(page["page"], given["k"]) if numbers else []
    return {**page, "items": short_hits(hits, scored=listed.scored)}


def ids(index: SemanticIndex, given: Given, mask: Mask = _every) -> IdsData:
    """Return the ids of all items of a list."""
    return {"ids": browse(index, given, mask).ids}


def matches(index: SemanticIndex, given: Given, mask: Mask = _every) -> MatchesData:
    """Return which points of the map are items that match."""
    listed = browse(index, {**given, "sort": ""}, mask)
    return {"count": listed.total, "points": listed.positions.tolist()}


def rows(index: SemanticIndex, given: Given, mask: Mask = _every) -> Iterator[list[RowData]]:
    """Yield all items that match, a few hundred at once; a wrong request is refused at once."""
    listed = browse(index, given, mask)

    def row(hit: Hit) -> RowData:
        score = rounded(hit.score) if listed.scored else None
        return {**item_data(hit), "text": hit.text, "score": score}

    return ([row(hit) for hit in hits] for hits in listed.blocks(ITEMS_AT_ONCE))


# --- which items ----------------------------------------------------------------------------


def balance_of(given: Given) -> float | None:
    """Return the weight of the space that is asked for; None for that of the index."""
    return given["balance"] / 100 if given["balance"] >= 0 else None


def browse(index: SemanticIndex, given: Given, mask: Mask = _every) -> ItemList:
    """Return the items that match a request; the last few lists are cached."""
    for name in (*given["label"], *given["without"]):
        if not name.endswith("*"):
            find_label(index, name)
    for name in given["linked"]:
        find_item(index, name)
    fields = index.fields()
    filters = {
        "labels": list(given["label"]),
        "without": list(given["without"]),
        "linked": list(given["linked"]),
        "metadata": _pairs(given["meta"], fields) | _ranges(given["range"], fields),
        "without_metadata": _pairs(given["without_meta"], fields),
    }

    def make() -> ItemList:
        within = mask(given)
        return index.browse(
            given["q"], filters, balance=balance_of(given), sort=given["sort"], within=within
        )

    key = tuple((name, value) for name, value in sorted(given.items()) if name not in _SHOWN)
    listed = cached(index, ("list", key), make)
    return listed.close if given.get("match") and listed.close is not None else listed


# Parameters that choose what is shown of a list, not what is in it.
_SHOWN = ("match", "page", "show", "open", "k")


def _pairs(pairs: Sequence[str], fields: Mapping[str, str]) -> dict[str, Any]:
    """Read pairs key=value; several values of a key are alternatives."""
    values: dict[str, Any] = defaultdict(list)
    for pair in pairs:
        keys = [key for key in fields if pair.startswith(f"{key}=")]
        if not keys:
            raise NotFound(f"meta: no item has the metadata {shortened(pair, 60)!r}.")
        key = max(keys, key=len)
        values[key].append(pair[len(key) + 1 :])
    return dict(values)


def _ranges(ranges: Sequence[str], fields: Mapping[str, str]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for text in ranges:
        key, low, high = range_of(text)
        if fields.get(key) not in ("number", "date"):
            raise NotFound(f"range: {shortened(key, 60)!r} is not a key of numbers or dates.")
        ends: dict[str, Any] = {"from": low, "to": high}
        if fields[key] == "number":
            ends = {name: _number(end) for name, end in ends.items()}
        read[key] = {name: end for name, end in ends.items() if end not in ("", None)}
    return read


def range_of(text: str) -> tuple[str, str, str]:
    """Return the key and the two ends of a range, for example of ``year:2001..2004``."""
    key, _, ends = text.rpartition(":")
    low, _, high = ends.partition("..")
    return key, low, high


def _number(end: str) -> float | None:
    if not end:
        return None
    try:
        return float(end)
    except ValueError:
        raise InvalidInput(f"range: {end[:40]!r} is not a number.") from None


# --- what to narrow down by -----------------------------------------------------------------


def _unknown(index: SemanticIndex, q: str) -> list[SpellingData]:
    return [
        {"word": word, "near": near, "queries": [_replaced(q, word, other) for other in near]}
        for word, near in index.unknown_words(q).items()
    ]


def _replaced(q: str, word: str, other: str) -> str:
    return re.sub(re.escape(word), lambda _: other, q, flags=re.IGNORECASE)


def _groups(listed: ItemList, given: Given) -> list[GroupData]:
    """Return the labels by the deepest visible group; below a chosen group, by its subgroups."""
    labels, tree = listed.label_counts(), listed.label_tree()
    if tree:
        # Labels with narrower ones are groups; one with several broader ones is in one of them.
        nodes = [(up, node) for top in tree for up, node in _below(top, "")]
        groups = {node.label: node.total for _, node in nodes if node.narrower}
        above, end = {node.label: up for up, node in reversed(nodes)}, "*"
    else:
        groups = listed.group_counts()
        separator = label_separator(list(labels)) if groups else ""
        above = {
            name: name.rpartition(separator)[0] if separator else "" for name in (*labels, *groups)
        }
        end = f"{separator}*"
    unfolded = {name.removesuffix(end) for name in (*given["label"], *given["open"])}
    shown = [
        (group, count)
        for group, count in groups.items()
        if not above[group] or above[group] in unfolded
    ][:_MOST_GROUPS]
    names = {group for group, _ in shown}
    inside: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for label, count in labels.items():
        group = label
        while group and group not in names:
            group = above.get(group, "")
        inside[group if group in names else ""].append((label, count))
    rest = [("", max((count for _, count in inside[""]), default=0))] if inside[""] else []
    answers: list[GroupData] = []
    for group, count in [*shown, *rest]:
        most = _MOST if group in unfolded or (not group and "labels" in given["open"]) else 0
        part = inside[group][: most or (_FEW if group else _FEW_LABELS)]
        answers.append(
            {
                "group": group,
                "pattern": f"{group}{end}" if group else "labels",
                "count": count,
                "labels": dict(part),
                "more": len(inside[group]) - len(part),
            }
        )
    return answers


def _below(node: LabelNode, up: str) -> Iterator[tuple[str, LabelNode]]:
    yield up, node
    for narrower in node.narrower:
        yield from _below(narrower, node.label)


def _facet(facet: Facet, given: Given) -> FacetData:
    most = _MOST if f"meta.{facet.field}" in given["open"] else _FEW
    values = () if facet.bins else facet.counts
    ends = next((ends for ends in map(range_of, given["range"]) if ends[0] == facet.field), None)
    return {
        "field": facet.field,
        "kind": facet.kind,
        "values": dict(values[:most]),
        "more": 0 if facet.bins else facet.more + max(0, len(values) - most),
        "bins": [
            {"low": metadata_text(low), "high": metadata_text(high), "count": count}
            for low, high, count in facet.bins
        ],
        "low": ends[1] if ends else "",
        "high": ends[2] if ends else "",
    }
