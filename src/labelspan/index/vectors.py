"""Unit vectors of the items, and exact search among them."""

from __future__ import annotations

import numpy as np

from ..operators.base import Array

__all__ = ["Vectors", "unit_rows"]

# A block of scores, queries by items, of about 64 MiB.
_SCORES_AT_ONCE = 1 << 24
_BLOCK = 64


def unit_rows(rows: Array) -> Array:
    """Rows of length 1 in float32; rows of zeros stay what they are."""
    wide = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.asarray(wide / np.where(norms > 0, norms, 1.0), dtype=np.float32)


class Vectors:
    """Rows of a fixed array, which may be a map of a file, and rows that came later.

    A row keeps its number; one that is gone is passed over.
    """

    def __init__(self, base: Array) -> None:
        self._base = base
        self._tail = np.zeros((0, base.shape[1]), dtype=np.float32)
        self.alive = np.ones(base.shape[0], dtype=bool)

    @property
    def width(self) -> int:
        """The number of dimensions."""
        return int(self._base.shape[1])

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
        """Pass over some rows from now on."""
        self.alive = self.alive.copy()
        self.alive[rows] = False

    def rows(self, numbers: Array) -> Array:
        """The vectors in some rows."""
        numbers = np.asarray(numbers, dtype=np.intp)
        out = np.empty((numbers.size, self.width), dtype=np.float32)
        late = numbers >= len(self._base)
        out[~late] = self._base[numbers[~late]]
        out[late] = self._tail[numbers[late] - len(self._base)]
        return out

    def scores(self, queries: Array) -> Array:
        """Cosines of unit queries with all rows, those that are gone included."""
        used = self.alive.size - len(self._base)
        known = queries @ self._base.T
        return known if not used else np.hstack([known, queries @ self._tail[:used].T])

    def top(
        self, queries: Array, k: int, allowed: Array | None = None
    ) -> list[tuple[Array, Array]]:
        """For each unit query the rows with the best cosines above zero, best first."""
        mask = self.alive if allowed is None else self.alive & allowed
        open_rows = np.flatnonzero(mask)
        whole = open_rows.size == mask.size
        at_once = max(1, _SCORES_AT_ONCE // max(1, self.alive.size))
        found = []
        for start in range(0, len(queries), at_once):
            scores = self.scores(queries[start : start + at_once])
            found += [_best(row if whole else row[open_rows], open_rows, k) for row in scores]
        return found


def _best(scores: Array, rows: Array, k: int) -> tuple[Array, Array]:
    least = np.finfo(np.float32).tiny
    blocks = scores[: scores.size - scores.size % _BLOCK].reshape(-1, _BLOCK).max(axis=1)
    if k <= blocks.size:
        # The k-th best of all is no worse than the k-th of the blocks' best, which are few.
        least = max(least, np.partition(blocks, -k)[-k])
    near = np.flatnonzero(scores >= least)
    order = near[np.argsort(-scores[near], kind="stable")][:k]
    return rows[order], np.clip(scores[order], 0.0, 1.0)
