"""Dense data, centred block by block so that no copy of it is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from .array_backend import column_sums, inner, sum_of_squares, times
from .digits import above_rounding, added_offset, clear_of_means, constant_columns, digits_to_lose
from .machine import map_threads, row_parts
from .operator import Operator, checked_offset

__all__ = ["Dense"]

# Entries that fit into the cache of a core, and minimum number of rows of a block:
# for thin products, and for Gram matrices, whose sums are more expensive.
_CACHED, _FEW_ROWS, _GRAM_ROWS = 1 << 16, 64, 2048
# Up to this many entries, the rows are centred once, in a float64 copy, which is faster than
# correcting each product; and the limit for float32, which is converted anyway.
_COPIED, _CONVERTED = 1 << 16, 1 << 18
# A block with at most this fraction of nonzeros is multiplied entry by entry; and the number of
# rows that are sampled.
_MOSTLY_ZERO, _SOME_ROWS = 0.1, 128
# Up to this many entries of a product, each thread may have its own sum; and the maximum number of
# columns of products that are corrected afterwards.
_FEW_SUMS, _NARROW = 1 << 17, 16


class Dense(Operator):
    """An operator over a dense array, minus an optional row of offsets.

    The offset is subtracted from one block of rows at a time, before the product: if
    columns have large means, a product corrected afterwards would lose significant digits.
    Once the moments have shown that the means are not large, products are corrected
    afterwards, without a copy of the rows. Column sums are computed once. A small array is
    copied to float64 and centred once, for all products that are summed in float64.

    The array, in float32 or float64, is not copied.
    """

    dense = True

    def __init__(self, array: Array, offset: Array | None = None) -> None:
        super().__init__(array.shape, array.dtype)
        self._array = array
        self._offset = offset
        # Column sums of the array, without the offset, once computed.
        self._sums: Array | None = None
        # Whether products may be corrected afterwards, without a copy of the rows.
        self._mild = False
        # The rows of a small array, centred, in float64.
        self._copy: Array | None = None

    @property
    def array(self) -> Array:
        """The array, without the offset subtracted."""
        return self._array

    @property
    def offset(self) -> Array | None:
        """The row that is subtracted from every row."""
        return self._offset

    def in_type(self, dtype: Any) -> Operator:
        if self.dtype == dtype:
            return self
        if self._offset is None:
            return Dense(self._array.astype(dtype))
        # Centred before the rounding, which would be that of the means.
        rows = np.empty(self.shape, dtype=dtype)
        for part in self._slices():
            np.subtract(self._array[part], self._offset, out=rows[part], casting="same_kind")
        return Dense(rows)

    def _slices(self, fewest: int = 1, part: slice | None = None) -> Iterator[slice]:
        """Split the rows, or a part of them, into blocks that fit into the cache."""
        rows, columns = self.shape
        first, last = (0, rows) if part is None else (part.start, part.stop)
        step = max(fewest, _FEW_ROWS, _CACHED // max(1, columns))
        for start in range(first, last, step):
            yield slice(start, min(start + step, last))

    def _small(self, dtype: Any) -> Array | None:
        """Return all rows, centred, in float64; None if there are too many."""
        if self._array.size > (_COPIED if self.dtype == dtype else _CONVERTED):
            return None
        if self._copy is None:
            self._copy = self._array.astype(np.float64, copy=self._offset is not None)
            if self._offset is not None:
                self._copy -= self._offset
        return self._copy

    def _piece(self, part: slice, dtype: Any = None) -> Array:
        piece = self._array[part]
        if self._offset is not None:
            piece = piece - self._offset
        return piece.astype(self.dtype if dtype is None else dtype, copy=False)

    def _matmat(self, block: Array) -> Array:
        if self._offset is None:
            return times(self._array, block)
        if self._mild:
            along = (self._offset @ block).astype(self.dtype, copy=False)
            return np.asarray(self._array @ block - along)
        out = np.empty((self.shape[0], block.shape[1]), dtype=self.dtype)

        def multiply(part: slice) -> None:
            for rows in self._slices(part=part):
                np.matmul(self._piece(rows), block, out=out[rows])

        map_threads(multiply, row_parts(*self.shape), blas=True)
        return out

    def _rmatmat(self, block: Array) -> Array:
        if self._offset is None or self._mild:
            if block.shape[1] <= (_NARROW if self._mild else _FEW_SUMS // max(1, self.shape[1])):
                out = inner(self._array, block)
            else:
                out = _pulled(self._array, block)
            if self._offset is not None:
                out = out - np.outer(self._offset, column_sums(block))
            return out.astype(self.dtype, copy=False)
        out = np.zeros((self.shape[1], block.shape[1]), dtype=self.dtype)
        for part in self._slices(8 * block.shape[1]):
            out += self._piece(part).T @ block[part]
        return out

    def gram(self) -> Array:
        return self.moments(np.empty((self.shape[0], 0)))[0]

    def rough_gram(self) -> Array:
        return self._moments(np.empty((self.shape[0], 0)), self.dtype)[0]

    def cross(self, block: Array) -> Array:
        some = block[:: max(1, len(block) // _SOME_ROWS)]
        if np.count_nonzero(some) < _MOSTLY_ZERO * some.size:
            block = sparse.csr_array(block)
        small = self._small(np.float64)
        if small is not None:
            return np.asarray(small.T @ block)
        if self._mild and self._offset is not None and self.dtype == np.float64:
            return np.asarray(
                _pulled(self._array, block) - np.outer(self._offset, block.sum(axis=0))
            )
        out = np.zeros((self.shape[1], block.shape[1]))
        for part in self._slices(8 * block.shape[1]):
            out += self._piece(part, np.float64).T @ block[part]
        return out

    def moments(self, block: Array) -> tuple[Array, Array]:
        return self._moments(block, np.dtype(np.float64))

    def _moments(self, block: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        small = self._small(dtype)
        if small is not None:
            return small.T @ small, _pulled(small, block)
        if self._offset is None:
            return self._products(block, dtype)
        # Centred afterwards: no copy of the data is made.
        gram, cross = Dense(self._array)._products(block, dtype)
        squares = np.diag(gram).copy()
        half = self._column_sums() - 0.5 * self.shape[0] * self._offset
        aside = np.outer(half, self._offset)
        gram -= aside
        gram -= aside.T
        few = clear_of_means(squares, np.diag(gram), np.float32)
        if not (few or clear_of_means(squares, np.diag(gram), dtype)):
            return self._products(block, dtype)
        self._mild = few or self.dtype == np.float64
        if block.shape[1]:
            cross = cross - np.outer(self._offset, column_sums(block))
        return gram, cross

    def _column_sums(self) -> Array:
        """Return the column sums in float64, without the offset."""
        if self._sums is None:
            # The caller checks the sums for infinity and overflow.
            with np.errstate(over="ignore", invalid="ignore"):
                ones = np.ones((self.shape[0], 1))
                self._sums = inner(ones, self._array, np.float64)[0]
        return self._sums

    def _products(self, block: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        """Return both products of the rows in a given type, summed in float64."""
        if self._offset is None and self.dtype == dtype == np.float64:
            return self._array.T @ self._array, _pulled(self._array, block)
        gram = np.zeros((self.shape[1], self.shape[1]))
        cross = np.zeros((block.shape[1], self.shape[1]))
        copied = self._offset is not None or self.dtype != dtype
        for part in self._slices(_GRAM_ROWS if copied else 2 * _GRAM_ROWS):
            piece = self._piece(part, dtype)
            gram += piece.T @ piece
            if block.shape[1]:
                cross += block[part].astype(dtype, copy=False).T @ piece
        return gram, cross.T

    def cogram(self) -> Array:
        whole = self._piece(slice(None), np.float64)
        return whole @ whole.T

    def column_means(self) -> Array:
        means = self._column_sums() / self.shape[0]
        return np.asarray(means if self._offset is None else means - self._offset)

    def sum_of_squares(self) -> float:
        if self._offset is None:
            return sum_of_squares(self._array)
        about_zero, rows = sum_of_squares(self._array), self.shape[0]
        square = about_zero + float(self._offset @ (rows * self._offset - 2 * self._column_sums()))
        if about_zero <= digits_to_lose(np.float64) * square < np.inf:
            return square
        return sum(sum_of_squares(self._piece(part, np.float64)) for part in self._slices())

    def column_squares(self) -> Array:
        squares = np.zeros(self.shape[1])
        for part in self._slices():
            squares += np.square(self._piece(part), dtype=np.float64).sum(axis=0)
        return above_rounding(squares, self.shape[0], self._offset)

    def shifted(self, offset: Array) -> Dense:
        offset = checked_offset(offset, self.shape[1])
        out = Dense(self._array, added_offset(self._offset, offset))
        out._sums = self._sums
        return out

    def centered(self) -> tuple[Operator, Array]:
        means = self.column_means()
        # A mean is rounded: subtracted from a constant column it would leave a column of
        # rounding errors, which a solver that scales columns would mistake for a feature.
        constant = constant_columns(self._array)
        means[constant] = self._piece(slice(0, 1), np.float64)[0, constant]
        return self.shifted(means), means

    def rows(self, index: Array) -> Operator:
        return Dense(self._array[index], self._offset)

    def wide_rows(self, part: slice) -> Array:
        return np.asarray(self._piece(part, np.float64))

    def to_block(self) -> Array:
        return self._piece(slice(None))


def _pulled(rows: Array, block: Array) -> Array:
    """Return ``rows.T @ block`` for a narrow block, by the faster of two methods."""
    return np.asarray((block.T @ rows).T)
