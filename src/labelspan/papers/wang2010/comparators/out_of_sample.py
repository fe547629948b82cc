"""Scores of rows that were not part of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from ...._typing import Array
from ....graph.neighbors import nearest_neighbors

__all__ = ["NewRowAffinity"]

# Number of new rows per block.
_BLOCK = 512


@dataclass(frozen=True)
class NewRowAffinity:
    """Gaussian weights from new rows to all fitted rows, or to the nearest of them."""

    rows: Any
    n_neighbors: int | None
    gamma: float

    def mean(self, data: Any, scores: Array) -> Array:
        """Average the scores of fitted rows with weights ``exp(-gamma |x - x_i|^2)``."""
        out = np.empty((data.shape[0], scores.shape[1]))
        for start in range(0, data.shape[0], _BLOCK):
            part = slice(start, start + _BLOCK)
            out[part] = self._block_mean(data[part], scores)
        return out

    def _block_mean(self, data: Any, scores: Array) -> Array:
        if self.n_neighbors is None:
            squares = pairwise_distances(data, self.rows, metric="sqeuclidean")
            return np.asarray(self._weights(squares) @ scores)
        near, far = nearest_neighbors(self.rows, self.n_neighbors, data)
        return np.asarray(np.einsum("ij,ijk->ik", self._weights(far**2), scores[near]))

    def _weights(self, squares: Array) -> Array:
        # Relative to the nearest, weights that would all round to zero keep their ratios.
        squares = squares.astype(np.float64)
        weights = np.exp(-self.gamma * (squares - squares.min(axis=1, keepdims=True)))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
