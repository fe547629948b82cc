"""Parts that answers share: lookups with refusals, pages, and items of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from typing_extensions import TypedDict

from ..index import Hit, Item, Tag
from ..index.inputs import label_name
from ..index.passages import passage
from ..index.results import Vote
from .requests import Refused
from .schema import Count, Unit
from .snapshot import Snapshot

__all__ = [
    "Asked",
    "HitData",
    "NearItemData",
    "PageData",
    "find_item",
    "find_label",
    "hits_data",
    "labels_by_count",
    "near_items",
    "page_of",
    "rounded",
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
    return repr(name if len(name) <= 60 else f"{name[:60]}…")


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


class NearItemData(TypedDict):
    """A labelled item near an item or a text."""

    id: str
    title: str
    similarity: float
    has_label: bool


def near_items(snapshot: Snapshot, votes: Sequence[Vote]) -> list[NearItemData]:
    """Return the items whose labels speak for or against a label, with their titles."""
    there = snapshot.index.items([vote.id for vote in votes if vote.id in snapshot.index])
    titles = {item.id: item.title for item in there}
    return [
        {
            "id": vote.id,
            "title": titles.get(vote.id, vote.id),
            "similarity": rounded(vote.similarity),
            "has_label": vote.has_label,
        }
        for vote in votes
    ]


def labels_by_count(snapshot: Snapshot) -> list[tuple[str, int]]:
    """Return all labels with their numbers of items, the most frequent first."""
    return sorted(snapshot.labels.items(), key=lambda pair: (-pair[1], pair[0]))


def rounded(value: float) -> float:
    """Return a number with four digits."""
    return round(float(value), 4)


class HitData(TypedDict):
    """An item in a list."""

    id: str
    score: Annotated[Unit | None, "share of the largest possible score; null if there is none"]
    from_words: Annotated[Unit, "part of it from words of the query"]
    from_space: Annotated[Unit, "part of it from closeness in the space"]
    exact: Annotated[
        Literal["id", "title"] | None, "whether the query is the id or the title of the item"
    ]
    weak: Annotated[bool, "whether it has less than a third of the words"]
    title: Annotated[str, "first line or sentence of the text"]
    snippet: Annotated[str, "a passage of the rest"]
    words: Annotated[list[str], "words of both that were searched for"]
    labels: Annotated[list[str] | None, "null if they are not known"]
    metadata: dict[str, Any]
    suggested: Annotated[list[Tag], "labels that are predicted, and that it does not have"]


def hits_data(
    snapshot: Snapshot,
    hits: Sequence[Hit],
    q: str = "",
    *,
    scored: bool = True,
    suggest: bool = True,
) -> list[HitData]:
    """Return items of a list with passages that have words of a query, and labels they may lack."""
    ids = [hit.id for hit in hits]
    predicted = snapshot.predicted(ids, chosen=True) if suggest else [[] for _ in hits]
    wanted = snapshot.query_words(q)
    shown = [passage(hit, wanted) for hit in hits]
    return [
        {
            "id": hit.id,
            "score": rounded(hit.score) if scored else None,
            "from_words": rounded(hit.from_words),
            "from_space": rounded(hit.from_space),
            "exact": hit.exact,
            "weak": hit.weak,
            "title": part.title,
            "snippet": part.text,
            "words": list(part.words),
            "labels": None if hit.labels is None else list(hit.labels),
            "metadata": hit.metadata,
            "suggested": _suggested(tags, hit.labels),
        }
        for hit, tags, part in zip(hits, predicted, shown, strict=True)
    ]


def _suggested(tags: Sequence[Tag], own: Sequence[str] | None) -> list[Tag]:
    return [tag for tag in tags if tag.label not in (own or ())][:_SUGGESTED]
