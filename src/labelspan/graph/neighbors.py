"""Nearest-neighbour search: exact in blocks, or approximate by cells.

It needs only numpy and scipy. Rows may be dense or sparse (CSR), in float32 or float64, and an
array may be memory-mapped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._typing import Array
from ..operators.digits import digits_to_lose
from ..operators.machine import map_threads, n_threads
from ..operators.row_data import (
    as_rows,
    group_sums,
    pair_products,
    pair_squares,
    product,
    row_squares,
    translated,
    transposed,
    unit_rows,
)

__all__ = ["EXACT_LIMIT", "Metric", "NeighborSearch", "Progress", "Search", "nearest_neighbors"]

Metric = Literal["cosine", "euclidean"]
Search = Literal["auto", "exact", "approximate"]
Progress = Callable[[int, int], None]

# search="auto" compares all pairs up to the square of this number.
EXACT_LIMIT = 40_000
# Entries of a block of scores, one per thread; and maximum number of queries in it.
_ENTRIES, _QUERIES = 1 << 22, 512
# Number of columns in a group of which first only the maximum is compared.
_GROUP = 32
# Bound on the rounding error of a score, in units of the last digit of the squared lengths.
_ROUNDINGS = 16
# If scores cannot distinguish more candidates per neighbour than this, the first ones are used.
_TIES = 64
# Approximate search: rows per cell, cells searched per query, rows per cell from which
# the centres are computed, and iterations.
_CELL, _NEAR_CELLS, _SAMPLE, _ITERATIONS = 250, 64, 20, 10


def nearest_neighbors(
    rows: Any, k: int, queries: Any = None, *, metric: Metric = "euclidean", **options: Any
) -> tuple[Array, Array]:
    """Find the ``k`` nearest rows of each query; see :meth:`NeighborSearch.nearest`.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.graph.neighbors import nearest_neighbors
    >>> rows = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0], [3.0, 0.0]])
    >>> indices, distances = nearest_neighbors(rows, 2)
    >>> indices.tolist()
    [[1, 2], [0, 2], [1, 0], [0, 1]]
    >>> indices, cosines = nearest_neighbors(rows, 2, [[1.0, 3.0]], metric="cosine")
    >>> indices.tolist(), cosines.round(3).tolist()
    ([[0, 1]], [[0.949, 0.949]])
    """
    return NeighborSearch(rows, metric=metric).nearest(k, queries, **options)


class NeighborSearch:
    """A nearest-neighbour search among fixed rows, for several sets of queries.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        Rows to search.
    metric : {"euclidean", "cosine"}, default="euclidean"
        The cosine with a row of zeros is 0.
    unit : bool, default=False
        For "cosine": whether the rows already have length 1; they are then not copied.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.graph.neighbors import NeighborSearch
    >>> search = NeighborSearch(np.eye(3), metric="cosine")
    >>> search.nearest(1, [[0.0, 2.0, 1.0]])[0].tolist()
    [[1]]
    >>> search.nearest(1, [[0.0, 2.0, 1.0]], mask=np.array([True, False, True]))[0].tolist()
    [[2]]
    """

    def __init__(self, rows: Any, *, metric: Metric = "euclidean", unit: bool = False) -> None:
        self.metric = metric
        rows = as_rows(rows)
        self.rows = rows if metric == "euclidean" or unit else unit_rows(rows)
        self._whole: _Columns | None = None

    def nearest(
        self,
        k: int,
        queries: Any = None,
        *,
        exclude: Array | None = None,
        mask: Array | None = None,
        search: Search = "exact",
        progress: Progress | None = None,
    ) -> tuple[Array, Array]:
        """Find the ``k`` nearest rows of each query, nearest first.

        Products of blocks select candidates, which are then compared by their exact cosines or
        distances in float64: the answer does not depend on blocks or threads, and equally near rows
        are in the order of their indices.

        Parameters
        ----------
        k : int
            Number of neighbours, reduced to the number of rows that can be found.
        queries : array or CSR matrix of shape (q, d), or None, default=None
            None finds the neighbours of each row among the others.
        exclude : array of shape (q,) or None, default=None
            For each query, the index of one row that it must not find, or -1. By default each row
            itself if ``queries`` is None, and none otherwise.
        mask : array of bool of shape (n,) or None, default=None
            Rows that may be found.
        search : {"exact", "approximate", "auto"}, default="exact"
            Exact search compares all pairs. Approximate search divides the rows into cells and
            compares each query only with rows in the nearest cells, so it misses some neighbours.
            "auto" is exact up to 40,000 x 40,000 pairs.
        progress : function or None, default=None
            Called with the number of queries done, and of all.

        Returns
        -------
        indices : array of shape (q, k)
            Row indices; -1 if a query has fewer than k rows because of an excluded row.
        values : array of shape (q, k)
            Cosines, or Euclidean distances, in float64; NaN at -1.
        """
        n = self.rows.shape[0]
        if queries is None:
            asked, exclude = self.rows, np.arange(n) if exclude is None else exclude
        else:
            asked = as_rows(queries, like=self.rows)
            asked = asked if self.metric == "euclidean" else unit_rows(asked)
        among = None if mask is None else np.flatnonzero(mask)
        available = n if among is None else among.size
        k = max(0, min(k, available - (exclude is not None and available == n)))
        size = asked.shape[0]
        answer = np.full((size, k), -1, dtype=np.intp), np.full((size, k), np.nan)
        if k == 0 or size == 0:
            return answer
        rows, moved = self.rows, asked
        if self.metric == "euclidean":
            # float32 is accurate enough for distances only if the rows are near zero.
            rows, moved = translated(rows, asked, far=digits_to_lose(rows.dtype))
        step = max(1, min(_QUERIES, _ENTRIES // available))
        approximate = search == "approximate" or (
            search == "auto" and size * available > EXACT_LIMIT**2
        )
        if approximate:
            parts, whole = _near_cells(rows, moved, k + 1, among), None
        else:
            parts = [(np.arange(at, min(at + step, size)), None) for at in range(0, size, step)]
            whole = self._columns(rows, among)

        def search_block(part: tuple[Array, Array | None]) -> None:
            block, near = part
            columns = whole or _Columns.of(rows, near, self.metric)
            for start in range(0, block.size, step):
                asking = block[start : start + step]
                query, column = columns.candidates(
                    moved[asking], k, None if exclude is None else exclude[asking]
                )
                self._rank(asked, asking, (query, columns.number(column)), answer)

        done, batch = 0, n_threads() * 4
        for first in range(0, len(parts), batch):
            map_threads(search_block, parts[first : first + batch], blas=True)
            if progress is not None:
                done += sum(block.size for block, _ in parts[first : first + batch])
                progress(done, size)
        return answer

    def _columns(self, rows: Any, among: Array | None) -> _Columns:
        """Return all rows, or those that may be found; cached for the next call."""
        if among is not None or rows is not self.rows:
            return _Columns.of(rows, among, self.metric)
        if self._whole is None:
            self._whole = _Columns.of(rows, None, self.metric)
        return self._whole

    def _rank(
        self, asked: Any, asking: Array, pairs: tuple[Array, Array], answer: tuple[Array, Array]
    ) -> None:
        """Write the nearest candidates of some queries into the answer."""
        (query, row), (indices, values) = pairs, answer
        if self.metric == "cosine":
            exact = np.clip(pair_products(asked, asking[query], self.rows, row), -1.0, 1.0)
            order = np.lexsort((row, -exact, query))
        else:
            exact = np.sqrt(pair_squares(asked, asking[query], self.rows, row))
            order = np.lexsort((row, exact, query))
        query, row, exact = query[order], row[order], exact[order]
        place = np.arange(query.size) - np.searchsorted(query, query)
        kept = place < indices.shape[1]
        at = asking[query[kept]], place[kept]
        indices[at], values[at] = row[kept], exact[kept]


@dataclass(frozen=True)
class _Columns:
    """Transposed rows, to compare queries with."""

    matrix: Any
    # Added to the product with each row: minus half of its squared length, or nothing.
    bias: Array | None
    # Increasing row indices; None for all rows.
    numbers: Array | None

    @classmethod
    def of(cls, rows: Any, numbers: Array | None, metric: Metric) -> _Columns:
        held = rows if numbers is None else rows[numbers]
        bias = None if metric == "cosine" else -0.5 * row_squares(held).astype(held.dtype)
        return cls(transposed(held), bias, numbers)

    def number(self, column: Array) -> Array:
        return column if self.numbers is None else self.numbers[column]

    def candidates(self, queries: Any, k: int, exclude: Array | None) -> tuple[Array, Array]:
        """Return pairs of a query and a column that include the ``k`` nearest of each query."""
        scores = product(queries, self.matrix)
        eps = _ROUNDINGS * float(np.finfo(scores.dtype).eps)
        slack = np.full(len(scores), eps)
        if self.bias is not None:
            scores += self.bias
        if exclude is not None:
            self._leave_out(scores, exclude)
        least = _bound(scores, k)
        if self.bias is not None:
            # With |q - r|^2 = |q|^2 - 2 score, a row this near has a length of at most |q| plus
            # the distance, and its score an error of that length squared.
            lengths = row_squares(queries)
            far = np.sqrt(np.maximum(lengths - 2 * np.maximum(least, -1e300), 0.0))
            slack = eps * np.square(np.sqrt(lengths) + far)
        least = np.maximum(least - slack, np.finfo(scores.dtype).min)
        near = scores >= least.astype(scores.dtype)[:, None]
        crowded = np.flatnonzero(np.count_nonzero(near, axis=1) > _TIES * k)
        for start in range(0, crowded.size, _TIES):
            rows = crowded[start : start + _TIES]
            near[rows] = _first_largest(scores[rows], k)
        # Much faster than nonzero of two axes.
        query, column = np.divmod(np.flatnonzero(near), near.shape[1])
        return query, column

    def _leave_out(self, scores: Array, exclude: Array) -> None:
        if self.numbers is None:
            query = np.flatnonzero(exclude >= 0)
            column = exclude[query]
        else:
            column = np.minimum(np.searchsorted(self.numbers, exclude), self.numbers.size - 1)
            query = np.flatnonzero(self.numbers[column] == exclude)
            column = column[query]
        scores[query, column] = -np.inf


def _bound(scores: Array, k: int) -> Array:
    """Return a lower bound on the k-th largest entry of each row, from the maxima of groups."""
    width = max(1, min(_GROUP, scores.shape[1] // (4 * k)))
    groups = scores.shape[1] // width
    tops = scores[:, : groups * width].reshape(len(scores), width, groups).max(axis=1)
    return np.asarray(np.partition(tops, groups - k, axis=1)[:, groups - k], dtype=np.float64)


def _first_largest(scores: Array, k: int) -> Array:
    """Mark the ``k`` largest entries of each row, the first ones in ties; none that is excluded.

    How a partition breaks ties depends on the processor.
    """
    least = np.partition(scores, scores.shape[1] - k, axis=1)[:, -k, None]
    larger, equal = scores > least, (scores == least) & (scores > -np.inf)
    room = k - np.count_nonzero(larger, axis=1)[:, None]
    return np.asarray(larger | (equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= room)))


def _near_cells(
    rows: Any, queries: Any, k: int, among: Array | None
) -> list[tuple[Array, Array | None]]:
    """Group the queries by cell, and return the rows of the cells near each."""
    n = rows.shape[0]
    rng = np.random.default_rng(0)
    number = min(n, max(n // _CELL, 2 * _NEAR_CELLS))
    sample = rows[np.sort(rng.choice(n, min(n, _SAMPLE * number), replace=False))]
    first = rng.choice(sample.shape[0], number, replace=False)
    centres = group_sums(sample[first], np.arange(number), number)
    for _ in range(_ITERATIONS):
        member = _nearest_centre(sample, centres)
        sums, sizes = group_sums(sample, member, number), np.bincount(member, minlength=number)
        # A cell that becomes empty keeps its centre.
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    inside = np.arange(n) if among is None else among
    member = _nearest_centre(rows if among is None else rows[among], centres)
    members = [inside[member == cell] for cell in range(number)]
    asking = member if queries is rows and among is None else _nearest_centre(queries, centres)
    half = np.square(centres).sum(axis=1) / 2
    order = np.argsort(half - centres @ centres.T, axis=1, kind="stable")
    parts: list[tuple[Array, Array | None]] = []
    for cell in np.unique(asking):
        near = order[cell]
        sizes = np.cumsum([members[other].size for other in near])
        # Enough cells for k rows.
        most = max(_NEAR_CELLS, int(np.searchsorted(sizes, k)) + 1)
        candidates = np.sort(np.concatenate([members[other] for other in near[:most]]))
        parts.append((np.flatnonzero(asking == cell), candidates))
    return parts


def _nearest_centre(rows: Any, centres: Array) -> Array:
    centres = centres.astype(rows.dtype)
    half = np.square(centres).sum(axis=1) / 2
    step = max(1, _ENTRIES // len(centres))
    return np.concatenate(
        [
            np.argmax(product(rows[start : start + step], centres.T) - half, axis=1)
            for start in range(0, rows.shape[0], step)
        ]
    )
