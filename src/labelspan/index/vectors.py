"""Unit vectors of the items: search among them, and places by known labels.

Scores of queries with all rows are computed as float32 products, block by block. Their rounding
depends on the block, so they only select candidates; the candidates are ranked by cosines in
float64. The answer is therefore the same for one query and for many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._typing import Array

__all__ = [
    "LabelDirections",
    "UnitVectors",
    "kth_largest",
    "label_parts",
    "label_places",
    "unit_rows",
]

# Row numbers, best first, and their cosines.
Ranked = tuple[Array, Array]

# A block of scores, queries by items, of 16 MiB.
_SCORES_AT_ONCE = 1 << 22
_QUERIES_AT_ONCE = 256
_ROWS_AT_ONCE = 1 << 12
_GROUP = 32
# Rows from which the spread of the items is estimated.
_SAMPLE = 1 << 14


def unit_rows(rows: Array) -> Array:
    """Scale rows to length 1, in float32; rows of zeros stay zero."""
    wide = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.asarray(wide / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def kth_largest(values: Array, k: int) -> float:
    """Return a number that at least ``k`` values reach: the k-th largest, or slightly less.

    It is the k-th largest maximum of groups, which is found faster if there are many values.
    """
    groups = len(values) // _GROUP
    if groups >= 8 * k:
        whole = groups * _GROUP
        maxima = values[:whole].reshape(groups, _GROUP).max(axis=1)
        values = np.append(maxima, values[whole:])
    return float(np.partition(values, len(values) - k)[len(values) - k])


class UnitVectors:
    """Rows of a fixed array, which may be memory-mapped, followed by rows added later.

    A row keeps its number; a removed row is skipped. Rows of the array can have other values.
    """

    def __init__(self, base: Array) -> None:
        # Fixed array with the first rows, and the number of dimensions.
        self.base, self.width = base, int(base.shape[1])
        self._tail = np.zeros((0, base.shape[1]), dtype=np.float32)
        self.alive = np.ones(base.shape[0], dtype=bool)
        # Rows of the fixed array that have other values, increasing, and these.
        self.moved = np.zeros(0, dtype=np.intp)
        self._values = self._tail
        # Twice the largest rounding error of a product of unit vectors in float32.
        self.slack = (self.width + 2) * float(np.finfo(np.float32).eps)

    @property
    def queries_at_once(self) -> int:
        """Number of queries whose products with all rows fit into one block of scores."""
        return max(1, min(_QUERIES_AT_ONCE, _SCORES_AT_ONCE // max(1, self.alive.size)))

    def append(self, rows: Array) -> None:
        """Add rows at the end."""
        self._tail = np.concatenate([self._tail, np.asarray(rows, dtype=np.float32)])
        self.alive = np.concatenate([self.alive, np.ones(len(rows), dtype=bool)])

    def put(self, rows: Array, values: Array) -> None:
        """Give some rows, increasing, other values."""
        late = rows >= len(self.base)
        self._tail = self._tail.copy()
        self._tail[rows[late] - len(self.base)] = values[late]
        stay = ~np.isin(self.moved, rows)
        every = np.concatenate([self.moved[stay], rows[~late]])
        order = np.argsort(every)
        both = np.concatenate([self._values[stay], np.asarray(values[~late], dtype=np.float32)])
        self.moved, self._values = every[order], both[order]

    def drop(self, rows: Array) -> None:
        """Skip some rows from now on."""
        self.alive = self.alive.copy()
        self.alive[rows] = False

    def rows(self, numbers: Array) -> Array:
        """Return the vectors in some rows."""
        numbers = np.asarray(numbers, dtype=np.intp)
        late = numbers >= len(self.base)
        if not late.any() and not self.moved.size:
            return np.asarray(self.base[numbers])
        out = np.empty((numbers.size, self.width), dtype=np.float32)
        out[~late] = self.base[numbers[~late]]
        out[late] = self._tail[numbers[late] - len(self.base)]
        if self.moved.size:
            at = np.minimum(np.searchsorted(self.moved, numbers), self.moved.size - 1)
            there = self.moved[at] == numbers
            out[there] = self._values[at[there]]
        return out

    def blocks(self, step: int = _ROWS_AT_ONCE) -> Iterator[tuple[int, Array]]:
        """Yield blocks of rows, each with the number of its first row."""
        for first, array in ((0, self.base), (len(self.base), self._tail)):
            for start in range(0, len(array), step):
                stop = min(start + step, len(array))
                low, high = np.searchsorted(self.moved, (start, stop))
                if first or low == high:
                    yield first + start, array[start:stop]
                else:
                    yield start, self.rows(np.arange(start, stop))

    def products(self, queries: Array) -> Array:
        """Compute the products of queries with all rows, including removed ones, in float32."""
        out: Array = np.empty((len(queries), self.alive.size), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(queries, self.base.T, out=out[:, : len(self.base)])
            out[:, len(self.base) :] = queries @ self._tail.T
            out[:, self.moved] = queries @ self._values.T
        return out

    def estimates(self, query: Array, rows: Array) -> Array:
        """Compute the products of a query with some rows in float32.

        Not by BLAS, whose kernels may raise the flag of an invalid operation where all numbers are
        finite (seen with OpenBLAS on AVX-512), which would be a warning in the middle of a search.
        """
        return np.asarray(np.einsum("ij,j->i", self.rows(rows), query))

    def top(self, queries: Array, k: int, mask: Array | None = None) -> list[Ranked]:
        """Find for each unit query the rows with the best positive cosines, best first.

        ``mask`` marks the rows that may be found; None allows all that were not removed.
        """
        mask = self.alive if mask is None else mask
        if not mask.any():
            return [(np.zeros(0, dtype=np.intp), np.zeros(0))] * len(queries)
        found: list[Ranked] = []
        for start in range(0, len(queries), self.queries_at_once):
            part = queries[start : start + self.queries_at_once]
            for query, products in zip(part, self.products(part), strict=True):
                allowed = np.where(mask, products, 0.0)
                # A product is off by at most half of the slack.
                least = self.slack / 2
                if allowed.size > k:
                    least = max(least, kth_largest(allowed, k) - self.slack)
                found.append(self.rank(query, np.flatnonzero(allowed >= least), k))
        return found

    def rank(self, query: Array, rows: Array, k: int) -> Ranked:
        """Rank some rows by positive cosines, and equal ones by number; keep the best ``k``."""
        scores = self.cosines(query, rows)
        order = np.lexsort((rows, -scores))
        order = order[scores[order] > 0][:k]
        return rows[order], np.minimum(scores[order], 1.0)

    def cosines(self, query: Array, rows: Array) -> Array:
        """Compute cosines in float64; those that float32 cannot distinguish from 0 are 0."""
        wide = query.astype(np.float64)
        # Summed row by row: a matrix product would round differently for other sets of rows.
        scores = np.concatenate(
            [np.zeros(0)]
            + [
                np.einsum("ij,j->i", self.rows(rows[start : start + _ROWS_AT_ONCE]), wide)
                for start in range(0, len(rows), _ROWS_AT_ONCE)
            ]
        )
        return np.where(scores > self.slack, scores, 0.0)

    def moments(self) -> tuple[Array, Array]:
        """Compute the mean of the rows and of their outer products, on a sample if there are many.

        The sample is the same for rows in one array and for rows that were added one by one.
        """
        kept = np.flatnonzero(self.alive)
        rows = self.rows(kept[:: max(1, -(-len(kept) // _SAMPLE))]).astype(np.float64)
        count = max(1, len(rows))
        # A damaged file that is read without checks may hold any number.
        with np.errstate(over="ignore", invalid="ignore"):
            return rows.sum(axis=0) / count, rows.T @ rows / count


# --- places by known labels -----------------------------------------------------------------


class LabelDirections(NamedTuple):
    """What known labels add to the place of an item: directions (k, m) and means (k,)."""

    directions: Array
    means: Array


def label_places(
    vectors: UnitVectors, labels: sparse.csr_matrix, found: LabelDirections
) -> UnitVectors:
    """Place items by their known labels as well as by their texts, for "more like this".

    An item whose labels are known lies closer to items that share them if the labels are added to
    its vector: in the space of an estimator with ``label_directions_`` its place is

        (u + p / r) / |u + p / r|,    p = (y - label_means_) @ label_directions_,

    with its unit vector u and r the root mean square of the lengths of all p. Queries of texts are
    compared with u: their labels are unknown. Labels without a direction are ignored.
    """
    places, scale = label_parts(labels, found)
    for first, block in vectors.blocks():
        own = slice(first, first + len(block))
        places[own] = unit_rows(block + scale * places[own])
    return UnitVectors(places)


def label_parts(labels: sparse.csr_matrix, found: LabelDirections) -> tuple[Array, float]:
    """Return p of :func:`label_places` for all rows, zeros without a label, and 1 / r."""
    directions = np.asarray(found.directions, dtype=np.float64)
    shift = np.asarray(found.means, dtype=np.float64) @ directions
    labels = labels[:, : len(directions)]
    unplaced = np.diff(labels.indptr) == 0
    parts = np.zeros((labels.shape[0], directions.shape[1]), dtype=np.float32)
    for first in range(0, len(parts), _ROWS_AT_ONCE):
        own = slice(first, first + _ROWS_AT_ONCE)
        parts[own] = labels[own] @ directions - shift
        parts[own][unplaced[own]] = 0.0
    square = float(np.einsum("ij,ij->", parts, parts, dtype=np.float64))
    return parts, 1 / np.sqrt(square / np.count_nonzero(~unplaced)) if square > 0 else 0.0
