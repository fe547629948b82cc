"""Nearest neighbours: scikit-learn's exact search, and random trees for more rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from .._typing import Array
from ..operators.row_data import translated

__all__ = ["EXACT_LIMIT", "Search", "find_neighbors", "nearest_row", "squared_distances"]

Search = Literal["auto", "exact", "approximate"]

# Number of rows up to which all pairs are compared.
EXACT_LIMIT = 20_000
_TREES, _LEAF, _ROUNDS = 8, 512, 2
# Squared norms of the mean, relative to those about it, above which float32 rows are translated.
_FAR_FLOAT32 = 1e1
# Numbers gathered at a time where rows are compared pair by pair.
_GATHERED = 1 << 20


def find_neighbors(
    X: Any, count: int, *, metric: str = "euclidean", search: Search = "auto", seed: int = 0
) -> tuple[Array, Array]:
    """Find the edges ``(start, end)`` from each row to its nearest others."""
    rows = X.shape[0]
    if _approximate(search, rows, rows):
        # float32 has digits for the distances only where the rows are about zero.
        data = normalize(X) if metric == "cosine" else translated(X, far=_FAR_FLOAT32)[0]
        data = data.astype(np.float32)
        best = _forest(data, None, count, np.random.default_rng(seed))
        best.squares += row_norms(data, squared=True)[:, None]  # which the forest leaves out
        for _ in range(_ROUNDS):
            _compare_onward(data, best)
        found = best.rows
    else:
        data = X if metric == "cosine" else translated(X)[0]
        model = NearestNeighbors(n_neighbors=count, metric=metric).fit(data)
        found = model.kneighbors(return_distance=False)
    return np.repeat(np.arange(rows), count), found.ravel()


def nearest_row(queries: Any, rows: Any, *, search: Search = "exact", seed: int = 0) -> Array:
    """Find, for each query, the number of the nearest row."""
    if _approximate(search, queries.shape[0], rows.shape[0]):
        rows, queries = translated(rows, queries, far=_FAR_FLOAT32)
        data = rows.astype(np.float32), queries.astype(np.float32)
        return _forest(*data, 1, np.random.default_rng(seed)).rows[:, 0]
    rows, queries = translated(rows, queries)
    model = NearestNeighbors(n_neighbors=1).fit(rows)
    return np.asarray(model.kneighbors(queries, return_distance=False)[:, 0])


def _approximate(search: Search, queries: int, rows: int) -> bool:
    return search == "approximate" or (search == "auto" and queries * rows > EXACT_LIMIT**2)


def squared_distances(X: Any, start: Array, end: Array, *, unit: bool = False) -> Array:
    """Compute ``|X[start] - X[end]|^2`` pair by pair; ``unit``: of rows of norm 1."""
    if unit:
        X = normalize(X)
    out = np.empty(start.size)
    step = max(1, _GATHERED // max(1, X.shape[1]))
    for first in range(0, start.size, step):
        part = slice(first, first + step)
        difference = X[start[part]] - X[end[part]]
        out[part] = row_norms(difference, squared=True)
    return out


def _forest(rows: Any, queries: Any | None, count: int, rng: np.random.Generator) -> _Best:
    """Find rows near each query in the leaves of random trees; None queries the rows themselves.

    A tree halves the rows at the median of their products with the difference of two random
    rows, one such direction per level, until leaves are small enough to compare all pairs in
    them. Queries follow the same splits.
    """
    asked = rows if queries is None else queries
    leaf = max(_LEAF, 4 * count)
    levels = max(0, int(np.ceil(np.log2(rows.shape[0] / leaf))))
    norms = row_norms(rows, squared=True)
    best = _Best(asked.shape[0], count)
    for _ in range(_TREES):
        ends = rng.integers(rows.shape[0], size=(2, max(1, levels)))
        directions = (rows[ends[0]] - rows[ends[1]]).T
        heights = safe_sparse_dot(rows, directions, dense_output=True)
        query_heights = (
            heights if queries is None else safe_sparse_dot(queries, directions, dense_output=True)
        )
        nodes = [(np.arange(rows.shape[0]), np.arange(asked.shape[0]))]
        for level in range(levels):
            columns = heights[:, level], query_heights[:, level]
            nodes = [half for node in nodes for half in _halves(*node, *columns)]
        for inside, asking in nodes:
            if asking.size:
                block = rows[inside]
                inner = safe_sparse_dot(asked[asking], block.T, dense_output=True)
                # |q|^2 is the same for all rows, and left out.
                squares = norms[inside] - 2.0 * inner
                if queries is None:
                    squares[asking[:, None] == inside] = np.inf
                best.offer_nearest(asking, inside, squares)
    return best


class _Best:
    """The nearest rows found so far, and how far they are."""

    def __init__(self, queries: int, count: int) -> None:
        self.rows = np.full((queries, count), -1)
        self.squares = np.full((queries, count), np.inf, dtype=np.float32)

    def offer_nearest(self, at: Array, rows: Array, squares: Array) -> None:
        """Offer the nearest of many rows, the same for all queries."""
        count = self.rows.shape[1]
        near = np.argpartition(squares, count - 1, axis=1)[:, :count]
        self.offer(at, rows[near], np.take_along_axis(squares, near, axis=1))

    def offer(self, at: Array, others: Array, squares: Array) -> None:
        """Offer rows that may be nearer; a row is never offered to itself."""
        rows = np.concatenate([self.rows[at], others], axis=1)
        far = np.concatenate([self.squares[at], squares], axis=1)
        # Equal rows are adjacent after sorting, and all but one of them are discarded.
        order = np.argsort(rows, axis=1, kind="stable")
        rows = np.take_along_axis(rows, order, axis=1)
        far = np.take_along_axis(far, order, axis=1)
        far[:, 1:][rows[:, 1:] == rows[:, :-1]] = np.inf
        count = self.rows.shape[1]
        keep = np.argpartition(far, count - 1, axis=1)[:, :count]
        self.rows[at] = np.take_along_axis(rows, keep, axis=1)
        self.squares[at] = np.take_along_axis(far, keep, axis=1)


def _halves(
    rows: Array, queries: Array, heights: Array, query_heights: Array
) -> list[tuple[Array, Array]]:
    middle = rows.size // 2
    order = np.argpartition(heights[rows], middle)
    low = query_heights[queries] < heights[rows[order[middle]]]
    return [(rows[order[:middle]], queries[low]), (rows[order[middle:]], queries[~low])]


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
