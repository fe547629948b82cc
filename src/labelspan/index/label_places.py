"""Items placed by their known labels as well as by their texts, for "more like this".

An item whose labels are known lies closer to items that share them if the labels are added to its
vector: in the space of an estimator with ``label_directions_`` its place is

    (u + p / r) / |u + p / r|,    p = (y - label_means_) @ label_directions_,

with its unit vector u and r the root mean square of the lengths of all p. Queries of texts are
compared with u: their labels are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from .vectors import Ranked, UnitVectors

__all__ = ["LabelDirections", "LabelPlaces"]

# Numbers of a block, and of all places if they are kept.
_NUMBERS, _MOST_KEPT = 1 << 21, 1 << 23


@dataclass(frozen=True)
class LabelDirections:
    """What known labels add to the place of an item: names, directions (k, m) and means (k,)."""

    names: tuple[str, ...]
    directions: Array
    means: Array

    def is_sound(self, width: int) -> bool:
        """Tell whether the parts fit together, and to vectors of some width."""
        shape = (len(self.names), width)
        arrays = (self.directions, self.means)
        return (
            self.directions.shape == shape
            and self.means.shape == shape[:1]
            and all(array.dtype.kind == "f" and np.isfinite(array).all() for array in arrays)
        )


class LabelPlaces:
    """Places of items; an array of them is kept only if it is small.

    Parameters
    ----------
    vectors : UnitVectors
    labelled : dict of lists of int
        The rows with each label. Labels without a direction are ignored.
    found : LabelDirections
    """

    def __init__(
        self, vectors: UnitVectors, labelled: Mapping[str, Sequence[int]], found: LabelDirections
    ) -> None:
        self._vectors = vectors
        self._directions = np.asarray(found.directions, dtype=np.float64)
        self._shift = np.asarray(found.means, dtype=np.float64) @ self._directions
        own = [np.asarray(labelled.get(name, ()), dtype=np.intp) for name in found.names]
        rows = np.concatenate([np.zeros(0, dtype=np.intp), *own])
        columns = np.repeat(np.arange(len(own)), [part.size for part in own])
        order = np.argsort(rows, kind="stable")
        self._rows, self._columns = rows[order], columns[order]
        # The rows that have a direction, and where their labels begin.
        self._placed, self._starts = np.unique(self._rows, return_index=True)
        self._scale, self._lengths = 0.0, np.ones(vectors.alive.size)
        if self._placed.size:
            self._measure()
        self._kept: Array | None = None
        if vectors.alive.size * vectors.width <= _MOST_KEPT:
            self._kept = self._all()

    def _all(self) -> Array:
        found = np.empty((self._vectors.alive.size, self._vectors.width), dtype=np.float32)
        step = max(1, _NUMBERS // max(1, self._vectors.width))
        for start in range(0, len(found), step):
            numbers = np.arange(start, min(start + step, len(found)))
            found[numbers] = self.rows(numbers)
        return found

    def _measure(self) -> None:
        squares, products, own = (np.zeros(self._placed.size) for _ in range(3))
        step = max(1, _NUMBERS // max(1, self._vectors.width))
        for start in range(0, self._placed.size, step):
            part = slice(start, start + step)
            added = self._added(np.arange(self._placed.size)[part])
            vectors = self._vectors.rows(self._placed[part]).astype(np.float64)
            squares[part] = np.square(added).sum(axis=1)
            products[part] = (added * vectors).sum(axis=1)
            own[part] = np.square(vectors).sum(axis=1)
        mean = float(squares.mean())
        self._scale = 1 / np.sqrt(mean) if mean > 0 else 0.0
        total = own + 2 * self._scale * products + self._scale**2 * squares
        self._lengths[self._placed] = np.sqrt(np.maximum(total, 1e-12))

    def _added(self, numbers: Array) -> Array:
        """Sum the directions of the labels of some placed rows, given by their numbers."""
        ends = np.append(self._starts, self._rows.size)
        counts = ends[numbers + 1] - ends[numbers]
        offsets = np.concatenate([[0], np.cumsum(counts)[:-1]])
        entries = np.arange(counts.sum()) + np.repeat(ends[numbers] - offsets, counts)
        parts = self._directions[self._columns[entries]]
        return np.asarray(np.add.reduceat(parts, offsets, axis=0) - self._shift)

    def rows(self, numbers: Array) -> Array:
        """Return the unit vectors of the places of some rows, in float64."""
        numbers = np.asarray(numbers, dtype=np.intp)
        found = self._vectors.rows(numbers).astype(np.float64)
        at = np.searchsorted(self._placed, numbers)
        at[at == self._placed.size] = 0
        placed = self._placed[at] == numbers if self._placed.size else np.zeros(0, dtype=bool)
        if placed.any():
            found[placed] += self._scale * self._added(at[placed])
            found[placed] /= self._lengths[numbers[placed], None]
        return found

    def query(self, numbers: Array) -> Array:
        """Return the unit vector of the mean place of some rows."""
        mean = self.rows(numbers).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return np.asarray(mean / length if length > 0 else mean)

    def top(self, query: Array, k: int, mask: Array) -> Ranked:
        """Find the rows whose places have the best positive cosines with a unit vector."""
        if self._kept is not None:
            scores = self._kept @ query.astype(np.float32)
            # Their lengths are 1.
            margin = 2 * self._vectors.slack
        else:
            scores, margin = self._products(query)
        scores[~mask] = 0.0
        least = self._vectors.slack
        if scores.size > k:
            # Products in float32 only choose candidates; half of the slack bounds their error.
            least = max(least, float(np.partition(scores, scores.size - k)[-k]) - margin)
        rows = np.flatnonzero(scores >= least)
        exact = (self.rows(rows) * query).sum(axis=1)
        order = np.lexsort((rows, -exact))
        order = order[exact[order] > 0][:k]
        return rows[order], np.minimum(exact[order], 1.0)

    def _products(self, query: Array) -> tuple[Array, float]:
        """Compute cosines with all places, without an array of them; and twice their error."""
        scores = self._vectors.products(query.astype(np.float32)[None])[0].astype(np.float64)
        along = self._directions @ query
        if self._placed.size:
            added = np.add.reduceat(along[self._columns], self._starts) - self._shift @ query
            scores[self._placed] += self._scale * added
        scores /= self._lengths
        return scores, 2 * self._vectors.slack / float(self._lengths.min())
