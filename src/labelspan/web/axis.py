"""The answer of the page of an axis: words, labels and items at both ends, and all between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import numpy as np

from .._typing import Array
from .answer_parts import Asked, rounded
from .http_errors import Refused
from .schema import Count
from .snapshot import Snapshot

__all__ = ["AxisData", "axis"]

_WORDS, _LABELS, _ITEMS, _BARS = 8, 6, 5, 30
# Items of a large index whose coordinates are counted, evenly spaced.
_MOST_ITEMS = 50_000


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


def axis(snapshot: Snapshot, asked: Asked) -> AxisData:
    """Describe a dimension of the embedding."""
    index, number = snapshot.index, asked["number"]
    count = index.n_dimensions
    if number >= count:
        raise Refused(404, f"number: there are axes 0 to {count - 1}.")
    (found,) = index.axes(4 * _WORDS, [number])
    ids = index.ids[:: max(1, -(-len(index) // _MOST_ITEMS))]
    values = np.asarray(index.vectors(ids))[:, number]
    order = np.argsort(values, kind="stable")
    low = {"words": found.words.low, "labels": found.labels.low, "rows": order[:_ITEMS]}
    high = {"words": found.words.high, "labels": found.labels.high, "rows": order[::-1][:_ITEMS]}
    return {
        "number": number,
        "count": count,
        "eigenvalue": float(f"{found.eigenvalue:.4g}"),
        "low": _end(snapshot, low, ids, values),
        "high": _end(snapshot, high, ids, values),
        "bars": np.histogram(values, _BARS)[0].tolist(),
        "least": rounded(values.min()),
        "largest": rounded(values.max()),
    }


def _end(
    snapshot: Snapshot,
    end: dict[str, Any],
    ids: Sequence[str],
    values: Array,
) -> EndData:
    words = [str(word) for word, _ in end["words"] if not snapshot.common & set(str(word).split())]
    value = {ids[row]: float(values[row]) for row in end["rows"]}
    # An item that a writer removes meanwhile is not there.
    there = snapshot.index.items([name for name in value if name in snapshot.index])
    return {
        "words": words[:_WORDS],
        "labels": [str(name) for name, _ in end["labels"][:_LABELS]],
        "items": [
            {"id": item.id, "title": item.title, "value": rounded(value[item.id])} for item in there
        ],
    }
