"""Operators made of others: scaled, multiplied, without some directions or columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from .array_backend import column_norms, host, inner, plus, scale_columns, scaled, times
from .digits import rounding_columns, sampled_rows
from .operator import Composite, Operator

__all__ = ["Product", "Scaled", "Without", "on_columns", "without_rounding"]

# A deviation that is estimated from a few rows is looked at exactly below this multiple of the
# limit.
_MARGIN = 10.0
# Number of parts in which suspects are looked at; and of random sign vectors from which deviations
# are estimated where rows cannot be looked at.
_AT_ONCE, _SIGNS = 8, 4


class Scaled(Composite):
    """The scaled operator ``diag(rows) X diag(columns)``; either side may be omitted.

    Parameters
    ----------
    base : Operator
        X.
    rows : array of shape (n,) or None, default=None
        One factor per row.
    columns : array of shape (d,) or None, default=None
        One factor per column.

    See Also
    --------
    Product : Product of operators.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import Scaled, as_operator
    >>> Scaled(as_operator(np.ones((2, 2))), rows=np.array([1.0, 2.0])).toarray()
    array([[1., 1.],
           [2., 2.]])
    """

    def __init__(
        self, base: Operator, rows: Array | None = None, columns: Array | None = None
    ) -> None:
        super().__init__(base.shape, [base])
        self.base, self._given = base, (rows, columns)
        self._rows = self._side(rows, base.shape[0], "rows")
        self._columns = self._side(columns, base.shape[1], "columns")
        self.one_pass = base.one_pass and rows is None
        # The factors of the columns in float64, if the rows are not scaled.
        self._factors: Array | None = None
        if rows is None:
            given = np.ones(base.shape[1]) if columns is None else columns
            self._factors = np.asarray(given, dtype=np.float64)

    def _side(self, scale: Array | None, length: int, name: str) -> Array | None:
        if scale is None:
            return None
        scale = np.asarray(scale, dtype=self.dtype)
        if scale.shape != (length,):
            raise InvalidInput(
                f"Scaled: {name} must hold {length} numbers, but has shape {scale.shape}."
            )
        return self.to_device(scale[:, None])

    def in_type(self, dtype: Any) -> Operator | None:
        base = self.base.in_type(dtype)
        return None if base is None else Scaled(base, *self._given)

    def _matmat(self, block: Array) -> Array:
        out = self.base.matmat(block if self._columns is None else scaled(block, self._columns))
        return out if self._rows is None else scaled(out, self._rows)

    def _rmatmat(self, block: Array) -> Array:
        out = self.base.rmatmat(block if self._rows is None else scaled(block, self._rows))
        return out if self._columns is None else scaled(out, self._columns)

    def normal(self, block: Array) -> Array:
        if self._factors is None or self._columns is None:
            return super().normal(block)
        return scaled(self.base.normal(scaled(self.to_device(block), self._columns)), self._columns)

    def _of_columns(self, products: Array) -> Array:
        """Return products of columns of the base with each other, scaled on both sides."""
        assert self._factors is not None
        return np.asarray(self._factors[:, None] * products * self._factors)

    def gram(self) -> Array:
        return super().gram() if self._factors is None else self._of_columns(self.base.gram())

    def rough_gram(self) -> Array:
        return self.gram() if self._factors is None else self._of_columns(self.base.rough_gram())

    def moments(self, block: Array) -> tuple[Array, Array]:
        if self._factors is None:
            return super().moments(block)
        gram, products = self.base.moments(block)
        return self._of_columns(gram), self._factors[:, None] * products

    def cross(self, block: Array) -> Array:
        if self._factors is None:
            return super().cross(block)
        return np.asarray(self._factors[:, None] * self.base.cross(block))

    def cogram(self) -> Array:
        if self._factors is None or not np.isin(self._factors, (0.0, 1.0)).all():
            return super().cogram()
        index = np.flatnonzero(self._factors == 0)
        unit = np.zeros((self.shape[1], index.size))
        unit[index, np.arange(index.size)] = 1.0
        left_out = host(self.base.matmat(self.to_device(unit)))
        return np.asarray(self.base.cogram() - left_out @ left_out.T)

    def column_means(self) -> Array:
        if self._factors is None:
            return super().column_means()
        return np.asarray(self._factors * self.base.column_means())

    def column_squares(self) -> Array:
        if self._factors is None:
            return super().column_squares()
        return np.asarray(np.square(self._factors) * self.base.column_squares())

    def column_counts(self) -> Array:
        counts = self.base.column_counts()
        return counts if self._factors is None else np.where(self._factors != 0, counts, 0.0)

    def sum_of_squares(self) -> float:
        if self._factors is None:
            return super().sum_of_squares()
        return float(self.column_squares().sum())

    def rows(self, index: Array) -> Operator:
        if self._factors is None:
            return super().rows(index)
        return Scaled(self.base.rows(index), columns=self._factors)

    def wide_rows(self, part: slice) -> Array:
        if self._factors is None:
            return super().wide_rows(part)
        return self.base.wide_rows(part) * self._factors

    def to_block(self) -> Array:
        out = self.base.to_block()
        out = out if self._columns is None else scale_columns(out, self._columns[:, 0])
        return out if self._rows is None else scaled(out, self._rows)


class Product(Composite):
    """The product ``A X`` of two operators, applied one after the other and never formed.

    Parameters
    ----------
    left : Operator
        A, of shape (p, n).
    right : Operator
        X, of shape (n, d).

    See Also
    --------
    Scaled : Scaled rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import Product, as_operator
    >>> Product(as_operator(np.ones((1, 3))), as_operator(np.ones((3, 2)))).toarray()
    array([[3., 3.]])
    """

    def __init__(self, left: Operator, right: Operator) -> None:
        if left.shape[1] != right.shape[0]:
            raise InvalidInput(
                f"Product: shapes {left.shape} and {right.shape} cannot be multiplied."
            )
        super().__init__((left.shape[0], right.shape[1]), [left, right])
        self.left, self.right = left, right

    def _matmat(self, block: Array) -> Array:
        return self.to_device(self.left.matmat(self.right.matmat(block)))

    def _rmatmat(self, block: Array) -> Array:
        return self.to_device(self.right.rmatmat(self.left.rmatmat(block)))

    def to_block(self) -> Array:
        return self.to_device(self.left.matmat(self.right.to_block()))


class Without(Composite):
    """Rows without their part along some directions, ``X (I - V V')``.

    Parameters
    ----------
    base : Operator
        X.
    directions : array of shape (d, k)
        V, with orthonormal columns.

    See Also
    --------
    Product : Product of operators.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> from labelspan.operators.compositions import Without
    >>> Without(as_operator(np.ones((2, 2))), np.array([[1.0], [0.0]])).toarray()
    array([[0., 1.],
           [0., 1.]])
    """

    def __init__(self, base: Operator, directions: Array) -> None:
        super().__init__(base.shape, [base])
        self.base, self.one_pass = base, base.one_pass
        self._columns = base.to_device(directions)
        self._exact = host(directions).astype(np.float64)

    def _rest(self, block: Array) -> Array:
        for _ in range(2):  # the first time leaves the rounding of what is removed
            block = plus(block, times(self._columns, inner(self._columns, block)), -1.0)
        return block

    def _matmat(self, block: Array) -> Array:
        return self.base.matmat(self._rest(block))

    def _rmatmat(self, block: Array) -> Array:
        return self._rest(self.base.rmatmat(block))

    def normal(self, block: Array) -> Array:
        return self._rest(self.base.normal(self._rest(self.to_device(block))))

    def _rest_of_products(self, products: Array) -> Array:
        return products - self._exact @ (self._exact.T @ products)

    def gram(self) -> Array:
        return self._rest_of_products(self._rest_of_products(self.base.gram()).T)

    def cross(self, block: Array) -> Array:
        return self._rest_of_products(self.base.cross(block))

    def moments(self, block: Array) -> tuple[Array, Array]:
        gram, products = self.base.moments(block)
        inside = self._rest_of_products(self._rest_of_products(gram).T)
        return inside, self._rest_of_products(products)

    def column_means(self) -> Array:
        means: Array = self._rest_of_products(self.base.column_means()[:, None])[:, 0]
        return means

    def sum_of_squares(self) -> float:
        along = host(self.base.matmat(self._columns)).astype(np.float64)
        return max(0.0, self.base.sum_of_squares() - float(np.square(along).sum()))

    def column_squares(self) -> Array:
        along = self.base.matmat(self._columns)
        change = self._exact @ inner(along, along) - 2 * self.base.cross(along)
        squares = self.base.column_squares() + (self._exact * change).sum(axis=1)
        return np.asarray(np.maximum(squares, 0.0))

    def column_counts(self) -> Array:
        return self.base.column_counts()

    def rows(self, index: Array) -> Operator:
        return Without(self.base.rows(index), self._columns)

    def wide_rows(self, part: slice) -> Array:
        rows = self.base.wide_rows(part)
        return rows - (rows @ self._exact) @ self._exact.T


def without_rounding(X: Operator, means: Array | None, *, one_unit: bool = False) -> Operator:
    """Return rows with zeros in columns that are nothing but rounding.

    Parameters
    ----------
    X : Operator
        The rows, from which ``means`` were subtracted.
    means : array of shape (d,) or None
        Means of the columns; None if X is not centred.
    one_unit : bool, default=False
        Whether the columns share a unit, as the dimensions of a model's vectors do.

    Returns
    -------
    Operator
        X itself if no column is rounding, which costs next to nothing to see.
    """
    centre = np.zeros(X.shape[1]) if means is None else means
    if one_unit or X.one_pass:
        squares = np.maximum(host(X.column_squares()), 0.0)
        deviations = np.sqrt(squares / max(1, X.shape[0]))
        rounding = rounding_columns(deviations, centre, X.dtype, one_unit=one_unit)
        rounding &= (deviations > 0) | (centre != 0)
    else:
        rounding = _suspects(X, means)
        for index in np.array_split(np.flatnonzero(rounding), _AT_ONCE):
            if not index.size:
                break
            deviations = _deviations_of(X, index)
            found = rounding_columns(deviations, centre[index], X.dtype)
            rounding[index] = found & (deviations > 0)
    return Scaled(X, columns=1.0 - rounding) if rounding.any() else X


def on_columns(X: Operator, weights: Array) -> Array:
    """Return weights of the columns of X, exactly zero for columns that it is without."""
    if not isinstance(X, Scaled) or X._factors is None or X._factors.all():
        return weights
    return scaled(weights, X.to_device((X._factors[:, None] != 0) * 1.0))


def _deviations_of(X: Operator, index: Array) -> Array:
    """Return the root mean squares of some columns."""
    unit = np.zeros((X.shape[1], index.size))
    unit[index, np.arange(index.size)] = 1.0
    return np.asarray(column_norms(X.matmat(X.to_device(unit))) / np.sqrt(max(1, X.shape[0])))


def _suspects(X: Operator, means: Array | None) -> Array:
    """Return which columns may be rounding, without a pass over the rows."""
    centre = np.zeros(X.shape[1]) if means is None else means
    if X.fill < 1.0:
        counts = X.column_counts()
        values = np.abs(X.column_means() if means is None else means)
        faint = values <= np.sqrt(float(np.finfo(X.dtype).tiny))
        # Zeros are far from a mean that is not rounding.
        full = counts >= X.shape[0] if means is not None else np.zeros(faint.size, dtype=bool)
        return np.asarray((counts > 0) & (faint | full))
    if X.dense:
        some = host(X.rows(sampled_rows(X.shape[0])).to_block())
        deviations = np.sqrt(np.einsum("ij,ij->j", some, some) / len(some))
    else:
        rng = np.random.default_rng(0)
        signs = rng.choice([-1.0, 1.0], (X.shape[0], _SIGNS)) / np.sqrt(X.shape[0])
        deviations = np.abs(host(X.rmatmat(X.to_device(signs)))).max(axis=1)
    found = rounding_columns(deviations, centre, X.dtype, margin=_MARGIN)
    return np.asarray(found & (deviations > 0))
