"""Sparse products compiled by numba, four entries of a row at a time."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from scipy import sparse

from .._typing import Array
from .csr_products import SparseProducts
from .threads import map_threads

__all__ = ["NumbaProducts"]


def _compiled(function: Any) -> Any:
    # nogil: threads run in parallel. No fastmath: sums keep their order on every machine.
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        # No folder to keep compiled loops in.
        return numba.njit(nogil=True)(function)


class NumbaProducts(SparseProducts):
    """Products by loops over rows, and a stored transpose."""

    stores_transpose = True

    def transpose(self, csr: Any, parts: list[tuple[slice, Any]]) -> Any:
        """Return ``csr.T`` as CSR, counted and filled in blocks of rows on threads."""
        rows, columns = csr.shape

        def count(part: tuple[slice, Any]) -> Array:
            return self.sums(part[1])[1]

        counts = map_threads(count, parts)
        total = np.sum(counts, axis=0)
        ends = np.cumsum(total)
        # The place of the first entry of each part in each column.
        free = [ends - total]
        for of_part in counts[:-1]:
            free.append(free[-1] + of_part)
        indices = np.empty(csr.nnz, dtype=csr.indices.dtype)
        data = np.empty_like(csr.data)

        def fill(number: int) -> None:
            place, part = parts[number]
            _fill_columns(
                part.indptr, part.indices, part.data, place.start, free[number], indices, data
            )

        map_threads(fill, range(len(parts)))
        starts = np.concatenate([[0], ends]).astype(csr.indptr.dtype)
        return sparse.csr_array((data, indices, starts), shape=(columns, rows))

    def gather(self, csr: Any, block: Array, out: Array, less: Any) -> None:
        column = row = np.empty(0, dtype=out.dtype)
        if less is not None:
            row = np.ascontiguousarray(less.row, dtype=out.dtype).reshape(-1)
            if less.column is not None:
                column = np.ascontiguousarray(less.column, dtype=out.dtype).reshape(-1)
        _gather_rows(csr.indptr, csr.indices, csr.data, block, out, column, row)

    def sums(self, csr: Any) -> tuple[Array, Array]:
        sums, counts = np.zeros(csr.shape[1]), np.zeros(csr.shape[1], dtype=np.int64)
        _sum_columns(csr.indices, csr.data, sums, counts)
        return sums, counts


@_compiled
def _sum_columns(columns: Any, values: Any, sums: Any, counts: Any) -> None:
    for at in range(columns.size):
        sums[columns[at]] += values[at]
        counts[columns[at]] += 1


@_compiled
def _fill_columns(  # noqa: PLR0917
    starts: Any, columns: Any, values: Any, first: int, free: Any, indices: Any, data: Any
) -> None:
    for row in range(starts.size - 1):
        for at in range(starts[row], starts[row + 1]):
            place = free[columns[at]]
            free[columns[at]] += 1
            indices[place] = first + row
            data[place] = values[at]


@_compiled
def _gather_rows(  # noqa: PLR0917
    starts: Any, columns: Any, values: Any, block: Any, out: Any, outer_column: Any, outer_row: Any
) -> None:
    # Less the outer product of a column and a row. Both may be empty: for ones, and for nothing.
    width = block.shape[1]
    for row in range(out.shape[0]):
        at, end = starts[row], starts[row + 1]
        for c in range(width):
            out[row, c] = 0
        while at + 4 <= end:
            # One write of the sum per four entries, where scipy has four writes.
            a, b, c_, d = values[at], values[at + 1], values[at + 2], values[at + 3]
            i, j, k, m = columns[at], columns[at + 1], columns[at + 2], columns[at + 3]
            for c in range(width):
                out[row, c] += (a * block[i, c] + b * block[j, c]) + (
                    c_ * block[k, c] + d * block[m, c]
                )
            at += 4
        while at < end:
            value, column = values[at], columns[at]
            for c in range(width):
                out[row, c] += value * block[column, c]
            at += 1
        if outer_column.size:
            for c in range(outer_row.size):
                out[row, c] -= outer_column[row] * outer_row[c]
        else:
            for c in range(outer_row.size):
                out[row, c] -= outer_row[c]
