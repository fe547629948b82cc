"""Products of CSR matrices by scipy, and blocks of rows that share their entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array

__all__ = ["Outer", "SparseProducts", "rows_of"]


class Outer:
    """``column * row``, which is subtracted from a product while its rows are in the cache.

    The column is n x 1; None stands for ones.
    """

    def __init__(self, column: Array | None, row: Array) -> None:
        self.column, self.row = column, row

    def __getitem__(self, rows: slice) -> Outer:
        return self if self.column is None else Outer(self.column[rows], self.row)

    def subtract(self, out: Array) -> None:
        """Subtract it from an array."""
        np.subtract(out, self.row if self.column is None else self.column * self.row, out=out)


class SparseProducts:
    """The two products of a CSR matrix with a block whose rows are contiguous, by scipy.

    Both release the interpreter lock, and no sum depends on the number of threads. Where
    ``stores_transpose``, ``transpose`` is called once and products with ``csr.T`` are gathered
    from its result.
    """

    stores_transpose = False

    def transpose(self, csr: Any, parts: list[tuple[slice, Any]]) -> Any:
        """Return ``csr.T`` as a CSR matrix; ``parts`` are blocks of its rows."""
        return csr.T.tocsr()

    def gather(self, csr: Any, block: Array, out: Array, less: Outer | None) -> None:
        """Write ``csr @ block``, less an outer product, into ``out``."""
        out[:] = csr @ block
        if less is not None:
            less.subtract(out)

    def scatter(self, csr: Any, block: Array) -> Array:
        """Return ``csr.T @ block``."""
        arrays = (csr.data, csr.indices, csr.indptr)
        product: Array = _compressed(sparse.csc_array, csr.shape[::-1], arrays) @ block
        return product

    def sums(self, csr: Any) -> tuple[Array, Array]:
        """Return the sum of each column in float64, and the number of its entries."""
        weights = csr.data.astype(np.float64)
        return (
            np.bincount(csr.indices, weights=weights, minlength=csr.shape[1]),
            np.bincount(csr.indices, minlength=csr.shape[1]),
        )


def rows_of(csr: Any, start: int, stop: int) -> Any:
    """Return some rows of a CSR matrix, sharing its entries.

    The constructor of scipy copies the entries where they are a view of a larger array, which
    here would copy the whole matrix for each product.
    """
    low, high = csr.indptr[start], csr.indptr[stop]
    return _compressed(
        sparse.csr_array,
        (stop - start, csr.shape[1]),
        (csr.data[low:high], csr.indices[low:high], csr.indptr[start : stop + 1] - low),
    )


def _compressed(kind: Any, shape: tuple[int, int], arrays: tuple[Array, Array, Array]) -> Any:
    matrix = kind(shape, dtype=arrays[0].dtype)
    matrix.data, matrix.indices, matrix.indptr = arrays
    return matrix
