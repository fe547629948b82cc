"""Unit vectors of the items, and exact search among them.

Scores of many queries with many rows are computed as float32 products, block by block. Their
rounding depends on the block, so they only select candidates; the candidates are ranked by
cosines in float64. The answer is therefore the same for one query and for many.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import Array

__all__ = ["Ranked", "UnitVectors", "unit_rows"]

# Row numbers, best first, and their cosines.
Ranked = tuple[Array, Array]

# A block of scores, queries by items, of 16 MiB.
_SCORES_AT_ONCE = 1 << 22
_QUERIES_AT_ONCE = 256
_ROWS_AT_ONCE = 1 << 14
_GROUP = 64
# Rows from which the spread of the items is estimated.
_SAMPLE = 1 << 14


def unit_rows(rows: Array) -> Array:
    """Scale rows to length 1, in float32; rows of zeros stay zero."""
    wide = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.asarray(wide / np.where(norms > 0, norms, 1.0), dtype=np.float32)


class UnitVectors:
    """Rows of a fixed array, which may be memory-mapped, followed by rows added later.

    A row keeps its number; a removed row is skipped.
    """

    def __init__(self, base: Array) -> None:
        self._base = base
        self._tail = np.zeros((0, base.shape[1]), dtype=np.float32)
        self.alive = np.ones(base.shape[0], dtype=bool)
        # A float32 dot product of two unit vectors is off by less than half of this.
        self._slack = (self.width + 2) * float(np.finfo(np.float32).eps)

    @property
    def base(self) -> Array:
        """Fixed array with the first rows."""
        return self._base

    @property
    def width(self) -> int:
        """Number of dimensions."""
        return int(self._base.shape[1])

    @property
    def slack(self) -> float:
        """Twice the largest rounding error of a product in float32."""
        return self._slack

    @property
    def queries_at_once(self) -> int:
        """Number of queries whose products with all rows fit into one block of scores."""
        return max(1, min(_QUERIES_AT_ONCE, _SCORES_AT_ONCE // max(1, self.alive.size)))

    def append(self, rows: Array) -> None:
        """Add rows at the end."""
        needed = self.alive.size + len(rows)
        used = self.alive.size - len(self._base)
        if needed - len(self._base) > len(self._tail):
            room = max(2 * len(self._tail), used + len(rows), 64)
            grown = np.zeros((room, self.width), dtype=np.float32)
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
        late = numbers >= len(self._base)
        out[~late] = self._base[numbers[~late]]
        out[late] = self._tail[numbers[late] - len(self._base)]
        return out

    def top(self, queries: Array, k: int, mask: Array | None = None) -> list[Ranked]:
        """Find for each unit query the rows with the best positive cosines, best first.

        Rows with equal cosines come in row order. ``mask`` marks the rows that may be found;
        None allows all that were not removed. Cosines that float32 cannot distinguish from zero
        count as zero.
        """
        mask = self.alive if mask is None else mask
        found: list[Ranked] = []
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            part = queries[start : start + _QUERIES_AT_ONCE]
            candidates = _Candidates(len(part), k, self._slack)
            for first, block in self._blocks(max(1, _SCORES_AT_ONCE // len(part))):
                open_rows = np.flatnonzero(mask[first : first + len(block)])
                if open_rows.size:
                    candidates.take(_scores(part, block, open_rows), first + open_rows)
            found += [
                self.rank(query, rows, k)
                for query, rows in zip(part, candidates.rows(), strict=True)
            ]
        return found

    def products(self, queries: Array) -> Array:
        """Compute the products of queries with all rows, in float32; removed rows included."""
        out: Array = np.empty((len(queries), self.alive.size), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for first, block in self._blocks(_SCORES_AT_ONCE):
                np.matmul(queries, block.T, out=out[:, first : first + len(block)])
        return out

    def cosines(self, query: Array, rows: Array) -> Array:
        """Compute cosines in float64; those that float32 cannot tell from 0 are 0."""
        wide = query.astype(np.float64)
        # Summed row by row: a matrix product would round differently for other sets of rows.
        scores = np.concatenate(
            [np.zeros(0)]
            + [
                (self.rows(rows[start : start + _ROWS_AT_ONCE]) * wide).sum(axis=1)
                for start in range(0, len(rows), _ROWS_AT_ONCE)
            ]
        )
        return np.where(scores > self._slack, scores, 0.0)

    def moments(self) -> tuple[Array, Array]:
        """Compute the mean of the rows and of their outer products, on a sample if there are many.

        The sample is the same for rows in one array and for rows that were added one by one.
        """
        kept = np.flatnonzero(self.alive)
        rows = self.rows(kept[:: max(1, -(-len(kept) // _SAMPLE))])
        count = max(1, len(rows))
        # A damaged file that is read without checks may hold any number.
        with np.errstate(over="ignore", invalid="ignore"):
            return (
                rows.sum(axis=0, dtype=np.float64) / count,
                np.asarray(rows.T @ rows, dtype=np.float64) / count,
            )

    def rank(self, query: Array, rows: Array, k: int) -> Ranked:
        """Rank some rows by cosines in float64; keep the best ``k``."""
        scores = self.cosines(query, rows)
        order = np.lexsort((rows, -scores))
        order = order[scores[order] > 0][:k]
        return rows[order], np.minimum(scores[order], 1.0)

    def _blocks(self, step: int) -> Iterator[tuple[int, Array]]:
        """Yield blocks of rows, each with the number of its first row."""
        used = self.alive.size - len(self._base)
        for first, array in ((0, self._base), (len(self._base), self._tail[:used])):
            for start in range(0, len(array), step):
                yield first + start, array[start : start + step]


def _scores(queries: Array, block: Array, open_rows: Array) -> Array:
    """Compute products of queries with some rows of a block."""
    if 2 * open_rows.size < len(block):
        return np.asarray(queries @ block[open_rows].T)
    scores: Array = queries @ block.T
    return scores if open_rows.size == len(block) else scores[:, open_rows]


class _Candidates:
    """Rows that may be among the k best of each query, from scores given block by block."""

    def __init__(self, count: int, k: int, slack: float) -> None:
        self._count, self._k, self._slack = count, k, slack
        # The k best maxima of groups of rows: at least k rows score as high as the least of them.
        self._best = np.zeros((count, 0), dtype=np.float32)
        self._found: list[tuple[Array, Array, Array]] = []

    def take(self, scores: Array, rows: Array) -> None:
        """Keep the rows of a block that may be among the best."""
        width = max(1, min(_GROUP, rows.size // (4 * self._k)))
        whole = rows.size - rows.size % width
        groups = scores[:, :whole].reshape(self._count, -1, width).max(axis=2)
        best = np.hstack([self._best, groups])
        if best.shape[1] > self._k:
            best = np.partition(best, best.shape[1] - self._k, axis=1)[:, -self._k :]
        self._best = best
        places = np.flatnonzero(scores >= self._least()[:, None])
        own, column = np.divmod(places, rows.size)
        self._found.append((own, rows[column], scores.reshape(-1)[places]))

    def _least(self) -> Array:
        """Return for each query a lower bound on the score of its k best rows."""
        least: Array = np.full(self._count, self._slack / 2, dtype=np.float32)
        if self._best.shape[1] == self._k:
            least = np.maximum(least, self._best.min(axis=1) - np.float32(self._slack))
        return least

    def rows(self) -> list[Array]:
        """Return the remaining rows for each query, in row order."""
        if not self._found:
            return [np.zeros(0, dtype=np.intp)] * self._count
        own, rows, scores = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        left = scores >= self._least()[own]
        own, rows = own[left], rows[left]
        order = np.lexsort((rows, own))
        ends = np.searchsorted(own[order], np.arange(1, self._count))
        return np.split(rows[order], ends)
