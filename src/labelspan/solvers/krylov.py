"""``krylov``: the leading directions in a block Krylov space, for large n and d."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from ..errors import LabelspanWarning, Mismatch, warn_caller
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    column_norms,
    combine,
    concatenate,
    host,
    inner,
    inner_all,
    like,
    scale_columns,
    times,
    width_of,
)
from ..operators.operator import image_of, label_cross, seen_by
from .exact import Exact
from .problem import (
    L1,
    Problem,
    Solution,
    combinations,
    finest_tolerance,
    remaining_blocks,
    rest_of,
    rounding,
    sentence,
    small_enough,
    solve_arranged,
    unsure,
)
from .regression import fitted_square, regress, regress_to_share
from .small_dense import (
    Ritz,
    ScaledCholesky,
    few_leading,
    leading,
    leading_values,
    orthonormalize,
    psd_solve,
    remove,
    remove_measured,
    ritz,
    scaled_cholesky,
    thin_ritz,
    thin_spectrum,
    unit_columns,
)

__all__ = [
    "Krylov",
    "KrylovSpace",
    "LabelledSpace",
    "krylov_bytes",
    "refuse_apart",
    "truncated_svd",
]

_FEATURES_TOL = 6e-3
_LABELS_TOL = 1e-2
# The same for the eigenvalues of a thin factor.
_THIN_TOL = 5e-3
# Maximum number of blocks of a space, and of iterations of conjugate gradients.
_BLOCKS, _ITERATIONS = 100, 1000
# Minimum gain of a regression, relative to the gain predicted by a step along its residual.
_GAINED = 0.1
# Estimated gain of all labels outside the first block, relative to that of two mixtures of them.
_LABELS_SAFETY = 40.0
# With labels, the reported error is at least this multiple of the estimate that ends the iteration,
_REPORTED = 2.0
# and this multiple of the gain of a step along the residuals of two mixtures of the labels.
_HIDDEN = 6.0
# Number of random mixtures of the labels that estimate the size of all regressed labels.
_MIXTURES = 8
# The smallest tolerance for which small problems are solved on a device, whose eigenvectors had
# errors of up to 3e-8.
_DEVICE_TOL = 1e-6
# Up to this many directions, a space may contain all of them; and its maximum size in any case.
_MANY_DIRECTIONS, _MOST_DIRECTIONS = 512, 4096
# Up to this tolerance the last gains predict the number of blocks; from this many gains
# on they always do.
_FORETOLD, _SLOW_GAINS = 1e-3, 5
# Up to this many blocks, the directions are computed after each block.
_EACH_BLOCK = 8
# The first block has at least this many columns: it then contains all copies of an eigenvalue, and
# a column for each of about this many labels.
_WIDTH = 36
# Maximum number of label directions in the first block, unless more components are requested.
_LABEL_AXES = 64
# If the first block represents less than this fraction of operator labels, they are multiplied
# again along the directions.
_MOST_LABELS = 0.8
# Up to this many labels, each enters the small problems; beyond, a square root of their products.
_EACH_LABEL = 2048
# Allowed error of the size of the fitted labels, relative to the tolerance.
_SIZED = 0.3
# Maximum number of blocks of a space for operator labels, and the number of square arrays that a
# solution inside the space needs at a time.
_OPERATOR_BLOCKS, _SQUARES = 12, 7
_ILL_CONDITIONED = 1e3
# Products process blocks of a multiple of this many columns at once.
_SMOOTH_WIDTH = 4
# Number of random directions by which a space is tested before it is accepted.
_PROBE = 2
# More copies of one eigenvalue than this are not expected: a block of this width has them all.
_MANY_COPIES = 32
# The largest tolerance; above it, powers of a narrow block may stop inside a step of the spectrum.
_COARSE = 2e-2
# Bound on the gain of further such directions, relative to the gain of these.
_SAFETY = 16.0
# An image below this multiple of the rounding of the longest image is zero.
_NULL = 64.0
# Loss of orthogonality of blocks, in units of rounding, above which it is corrected.
_DRIFT = 500.0
# Number of random directions outside an answer that an inspection uses, and of its steps.
_OUTSIDE, _STEPS = 2, 2
# The missing part outside an answer is estimated as this multiple of what random directions show,
_DOUBT = 1.5
# and the missing part inside as this multiple of the gain of one step along the residual.
_STEPS_TO_COME = 8.0
# Minimum number of label directions that a space starts from, and the fraction of their squared
# norm above which no more are added.
_FEW_LABELS, _LABEL_ENERGY = 32, 0.96
# Up to this many labels their products are formed; beyond, number of subspace iterations.
_GRAM_LABELS, _LABEL_STEPS = 512, 2
# Entries up to which data in float32 is solved in float64.
_SMALL = 1 << 22


@dataclass(frozen=True)
class Krylov:
    """Find the leading directions in a Krylov space, to a given accuracy of the objective.

    For features only, this is a truncated SVD. With regressed labels the space starts
    from ``X'[Y, random]``, and is used twice: the ridge regression of the labels and the leading
    directions of features and regressed labels are both computed inside it. With a thin factor,
    block conjugate gradients solve for all labels at once, followed by a small eigenproblem; labels
    that are an operator use the same space as other factors. Rows in files or on other
    machines are read once for each block.

    Parameters
    ----------
    tol : float or None
        Stop when the missing part of the objective is estimated below this fraction
        of the objective found; by default 6e-3 without labels, 1e-2 with labels and 5e-3
        for a thin factor, for which a given number is the relative residual of
        the regressions instead. The estimate continues the last gains at half their rate, and is
        used only if random directions and the residual of the label regression add no
        more than that. On a sweep of spectra (flat, steep, in steps, units over eight
        decades, float32; 3 to 100 labels) the reported error was never below the true
        one: with labels it is twice the estimate, and more if the estimate is far below
        ``tol`` or if labels outside the first block would add more. It is an estimate, not
        a bound. With a ``tol`` below 4e-6, float32 data in memory or on a device is multiplied
        in float64; otherwise 4e-6 is used, with a warning.
    max_iter : int or None
        Maximum number of blocks added to the space in addition to those that ``n_components``
        needs, or of iterations of conjugate gradients; None means 100 and 1,000 (12 if the labels
        are an operator).
    seed : int
        The same seed gives the same answer.

    See Also
    --------
    Exact : Direct, for small n or d.

    References
    ----------
    .. [1] Halko, N., Martinsson, P.-G., & Tropp, J. A. (2011). Finding structure with randomness.
           SIAM Review, 53, 217-288.
    .. [2] Musco, C., & Musco, C. (2015). Randomized block Krylov methods for stronger and faster
           approximate singular value decomposition. NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Krylov, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((200, 100)))
    >>> found = Krylov().solve(Problem(X, Factor(share=1.0), n_components=3))
    >>> found.exact, found.converged
    (False, True)
    """

    tol: float | None = None
    max_iter: int | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        return "krylov"

    def why_not(self, problem: Problem) -> str | None:
        if isinstance(problem.penalty, L1):
            return "solver='krylov' does not support penalty='l1'."
        return None

    def solve(self, problem: Problem) -> Solution:
        X, finest = problem.X, finest_tolerance(problem.X.dtype)
        if self.tol is not None and self.tol < finest and X.dtype != np.float64:
            exact = X.in_float64()
            if exact is not None:
                return self.solve(replace(problem, X=exact))
            warn_caller(
                f"tol={self.tol:.0e} is below what {X.dtype} can tell; {finest:.0e} is used. Pass "
                "X in float64 for less.",
                LabelspanWarning,
            )
        small = X.device is None and X.shape[0] * X.shape[1] <= _SMALL
        if X.dtype != np.float64 and small and not isinstance(problem.factor.labels, Operator):
            # For few entries float64 costs nothing and does not lose features in small units.
            wide = as_operator(X.wide_rows(slice(0, X.shape[0])))
            return self._solve(replace(problem, X=wide))
        return solve_arranged(problem, self._solve)

    def _solve(self, problem: Problem) -> Solution:
        rng = np.random.default_rng(self.seed)
        if problem.factor.labels is None:
            return self._features(problem, rng)
        if problem.factor.thin and not isinstance(problem.factor.labels, Operator):
            return self._labels(problem, problem.factor.labels)
        return self._in_space(problem, rng)

    def _labels(self, problem: Problem, labels: Array) -> Solution:
        """Solve a thin factor: regressions first, then an eigenproblem as wide as the labels."""
        X, alpha, most = problem.X, problem.metric_alpha, self.max_iter or _ITERATIONS
        fit = None
        if alpha > 0 and self.tol is None:
            fit = regress_to_share(X, labels, alpha, _THIN_TOL, most)
        if fit is None:
            tol = None if self.tol is None else max(self.tol, finest_tolerance(X.dtype))
            fit = regress(X, labels, alpha, tol=tol, max_iter=most)
        values, axes = thin_spectrum(fit.agreement, problem.n_components)
        mixing = axes / np.sqrt(values)
        status = sentence(f"Regressed by {fit.method}", fit.residual)
        if fit.to_come is not None:
            status = (
                f"Regressed by {fit.method}; the missing eigenvalues are estimated at "
                f"{fit.to_come:.1e} of those found."
            )
        if not fit.converged and fit.method.startswith("block"):
            error = "" if fit.error is None else f" and an estimated error of {fit.error:.1e}"
            status = (
                f"solver='krylov' stopped after {fit.n_iter} iterations with a relative "
                f"residual of {fit.residual:.1e}{error}; raise alpha, max_iter or tol."
            )
        elif not fit.converged:
            status = unsure(max(fit.error or 0.0, fit.residual), fit.residual)
        return Solution(
            times(fit.slopes, mixing),
            values,
            self.name,
            exact=fit.to_come is None,
            converged=fit.converged,
            status=status,
            n_iter=fit.n_iter,
            residual=fit.residual,
            error=fit.error,
            # W'X'L without a product: the agreement is L'X G, and W = G mixing.
            images=mixing.T @ fit.agreement.T,
        )

    @property
    def _blocks(self) -> int:
        return self.max_iter or _BLOCKS

    def _tolerance(self, problem: Problem, default: float) -> float:
        return max(default if self.tol is None else self.tol, finest_tolerance(problem.X.dtype))

    def _features(self, problem: Problem, rng: np.random.Generator) -> Solution:
        tol = self._tolerance(problem, _FEATURES_TOL)
        svd = truncated_svd(
            problem.X, problem.n_components, tol=tol, max_iter=self._blocks, rng=rng
        )
        weights = scale_columns(svd.right, 1 / np.sqrt(svd.values))
        values = problem.factor.share * svd.values
        return self._solution(weights, values, svd.n_iter, svd.rest, tol=tol, shown=svd.shown)

    def _in_space(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """Find the directions of labels, and of features if present, in one space."""
        X, factor = problem.X, problem.factor
        tol, most = self._tolerance(problem, _LABELS_TOL), self._blocks
        if self.max_iter is None and isinstance(factor.labels, Operator):
            most = _OPERATOR_BLOCKS
        grown = LabelledSpace(problem, tol=tol, max_iter=most, rng=rng)
        while True:
            grown.grow()
            shown = grown.inspected()
            lost = grown.unfitted > tol or grown.best.cut or shown.off > tol or grown.crowded
            if lost and small_enough(X) and not isinstance(factor.labels, Operator):
                # Directions too short for powers of X'X: the data is factorised instead.
                return Exact().solve(problem)
            if lost or shown.missing <= tol or not grown.widen():
                break
        best, space = grown.best, grown.space
        rest = max(grown.rest, grown.unfitted, shown.missing)
        reported = max(
            _REPORTED * rest,
            grown.hidden,
            grown.unsized if np.isfinite(grown.unsized) else 0.0,
            float(np.sqrt(min(rest, tol) * tol)),
        )
        return self._solution(
            space.combine(best.inside),
            best.values,
            len(space.basis),
            rest,
            reported=reported,
            tol=tol,
            shown=shown,
            images=best.inside.T @ space.seen,
            label_axes=None if factor.thin else grown.label_axes(),
            level=best.level,
            embed=None if space.passes else partial(space.combine_image, best.inside),
        )

    def _solution(
        self,
        weights: Array,
        values: Array,
        n_iter: int,
        rest: float,
        *,
        tol: float,
        shown: Inspection,
        reported: float | None = None,
        **more: Any,
    ) -> Solution:
        converged = rest <= tol
        rest = rest if reported is None else reported
        fresh = f"new products with X show {shown.missing:.0e}"
        status = (
            f"The missing part of the objective is estimated at {rest:.1e} of the objective found; "
            f"{fresh}."
        )
        if shown.off > tol:
            status = (
                f"The directions differ from orthonormal ones by {shown.off:.0e} in new products "
                "with X; scale the columns of X, or pass X in float64."
            )
        elif not converged:
            status = (
                f"solver='krylov' stopped after {n_iter} blocks with {rest:.1e} of the "
                f"objective estimated to be missing ({fresh}); raise max_iter or tol, or use an "
                "exact solver."
            )
        return Solution(
            weights,
            values,
            self.name,
            exact=False,
            converged=bool(converged),
            status=status,
            n_iter=n_iter,
            residual=float(rest),
            **more,
        )


class LabelledSpace:
    """A Krylov space of X built from the labels, and the best directions in it.

    ``rest`` is the fraction of the objective that is estimated to be missing, ``unfitted`` the
    fraction that the label regression would still add but rounding keeps out of the space, and
    ``hidden`` the gain of labels outside the first block, from random combinations of them.
    ``unsized`` is the estimated missing fraction of the squared norm of the fitted labels, if it is
    not known. ``crowded`` says that the space would become so large that a decomposition costs
    less. ``tol`` is the fraction of the objective that may be missing.
    """

    def __init__(
        self, problem: Problem, *, tol: float, max_iter: int, rng: np.random.Generator
    ) -> None:
        X, factor, count = problem.X, problem.factor, problem.n_components
        self.X, self._factor, self._count = X, factor, count
        self._tol, self._max_iter, self._rng = tol, max_iter, rng
        regression = factor.regression
        self._alpha = problem.metric_alpha if regression is None else regression.alpha
        self._noise = rounding(X.dtype)
        self.labels = LabelBlock(X, factor.labels, factor.mixing)
        axes, share = self.labels.leading(max(count, _LABEL_AXES), rng)
        self._all_labels = share >= _MOST_LABELS or not isinstance(factor.labels, Operator)
        few = axes.shape[1]
        extra = max(4, count // 10, count // 3 - few, _WIDTH - few)
        extra += -(few + extra) % _SMOOTH_WIDTH
        start = self.labels.start(axes, extra, rng)
        self.space = KrylovSpace(X, start, self.labels, passes=X.one_pass)
        self._width = few + extra
        self._squares = X.column_squares() + self._alpha
        # Squared norm of the regression of random mixtures of the labels, if known.
        self._signs = np.random.default_rng(1).choice([-1.0, 1.0], (self.labels.width, _MIXTURES))
        self._square: float | None = None
        self._agreement = np.zeros((0, 0))
        self._metric: tuple[int, ScaledCholesky | None] = (0, None)
        self._step: _Step | None = None
        self.best: Ritz
        self.rest, self.hidden, self.unfitted, self.unsized = np.inf, 0.0, 0.0, 0.0
        self.crowded = False

    def grow(self, *, check: bool = True) -> None:
        """Grow until the missing part of the objective is estimated below the tolerance.

        With ``check``, directions that the powers of X'X may have missed are tested before the
        estimate is accepted, which costs four products with 2 columns.
        """
        space, gains, fits = self.space, [], []
        best: Ritz | None = None
        self.rest = np.inf
        while True:
            if space.size >= min(self._count, *self.X.shape) or space.exhausted:
                newest = self._ritz()
                if best is not None:
                    # With the latest regression, the latest directions can only have a larger
                    # objective.
                    gains.append(newest.worth - newest.worth_of(best.inside))
                    self.rest = rest_of(gains, newest.worth, self._noise, wide=True)
                self.best = best = newest
                fits.append(newest.fitted)
                if self.rest <= self._tol or space.exhausted:
                    if not check or self._settled(fits):
                        return
                    best, gains, self.rest = self.best, [], np.inf
                if len(space.basis) >= self._max_iter or self._is_crowded(gains):
                    return
            # Small problems of a large space cost more than its blocks.
            for _ in range(max(1, len(space.basis) // _EACH_BLOCK)):
                space.expand()

    def widen(self) -> bool:
        """Add random directions to a space that lacks some; return False if it is complete."""
        if len(self.space.basis) >= self._max_iter:
            return False
        X, width = self.X, max(self._width, -(-self._count // (3 * _SMOOTH_WIDTH)) * _SMOOTH_WIDTH)
        if X.one_pass:
            return self.space.add(X.normal(X.random_block(X.shape[1], width, self._rng)))
        return self.space.add(X.rmatmat(X.random_block(X.shape[0], width, self._rng)))

    def label_axes(self) -> Array:
        """Return the contribution of the labels of a row to its coordinates."""
        space, best = self.space, self.best
        image = self._solved(space.gram @ best.inside)
        return np.asarray(best.level**2 * (space.seen.T @ image) / np.sqrt(best.values))

    def _ritz(self) -> Ritz:
        gram, seen, tolerance = self.space.gram, self._compact(), 64 * self._noise
        if self._factor.thin:
            return thin_ritz(gram, seen, self._alpha, self._count, tolerance)
        outside = 0.0
        if self._square is not None:
            # The missing part of the fitted mixtures estimates that of all labels.
            slopes = self._slopes(self._signs)
            inside = float((slopes * (gram @ slopes)).sum())
            outside = max(0.0, (self._square - inside) / _MIXTURES)
        args = gram, seen, self._factor, self._count, tolerance
        if self.X.device is not None and self._tol >= _DEVICE_TOL:
            return ritz(*args, self.X.device, outside)
        return ritz(*args, None, outside, self._solved(seen))

    def _compact(self) -> Array:
        """Return A with ``A A' = P'X'L L'X P``: ``P'X'L``, or fewer columns for many labels."""
        parts = self.space.labelled
        if self.labels.width <= _EACH_LABEL:
            return self.space.seen
        done = 0
        for number, newest in enumerate(parts):
            done += newest.shape[0]
            if done > self._agreement.shape[0]:
                side = np.concatenate([part @ newest.T for part in parts[: number + 1]])
                old = self._agreement.shape[0]
                corner = (side[old:] + side[old:].T) / 2
                rows = [[self._agreement, side[:old]], [side[:old].T, corner]]
                self._agreement = np.block(rows).astype(np.float64)
        values, vectors = np.linalg.eigh(self._agreement)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def _slopes(self, mixing: Array) -> Array:
        """Return the coefficients, inside the space, of combinations of the labels."""
        seen = np.concatenate([part @ mixing for part in self.space.labelled])
        return self._solved(seen)

    def _solved(self, right: Array) -> Array:
        """Return ``(P'X'X P + alpha I)^+ right``; the factor is cached for each size."""
        gram = self.space.gram
        size, metric = self._metric
        if size != self.space.size:
            metric = scaled_cholesky(gram, self._alpha)
            self._metric = self.space.size, metric
        if metric is None:
            return psd_solve(gram, right, self._alpha, 64 * self._noise)
        return metric.solve(right)

    def _is_crowded(self, gains: list[float]) -> bool:
        """Return whether the space has, or will have, too many directions to be efficient."""
        X, size, most = self.X, self.space.size, _MOST_DIRECTIONS
        if X.short_side <= _MANY_DIRECTIONS:
            return False
        if small_enough(X) and not X.one_pass and not isinstance(self.labels.values, Operator):
            # A space with half of all directions costs as much as a decomposition.
            most = X.short_side // 2
            if self._tol <= _FORETOLD or len(gains) >= _SLOW_GAINS:
                size += self._width * remaining_blocks(gains, self.rest, self._tol)
        self.crowded = size > max(most, self._count) and self.rest > self._tol
        return self.crowded

    def _settled(self, fits: list[float]) -> bool:
        """Test directions that powers of X'X may have missed; return whether they add little."""
        space, factor, before = self.space, self._factor, self.best
        complete, sized = space.exhausted, self._square is None
        rest = self.rest if np.isfinite(self.rest) else 16 * self._noise
        norm = None if factor.regression is None else factor.regression.norm
        lean = isinstance(self.labels.values, Operator) and self.labels.values.one_pass
        if norm is not None and self._square is None and not complete:
            # Regressed labels outside the space have a part of the norm.
            self.unsized = rest_of(np.diff(fits).tolist(), fits[-1], self._noise, wide=True)
            if self.unsized > self._tol and not lean:
                start = space.combine(self._slopes(self._signs))
                cross = self.labels.back(self._signs)
                share = _SIZED * self._tol
                self._square = fitted_square(self.X, cross, start, self._alpha, share)
                self.unsized = self.unsized if self._square is None else 0.0
        sized &= self._square is not None
        self._step = self._missed()
        block = self._step.block
        if not self._all_labels:
            told = unit_columns(self.labels.back(space.seen.T @ before.inside))  # X'L L'X W
            block = concatenate([block, told], axis=1)
        if not space.add(block):
            # A residual that rounding keeps out of the space, or that is rounding itself.
            self.rest, self.unfitted = max(rest, 16 * self._noise), self._step.lost(0.0, before)
            return True
        self.best = self._ritz()
        self.unfitted = self._step.lost(self.best.fitted - before.fitted, before)
        gain = abs(self.best.worth - self.best.worth_of(before.inside)) / self.best.worth
        # The weight of the labels may have changed with the estimate of their size.
        change = gain if sized else abs(self.best.worth / before.worth - 1)
        if not self._all_labels:
            rest = max(rest, gain)
        elif complete:
            # Powers of the first block cannot reach other directions.
            rest = max(rest, _LABELS_SAFETY * gain)
        self.hidden = _HIDDEN * change
        self.rest = rest
        return rest <= self._tol

    def _missed(self) -> _Step:
        """Return directions that the space may have missed, and the gain of a step along them.

        The residual of the regression, from new products with X, for random combinations
        of the labels, divided by the squared lengths of the columns, so that units
        do not matter.
        """
        space, best, alpha = self.space, self.best, self._alpha
        mixing = self._rng.standard_normal((self.labels.width, _PROBE))
        inside = self._slopes(mixing)
        slopes = space.combine(inside)
        gap = self.labels.back(mixing) - self.X.normal(slopes) - alpha * slopes
        step = gap / like(np.where(self._squares > 0, self._squares, np.inf)[:, None], gap)
        normal = self.X.normal(step)
        lengths = np.maximum(np.diag(inner(step, normal)), 0.0)
        descent = np.square((host(gap) * host(step)).sum(axis=0))
        cost = lengths + alpha * np.square(column_norms(step))
        energy = np.divide(descent, cost, out=np.zeros_like(cost), where=cost > 0)
        sure = float((energy / np.square(mixing).sum(axis=0)).max())
        length = np.divide(np.sqrt(descent), cost, out=np.zeros_like(cost), where=cost > 0)
        change = best.inside.T @ np.concatenate(inner_all(space.basis, normal)) * length
        before = best.inside.T @ (space.gram @ inside)
        gain = float((2 * before * change + np.square(change)).sum()) / _PROBE
        return _Step(unit_columns(step), float(energy.mean()), sure, max(gain, 0.0))

    def inspected(self) -> Inspection:
        """Check directions and regression by new products with X.

        The gain of one step along the residual of the label regression counts as missing too.
        Without features, labels are checked by the residual of the regression.
        """
        best = self.best
        if self._factor.thin or not best.values.size:
            return Inspection(0.0, 0.0, 0.0)
        shown = self._inspected_in_passes() if self.space.passes else self._inspected_by_images()
        step = self._step if self._step is not None else self._missed()
        return replace(shown, inside=max(shown.inside, best.level**2 * step.gain / best.worth))

    def _inspected_by_images(self) -> Inspection:
        """Check that V = X W are eigenvectors of ``X (share I + B B') X'``, B being the slopes."""
        X, space, best, share = self.X, self.space, self.best, self._factor.share
        slopes, weights = best.level * best.slopes, space.combine(best.inside)

        def apply(block: Array) -> Array:
            back = X.rmatmat(block)
            inside = np.concatenate(inner_all(space.basis, back))
            fitted = space.combine(slopes @ (slopes.T @ inside))
            return X.matmat(share * back + fitted)

        def project(block: Array) -> Array:
            along = np.concatenate(inner_all(space.image, block))
            return block - space.combine_image(best.inside @ (best.inside.T @ along))

        return inspect(
            apply,
            lambda coefficients: X.matmat(times(weights, coefficients)),
            project,
            best.values,
            X.random_block(X.shape[0], _OUTSIDE, self._rng),
        )

    def _inspected_in_passes(self) -> Inspection:
        """Check the same in the space of the columns.

        With R the root of ``share I + B B'``, ``R X'X W`` are eigenvectors of ``R X'X R``.
        """
        X, space, best, share = self.X, self.space, self.best, self._factor.share
        basis, factor = orthonormalize(space.combine(best.level * best.slopes))
        turned, lengths, _ = np.linalg.svd(factor, full_matrices=False)
        axes = times(basis, turned)
        more = np.sqrt(share + np.square(lengths)) - np.sqrt(share)

        def shaped(block: Array) -> Array:
            along = more[:, None] * inner(axes, block)
            out: Array = np.sqrt(share) * block + times(axes, along)
            return out

        right = shaped(space.combine_image(best.inside / np.sqrt(best.values)))
        return inspect(
            lambda block: shaped(X.normal(shaped(block))),
            lambda coefficients: times(right, coefficients),
            lambda block: remove(block, [right]),
            best.values,
            X.random_block(X.shape[1], _OUTSIDE, self._rng),
        )


class _Step(NamedTuple):
    """The energy that one step along the residual of the regression adds to the fitted labels.

    ``block`` are the directions, ``total`` is estimated for all labels, ``sure`` is that of one
    combination, and ``gain`` is the increase of the fitted labels along the directions found.
    """

    block: Array
    total: float
    sure: float
    gain: float

    def lost(self, gained: float, found: Ritz) -> float:
        """Return the fraction of the objective that the space should have gained but did not."""
        missing = found.level**2 * self.total / found.worth
        return missing if gained < _GAINED * self.sure else 0.0


def krylov_bytes(  # noqa: PLR0917
    rows: int, columns: int, labels: int, count: int, width: int, blocks: int | None = None
) -> int:
    """Estimate the memory of a space for labels that are an operator.

    It depends on the sizes of X (0 rows if they are in files) and of the labels, the number of
    directions, the bytes per number, and the maximum number of blocks.
    """
    block = max(count, _LABEL_AXES) + max(_SMOOTH_WIDTH, count // 10)
    longest = rows or columns
    size = min((blocks or _OPERATOR_BLOCKS) * block, longest, columns)
    # The latest block with its products, and the directions with theirs.
    thin = size * (longest + columns) + 3 * block * (longest + labels)
    thin += 2 * count * (columns + labels)
    # The labels along the space, and its square arrays, in float64.
    return width * thin + 8 * size * (labels + _SQUARES * size)


# --- the space ----------------------------------------------------------------------------


class LabelBlock:
    """The labels L of the rows of X: an array or an operator.

    ``mixing`` holds the factors of the columns, or the combinations that replace them.
    """

    def __init__(self, X: Operator, labels: Any, mixing: Array | None = None) -> None:
        self._X, self._mixing = X, mixing
        self._operator = isinstance(labels, Operator)
        if self._operator:
            refuse_apart(X, labels)
        self.values: Any = labels if self._operator else X.place(labels)
        # X'L, if the rows of X but not the labels are read in passes.
        lean = X.one_pass and not (self._operator and labels.one_pass)
        self._cross = self._products() if lean else None

    @property
    def width(self) -> int:
        mixing = self._mixing
        return int(self.values.shape[1] if mixing is None else mixing.shape[-1])

    def along(self, products: Array) -> Array:
        """Return ``A'L`` from the products with the labels as they are stored."""
        if self._mixing is None:
            return products
        return products * self._mixing if self._mixing.ndim == 1 else products @ self._mixing

    def combined(self, block: Array) -> Array:
        """Return the combinations of stored labels given by a block with one row per label."""
        if self._mixing is None:
            return block
        mixing, block = self._mixing, host(block)
        return mixing[:, None] * block if mixing.ndim == 1 else mixing @ block

    def back(self, block: Array) -> Array:
        """Return ``X'L block``."""
        block = self.combined(block)
        if self._cross is not None:
            return times(self._cross, block)
        if self._operator:
            return self._X.label_products(self.values.place(block), self.values)
        return self._X.rmatmat(times(self.values, block))

    def pass_over(self, block: Array) -> tuple[Array, Array]:
        """Return ``X'X block`` and ``block'X'L``, in one pass over the rows."""
        if self._cross is not None:
            return self._X.normal(block), self.along(inner(block, self._cross))
        normal, seen = self._X.joint_products(block, self.values)
        return normal, self.along(np.ascontiguousarray(host(seen).T))

    def start(self, axes: Array, extra: int, rng: np.random.Generator) -> Array:
        """Return ``X'[L axes, random]``, columns of unit length."""
        X = self._X
        if X.one_pass:
            parts = [self.back(axes), X.normal(X.random_block(X.shape[1], extra, rng))]
            return unit_columns(concatenate(parts, axis=1))
        wanted = X.place(image_of(self.values, self.combined(axes)))
        random = X.random_block(X.shape[0], extra, rng)
        return X.rmatmat(concatenate([unit_columns(wanted), unit_columns(random)], axis=1))

    def leading(self, most: int, rng: np.random.Generator) -> tuple[Array, float]:
        """Return directions that capture most of the labels, and the fraction that they capture.

        A rotation of the labels does not change an objective, so the directions that
        capture most of their squared norm can represent all of them, and the regression inside the
        space finds the rest. With fewer the iteration would stall; all of them would cost more than
        as many further blocks.
        """
        most = min(most, self.width)
        if self.width <= _GRAM_LABELS and not (self._operator and self.values.one_pass):
            square = self.values.gram() if self._operator else inner(self.values, self.values)
            square = self.along(self.along(square).T)
            energy, axes = few_leading(square, most)
            total = float(np.trace(square))
        else:
            axes = np.eye(most) if most == self.width else rng.standard_normal((self.width, most))
            for _ in range(_LABEL_STEPS):
                axes, root = orthonormalize(self._square(host(axes)))
            energy = np.linalg.svd(root, compute_uv=False)
            total = self._total()
        share = np.cumsum(energy) / max(total, np.finfo(float).tiny)
        few = min(most, max(int(np.searchsorted(share, _LABEL_ENERGY)) + 1, _FEW_LABELS))
        few = min(few, axes.shape[1])
        return axes[:, :few], float(share[few - 1]) if few else 1.0

    def _square(self, block: Array) -> Array:
        """Return ``L'L block``."""
        block = self.combined(block)
        if self._operator:
            product = host(self.values.normal(self.values.place(block)))
        else:
            product = inner(self.values, times(self.values, block))
        return np.ascontiguousarray(self.along(product.T).T)

    def _total(self) -> float:
        """Return the squared norm of the labels; that of combinations is their number."""
        if self._mixing is not None and self._mixing.ndim == 2:
            return float(self.width)
        if self._operator:
            squares = self.values.column_squares()
        else:
            squares = np.square(column_norms(self.values))
        return float((squares if self._mixing is None else squares * self._mixing**2).sum())

    def _products(self) -> Array:
        if not self._operator:
            return self._X.rmatmat(self.values)
        return self._X.place(label_cross(self._X, self.values))


def refuse_apart(X: Operator, labels: Operator) -> None:
    """Raise an error if labels are read in passes but the rows of X are not."""
    if labels.one_pass and not X.one_pass:
        raise Mismatch("Labels in files need X in files too; write both with RowWriter.")


class KrylovSpace:
    """An orthonormal basis P of ``span{W, X'X W, (X'X)^2 W, ...}``, block by block.

    It also stores the image ``X P`` and the small matrix ``P'X'X P``, which a Rayleigh-Ritz step
    needs, and ``P'X'L`` if there are labels L. Each :meth:`expand` costs one product
    with X' and one with X, for the width of the latest block.

    If rows are read in ``passes``, because they are in files or on other machines, ``X'X P``
    is stored instead of ``X P``: no array has n rows, and each block costs one pass. Squares
    of short directions then have only half of the digits.
    """

    def __init__(
        self, X: Operator, start: Array, labels: LabelBlock | None = None, *, passes: bool = False
    ) -> None:
        self.X, self.passes = X, passes
        self._labels = labels
        self.basis: list[Array] = []
        self.image: list[Array] = []
        # ``P'X'L``, block by block, if there are labels.
        self.labelled: list[Array] = []
        self.gram = np.zeros((0, 0))
        self._drifts = False
        self.exhausted = not self._append(start)

    @property
    def size(self) -> int:
        return self.gram.shape[0]

    @property
    def seen(self) -> Array:
        """``P'X'L``."""
        return np.concatenate(self.labelled)

    def expand(self) -> bool:
        """Add a block; return False if the space is invariant."""
        if not self.exhausted:
            newest = self.image[-1]
            block = 1 * newest if self.passes else self.X.rmatmat(newest)
            # The latest columns of the small matrix are the projection onto the basis, as long as
            # that is orthonormal: each block amplifies the errors of those before it.
            along = None if self._drifts else self.gram[:, -newest.shape[1] :]
            self.exhausted = not self._append(block, along)
        return not self.exhausted

    def add(self, block: Array) -> bool:
        """Add directions that the powers may never reach; return False if none is new.

        Copies of an eigenvalue beyond the width of the first block are such directions.
        """
        added = self._append(block)
        self.exhausted = self.exhausted and not added
        return added

    def combine(self, coefficients: Array) -> Array:
        """``P @ coefficients``."""
        return combine(self.basis, coefficients)

    def combine_image(self, coefficients: Array) -> Array:
        """``X @ P @ coefficients``, or ``X'X P @ coefficients`` in passes."""
        return combine(self.image, coefficients)

    def compress(self, count: int) -> None:
        """Keep the leading directions of all blocks but the latest: a thick restart."""
        old = self.size - self.basis[-1].shape[1]
        values, vectors = leading(self.gram[:old, :old], count)
        newest, newest_image = self.basis.pop(), self.image.pop()
        self.basis = [combine(self.basis, vectors), newest]
        self.image = [combine(self.image, vectors), newest_image]
        side = vectors.T @ self.gram[:old, old:]
        corner = self.gram[old:, old:]
        self.gram = np.block([[np.diag(values), side], [side.T, corner]])

    def _append(self, block: Array, along: Array | None = None) -> bool:
        before, after = remove_measured(block, self.basis, along)
        if self._drifts:
            _, after = remove_measured(block, self.basis)
        # The remainder of a block inside the space is rounding, not a direction.
        if not np.linalg.norm(after) > 100 * rounding(width_of(block)) * np.linalg.norm(before):
            return False
        block, factor = orthonormalize(block)
        room = self.X.shape[1] - self.size
        if room <= 0:
            return False
        block = block[:, -room:]
        if self.basis and np.linalg.cond(factor) > _ILL_CONDITIONED:
            # Short directions were scaled up, and with them their errors along the basis.
            block, _ = orthonormalize(remove(block, self.basis))
        if along is not None and not self._drifts:
            drift = float(np.abs(inner(self.basis[0][:, :_SMOOTH_WIDTH], block)).max(initial=0.0))
            self._drifts = drift > _DRIFT * rounding(width_of(block))
            if self._drifts:
                block, _ = orthonormalize(remove(block, self.basis))
        image, side, corner, seen = self._mapped(block)
        if side:
            # A direction that X maps to rounding is not a direction of its rows.
            nothing = _NULL * rounding(width_of(block))
            floor = (nothing if self.passes else nothing**2) * np.diag(self.gram).max()
            alive = np.flatnonzero(np.diag(corner) > floor)
            if not alive.size:
                return False
            if alive.size < corner.shape[0]:
                block, image = block[:, alive], image[:, alive]
                corner, side = corner[np.ix_(alive, alive)], [part[:, alive] for part in side]
                seen = None if seen is None else seen[alive]
        if side:
            wide = np.concatenate(side)
            self.gram = np.block([[self.gram, wide], [wide.T, corner]])
        else:
            self.gram = corner
        self.basis.append(block)
        self.image.append(image)
        if seen is not None:
            self.labelled.append(seen)
        return True

    def _mapped(self, block: Array) -> tuple[Array, list[Array], Array, Array | None]:
        """Return the image of a block, and its products with earlier images, itself and labels."""
        seen: Array | None = None
        if not self.passes:
            image = self.X.matmat(block)
            *side, corner = inner_all([*self.image, image], image)
            if self._labels is not None:
                seen = self._labels.along(seen_by(image, self._labels.values))
            return image, side, corner, seen
        if self._labels is None:
            image = self.X.normal(block)
        else:
            image, seen = self._labels.pass_over(block)
        *side, corner = inner_all([*self.basis, block], image)
        return image, side, (corner + corner.T) / 2, seen


@dataclass(frozen=True)
class Inspection:
    """Errors of leading eigenvectors, as shown by new products.

    ``off`` is the deviation of the vectors from orthonormality or, if larger, the relative amount
    by which their Rayleigh quotients are below the eigenvalues. ``inside`` is the fraction of
    the objective that steps along the eigen-residual would add, ``outside`` the fraction that
    random directions find elsewhere.
    """

    off: float
    inside: float
    outside: float

    @property
    def missing(self) -> float:
        """The estimated missing fraction of the objective."""
        return max(self.off, self.inside, self.outside)


def inspect(
    apply: Callable[[Array], Array],
    along: Callable[[Array], Array],
    project: Callable[[Array], Array],
    values: Array,
    start: Array,
) -> Inspection:
    """Check ``M V = V diag(values)`` and ``V'V = I`` by independent products.

    ``apply`` multiplies by the symmetric positive semi-definite M, ``along`` returns ``V c`` and
    ``project`` removes the part along V, in place; ``start`` is a block of random directions.

    The residual R of random combinations gives ``sum |r_i|^2 / values_i``, which a step along it
    adds at least. The random directions, orthogonal to V, start a block Krylov space of two steps,
    whose Ritz values and weights are a quadrature of the spectrum outside V: the number
    and size of eigenvalues above the smallest one in the answer. This finds copies of an eigenvalue
    that no power of M can reach. It costs a product of M with 4 columns and one with 2.
    """
    eps = rounding(width_of(start))
    mixing = combinations(values.size, _OUTSIDE)
    width, floor = mixing.shape[1], 64 * eps * values[0]
    roots = np.sqrt(np.maximum(values, floor))[:, None]
    vectors = along(np.hstack([mixing, mixing / roots, values[:, None] * mixing / roots]))
    plain, scaled, expected = (vectors[:, at : at + width] for at in (0, width, 2 * width))
    block = orthonormalize(project(start))[0]
    images = apply(concatenate([scaled, block], axis=1))
    gap = images[:, :width] - expected
    # Each combination represents a part of the directions.
    added = float(np.square(column_norms(gap)).sum()) * values.size / width
    inside = _STEPS_TO_COME * added / float(values.sum())
    noise = 64 * eps * np.sqrt(values[0] / max(values[-1], floor))
    square = mixing.T @ mixing
    claimed = float((mixing * values[:, None] * mixing / roots).sum())
    off = max(
        float(np.linalg.norm(inner(plain, plain) - square) / np.linalg.norm(square)),
        # Quotients may be larger than the eigenvalues if the iteration has not converged.
        1 - float(np.trace(inner(plain, images[:, :width]))) / claimed,
    )
    outside = _outside(apply, project, values, block, images[:, width:])
    return Inspection(off if off > noise else 0.0, inside, outside)


def _outside(
    apply: Callable[[Array], Array],
    project: Callable[[Array], Array],
    values: Array,
    block: Array,
    image: Array,
) -> float:
    """Estimate the gain from eigenvalues outside an answer, relative to its sum."""
    width = block.shape[1]
    if not width:
        return 0.0
    basis, images = [block], [image]
    for _ in range(_STEPS - 1):
        block = orthonormalize(remove(project(1 * images[-1]), basis))[0]
        if not block.shape[1]:
            break
        basis.append(block)
        images.append(apply(block))
    square = inner(concatenate(basis, axis=1), concatenate(images, axis=1))
    nodes, vectors = leading(square, square.shape[0])
    room = max(0, basis[0].shape[0] - values.size)
    copies = room * np.square(vectors[:width]).sum(axis=0) / width
    # An eigenvalue above the smallest one of the answer would replace that one.
    larger = nodes > values[-1] + 64 * rounding(width_of(image)) * values[0]
    sizes = np.concatenate([values, nodes[larger]])
    counts = np.concatenate([np.ones(values.size), copies[larger]])
    order = np.argsort(-sizes, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(counts[order])[:-1]])
    kept = np.clip(values.size - before, 0.0, counts[order])
    return float(_DOUBT * max(0.0, (sizes[order] * kept).sum() / values.sum() - 1))


@dataclass(frozen=True)
class TruncatedSVD:
    """Squared leading singular values, right singular vectors, and the estimated missing part.

    ``shown`` holds their errors by new products, and is part of ``rest``.
    """

    values: Array
    right: Array
    n_iter: int
    rest: float
    converged: bool
    shown: Inspection


def truncated_svd(
    X: Operator, count: int, *, tol: float, max_iter: int, rng: np.random.Generator
) -> TruncatedSVD:
    """Find the ``count`` leading singular directions by block Krylov with thick restarts.

    Works on the shorter side of X. Stops when the missing energy is estimated below ``tol``
    of the energy found, and, if powers of the block add nothing, a few random directions
    outside the space add no more than that. Blocks are about a third of ``count``
    wide, which finds more energy per product than one wide block with few powers. The answer is
    then inspected by new products; if these find more than ``tol`` outside it, the space
    gets another random block and grows further. Rows in files or on other machines are read once
    for each block of ``count`` columns, and no array with n rows is stored.
    """
    rows, columns = X.shape
    flipped = rows < columns
    side = X.T if flipped else X
    lean = X.one_pass and not flipped
    # A pass over rows in files costs more than additional columns.
    width = max(_MANY_COPIES, count) if lean else max(8, -(-count // 3))
    width = min(-(-width // _SMOOTH_WIDTH) * _SMOOTH_WIDTH, side.shape[1])

    def random_rows() -> Array:
        if lean:
            return X.normal(X.random_block(columns, width, rng))
        return side.rmatmat(side.random_block(side.shape[0], width, rng))

    space = KrylovSpace(side, random_rows(), passes=lean)
    tol = max(min(tol, _COARSE), finest_tolerance(X.dtype))
    n_iter = 1
    while True:
        rest, n_iter = _grow(space, count, width, n_iter, tol=tol, max_iter=max_iter, rng=rng)
        values, vectors = leading(space.gram, count)
        keep = values > 64 * rounding(X.dtype) * max(values[0], 0.0)
        # Directions dropped as rounding are missing too.
        rest = max(rest, finest_tolerance(X.dtype) / 2)
        if keep.any():
            rest += float(np.maximum(values[~keep], 0.0).sum() / values[keep].sum())
        values, vectors = values[keep], vectors[:, keep]
        inside = vectors / np.sqrt(values) if flipped else vectors
        right = space.combine_image(inside) if flipped else space.combine(inside)
        shown = _inspected(X, values, right, rng)
        if shown.missing <= tol or shown.off > tol or n_iter >= max_iter:
            break
        if not space.add(random_rows()):
            break
    rest = float(max(rest, shown.missing))
    return TruncatedSVD(values, right, n_iter, rest, bool(rest <= tol), shown)


def _inspected(X: Operator, values: Array, right: Array, rng: np.random.Generator) -> Inspection:
    if not values.size:
        return Inspection(0.0, 0.0, 0.0)
    return inspect(
        X.normal,
        lambda coefficients: times(right, coefficients),
        lambda block: remove(block, [right]),
        values,
        X.random_block(X.shape[1], _OUTSIDE, rng),
    )


def _grow(
    space: KrylovSpace,
    count: int,
    width: int,
    n_iter: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> tuple[float, int]:
    """Expand a space until the estimated missing part is below ``tol``; return both."""
    side = space.X
    most = max(4 * count, count + 4 * width)
    noise = rounding(side.dtype)
    gains: list[float] = []
    energy, rest = np.nan, np.inf
    while n_iter < max_iter or space.size < count:
        done = rest <= tol or space.exhausted
        if done and np.isfinite(rest) and not space.exhausted:
            # The inspection tests random directions, which is enough if powers of the block
            # still add some.
            break
        if done:
            if np.isnan(energy):
                energy = float(leading_values(space.gram, count).sum())
            if not space.add(side.random_block(side.shape[1], 2 * _PROBE, rng)):
                # The space is complete.
                return 0.0, n_iter
        space.expand()
        n_iter += 1
        if space.size >= min(2 * count, side.shape[1]):
            before, energy = energy, float(leading_values(space.gram, count).sum())
            unseen = _SAFETY * (energy - before) / energy
            if done and unseen <= tol:
                rest = max(rest if np.isfinite(rest) else 0.0, unseen)
                break
            if done:
                gains, rest = [], np.inf
            elif not np.isnan(before):
                gains.append(energy - before)
                rest = rest_of(gains, energy, noise)
        if space.size > most:
            space.compress(count + width)
            # Gains across a restart do not decrease like those inside a cycle.
            gains, energy = [], np.nan
    return rest, n_iter
