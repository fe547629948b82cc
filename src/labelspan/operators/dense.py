"""Dense data, centred block by block so that no copy of it is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import InvalidInput
from .base import Array, Operator

__all__ = ["Dense"]

_BLOCK_BYTES = 1 << 24


class Dense(Operator):
    """An operator over a dense array, minus an optional row of offsets.

    The offset is taken off a block of rows at a time, before the product: with
    columns far from zero, a product corrected afterwards would lose the digits
    that matter.
    """

    def __init__(self, array: Array, offset: Array | None = None) -> None:
        super().__init__(array.shape, array.dtype)
        self._array = array
        self._offset = offset

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
            return self._array @ block
        out = np.empty((self.shape[0], block.shape[1]), dtype=self.dtype)
        for part in self._slices():
            np.matmul(self._piece(part), block, out=out[part])
        return out

    def _rmatmat(self, block: Array) -> Array:
        if self._offset is None:
            return self._array.T @ block
        out = np.zeros((self.shape[1], block.shape[1]), dtype=self.dtype)
        for part in self._slices():
            out += self._piece(part).T @ block[part]
        return out

    def gram(self) -> Array:
        out = np.zeros((self.shape[1], self.shape[1]))
        for part in self._slices():
            piece = self._piece(part, np.float64)
            out += piece.T @ piece
        return out

    def cross(self, block: Array) -> Array:
        out = np.zeros((self.shape[1], block.shape[1]))
        for part in self._slices():
            out += self._piece(part, np.float64).T @ block[part]
        return out

    def cogram(self) -> Array:
        whole = self._piece(slice(None), np.float64)
        return whole @ whole.T

    def column_means(self) -> Array:
        means = np.mean(self._array, axis=0, dtype=np.float64)
        return np.asarray(means if self._offset is None else means - self._offset)

    def sum_of_squares(self) -> float:
        return sum(
            float(np.square(self._piece(part), dtype=np.float64).sum()) for part in self._slices()
        )

    def shifted(self, offset: Array) -> Operator:
        offset = np.asarray(offset, dtype=np.float64)
        if offset.shape != (self.shape[1],):
            raise InvalidInput(
                f"shifted: offset must hold {self.shape[1]} numbers, but has shape {offset.shape}."
            )
        return Dense(self._array, offset if self._offset is None else offset + self._offset)

    def rows(self, index: Array) -> Operator:
        return Dense(self._array[index], self._offset)

    def toarray(self) -> Array:
        return np.array(self._piece(slice(None)))
