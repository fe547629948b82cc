"""Items placed by their known labels as well as by their texts, for "more like this".

An item whose labels are known lies closer to items that share them if the labels are added to its
vector: in the space of an estimator with ``label_directions_`` its place is

    (u + p / r) / |u + p / r|,    p = (y - label_means_) @ label_directions_,

with its unit vector u and r the root mean square of the lengths of all p. Queries of texts are
compared with u: their labels are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from .item_labels import LabelTable
from .vectors import Ranked, UnitVectors

__all__ = ["LabelDirections", "LabelPlaces"]

# Numbers of a block, and of all places if they are kept.
_NUMBERS, _MOST_KEPT = 1 << 21, 1 << 23


@dataclass(frozen=True)
class LabelDirections:
    """What known labels add to the place of an item: directions (k, m) and means (k,).

    Row j is about the label with number j.
    """

    directions: Array
    means: Array

    def is_sound(self, width: int) -> bool:
        """Tell whether the parts fit together, and to vectors of some width."""
        arrays = (self.directions, self.means)
        return (
            self.directions.shape == (len(self.means), width)
            and self.means.ndim == 1
            and all(array.dtype.kind == "f" and np.isfinite(array).all() for array in arrays)
        )


class LabelPlaces:
    """Places of items; an array of them is kept only if it is small.

    Parameters
    ----------
    vectors : UnitVectors
    labels : LabelTable
        Labels without a direction are ignored.
    found : LabelDirections
    """

    def __init__(self, vectors: UnitVectors, labels: LabelTable, found: LabelDirections) -> None:
        self._vectors = vectors
        self._directions = np.asarray(found.directions, dtype=np.float64)
        self._shift = np.asarray(found.means, dtype=np.float64) @ self._directions
        self._labels = labels.matrix(kind=np.float64)[:, : len(self._directions)].tocsr()
        # The rows that have a direction.
        self._placed = np.diff(self._labels.indptr) > 0
        self._scale, self._lengths = 0.0, np.ones(vectors.alive.size)
        if self._placed.any():
            self._measure()
        self._kept: Array | None = None
        if vectors.alive.size * vectors.width <= _MOST_KEPT:
            self._kept = np.empty((vectors.alive.size, vectors.width), dtype=np.float32)
            for numbers in self._parts(np.arange(vectors.alive.size)):
                self._kept[numbers] = self.rows(numbers)

    def _parts(self, numbers: Array) -> Iterator[Array]:
        step = max(1, _NUMBERS // max(1, self._vectors.width))
        for start in range(0, len(numbers), step):
            yield numbers[start : start + step]

    def _measure(self) -> None:
        placed = np.flatnonzero(self._placed)
        squares, products, own = (np.zeros(self._lengths.size) for _ in range(3))
        for part in self._parts(placed):
            added = self._added(part)
            vectors = self._vectors.rows(part).astype(np.float64)
            squares[part] = np.square(added).sum(axis=1)
            products[part] = (added * vectors).sum(axis=1)
            own[part] = np.square(vectors).sum(axis=1)
        mean = float(squares[placed].mean())
        self._scale = 1 / np.sqrt(mean) if mean > 0 else 0.0
        total = own + 2 * self._scale * products + self._scale**2 * squares
        self._lengths[placed] = np.sqrt(np.maximum(total[placed], 1e-12))

    def _added(self, numbers: Array) -> Array:
        """Sum the directions of the labels of some placed rows."""
        return np.asarray(self._labels[numbers] @ self._directions) - self._shift

    def rows(self, numbers: Array) -> Array:
        """Return the unit vectors of the places of some rows, in float64."""
        numbers = np.asarray(numbers, dtype=np.intp)
        found = self._vectors.rows(numbers).astype(np.float64)
        placed = self._placed[numbers]
        if placed.any():
            found[placed] += self._scale * self._added(numbers[placed])
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
        added = np.asarray(self._labels @ (self._directions @ query)) - self._shift @ query
        scores[self._placed] += self._scale * added[self._placed]
        scores /= self._lengths
        return scores, 2 * self._vectors.slack / float(self._lengths.min())
