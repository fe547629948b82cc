"""Small dense algebra on the host, in float64: the last step of every solver.

Uses numpy's routines where they exist: scipy has its own BLAS, whose threads
and numpy's would wait for each other inside an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, get_lapack_funcs, lapack

from .._typing import Array
from ..operators.array_backend import (
    column_norms,
    host,
    inner_all,
    subtract_products,
    times,
    width_of,
)
from ..operators.array_backend import inner as inner_product
from ..operators.digits import unit_spectrum, whitening
from ..operators.machine import single_thread

__all__ = [
    "LEAST_EIGENVALUE",
    "ScaledCholesky",
    "few_leading",
    "graded_svd",
    "inverse_root",
    "leading",
    "leading_pairs",
    "leading_values",
    "length",
    "orthonormalize",
    "orthonormalized",
    "psd_basis",
    "remove",
    "remove_measured",
    "scaled_cholesky",
    "thin_spectrum",
    "triangular",
]

# Directions of an answer whose eigenvalue is below this fraction of the largest are left out: they
# consist of what the regressions and inverse roots before it have lost. This is not the rank of the
# data, which is in `operators.digits`.
LEAST_EIGENVALUE = 1e-10
# Above this reciprocal condition number a matrix has no direction that could be rounding.
_WELL_CONDITIONED = 1e-8
# Between these sizes one BLAS thread is as fast as several; below, BLAS itself uses one.
_TINY, _SMALL = 96, 768
# Directions whose squared length is below this fraction of the longest are rounding, in either
# precision: this is the limit of float64 Gram matrices and of float32 blocks.
_TOLERANCE = 1e-12
# Rounding errors of a difference of products, per column, in units of epsilon.
_ROUNDINGS = 64
# Above this condition number a triangular factor would not show a loss of rank.
_SAFE = 1e4
# Below this condition number one pass makes the columns orthonormal up to rounding; and products of
# float32 in float32 show it.
_ENOUGH, _FEW_DIGITS = 10.0, 100.0


def _threads(side: int) -> AbstractContextManager[object]:
    return single_thread() if _TINY < side <= _SMALL else nullcontext()


def _eigh(matrix: Array) -> tuple[Array, Array]:
    symmetric = (matrix + matrix.T) / 2
    with _threads(matrix.shape[0]):
        values, vectors = np.linalg.eigh(symmetric)
    return values, vectors


def leading(matrix: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a symmetric matrix, decreasing, and their vectors."""
    values, vectors = _eigh(matrix)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def few_leading(matrix: Array, count: int) -> tuple[Array, Array]:
    """Do the same as :func:`leading`, faster for few eigenvalues, and less exactly orthogonal.

    For an answer that is checked against the data.
    """
    side = matrix.shape[0]
    # Eigensolvers may loop forever on numbers that are not finite.
    if 5 * count > side or not np.isfinite(matrix).all():
        return leading(matrix, count)
    wanted = [side - count, side - 1]
    try:
        with _threads(side):
            values, vectors = eigh(matrix, subset_by_index=wanted, driver="evr", check_finite=False)
    except np.linalg.LinAlgError:  # for example for many copies of one eigenvalue
        return leading(matrix, count)
    return values[::-1], vectors[:, ::-1]


def leading_values(matrix: Array, count: int) -> Array:
    """Return the largest eigenvalues of a symmetric matrix, in decreasing order."""
    with _threads(matrix.shape[0]):
        values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    return values[::-1][:count]


def psd_basis(gram: Array, tolerance: float | None = None) -> tuple[Array, Array]:
    """Return the eigenvalues of a positive semi-definite matrix, decreasing, without null ones.

    Eigenvalues are null below ``tolerance``, by default that of float64, of the largest of the
    matrix scaled to a unit diagonal, so that units do not matter; those that are returned, and
    their vectors, belong to the matrix itself.
    """
    values, vectors = _eigh(gram)
    if not values.size or not values[-1] > 0:
        return values[:0], vectors[:, :0]
    if values[0] > _WELL_CONDITIONED * values[-1]:
        return values[::-1], vectors[:, ::-1]
    lengths = np.sqrt(np.maximum(np.diag(gram), 0.0))
    values, vectors = unit_spectrum(gram, lengths, tolerance)
    left, roots, _ = graded_svd(lengths[:, None] * vectors * np.sqrt(values))
    return np.square(roots), left


def graded_svd(matrix: Array) -> tuple[Array, Array, Array]:
    """``matrix = left diag(roots) mixing'`` for rows of very different lengths.

    One-sided Jacobi finds small singular values of such a matrix to as many digits as large ones.
    """
    found, left, mixing, work, _, failed = lapack.dgejsv(
        np.asfortranarray(matrix), joba=2, jobu=0, jobv=0, jobr=0, jobt=0, jobp=1
    )
    if not failed:
        return left, found * (work[0] / work[1]), mixing
    left, roots, mixing = np.linalg.svd(matrix, full_matrices=False)
    return left, roots, mixing.T


def inverse_root(matrix: Array, alpha: float, lengths: Array) -> tuple[Array, bool]:
    """Return ``(matrix + alpha I)_+^-1/2``, and whether short directions may be rounding.

    The positive semi-definite matrix was computed from products of columns with given lengths:
    divided by these, its rounding is the same everywhere. Without a penalty, directions that are
    then null stay null.
    """
    values, vectors = unit_spectrum(matrix, lengths)
    # Where the matrix is much smaller than the products, all of it may be their rounding.
    keep = values > _ROUNDINGS * float(np.finfo(np.float64).eps) * lengths.size
    values, vectors = values[keep], vectors[:, keep]
    lost = values.size < lengths.size
    short = bool(values.size and (lost or values[0] <= _WELL_CONDITIONED * values[-1]))
    if alpha > 0:
        values, left = _eigh(matrix)
        values = np.maximum(values, 0.0) + alpha
    elif not values.size:
        return np.zeros_like(matrix), short
    else:
        left, roots, _ = graded_svd(lengths[:, None] * vectors * np.sqrt(values))
        values = np.square(roots)
    return np.asarray((left / np.sqrt(values)) @ left.T), short


@dataclass(frozen=True)
class ScaledCholesky:
    """``matrix + alpha I = E L L' E`` with a unit diagonal in between."""

    lower: Array
    scale: Array

    def solve(self, right: Array) -> Array:
        """Return ``(matrix + alpha I)^-1 right``."""
        potrs = get_lapack_funcs("potrs", (self.lower,))
        solved = potrs(self.lower, right / self.scale[:, None], lower=1)[0]
        return np.asarray(solved / self.scale[:, None])

    def energy(self, right: Array) -> float:
        """Return ``tr right'(matrix + alpha I)^-1 right``."""
        trtrs = get_lapack_funcs("trtrs", (self.lower,))
        half = trtrs(self.lower, right / self.scale[:, None], lower=1)[0]
        return float(np.square(half).sum())


def scaled_cholesky(matrix: Array, alpha: float) -> ScaledCholesky | None:
    """Factorise ``matrix + alpha I``; None if it is not accurate enough.

    The matrix is first scaled to a unit diagonal, so that units do not matter. A reciprocal
    condition number below the root of epsilon means that half of the digits of a direction are lost
    in the products; the data itself may still have them.
    """
    diagonal = matrix.diagonal() + alpha
    if not diagonal.size or not diagonal.min() > 0:
        return None
    scale = np.sqrt(diagonal)
    # The matrix is symmetric: its transpose is in the order of LAPACK.
    scaled = np.divide(matrix.T, scale, order="F")
    scaled /= scale[:, None]
    # Divide the diagonal of ``matrix + alpha I`` by its root twice, like the other entries.
    np.fill_diagonal(scaled, diagonal / scale / scale)
    # The penalty bounds the smallest eigenvalue, the trace the largest.
    least = _WELL_CONDITIONED if scaled.dtype == np.float64 else np.sqrt(np.finfo(scaled.dtype).eps)
    bounded = alpha / diagonal.max() / diagonal.size > least
    lange, potrf, pocon = get_lapack_funcs(("lange", "potrf", "pocon"), (scaled,))
    length = 0.0 if bounded else float(lange("1", scaled))
    lower, failed = potrf(scaled, lower=1, overwrite_a=1)
    if failed or not (bounded or pocon(lower, length, uplo="L")[0] > least):
        return None
    return ScaledCholesky(lower, scale)


def thin_spectrum(matrix: Array, count: int) -> tuple[Array, Array]:
    """Return the eigenpairs of the s x s matrix of the second stage, without null directions."""
    values, vectors = few_leading(matrix, count)
    keep = values > LEAST_EIGENVALUE * max(values[0], 0.0)
    return values[keep], vectors[:, keep]


def length(block: Array) -> float:
    """Return the Frobenius norm, also of very small numbers."""
    values = host(block)
    largest = float(np.abs(values).max(initial=0.0))
    return largest * float(np.linalg.norm(values / largest)) if largest > 0 else 0.0


def leading_pairs(matrix: Array, metric: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of ``matrix v = value metric v`` and ``v'metric v = 1``."""
    roots = whitening(metric, LEAST_EIGENVALUE)
    values, vectors = leading(roots.T @ matrix @ roots, count)
    return values, roots @ vectors


# --- thin blocks: orthonormal columns from Gram matrices, which cost one pass of BLAS 3 --------


def orthonormalize(block: Array) -> tuple[Array, Array]:
    """``block = Q R`` with orthonormal Q, whose number of columns is the rank of the block."""
    basis, _, total = orthonormalized(block, None)
    return basis, total


def orthonormalized(block: Array, image: Array | None) -> tuple[Array, Array, Array]:
    """Return Q, its image and R; with an ``image`` K of the block, Q'KQ = I.

    R is in float64. Uses the Gram matrix: its Cholesky factor if that is safe, otherwise
    its eigenvalues, which show the rank; and a second pass if one
    is not accurate enough.
    """
    basis, total = block, np.eye(block.shape[1])
    image = basis if image is None else image
    for _ in range(3):
        gram = inner_product(basis, image)
        if gram.size == 0 or not np.trace(gram) > 0:
            return block[:, :0], image[:, :0], total[:0]
        with single_thread():
            found = triangular(gram)
            if width_of(basis) != np.float64 and (found is None or found[2] > _FEW_DIGITS):
                gram = inner_product(basis, image, dtype=np.float64)
                found = triangular(gram)
            root, inverse, condition = found or _spectral(gram)
        same = basis is image
        basis = times(basis, inverse)
        image = basis if same else times(image, inverse)
        total = root @ total
        if condition < _ENOUGH:
            break
    return basis, image, total


def triangular(gram: Array) -> tuple[Array, Array, float] | None:
    """Return ``R``, ``R^-1`` and a condition number, ``R'R`` the Gram matrix; None if unsafe."""
    diagonal = np.diag(gram)
    if not diagonal.min() > 0:
        return None
    lengths = np.sqrt(diagonal)
    try:
        # Scale columns to length 1 first, so that different lengths do not affect the condition
        # number.
        lower = np.linalg.cholesky(gram / np.outer(lengths, lengths))
    except np.linalg.LinAlgError:
        return None
    inverse = lapack.dtrtri(lower, lower=1)[0]
    condition = float(np.linalg.norm(lower) * np.linalg.norm(inverse)) / lengths.size
    if not condition < _SAFE:
        return None
    return lower.T * lengths, inverse.T / lengths[:, None], condition


def _spectral(gram: Array) -> tuple[Array, Array, float]:
    """Do the same by eigenvalues, and drop directions that are rounding errors."""
    values, vectors = np.linalg.eigh(gram)
    keep = values > _TOLERANCE * values[-1]
    root, vectors = np.sqrt(values[keep]), vectors[:, keep]
    return root[:, None] * vectors.T, vectors / root, float(root[-1] / root[0])


def remove(block: Array, against: Sequence[Array]) -> Array:
    """Project out orthonormal blocks, in place; twice if that removes much."""
    remove_measured(block, against)
    return block


def remove_measured(block: Array, against: Sequence[Array]) -> tuple[Array, Array]:
    """Do the same, and return the norms of the columns before and after it."""
    if not against:
        lengths = column_norms(block)
        return lengths, lengths
    before, after = subtract_products(block, against, inner_all(against, block))
    if not (after > 0.1 * before).all():
        _, after = subtract_products(block, against, inner_all(against, block))
    return before, after
