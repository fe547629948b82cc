"""One decomposition of the data, in which every regression and every direction is a small problem.

With ``X = U diag(values)^1/2 V'`` the labels enter only as ``U'L``: the leave-one-out errors of
every penalty, the regression and the directions follow without X. It comes from the eigenvectors of
the smaller Gram matrix, which a :class:`Decomposition` computes once for all who need it. Where
these have lost digits, QR and singular vectors of the data replace them, with columns of unit
length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..operators import Operator, as_operator
from ..operators.array_backend import host, inner, times
from ..operators.digits import rank_tolerance, unit_spectrum
from .limits import column_lengths, rounding, small_enough
from .small_dense import graded_svd, psd_basis

__all__ = [
    "Basis",
    "Decomposition",
    "OfRows",
    "basis_of_gram",
    "basis_of_products",
    "complete_basis",
    "factorise",
    "left_basis",
    "positive",
]

# Below this fraction of the largest, an eigenvalue of a Gram matrix has lost half of its digits.
DIGITS = 1e-8
# Column means below this fraction of the column lengths are rounding, and so
# are sums of products of rows.
CENTRED = 1e-6
# Maximum number of dense entries in memory at a time: 2^25 in float64 are 256 MiB.
_ENTRIES = 1 << 25


class Spectrum(NamedTuple):
    """Eigenvalues of the smaller Gram matrix, in decreasing order, and its eigenvectors.

    ``vectors`` are right singular vectors of X, or left ones if it is ``dual``. ``lengths`` are
    those of the columns of X. ``centred`` says that the rows sum to zero, so that one direction of
    ``X X'`` is null.
    """

    values: Array
    vectors: Array
    dual: bool
    lengths: Array
    centred: bool


class Decomposition:
    """X and the eigenvectors of its smaller Gram matrix, computed when they are first needed.

    The choice of alpha, the regression, the directions and the thresholds of one fit share it.
    """

    def __init__(self, X: Operator) -> None:
        self.X = X

    @property
    def known(self) -> bool:
        """Whether it was computed."""
        return "spectrum" in vars(self)

    @cached_property
    def spectrum(self) -> Spectrum:
        X = self.X
        dual = X.shape[1] != X.short_side
        gram = X.cogram() if dual else X.gram()
        lengths = positive(column_lengths(X) if dual else np.sqrt(np.diag(gram)))
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        values, vectors = values[::-1], vectors[:, ::-1]
        sums = np.abs(gram.sum(axis=1)).max(initial=0.0) if dual else np.inf
        return Spectrum(values, vectors, dual, lengths, bool(sums <= CENTRED * values[0]))

    def coordinates(self, labels: Array, rank: int) -> Array:
        """Return ``U'labels`` for the leading directions."""
        vectors = self.spectrum.vectors[:, :rank]
        if self.spectrum.dual:
            return np.asarray(vectors.T @ host(labels))
        return np.asarray(
            (vectors.T @ self.X.cross(labels)) / np.sqrt(self.spectrum.values[:rank])[:, None]
        )

    def rank(self, alpha: float = 0.0) -> int:
        """Return the number of accurate directions; 0 if some have lost their digits.

        A penalty that is large compared with the rounding suppresses the others.
        """
        values = self.spectrum.values
        largest = max(float(values[0]), 0.0) if values.size else 0.0
        keep = values.size - self.spectrum.centred
        if alpha > DIGITS * largest:
            keep = self._above_rounding()
        if not keep or not values[keep - 1] + alpha > DIGITS * (largest + alpha):
            return 0
        return keep

    def _above_rounding(self) -> int:
        values = self.spectrum.values
        tolerance = rank_tolerance(np.float64, self.spectrum.vectors.shape)
        return int((values > tolerance * max(float(values[0]), 0.0)).sum())

    def mean_leverage(self, alpha: float) -> float:
        """Return the mean diagonal of ``X (X'X + alpha I)^+ X'``."""
        values = self.spectrum.values
        return float((values / (values + alpha))[values > 0].sum()) / self.X.shape[0]


@dataclass(frozen=True)
class Basis:
    """``X = U diag(values)^1/2 V'`` in the units of the data; its rank is determined after scaling.

    ``right`` is V, perhaps as combinations of rows, and ``coordinates`` is ``U'L`` for the block
    that was given. ``lengths`` are
    those of the columns, ``shortest`` is the smallest singular value of X with columns of unit
    length, relative to the largest, and ``lost`` is the error from the loss of digits in
    products of the data, if only these were available. U is ``left`` or, if that is None,
    ``X @ to_left``, which is ``V diag(values)^-1/2`` computed from columns of unit length.
    """

    values: Array
    right: Operator
    coordinates: Array
    lengths: Array
    shortest: float = 1.0
    lost: float = 0.0
    left: Array | None = None
    to_left: Array | None = None

    def energy(self, right: Array, alpha: float) -> float:
        """Return ``tr right'(X'X + alpha I)^+ right``."""
        inside = np.square(self.right.rmatmat(right))
        return float((inside / (self.values + alpha)[:, None]).sum())

    @property
    def rank(self) -> int:
        return self.values.size

    def slopes(self, alpha: float) -> Array:
        """Return ``(X'X + alpha I)^+ X'L``, of minimum norm."""
        shrunk = np.sqrt(self.values) / (self.values + alpha)
        return self.right.matmat(self.coordinates * shrunk[:, None])

    def leading(self, count: int) -> Basis:
        """Keep only the ``count`` longest directions."""
        return replace(
            self,
            values=self.values[:count],
            right=as_operator(self.right.to_block()[:, :count]),
            coordinates=self.coordinates[:count],
        )


def complete_basis(X: Operator, block: Array, alpha: float = 0.0) -> Basis:
    """Return every direction of X, by the cheapest accurate method.

    Uses the smaller Gram matrix if its condition number, or a penalty of at least
    ``alpha``, allows it; otherwise the data, or, if that is too large, ``X X'``.
    """
    basis = basis_of_gram(Decomposition(X), block, alpha)
    if basis is not None:
        return replace(basis, right=as_operator(basis.right.to_block()))
    if small_enough(X):
        return factorise(X, block)
    values, left = psd_basis(X.cogram())
    right = X.cross(left / np.sqrt(values))
    lengths = positive(column_lengths(X))
    return Basis(values, as_operator(right), left.T @ host(block), lengths)


def basis_of_gram(decomposition: Decomposition, block: Array | None, alpha: float) -> Basis | None:
    """Return a basis from the smaller Gram matrix; None if it is not accurate enough."""
    X, rank = decomposition.X, decomposition.rank(alpha)
    if not rank:
        return None
    values, vectors, dual, lengths, _ = decomposition.spectrum
    values, vectors = values[:rank], vectors[:, :rank]
    labels = np.zeros((X.shape[0], 0)) if block is None else block
    coordinates = decomposition.coordinates(labels, rank)
    right = OfRows(X, vectors / np.sqrt(values), exact=True) if dual else as_operator(vectors)
    return Basis(values, right, coordinates, lengths)


def left_basis(decomposition: Decomposition, labels: Array) -> Basis | None:
    """Return squares, ``U'labels`` and U itself, for errors of every penalty at once.

    From the smaller Gram matrix, unless its columns differ so much in length that it has lost
    directions of short columns: the data is then factorised. None if it is too large for that.
    """
    X = decomposition.X
    values, vectors, dual, lengths, centred = decomposition.spectrum
    largest = max(float(values[0]), 0.0)
    graded = np.square(lengths.min() / lengths.max()) < DIGITS
    if graded and not values[-1 - centred] > DIGITS * largest:
        return factorise(X, labels) if small_enough(X) else None
    rank = decomposition._above_rounding()
    values, vectors = values[:rank], vectors[:, :rank]
    coordinates = decomposition.coordinates(labels, rank)
    basis = Basis(values, as_operator(vectors), coordinates, lengths)
    if dual:
        return replace(basis, left=vectors)
    return replace(basis, to_left=vectors / np.sqrt(values))


def factorise(X: Operator, block: Array | None) -> Basis:
    """Factorise the data: QR of the rows, block by block, with columns of unit length.

    For a tall X it needs memory for (d + s)^2 numbers and one block of rows (256 MiB); a wide X is
    made dense, n x d numbers. It takes about three times as long as a Gram matrix and its
    eigenvectors.
    """
    labels = np.zeros((X.shape[0], 0)) if block is None else host(block)
    tolerance = rank_tolerance(X.dtype, X.shape)
    if not X.dual:
        # The rows cannot be combined: use their products.
        return basis_of_products(*X.moments(labels))
    if X.shape[1] == X.short_side:
        return _tall(X, labels, tolerance)
    rows = X.wide_rows(slice(0, X.shape[0]))
    lengths = positive(np.linalg.norm(rows, axis=0))
    rows = rows - _left_means(rows.mean(axis=0), lengths, rows.shape[0])
    triangle: Array = np.asarray(np.linalg.qr((rows / lengths).T, mode="r"))
    left, singular, _ = np.linalg.svd(triangle.T)
    keep = singular > tolerance * singular.max(initial=0.0)
    left, singular = left[:, keep], singular[keep]
    basis, mixing = _in_units(rows.T @ left, left.T @ labels, singular, lengths)
    return replace(basis, left=left @ mixing)


def _tall(X: Operator, labels: Array, tolerance: float) -> Basis:
    columns = X.shape[1]
    squares, sums = np.zeros(columns), np.zeros(columns)
    for part in _parts(X.shape):
        rows = X.wide_rows(part)
        squares += np.square(rows).sum(axis=0)
        sums += rows.sum(axis=0)
    lengths = positive(np.sqrt(squares))
    means = _left_means(sums / X.shape[0], lengths, X.shape[0])
    corner = np.zeros((0, columns + labels.shape[1]))
    for part in _parts(X.shape):
        rows = np.hstack([(X.wide_rows(part) - means) / lengths, labels[part]])
        corner = np.asarray(np.linalg.qr(np.vstack([corner, rows]), mode="r"))
    left, singular, right = np.linalg.svd(corner[:columns, :columns])
    # A single row may have no corner block.
    keep = singular > tolerance * singular.max(initial=0.0)
    left, singular, right = left[:, keep], singular[keep], right[keep]
    coordinates = left.T @ corner[:columns, columns:]
    return _from_scaled(right.T, singular, coordinates, lengths)


def basis_of_products(gram: Array, cross: Array) -> Basis:
    """Do the same from ``X'X`` and ``X'L``, for data that is not available on this machine.

    Directions shorter than about 1e-7 of the longest, after scaling, cannot be distinguished
    from null ones; ``lost`` grows as directions come near that.
    """
    lengths = positive(np.sqrt(np.diag(gram)))
    values, vectors = unit_spectrum(gram, lengths)
    singular, right = np.sqrt(values)[::-1], vectors[:, ::-1]
    coordinates = (right.T @ (cross / lengths[:, None])) / singular[:, None]
    basis = _from_scaled(right, singular, coordinates, lengths)
    lost = 0.0
    if basis.rank and cross.shape[1]:
        lost = float(8 * rounding(np.float64) * np.sqrt(len(gram)) / basis.shortest**2)
    return replace(basis, lost=lost)


def _from_scaled(right: Array, singular: Array, coordinates: Array, lengths: Array) -> Basis:
    """Return singular vectors in the units of the data from those of columns of unit length."""
    basis, mixing = _in_units(lengths[:, None] * right * singular, coordinates, singular, lengths)
    return replace(basis, to_left=(right / lengths[:, None] / singular) @ mixing)


def _in_units(
    transposed: Array, coordinates: Array, singular: Array, lengths: Array
) -> tuple[Basis, Array]:
    """Return singular vectors in the units of the data, from ``B'`` with ``X = U B``.

    Rows of B' are as long as columns of X. The second array turns U into left singular vectors.
    """
    if not transposed.shape[1]:
        empty = as_operator(np.zeros((transposed.shape[0], 0)))
        return Basis(np.zeros(0), empty, coordinates, lengths), np.zeros((0, 0))
    right, roots, mixing = graded_svd(transposed)
    shortest = float(singular[-1] / singular[0])
    squares, axes = np.square(roots), as_operator(right)
    return Basis(squares, axes, mixing.T @ coordinates, lengths, shortest), mixing


def _left_means(means: Array, lengths: Array, rows: int) -> Array:
    """Return the rounding errors of the means after centring; zeros if X was not centred.

    They are the same in every row and would be the shortest direction.
    """
    centred = (np.abs(means) * np.sqrt(rows) <= CENTRED * lengths).all()
    return means if centred else np.zeros_like(means)


def _parts(shape: tuple[int, int]) -> Iterator[slice]:
    rows, columns = shape
    step = max(4 * columns, _ENTRIES // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def positive(lengths: Array) -> Array:
    """Replace zeros by the shortest length, next to which a length of 1 may be very large."""
    alive = lengths[lengths > 0]
    return np.where(lengths > 0, lengths, alive.min() if alive.size else 1.0)


class OfRows(Operator):
    """``X'mixing``: coefficients as combinations of the rows of X, fewer numbers if n < d.

    Products are summed in float64 if they are to be ``exact``.
    """

    def __init__(self, X: Operator, mixing: Array, *, exact: bool = False) -> None:
        super().__init__((X.shape[1], mixing.shape[1]), np.float64 if exact else X.dtype)
        self.device = None if exact else X.device
        self.X, self.mixing = X, mixing
        self._back = X.cross if exact else X.rmatmat

    def _matmat(self, block: Array) -> Array:
        return self._back(times(self.mixing, block))

    def _rmatmat(self, block: Array) -> Array:
        X = self.X.in_type(self.dtype) or self.X
        return self.to_device(inner(self.mixing, X.matmat(block)))

    def to_block(self) -> Array:
        return self._back(self.mixing)
