"""Block conjugate gradients: all right-hand sides pass through the operator together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..operators.array_backend import add_product, column_norms, inner, like, plus, times, width_of
from ..operators.threads import single_thread
from .accuracy import rounding
from .krylov_space import rest_of
from .orthonormal import orthonormalize

__all__ = ["Iterated", "Run", "block_cg", "gains_to_come", "solve_definite"]

# Random columns that estimate the smallest eigenvalue of A in the Krylov space, and the factor
# by which the estimate of these may be too small.
_PROBES, _SAFE = 4, 2.0
# The smallest relative residual that is asked for beyond the tolerance.
_ROUNDING = 1e-14


class Run(NamedTuple):
    """What block conjugate gradients found.

    ``residual`` is the largest relative one, by the recursion. ``gains`` say by how much each
    iteration lowered the square of the error, ``tr E'A E``. ``spread`` is about the root of
    ``tr A^-1`` in the Krylov space: a residual R means an error ``(tr E'A E)^1/2`` of at most
    ``|R| spread``, unless directions are so short that the space has not seen them.
    """

    solution: Array
    n_iter: int
    residual: float
    gains: list[float]
    spread: float


def block_cg(  # noqa: PLR0917
    apply: Callable[[Array], Array],
    right: Array,
    alpha: float,
    tol: float,
    max_iter: int,
    error: float = np.inf,
    share: float = 0.0,
    known: float = 0.0,
) -> Run:
    """Block conjugate gradients with an orthonormal residual block (Dubrulle 2001).

    Right-hand sides that depend on each other are merged at the start, and a residual
    that loses rank on the way only narrows the block: nothing divides by zero. Stops when the
    relative residual of each column is below ``tol`` and the residual means an error below
    ``error``, see `Run`, or is rounding; or where the gains still to come are estimated below
    ``share`` of those that there were, ``known`` before the first iteration included.
    """
    lengths = column_norms(right)
    lengths[lengths == 0] = 1.0
    scale = like(lengths, right)
    residual_basis, factor = orthonormalize(right / scale)
    solution = 0 * right
    direction = residual_basis
    coefficients = factor
    worst, n_iter = float(residual_basis.shape[1] > 0), 0
    gains: list[float] = []
    rng = np.random.default_rng(0)
    # Q the residual blocks, T = Q'A Q = U'SU with S = diag(square) and U bidiagonal by the factors:
    # z'T^-1 z of random z needs no more than U'^-1 z, block by block.
    probe = rng.standard_normal((residual_basis.shape[1], _PROBES))
    inverse_trace, unsure = 0.0, False
    while (worst > tol or unsure) and n_iter < max_iter and residual_basis.shape[1]:
        n_iter += 1
        image = plus(apply(direction), direction, alpha)
        square = inner(direction, image)
        with single_thread():  # the same bits for any number of threads
            inverse = np.linalg.pinv(
                (square + square.T) / 2, rcond=rounding(width_of(right)), hermitian=True
            )
        step = inverse @ coefficients
        inverse_trace += float((probe * (inverse @ probe)).sum()) / _PROBES
        gains.append(float(((coefficients * step).sum(axis=0) * np.square(lengths)).sum()))
        add_product(solution, direction, step)
        residual_basis, factor = orthonormalize(plus(residual_basis, times(image, inverse), -1.0))
        coefficients = factor @ coefficients
        probe = factor @ probe + rng.standard_normal((factor.shape[0], _PROBES))
        size = float(np.linalg.norm(coefficients * lengths))
        worst = float(np.linalg.norm(coefficients, axis=0).max()) if coefficients.size else 0.0
        # What the recursion says below rounding is not a residual.
        unsure = worst > _ROUNDING and size * _spread(inverse_trace) > error
        direction = plus(times(direction, factor.T), residual_basis)
        if share and gains_to_come(gains, rounding(width_of(right)), known) <= share:
            break
    return Run(solution * scale, n_iter, worst, gains, _spread(inverse_trace))


def gains_to_come(gains: list[float], noise: float, known: float = 0.0) -> float:
    """Estimate the gains still to come, relative to those that there were and ``known`` ones."""
    return rest_of(gains, known + sum(gains) or 1.0, noise, wide=True)


def _spread(inverse_trace: float) -> float:
    return float(_SAFE * np.sqrt(max(inverse_trace, 0.0)))


@dataclass(frozen=True)
class Iterated:
    """What an iteration found, and the true relative residual of its worst column."""

    values: Array
    n_iter: int
    residual: float
    converged: bool


def solve_definite(
    apply: Callable[[Array], Array],
    right: Array,
    diagonal: Array,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Iterated:
    """Solve ``A x = b`` column by column of b, for a positive (semi-)definite A, in float64.

    A is scaled to a unit diagonal first, so that vertices of very different degrees are no
    bad condition. Where A is singular, b must lie in its range. The residual is that of the
    scaled system, computed again from the answer; where directions that the block let go
    have left it above ``tol``, the iteration goes on with what is left.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.solvers.conjugate_gradients import solve_definite
    >>> A = np.diag([1.0, 100.0])
    >>> solve_definite(A.__matmul__, np.ones((2, 1)), np.diag(A)).values.round(6).ravel()
    array([1.  , 0.01])
    """
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))[:, None]

    def scaled(block: Array) -> Array:
        return np.asarray(scale * apply(scale * block))

    target = scale * right.astype(np.float64)
    lengths = np.linalg.norm(target, axis=0)
    lengths[lengths == 0] = 1.0
    solution = np.zeros_like(target)
    rest, gaps, n_iter = target, np.linalg.norm(target, axis=0) / lengths, 0
    while gaps.max(initial=0.0) > tol and n_iter < max_iter:
        # Columns that are done would only widen the block.
        open_ = gaps > tol
        run = block_cg(scaled, rest[:, open_], 0.0, tol / gaps.max(), max_iter - n_iter)
        n_iter += run.n_iter
        trial = solution.copy()
        trial[:, open_] += run.solution
        rest = target - scaled(trial)
        before, after = gaps, np.linalg.norm(rest, axis=0) / lengths
        if after.max() < before.max():
            solution, gaps = trial, after
        if after.max() > 0.5 * before.max():
            # Rounding, or a right-hand side outside the range: more turns will not help.
            break
    worst = float(gaps.max(initial=0.0))
    return Iterated(scale * solution, n_iter, worst, worst <= tol)
