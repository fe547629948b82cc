"""The answer of the comparison: the items that two spaces find for a text, next to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypedDict

from ..index import Hit
from ..text import parse_query
from .answer_parts import Asked, HitData, hits_data
from .http_errors import Refused
from .schema import Count
from .snapshot import Snapshot

__all__ = ["compare", "compared"]


class FoundData(HitData):
    """An item that one side has found."""

    elsewhere: Annotated[Count | None, "its place on the other side; null if it is not there"]
    here: Annotated[bool, "whether the index that is served has it"]


class SideData(TypedDict):
    """What one side has found."""

    name: Annotated[str, "name of the index"]
    about: Annotated[str, "the method and the number of dimensions"]
    hits: Annotated[list[FoundData], "items, the best first"]


class CompareData(TypedDict):
    """The answer of ``/compare``."""

    common: Annotated[Count, "number of items that both sides have found"]
    sides: Annotated[list[SideData], "two sides"]


def compare(snapshot: Snapshot, asked: Asked) -> CompareData:
    """Search by meaning in two indexes."""
    q, k = asked["q"], asked["k"]
    if snapshot.compare_with is None:
        raise Refused(404, "There is one index; start the server with --compare-with for another.")
    parsed = parse_query(q)
    if parsed.excludes and not parsed.text.strip():
        raise Refused(400, "q: it only says what to leave out; add a word to search for.")
    with snapshot.compare_with() as other:
        both = (snapshot, other)
        hits = [own.index.search(q, k, balance=1.0) if q.strip() else [] for own in both]
        sides: list[SideData] = [
            {
                "name": own.name,
                "about": about_space(own),
                "hits": _found(snapshot, own, hits[n], hits[1 - n], q),
            }
            for n, own in enumerate(both)
        ]
    common = {hit.id for hit in hits[0]} & {hit.id for hit in hits[1]}
    return {"common": len(common), "sides": sides}


def compared(snapshot: Snapshot) -> str:
    """Return what the comparison shows next to each other; empty if there is one index."""
    if snapshot.compare_with is None:
        return ""
    with snapshot.compare_with() as other:
        return f"{snapshot.name} and {other.name}"


def about_space(snapshot: Snapshot) -> str:
    """Return the method of an index and its number of dimensions."""
    count = snapshot.index.n_dimensions
    method = type(snapshot.index.space).__name__
    return f"{method}, {count:,} dimension{'' if count == 1 else 's'}"


def _found(
    served: Snapshot, own: Snapshot, hits: Sequence[Hit], others: Sequence[Hit], q: str
) -> list[FoundData]:
    places = {hit.id: number for number, hit in enumerate(others, 1)}
    # Labels are those of the index that is served: the other may have been fitted without any.
    here = served.index.items([hit.id for hit in hits if hit.id in served.index])
    labels = {item.id: None if item.labels is None else list(item.labels) for item in here}
    return [
        {
            **one,
            "labels": labels.get(one["id"], one["labels"]),
            "elsewhere": places.get(one["id"]),
            "here": one["id"] in served.index,
        }
        for one in hits_data(own, hits, q, suggest=False)
    ]
