"""The interface of every operator, and the operators derived from it.

An operator is an n x d matrix that can be multiplied from both sides by a thin
block. Solvers use only this class: they never ask whether the numbers are dense,
sparse or on a device. A new kind of storage implements ``_matmat`` and ``_rmatmat``;
the other methods have correct defaults, which can be overridden by faster ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from .array_backend import (
    column_norms,
    column_sums,
    contiguous,
    host,
    on_host,
    placed,
    random_block,
    subtract_outer,
    subtract_row,
    sum_of_squares,
)
from .digits import added_offset, after_cancelling

__all__ = [
    "Centered",
    "Composite",
    "Operator",
    "checked_offset",
    "dottest",
]

# Maximum number of columns that ``column_blocks`` makes dense at a time, and of entries: 64 MiB.
_COLUMNS, _ENTRIES = 256, 1 << 23


class Operator(ABC):
    """An n x d matrix defined by its products with thin blocks.

    Subclasses implement ``_matmat(block)`` and ``_rmatmat(block)``; the shape of the block has
    already been checked.

    Parameters
    ----------
    shape : tuple of (int, int)
        Number of rows n and of columns d.
    dtype : dtype
        Type of the products: float32 or float64.

    Attributes
    ----------
    shape : tuple of (int, int)
        Number of rows and of columns.
    dtype : numpy.dtype
        Type of the products.
    device : torch.device or None
        Where the blocks are; None is the host.
    dual : bool
        Whether ``X X'`` can be formed; it cannot for rows on different machines.
    one_pass : bool
        Whether :meth:`normal` reads the rows once, as for rows in files or on other machines.
        Solvers then store no block with n rows.
    threaded : bool
        Whether products run on Python threads. Solvers then limit BLAS to one thread.
    fill : float
        The fraction of entries that products multiply, small if most are zeros.
    dense : bool
        Whether every entry is stored, so that :meth:`to_block` costs little.

    See Also
    --------
    labelspan.as_operator : Wrap an array, a sparse matrix or a tensor.
    labelspan.checks.check_operator : Check your own operator.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import Operator
    >>> class Ones(Operator):
    ...     def _matmat(self, block):
    ...         return np.tile(block.sum(axis=0), (self.shape[0], 1))
    ...     def _rmatmat(self, block):
    ...         return np.tile(block.sum(axis=0), (self.shape[1], 1))
    >>> Ones((3, 2), np.float64).gram()
    array([[3., 3.],
           [3., 3.]])
    """

    device: Any = None
    dual: bool = True
    one_pass: bool = False
    threaded: bool = False
    fill: float = 1.0
    dense: bool = False

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    @abstractmethod
    def _matmat(self, block: Array) -> Array: ...

    @abstractmethod
    def _rmatmat(self, block: Array) -> Array: ...

    def matmat(self, block: Array) -> Array:
        """Return ``X @ block`` for a block with d rows."""
        return self._matmat(self._block(block, self.shape[1], "matmat"))

    def to_device(self, block: Array) -> Array:
        """Move a block to the device and convert it to the type of the products."""
        if self.device is None:
            return contiguous(block, self.dtype)
        return placed(block, self.device, self.dtype)

    def in_type(self, dtype: Any) -> Operator | None:
        """Return the same data with products in float32 or float64; None if not possible."""
        return self if self.dtype == dtype else None

    def random_block(self, rows: int, width: int, rng: np.random.Generator) -> Array:
        """Return a block of standard normal random numbers on the device of X."""
        return random_block(rows, width, rng, self.dtype, self.device)

    def rmatmat(self, block: Array) -> Array:
        """Return ``X.T @ block`` for a block with n rows."""
        return self._rmatmat(self._block(block, self.shape[0], "rmatmat"))

    def _block(self, block: Array, rows: int, what: str) -> Array:
        self._check_block(block, rows, what)
        return self.to_device(block)

    def _check_block(self, block: Array, rows: int, what: str) -> None:
        if block.ndim != 2 or block.shape[0] != rows:
            raise InvalidInput(
                f"{what} of an operator of shape {self.shape} needs a block with {rows} rows, "
                f"but one of shape {block.shape} was given."
            )

    def _matmat_less_row(self, block: Array, row: Array) -> Array:
        """Return ``X @ block`` with a row of numbers subtracted from each row."""
        return subtract_row(self.matmat(block), row)

    def _rmatmat_less_outer(self, block: Array, column: Array, row: Array) -> Array:
        """Return ``X.T @ block - column * row`` for a d x 1 column and a row of numbers."""
        return subtract_outer(self.rmatmat(block), column, row)

    def normal(self, block: Array) -> Array:
        """Return ``X.T @ (X @ block)`` for a block with d rows, in one pass if possible."""
        return self.rmatmat(self.matmat(block))

    def arranged(self) -> tuple[Operator, Array | None]:
        """Reorder the columns so that products are fastest; return the operator and the order.

        The order is None if the columns stay as they are. Useful before many products.
        """
        return self, None

    @property
    def short_side(self) -> int:
        """Size of the smaller Gram matrix that can be formed."""
        return min(self.shape) if self.dual else self.shape[1]

    @property
    def T(self) -> Operator:
        """The transpose: the same operator with its two products exchanged."""
        return _Transposed(self)

    def gram(self) -> Array:
        """Return ``X.T @ X`` in float64; only for a moderate number of columns."""
        out = np.empty((self.shape[1],) * 2)
        for part, values in self.column_blocks():
            out[:, part] = host(self.rmatmat(values))
        return (out + out.T) / 2

    def rough_gram(self) -> Array:
        """Return ``X.T @ X`` accurate to the precision of the data, for its leading directions."""
        return self.gram()

    def moments(self, block: Array) -> tuple[Array, Array]:
        """Return ``X.T @ X`` and ``X.T @ block`` in float64, in one pass where that saves time."""
        return self.gram(), self.cross(block)

    def column_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of columns: a slice of column numbers, and these columns as an array."""
        rows, columns = self.shape
        width = max(1, min(_COLUMNS, _ENTRIES // max(1, rows)))
        for start in range(0, columns, width):
            stop = min(start + width, columns)
            unit = np.zeros((columns, stop - start), dtype=self.dtype)
            unit[np.arange(start, stop), np.arange(stop - start)] = 1
            yield slice(start, stop), self.matmat(unit)

    def cross(self, block: Array) -> Array:
        """Return ``X.T @ block`` summed in float64, whatever the type of the products."""
        return host(self.rmatmat(block))

    def cogram(self) -> Array:
        """Return ``X @ X.T`` in float64; only for a moderate number of rows."""
        return Operator.gram(self.T)

    def column_means(self) -> Array:
        """Return the mean of each column, in float64."""
        ones = np.ones((self.shape[0], 1), dtype=self.dtype)
        return host(self.rmatmat(ones)[:, 0]) / self.shape[0]

    def sum_of_squares(self) -> float:
        """Return the squared Frobenius norm."""
        return sum(sum_of_squares(values) for _, values in self.column_blocks())

    def column_squares(self) -> Array:
        """Return the squared norm of each column, in float64."""
        squares = np.empty(self.shape[1])
        for part, values in self.column_blocks():
            squares[part] = np.square(column_norms(values))
        return squares

    def column_counts(self) -> Array:
        """Return the number of stored entries of each column; that of the rows if all are."""
        return np.full(self.shape[1], float(self.shape[0]))

    def shifted(self, offset: Array) -> Operator:
        """Subtract a row of numbers from every row: the operator ``X - 1 offset'``."""
        return Centered(self, offset)

    def centered(self) -> tuple[Operator, Array]:
        """Centre the columns; return the centred operator and the column means."""
        means = self.column_means()
        return self.shifted(means), means

    def rows(self, index: Array) -> Operator:
        """Select rows by number; a row may be selected more than once."""
        return _RowSubset(self, index)

    def wide_rows(self, part: slice) -> Array:
        """Return some rows as a dense array in float64, for factorisations of the data."""
        rows, columns = self.shape
        index = np.arange(rows)[part]
        if columns <= rows:
            whole = index.size == rows
            return host((self if whole else self.rows(index)).toarray())
        unit = np.zeros((rows, index.size))
        unit[index, np.arange(index.size)] = 1.0
        return np.ascontiguousarray(self.cross(unit).T)

    def to_block(self) -> Array:
        """Return the matrix as a block, perhaps the stored one: do not modify it."""
        return self.matmat(np.eye(self.shape[1], dtype=self.dtype))

    def toarray(self) -> Array:
        """Return the matrix as a new dense array on the host; for tests and small problems."""
        return np.array(on_host(self.to_block()), dtype=self.dtype)


class _Transposed(Operator):
    def __init__(self, base: Operator) -> None:
        super().__init__((base.shape[1], base.shape[0]), base.dtype)
        self.base = base
        self.device = base.device
        self.threaded = base.threaded

    def _matmat(self, block: Array) -> Array:
        return self.base.rmatmat(block)

    def _rmatmat(self, block: Array) -> Array:
        return self.base.matmat(block)

    @property
    def T(self) -> Operator:
        return self.base

    def gram(self) -> Array:
        return self.base.cogram()

    def cogram(self) -> Array:
        return self.base.gram()

    def sum_of_squares(self) -> float:
        return self.base.sum_of_squares()


class Composite(Operator):
    """An operator composed of others; its blocks are on a device if those of any part are."""

    def __init__(self, shape: tuple[int, int], parts: Sequence[Operator]) -> None:
        super().__init__(shape, np.result_type(*(part.dtype for part in parts)))
        self.device = next((part.device for part in parts if part.device is not None), None)
        self.dual = all(part.dual for part in parts)
        self.threaded = all(part.threaded for part in parts)
        self.fill = max(part.fill for part in parts)
        self.dense = all(part.dense for part in parts)


class Centered(Composite):
    """``X - 1 offset'`` without forming it: a rank-one correction of each product."""

    def __init__(self, base: Operator, offset: Array) -> None:
        super().__init__(base.shape, [base])
        self.base = base
        self.one_pass = base.one_pass
        self.offset = checked_offset(offset, base.shape[1])
        self._row = base.to_device(self.offset[None, :])

    def in_type(self, dtype: Any) -> Operator | None:
        base = self.base.in_type(dtype)
        return None if base is None else Centered(base, self.offset)

    def _matmat(self, block: Array) -> Array:
        return self.base._matmat_less_row(block, self._row @ block)

    def _rmatmat(self, block: Array) -> Array:
        return self.base._rmatmat_less_outer(block, self._row.T, column_sums(block))

    def normal(self, block: Array) -> Array:
        if not self.one_pass:
            return super().normal(block)
        # One pass over the rows of the base, corrected afterwards.
        block = self.to_device(block)
        sums = self.to_device(self.shape[0] * self.base.column_means()[:, None])
        along = self._row @ block
        change = self._row.T @ (self.shape[0] * along - sums.T @ block) - sums @ along
        product: Array = self.base.normal(block) + change
        return product

    def gram(self) -> Array:
        out, sums = self.base.gram(), self.base.column_means() * self.shape[0]
        half = sums - 0.5 * self.shape[0] * self.offset
        out -= np.stack([half, self.offset], axis=1) @ np.stack([self.offset, half])
        return out

    def cross(self, block: Array) -> Array:
        return subtract_outer(
            self.base.cross(block), self.offset[:, None], host(column_sums(block))
        )

    def cogram(self) -> Array:
        out, wide = self.base.cogram(), host(self.base.matmat(self._row.T))
        wide = wide - float(self.offset @ self.offset) / 2
        out -= wide
        out -= wide.T
        return out

    def column_means(self) -> Array:
        return self.base.column_means() - self.offset

    def sum_of_squares(self) -> float:
        means = self.base.column_means()
        rows = self.shape[0]
        correction = rows * float((self.offset * (self.offset - 2 * means)).sum())
        return max(0.0, self.base.sum_of_squares() + correction)

    def column_squares(self) -> Array:
        means = self.base.column_means()
        correction = self.shape[0] * self.offset * (self.offset - 2 * means)
        return after_cancelling(self.base.column_squares(), correction)

    def column_counts(self) -> Array:
        return self.base.column_counts()

    def shifted(self, offset: Array) -> Operator:
        row = checked_offset(offset, self.shape[1])
        return self.base.shifted(added_offset(self.offset, row))

    def rows(self, index: Array) -> Operator:
        return Centered(self.base.rows(index), self.offset)

    def to_block(self) -> Array:
        return subtract_row(self.base.to_block(), self._row)

    def wide_rows(self, part: slice) -> Array:
        return self.base.wide_rows(part) - self.offset

    def arranged(self) -> tuple[Operator, Array | None]:
        base, order = self.base.arranged()
        return (self, None) if order is None else (Centered(base, self.offset[order]), order)


class _RowSubset(Composite):
    """Some rows of an operator, selected by number without copying data."""

    def __init__(self, base: Operator, index: Array) -> None:
        index = np.asarray(index)
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise InvalidInput(
                "rows: index must be a vector of row numbers, "
                f"but has shape {index.shape} and type {index.dtype}."
            )
        super().__init__((index.size, base.shape[1]), [base])
        self.base, self.index = base, index

    def _matmat(self, block: Array) -> Array:
        return self.base.matmat(block)[self.index]

    def _rmatmat(self, block: Array) -> Array:
        # A row may occur more than once.
        full = np.zeros((self.base.shape[0], block.shape[1]), dtype=self.dtype)
        np.add.at(full, self.index, on_host(block))
        return self.base.rmatmat(full)

    def shifted(self, offset: Array) -> Operator:
        return _RowSubset(self.base.shifted(offset), self.index)


def checked_offset(offset: Array, columns: int) -> Array:
    """Convert an offset to float64; raise an error if it does not match the columns."""
    row = np.asarray(offset, dtype=np.float64)
    if row.shape != (columns,):
        raise InvalidInput(f"offset must hold {columns} numbers, but has shape {row.shape}.")
    return row


def dottest(operator: Operator, *, width: int = 3, seed: int = 0) -> float:
    """Compute the relative gap between ``<X v, u>`` and ``<v, X' u>`` for random blocks.

    It is zero up to rounding for a correct operator. Use it to test your own operator.

    Parameters
    ----------
    operator : Operator
        The operator to test.
    width : int, default=3
        Number of columns of the blocks.
    seed : int, default=0
        Seed of the random blocks.

    Returns
    -------
    gap : float
        Relative to the product of the norms.

    See Also
    --------
    labelspan.checks.check_operator : Check all methods of an operator.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator, dottest
    >>> dottest(as_operator(np.eye(4))) < 1e-12
    True
    """
    rng = np.random.default_rng(seed)
    rows, columns = operator.shape
    right = rng.standard_normal((columns, width)).astype(operator.dtype)
    left = rng.standard_normal((rows, width)).astype(operator.dtype)
    forward = host(operator.matmat(right))
    one = float(np.vdot(forward, left))
    two = float(np.vdot(right, host(operator.rmatmat(left))))
    scale = float(np.linalg.norm(forward) * np.linalg.norm(left))
    return abs(one - two) / scale if scale else abs(one - two)
