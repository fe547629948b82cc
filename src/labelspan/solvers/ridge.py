"""Ridge regression of all labels at once, directly or by block conjugate gradients.

Both forms return a `RidgeFit`, which is checked against the data by new products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from .._typing import Array
from ..operators import Operator, Product, as_operator
from ..operators.array_backend import (
    column_norms,
    concatenate,
    host,
    inner,
    like,
    plus,
    sum_of_squares,
)
from .conjugate_gradients import block_cg
from .decomposition import (
    CENTRED,
    Basis,
    Decomposition,
    OfRows,
    basis_of_gram,
    factorise,
    positive,
)
from .limits import (
    DIRECT_LIMIT,
    SMOOTH_WIDTH,
    accuracy_wanted,
    column_lengths,
    combinations,
    rounding,
    small_enough,
    squared_units,
)
from .small_dense import scaled_cholesky

__all__ = [
    "RidgeFit",
    "default_tolerance",
    "direct_ridge",
    "few_enough",
    "leverage_of",
    "ridge",
    "ridge_in_basis",
    "unsure",
]

# Maximum number of iterations where a direct solution is possible, and the minimum.
_BUDGET, _LEAST = 200, 15
# Cost of a multiplication of sparse data, relative to dense data; number of iterations that a
# regression is expected to take, to a residual and to a fraction of the trace.
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
# The maximum deviation from orthonormality of the directions of a fit that stopped early, 6e-3 on
# rcv1 in float32, and the part of the tolerance that is left for what they lack by new products.
_TURNED, _RESERVED = 2e-2, 0.1
# Up to this many targets are one block; more are blocks of half as many, whose products with
# each other cost less than the iterations that they save.
_WIDEST = 256
# By how much a second run lowers the residual of the first.
_REFINED = 1e-2
# Columns of random signs that estimate the mean leverage of up to this number of rows; one is
# enough for more; up to so many rows signs, which vary less, beyond normal random numbers; and the
# part of it that may be missing.
_PROBES, _FEW_ROWS, _MANY_ROWS, _ROUGH_PART = 4, 1_000, 1 << 16, 0.1
# Fitted labels shorter than this fraction of the labels are not computed as a difference.
_SHRUNK = 1e-2
# Squares below this have lost digits or are zero, because the numbers are too small.
UNDERFLOW = 1e-290
# Above this part of the trace, the difference from the penalty has too few digits.
_CANCELLED = 0.9
_BLOCK_CG = "block conjugate gradients"
FROM_PRODUCTS = "Solved from products of the data"
FROM_DATA = "Solved by singular vectors of the data"


@dataclass(frozen=True)
class RidgeFit:
    """``slopes = (X'X + alpha I)^+ X'targets`` and how they were found.

    ``agreement`` is ``targets'X slopes``; ``residual`` is that of the equation, by new products
    with X, in columns of equal length, and ``error`` bounds the error of the fitted labels relative
    to the labels; None if unknown. ``to_come`` bounds the missing part of the trace of
    ``agreement``, relative to it, if that stopped the iteration. ``known`` are the fitted
    labels if they were computed, and the slopes then combinations of rows; ``inside`` are they in
    the left singular vectors of the basis that was used. ``scale`` holds the lengths of the columns
    of ``[X; sqrt(alpha) I]`` of a direct solution. ``leverage`` is the mean
    diagonal of ``X (X'X + alpha I)^+ X'``, estimated, if it was asked for and is known.
    """

    slopes: Operator
    agreement: Any
    method: str
    n_iter: int
    residual: float
    error: float | None
    converged: bool
    to_come: float | None = None
    known: Array | None = None
    inside: Array | None = None
    scale: Any = None
    leverage: float | None = None

    @property
    def missing(self) -> float:
        """The estimated missing part of the trace, 0 for a regression that was solved."""
        return 0.0 if self.to_come is None else self.to_come

    @property
    def iterated(self) -> bool:
        """Whether it is the result of an iteration."""
        return self.method == _BLOCK_CG

    @property
    def status(self) -> str:
        """How it was solved and the result of the check, or what to do if that failed."""
        if self.converged:
            return f"{self.method}; relative residual {self.residual:.0e}."
        return unsure(max(self.error or 0.0, self.residual), self.residual)

    def fitted(self, X: Operator) -> Array:
        """Return ``X slopes``."""
        return X.matmat(self.slopes.to_block()) if self.known is None else X.to_device(self.known)

    def fitted_square(self, X: Operator, alpha: float) -> float:
        """Return the squared norm of ``X slopes``, of a solved regression from its equation."""
        if self.known is not None:
            return float(sum_of_squares(self.fitted(X)))
        if self.to_come is None and self.slopes.dense:
            whole, penalty = float(np.trace(self.agreement)), alpha * self.slopes.sum_of_squares()
            if penalty < _CANCELLED * whole:
                return whole - penalty
        if X.one_pass:
            slopes = self.slopes.to_block()
            return float(np.trace(inner(slopes, X.normal(slopes))))
        return float(sum_of_squares(self.fitted(X)))


def unsure(error_bound: float, residual: float) -> str:
    """Return a message that an answer failed its check, and what to do."""
    return (
        f"The answer may be off by {error_bound:.0e} of itself (relative residual {residual:.0e}): "
        "columns of X are almost exactly dependent, even in equal units; raise alpha, or remove "
        "columns that repeat others."
    )


def default_tolerance(dtype: np.dtype[np.floating]) -> float:
    """Return the target for the relative residual; eigenvalues then have more correct digits."""
    return 1e-8 if dtype == np.float64 else 1e-4


def ridge(
    X: Operator,
    targets: Array,
    alpha: float,
    *,
    tol: float | None = None,
    rtol: float | None = None,
    max_iter: int = 1000,
    direct: int = DIRECT_LIMIT,
    max_turn: float = _TURNED,
    fitted: bool = False,
    leverage: bool = False,
) -> RidgeFit:
    """Regress every column of ``targets`` on X with a common 2-norm penalty.

    If n or d is at most ``direct`` and a direct solution costs less, it is solved from the smaller
    Gram matrix, or from singular vectors of the data if the Gram matrix is not accurate enough;
    otherwise by block conjugate gradients with columns of unit length, which need memory for a
    few blocks as wide as the targets. If these do not converge in time, the direct solution
    follows where it is possible. For ``alpha`` 0 it is the minimum-norm solution.

    With ``rtol``, an iteration with a penalty stops when at most this fraction of the trace of
    ``targets'X slopes``, or of the squared norm of the ``fitted`` targets, is missing, by an upper
    bound; otherwise when the residual is below ``tol`` and so is the error that it allows. Where a
    direct solution is possible, it follows as soon as the bound decreases so slowly that the
    remaining iterations would cost more. Every answer is checked by new products with X: two with
    4 columns for a direct solution or ``rtol``, two with all columns for a residual. Without a
    penalty there is no bound: the error is then the larger of two estimates, ten times the gain of
    the last fifth, and the residual divided by the shortest direction of X in the Krylov space. If
    that is too large, it continues, for up to as many steps again. A direction so short that the
    residual hides it is not detected. ``rtol`` is given up, for the residual, where the blocks
    differ from orthonormal ones by ``max_turn``, or where this changes more than half of it.
    """
    smaller, possible = X.short_side, X.short_side <= direct
    ratio = _cost_of_direct(X, targets.shape[1]) if possible else np.inf
    if possible and (alpha <= 0 or ratio <= (_USUAL if rtol is None else _FEW)):
        return _direct(X, targets, alpha, rough=alpha > 0 and rtol is not None)
    budget = int(min(max_iter, max(_LEAST, min(2 * ratio, _BUDGET)))) if possible else max_iter
    fit = None
    if alpha > 0 and rtol is not None:
        probes = _probes_of(X, targets.shape[1]) if leverage else None
        fit = _iterate_to_rtol(X, targets, alpha, rtol, budget, max_turn, fitted, ratio, probes)
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
    run = block_cg(apply, cross / scale, tol, _BUDGET, rtol=_ROUGH_PART, least=least)
    return float(run.halfway / (probes.shape[1] * X.shape[0]))


def _probes_of(X: Operator, beside: int | None = None) -> Array:
    """Return the random columns from which a mean leverage is estimated; many rows take one.

    Those ``beside`` other columns make them a multiple of four, whose products take less time.
    """
    rng, rows = np.random.default_rng(0), X.shape[0]
    count = _PROBES if rows <= _FEW_ROWS else 1
    if beside is not None:
        count += -(beside + count) % SMOOTH_WIDTH
    if rows <= _MANY_ROWS:
        return X.to_device(rng.choice([-1.0, 1.0], (rows, count)).astype(X.dtype))
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


# --- direct -------------------------------------------------------------------------------


def _direct(X: Operator, targets: Array, alpha: float, *, rough: bool = False) -> RidgeFit:
    fit = direct_ridge(X, targets, alpha, rough=rough)
    if fit.known is not None and not X.one_pass:
        return fit
    return replace(fit, slopes=as_operator(fit.slopes.to_block()), known=None)


def direct_ridge(
    X: Operator,
    targets: Array,
    alpha: float,
    *,
    rough: bool = False,
    decomposition: Decomposition | None = None,
) -> RidgeFit:
    """Regress every target on X directly, and check the answer against the data.

    Uses a Cholesky factor of the smaller Gram matrix, or an existing decomposition; if these
    are not accurate enough, singular vectors of the data. The factor has first the type of X if
    that is to be ``rough``, then float64.
    """
    wide = np.dtype(np.float64)
    known = decomposition is not None and decomposition.known
    for dtype in dict.fromkeys((X.dtype if rough and not known else wide, wide)):
        fit = _from_products(X, targets, alpha, dtype, decomposition if known else None)
        if fit is not None and (fit.converged or not small_enough(X)):
            return fit
    return ridge_in_basis(X, factorise(X, targets), targets, alpha, FROM_DATA)


def _from_products(
    X: Operator, targets: Array, alpha: float, dtype: Any, decomposition: Decomposition | None
) -> RidgeFit | None:
    if decomposition is not None:
        basis = basis_of_gram(decomposition, targets, alpha)
        return None if basis is None else ridge_in_basis(X, basis, targets, alpha, FROM_PRODUCTS)
    if X.shape[1] != X.short_side:
        return _dual(X, targets, alpha, dtype)
    gram, cross = X.moments(targets)
    metric = scaled_cholesky(gram.astype(dtype, copy=False), alpha)
    if metric is None:
        return None
    slopes = metric.solve(cross.astype(dtype, copy=False))
    found = as_operator(slopes)
    residual, error = _check(X, targets, found, alpha, metric.scale, metric.energy)
    right = error <= accuracy_wanted(X.dtype)
    agreement = cross.T @ slopes
    return RidgeFit(found, agreement, FROM_PRODUCTS, 1, residual, error, right, scale=metric.scale)


def _dual(X: Operator, targets: Array, alpha: float, dtype: Any) -> RidgeFit | None:
    cogram, wanted = X.cogram().astype(dtype, copy=False), host(targets).astype(dtype, copy=False)
    if alpha == 0 and np.abs(cogram.sum(axis=1)).max() <= CENTRED * np.abs(cogram).max():
        # Centred rows sum to zero: one null direction is known.
        cogram = cogram + np.trace(cogram) / cogram.shape[0] ** 2
        wanted = wanted - wanted.mean(axis=0)
    metric = scaled_cholesky(cogram, alpha)
    if metric is None:
        return None
    inside = metric.solve(wanted)
    fitted, whole = wanted - alpha * inside, np.linalg.norm(wanted)
    if not np.linalg.norm(fitted) > _SHRUNK * whole:
        fitted = cogram @ inside
    slopes = OfRows(X, inside, exact=dtype == np.float64)
    # (X X' + alpha I) a = T: the residual is the error of the fitted labels.
    mixing = combinations(wanted.shape[1])
    mixed, known = slopes.matmat(mixing), wanted @ mixing
    gap = np.linalg.norm(known - host(X.matmat(mixed)) - alpha * (inside @ mixing))
    error = float(gap / (np.linalg.norm(known) or 1.0))
    return RidgeFit(
        slopes,
        wanted.T @ fitted,
        FROM_PRODUCTS,
        1,
        error,
        error,
        error <= accuracy_wanted(X.dtype),
        known=fitted,
        scale=np.sqrt(np.square(positive(column_lengths(X))) + alpha),
    )


def ridge_in_basis(
    X: Operator, basis: Basis, targets: Array, alpha: float, method: str
) -> RidgeFit:
    """Regress in a basis of X, and check the answer; the slopes are computed when needed."""
    shrunk = basis.coordinates * (np.sqrt(basis.values) / (basis.values + alpha))[:, None]
    inside = np.sqrt(basis.values)[:, None] * shrunk
    scale = np.sqrt(np.square(basis.lengths) + alpha)
    slopes = Product(basis.right, as_operator(shrunk))
    energy = partial(basis.energy, alpha=alpha)
    residual, error = _check(X, targets, slopes, alpha, scale, energy)
    error = max(error, basis.lost)
    right = error <= accuracy_wanted(X.dtype)
    agreement = inside.T @ basis.coordinates
    return RidgeFit(
        slopes, agreement, method, 1, residual, error, right, inside=inside, scale=scale
    )


def _check(  # noqa: PLR0917
    X: Operator,
    targets: Array,
    slopes: Operator,
    alpha: float,
    scale: Array,
    energy: Callable[[Array], float],
) -> tuple[float, float]:
    """Check ``(X'X + alpha I) slopes = X'targets`` by new products; return residual and error.

    The residual ``r = X'(T - X G) - alpha G`` is divided by the lengths of the columns of
    ``[X; sqrt(alpha) I]``. ``energy`` gives ``tr r'(X'X + alpha I)^+ r`` from the
    factorisation that was used: the square of the error of the fitted labels (and of the
    weights, by their penalty), small if that factorisation has any digits left. All targets are
    used, in random combinations: two products with at most 4 columns.
    """
    mixing = combinations(targets.shape[1])
    wanted, found = host(targets) @ mixing, host(slopes.matmat(mixing))
    if X.one_pass:
        seen, right = host(X.normal(found)), X.cross(wanted)
    else:
        products = X.cross(np.hstack([host(X.matmat(found)), wanted]))
        seen, right = np.hsplit(products, [found.shape[1]])
    gap = right - seen - alpha * found
    size = np.linalg.norm(gap / scale[:, None])
    of_right = np.linalg.norm(right / scale[:, None])
    residual = float(size / of_right) if of_right > 0 else float(size > 0)
    whole = np.linalg.norm(wanted)
    return residual, float(np.sqrt(max(energy(gap), 0.0)) / whole) if whole > 0 else 0.0


# --- iterative ----------------------------------------------------------------------------


def _iterate(X: Operator, targets: Array, alpha: float, tol: float, max_iter: int) -> RidgeFit:
    """Iterate until the residual, and the error of the fitted labels that it implies, are small."""
    targets = X.to_device(targets)
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
    return RidgeFit(as_operator(slopes), agreement, _BLOCK_CG, n_iter, residual, error, right)


def _iterate_to_rtol(  # noqa: PLR0917
    X: Operator,
    targets: Array,
    alpha: float,
    rtol: float,
    max_iter: int,
    max_turn: float,
    fitted: bool,
    patience: float,
    probes: Array | None,
) -> RidgeFit | None:
    """Iterate until little is missing; None if the blocks have lost their directions.

    The slopes G of block conjugate gradients are the best ones in their Krylov space, so that
    ``G'(X'X + alpha I)G = targets'X G``, which fresh products with 4 columns check: the eigenvalues
    of this matrix are those of the directions found; only directions are missing. Between blocks of
    many targets it holds up to the product of their errors.
    """
    targets, tol, width = X.to_device(targets), default_tolerance(X.dtype), targets.shape[1]
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
            rtol=(1 - _RESERVED) * rtol,
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
        agreement = inner(scale * wanted[:, :width], slopes.to_block())
    totals = np.array([sum(run.gains) for run in runs])
    # Of targets without any gain, such as constant labels, nothing is missing.
    missing = np.where(totals > 0, [run.to_come for run in runs], 0.0)
    to_come = float((missing * totals).sum() / (totals.sum() or 1.0))
    n_iter = max(run.n_iter for run in runs)
    mixing = combinations(width)
    mixed = slopes.matmat(mixing)
    if known is None:
        again = inner(slopes.to_block(), plus(X.normal(mixed), mixed, alpha))
    else:
        again = inner(plus(known, solution, alpha), X.matmat(mixed))
    expected = agreement @ mixing
    residual = float(np.linalg.norm(again - expected) / (np.linalg.norm(expected) or 1.0))
    # Directions turned by rounding lose what the products of the slopes lack of the trace.
    lost = float(abs((mixing * (again - expected)).sum() / ((mixing * expected).sum() or 1.0)))
    if not residual <= max_turn or lost > rtol / 2:
        return None
    to_come += lost
    return RidgeFit(
        slopes,
        agreement,
        _BLOCK_CG,
        n_iter,
        residual,
        None,
        to_come <= rtol,
        to_come,
        known,
        leverage=None if probes is None else runs[-1].halfway / (probes.shape[1] * X.shape[0]),
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
