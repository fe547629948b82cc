"""Regress all labels on X at once, with one penalty, and check the answer against the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    add_product,
    column_norms,
    column_sums,
    concatenate,
    host,
    inner,
    like,
    plus,
    sum_of_squares,
    times,
    width_of,
)
from ..operators.machine import single_thread
from .exact import ridge
from .problem import (
    DIRECT_LIMIT,
    OfRows,
    accuracy_wanted,
    rounding,
    squared_units,
)
from .small_dense import orthonormalized, triangular

__all__ = [
    "Regressed",
    "block_cg",
    "default_tolerance",
    "few_enough",
    "leverage_of",
    "regress",
]


# By how much more than its part of the trace the squared norm of fitted labels may change.
_IN_OTHER_UNITS = 2.0
# Maximum number of iterations where a direct solution is possible, and the minimum.
_BUDGET, _LEAST = 200, 15
# Cost of a multiplication of sparse data, relative to dense data; number of iterations that a
# regression is expected to take, to a residual and to a share.
_SPARSE_COST, _USUAL, _FEW = 10.0, 12, 3
# Maximum number of slopes of a direct solution that is preferred to combinations of the targets:
# 256 MiB.
_MOST_SLOPES = 1 << 25
# Fraction of the iterations, at the end of a run, whose gains estimate the missing part,
_LATEST = 0.2
# and the ratio of the missing part to these gains.
_TO_COME = 10.0
# Minimum error of fitted labels, in units of rounding.
_ROUNDINGS = 256.0
# Number of random mixtures of the targets that check a fit that stopped early, and the
# maximum deviation of its directions from orthonormality: 6e-3 on rcv1 in float32.
_CHECKED, _TURNED = 4, 2e-2
# Up to this many targets are one block; more are blocks of half as many, whose products with
# each other cost less than the iterations that they save.
_WIDEST = 256
# By how much a second run lowers the residual of the first.
_REFINED = 1e-2
# Columns of random signs that estimate the mean leverage of up to this number of rows; one is
# enough for more; up to so many rows signs, which vary less, beyond normal random numbers; and the
# part of it that may be missing.
_FEW_ROWS, _MANY_ROWS, _ROUGH_SHARE = 1_000, 1 << 16, 0.1
# Number of random columns that estimate the smallest eigenvalue of A in the Krylov space, and
# the factor by which the estimate may be too small.
_PROBES, _SAFE = 4, 2.0
# Number of iterations after which the remaining ones are estimated.
_LOOKED_AT = 6
# The smallest relative residual that is requested beyond the tolerance.
_ROUNDING = 1e-14
_BLOCK_CG = "block conjugate gradients"


@dataclass(frozen=True)
class Regressed:
    """``slopes = (X'X + alpha I)^+ X'targets`` and how they were found.

    ``agreement`` is ``targets'X slopes``; ``residual`` and ``error`` are those of
    :class:`~labelspan.solvers.problem.Check`. ``to_come`` is the estimated missing part of the
    trace of ``agreement``, relative to it, if that stopped the iteration. ``known`` are the fitted
    labels if they were computed, and the slopes then combinations of rows. ``leverage`` is the mean
    diagonal of ``X (X'X + alpha I)^+ X'``, estimated, if it was asked for and is known.
    """

    slopes: Operator
    agreement: Array
    method: str
    n_iter: int
    residual: float
    error: float | None
    converged: bool
    to_come: float | None = None
    known: Array | None = None
    leverage: float | None = None

    @property
    def missing(self) -> float:
        """The estimated missing part of the trace, 0 for a regression that was solved."""
        return 0.0 if self.to_come is None else self.to_come

    def fitted(self, X: Operator) -> Array:
        """Return ``X slopes``."""
        return X.matmat(self.slopes.formed()) if self.known is None else X.place(self.known)


def default_tolerance(dtype: np.dtype[np.floating]) -> float:
    """Return the target for the relative residual; eigenvalues then have more correct digits."""
    return 1e-8 if dtype == np.float64 else 1e-4


def regress(
    X: Operator,
    targets: Array,
    alpha: float,
    *,
    tol: float | None = None,
    share: float | None = None,
    max_iter: int = 1000,
    direct: int = DIRECT_LIMIT,
    turned: float = _TURNED,
    fitted: bool = False,
    leverage: bool = False,
) -> Regressed:
    """Regress every column of ``targets`` on X with a common 2-norm penalty.

    If n or d is at most ``direct`` and a direct solution costs less, it is solved from the smaller
    Gram matrix, or from singular vectors of the data if the Gram matrix is not accurate enough;
    otherwise by block conjugate gradients with columns of unit length, which need memory for a
    few blocks as wide as the targets. If these do not converge in time, the direct solution
    follows where it is possible. For ``alpha`` 0 it is the minimum-norm solution.

    With a ``share``, an iteration with a penalty stops when at most this fraction of the trace of
    ``targets'X slopes``, or of the squared norm of the ``fitted`` targets, is missing, by an upper
    bound; otherwise when the residual is below ``tol`` and so is the error that it allows. Where a
    direct solution is possible, it follows as soon as the bound decreases so slowly that the
    remaining iterations would cost more. Every answer is checked by new products with X: two with
    4 columns for a direct solution or a share, two with all columns for a residual. Without a
    penalty there is no bound: the error is then the larger of two estimates, ten times the gain of
    the last fifth, and the residual divided by the shortest direction of X in the Krylov space. If
    that is too large, it continues, for up to as many steps again. A direction so short that the
    residual hides it is not detected. A share is given up, for the residual, where the blocks
    differ from orthonormal ones by ``turned``, or where this changes more than half of it.
    """
    smaller, possible = X.short_side, X.short_side <= direct
    ratio = _cost_of_direct(X, targets.shape[1]) if possible else np.inf
    if possible and (alpha <= 0 or ratio <= (_USUAL if share is None else _FEW)):
        return _direct(X, targets, alpha, rough=alpha > 0 and share is not None)
    budget = int(min(max_iter, max(_LEAST, min(2 * ratio, _BUDGET)))) if possible else max_iter
    fit = None
    if alpha > 0 and share is not None:
        probes = _probes_of(X) if leverage else None
        fit = _iterate_to_share(X, targets, alpha, share, budget, turned, fitted, ratio, probes)
        if fit is None and possible:
            return _direct(X, targets, alpha)
    if fit is None:
        wanted = default_tolerance(X.dtype) if tol is None else tol
        fit = _iterate(X, targets, alpha, wanted, budget)
    return fit if fit.converged or smaller > direct else _direct(X, targets, alpha)


def leverage_of(X: Operator, alpha: float) -> float:
    """Estimate the mean diagonal of ``X (X'X + alpha I)^-1 X'``, by conjugate gradients."""
    probes = _probes_of(X)
    cross = X.rmatmat(probes)
    scale, apply = _in_unit_columns(X, cross, alpha)
    least = alpha / float(np.square(host(scale)).max())
    tol = default_tolerance(X.dtype)
    run = block_cg(apply, cross / scale, tol, _BUDGET, share=_ROUGH_SHARE, least=least)
    return float(run.halfway / (probes.shape[1] * X.shape[0]))


def _probes_of(X: Operator) -> Array:
    """Return the random columns from which a mean leverage is estimated; many rows take one."""
    rng, rows = np.random.default_rng(0), X.shape[0]
    count = _PROBES if rows <= _FEW_ROWS else 1
    if rows <= _MANY_ROWS:
        return X.place(rng.choice([-1.0, 1.0], (rows, count)).astype(X.dtype))
    # Where the data is: on a device, the signs of many rows would take longer than the fit.
    return X.random_block(rows, count, rng)


def few_enough(X: Operator, width: int, direct: int = DIRECT_LIMIT) -> bool:
    """Return whether all of many targets are regressed at little cost, directly."""
    if X.short_side > direct or X.shape[1] * width > _MOST_SLOPES:
        return False
    return _cost_of_direct(X, width) <= 1


def _cost_of_direct(X: Operator, width: int) -> float:
    """Return the cost of a direct solution relative to one iteration."""
    rows, columns = X.shape
    side, entries = X.short_side, rows * columns * max(X.fill, 1e-4)
    entries *= 1.0 if X.fill > 1 / _SPARSE_COST else _SPARSE_COST
    direct = entries * side + side**3 / 3 + 2.0 * side**2 * width
    return float(direct / (4 * entries * width + 6.0 * columns * width**2))


def _direct(X: Operator, targets: Array, alpha: float, *, rough: bool = False) -> Regressed:
    fit, check = ridge(X, targets, alpha, rough=rough)
    right = check.off <= accuracy_wanted(X.dtype)
    found = fit.agreement, fit.how, 1, check.residual, check.error, right
    if fit.fitted is not None and not X.one_pass:
        return Regressed(fit.slopes, *found, known=fit.fitted)
    return Regressed(as_operator(fit.slopes.formed()), *found)


def _iterate(X: Operator, targets: Array, alpha: float, tol: float, max_iter: int) -> Regressed:
    """Iterate until the residual, and the error of the fitted labels that it implies, are small."""
    targets = X.place(targets)
    cross = X.rmatmat(targets)
    whole = float(np.sqrt(sum_of_squares(targets))) or 1.0
    scale, apply = _in_unit_columns(X, cross, alpha)
    wanted, most = cross / scale, max(accuracy_wanted(X.dtype), 10 * tol)
    least = alpha / float(np.square(host(scale)).max())
    run = block_cg(apply, wanted, tol, max_iter, error=most * whole, least=least)
    solution, n_iter = run.solution, run.n_iter
    left = wanted - apply(solution)
    error = _still_missing(run.gains, left, run.spread)
    if alpha > 0:
        error = run.error
    elif error > most * whole and n_iter < max_iter:
        # A small residual along short directions is a large error of the fitted labels. Continue
        # from the current residual: the gain of these steps was missing before.
        more = block_cg(apply, left, _REFINED, min(max_iter - n_iter, max(_BUDGET, n_iter)))
        n_iter += more.n_iter
        rest = wanted - apply(solution + more.solution)
        if sum_of_squares(rest) < sum_of_squares(left):
            solution, left = solution + more.solution, rest
            error = _still_missing(more.gains, left, max(run.spread, more.spread))
        else:
            # The residual was rounding, and so is the gain of the first of these steps.
            error = _still_missing(more.gains[:1], left, run.spread)
    if alpha > 0:
        # So does the residual by new products, whatever the recursion.
        error = min(error, float(np.linalg.norm(host(left * scale)) / np.sqrt(alpha)))
    error = max(error / whole, _ROUNDINGS * rounding(X.dtype))
    slopes, sizes = solution / scale, column_norms(wanted)
    sizes[sizes == 0] = 1.0
    residual = float((column_norms(left) / sizes).max(initial=0.0))
    # The recursion and the true residual differ by a small multiple of rounding.
    right = residual <= 10 * tol and error <= most
    agreement = inner(cross, slopes)
    return Regressed(as_operator(slopes), agreement, _BLOCK_CG, n_iter, residual, error, right)


def _iterate_to_share(  # noqa: PLR0917
    X: Operator,
    targets: Array,
    alpha: float,
    share: float,
    max_iter: int,
    turned: float,
    fitted: bool,
    patience: float,
    probes: Array | None,
) -> Regressed | None:
    """Iterate until little is missing; None if the blocks have lost their directions.

    The slopes G of block conjugate gradients are the best ones in their Krylov space, so that
    ``G'(X'X + alpha I)G = targets'X G``, which fresh products with 4 columns check: the eigenvalues
    of this matrix are those of the directions found; only directions are missing. Between blocks of
    many targets it holds up to the product of their errors.
    """
    targets, tol, width = X.place(targets), default_tolerance(X.dtype), targets.shape[1]
    if probes is not None:
        targets = concatenate([targets, probes], axis=1)
    lengths = None if X.one_pass else _unit_lengths(X, alpha)
    shrink: Array | float = alpha
    dual = X.dual and lengths is not None and not np.ptp(lengths) and X.shape[0] < X.shape[1]
    if dual:
        wanted, least, shift = targets, alpha, alpha
        apply = lambda block: X.matmat(X.rmatmat(block))  # noqa: E731
    else:
        wanted, shift = X.rmatmat(targets), None
        scale, apply = _in_unit_columns(X, wanted, alpha)
        wanted, least = wanted / scale, alpha / float(np.square(host(scale)).max())
        shrink = like(alpha / np.square(host(scale)), wanted)
    step = width if width <= _WIDEST else _WIDEST // 2
    # Probes go along with the last targets.
    cuts = [*range(0, width, step), targets.shape[1]]
    runs = [
        block_cg(
            apply,
            wanted[:, start:stop],
            tol,
            max_iter,
            share=share,
            least=least,
            shift=shift,
            shrink=shrink if fitted else None,
            patience=patience,
            probes=max(stop - width, 0),
        )
        for start, stop in pairwise(cuts)
    ]
    solution, known = concatenate([run.solution for run in runs], axis=1)[:, :width], None
    if dual:
        slopes: Operator = OfRows(X, solution)
        known = concatenate([run.image for run in runs], axis=1)[:, :width]
        agreement = inner(targets[:, :width], known)
    else:
        slopes = as_operator(solution / scale)
        agreement = inner(scale * wanted[:, :width], slopes.formed())
    totals = np.array([sum(run.gains) for run in runs])
    # Of targets without any gain, such as constant labels, nothing is missing.
    missing = np.where(totals > 0, [run.to_come for run in runs], 0.0)
    to_come = float((missing * totals).sum() / (totals.sum() or 1.0))
    n_iter = max(run.n_iter for run in runs)
    mixing = np.random.default_rng(0).standard_normal((width, min(_CHECKED, width)))
    mixed = slopes.matmat(mixing)
    if known is None:
        again = inner(slopes.formed(), plus(X.normal(mixed), mixed, alpha))
    else:
        again = inner(plus(known, solution, alpha), X.matmat(mixed))
    expected = agreement @ mixing
    off = float(np.linalg.norm(again - expected) / (np.linalg.norm(expected) or 1.0))
    # Directions turned by rounding lose what the products of the slopes lack of the trace.
    lost = float(abs((mixing * (again - expected)).sum() / ((mixing * expected).sum() or 1.0)))
    if not off <= turned or lost > share / 2:
        return None
    to_come += lost
    return Regressed(
        slopes,
        agreement,
        _BLOCK_CG,
        n_iter,
        off,
        None,
        to_come <= share,
        to_come,
        known,
        None if probes is None else runs[-1].halfway / (probes.shape[1] * X.shape[0]),
    )


def _in_unit_columns(
    X: Operator, cross: Array, alpha: float
) -> tuple[Array, Callable[[Array], Array]]:
    """Return E and the product with ``E^-1 (X'X + alpha I) E^-1``, for columns in equal units."""
    lengths = _unit_lengths(X, alpha)
    if (lengths == lengths[0]).all():
        return like(np.ones((1, 1)), cross), lambda block: plus(X.normal(block), block, alpha)
    scale = like(lengths[:, None], cross)

    def apply(block: Array) -> Array:
        block = block / scale
        image: Array = plus(X.normal(block), block, alpha) / scale
        return image

    return scale, apply


def _unit_lengths(X: Operator, alpha: float) -> Array:
    """Return E, the lengths of columns that differ in their units."""
    rows, columns = X.shape
    if alpha <= 0 and rows < columns:
        # Scaling would change which of several solutions has minimum norm.
        return np.ones(columns)
    return np.sqrt(squared_units(X) + alpha)


def _still_missing(gains: list[float], left: Array, spread: float) -> float:
    """Estimate the error of the fitted labels from the last gains, and from the residual."""
    latest = gains[-max(1, round(_LATEST * len(gains))) :]
    gained = float(np.sqrt(_TO_COME * max(sum(latest), 0.0)))
    return max(gained, spread * float(np.sqrt(sum_of_squares(left))))


# --- block conjugate gradients: the operator is applied to all right-hand sides together ------


class Run(NamedTuple):
    """The result of block conjugate gradients.

    ``residual`` is the largest relative one, by the recursion. ``gains`` say by how much each
    iteration lowered the square of the error, ``tr E'A E``; ``to_come`` bounds what is missing,
    relative to their sum, and ``error`` the root of it; both are infinite without a bound.
    ``spread`` is about the root of ``tr A^-1`` in the Krylov space: a
    residual R means an error ``(tr E'A E)^1/2`` of at most ``|R| spread``, unless directions are
    too short to be in the space. ``image`` is that of the solution, for combinations of rows.
    ``halfway`` is the sum of the gains of the probes, or of all columns if none is one, and half of
    the bound of what is missing of it.
    """

    solution: Array
    n_iter: int
    residual: float
    gains: list[float]
    spread: float
    to_come: float
    error: float
    halfway: float
    image: Any = None


def block_cg(  # noqa: PLR0917
    apply: Callable[[Array], Array],
    right: Array,
    tol: float,
    max_iter: int,
    error: float = np.inf,
    share: float = 0.0,
    least: float = 0.0,
    shift: float | None = None,
    shrink: Array | float | None = None,
    patience: float = np.inf,
    probes: int = 0,
) -> Run:
    """Block conjugate gradients with an orthonormal residual block (Dubrulle 2001).

    Right-hand sides that depend on each other are merged at the start, and a residual
    that loses rank only narrows the block, so there is no division by zero. Stops when
    the relative residual of each column is below ``tol`` and implies an error below ``error``
    (see `Run`), or consists of rounding, or when the missing gains are below the fraction ``share``
    of those so far. These are bounded if no eigenvalue of the matrix is below ``least``, by a
    Gauss-Radau quadrature (Golub and Meurant 1997): with Q the residual block, ``Q'A^-1 Q`` is at
    most the ``bound``, whose recursion starts at ``1 / least``. On texts the bound is twice what is
    missing. No continuation of the gains replaces it: where a few factors dominate, gains fall a
    thousandfold after two iterations and then hardly at all, and of 240 such problems the last
    gains misled in 88, the slowest decrease over all windows in 25, the bound in none. Gives
    up where the share would take more than ``patience`` further iterations. The last ``probes``
    columns have no part in this.

    The gains are those of ``tr right'S`` for the solution S. With ``shrink``, the diagonal of the
    penalty in A, the share is that of ``tr S'(A - diag(shrink))S``, the squared norm of the fitted
    labels. In equal units that grows by no more than the trace, as the solution grows in length;
    in others it was found to change by up to about twice as much as its part of the trace.

    With a ``shift``, the same iteration for ``X'X + shift I`` and ``X'right``, with all blocks as
    combinations of rows: ``apply`` multiplies by ``K = X X'``, inner products are those of K, and
    ``X'solution`` is the solution. If n < d, these blocks are shorter.
    """
    image = None if shift is None else apply(right)
    squares = np.square(column_norms(right)) if image is None else host(column_sums(right * image))
    lengths = np.sqrt(np.maximum(squares, 0.0))
    lengths[lengths == 0] = 1.0
    scale, noise = like(lengths, right), rounding(width_of(right))
    residual_basis, along, factor = orthonormalized(
        right / scale, None if image is None else image / scale
    )
    solution, fitted = 0 * right, None if image is None else 0 * image
    direction = residual_basis
    state = _Progress(factor, lengths, probes, least)
    smallest = _ROUNDING if error < np.inf else noise
    n_iter, unsure = 0, False
    while (state.worst > tol or unsure) and n_iter < max_iter and residual_basis.shape[1]:
        n_iter += 1
        image = apply(direction) if shift is None else plus(along, direction, shift)
        square = inner(direction if shift is None else along, image)
        with single_thread():  # the same bits for any number of threads
            inverse = _inverse((square + square.T) / 2, noise)
        step = state.step(inverse)
        add_product(solution, direction, step)
        if fitted is not None:
            add_product(fitted, along, step)
        rest = plus(residual_basis, times(image, inverse), -1.0)
        residual_basis, newest, factor = orthonormalized(
            rest, None if shift is None else apply(rest)
        )
        state.turn(inverse, factor)
        if share:
            if state.to_come <= share and shrink is not None:
                squares = solution * (solution if fitted is None else fitted) * shrink
                penalty = float(host(column_sums(squares)) @ np.square(state.lengths))
                state.to_come *= _of_fit(penalty, shrink, sum(state.gains), noise)
            if state.to_come <= share or state.iterations_left(share) > patience:
                break
        # Below rounding, the recursion does not give the residual.
        missed = state.error > error or 0 < share < state.to_come
        unsure = state.worst > smallest and missed
        direction = plus(times(direction, factor.T), residual_basis)
        if fitted is not None:
            along = plus(times(along, factor.T), newest)
    return Run(
        solution * scale,
        n_iter,
        state.worst,
        state.gains,
        state.spread,
        state.to_come,
        state.error if least > 0 else np.inf,
        state.halfway,
        None if fitted is None else fitted * scale,
    )


class _Progress:
    """What is known of the error of block conjugate gradients, from their small matrices only.

    ``gains``, ``to_come``, ``error`` and ``spread`` are those of a `Run`; ``worst`` is the largest
    relative residual. With Q the residual blocks, ``T = Q'A Q = U'SU`` with S = diag(square) and U
    bidiagonal by the factors: ``z'T^-1 z`` of random z needs no more than ``U'^-1 z``, block by
    block.
    """

    def __init__(self, factor: Array, lengths: Array, probes: int, least: float) -> None:
        self._counted = np.arange(lengths.size) < lengths.size - probes
        self.lengths = lengths * self._counted
        self._probed = lengths * ~self._counted if probes else lengths
        self._coefficients, self._inverse_trace, self._gained = factor, 0.0, 0.0
        self._rng, self._least = np.random.default_rng(0), least
        self._probe = self._rng.standard_normal((factor.shape[0], _PROBES))
        self._bound = _Bound(least, factor.shape[0])
        self.gains: list[float] = []
        self.worst, self.to_come = float(factor.shape[0] > 0), np.inf

    def step(self, inverse: Array) -> Array:
        """Return the coefficients of the next step, and count its gain."""
        step: Array = inverse @ self._coefficients
        gained = (self._coefficients * step).sum(axis=0)
        self.gains.append(float(gained @ np.square(self.lengths)))
        self._gained += float(gained @ np.square(self._probed))
        return step

    def turn(self, inverse: Array, factor: Array) -> None:
        """Go on to the next residual block."""
        self._inverse_trace += float((self._probe * (inverse @ self._probe)).sum()) / _PROBES
        fresh = self._rng.standard_normal((factor.shape[0], _PROBES))
        self._probe = factor @ self._probe + fresh
        self._coefficients = factor @ self._coefficients
        most = self._bound.after(inverse, factor, self._coefficients * self.lengths)
        self.to_come = most / (sum(self.gains) or 1.0)
        self.worst = _worst(self._coefficients[:, self._counted])

    @property
    def spread(self) -> float:
        return float(_SAFE * np.sqrt(max(self._inverse_trace, 0.0)))

    @property
    def error(self) -> float:
        """The root of the bound of what is missing; without one, its estimate."""
        if self._least > 0:
            return self._bound.root
        return float(np.linalg.norm(self._coefficients * self.lengths)) * self.spread

    @property
    def halfway(self) -> float:
        return self._gained + self._bound.of(self._coefficients * self._probed) / 2

    def iterations_left(self, share: float) -> float:
        return self._bound.iterations_left(share * sum(self.gains))


def _worst(coefficients: Array) -> float:
    """Return the largest norm of a column."""
    return float(np.linalg.norm(coefficients, axis=0).max()) if coefficients.size else 0.0


class _Bound:
    """Upper bounds of the missing gains, by the recursion of `block_cg`; infinite without one."""

    def __init__(self, least: float, width: int) -> None:
        self._least, self._seen = least, [np.inf]
        self._matrix = np.eye(width) / least if least > 0 else None

    @property
    def root(self) -> float:
        """The root of the latest bound."""
        return float(np.sqrt(self._seen[-1]))

    def after(self, inverse: Array, factor: Array, coefficients: Array) -> float:
        """Return the bound after an iteration, from the coefficients of the residual."""
        if self._matrix is not None:
            self._matrix = self._next(self._matrix - inverse, factor)
        self._seen.append(self.of(coefficients))
        return self._seen[-1]

    def of(self, coefficients: Array) -> float:
        """Return the present bound for some coefficients of the residual."""
        if not coefficients.size:
            return 0.0
        if self._matrix is None:
            return np.inf
        return float((coefficients * (self._matrix @ coefficients)).sum())

    def _next(self, gap: Array, factor: Array) -> Array:
        """Return ``(least I + factor gap^-1 factor')^-1``; ``I / least`` if the gap is rounding.

        That is a bound of every block, with which the recursion starts again.
        """
        with single_thread():
            root = triangular((gap + gap.T) / 2)
            if root is None:
                return np.eye(len(factor)) / self._least
            half = root[1].T @ factor.T
            return np.asarray(np.linalg.inv(half.T @ half + self._least * np.eye(len(factor))))

    def iterations_left(self, wanted: float) -> float:
        """Estimate the iterations until a bound is reached, at the rate of the second half."""
        half = len(self._seen) // 2
        before, now = self._seen[half], self._seen[-1]
        if len(self._seen) <= _LOOKED_AT or not np.isfinite(before) or not now > wanted > 0:
            return 0.0
        rate = np.log(before / now) / (len(self._seen) - 1 - half)
        return float(np.log(now / wanted) / rate) if rate > 0 else np.inf


def _inverse(matrix: Array, noise: float) -> Array:
    """Return the inverse of a positive matrix without directions that are rounding."""
    root = triangular(matrix)
    if root is not None:
        return np.asarray(root[1] @ root[1].T)
    return np.asarray(np.linalg.pinv(matrix, rcond=noise, hermitian=True))


def _of_fit(penalty: float, shrink: Array | float, gained: float, noise: float) -> float:
    """Return the ratio of a part of the squared norm of the fit to the same part of the trace."""
    more = 1.0 if isinstance(shrink, float) or shrink.shape[0] == 1 else _IN_OTHER_UNITS
    return more / max(1 - penalty / (gained or 1.0), noise)
