"""One block least squares kernel: all right-hand sides pass through X together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import host
from .conjugate_gradients import block_cg
from .problem import DIRECT_LIMIT, rounding
from .small_dense import psd_solve

__all__ = ["SHORT", "Regressed", "default_tolerance", "regress"]


# Up to this side the Gram matrix is always the faster way.
SHORT = 1024
# Beyond, while a Gram matrix would still do, the iteration gets so many tries.
_BUDGET = 100


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
    """Relative residual aimed at; eigenvalues are then right to more digits than that."""
    return 1e-8 if dtype == np.float64 else 1e-4


def regress(
    X: Operator, targets: Array, alpha: float, *, tol: float | None = None, max_iter: int = 1000
) -> Regressed:
    """Regress every column of ``targets`` on X with a common 2-norm penalty.

    Direct, by the smaller Gram matrix, while its side is short; block conjugate gradients
    otherwise, whose memory is a few blocks of the targets' width. In between, with a
    penalty, the iteration is tried first, and the Gram matrix only where the penalty is too
    small for it. The minimum-norm solution where ``alpha`` is 0.
    """
    smaller = X.short_side
    if smaller <= (min(SHORT, DIRECT_LIMIT) if alpha > 0 else DIRECT_LIMIT):
        return _direct(X, targets, alpha)
    budget = max_iter if smaller > DIRECT_LIMIT else min(max_iter, _BUDGET)
    fit = _iterate(X, targets, alpha, default_tolerance(X.dtype) if tol is None else tol, budget)
    if fit.converged or smaller > DIRECT_LIMIT:
        return fit
    return _direct(X, targets, alpha)


def _direct(X: Operator, targets: Array, alpha: float) -> Regressed:
    rows, columns = X.shape
    tolerance = 4 * max(rows, columns) * rounding(np.dtype(np.float64))
    if columns == X.short_side:
        gram, cross = X.moments(targets)
        slopes = psd_solve(gram, cross, alpha, tolerance)
        return Regressed(slopes, cross, "primal Gram matrix", 1, 0.0, True)
    dual = psd_solve(X.cogram(), host(targets), alpha, tolerance)
    return Regressed(X.rmatmat(dual), X.cross(targets), "dual Gram matrix", 1, 0.0, True)


def _iterate(X: Operator, targets: Array, alpha: float, tol: float, max_iter: int) -> Regressed:
    rows, columns = X.shape
    cross = X.rmatmat(targets)
    if rows < columns and alpha > 0:
        # The dual system lives on the shorter side, and the penalty makes it definite.
        dual, n_iter, residual = block_cg(
            lambda block: X.matmat(X.rmatmat(block)), X.place(targets), alpha, tol, max_iter
        )
        slopes, method = X.rmatmat(dual), "block conjugate gradients, dual"
    else:
        slopes, n_iter, residual = block_cg(
            lambda block: X.rmatmat(X.matmat(block)), cross, alpha, tol, max_iter
        )
        method = "block conjugate gradients"
    return Regressed(slopes, cross, method, n_iter, residual, residual <= tol)
