"""Singular vectors of the data itself: no Gram matrix, whatever the units of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import host
from .accuracy import column_lengths, rank_tolerance, rounding
from .problem import DIRECT_LIMIT
from .small_dense import graded_svd, psd_basis

__all__ = [
    "SingularBasis",
    "basis_of_products",
    "complete_basis",
    "dual_basis",
    "singular_basis",
    "small_enough",
]

# Dense numbers that are held at a time: 2^25 in float64 are 256 MiB.
_ENTRIES = 1 << 25
# Below this fraction of the largest, an eigenvalue of a Gram matrix has lost half its digits.
_DIGITS = 1e-8
# Means of columns below this fraction of their lengths are those of centred columns.
_CENTRED = 1e-10
# And the most of a wide X, which is made dense as a whole: 1 GiB.
_WIDE_ENTRIES = 1 << 27


@dataclass(frozen=True)
class SingularBasis:
    """``X = U diag(values)^1/2 V'`` in the units of the data, its rank decided after scaling.

    ``coordinates`` is ``U'L`` for the block that was given. ``shortest`` is the smallest
    singular value that was kept, of X with columns of unit length, relative to the largest;
    ``lengths`` are those of the columns before, and ``lost`` what the loss of digits in products
    of the data may have cost, where these were all there was.
    """

    values: Array
    right: Array
    coordinates: Array
    shortest: float
    lengths: Array
    lost: float = 0.0

    def energy(self, right: Array, alpha: float) -> float:
        """Return ``tr right'(X'X + alpha I)^+ right``."""
        inside = np.square(self.right.T @ right)
        return float((inside / (self.values + alpha)[:, None]).sum())

    @property
    def rank(self) -> int:
        return self.values.size

    def slopes(self, alpha: float) -> Array:
        """Return ``(X'X + alpha I)^+ X'L``, the smallest where there are several."""
        shrunk = np.sqrt(self.values) / (self.values + alpha)
        return np.asarray(self.right @ (self.coordinates * shrunk[:, None]))

    def leading(self, count: int) -> SingularBasis:
        """Keep at most ``count`` directions, the longest."""
        if self.rank <= count:
            return self
        values = self.values[:count]
        return replace(
            self,
            values=values,
            right=self.right[:, :count],
            coordinates=self.coordinates[:count],
            shortest=float(np.sqrt(values[-1] / values[0])) if count else 0.0,
        )


def small_enough(X: Operator) -> bool:
    """Whether the data can be factorised directly: one side short, and wide rows not too many."""
    rows, columns = X.shape
    if columns == X.short_side:
        return columns <= DIRECT_LIMIT
    return rows <= DIRECT_LIMIT and rows * columns <= _WIDE_ENTRIES


def singular_basis(X: Operator, block: Array | None) -> SingularBasis:
    """Factorise the data: QR of the rows, block by block, with columns of unit length.

    For a tall X, memory is (d + s)^2 numbers and one block of rows (256 MiB); a wide X is
    made dense, n x d numbers. Time about three times that of a Gram matrix and its
    eigenvectors.
    """
    labels = np.zeros((X.shape[0], 0)) if block is None else host(block)
    tolerance = rank_tolerance(X.dtype, X.shape)
    if not X.dual:
        # The rows cannot be brought together: their products have to do.
        return basis_of_products(*X.moments(labels))
    if X.shape[1] == X.short_side:
        return _tall(X, labels, tolerance)
    rows = X.wide_rows(slice(0, X.shape[0]))
    lengths = _alive(np.linalg.norm(rows, axis=0))
    rows = rows - _left_means(rows.mean(axis=0), lengths, rows.shape[0])
    triangle: Array = np.asarray(np.linalg.qr((rows / lengths).T, mode="r"))
    left, singular, _ = np.linalg.svd(triangle.T)
    keep = singular > tolerance * singular.max(initial=0.0)
    left, singular = left[:, keep], singular[keep]
    return _in_units(rows.T @ left, left.T @ labels, singular, lengths)


def dual_basis(X: Operator, block: Array | None, alpha: float, count: int) -> SingularBasis | None:
    """Do the same from ``X X'``, where a penalty or the data itself leaves it enough digits.

    For a wide X with many columns. Of the directions only the leading ones are found where
    no block is given. None where eigenvalues of ``X X'`` have lost their digits.
    """
    cogram = X.cogram()
    values, left = np.linalg.eigh((cogram + cogram.T) / 2)
    values, left = values[::-1], left[:, ::-1]
    if block is None:
        keep = min(count, values.size)
    else:
        # One direction of centred rows is null, and known.
        sums = np.abs(cogram.sum(axis=1)).max(initial=0.0)
        keep = values.size - int(sums <= _CENTRED * values[0])
        if alpha > _DIGITS * values[0]:
            keep = int((values > 64 * rounding(np.float64) * values[0]).sum())
    if not keep or not values[keep - 1] + alpha > _DIGITS * (values[0] + alpha):
        return None
    values, left = values[:keep], left[:, :keep]
    labels = np.zeros((X.shape[0], 0)) if block is None else host(block)
    right = X.cross(left / np.sqrt(values))
    shortest = float(np.sqrt(values[-1] / values[0]))
    return SingularBasis(values, right, left.T @ labels, shortest, _alive(column_lengths(X)))


def complete_basis(X: Operator, block: Array, alpha: float) -> SingularBasis:
    """Return every direction of X, the cheapest way that keeps the digits; see `singular_basis`.

    From the smaller Gram matrix where its condition number allows it, without a rank decision.
    Otherwise the data is factorised; where that is too large, the rank is that of ``X X'``.
    """
    rows, columns = X.shape
    if columns == X.short_side:
        gram, cross = X.moments(block)
        values, right = np.linalg.eigh(gram)
        if values[0] > _DIGITS * values[-1]:
            values, right = values[::-1], right[:, ::-1]
            inside = (right.T @ cross) / np.sqrt(values)[:, None]
            shortest = float(np.sqrt(values[-1] / values[0]))
            return SingularBasis(values, right, inside, shortest, np.sqrt(np.diag(gram)))
        return singular_basis(X, block)
    basis = dual_basis(X, block, alpha, rows)
    if basis is not None:
        return basis
    if small_enough(X):
        return singular_basis(X, block)
    values, left = psd_basis(X.cogram(), 4 * max(X.shape) * rounding(np.float64))
    right = X.cross(left / np.sqrt(values))
    shortest = float(np.sqrt(values[-1] / values[0])) if values.size else 0.0
    return SingularBasis(values, right, left.T @ host(block), shortest, _alive(column_lengths(X)))


def _tall(X: Operator, labels: Array, tolerance: float) -> SingularBasis:
    columns = X.shape[1]
    squares, sums = np.zeros(columns), np.zeros(columns)
    for part in _parts(X.shape):
        rows = X.wide_rows(part)
        squares += np.square(rows).sum(axis=0)
        sums += rows.sum(axis=0)
    lengths = _alive(np.sqrt(squares))
    means = _left_means(sums / X.shape[0], lengths, X.shape[0])
    corner = np.zeros((0, columns + labels.shape[1]))
    for part in _parts(X.shape):
        rows = np.hstack([(X.wide_rows(part) - means) / lengths, labels[part]])
        corner = np.asarray(np.linalg.qr(np.vstack([corner, rows]), mode="r"))
    left, singular, right = np.linalg.svd(corner[:columns, :columns])
    # A single row may leave no corner.
    keep = singular > tolerance * singular.max(initial=0.0)
    left, singular, right = left[:, keep], singular[keep], right[keep]
    coordinates = left.T @ corner[:columns, columns:]
    return _in_units(lengths[:, None] * right.T * singular, coordinates, singular, lengths)


def basis_of_products(gram: Array, cross: Array) -> SingularBasis:
    """Do the same from ``X'X`` and ``X'L``, for data that is gone or far away.

    Directions shorter than about 1e-7 of the longest, after scaling, cannot be distinguished
    from null ones; ``lost`` grows as directions come near that.
    """
    side = gram.shape[0]
    eps = rounding(np.float64)
    lengths = _alive(np.sqrt(np.diag(gram)))
    scaled = gram / np.outer(lengths, lengths)
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    keep = values > 8 * eps * side * max(values[-1], 0.0)
    singular, right = np.sqrt(values[keep])[::-1], vectors[:, keep][:, ::-1]
    coordinates = (right.T @ (cross / lengths[:, None])) / singular[:, None]
    basis = _in_units(lengths[:, None] * right * singular, coordinates, singular, lengths)
    lost = 8 * eps * np.sqrt(side) / basis.shortest**2 if basis.rank else 0.0
    return replace(basis, lost=float(lost) if cross.shape[1] else 0.0)


def _in_units(
    transposed: Array, coordinates: Array, singular: Array, lengths: Array
) -> SingularBasis:
    """From ``B'`` with ``X = U B`` to singular vectors in the units of the data.

    Rows of B' are as long as columns of X.
    """
    shortest = float(singular[-1] / singular[0]) if singular.size else 0.0
    if not singular.size:
        empty = np.zeros((transposed.shape[0], 0))
        return SingularBasis(np.zeros(0), empty, coordinates, shortest, lengths)
    right, roots, mixing = graded_svd(transposed)
    return SingularBasis(np.square(roots), right, mixing.T @ coordinates, shortest, lengths)


def _left_means(means: Array, lengths: Array, rows: int) -> Array:
    """Return what centring has left of the means; zeros where X was not centred.

    It is rounding, the same in every row, and would be the shortest direction.
    """
    centred = (np.abs(means) * np.sqrt(rows) <= _CENTRED * lengths).all()
    return means if centred else np.zeros_like(means)


def _parts(shape: tuple[int, int]) -> Iterator[slice]:
    rows, columns = shape
    step = max(4 * columns, _ENTRIES // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _alive(lengths: Array) -> Array:
    return np.where(lengths > 0, lengths, 1.0)
