"""Operators made of others: scaled, multiplied, without some directions."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from .array_backend import host, inner, plus, scale_columns, scaled, times
from .operator import Composite, Operator

__all__ = ["Product", "Scaled", "Without"]


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
        self.base = base
        self._rows = self._side(rows, base.shape[0], "rows")
        self._columns = self._side(columns, base.shape[1], "columns")

    def _side(self, scale: Array | None, length: int, name: str) -> Array | None:
        if scale is None:
            return None
        scale = np.asarray(scale, dtype=self.dtype)
        if scale.shape != (length,):
            raise InvalidInput(
                f"Scaled: {name} must hold {length} numbers, but has shape {scale.shape}."
            )
        return self.place(scale[:, None])

    def _matmat(self, block: Array) -> Array:
        out = self.base.matmat(block if self._columns is None else self._columns * block)
        return out if self._rows is None else scaled(out, self._rows)

    def _rmatmat(self, block: Array) -> Array:
        out = self.base.rmatmat(block if self._rows is None else scaled(block, self._rows))
        return out if self._columns is None else self._columns * out

    def formed(self) -> Array:
        out = self.base.formed()
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
        return self.place(self.left.matmat(self.right.matmat(block)))

    def _rmatmat(self, block: Array) -> Array:
        return self.place(self.right.rmatmat(self.left.rmatmat(block)))

    def formed(self) -> Array:
        return self.place(self.left.matmat(self.right.formed()))


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
        self._columns = base.place(directions)
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
        return self._rest(self.base.normal(self._rest(self.place(block))))

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
