"""``krylov``: the leading directions in a block Krylov space, for large n and d."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from ..errors import LabelspanWarning, warn_caller
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    column_norms,
    concatenate,
    host,
    inner,
    inner_all,
    like,
    scale_columns,
    times,
)
from .exact import Exact
from .krylov_space import (
    OUTSIDE,
    PROBE,
    SMOOTH_WIDTH,
    Inspection,
    KrylovSpace,
    LabelBlock,
    finest_tolerance,
    inspect,
    orthonormalize,
    remaining_blocks,
    remove,
    rest_of,
    truncated_svd,
    unit_columns,
)
from .problem import (
    L1,
    Problem,
    Solution,
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
    psd_solve,
    ritz,
    scaled_cholesky,
    thin_ritz,
    thin_spectrum,
)

__all__ = ["Krylov", "LabelledSpace", "krylov_bytes"]

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
        extra += -(few + extra) % SMOOTH_WIDTH
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
        X, width = self.X, max(self._width, -(-self._count // (3 * SMOOTH_WIDTH)) * SMOOTH_WIDTH)
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
        mixing = self._rng.standard_normal((self.labels.width, PROBE))
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
        gain = float((2 * before * change + np.square(change)).sum()) / PROBE
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
            X.random_block(X.shape[0], OUTSIDE, self._rng),
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
            X.random_block(X.shape[1], OUTSIDE, self._rng),
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
    block = max(count, _LABEL_AXES) + max(SMOOTH_WIDTH, count // 10)
    longest = rows or columns
    size = min((blocks or _OPERATOR_BLOCKS) * block, longest, columns)
    # The latest block with its products, and the directions with theirs.
    thin = size * (longest + columns) + 3 * block * (longest + labels)
    thin += 2 * count * (columns + labels)
    # The labels along the space, and its square arrays, in float64.
    return width * thin + 8 * size * (labels + _SQUARES * size)
