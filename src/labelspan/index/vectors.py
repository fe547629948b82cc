"""Unit vectors of the items, exact search among them, and places by known labels.

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
    "LabelPlaces",
    "Ranked",
    "UnitVectors",
    "kth_largest",
    "ranked",
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

    A row keeps its number; a removed row is skipped.
    """

    def __init__(self, base: Array) -> None:
        # Fixed array with the first rows, and the number of dimensions.
        self.base, self.width = base, int(base.shape[1])
        self._tail = np.zeros((0, base.shape[1]), dtype=np.float32)
        self.alive = np.ones(base.shape[0], dtype=bool)
        # Twice the largest rounding error of a product of unit vectors in float32.
        self.slack = (self.width + 2) * float(np.finfo(np.float32).eps)

    @property
    def queries_at_once(self) -> int:
        """Number of queries whose products with all rows fit into one block of scores."""
        return max(1, min(_QUERIES_AT_ONCE, _SCORES_AT_ONCE // max(1, self.alive.size)))

    def append(self, rows: Array) -> None:
        """Add rows at the end."""
        used = self.alive.size - len(self.base)
        if used + len(rows) > len(self._tail):
            grown = np.zeros((max(2 * len(self._tail), used + len(rows), 64), self.width), "f4")
            grown[:used] = self._tail[:used]
            self._tail = grown
        self._tail[used : used + len(rows)] = rows
        self.alive = np.concatenate([self.alive, np.ones(len(rows), dtype=bool)])

    def drop(self, rows: Array) -> None:
        """Skip some rows from now on."""
        self.alive = self.alive.copy()
        self.alive[rows] = False

    def rows(self, numbers: Array) -> Array:
        """Return the vectors in some rows."""
        numbers = np.asarray(numbers, dtype=np.intp)
        out = np.empty((numbers.size, self.width), dtype=np.float32)
        late = numbers >= len(self.base)
        out[~late] = self.base[numbers[~late]]
        out[late] = self._tail[numbers[late] - len(self.base)]
        return out

    def blocks(self, step: int = _ROWS_AT_ONCE) -> Iterator[tuple[int, Array]]:
        """Yield blocks of rows, each with the number of its first row."""
        used = self.alive.size - len(self.base)
        for first, array in ((0, self.base), (len(self.base), self._tail[:used])):
            for start in range(0, len(array), step):
                yield first + start, array[start : start + step]

    def products(self, queries: Array) -> Array:
        """Compute the products of queries with all rows, in float32; removed rows included."""
        out: Array = np.empty((len(queries), self.alive.size), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for first, block in self.blocks(_SCORES_AT_ONCE):
                np.matmul(queries, block.T, out=out[:, first : first + len(block)])
        return out

    def top(self, queries: Array, k: int, mask: Array | None = None) -> list[Ranked]:
        """Find for each unit query the rows with the best positive cosines, best first.

        Rows with equal cosines come in row order. ``mask`` marks the rows that may be found;
        None allows all that were not removed. Cosines that float32 cannot distinguish from zero
        count as zero.
        """
        mask = self.alive if mask is None else mask
        found: list[Ranked] = []
        if not mask.any():
            return [(np.zeros(0, dtype=np.intp), np.zeros(0))] * len(queries)
        for start in range(0, len(queries), self.queries_at_once):
            part = queries[start : start + self.queries_at_once]
            found += [
                self.rank(query, _candidates(scores, k, mask, self.slack), k)
                for query, scores in zip(part, self.products(part), strict=True)
            ]
        return found

    def rank(self, query: Array, rows: Array, k: int) -> Ranked:
        """Rank some rows by cosines in float64; keep the best ``k``."""
        return ranked(rows, self.cosines(query, rows), k)

    def cosines(self, query: Array, rows: Array) -> Array:
        """Compute cosines in float64; those that float32 cannot tell from 0 are 0."""
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


def _candidates(scores: Array, k: int, mask: Array, margin: float) -> Array:
    """Return the rows that may be among the k best; scores are off by less than margin / 2."""
    allowed = np.where(mask, scores, 0.0)
    least = margin / 2
    if allowed.size > k:
        least = max(least, kth_largest(allowed, k) - margin)
    return np.flatnonzero(allowed >= least)


def ranked(rows: Array, scores: Array, k: int) -> Ranked:
    """Sort rows by positive scores, and equal ones by number; keep the best ``k``."""
    order = np.lexsort((rows, -scores))
    order = order[scores[order] > 0][:k]
    return rows[order], np.minimum(scores[order], 1.0)


# --- places by known labels -----------------------------------------------------------------


class LabelDirections(NamedTuple):
    """What known labels add to the place of an item: directions (k, m) and means (k,)."""

    directions: Array
    means: Array


class LabelPlaces:
    """Items placed by their known labels as well as by their texts, for "more like this".

    An item whose labels are known lies closer to items that share them if the labels are added to
    its vector: in the space of an estimator with ``label_directions_`` its place is

        (u + p / r) / |u + p / r|,    p = (y - label_means_) @ label_directions_,

    with its unit vector u and r the root mean square of the lengths of all p. Queries of texts are
    compared with u: their labels are unknown. Labels without a direction are ignored.
    """

    def __init__(
        self, vectors: UnitVectors, labels: sparse.csr_matrix, found: LabelDirections
    ) -> None:
        self._vectors = vectors
        self._directions = np.asarray(found.directions, dtype=np.float64)
        self._shift = np.asarray(found.means, dtype=np.float64) @ self._directions
        self._labels = labels.astype(np.float64)[:, : len(self._directions)].tocsr()
        # The rows that have a direction.
        self._placed = np.diff(self._labels.indptr) > 0
        squares, products, own = (np.zeros(vectors.alive.size) for _ in range(3))
        for first, block in vectors.blocks():
            part = np.arange(first, first + len(block))
            added, wide = self._added(part), block.astype(np.float64)
            squares[part] = np.square(added).sum(axis=1)
            products[part] = (added * wide).sum(axis=1)
            own[part] = np.square(wide).sum(axis=1)
        mean = float(squares[self._placed].mean()) if self._placed.any() else 0.0
        self._scale = 1 / np.sqrt(mean) if mean > 0 else 0.0
        total = own + 2 * self._scale * products + self._scale**2 * squares
        self._lengths = np.where(self._placed, np.sqrt(np.maximum(total, 1e-12)), 1.0)

    def _added(self, rows: Array) -> Array:
        """Sum the directions of the labels of some rows."""
        found = np.asarray(self._labels[rows] @ self._directions) - self._shift
        found[~self._placed[rows]] = 0.0
        return found

    def rows(self, numbers: Array) -> Array:
        """Return the unit vectors of the places of some rows, in float64."""
        numbers = np.asarray(numbers, dtype=np.intp)
        found = self._vectors.rows(numbers) + self._scale * self._added(numbers)
        return np.asarray(found / self._lengths[numbers, None])

    def query(self, numbers: Array) -> Array:
        """Return the unit vector of the mean place of some rows."""
        mean = self.rows(numbers).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return np.asarray(mean / length if length > 0 else mean)

    def top(self, query: Array, k: int, mask: Array) -> Ranked:
        """Find the rows whose places have the best positive cosines with a unit vector."""
        scores = self._vectors.products(query.astype(np.float32)[None])[0].astype(np.float64)
        added = np.asarray(self._labels @ (self._directions @ query)) - self._shift @ query
        scores[self._placed] += self._scale * added[self._placed]
        margin = 2 * self._vectors.slack / min(1.0, float(self._lengths.min(initial=1.0)))
        rows = _candidates(scores / self._lengths, k, mask, margin)
        return ranked(rows, (self.rows(rows) * query).sum(axis=1), k)
