"""Sparse data in compressed rows, multiplied on threads.

scipy's products release the interpreter lock, so threads over blocks of rows scale
with the cores. Its ``X.T @ U`` adds each block of rows into a separate sum per thread: on few
cores that is as fast as a stored transpose and takes half the memory. The loops compiled by
numba use a stored transpose, which on sixteen cores takes a third of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput
from .array_backend import add_all, contiguous, put_rows, sum_of_squares
from .dense import Dense
from .digits import far_from_zero, nearly_full
from .machine import map_threads, n_threads, row_parts
from .operator import Centered, Operator, checked_offset

__all__ = ["Outer", "Sparse", "SparseProducts", "canonical", "host_operator", "rows_of"]

# Below this many multiplications, another thread costs more than it saves.
_WORTH_A_THREAD = 1 << 19
# More blocks than threads, so that a delayed thread delays the others less.
_BLOCKS_PER_THREAD = 4
# From this many entries on, loops compiled by numba save more time than loading them takes.
_WORTH_COMPILING = 1 << 23
# Below this many entries, everything is in the cache anyway.
_WORTH_ARRANGING = 1 << 18
# Each part of a transposed product sums into its own d x m block, which pays off if a
# column has at least this many entries in the part: with 16, two parts of rcv1 take 5 to 13% more
# CPU time than one, and half of the time on two threads.
_ENTRIES_OF_A_COLUMN = 16
_MOST_PARTIAL_SUMS = 16
# Number of rows that are multiplied, or made dense, at a time for a Gram matrix.
_GRAM_BLOCK = 512
# In Gram matrices, a column with this fraction of its entries is multiplied as a dense one: a pair
# of entries takes about 5 ns in a sparse product, a multiplication in a dense one .02 to .2 ns.
_FILLED = 1 / 20
# Number of entries processed at a time when columns are compared with their means, or made dense.
_CHUNK = 1 << 22


class Sparse(Operator):
    """An operator over a sparse matrix, stored as CSR, with int32 indices if possible.

    The matrix may be in any format, and is not changed. If numba is installed (the extra ``fast``)
    and the data has at least 8 million nonzeros, it computes the products. It stores a second,
    transposed copy of the data and uses many cores better.
    """

    threaded = True

    def __init__(self, matrix: Any) -> None:
        csr = sparse.csr_array(matrix)
        if csr.indices.dtype != np.int32 and max(csr.nnz, *csr.shape) < np.iinfo(np.int32).max:
            csr = sparse.csr_array(
                (csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int32)),
                shape=csr.shape,
            )
        if not _canonical(csr):
            csr = csr.copy()
            csr.sum_duplicates()
        super().__init__(csr.shape, csr.dtype)
        self.fill = csr.nnz / max(1, csr.shape[0] * csr.shape[1])
        self._csr = csr
        # Built at the first product with X', if the backend is faster with it.
        self._transposed: Any = None
        # Blocks of rows of the matrix and of its transpose, by their number.
        self._blocks: dict[tuple[bool, int], list[tuple[slice, Any]]] = {}
        # Used several times in one fit.
        self._sums: Array | None = None
        self._counts: Array | None = None
        self._squares: Array | None = None
        # Computed once, because a penalty is often chosen before the problem is solved.
        self._arranged: tuple[Sparse, Array] | None = None
        self._products = _products_for(csr.nnz)

    def __getstate__(self) -> dict[str, Any]:
        # What is computed again when it is needed; the blocks are views of the matrix, and would be
        # pickled as a second copy.
        return self.__dict__ | {
            "_blocks": {},
            "_arranged": None,
            "_sums": None,
            "_counts": None,
            "_squares": None,
        }

    def arranged(self) -> tuple[Operator, Array | None]:
        """Put columns with many entries first.

        The corresponding rows of a block then stay in the cache: on text, where few words make up
        most of the entries, products take two thirds of the time.
        """
        if self._arranged is not None:
            return self._arranged
        csr = self._csr
        counts = self.column_counts()
        if csr.nnz < _WORTH_ARRANGING or (np.diff(counts) <= 0).all():
            return self, None
        order = np.argsort(-counts, kind="stable")
        place = np.empty(order.size, dtype=csr.indices.dtype)
        place[order] = np.arange(order.size)
        # The entries of a row stay where they are: products do not need sorted columns.
        indices = np.empty_like(csr.indices)

        def rename(part: slice) -> None:
            np.take(place, csr.indices[part], out=indices[part], mode="clip")

        map_threads(rename, row_parts(csr.nnz, 1))
        renamed = sparse.csr_array((csr.data, indices, csr.indptr), shape=csr.shape)
        other = self._with(renamed)
        other._counts = counts[order]
        other._sums = None if self._sums is None else self._sums[order]
        other._squares = self.column_squares()[order]
        self._arranged = other, order
        return self._arranged

    def _with(self, csr: Any) -> Sparse:
        """Return an operator over another matrix, multiplied the same way."""
        other = copy(self)
        other._csr, other._transposed, other.shape = csr, None, csr.shape
        other._sums = other._counts = other._squares = other._arranged = None
        other._blocks = {}
        return other

    def _matmat(self, block: Array) -> Array:
        return self._gathered(self._csr, block)

    def _matmat_less_row(self, block: Array, row: Array) -> Array:
        block = self._block(block, self.shape[1], "matmat")
        return self._gathered(self._csr, block, Outer(None, row))

    def _gathered(self, csr: Any, block: Array, less: Outer | None = None) -> Array:
        threads = n_threads()
        most = 1 if threads == 1 else _BLOCKS_PER_THREAD * threads
        count = _how_many(csr, block.shape[1], most)
        if count == 1:
            return self._products.gather(csr, block, less)
        out = np.empty((csr.shape[0], block.shape[1]), dtype=block.dtype)

        def multiply(part: tuple[slice, Any]) -> None:
            rows, piece = part
            self._products.gather(piece, block, None if less is None else less[rows], out[rows])

        key = csr is self._csr, count
        if key not in self._blocks:
            self._blocks[key] = _row_blocks(csr, count)
        map_threads(multiply, self._blocks[key])
        return out

    def _rmatmat(self, block: Array) -> Array:
        return self._summed(block)

    def _rmatmat_less_outer(self, block: Array, column: Array, row: Array) -> Array:
        block = self._block(block, self.shape[0], "rmatmat")
        return self._summed(block, Outer(column, row))

    def _summed(self, block: Array, less: Outer | None = None) -> Array:
        if self._has_transpose:
            return self._gathered(self._transpose(), block, less)
        # The number of sums does not depend on the number of threads, so the result is the
        # same to the last bit.
        count = _how_many(self._csr, block.shape[1], self._partial_sums())
        parts = _row_blocks(self._csr, count)
        sums = map_threads(lambda part: self._products.scatter(part[1], block[part[0]]), parts)
        return add_all(sums, None if less is None else lambda rows, out: less[rows].subtract(out))

    @property
    def _has_transpose(self) -> bool:
        return self._products.stores_transpose and self._csr.nnz >= _WORTH_ARRANGING

    def _transpose(self) -> Any:
        if self._transposed is None:
            # Few enough parts that their column counts are small compared with the entries.
            most = max(1, min(n_threads(), self._csr.nnz // (4 * self.shape[1])))
            parts = _row_blocks(self._csr, _how_many(self._csr, 1, most))
            self._transposed = self._products.transpose(self._csr, parts)
        return self._transposed

    def gram(self) -> Array:
        # Of texts, a few frequent words make up most of the pairs of entries.
        wide, filled, rest = self._filled_columns()
        out, side = (rest.T @ rest).toarray(), np.zeros((self.shape[1], filled.size))
        for start in range(0, self.shape[0] if filled.size else 0, _GRAM_BLOCK):
            part = rows_of(wide, start, min(start + _GRAM_BLOCK, self.shape[0]))
            side += self._products.scatter(part, part[:, filled].toarray())
        out[:, filled], out[filled] = side, side.T
        return np.asarray(out)

    def _filled_columns(self) -> tuple[Any, Array, Any]:
        """Return the matrix in float64, its columns with many entries, and it without these."""
        csr = self.in_type(np.float64)._csr
        filled = self.column_counts() >= _FILLED * self.shape[0]
        kept = ~filled[csr.indices]
        starts = np.concatenate([[0], np.cumsum(kept)])[csr.indptr].astype(csr.indptr.dtype)
        arrays = csr.data[kept], csr.indices[kept], starts
        return csr, np.flatnonzero(filled), _compressed(sparse.csr_array, csr.shape, arrays)

    def cross(self, block: Array) -> Array:
        if not self._has_transpose:
            return self.in_type(np.float64).rmatmat(block)
        if self._transposed is None and self._arranged is not None:
            # The transpose exists already, or will be used again.
            arranged, order = self._arranged
            return put_rows(order, arranged.cross(block))
        return self._gathered(self._transpose(), contiguous(block, np.float64))

    def in_type(self, dtype: Any) -> Sparse:
        if self.dtype == dtype:
            return self
        # Reordered columns are not sorted and need not be; astype would sort them.
        csr = self._csr
        parts = (csr.data.astype(dtype), csr.indices, csr.indptr)
        other = self._with(sparse.csr_array(parts, shape=csr.shape))
        other.dtype = np.dtype(dtype)
        other._sums, other._counts = self._sums, self._counts
        return other

    def cogram(self) -> Array:
        wide, filled, rest = self._filled_columns()
        rows, columns = self.shape[0], rest.T.tocsr()
        out = np.empty((rows, rows))
        for start in range(0, rows, _GRAM_BLOCK):
            part = rows_of(rest, start, min(start + _GRAM_BLOCK, rows))
            out[start : start + _GRAM_BLOCK] = (part @ columns).toarray()
        step = max(1, _CHUNK // max(1, rows))
        for start in range(0, filled.size, step):
            dense = wide[:, filled[start : start + step]].toarray()
            out += dense @ dense.T
        return out

    def column_means(self) -> Array:
        return np.asarray(self._column_sums()[0] / self.shape[0])

    def _column_sums(self) -> tuple[Array, Array]:
        """Return the sum and the number of entries of each column."""
        if self._sums is None or self._counts is None:
            self._sums, self._counts = self._summed_by_part(lambda csr: csr.data)
        return self._sums, self._counts

    def _summed_by_part(self, values: Callable[[Any], Array]) -> tuple[Array, Array]:
        """Return sums of some values of the entries of each column, and the number of entries."""
        # The number of parts does not depend on the number of threads, so the sums are the same.
        parts = _row_blocks(self._csr, _how_many(self._csr, 1, self._partial_sums()))

        def summed(part: tuple[slice, Any]) -> tuple[Array, Array]:
            csr = part[1]
            arrays = values(csr), csr.indices, csr.indptr
            return self._products.sums(_compressed(sparse.csr_array, csr.shape, arrays))

        found = map_threads(summed, parts)
        sums, counts = (np.sum(each, axis=0) for each in zip(*found, strict=True))
        return sums.astype(np.float64), counts.astype(np.float64)

    def _partial_sums(self) -> int:
        """Return the maximum number of parts for column sums."""
        each = self._csr.nnz // (_ENTRIES_OF_A_COLUMN * max(1, self.shape[1]))
        return 1 << max(0, int(min(each, _MOST_PARTIAL_SUMS)).bit_length() - 1)

    def sum_of_squares(self) -> float:
        return sum_of_squares(self._csr.data)

    def column_squares(self) -> Array:
        if self._squares is None:
            self._squares = self._summed_by_part(lambda csr: np.square(csr.data, dtype=np.float64))[
                0
            ]
        return self._squares.copy()

    def column_counts(self) -> Array:
        return self._column_sums()[1]

    def shifted(self, offset: Array) -> Operator:
        """Subtract a row of numbers from every row.

        Products are corrected afterwards, except in columns where the offset is large
        compared with the deviations: there the correction would cancel significant digits. Such a
        column has an entry in nearly every row. Its entries are shifted before the products,
        which costs one more copy of the entries; all others stay shared.
        """
        offset = checked_offset(offset, self.shape[1])
        far = self.columns_far_from_zero(offset)
        if not far.any():
            return Centered(self, offset)
        return Centered(self.moved(offset, far), np.where(far, 0.0, offset))

    def centered(self) -> tuple[Operator, Array]:
        means = self.column_means()
        far = self.columns_far_from_zero(means)
        if not far.any():
            return Centered(self, means), means
        # Sums about zero round to the size of the mean, sums about the mean to that of the
        # deviations: a second pass makes the mean of a constant column exact.
        means[far] += self.in_type(np.float64).moved(means, far).column_means()[far]
        return self.shifted(means), means

    @property
    def csr(self) -> Any:
        """The matrix, in canonical format."""
        return self._csr

    def columns_far_from_zero(self, offset: Array) -> Array:
        """Return which columns lose digits if products are corrected by an offset."""
        rows = self.shape[0]
        far = np.asarray(nearly_full(self.column_counts(), rows, self.dtype))
        if far.any():
            sums = self._column_sums()[0]
            far &= far_from_zero(offset, sums, self.column_squares(), rows, self.dtype)
        return far

    def moved(self, offset: Array, far: Array) -> Sparse:
        """Subtract the offset from some columns, entry by entry."""
        csr = self._csr
        data = np.empty_like(csr.data)
        for start in range(0, csr.nnz, _CHUNK):
            part = slice(start, start + _CHUNK)
            index = csr.indices[part]
            data[part] = csr.data[part] - np.where(far[index], offset[index], 0.0)
        moved = sparse.csr_array((data, csr.indices, csr.indptr), shape=csr.shape)
        zeros = self._zeros_of(np.flatnonzero(far))
        if zeros[0].size:
            missing = (-offset[zeros[1]]).astype(data.dtype), zeros
            moved = moved + sparse.csr_array(missing, shape=csr.shape)
        return self._with(moved)

    def _zeros_of(self, columns: Array) -> tuple[Array, Array]:
        """Return rows and columns of the entries that are not stored, for nearly full columns."""
        counts = self.column_counts()
        gaps = columns[counts[columns] < self.shape[0]]
        stored = self._csr[:, gaps].tocsc()
        everything = np.arange(self.shape[0], dtype=self._csr.indices.dtype)
        rows = [
            np.setdiff1d(everything, stored.indices[start:stop], assume_unique=True)
            for start, stop in pairwise(stored.indptr)
        ]
        if not rows:
            return everything[:0], everything[:0]
        sizes = [each.size for each in rows]
        return np.concatenate(rows), np.repeat(gaps, sizes).astype(everything.dtype)

    def rows(self, index: Array) -> Operator:
        return self._with(self._csr[index])

    def wide_rows(self, part: slice) -> Array:
        return np.asarray(self._csr[part].toarray(), dtype=np.float64)

    def to_block(self) -> Array:
        return np.asarray(self._csr.toarray())


def host_operator(X: Any) -> Dense | Sparse:
    """Wrap an array or a sparse matrix of numbers; integers become float64."""
    if sparse.issparse(X) and X.ndim == 2 and X.dtype.kind in "fiub":
        return Sparse(X if _is_float(X.dtype) else X.astype(np.float64))
    array = X if sparse.issparse(X) else np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InvalidInput(
            "X must be a two-dimensional array or sparse matrix of numbers, "
            f"but {type(X).__name__} of shape {array.shape} and type {array.dtype} was given."
        )
    return Dense(array if _is_float(array.dtype) else array.astype(np.float64))


def _is_float(dtype: Any) -> bool:
    return dtype in (np.float32, np.float64)


def canonical(X: Any) -> Any:
    """Return sparse data with sorted indices and without duplicates; other data unchanged.

    With duplicates, products are correct, but norms, squares and maxima are not. The caller's
    matrix is never changed.
    """
    if not sparse.issparse(X):
        return X
    matrix = X.tocsr() if X.format not in ("csr", "csc") else X
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _canonical(csr: Any) -> bool:
    """Return whether all entries are sorted and without duplicates; checked on threads."""
    blocks = _row_blocks(csr, _how_many(csr, 1, _MOST_PARTIAL_SUMS))
    if len(blocks) > 1 and all(map_threads(lambda part: part[1].has_canonical_format, blocks)):
        csr.has_canonical_format = True
    return bool(csr.has_canonical_format)


def _how_many(csr: Any, width: int, most: int) -> int:
    """Return the number of blocks of rows that are worth a thread in a product of some width."""
    worth = max(1, int(csr.nnz) * width // _WORTH_A_THREAD)
    return min(most, worth, max(1, int(csr.shape[0])))


def _row_blocks(csr: Any, count: int) -> list[tuple[slice, Any]]:
    """Split rows into blocks with about equal numbers of nonzeros, sharing the data."""
    if count == 1:
        return [(slice(0, csr.shape[0]), csr)]
    goals = np.linspace(0, csr.nnz, count + 1)[1:-1]
    cuts = [0, *np.searchsorted(csr.indptr, goals).tolist(), csr.shape[0]]
    return [
        (slice(start, stop), rows_of(csr, start, stop))
        for start, stop in pairwise(cuts)
        if start < stop
    ]


def _products_for(nonzeros: int) -> SparseProducts:
    """Return numba's loops if they pay off; they are compiled at their first use."""
    if nonzeros < _WORTH_COMPILING or find_spec("numba") is None:
        return SparseProducts()
    return NumbaProducts()


class Outer:
    """``column * row``, which is subtracted from a product while its rows are in the cache.

    The column is n x 1; None means ones.
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

    Both release the interpreter lock, and no sum depends on the number of threads. If
    ``stores_transpose`` is true, ``transpose`` is called once and products with ``csr.T``
    use its result.
    """

    stores_transpose = False

    def transpose(self, csr: Any, parts: list[tuple[slice, Any]]) -> Any:
        """Return ``csr.T`` as a CSR matrix; ``parts`` are blocks of its rows."""
        return csr.T.tocsr()

    def gather(
        self, csr: Any, block: Array, less: Outer | None = None, out: Array | None = None
    ) -> Array:
        """Return ``csr @ block``, minus an outer product; in ``out`` if given."""
        product: Array = csr @ block
        if less is not None:
            less.subtract(product)
        if out is not None:
            out[:] = product
        return product

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


class NumbaProducts(SparseProducts):
    """Products by loops that numba compiles at their first use, and a stored transpose."""

    stores_transpose = True

    @property
    def _loops(self) -> Any:
        from . import numba_backend  # noqa: PLC0415 - optional

        return numba_backend

    def transpose(self, csr: Any, parts: list[tuple[slice, Any]]) -> Any:
        """Return ``csr.T`` as CSR, counted and filled in blocks of rows on threads."""
        rows, columns = csr.shape

        def count(part: tuple[slice, Any]) -> Array:
            return self.sums(part[1])[1]

        counts = map_threads(count, parts)
        total = np.sum(counts, axis=0)
        ends = np.cumsum(total)
        # Position of the first entry of each part in each column.
        free = [ends - total]
        for of_part in counts[:-1]:
            free.append(free[-1] + of_part)
        indices = np.empty(csr.nnz, dtype=csr.indices.dtype)
        data = np.empty_like(csr.data)

        def fill(number: int) -> None:
            place, part = parts[number]
            self._loops.fill_columns(
                part.indptr, part.indices, part.data, place.start, free[number], indices, data
            )

        map_threads(fill, range(len(parts)))
        starts = np.concatenate([[0], ends]).astype(csr.indptr.dtype)
        return sparse.csr_array((data, indices, starts), shape=(columns, rows))

    def gather(
        self, csr: Any, block: Array, less: Outer | None = None, out: Array | None = None
    ) -> Array:
        out = np.empty((csr.shape[0], block.shape[1]), dtype=block.dtype) if out is None else out
        column = row = np.empty(0, dtype=out.dtype)
        if less is not None:
            row = np.ascontiguousarray(less.row, dtype=out.dtype).reshape(-1)
            if less.column is not None:
                column = np.ascontiguousarray(less.column, dtype=out.dtype).reshape(-1)
        self._loops.gather_rows(csr.indptr, csr.indices, csr.data, block, out, column, row)
        return out

    def sums(self, csr: Any) -> tuple[Array, Array]:
        sums, counts = np.zeros(csr.shape[1]), np.zeros(csr.shape[1], dtype=np.int64)
        self._loops.sum_columns(csr.indices, csr.data, sums, counts)
        return sums, counts


def rows_of(csr: Any, start: int, stop: int) -> Any:
    """Return some rows of a CSR matrix, sharing its entries.

    scipy's constructor copies entries that are a view of a larger array, which would
    copy the whole matrix for each product.
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
