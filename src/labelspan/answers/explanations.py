"""Why an item was found, and what a dimension of the embedding is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from .._axis_ends import Entry
from .._typing import Array, TypedDict
from ..errors import InvalidInput, NotFound
from ..index import SemanticIndex, Tag
from ..index.results import WordShare
from .common import Count, Given, find_item, find_label, rounded
from .lists import balance_of

__all__ = ["axis", "why"]

# On the page of an axis.
_WORDS, _LABELS, _ITEMS, _BARS = 8, 6, 5, 30
# Items of a large index whose coordinates are counted, evenly spaced.
_MOST_ITEMS = 50_000


class AxisShareData(TypedDict):
    """What one axis adds to the cosine."""

    axis: Count
    share: float
    end: Annotated[Literal["high", "low"], "where both query and item lie"]
    words: list[str]
    labels: list[str]


class WhyData(TypedDict):
    """The answer of ``/why``."""

    title: Annotated[str, "first line of the item"]
    score: Annotated[float, "as in the search"]
    from_words: Annotated[float, "part of it from words of the query"]
    from_space: Annotated[float, "part of it from closeness in the embedding"]
    exact: Annotated[
        Literal["id", "title"] | None, "whether the query is the id or the title of the item"
    ]
    matches: Annotated[list[WordShare], "words of the query in the item"]
    cosine: Annotated[float, "cosine similarity of query and item"]
    words: Annotated[list[WordShare], "words of the query, and what they add to the cosine"]
    axes: Annotated[list[AxisShareData], "the axes that add most to the cosine"]
    labels: Annotated[list[Tag], "labels of the item"]


class AxisItemData(TypedDict):
    """An item far out on an axis."""

    id: str
    title: Annotated[str, "first line of the text"]
    value: Annotated[float, "its coordinate, from -1 to 1"]


class EndData(TypedDict):
    """One end of an axis, the strongest entries first."""

    words: Annotated[list[str], "without those that say nothing, such as articles"]
    labels: list[str]
    items: list[AxisItemData]


class AxisData(TypedDict):
    """The answer of ``/axis``."""

    number: Annotated[Count, "from 0"]
    count: Annotated[Count, "number of axes"]
    eigenvalue: float
    low: EndData
    high: EndData
    bars: Annotated[list[Count], "number of items in equal steps from the least to the largest"]
    least: Annotated[float, "smallest coordinate of an item"]
    largest: Annotated[float, "largest coordinate of an item"]


def why(index: SemanticIndex, given: Given) -> WhyData:
    """Explain why an item was found: the axes, words and labels it shares with a query."""
    item, q, near = find_item(index, given["id"]), given["q"], given["label"]
    for name in near:
        find_label(index, name)
    if not q.strip() and not near:
        raise InvalidInput("q: it is empty; give the text that was searched for.")
    text = q if q.strip() else None
    explained = index.explain(text, item.id, labels=() if text else near, balance=balance_of(given))
    return {
        "title": item.title,
        "score": rounded(explained.score),
        "from_words": rounded(explained.from_words),
        "from_space": rounded(explained.from_space),
        "exact": explained.exact,
        "matches": list(explained.matches),
        "cosine": rounded(explained.cosine),
        "words": list(explained.words),
        "axes": [
            {
                "axis": share.axis.number,
                "share": rounded(share.share),
                "end": share.end,
                "words": _telling(index, share.words),
                "labels": [str(name) for name, _ in share.labels],
            }
            for share in explained.axes
        ],
        "labels": list(explained.labels),
    }


def _telling(index: SemanticIndex, words: Sequence[Entry]) -> list[str]:
    """Return words without those that say nothing by themselves, such as articles."""
    search = index.store.words
    common: frozenset[str] = frozenset() if search is None else search.vocabulary.analyzer.common
    return [str(name) for name, _ in words if not common & set(str(name).split())]


def axis(index: SemanticIndex, given: Given) -> AxisData:
    """Describe a dimension of the embedding by words, labels and items at its ends."""
    number, count = given["number"], index.n_dimensions
    if number >= count:
        raise NotFound(f"number: there are axes 0 to {count - 1}.")
    (described,) = index.axes(4 * _WORDS, [number])
    ids = index.ids[:: max(1, -(-len(index) // _MOST_ITEMS))]
    values = np.asarray(index.vectors(ids))[:, number]
    order = np.argsort(values, kind="stable")

    def end(words: Sequence[Entry], labels: Sequence[Entry], rows: Array) -> EndData:
        value = {ids[row]: float(values[row]) for row in rows}
        # An item that a writer removes meanwhile is not there.
        items = index.items([name for name in value if name in index])
        return {
            "words": _telling(index, words)[:_WORDS],
            "labels": [str(name) for name, _ in labels[:_LABELS]],
            "items": [
                {"id": item.id, "title": item.title, "value": rounded(value[item.id])}
                for item in items
            ],
        }

    return {
        "number": number,
        "count": count,
        "eigenvalue": float(f"{described.eigenvalue:.4g}"),
        "low": end(described.words.low, described.labels.low, order[:_ITEMS]),
        "high": end(described.words.high, described.labels.high, order[::-1][:_ITEMS]),
        "bars": np.histogram(values, _BARS)[0].tolist(),
        "least": rounded(values.min()),
        "largest": rounded(values.max()),
    }
