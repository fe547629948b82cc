"""Operators made of others: scaled and multiplied."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from .array_backend import scale_columns, scaled
from .operator import Composite, Operator

__all__ = ["Product", "Scaled"]


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
