"""An item, and an item that was found by a search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from .._typing import TypedDict
from ..index import Hit, Item

__all__ = ["HitData", "ItemData", "hit_data", "item_data", "rounded"]


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
    from_space: Annotated[float, "part of it from closeness in the space"]
    exact: Annotated[
        Literal["id", "title"] | None, "whether the query is the id or the title of the item"
    ]
    weak: Annotated[bool, "whether it has less than a third of the words"]


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


def rounded(value: float) -> float:
    """Return a number with four digits."""
    return round(float(value), 4)
