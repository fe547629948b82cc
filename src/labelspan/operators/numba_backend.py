"""Loops of sparse products, compiled by numba; they process four entries of a row at a time."""

from __future__ import annotations

from typing import Any

import numba

__all__ = ["fill_columns", "gather_rows", "sum_columns"]


def _compiled(function: Any) -> Any:
    # nogil: threads run in parallel. No fastmath: sums keep their order on every machine.
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        # There is no folder for compiled loops.
        return numba.njit(nogil=True)(function)


@_compiled
def sum_columns(columns: Any, values: Any, sums: Any, counts: Any) -> None:
    for at in range(columns.size):
        sums[columns[at]] += values[at]
        counts[columns[at]] += 1


@_compiled
def fill_columns(  # noqa: PLR0917
    starts: Any, columns: Any, values: Any, first: int, free: Any, indices: Any, data: Any
) -> None:
    for row in range(starts.size - 1):
        for at in range(starts[row], starts[row + 1]):
            place = free[columns[at]]
            free[columns[at]] += 1
            indices[place] = first + row
            data[place] = values[at]


@_compiled
def gather_rows(  # noqa: PLR0917
    starts: Any, columns: Any, values: Any, block: Any, out: Any, outer_column: Any, outer_row: Any
) -> None:
    # Minus the outer product of a column and a row. An empty column means ones, an empty row
    # nothing.
    width = block.shape[1]
    for row in range(out.shape[0]):
        at, end = starts[row], starts[row + 1]
        for c in range(width):
            out[row, c] = 0
        while at + 4 <= end:
            # One write of the sum per four entries, instead of scipy's four.
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
