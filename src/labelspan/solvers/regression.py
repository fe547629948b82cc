"""Regress all labels on X at once, with one penalty, and check the answer against the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import (
    add_product,
    column_norms,
    host,
    inner,
    like,
    plus,
    sum_of_squares,
    times,
    width_of,
)
from ..operators.threads import single_thread
from .accuracy import accuracy_wanted, column_lengths, rounding
from .exact import ridge
from .krylov_space import orthonormalize, rest_of
from .problem import DIRECT_LIMIT

__all__ = [
    "SHORT",
    "Iterated",
    "Regressed",
    "Run",
    "block_cg",
    "default_tolerance",
    "fitted_square",
    "regress",
    "regress_to_share",
    "solve_definite",
]


# Up to this side the Gram matrix is always the faster way.
SHORT = 1024
# Beyond, while a Gram matrix would still do, the iteration gets this number of tries.
_BUDGET = 100
# Iterations at the end of a run, as a share of all, whose gains say what is still missing,
_LATEST = 0.2
# and how many times these gains that may be.
_TO_COME = 10.0
# Roundings that fitted labels may be off by at least.
_ROUNDINGS = 256.0
# Random mixtures of the targets that check a fit that stopped early, and how far its directions
# may be from orthonormal ones: on rcv1 in float32 they are 6e-3.
_CHECKED, _TURNED = 4, 2e-2
# By how much a second run lowers the residual of the first.
_REFINED = 1e-2
# Columns whose lengths differ by less than this factor need no scaling in an iteration.
_ALIKE = 100.0


# Random columns that estimate the smallest eigenvalue of A in the Krylov space, and the factor
# by which the estimate of these may be too small.
_PROBES, _SAFE = 4, 2.0
# The smallest relative residual that is asked for beyond the tolerance.
_ROUNDING = 1e-14
# Iterations of a regression that starts near its end, and by how much its energy may be off.
_MOST_ITERATIONS, _COUNTED = 200, 1e-3


@dataclass(frozen=True)
class Regressed:
    """``slopes = (X'X + alpha I)^+ X'targets`` and how they were found.

    ``agreement`` is ``targets'X slopes``; ``residual`` and ``error`` are those of
    :class:`~labelspan.solvers.accuracy.Check`. ``to_come`` is what is estimated to be missing of
    the trace of ``agreement``, relative to it, where the iteration stopped by that.
    """

    slopes: Array
    agreement: Array
    method: str
    n_iter: int
    residual: float
    error: float | None
    converged: bool
    to_come: float | None = None


def default_tolerance(dtype: np.dtype[np.floating]) -> float:
    """Return the relative residual aimed at; eigenvalues are then right to more digits."""
    return 1e-8 if dtype == np.float64 else 1e-4


def regress(
    X: Operator,
    targets: Array,
    alpha: float,
    *,
    tol: float | None = None,
    max_iter: int = 1000,
) -> Regressed:
    """Regress every column of ``targets`` on X with a common 2-norm penalty.

    Direct, by the smaller Gram matrix, while its side is short; by singular vectors of the
    data where the Gram matrix has lost the digits; block conjugate gradients otherwise,
    whose memory is a few blocks of the targets' width. In between, with a penalty, the
    iteration is tried first, and the Gram matrix only where the penalty is too small for
    it. The minimum-norm solution where ``alpha`` is 0.

    Every answer is checked by fresh products with X: two with 4 columns for a direct
    solution, two with all columns for an iteration. The error of an iteration is the larger of two
    estimates: ten times what its last fifth gained, and the residual over the shortest direction
    of X that the iteration has seen. Where that is too much it goes on, up to as many steps again.
    A direction so short that the residual hides it is not seen.
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
    fit, check = ridge(X, targets, alpha)
    right = check.off <= accuracy_wanted(X.dtype)
    return Regressed(fit.slopes, fit.agreement, fit.how, 1, check.residual, check.error, right)


def _iterate(X: Operator, targets: Array, alpha: float, tol: float, max_iter: int) -> Regressed:
    rows, columns = X.shape
    targets = X.place(targets)
    cross = X.rmatmat(targets)
    whole = float(np.sqrt(sum_of_squares(targets))) or 1.0
    if rows < columns and alpha > 0:
        # The dual system lives on the shorter side, and the penalty makes it definite.
        slopes, left, n_iter = _dual_cg(X, targets, alpha, tol, max_iter)
        # The residual is the error of the fitted labels, shrunk nowhere.
        wanted, error = targets, float(np.sqrt(sum_of_squares(left))) / whole
        method = "block conjugate gradients, dual"
    else:
        slopes, left, wanted, n_iter, error = _primal_cg(X, cross, alpha, whole, tol, max_iter)
        method = "block conjugate gradients"
    sizes = np.linalg.norm(host(wanted), axis=0)
    sizes[sizes == 0] = 1.0
    residual = float((np.linalg.norm(host(left), axis=0) / sizes).max(initial=0.0))
    # The recursion and the true residual part at rounding, by a factor that is small.
    agreement = inner(cross, slopes)
    right = residual <= 10 * tol and error <= _largest_error(X, tol)
    return Regressed(slopes, agreement, method, n_iter, residual, error, right)


def regress_to_share(
    X: Operator, targets: Array, alpha: float, share: float, max_iter: int
) -> Regressed | None:
    """Iterate until little is to come; None where the blocks have lost their directions.

    The slopes G of block conjugate gradients are the best ones in their Krylov space, so that
    ``G'(X'X + alpha I)G = targets'X G``, which fresh products with 4 columns check: the eigenvalues
    of it are those of the directions found, and only directions are missing.
    """
    cross = X.rmatmat(X.place(targets))

    apply = X.normal
    run = block_cg(apply, cross, alpha, default_tolerance(X.dtype), max_iter, share=share)
    slopes, agreement = run.solution, inner(cross, run.solution)
    to_come = gains_to_come(run.gains, rounding(X.dtype))
    width = agreement.shape[0]
    mixing = np.random.default_rng(0).standard_normal((width, min(_CHECKED, width)))
    mixed = times(slopes, mixing)
    again = inner(slopes, plus(apply(mixed), mixed, alpha))
    expected = agreement @ mixing
    off = float(np.linalg.norm(again - expected) / (np.linalg.norm(expected) or 1.0))
    if not off <= _TURNED:
        return None
    done = to_come <= share or run.residual <= default_tolerance(X.dtype)
    method = "block conjugate gradients"
    return Regressed(slopes, agreement, method, run.n_iter, off, None, done, to_come)


def _dual_cg(
    X: Operator, targets: Array, alpha: float, tol: float, max_iter: int
) -> tuple[Array, Array, int]:
    """Return slopes, the residual of ``(X X' + alpha I) A = targets``, and iterations."""
    dual, left, n_iter = 0 * targets, targets, 0
    lengths = column_norms(targets)
    lengths[lengths == 0] = 1.0
    gap = 1.0
    while True:
        run = block_cg(
            lambda block: X.matmat(X.rmatmat(block)), left, alpha, tol / gap, max_iter - n_iter
        )
        n_iter += run.n_iter
        dual = dual + run.solution
        slopes = X.rmatmat(dual)
        before, left = gap, targets - X.matmat(slopes) - alpha * dual
        gap = float((column_norms(left) / lengths).max(initial=0.0))
        # The recursion parts from the true residual where targets outside X's columns are large.
        if gap <= 10 * tol or gap > _REFINED * before or n_iter >= max_iter:
            return slopes, left, n_iter


def _primal_cg(  # noqa: PLR0917
    X: Operator, cross: Array, alpha: float, whole: float, tol: float, max_iter: int
) -> tuple[Array, Array, Array, int, float]:
    """Return slopes, the residual and the right-hand side, scaled, iterations, and the error.

    The error is that of the fitted labels relative to ``whole``, estimated.
    """
    rows, columns = X.shape
    lengths = np.sqrt(np.square(column_lengths(X)) + alpha)
    alive = lengths[lengths > 0]
    lengths[lengths == 0] = 1.0
    if alive.size == 0 or (rows < columns or alive.max() < _ALIKE * alive.min()):
        # Scaling would change which of several solutions is the smallest.
        lengths = np.ones(columns)
    scale = like(lengths[:, None], cross)

    def apply(block: Array) -> Array:
        block = block / scale
        image: Array = (X.normal(block) + alpha * block) / scale
        return image

    wanted, most = cross / scale, _largest_error(X, tol)
    run = block_cg(apply, wanted, 0.0, tol, max_iter, error=most * whole)
    scaled, n_iter, spread = run.solution, run.n_iter, run.spread
    left = wanted - apply(scaled)
    error = _still_missing(run.gains, left, spread) / whole
    if error > most and n_iter < max_iter:
        # A small residual along short directions is a large error of the fitted labels. From the
        # residual as it is: what these steps gain was missing before.
        turns = min(max_iter - n_iter, max(_BUDGET, n_iter))
        run = block_cg(apply, left, 0.0, _REFINED, turns)
        n_iter += run.n_iter
        rest = wanted - apply(scaled + run.solution)
        if sum_of_squares(rest) < sum_of_squares(left):
            scaled, left = scaled + run.solution, rest
            error = _still_missing(run.gains, left, max(spread, run.spread)) / whole
        else:
            # The residual was rounding, and so is what the first of these steps gained.
            error = _still_missing(run.gains[:1], left, spread) / whole
    if alpha > 0:
        # Whatever the gains, the penalty bounds the error.
        error = min(error, float(np.linalg.norm(host(left * scale)) / np.sqrt(alpha) / whole))
    return scaled / scale, left, wanted, n_iter, max(error, _ROUNDINGS * rounding(X.dtype))


def _largest_error(X: Operator, tol: float) -> float:
    """Return the error of the fitted labels that is accepted, as coarse as ``tol`` is."""
    return max(accuracy_wanted(X.dtype), 10 * tol)


def _still_missing(gains: list[float], left: Array, spread: float) -> float:
    """Estimate the error of the fitted labels from the last gains, and from the residual."""
    latest = gains[-max(1, round(_LATEST * len(gains))) :]
    gained = float(np.sqrt(_TO_COME * max(sum(latest), 0.0)))
    return max(gained, spread * float(np.sqrt(sum_of_squares(left))))


def fitted_square(
    X: Operator, cross: Array, start: Array, alpha: float, share: float
) -> float | None:
    """Return the squared norm of fitted labels, from ``X'L`` and slopes near their own.

    To a ``share`` of itself. None where the iteration does not get there, or where fresh products
    with X show another energy, ``2 tr B'X'L - tr B'(X'X + alpha I) B``, than it has counted.
    """
    left = plus(plus(cross, X.normal(start), -1.0), start, -alpha)
    before = float(np.trace(inner(start, cross)) + np.trace(inner(start, left)))
    noise = rounding(X.dtype)
    run = block_cg(X.normal, left, alpha, noise, _MOST_ITERATIONS, share=share, known=before)
    slopes = plus(start, run.solution)
    square = float(np.trace(inner(slopes, X.normal(slopes))))
    penalty = alpha * float(np.square(column_norms(slopes)).sum())
    energy = 2 * float(np.trace(inner(slopes, cross))) - square - penalty
    counted = before + sum(run.gains)
    done = gains_to_come(run.gains, noise, before) <= share or run.residual <= noise
    # The error of the energy is that of the slopes squared, while that of ``square`` is not: the
    # residual is not orthogonal to slopes that did not start from zero.
    return energy - penalty if done and abs(energy - counted) <= _COUNTED * counted else None


# --- block conjugate gradients: all right-hand sides pass through the operator together ------


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
    >>> from labelspan.solvers.regression import solve_definite
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
