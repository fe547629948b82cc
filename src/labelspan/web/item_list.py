"""The list of items: those that match a text and filters, and counts over all of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from typing_extensions import TypedDict

from .._texts import csv_text
from .._typing import Array
from ..answers import item_data, rounded
from ..curation import SavedSearches
from ..curation.audit_results import KINDS
from ..errors import InvalidInput
from ..index import Hit
from ..index.browsing import Facet, ItemList
from ..index.label_tree import LabelNode, label_separator
from ..index.metadata_fields import FieldKind, metadata_text
from .answer_parts import Asked, PageData, ShownHitData, find_label, hits_data, page_of
from .endpoint import File
from .requests import LONGEST_QUERY, Refused, text_input, texts_input, whole_input
from .schema import Count, json_text
from .snapshot import Snapshot

__all__ = [
    "BALANCE_INPUT",
    "QUERY",
    "SELECTION",
    "SORT",
    "ids",
    "matches",
    "range_of",
    "search",
    "send_lines",
    "send_table",
]

# Corners of a polygon on the map: whole numbers x.y, separated by underscores.
_LASSO = r"(-?[0-9]{1,5}\.-?[0-9]{1,5}(_-?[0-9]{1,5}\.-?[0-9]{1,5}){2,199})?"
# A key of the metadata, and the ends of a range; one end may be missing.
_RANGE = r"[\s\S]+:[-+.0-9eE]{0,40}\.\.[-+.0-9eE]{0,40}"
QUERY = text_input("q", "The text to search for.", largest=LONGEST_QUERY)
BALANCE_INPUT = whole_input(
    "balance",
    "Weight of the space in percent: 0 compares only words, 100 only meaning; -1 is that of the "
    "index: 40, or 50 with a language model.",
    -1,
    100,
    -1,
)

# What selects items, in the list, in its downloads and on the map.
SELECTION = (
    QUERY,
    BALANCE_INPUT,
    texts_input("label", "Only items with this label; an * at its end matches any end."),
    texts_input("without", "Only items without this label; an * as above."),
    texts_input("meta", "Only items with one of these values of a key, as key=value."),
    texts_input("without_meta", "Only items without this metadata, as key=value."),
    texts_input(
        "range",
        "Only items whose metadata lies between two numbers or dates, as key:low..high.",
        _RANGE,
    ),
    text_input("finding", "Only items about which the audit has found something of this kind."),
    text_input(
        "lasso",
        "Only items inside this polygon on the map: corners as x.y, separated by underscores.",
        pattern=_LASSO,
    ),
    text_input(
        "match",
        "Empty for the items that match; close for those that are only close in meaning.",
        pattern="(close)?",
    ),
)
SORT = text_input("sort", "What to sort by: title, id, labels, or meta.KEY; reversed by a minus.")
_CARDS, _ROWS = 20, 50
_MOST_COLUMNS = 3
_MOST_GROUPS = 20
_FEW, _FEW_LABELS, _MOST = 6, 20, 300
_ITEMS_AT_ONCE = 500
_COLUMNS = ["id", "title", "text", "score", "labels"]
# What a spreadsheet takes for the beginning of a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


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
    balance: Annotated[Count, "weight of the space in percent"]
    problem: Annotated[str, "why the language model of the index is not used; else empty"]


def search(snapshot: Snapshot, asked: Asked) -> SearchData:
    """List the items that match, and count labels and metadata over all of them."""
    found = browse(snapshot, asked)
    table = asked["show"] == "table"
    each = _ROWS if table else _CARDS
    numbers, page = page_of(asked, range(len(found)), each)
    hits = found.page(page["page"], each) if numbers else []
    # After the last item that matches, a group of its own.
    near = found.close if page["page"] == page["pages"] else None
    fields, usual = snapshot.index.fields(), snapshot.index.model.balance

    def shown(hits: list[Hit]) -> list[ShownHitData]:
        return hits_data(snapshot, hits, asked["q"], scored=found.scored, suggest=not table)

    return {
        **page,
        "unknown": _unknown(snapshot, asked["q"]) if found.unknown else [],
        "sorts": ["title", "labels", *(f"meta.{key}" for key in fields)],
        "columns": [key for key, kind in fields.items() if kind != "text"][:_MOST_COLUMNS],
        "hits": shown(hits),
        "close": shown([] if near is None else near.page(1, each)),
        "close_count": 0 if found.close is None else len(found.close),
        "groups": _groups(found, asked),
        "facets": [_facet(one, asked) for one in found.facets(_MOST)] if found.total else [],
        "saved": SavedSearches(snapshot.index).all(),
        "balance": asked["balance"] if asked["balance"] >= 0 else round(100 * usual),
        "problem": snapshot.index.problem,
    }


class IdsData(TypedDict):
    """The answer of ``/search/ids.json``."""

    ids: Annotated[list[str], "of all items of the list, in its order"]


def ids(snapshot: Snapshot, asked: Asked) -> IdsData:
    """Return the ids of all items of a list."""
    return {"ids": browse(snapshot, asked).ids}


class MatchesData(TypedDict):
    """The answer of ``/map/matches.json``."""

    count: Annotated[Count, "number of items that match"]
    points: Annotated[list[Count], "their positions in the points of the map, the best first"]


def matches(snapshot: Snapshot, asked: Asked) -> MatchesData:
    """Return which points of the map are items that match."""
    found = browse(snapshot, {**asked, "sort": ""})
    return {"count": found.total, "points": found.positions.tolist()}


# --- which items ----------------------------------------------------------------------------


def balance_of(asked: Asked) -> float | None:
    """Return the weight of the space that is asked for; None for that of the index."""
    return asked["balance"] / 100 if asked["balance"] >= 0 else None


def browse(snapshot: Snapshot, asked: Asked) -> ItemList:
    """Return the items that match a request; the last few lists are cached."""
    for name in (*asked["label"], *asked["without"]):
        if not name.endswith("*"):
            find_label(snapshot, name)
    fields = snapshot.index.fields()
    chosen = _pairs(asked["meta"], fields) | _ranges(asked["range"], fields)
    wanted = {
        "labels": list(asked["label"]),
        "without": list(asked["without"]),
        "metadata": chosen,
        "without_metadata": _pairs(asked["without_meta"], fields),
    }

    def make() -> ItemList:
        try:
            return snapshot.index.browse(
                asked["q"],
                wanted,
                balance=balance_of(asked),
                sort=asked["sort"],
                within=_within(snapshot, asked),
            )
        except InvalidInput as error:
            # A text can be wrong; anything else does not exist.
            raise Refused(400 if asked["q"].startswith("-") else 404, str(error)) from None

    key = tuple(asked[one.name] for one in (*SELECTION, SORT) if one.name != "match")
    found: ItemList = snapshot.cached(key, make)
    return found.close if asked["match"] and found.close is not None else found


def _pairs(pairs: Sequence[str], fields: Mapping[str, str]) -> dict[str, Any]:
    """Read pairs key=value; several values of a key are alternatives."""
    found: dict[str, Any] = defaultdict(list)
    for pair in pairs:
        keys = [key for key in fields if pair.startswith(f"{key}=")]
        if not keys:
            raise Refused(404, f"meta: no item has the metadata {pair[:60]!r}.")
        key = max(keys, key=len)
        found[key].append(pair[len(key) + 1 :])
    return dict(found)


def _ranges(ranges: Sequence[str], fields: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in ranges:
        key, low, high = range_of(one)
        if fields.get(key) not in ("number", "date"):
            raise Refused(404, f"range: {key[:60]!r} is not a key of numbers or dates.")
        ends: dict[str, Any] = {"from": low, "to": high}
        if fields[key] == "number":
            ends = {name: _number(end) for name, end in ends.items()}
        found[key] = {name: end for name, end in ends.items() if end not in ("", None)}
    return found


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
        raise Refused(400, f"range: {end[:40]!r} is not a number.") from None


def _within(snapshot: Snapshot, asked: Asked) -> Array | None:
    """Return a mask of the items that a finding is about, and that lie inside a polygon."""
    if not asked["finding"] and not asked["lasso"]:
        return None
    ids = snapshot.index.ids
    mask = np.ones(len(ids), dtype=bool)
    if asked["finding"]:
        names = _concerned(snapshot, asked["finding"])
        mask &= np.fromiter((name in names for name in ids), bool, len(ids))
    if asked["lasso"]:
        mask &= _inside(snapshot, asked["lasso"])
    return mask


def _concerned(snapshot: Snapshot, kind: str) -> set[str]:
    """Return the ids of the items about which the audit has found something."""
    if kind not in KINDS:
        raise Refused(404, f"finding: choose one of {', '.join(KINDS)}.")
    snapshot.start_audit()
    if snapshot.audit_state == "computing":
        raise Refused(503, "The audit is being computed; try again.", {"retry-after": "2"})
    return {name for one in snapshot.findings if one.kind == kind for name in one.items}


def _inside(snapshot: Snapshot, lasso: str) -> Array:
    """Return a mask of the items inside a polygon on the map."""
    drawn = snapshot.map
    if drawn is None and snapshot.map_state == "failed":
        raise Refused(404, "lasso: there is no map of this index.")
    if drawn is None:
        raise Refused(503, "The map is being drawn; try again.", {"retry-after": "2"})
    corners = np.array([corner.split(".") for corner in lasso.split("_")], dtype=np.float64)
    return drawn.inside(corners)


# --- what to narrow down by -----------------------------------------------------------------


def _unknown(snapshot: Snapshot, q: str) -> list[SpellingData]:
    return [
        {"word": word, "near": near, "queries": [_replaced(q, word, other) for other in near]}
        for word, near in snapshot.index.unknown_words(q).items()
    ]


def _replaced(q: str, word: str, other: str) -> str:
    return re.sub(re.escape(word), lambda _: other, q, flags=re.IGNORECASE)


def _groups(found: ItemList, asked: Asked) -> list[GroupData]:
    """Return the labels by the deepest visible group; below a chosen group, by its subgroups."""
    labels, tree = found.label_counts(), found.label_tree()
    if tree:
        # Labels with narrower ones are groups; one with several broader ones is in one of them.
        nodes = [(up, node) for top in tree for up, node in _below(top, "")]
        groups = {node.label: node.total for _, node in nodes if node.narrower}
        above, end = {node.label: up for up, node in reversed(nodes)}, "*"
    else:
        groups = found.group_counts()
        separator = label_separator(list(labels)) if groups else ""
        names_of = (*labels, *groups)
        above = {one: one.rpartition(separator)[0] if separator else "" for one in names_of}
        end = f"{separator}*"
    unfolded = {one.removesuffix(end) for one in (*asked["label"], *asked["open"])}
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
    made: list[GroupData] = []
    for group, count in [*shown, *rest]:
        most = _MOST if group in unfolded or (not group and "labels" in asked["open"]) else 0
        own = inside[group]
        part = own[: most or (_FEW if group else _FEW_LABELS)]
        made.append(
            {
                "group": group,
                "pattern": f"{group}{end}" if group else "labels",
                "count": count,
                "labels": dict(part),
                "more": len(own) - len(part),
            }
        )
    return made


def _below(node: LabelNode, up: str) -> Iterator[tuple[str, LabelNode]]:
    yield up, node
    for one in node.narrower:
        yield from _below(one, node.label)


def _facet(one: Facet, asked: Asked) -> FacetData:
    most = _MOST if f"meta.{one.field}" in asked["open"] else _FEW
    values = () if one.bins else one.counts
    ends = next((ends for ends in map(range_of, asked["range"]) if ends[0] == one.field), None)
    return {
        "field": one.field,
        "kind": one.kind,
        "values": dict(values[:most]),
        "more": 0 if one.bins else one.more + max(0, len(values) - most),
        "bins": [
            {"low": metadata_text(low), "high": metadata_text(high), "count": count}
            for low, high, count in one.bins
        ],
        "low": ends[1] if ends else "",
        "high": ends[2] if ends else "",
    }


# --- downloads ------------------------------------------------------------------------------


def _found(snapshot: Snapshot, asked: Asked) -> Iterator[list[dict[str, Any]]]:
    """Yield all items that match, a few hundred at once; a wrong request is refused at once."""
    found = browse(snapshot, asked)
    return (
        [
            {
                **item_data(hit),
                "text": hit.text,
                "score": rounded(hit.score) if found.scored else None,
            }
            for hit in hits
        ]
        for hits in found.blocks(_ITEMS_AT_ONCE)
    )


def send_table(snapshot: Snapshot, asked: Asked) -> File:
    """Send all items of a list as a table."""
    parts, keys = _found(snapshot, asked), list(snapshot.index.fields())
    # A title of the metadata is the title; other keys do not repeat the name of a column.
    own = [key for key in keys if key != "title"]

    def texts() -> Iterator[bytes]:
        yield _csv([[*_COLUMNS, *(f"meta.{key}" if key in _COLUMNS else key for key in own)]])
        for rows in parts:
            yield _csv(
                [
                    [
                        row["id"],
                        row["metadata"].get("title") or row["title"],
                        row["text"],
                        row["score"],
                        "|".join(row["labels"] or ()),
                        *(row["metadata"].get(key, "") for key in own),
                    ]
                    for row in rows
                ]
            )

    return File("items.csv", texts())


def _csv(rows: Sequence[Sequence[Any]]) -> bytes:
    return csv_text(([_cell(value) for value in row] for row in rows), end="\r\n").encode()


def _cell(value: Any) -> Any:
    """Return a cell that a spreadsheet does not compute: what looks like a formula gets a quote."""
    if value is None or type(value) in (int, float):
        return value
    text = metadata_text(value).replace("\0", "\ufffd")
    return f"'{text}" if text.startswith(_FORMULAS) else text


def send_lines(snapshot: Snapshot, asked: Asked) -> File:
    """Send all items of a list as lines of JSON."""
    parts = _found(snapshot, asked)
    lines = ("".join(f"{json_text(row)}\n" for row in rows).encode() for rows in parts)
    return File("items.jsonl", lines)
