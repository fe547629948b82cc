"""Operators made of operators: centred, scaled, side by side, stacked, multiplied, added."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from .array_backend import concatenate, host, on_host
from .operator import Operator

__all__ = ["Centered", "HStack", "Product", "RowSubset", "Scaled", "Sum", "VStack"]


class Composite(Operator):
    """An operator made of others: its blocks are where theirs are, on a device if any is."""

    def __init__(self, shape: tuple[int, int], parts: Sequence[Operator]) -> None:
        super().__init__(shape, np.result_type(*(part.dtype for part in parts)))
        self._leader = next((part for part in parts if part.device is not None), parts[0])
        self.device = self._leader.device
        self.dual = all(part.dual for part in parts)

    def place(self, block: Array) -> Array:
        if self.device is None:
            return super().place(block)
        return self._leader.place(block)

    def random_block(self, rows: int, width: int, rng: np.random.Generator) -> Array:
        return self._leader.random_block(rows, width, rng)

    def _added(self, products: Sequence[Array]) -> Array:
        out = self.place(products[0])
        for number, product in enumerate(products[1:]):
            # The first may be a block of someone else's; from the second on it is our own.
            if number == 0:
                out = out + self.place(product)
            else:
                out += self.place(product)
        return out

    def _joined(self, products: Sequence[Array]) -> Array:
        return concatenate([self.place(product) for product in products])


class Centered(Composite):
    """``X - 1 offset'`` without forming it: a rank-one correction of each product.

    Parameters
    ----------
    base : Operator
    offset : array of shape (d,)

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import Centered, as_operator
    >>> Centered(as_operator(np.eye(2)), np.array([0.5, 0.5])).toarray()
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    def __init__(self, base: Operator, offset: Array) -> None:
        super().__init__(base.shape, [base])
        self.base = base
        self.offset = np.asarray(offset, dtype=np.float64)
        if self.offset.shape != (base.shape[1],):
            raise InvalidInput(
                f"Centered: offset must hold {base.shape[1]} numbers, "
                f"but has shape {self.offset.shape}."
            )
        self._row = base.place(self.offset[None, :])

    def _matmat(self, block: Array) -> Array:
        product: Array = self.base.matmat(block) - self._row @ block
        return product

    def _rmatmat(self, block: Array) -> Array:
        product: Array = self.base.rmatmat(block) - self._row.T * block.sum(axis=0)
        return product

    def gram(self) -> Array:
        sums = self.base.column_means() * self.shape[0]
        cross = np.outer(sums, self.offset)
        square = self.shape[0] * np.outer(self.offset, self.offset)
        return self.base.gram() - cross - cross.T + square

    def cross(self, block: Array) -> Array:
        sums = host(block.sum(axis=0))
        return np.asarray(self.base.cross(block) - np.outer(self.offset, sums))

    def cogram(self) -> Array:
        wide = host(self.base.matmat(self._row.T))
        return self.base.cogram() - wide - wide.T + float(self.offset @ self.offset)

    def column_means(self) -> Array:
        return self.base.column_means() - self.offset

    def sum_of_squares(self) -> float:
        means = self.base.column_means()
        rows = self.shape[0]
        correction = rows * float(self.offset @ (self.offset - 2 * means))
        return max(0.0, self.base.sum_of_squares() + correction)

    def rows(self, index: Array) -> Operator:
        return Centered(self.base.rows(index), self.offset)

    def arranged(self) -> tuple[Operator, Array | None]:
        base, order = self.base.arranged()
        return (self, None) if order is None else (Centered(base, self.offset[order]), order)

    def columns(self) -> tuple[Any, Array | None]:
        matrix, offset = self.base.columns()
        return matrix, self.offset if offset is None else self.offset + offset


class Scaled(Composite):
    """``diag(rows) X diag(columns)``; either side may be left out.

    Parameters
    ----------
    base : Operator
    rows, columns : arrays of shape (n,) and (d,), or None

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
        return out if self._rows is None else self._rows * out

    def _rmatmat(self, block: Array) -> Array:
        out = self.base.rmatmat(block if self._rows is None else self._rows * block)
        return out if self._columns is None else self._columns * out


class HStack(Composite):
    """``[X_1, X_2, ...]``, operators over the same rows side by side.

    Parameters
    ----------
    parts : sequence of Operator

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import HStack, as_operator
    >>> HStack([as_operator(np.ones((2, 3))), as_operator(np.ones((2, 1)))]).shape
    (2, 4)
    """

    def __init__(self, parts: Sequence[Operator]) -> None:
        if not parts or len({part.shape[0] for part in parts}) != 1:
            shapes = [part.shape for part in parts]
            raise InvalidInput(f"HStack: parts must have the same number of rows, got {shapes}.")
        width = sum(part.shape[1] for part in parts)
        super().__init__((parts[0].shape[0], width), parts)
        self.parts = tuple(parts)
        self._slices = _consecutive([part.shape[1] for part in parts])

    def split(self, block: Array) -> list[Array]:
        """The rows of a block that belong to each part."""
        return [block[rows] for rows in self._slices]

    def _matmat(self, block: Array) -> Array:
        pieces = zip(self.parts, self.split(block), strict=True)
        return self._added([part.matmat(piece) for part, piece in pieces])

    def _rmatmat(self, block: Array) -> Array:
        return self._joined([part.rmatmat(block) for part in self.parts])

    def cogram(self) -> Array:
        return sum((part.cogram() for part in self.parts[1:]), self.parts[0].cogram())

    def sum_of_squares(self) -> float:
        return sum(part.sum_of_squares() for part in self.parts)


class RowSubset(Composite):
    """Some rows of an operator, by number; none of its data is copied.

    Parameters
    ----------
    base : Operator
    index : array of int
        Numbers of rows; one may come twice.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import RowSubset, as_operator
    >>> RowSubset(as_operator(np.arange(6.0).reshape(3, 2)), np.array([2, 0])).toarray()
    array([[4., 5.],
           [0., 1.]])
    """

    def __init__(self, base: Operator, index: Array) -> None:
        index = np.asarray(index)
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise InvalidInput(
                "RowSubset: index must be a vector of row numbers, "
                f"but has shape {index.shape} and type {index.dtype}."
            )
        super().__init__((index.size, base.shape[1]), [base])
        self.base = base
        self.index = index

    def _matmat(self, block: Array) -> Array:
        return self.base.matmat(block)[self.index]

    def _rmatmat(self, block: Array) -> Array:
        # A row may be there more than once.
        full = np.zeros((self.base.shape[0], block.shape[1]), dtype=self.dtype)
        np.add.at(full, self.index, on_host(block))
        return self.base.rmatmat(full)


class VStack(Composite):
    """``[X_1; X_2; ...]``, operators over the same columns on top of each other.

    Parameters
    ----------
    parts : sequence of Operator

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import VStack, as_operator
    >>> VStack([as_operator(np.ones((2, 3))), as_operator(np.ones((1, 3)))]).shape
    (3, 3)
    """

    def __init__(self, parts: Sequence[Operator]) -> None:
        if not parts or len({part.shape[1] for part in parts}) != 1:
            shapes = [part.shape for part in parts]
            raise InvalidInput(f"VStack: parts must have the same number of columns, got {shapes}.")
        height = sum(part.shape[0] for part in parts)
        super().__init__((height, parts[0].shape[1]), parts)
        self.parts = tuple(parts)
        self._slices = _consecutive([part.shape[0] for part in parts])

    def _matmat(self, block: Array) -> Array:
        return self._joined([part.matmat(block) for part in self.parts])

    def _rmatmat(self, block: Array) -> Array:
        pieces = zip(self.parts, self._slices, strict=True)
        return self._added([part.rmatmat(block[rows]) for part, rows in pieces])

    def gram(self) -> Array:
        return sum((part.gram() for part in self.parts[1:]), self.parts[0].gram())

    def sum_of_squares(self) -> float:
        return sum(part.sum_of_squares() for part in self.parts)


class Product(Composite):
    """``A X``, one operator after another, never multiplied out.

    Parameters
    ----------
    left, right : Operator
        Of shapes (p, n) and (n, d).

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


class Sum(Composite):
    """``a_1 X_1 + a_2 X_2 + ...``, operators of one shape with a weight each.

    Parameters
    ----------
    parts : sequence of Operator
    weights : sequence of float
        One a part.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import Sum, as_operator
    >>> one = as_operator(np.ones((1, 2)))
    >>> Sum([one, one], [2.0, -0.5]).toarray()
    array([[1.5, 1.5]])
    """

    def __init__(self, parts: Sequence[Operator], weights: Sequence[float]) -> None:
        if len({part.shape for part in parts}) != 1 or len(weights) != len(parts):
            shapes = [part.shape for part in parts]
            raise InvalidInput(
                f"Sum: parts must have one shape and a weight each, "
                f"but have {shapes} and {len(weights)} weight(s)."
            )
        super().__init__(parts[0].shape, parts)
        self.parts, self.weights = tuple(parts), tuple(float(weight) for weight in weights)

    def _matmat(self, block: Array) -> Array:
        return self._weighted([part.matmat(block) for part in self.parts])

    def _rmatmat(self, block: Array) -> Array:
        return self._weighted([part.rmatmat(block) for part in self.parts])

    def _weighted(self, products: list[Array]) -> Array:
        pairs = zip(self.weights, products, strict=True)
        return self._added([weight * product for weight, product in pairs])


def _consecutive(lengths: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *lengths]).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]
