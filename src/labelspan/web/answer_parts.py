"""Parts that answers share: lookups with refusals, pages, and items of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from typing_extensions import TypedDict

from .._texts import shortened
from ..answers import HitData, hit_data
from ..index import Hit, Item, Tag
from ..index.inputs import label_name
from ..index.passages import passage
from .requests import Refused
from .schema import Count
from .snapshot import Snapshot

__all__ = [
    "Asked",
    "PageData",
    "ShownHitData",
    "find_item",
    "find_label",
    "hits_data",
    "labels_by_count",
    "page_of",
]

_SUGGESTED = 5

Asked = Mapping[str, Any]
_T = TypeVar("_T")


def find_item(snapshot: Snapshot, name: str) -> Item:
    """Return an item by its id; unlike ``index.item``, do not look for similar ids."""
    missing = Refused(404, f"There is no item {_shortened(name)} in this index.")
    if name not in snapshot.index:
        raise missing
    found = snapshot.index.items([name])
    if not found:
        # A writer has removed it since the index was loaded.
        raise missing
    return found[0]


def find_label(snapshot: Snapshot, name: str) -> int:
    """Return the number of items that have a label, by any of its names."""
    count, vocabulary = snapshot.labels.get(label_name(name)), snapshot.index.vocabulary
    if count is None and vocabulary is not None:
        count = snapshot.labels.get(vocabulary.preferred(label_name(name)) or name)
    if count is None:
        raise Refused(404, f"No item of this index has the label {_shortened(name)}.")
    return count


def _shortened(name: str) -> str:
    return repr(shortened(name, 60))


class PageData(TypedDict):
    """Fields that every paged answer has."""

    count: Annotated[Count, "number of entries that match, on all pages"]
    page: Annotated[Count, "number of this page"]
    pages: Annotated[Count, "number of pages"]


def page_of(asked: Asked, found: Sequence[_T], each: int) -> tuple[list[_T], PageData]:
    """Return the entries of a page; a page that does not exist is refused."""
    page, pages = asked["page"], max(1, -(-len(found) // each))
    if page > pages:
        raise Refused(404, f"page: there are pages 1 to {pages}.")
    shown = list(found[(page - 1) * each : page * each])
    return shown, {"count": len(found), "page": page, "pages": pages}


def labels_by_count(snapshot: Snapshot) -> list[tuple[str, int]]:
    """Return all labels with their numbers of items, the most frequent first."""
    return sorted(snapshot.labels.items(), key=lambda pair: (-pair[1], pair[0]))


class ShownHitData(HitData):
    """An item in the list of a page."""

    words: Annotated[list[str], "words of title and snippet that were searched for"]
    suggested: Annotated[list[Tag], "labels that are predicted, and that it does not have"]


def hits_data(
    snapshot: Snapshot,
    hits: Sequence[Hit],
    q: str = "",
    *,
    scored: bool = True,
    suggest: bool = True,
) -> list[ShownHitData]:
    """Return items of a list with passages that have words of a query, and labels they may lack."""
    ids = [hit.id for hit in hits]
    predicted = snapshot.predicted(ids, chosen=True) if suggest else [[] for _ in hits]
    wanted = snapshot.query_words(q)
    shown = [passage(hit, wanted) for hit in hits]
    return [
        {
            **hit_data(hit, scored=scored),
            "title": part.title,
            "snippet": part.text,
            "words": list(part.words),
            "suggested": _suggested(tags, hit.labels),
        }
        for hit, tags, part in zip(hits, predicted, shown, strict=True)
    ]


def _suggested(tags: Sequence[Tag], own: Sequence[str] | None) -> list[Tag]:
    return [tag for tag in tags if tag.label not in (own or ())][:_SUGGESTED]
