"""One block least squares kernel: all right-hand sides pass through X together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..operators import Operator
from ..operators.base import Array
from .base import DIRECT_LIMIT, rounding
from .blocks import orthonormalize
from .small import psd_solve

__all__ = ["Regressed", "default_tolerance", "regress"]


@dataclass(frozen=True)
class Regressed:
    """``slopes = (X'X + alpha I)^+ X'targets`` and how they were found."""

    slopes: Array
    cross: Array
    method: str
    n_iter: int
    residual: float
    converged: bool


def default_tolerance(dtype: np.dtype[np.floating]) -> float:
    """Relative residual aimed at; eigenvalues are then right to about its square."""
    return 1e-6 if dtype == np.float64 else 1e-4


def regress(
    X: Operator, targets: Array, alpha: float, *, tol: float | None = None, max_iter: int = 1000
) -> Regressed:
    """Regress every column of ``targets`` on X with a common 2-norm penalty.

    Direct, by the smaller Gram matrix, while its side is at most ``DIRECT_LIMIT``;
    block conjugate gradients otherwise, whose memory is a few blocks of the targets'
    width. The minimum-norm solution where ``alpha`` is 0.
    """
    rows, columns = X.shape
    cross = X.rmatmat(targets)
    tolerance = 4 * max(rows, columns) * rounding(np.dtype(np.float64))
    if min(rows, columns) <= DIRECT_LIMIT:
        if columns <= rows:
            gram = X.gram()
            slopes = psd_solve(gram, cross.astype(np.float64), alpha, tolerance)
            method = "primal Gram matrix"
        else:
            dual = psd_solve(X.cogram(), targets.astype(np.float64), alpha, tolerance)
            slopes, method = X.rmatmat(dual), "dual Gram matrix"
        return Regressed(slopes, cross, method, 1, 0.0, True)
    tol = default_tolerance(X.dtype) if tol is None else tol
    if rows < columns and alpha > 0:
        # The dual system lives on the shorter side, and the penalty makes it definite.
        dual, n_iter, residual = _block_cg(
            lambda block: X.matmat(X.rmatmat(block)), targets.astype(X.dtype), alpha, tol, max_iter
        )
        slopes, method = X.rmatmat(dual), "block conjugate gradients, dual"
    else:
        slopes, n_iter, residual = _block_cg(
            lambda block: X.rmatmat(X.matmat(block)), cross, alpha, tol, max_iter
        )
        method = "block conjugate gradients"
    return Regressed(slopes, cross, method, n_iter, residual, residual <= tol)


def _block_cg(
    apply: Callable[[Array], Array],
    right: Array,
    alpha: float,
    tol: float,
    max_iter: int,
) -> tuple[Array, int, float]:
    """Block conjugate gradients with an orthonormal residual block (Dubrulle 2001).

    Right-hand sides that depend on each other are merged at the start, and a residual
    that loses rank on the way only narrows the block: nothing divides by zero.
    """
    dtype = right.dtype
    scale = np.linalg.norm(right, axis=0)
    scale[scale == 0] = 1.0
    residual_basis, factor = orthonormalize(right / scale)
    solution = np.zeros_like(right)
    direction = residual_basis
    coefficients = factor
    worst, n_iter = float(residual_basis.shape[1] > 0), 0
    while worst > tol and n_iter < max_iter and residual_basis.shape[1]:
        n_iter += 1
        image = apply(direction) + alpha * direction
        inner = (direction.T @ image).astype(np.float64)
        inverse = np.linalg.pinv((inner + inner.T) / 2, rcond=rounding(dtype), hermitian=True)
        solution += direction @ (inverse @ coefficients).astype(dtype)
        residual_basis, factor = orthonormalize(residual_basis - image @ inverse.astype(dtype))
        coefficients = factor @ coefficients
        worst = float(np.linalg.norm(coefficients, axis=0).max()) if coefficients.size else 0.0
        direction = residual_basis + direction @ factor.T.astype(dtype)
    return solution * scale, n_iter, worst
