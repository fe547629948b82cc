"""Dense data, centred block by block so that no copy of it is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from .array_backend import inner, sum_of_squares, times
from .operator import Operator, checked_offset

__all__ = ["Dense"]

_BLOCK_BYTES = 1 << 25
_FIRST_ROWS = 64
# Entries of a product up to which threads may have a sum of their own.
_FEW_SUMS = 1 << 17
# Sums of squares about zero may be this many times those about the means, of 16 digits.
_DIGITS_TO_LOSE = 1e3


class Dense(Operator):
    """An operator over a dense array, minus an optional row of offsets.

    The offset is subtracted from a block of rows at a time, before the product: where
    columns have large means, a product corrected afterwards would lose the digits
    that matter. Once the moments have shown that the means are not large, products are
    corrected afterwards, without a copy of the rows.

    Parameters
    ----------
    array : array of shape (n, d)
        In float32 or float64; it is not copied.
    offset : array of shape (d,) or None, default=None
        Subtracted from every row.

    See Also
    --------
    Sparse : The same for sparse data.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import Dense
    >>> Dense(np.array([[1.0, 2.0]]), offset=np.array([1.0, 1.0])).toarray()
    array([[0., 1.]])
    """

    def __init__(self, array: Array, offset: Array | None = None) -> None:
        super().__init__(array.shape, array.dtype)
        self._array = array
        self._offset = offset
        # Whether products may be corrected afterwards, which needs no copy of the rows.
        self._mild = False

    @property
    def array(self) -> Array:
        """The array, without the offset subtracted."""
        return self._array

    @property
    def offset(self) -> Array | None:
        """What is subtracted from every row."""
        return self._offset

    def _slices(self) -> Iterator[slice]:
        rows, columns = self.shape
        step = max(1, _BLOCK_BYTES // max(1, 8 * columns))
        for start in range(0, rows, step):
            yield slice(start, min(start + step, rows))

    def _piece(self, part: slice, dtype: Any = None) -> Array:
        piece = self._array[part]
        if self._offset is not None:
            piece = piece - self._offset
        return piece.astype(self.dtype if dtype is None else dtype, copy=False)

    def _matmat(self, block: Array) -> Array:
        if self._offset is None:
            return times(self._array, block)
        if self._mild:
            return np.asarray(self._array @ block - self._offset @ block)
        out = np.empty((self.shape[0], block.shape[1]), dtype=self.dtype)
        for part in self._slices():
            np.matmul(self._piece(part), block, out=out[part])
        return out

    def _rmatmat(self, block: Array) -> Array:
        if self._offset is None:
            if self.shape[1] * block.shape[1] <= _FEW_SUMS:
                return inner(self._array, block).astype(self.dtype, copy=False)
            return self._array.T @ block
        if self._mild:
            return self._corrected(block)
        out = np.zeros((self.shape[1], block.shape[1]), dtype=self.dtype)
        for part in self._slices():
            out += self._piece(part).T @ block[part]
        return out

    def gram(self) -> Array:
        return self.moments(np.empty((self.shape[0], 0)))[0]

    def rough_gram(self) -> Array:
        return self._moments(np.empty((self.shape[0], 0)), self.dtype)[0]

    def _corrected(self, block: Array) -> Array:
        assert self._offset is not None
        return np.asarray(_pulled(self._array, block) - np.outer(self._offset, block.sum(axis=0)))

    def cross(self, block: Array) -> Array:
        if self._mild:
            return self._corrected(block)
        out = np.zeros((self.shape[1], block.shape[1]))
        for part in self._slices():
            out += self._piece(part, np.float64).T @ block[part]
        return out

    def cross_rare(self, block: Array) -> Array:
        """Return the product with a block, for one that is mostly zeros: entry by entry."""
        return self.cross(sparse.csr_array(block))

    def moments(self, block: Array) -> tuple[Array, Array]:
        return self._moments(block, np.float64)

    def centered_moments(self, block: Array) -> tuple[Array, Array, Array]:
        if self._offset is None:
            gram, cross, sums = self._summed(block, np.float64)
            means = sums / self.shape[0]
            about = gram - np.outer(sums, means)
            if _clear(gram, about):
                return means, about, cross - np.outer(means, block.sum(axis=0))
        return super().centered_moments(block)

    def _moments(self, block: Array, dtype: Any) -> tuple[Array, Array]:
        if self._offset is None:
            return self._products(block, dtype)
        # Centred afterwards: no copy of the data is made.
        gram, cross, sums = Dense(self._array)._summed(block, dtype)
        aside = np.outer(sums, self._offset)
        about = gram - aside - aside.T + self.shape[0] * np.outer(self._offset, self._offset)
        if not _clear(gram, about):
            return self._products(block, dtype)
        self._mild = self.dtype == np.float64
        return about, cross - np.outer(self._offset, block.sum(axis=0))

    def _summed(self, block: Array, dtype: Any) -> tuple[Array, Array, Array]:
        """Return both products, and the column sums, which come with a column of ones."""
        ones = np.ones((self.shape[0], 1))
        gram, cross = self._products(np.hstack([block, ones]), dtype)
        return gram, cross[:, :-1], cross[:, -1]

    def _products(self, block: Array, dtype: Any) -> tuple[Array, Array]:
        """Return both products of the rows in a given type, summed in float64."""
        if self._offset is None and self.dtype == dtype == np.float64:
            return self._array.T @ self._array, _pulled(self._array, block)
        gram = np.zeros((self.shape[1], self.shape[1]))
        cross = np.zeros((self.shape[1], block.shape[1]))
        for part in self._slices():
            piece = self._piece(part, dtype)
            gram += piece.T @ piece
            cross += piece.T @ block[part].astype(dtype, copy=False)
        return gram, cross

    def cogram(self) -> Array:
        whole = self._piece(slice(None), np.float64)
        return whole @ whole.T

    def column_means(self) -> Array:
        means = np.mean(self._array, axis=0, dtype=np.float64)
        return np.asarray(means if self._offset is None else means - self._offset)

    def sum_of_squares(self) -> float:
        return sum(sum_of_squares(self._piece(part, np.float64)) for part in self._slices())

    def column_squares(self) -> Array:
        squares = np.zeros(self.shape[1])
        for part in self._slices():
            squares += np.square(self._piece(part), dtype=np.float64).sum(axis=0)
        return squares

    def shifted(self, offset: Array) -> Operator:
        offset = checked_offset(offset, self.shape[1])
        return Dense(self._array, offset if self._offset is None else offset + self._offset)

    def centered(self) -> tuple[Operator, Array]:
        means = self.column_means()
        # A mean is rounded: subtracted from a constant column it would leave a column of
        # rounding errors, which a solver that scales columns would take for a feature.
        # Few columns are constant in the first rows, and only those are checked in full.
        first = self._piece(slice(0, 1), np.float64)[0]
        same = np.flatnonzero((self._array[:_FIRST_ROWS] == self._array[:1]).all(axis=0))
        constant = same[(self._array[:, same] == self._array[:1, same]).all(axis=0)]
        means[constant] = first[constant]
        return self.shifted(means), means

    def rows(self, index: Array) -> Operator:
        return Dense(self._array[index], self._offset)

    def wide_rows(self, part: slice) -> Array:
        return np.asarray(self._piece(part, np.float64))

    def toarray(self) -> Array:
        return np.array(self._piece(slice(None)))


def _pulled(rows: Array, block: Array) -> Array:
    """Return ``rows.T @ block`` for a narrow block, by the faster of two ways to multiply."""
    return np.asarray((block.T @ rows).T)


def _clear(about_zero: Array, about_means: Array) -> bool:
    """Return whether sums of squares keep enough digits when centred afterwards."""
    return bool((np.diag(about_zero) <= _DIGITS_TO_LOSE * np.diag(about_means)).all())
