"""Pairs of rows that are nearly the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..operators.row_data import pair_products, unit_rows

__all__ = ["similar_rows"]

# Entries of a block of products.
_ENTRIES = 1 << 23
# Rows that are compared with each row, and that are listed.
_COMPARED, _LISTED = 100, 20
# Part of the squared length of a row that its rarest features must have.
_RARE = 0.5


def similar_rows(rows: Any, least: float) -> list[tuple[int, int, float]]:
    """Find the pairs of rows whose cosine is at least ``least``, with their cosines.

    A pair is listed once, the smaller number first; of a row with many such others, the nearest 20
    are listed. Without comparing all pairs: if x has unit length and x = r + c, the cosine with y
    is at most r'y + |c|, so that only rows with r'y >= least - |c| are compared, and r, the rarest
    features of x, has few features in common with other rows.
    """
    units = unit_rows(sparse.csr_matrix(rows, dtype=np.float64))
    rare = _rarest(units)
    rest = np.sqrt(np.maximum(0.0, 1 - np.asarray(rare.multiply(rare).sum(axis=1)).ravel()))
    others = units.T.tocsr()
    found: dict[tuple[int, int], float] = {}
    step = max(1, _ENTRIES // max(1, units.shape[0]))
    for start in range(0, units.shape[0], step):
        near = (rare[start : start + step] @ others).tocoo()
        row, column = near.row + start, near.col
        # Rounding must not lose equal rows.
        close = np.flatnonzero((near.data >= least - rest[row] - 1e-6) & (row != column))
        close = close[_largest(row[close], near.data[close], _COMPARED)]
        row, column = row[close], column[close]
        cosines = pair_products(units, row, units, column)
        close = np.flatnonzero(cosines >= least)
        for pair in close[_largest(row[close], cosines[close], _LISTED)]:
            a, b = sorted((int(row[pair]), int(column[pair])))
            found[a, b] = min(1.0, float(cosines[pair]))
    return [(a, b, cosine) for (a, b), cosine in sorted(found.items())]


def _rarest(units: sparse.csr_matrix) -> sparse.csr_matrix:
    """Keep of each row the rarest features, until these have the needed part of its length."""
    frequency = np.bincount(units.indices, minlength=units.shape[1])
    row = np.repeat(np.arange(units.shape[0]), np.diff(units.indptr))
    order = np.lexsort((frequency[units.indices], row))
    squares = np.square(units.data[order])
    before = np.cumsum(squares) - squares
    first = np.asarray(units.indptr[:-1])[row]
    kept = order[before - before[first] < _RARE]
    parts = (units.data[kept], (row[kept], units.indices[kept]))
    return sparse.csr_matrix(parts, shape=units.shape)


def _largest(row: Array, values: Array, most: int) -> Array:
    """Return the positions of the largest values of each row."""
    order = np.lexsort((-values, row))
    own = row[order]
    return np.asarray(order[np.arange(own.size) - np.searchsorted(own, own) < most])
