"""Regress all labels on X at once, with one penalty, and check the answer against the data.

Where some entries of the labels are unknown, every label is regressed on the rows where it is
known, and unknown entries get its fitted values. The regression of the completed labels on *all*
rows is then the same regression: the residuals of the entries that were filled in are zero, so that
``X'(L - X B) = alpha B`` holds with all rows as with the known ones. A solver that regresses the
completed labels need not know that some were missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..errors import NotConverged, warn_caller
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
from .exact import ridge
from .krylov_space import orthonormalize, rest_of
from .problem import DIRECT_LIMIT, LazyProduct, accuracy_wanted, column_lengths, rounding

__all__ = [
    "Regressed",
    "block_cg",
    "complete_labels",
    "fitted_square",
    "regress",
    "regress_to_share",
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
_BLOCK_CG = "block conjugate gradients"
# Iterations of a regression that starts near its end, and by how much its energy may be off.
_MOST_ITERATIONS, _COUNTED = 200, 1e-3
# The relative residual of fitted values that take the place of unknown labels.
_COMPLETED = 1e-2


@dataclass(frozen=True)
class Regressed:
    """``slopes = (X'X + alpha I)^+ X'targets`` and how they were found.

    ``agreement`` is ``targets'X slopes``; ``residual`` and ``error`` are those of
    :class:`~labelspan.solvers.problem.Check`. ``to_come`` is what is estimated to be missing of
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
    slopes = fit.slopes.formed() if isinstance(fit.slopes, LazyProduct) else fit.slopes
    return Regressed(slopes, fit.agreement, fit.how, 1, check.residual, check.error, right)


def _iterate(X: Operator, targets: Array, alpha: float, tol: float, max_iter: int) -> Regressed:
    targets = X.place(targets)
    cross = X.rmatmat(targets)
    whole = float(np.sqrt(sum_of_squares(targets))) or 1.0
    slopes, left, wanted, n_iter, error = _cg(X, cross, alpha, whole, tol, max_iter)
    sizes = column_norms(wanted)
    sizes[sizes == 0] = 1.0
    residual = float((column_norms(left) / sizes).max(initial=0.0))
    # The recursion and the true residual part at rounding, by a factor that is small.
    right = residual <= 10 * tol and error <= _largest_error(X, tol)
    return Regressed(slopes, inner(cross, slopes), _BLOCK_CG, n_iter, residual, error, right)


def regress_to_share(
    X: Operator, targets: Array, alpha: float, share: float, max_iter: int
) -> Regressed | None:
    """Iterate until little is to come; None where the blocks have lost their directions.

    The slopes G of block conjugate gradients are the best ones in their Krylov space, so that
    ``G'(X'X + alpha I)G = targets'X G``, which fresh products with 4 columns check: the eigenvalues
    of it are those of the directions found, and only directions are missing.
    """
    cross = X.rmatmat(X.place(targets))
    run = block_cg(X.normal, cross, alpha, default_tolerance(X.dtype), max_iter, share=share)
    slopes, agreement = run.solution, inner(cross, run.solution)
    to_come = gains_to_come(run.gains, rounding(X.dtype))
    width = agreement.shape[0]
    mixing = np.random.default_rng(0).standard_normal((width, min(_CHECKED, width)))
    mixed = times(slopes, mixing)
    again = inner(slopes, plus(X.normal(mixed), mixed, alpha))
    expected = agreement @ mixing
    off = float(np.linalg.norm(again - expected) / (np.linalg.norm(expected) or 1.0))
    if not off <= _TURNED:
        return None
    done = to_come <= share or run.residual <= default_tolerance(X.dtype)
    return Regressed(slopes, agreement, _BLOCK_CG, run.n_iter, off, None, done, to_come)


def _cg(  # noqa: PLR0917
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


# --- labels of which some entries are unknown ----------------------------------------------


def complete_labels(
    X: Operator, values: Array, unknown: Array, alpha: float, *, intercept: bool, owner: str
) -> Array:
    """Fill unknown entries by the ridge regression of each label on the rows that know it.

    Where whole rows are unknown, one regression on the other rows. Where single entries are,
    conjugate gradients on all labels at once, each with its own rows: an iteration costs one
    product with X and one with its transpose, as wide as there are labels.
    """
    labelled = np.flatnonzero(~unknown.all(axis=1))
    missing = unknown[labelled]
    rows = X if labelled.size == X.shape[0] else X.rows(labelled)
    fit = _by_label if missing.any() else _by_rows
    slopes, shift, converged = fit(rows, values[labelled], ~missing, alpha, intercept)
    if not converged:
        warn_caller(
            f"{owner}: the regression of labels with unknown entries stopped early; raise alpha.",
            NotConverged,
        )
    return np.where(unknown, host(X.matmat(X.place(slopes))) + shift, values)


def _by_rows(
    X: Operator, values: Array, known: Array, alpha: float, intercept: bool
) -> tuple[Array, Array, bool]:
    x_means, y_means = np.zeros(X.shape[1]), np.zeros(values.shape[1])
    if intercept:
        X, x_means = X.centered()
        y_means = values.mean(axis=0)
    fit = regress(X, values - y_means, alpha, tol=_COMPLETED)
    slopes = host(fit.slopes)
    return slopes, y_means - x_means @ slopes, fit.converged


def _by_label(
    X: Operator, values: Array, known: Array, alpha: float, intercept: bool
) -> tuple[Array, Array, bool]:
    """Solve ``(X'C_j X + alpha I) b_j = X'C_j y_j`` for every label j by conjugate gradients.

    C_j keeps the rows where j is known and centres them where there is an intercept.
    """
    counts = np.maximum(known.sum(axis=0), 1)

    def select(block: Array) -> Array:
        block = np.where(known, block, 0.0)
        if intercept:
            block = np.where(known, block - block.sum(axis=0) / counts, 0.0)
        return block

    def product(block: Array) -> Array:
        image = host(X.matmat(X.place(block)))
        return host(X.rmatmat(X.place(select(image)))) + alpha * block

    scale = np.square(column_lengths(X)) + alpha
    scale[scale == 0] = 1.0
    residual = host(X.rmatmat(X.place(select(values))))
    wanted = np.sqrt((np.square(residual) / scale[:, None]).sum(axis=0))
    slopes = np.zeros_like(residual)
    step = residual / scale[:, None]
    energy = (residual * step).sum(axis=0)
    tolerance = 10 * default_tolerance(X.dtype)
    converged = False
    for _ in range(500):
        active = np.sqrt(energy) > tolerance * wanted
        if not active.any():
            converged = True
            break
        image = product(step)
        curve = (step * image).sum(axis=0)
        length = np.divide(energy, curve, out=np.zeros_like(energy), where=active & (curve > 0))
        slopes += length * step
        residual = residual - length * image
        scaled = residual / scale[:, None]
        before, energy = energy, (residual * scaled).sum(axis=0)
        turn = np.divide(energy, before, out=np.zeros_like(energy), where=active & (before > 0))
        step = scaled + turn * step
    shift = np.zeros(values.shape[1])
    if intercept:
        image = host(X.matmat(X.place(slopes)))
        shift = np.where(known, values - image, 0.0).sum(axis=0) / counts
    return slopes, shift, converged
