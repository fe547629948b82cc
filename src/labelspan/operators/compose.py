"""Operators made of operators: centred, scaled, side by side, stacked, multiplied, added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InvalidInput
from .base import Array, Operator

__all__ = ["Centered", "HStack", "Product", "RowSubset", "Scaled", "Sum", "VStack"]


class Centered(Operator):
    """``X - 1 offset'`` without forming it: a rank-one correction of each product."""

    def __init__(self, base: Operator, offset: Array) -> None:
        super().__init__(base.shape, base.dtype)
        self.base = base
        self.offset = np.asarray(offset, dtype=np.float64)
        if self.offset.shape != (base.shape[1],):
            raise InvalidInput(
                f"Centered: offset must hold {base.shape[1]} numbers, "
                f"but has shape {self.offset.shape}."
            )
        self._row = self.offset.astype(self.dtype)[None, :]

    def _matmat(self, block: Array) -> Array:
        return np.asarray(self.base.matmat(block) - self._row @ block)

    def _rmatmat(self, block: Array) -> Array:
        return np.asarray(self.base.rmatmat(block) - self._row.T * block.sum(axis=0))

    def gram(self) -> Array:
        sums = self.base.column_means() * self.shape[0]
        cross = np.outer(sums, self.offset)
        square = self.shape[0] * np.outer(self.offset, self.offset)
        return self.base.gram() - cross - cross.T + square

    def cross(self, block: Array) -> Array:
        return self.base.cross(block) - np.outer(self.offset, block.sum(axis=0))

    def cogram(self) -> Array:
        wide = self.base.matmat(self._row.T).astype(np.float64)
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

    def columns(self) -> tuple[Any, Array | None]:
        matrix, offset = self.base.columns()
        return matrix, self.offset if offset is None else self.offset + offset


class Scaled(Operator):
    """``diag(rows) X diag(columns)``; either side may be left out."""

    def __init__(
        self, base: Operator, rows: Array | None = None, columns: Array | None = None
    ) -> None:
        super().__init__(base.shape, base.dtype)
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
        return scale[:, None]

    def _matmat(self, block: Array) -> Array:
        out = self.base.matmat(block if self._columns is None else self._columns * block)
        return out if self._rows is None else self._rows * out

    def _rmatmat(self, block: Array) -> Array:
        out = self.base.rmatmat(block if self._rows is None else self._rows * block)
        return out if self._columns is None else self._columns * out


class HStack(Operator):
    """``[X_1, X_2, ...]``, operators over the same rows side by side."""

    def __init__(self, parts: Sequence[Operator]) -> None:
        if not parts or len({part.shape[0] for part in parts}) != 1:
            shapes = [part.shape for part in parts]
            raise InvalidInput(f"HStack: parts must have the same number of rows, got {shapes}.")
        width = sum(part.shape[1] for part in parts)
        super().__init__((parts[0].shape[0], width), np.result_type(*(p.dtype for p in parts)))
        self.parts = tuple(parts)
        self._edges = np.cumsum([part.shape[1] for part in parts])[:-1]

    def split(self, block: Array) -> list[Array]:
        """The rows of a block that belong to each part."""
        return np.split(block, self._edges, axis=0)

    def _matmat(self, block: Array) -> Array:
        pieces = zip(self.parts, self.split(block), strict=True)
        products = [part.matmat(piece) for part, piece in pieces]
        out = products[0].astype(self.dtype)
        for product in products[1:]:
            out += product
        return out

    def _rmatmat(self, block: Array) -> Array:
        products = [part.rmatmat(block) for part in self.parts]
        return np.concatenate(products, axis=0).astype(self.dtype, copy=False)

    def cogram(self) -> Array:
        return sum((part.cogram() for part in self.parts[1:]), self.parts[0].cogram())

    def sum_of_squares(self) -> float:
        return sum(part.sum_of_squares() for part in self.parts)


class RowSubset(Operator):
    """Some rows of an operator, by number; none of its data is copied."""

    def __init__(self, base: Operator, index: Array) -> None:
        index = np.asarray(index)
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise InvalidInput(
                "RowSubset: index must be a vector of row numbers, "
                f"but has shape {index.shape} and type {index.dtype}."
            )
        super().__init__((index.size, base.shape[1]), base.dtype)
        self.base = base
        self.index = index

    def _matmat(self, block: Array) -> Array:
        return self.base.matmat(block)[self.index]

    def _rmatmat(self, block: Array) -> Array:
        full = np.zeros((self.base.shape[0], block.shape[1]), dtype=self.dtype)
        np.add.at(full, self.index, block)
        return self.base.rmatmat(full)


class VStack(Operator):
    """``[X_1; X_2; ...]``, operators over the same columns on top of each other."""

    def __init__(self, parts: Sequence[Operator]) -> None:
        if not parts or len({part.shape[1] for part in parts}) != 1:
            shapes = [part.shape for part in parts]
            raise InvalidInput(f"VStack: parts must have the same number of columns, got {shapes}.")
        height = sum(part.shape[0] for part in parts)
        super().__init__((height, parts[0].shape[1]), np.result_type(*(p.dtype for p in parts)))
        self.parts = tuple(parts)
        self._edges = np.cumsum([part.shape[0] for part in parts])[:-1]

    def _matmat(self, block: Array) -> Array:
        products = [part.matmat(block) for part in self.parts]
        return np.concatenate(products, axis=0).astype(self.dtype, copy=False)

    def _rmatmat(self, block: Array) -> Array:
        pieces = zip(self.parts, np.split(block, self._edges, axis=0), strict=True)
        products = [part.rmatmat(piece) for part, piece in pieces]
        out = products[0].astype(self.dtype)
        for product in products[1:]:
            out += product
        return out

    def gram(self) -> Array:
        return sum((part.gram() for part in self.parts[1:]), self.parts[0].gram())

    def sum_of_squares(self) -> float:
        return sum(part.sum_of_squares() for part in self.parts)


class Product(Operator):
    """``A X``, one operator after another, never multiplied out."""

    def __init__(self, left: Operator, right: Operator) -> None:
        if left.shape[1] != right.shape[0]:
            raise InvalidInput(
                f"Product: shapes {left.shape} and {right.shape} cannot be multiplied."
            )
        super().__init__((left.shape[0], right.shape[1]), np.result_type(left.dtype, right.dtype))
        self.left, self.right = left, right

    def _matmat(self, block: Array) -> Array:
        return self.left.matmat(self.right.matmat(block)).astype(self.dtype, copy=False)

    def _rmatmat(self, block: Array) -> Array:
        return self.right.rmatmat(self.left.rmatmat(block)).astype(self.dtype, copy=False)


class Sum(Operator):
    """``a_1 X_1 + a_2 X_2 + ...``, operators of one shape with a weight each."""

    def __init__(self, parts: Sequence[Operator], weights: Sequence[float]) -> None:
        if len({part.shape for part in parts}) != 1 or len(weights) != len(parts):
            shapes = [part.shape for part in parts]
            raise InvalidInput(
                f"Sum: parts must have one shape and a weight each, "
                f"but have {shapes} and {len(weights)} weight(s)."
            )
        super().__init__(parts[0].shape, np.result_type(*(p.dtype for p in parts)))
        self.parts, self.weights = tuple(parts), tuple(float(weight) for weight in weights)

    def _matmat(self, block: Array) -> Array:
        return self._add([part.matmat(block) for part in self.parts])

    def _rmatmat(self, block: Array) -> Array:
        return self._add([part.rmatmat(block) for part in self.parts])

    def _add(self, products: list[Array]) -> Array:
        out = np.zeros(products[0].shape, dtype=self.dtype)
        for weight, product in zip(self.weights, products, strict=True):
            out += weight * product
        return out
