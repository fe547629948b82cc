"""An item: in a list, on its page, whole, and with similar ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from .._texts import shortened
from .._typing import TypedDict
from ..index import Hit, Item, SemanticIndex, Tag
from ..index.metadata_fields import FieldKind, metadata_text
from ..index.passages import QueryWords, SharedWords, passage, whole_title
from .common import (
    Count,
    Given,
    PageData,
    StoredLabelData,
    Unit,
    find_item,
    page_of,
    rounded,
    stored_labels,
    titles_of,
)

__all__ = [
    "HitData",
    "ItemData",
    "ItemListData",
    "ShownHitData",
    "hit_data",
    "hits_data",
    "item",
    "item_data",
    "short_hits",
    "similar",
    "whole_item",
]

_LONGEST_TEXT = 20_000
# Characters of a value of the metadata in a list.
_LONGEST_VALUE = 200
# Labels that are predicted for an item, and that a list suggests.
_PREDICTED, _SUGGESTED = 10, 5
# Links of an item that are listed.
_MOST_LINKED = 50
# What a query is more than a text by.
_SYNTAX = re.compile(r'["*]|(?<!\w)-')


class ItemData(TypedDict):
    """An item, without its text."""

    id: str
    title: Annotated[str, "first line or sentence of the text"]
    labels: Annotated[list[str] | None, "null if they are not known"]
    metadata: dict[str, Any]


class HitData(ItemData):
    """An item in a list."""

    snippet: Annotated[str, "beginning of the text, or a passage with words of the query"]
    score: Annotated[
        float | None, "share of the largest possible score, from 0 to 1; null if there is none"
    ]
    from_words: Annotated[float, "part of it from words of the query"]
    from_space: Annotated[float, "part of it from closeness in the embedding"]
    exact: Annotated[
        Literal["id", "title"] | None, "whether the query is the id or the title of the item"
    ]
    weak: Annotated[bool, "whether it has less than a third of the words"]


class ShownHitData(HitData):
    """An item in the list of a page."""

    words: Annotated[list[str], "words of title and snippet that were searched for"]
    suggested: Annotated[list[Tag], "labels that are predicted, and that it does not have"]


class ItemListData(PageData):
    """Items of a list."""

    items: Annotated[list[HitData], f"values of their metadata have {_LONGEST_VALUE} characters"]


class LinkedItemData(TypedDict):
    """An item that another one is linked with."""

    id: str
    title: str
    to: Annotated[bool, "whether the other one links to it"]
    by: Annotated[bool, "whether it links to the other one"]


class _LinksData(TypedDict):
    linked: Annotated[list[LinkedItemData], f"linked items, at most {_MOST_LINKED}"]
    links_to_nothing: Annotated[list[str], "names in its links that no item has"]


class WholeItemData(_LinksData):
    """An item, with a part of its text."""

    id: str
    title: Annotated[str, "first line or sentence of the text"]
    text: Annotated[str, "characters of the text from ``start`` on"]
    start: Count
    length: Annotated[Count, "characters of the whole text"]
    labels: Annotated[list[StoredLabelData] | None, "null if they are not known"]
    metadata: dict[str, Any]


class NeighbourData(TypedDict):
    """A similar item, and what it shares with this one."""

    id: str
    score: Annotated[Unit, "cosine similarity"]
    title: Annotated[str, "first line of the text"]
    snippet: Annotated[str, "beginning of the rest"]
    labels: Annotated[list[str] | None, "null if they are not known"]
    shared_labels: list[str]
    shared_words: Annotated[list[str], "the rarest first"]


class ItemPageData(ItemData, _LinksData):
    """The answer of ``/item``."""

    text: Annotated[str, f"at most {_LONGEST_TEXT:,} characters of it"]
    rest: Annotated[str, "the text after its title"]
    cut: Annotated[bool, "whether the text is longer"]
    fields: Annotated[dict[str, FieldKind], "what kind of values each key of the metadata has"]
    values: Annotated[dict[str, list[str]], "metadata that is shown; a list has several values"]
    predicted: Annotated[list[Tag], "the most probable labels"]
    neighbours: Annotated[list[NeighbourData], "other items, nearest in the space of labels first"]
    alike: Annotated[list[NeighbourData], "other items, nearest by the words of the text first"]
    with_links: Annotated[bool, "whether items of the index have links"]


# --- in a list ------------------------------------------------------------------------------


def item_data(item: Item) -> ItemData:
    """Return what every answer tells about an item.

    Examples
    --------
    >>> from labelspan.answers import item_data
    >>> from labelspan.index import Item
    >>> item_data(Item("gimp", "An editor", ("graphics",), {"year": 1998}))
    {'id': 'gimp', 'title': 'An editor', 'labels': ['graphics'], 'metadata': {'year': 1998}}
    """
    return {
        "id": item.id,
        "title": item.title,
        "labels": None if item.labels is None else list(item.labels),
        "metadata": item.metadata,
    }


def hit_data(hit: Hit, *, scored: bool = True) -> HitData:
    """Return what every list tells about an item; ``scored`` tells whether there was a query."""
    return {
        **item_data(hit),
        "snippet": hit.snippet,
        "score": rounded(hit.score) if scored else None,
        "from_words": rounded(hit.from_words),
        "from_space": rounded(hit.from_space),
        "exact": hit.exact,
        "weak": hit.weak,
    }


def short_hits(hits: Sequence[Hit], *, scored: bool = True) -> list[HitData]:
    """Return items of a list for programs, with the beginnings of long values."""

    def short(value: Any) -> Any:
        return shortened(value, _LONGEST_VALUE) if isinstance(value, str) else value

    answers = [hit_data(hit, scored=scored) for hit in hits]
    for answer in answers:
        answer["metadata"] = {key: short(value) for key, value in answer["metadata"].items()}
    return answers


def hits_data(
    index: SemanticIndex,
    hits: Sequence[Hit],
    q: str = "",
    *,
    scored: bool = True,
    suggest: bool = True,
) -> list[ShownHitData]:
    """Return items of a list with passages that have words of a query, and labels they may lack."""
    ids, words = [hit.id for hit in hits], index.store.words
    predicted = _predicted(index, ids, chosen=True) if suggest else [[] for _ in hits]
    query = None if words is None or not q.strip() else QueryWords(words.vocabulary, q)
    passages = [passage(hit, query) for hit in hits]
    return [
        {
            **hit_data(hit, scored=scored),
            "title": shown.title,
            "snippet": shown.text,
            "words": list(shown.words),
            "suggested": [tag for tag in tags if tag.label not in (hit.labels or ())][:_SUGGESTED],
        }
        for hit, tags, shown in zip(hits, predicted, passages, strict=True)
    ]


def _predicted(index: SemanticIndex, ids: list[str], *, chosen: bool = False) -> list[list[Tag]]:
    """Return the most probable labels of items; none where nothing can be predicted."""
    if not ids or not index.can_tag:
        return [[] for _ in ids]
    tags: list[list[Tag]] = index.tag(items=ids, k=_PREDICTED, chosen=chosen)
    return tags


# --- one of them ----------------------------------------------------------------------------


def whole_item(index: SemanticIndex, given: Given) -> WholeItemData:
    """Return an item with its text, labels and metadata."""
    item, start = find_item(index, given["id"]), given["start"]
    return {
        "id": item.id,
        "title": item.title,
        "text": item.text[start : start + given["n"]],
        "start": start,
        "length": len(item.text),
        "labels": None if item.labels is None else stored_labels(index, item.labels),
        "metadata": item.metadata,
        **_linked(index, item.id),
    }


def similar(index: SemanticIndex, given: Given) -> ItemListData:
    """Find items that are similar to a given one."""
    item, count = find_item(index, given["id"]), given["k"] * given["page"]
    hits = index.search(None, count, items=item.id)
    numbers, page = page_of(
        given, range(len(index) - 1 if len(hits) == count else len(hits)), given["k"]
    )
    return {**page, "items": short_hits([hits[number] for number in numbers])}


def item(index: SemanticIndex, given: Given) -> ItemPageData:
    """Return an item with its text, labels, predicted labels and neighbours."""
    item, words = find_item(index, given["id"]), index.store.words
    shared = None if words is None else SharedWords(words, item.text)
    title, rest = whole_title(item, _LONGEST_TEXT)
    labels = item.labels or ()

    def near(hits: Sequence[Hit]) -> list[NeighbourData]:
        return [
            {
                "id": hit.id,
                "score": rounded(hit.score),
                "title": shown.title,
                "snippet": shown.text,
                "labels": None if hit.labels is None else list(hit.labels),
                "shared_labels": [name for name in hit.labels or () if name in labels],
                "shared_words": [] if shared is None else shared.of(hit.text),
            }
            for hit, shown in ((hit, passage(hit)) for hit in hits)
        ]

    return {
        **item_data(item),
        "text": item.text[:_LONGEST_TEXT],
        "title": title,
        "rest": rest,
        "cut": len(item.text) > _LONGEST_TEXT,
        "fields": index.fields(),
        "values": _values(index, item),
        "predicted": _predicted(index, [item.id])[0],
        "neighbours": near(index.search(None, given["k"], items=item.id)),
        "alike": near(_alike(index, item, given["k"])),
        **_linked(index, item.id),
        "with_links": index.store.link_fields is not None,
    }


def _linked(index: SemanticIndex, name: str) -> _LinksData:
    """Return what an item is linked with, the items that it links to first."""
    links = index.links(name)
    names = list(dict.fromkeys((*links.to, *links.by)))[:_MOST_LINKED]
    return {
        "linked": [
            {"id": one, "title": title, "to": one in links.to, "by": one in links.by}
            for one, title in zip(names, titles_of(index, names), strict=True)
        ],
        "links_to_nothing": list(links.nothing[:_MOST_LINKED]),
    }


def _alike(index: SemanticIndex, item: Item, count: int) -> list[Hit]:
    """Return the items whose words are those of an item, without looking at labels."""
    # As a text, not as a query with phrases and words to leave out.
    text = _SYNTAX.sub(" ", item.text[:_LONGEST_TEXT]).strip()
    if index.store.words is None or not text:
        return []
    hits = index.search(text, count + 1, balance=0)
    return [hit for hit in hits if hit.id != item.id][:count]


def _values(index: SemanticIndex, item: Item) -> dict[str, list[str]]:
    """Return the values of the metadata by which the list can be filtered, one by one.

    Those that are missing, or that are the title again, are left out.
    """
    fields, shown = index.store.fields(), {}
    for key, value in item.metadata.items():
        text, field = metadata_text(value), fields.get(key)
        if value in (None, "") or text == item.title:
            continue
        several = field is not None and field.parts is not None and value in field.values
        shown[key] = field.parts[field.values.index(value)] if several else [text]  # type: ignore[index, union-attr]
    return shown
