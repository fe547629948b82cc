"""Finding nearest neighbours: scikit-learn's exact search, and random trees beyond its reach."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from ..operators.base import Array

__all__ = ["EXACT_LIMIT", "Search", "find_neighbors", "nearest_row", "squared_distances"]

Search = Literal["auto", "exact", "approximate"]

# Up to so many rows all pairs are compared.
EXACT_LIMIT = 20_000
_TREES, _LEAF, _ROUNDS = 8, 512, 2
# Numbers gathered at a time where rows are compared pair by pair.
_GATHERED = 1 << 20


def find_neighbors(
    X: Any, count: int, *, metric: str = "euclidean", search: Search = "auto", seed: int = 0
) -> tuple[Array, Array]:
    """Edges ``(start, end)`` from each row to its nearest others."""
    rows = X.shape[0]
    if search == "approximate" or (search == "auto" and rows > EXACT_LIMIT):
        data = normalize(X) if metric == "cosine" else X
        found = _forest(data.astype(np.float32), count, np.random.default_rng(seed))
    else:
        model = NearestNeighbors(n_neighbors=count, metric=metric).fit(X)
        found = model.kneighbors(return_distance=False)
    return np.repeat(np.arange(rows), count), found.ravel()


def nearest_row(queries: Any, rows: Any) -> Array:
    """For each query, the number of the nearest row."""
    model = NearestNeighbors(n_neighbors=1).fit(rows)
    return np.asarray(model.kneighbors(queries, return_distance=False)[:, 0])


def squared_distances(X: Any, start: Array, end: Array, *, unit: bool = False) -> Array:
    """``|X[start] - X[end]|^2`` pair by pair; ``unit``: of rows of length 1."""
    if unit:
        X = normalize(X)
    out = np.empty(start.size)
    step = max(1, _GATHERED // max(1, X.shape[1]))
    for first in range(0, start.size, step):
        part = slice(first, first + step)
        difference = X[start[part]] - X[end[part]]
        out[part] = row_norms(difference, squared=True)
    return out


def _forest(X: Any, count: int, rng: np.random.Generator) -> Array:
    """Neighbours from the leaves of balanced random trees, then from neighbours' neighbours.

    A tree halves the rows at the median of their products with the difference of two
    random rows, one such direction a level, until leaves are small enough to compare all
    pairs in them.
    """
    rows = X.shape[0]
    leaf = max(_LEAF, 4 * count)
    levels = max(0, int(np.ceil(np.log2(rows / leaf))))
    norms = row_norms(X, squared=True)
    best = _Best(rows, count)
    for _ in range(_TREES):
        ends = rng.integers(rows, size=(2, max(1, levels)))
        directions = X[ends[0]] - X[ends[1]]
        heights = safe_sparse_dot(X, directions.T, dense_output=True)
        order = [np.arange(rows)]
        for level in range(levels):
            order = [half for node in order for half in _halves(node, heights[:, level])]
        for node in order:
            _compare_all(X, norms, node, best)
    for _ in range(_ROUNDS):
        _compare_onward(X, best)
    return best.rows


class _Best:
    """The nearest rows found so far, and how far they are."""

    def __init__(self, rows: int, count: int) -> None:
        self.rows = np.full((rows, count), -1)
        self.squares = np.full((rows, count), np.inf, dtype=np.float32)

    def offer(self, at: Array, others: Array, squares: Array) -> None:
        """Rows that may be nearer; a row is never offered to itself."""
        rows = np.concatenate([self.rows[at], others], axis=1)
        far = np.concatenate([self.squares[at], squares], axis=1)
        # Equal rows stand side by side after sorting, and all but one of them are put off.
        order = np.argsort(rows, axis=1, kind="stable")
        rows = np.take_along_axis(rows, order, axis=1)
        far = np.take_along_axis(far, order, axis=1)
        far[:, 1:][rows[:, 1:] == rows[:, :-1]] = np.inf
        count = self.rows.shape[1]
        keep = np.argpartition(far, count - 1, axis=1)[:, :count]
        self.rows[at] = np.take_along_axis(rows, keep, axis=1)
        self.squares[at] = np.take_along_axis(far, keep, axis=1)


def _halves(node: Array, heights: Array) -> tuple[Array, Array]:
    middle = node.size // 2
    order = np.argpartition(heights[node], middle)
    return node[order[:middle]], node[order[middle:]]


def _compare_all(X: Any, norms: Array, node: Array, best: _Best) -> None:
    block = X[node]
    inner = safe_sparse_dot(block, block.T, dense_output=True)
    squares = norms[node][:, None] + norms[node][None, :] - 2.0 * inner
    np.fill_diagonal(squares, np.inf)
    count = min(best.rows.shape[1], node.size - 1)
    near = np.argpartition(squares, count - 1, axis=1)[:, :count]
    best.offer(node, node[near], np.take_along_axis(squares, near, axis=1))


def _compare_onward(X: Any, best: _Best) -> None:
    """Offer each row the neighbours of its neighbours."""
    rows, count = best.rows.shape
    before = best.rows.copy()
    step = max(1, _GATHERED // (count * count))
    for first in range(0, rows, step):
        at = np.arange(first, min(first + step, rows))
        others = np.sort(before[before[at]].reshape(at.size, -1), axis=1)
        new = others != at[:, None]
        new[:, 1:] &= others[:, 1:] != others[:, :-1]
        squares = np.full(others.shape, np.inf, dtype=np.float32)
        start, column = np.nonzero(new)
        squares[new] = squared_distances(X, at[start], others[start, column])
        best.offer(at, others, squares)
