"""Sparse data in compressed rows, multiplied on threads.

scipy's products release the interpreter lock, so threads over blocks of rows scale
with the cores. ``X.T @ U`` scatters each block of rows into a sum of its thread's
own: measured on text, that is as fast as a stored transpose and half the memory.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .base import Array, Operator
from .threads import map_threads, n_threads

__all__ = ["Sparse"]

# Below so many multiplications a thread costs more than it brings.
_WORTH_A_THREAD = 1 << 19
# Each part of a transposed product sums into a d x m block of its own.
_MOST_PARTIAL_SUMS = 8
_COGRAM_BLOCK = 256


class Sparse(Operator):
    """An operator over a CSR matrix; the indices are int32 where they fit."""

    def __init__(self, matrix: Any) -> None:
        csr = sparse.csr_array(matrix)
        if csr.indices.dtype != np.int32 and max(csr.nnz, *csr.shape) < np.iinfo(np.int32).max:
            csr = sparse.csr_array(
                (csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int32)),
                shape=csr.shape,
            )
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        super().__init__(csr.shape, csr.dtype)
        self._csr = csr

    def _parts(self, width: int, most: int) -> list[tuple[slice, Any]]:
        """Blocks of rows with about equal numbers of nonzeros, sharing the data."""
        csr = self._csr
        worth = max(1, csr.nnz * width // _WORTH_A_THREAD)
        count = min(most, worth, max(1, self.shape[0]))
        if count == 1:
            return [(slice(None), csr)]
        goals = np.linspace(0, csr.nnz, count + 1)[1:-1]
        cuts = [0, *np.searchsorted(csr.indptr, goals).tolist(), self.shape[0]]
        parts = []
        for start, stop in pairwise(cuts):
            if start < stop:
                low, high = csr.indptr[start], csr.indptr[stop]
                piece = sparse.csr_array(
                    (csr.data[low:high], csr.indices[low:high], csr.indptr[start : stop + 1] - low),
                    shape=(stop - start, self.shape[1]),
                )
                parts.append((slice(start, stop), piece))
        return parts

    def _matmat(self, block: Array) -> Array:
        out = np.empty((self.shape[0], block.shape[1]), dtype=self.dtype)

        def multiply(part: tuple[slice, Any]) -> None:
            rows, piece = part
            out[rows] = piece @ block

        map_threads(multiply, self._parts(block.shape[1], n_threads()))
        return out

    def _rmatmat(self, block: Array) -> Array:
        parts = self._parts(block.shape[1], min(n_threads(), _MOST_PARTIAL_SUMS))
        sums = map_threads(lambda part: part[1].T @ block[part[0]], parts)
        out: Array = sums[0]
        for other in sums[1:]:
            out += other
        return out

    def gram(self) -> Array:
        wide = self._csr.astype(np.float64)
        return np.asarray((wide.T @ wide).toarray())

    def cross(self, block: Array) -> Array:
        wide = self if self.dtype == np.float64 else Sparse(self._csr.astype(np.float64))
        return wide.rmatmat(block)

    def cogram(self) -> Array:
        wide = Sparse(self._csr.astype(np.float64))
        rows = self.shape[0]
        out = np.empty((rows, rows))
        for start in range(0, rows, _COGRAM_BLOCK):
            stop = min(start + _COGRAM_BLOCK, rows)
            out[:, start:stop] = wide.matmat(wide._csr[start:stop].T.toarray())
        return out

    def column_means(self) -> Array:
        sums = np.bincount(
            self._csr.indices, weights=self._csr.data.astype(np.float64), minlength=self.shape[1]
        )
        return np.asarray(sums / self.shape[0])

    def sum_of_squares(self) -> float:
        return float(np.square(self._csr.data, dtype=np.float64).sum())

    def rows(self, index: Array) -> Operator:
        return Sparse(self._csr[index])

    def columns(self) -> tuple[Any, Array | None]:
        return self._csr.tocsc(), None

    def toarray(self) -> Array:
        return np.asarray(self._csr.toarray())
