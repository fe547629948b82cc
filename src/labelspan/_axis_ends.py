"""The features and labels at both ends of an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._typing import Array
from .errors import InvalidParameter

__all__ = ["Ends", "Entry", "ends"]


class Entry(NamedTuple):
    """A feature or label and its weight on an axis."""

    name: Any
    weight: float


class Ends(NamedTuple):
    """Both ends of an axis, each with its strongest entry first."""

    high: list[Entry]
    low: list[Entry]


def ends(owner: str, table: Array, names: Sequence[Any] | Array, component: int, n: int) -> Ends:
    """Return the ``n`` entries with the largest and smallest weights in a row of a table.

    Entries with a weight of zero are left out, so a sparse axis may have fewer than ``n``.
    """
    count = table.shape[0]
    if not 0 <= component < count:
        raise InvalidParameter(
            f"{owner}: component must be from 0 to {count - 1}, but {component!r} was given."
        )
    if n < 1:
        raise InvalidParameter(f"{owner}: n must be at least 1, but {n!r} was given.")
    row = table[component]
    if len(names) != row.size:
        raise InvalidParameter(
            f"{owner}: names must have {row.size} entries, but has {len(names)}."
        )
    inner = min(n, row.size)
    bounds = np.partition(row, [inner - 1, row.size - inner])
    # All entries that equal a bound, so that ties are resolved by column.
    below = np.flatnonzero(row <= bounds[inner - 1])
    above = np.flatnonzero(row >= bounds[row.size - inner])
    lowest = below[np.argsort(row[below], kind="stable")][:n]
    highest = above[np.argsort(row[above], kind="stable")][::-1][:n]
    high = [Entry(names[i], float(row[i])) for i in highest if row[i] > 0]
    low = [Entry(names[i], float(row[i])) for i in lowest if row[i] < 0]
    return Ends(high, low)
