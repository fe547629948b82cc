"""``krylov``: the leading directions in a block Krylov space, where both n and d are large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..errors import LabelspanWarning, warn_caller
from ..labels import Factor
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
from .accuracy import rounding, sentence, unsure
from .exact import Exact, small_enough
from .krylov_space import (
    MANY_COPIES,
    OUTSIDE,
    PROBE,
    SAFETY,
    SMOOTH_WIDTH,
    Inspection,
    KrylovSpace,
    NormalSpace,
    finest_tolerance,
    inspect,
    rest_of,
    truncated_svd,
)
from .label_probes import LabelProbes, random_signs, regress_mixtures
from .label_views import ByImages, ByPasses, LabelViews
from .orthonormal import remove
from .penalties import L1
from .problem import Problem, Solution, solve_arranged
from .regression import regress, regress_to_share
from .shaped_rows import ShapedRows
from .small_dense import Ritz, psd_solve, ritz, thin_spectrum

__all__ = ["Grown", "Krylov", "grow"]

_FEATURES_TOL = 6e-3
_LABELS_TOL = 1e-2
# The same for the eigenvalues of a thin factor.
_THIN_TOL = 5e-3
# The most blocks of a space, and iterations of conjugate gradients.
_BLOCKS, _ITERATIONS = 100, 1000
# The part of what a step along its residual must bring that a regression has to gain.
_GAINED = 0.1
# Residual of the regression where rows are read in passes, relative to the tolerance.
_IN_PASSES = 0.1
# What all labels outside the first block would add, for each part that two mixtures of them do.
_LABELS_SAFETY = 40.0
# What is reported with labels is at least this many times the estimate that ends the iteration.
_REPORTED = 2.0
# and this many times what a step along the residuals of two mixtures of the labels adds.
_HIDDEN = 6.0
# Random mixtures of the labels that tell the size of all regressed labels.
_MIXTURES = 8
# The finest tolerance for which small problems are solved on a device, whose eigenvectors were seen
# to be off by 3e-8.
_DEVICE_TOL = 1e-6
# Directions up to which a space may have all of them.
_MANY_DIRECTIONS = 512
# Entries up to which data in float32 is solved in float64.
_SMALL = 1 << 22


@dataclass(frozen=True)
class Krylov:
    """Find the leading directions in a Krylov space, to a stated share of the objective.

    For features only, a truncated SVD. With regressed labels the space starts from the features'
    view of the labels, ``X'[Y, random]``, and serves twice: the ridge regression of the labels and
    the leading directions of features and regressed labels are both found inside it. With a thin
    factor, block conjugate gradients for all labels at once, then a small eigenproblem. Rows in
    files or on other machines are read once for each block.

    Parameters
    ----------
    tol : float or None
        Stop when the objective that is missing is estimated below this fraction of the
        objective found; by default 6e-3 without labels, 1e-2 with them and 5e-3 for a thin factor,
        where a number is the relative residual of the regressions instead. The estimate goes on
        from the last gains at half their rate, and holds only if random directions and the
        residual of the labels' regression add no more than that. On a sweep of spectra (flat,
        steep, in steps, units over eight decades, float32; 3 to 100 labels) what is reported was
        never below what was missing: with labels that is twice the estimate, and more where the
        estimate is far below ``tol``, because the last gains say little of what is that small, or
        where labels outside the first block would add more. It is an estimate, not a bound. With
        a ``tol`` below 4e-6, data in float32 is multiplied in float64, as far as it is in memory or
        on a device; otherwise 4e-6 is used, with a warning.
    max_iter : int or None
        The most blocks that a space grows by, beyond those that ``n_components`` needs, or
        iterations of conjugate gradients; None is 100 and 1,000.
    seed : int
        The same seed gives the same answer.

    See Also
    --------
    Exact : Direct, for data with one short side.

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
        factor = problem.factor
        if isinstance(problem.penalty, L1):
            return "solver='krylov' cannot take penalty='l1'."
        if factor.thin and factor.labels is not None:
            return None
        if factor.regression is not None and factor.regression.mix is not None:
            return (
                "solver='krylov' cannot take a factor whose regressed labels are mixed, which "
                "needs the regression to full convergence."
            )
        if problem.metric_alpha or (factor.labels is not None and factor.regression is None):
            return (
                "solver='krylov' cannot take labels that are not regressed on X next to the "
                "features, or a penalty in their metric."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        X, finest = problem.X, finest_tolerance(problem.X.dtype)
        if self.tol is not None and self.tol < finest and X.dtype != np.float64:
            exact = X.in_float64()
            if exact is not None:
                return self.solve(replace(problem, X=exact))
            warn_caller(
                f"tol={self.tol:.0e} is below what {X.dtype} can tell; {finest:.0e} is used. Give "
                "X in float64 for less.",
                LabelspanWarning,
            )
        if X.dtype != np.float64 and X.device is None and X.shape[0] * X.shape[1] <= _SMALL:
            # In few entries float64 costs nothing, and features in small units are not lost.
            wide = as_operator(X.wide_rows(slice(0, X.shape[0])))
            return self._solve(replace(problem, X=wide))
        return solve_arranged(problem, self._solve)

    def _solve(self, problem: Problem) -> Solution:
        rng = np.random.default_rng(self.seed)
        if problem.factor.labels is None:
            return self._features(problem, rng)
        if problem.factor.thin:
            return self._labels(problem, problem.factor.labels)
        return self._features_and_labels(problem, problem.factor.labels, rng)

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
                f"Regressed by {fit.method}; the eigenvalues still to come are estimated at "
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
            statistics={"method": fit.method},
        )

    @property
    def _blocks(self) -> int:
        return self.max_iter or _BLOCKS

    def _tolerance(self, problem: Problem, default: float) -> float:
        return max(default if self.tol is None else self.tol, finest_tolerance(problem.X.dtype))

    def _features(self, problem: Problem, rng: np.random.Generator) -> Solution:
        tol = max(
            _FEATURES_TOL if self.tol is None else self.tol, finest_tolerance(problem.X.dtype)
        )
        svd = truncated_svd(
            problem.X, problem.n_components, tol=tol, max_iter=self._blocks, rng=rng
        )
        weights = scale_columns(svd.right, 1 / np.sqrt(svd.values))
        values = problem.factor.share * svd.values
        return self._solution(weights, values, svd.n_iter, svd.rest, tol=tol, seen=svd.seen)

    def _features_and_labels(
        self, problem: Problem, labels: Array, rng: np.random.Generator
    ) -> Solution:
        X, factor, count = problem.X, problem.factor, problem.n_components
        tol = self._tolerance(problem, _LABELS_TOL)
        grown, size = None, 0
        while True:
            grown = grow(
                X,
                labels,
                factor,
                count,
                tol=tol,
                max_iter=self._blocks,
                rng=rng,
                since=grown,
                in_passes=X.one_pass,
            )
            space, best = grown.space, grown.best
            weights = space.combine(best.inside)
            seen = _inspected(X, grown, weights, factor, rng)
            lost = grown.unfitted > tol or best.cut or seen.off > tol or grown.crowded
            if lost and X.one_pass and X.shape[0] >= X.shape[1]:
                return self._in_passes(problem, labels, tol, rng)
            if lost and small_enough(X):
                # Directions too short for powers of X'X: the data is factorised instead.
                return Exact().solve(problem)
            # A space that did not grow since the last time is complete.
            if lost or seen.missing <= tol or len(space.basis) >= self._blocks:
                break
            if space.size == size:
                break
            size = space.size
        images = best.inside.T @ grown.seen
        rest = max(grown.rest, grown.unfitted, seen.missing)
        reported = max(
            _REPORTED * rest,
            grown.hidden,
            grown.unsized if np.isfinite(grown.unsized) else 0.0,
            float(np.sqrt(min(rest, tol) * tol)),
        )
        return self._solution(
            weights,
            best.values,
            len(space.basis),
            rest,
            reported=reported,
            tol=tol,
            seen=seen,
            images=images,
            label_axes=best.label_axes,
            level=best.level,
            embed=None if X.one_pass else partial(space.combine_image, best.inside),
        )

    def _in_passes(
        self, problem: Problem, labels: Array, tol: float, rng: np.random.Generator
    ) -> Solution:
        """Regress the labels first, then find the directions, where one space loses digits.

        The directions are those of ``X (share I + B B')^1/2``, B being the slopes. Three times the
        passes of one space for both.
        """
        X, factor = problem.X, problem.factor
        assert factor.regression is not None
        fit = regress(X, labels, factor.regression.alpha, tol=_IN_PASSES * tol)
        slopes = X.place(fit.slopes)
        normal = X.normal(slopes)
        level = factor.regression.rescale(float(np.sqrt(inner(slopes, normal).trace())))
        shaped = ShapedRows(X, factor.share, level * slopes)
        svd = truncated_svd(shaped, problem.n_components, tol=tol, max_iter=self._blocks, rng=rng)
        weights = shaped.shape_block(svd.right / like(np.sqrt(svd.values), svd.right))
        rest = svd.rest if fit.converged else max(svd.rest, fit.error or fit.residual)
        return self._solution(
            weights,
            svd.values,
            svd.n_iter,
            rest,
            tol=tol,
            seen=svd.seen,
            label_axes=level**2 * inner(normal, weights) / np.sqrt(svd.values),
            level=level,
        )

    def _solution(
        self,
        weights: Array,
        values: Array,
        n_iter: int,
        rest: float,
        *,
        tol: float,
        seen: Inspection,
        reported: float | None = None,
        images: Array | None = None,
        label_axes: Array | None = None,
        level: float = 1.0,
        embed: Callable[[], Array] | None = None,
    ) -> Solution:
        converged = rest <= tol
        rest = rest if reported is None else reported
        shown = f"fresh products with X show {seen.missing:.0e}"
        status = (
            f"The objective still to come is estimated at {rest:.1e} of the objective found; "
            f"{shown}."
        )
        if seen.off > tol:
            status = (
                f"The directions differ from orthonormal ones by {seen.off:.0e} in fresh products "
                "with X; scale the columns of X, or give X in float64."
            )
        elif not converged:
            status = (
                f"solver='krylov' stopped after {n_iter} blocks with {rest:.1e} of the "
                f"objective estimated to be missing ({shown}); raise max_iter or tol, or use an "
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
            images=images,
            label_axes=label_axes,
            level=level,
            statistics={"shown": float(seen.missing)},
            embed=embed,
        )


@dataclass(frozen=True)
class Grown:
    """A Krylov space for features and labels.

    ``seen`` is ``P'X'L``, which grows with the space: that costs less than X'L, and serves
    the regression and the label loadings. ``best`` are its leading directions, ``rest`` is the
    share of the objective that is estimated to be missing, and ``unfitted`` the share that the
    labels' regression would still add, where rounding keeps it from the space. ``squares`` are
    the squared lengths of the columns, estimated; ``step`` is what a step along the residual of
    the regression adds, None where that was tried before the newest directions were found.
    ``hidden`` is what labels outside the first block would add, from random combinations of them.
    ``probes`` tell the size of the regressed labels outside the space; ``unsized`` is the part of
    their squared norm that is estimated to be missing where nothing tells it. ``crowded`` tells
    that the space has become so large that a decomposition costs less.
    """

    space: KrylovSpace
    seen: Array
    best: Ritz
    rest: float
    squares: Array
    unfitted: float
    step: _Step | None
    hidden: float
    probes: LabelProbes | None
    unsized: float
    views: LabelViews
    crowded: bool = False


def grow(  # noqa: PLR0912, PLR0915 - one loop, whose steps share their state
    X: Operator,
    labels: Array,
    factor: Factor,
    count: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    probe: bool = True,
    since: Grown | None = None,
    in_passes: bool = False,
) -> Grown:
    """Grow a space until the objective that is missing is estimated below ``tol`` of itself.

    With ``probe``, directions that the powers of X'X may have missed are tried before the
    estimate is believed; that costs four to six products with 2 to 4 columns. A space that was
    found to lack directions, ``since``, goes on from another random block. ``in_passes`` reads
    the rows once for each block, and keeps nothing that is as long as they are.
    """
    labels = X.place(labels)
    assert factor.regression is not None
    if since is None:
        views: LabelViews = (ByPasses if in_passes else ByImages)(X, labels)
        space, seen, squares = _opened(views, factor, count, rng)
    else:
        views = since.views
        space, seen, squares = _widened(since, count, rng)
    noise = rounding(X.dtype)
    probes = None if since is None else since.probes
    fits: list[float] = []
    unsized = 0.0

    alpha = factor.regression.alpha
    signs = random_signs(labels.shape[1], _MIXTURES, 0)
    device = X.device if tol >= _DEVICE_TOL else None

    def solved(vectors: bool = True) -> Ritz:
        outside: Callable[[Array], float] | None = None
        if probes is not None:
            outside = partial(probes.outside, space.gram, signs)
        return ritz(space.gram, seen, factor, count, 64 * noise, device, outside, vectors)

    best: Ritz | None = None
    # A space that has half of all directions costs as much as a decomposition.
    most = np.inf
    if X.short_side > _MANY_DIRECTIONS and small_enough(X) and not X.one_pass:
        most = max(X.short_side // 2, count)
    gains: list[float] = []
    rest, held, unfitted, hidden, probing = np.inf, 0.0, 0.0, 0.0, False
    step, fitted, tried = _Step(0.0, 0.0, 0.0), 0.0, False
    while True:
        if space.size >= min(count, *X.shape) or space.exhausted:
            newest = solved()
            if best is not None:
                # By the newest regression, the newest directions can only be worth more.
                gain = newest.worth - newest.worth_of(best.inside)
                unseen = SAFETY * abs(gain) / newest.worth
                if probing:
                    # The regression has to gain what one step along its residual does; where
                    # it does not, features in small units are lost among the others.
                    unfitted = step.lost(_fitted(seen, newest.slopes) - fitted, newest)
                if probing and unseen <= tol:
                    rest, best = max(held, unseen), newest
                    break
                gains = [] if probing else [*gains, gain]
                wide = space.basis[0].shape[1] >= MANY_COPIES
                rest = rest_of(gains, newest.worth, noise, wide=wide)
            if not probing:
                fits.append(_fitted(seen, newest.slopes))
            best, probing = newest, False
        if best is not None and (len(space.basis) >= max_iter or space.size > most):
            break
        if best is not None and (rest <= tol or space.exhausted):
            if probes is None and not space.exhausted and factor.regression.norm is not None:
                # Regressed labels that the space has not met have a part of the norm.
                unsized = rest_of(np.diff(fits).tolist(), fits[-1], noise, wide=True)
                if unsized > tol:
                    mixed = times(labels, signs)
                    near = psd_solve(space.gram, seen @ signs, alpha, 64 * noise)
                    start = space.combine(near)
                    probes = regress_mixtures(
                        X, mixed, alpha, tol, cross=views.crossed(signs), start=start
                    )
                    best = solved()
                    unsized = 0.0 if probes is not None else unsized
            if not probe:
                break
            probing, held = True, rest if np.isfinite(rest) else 0.0
            missed, step = _missed(space, views, best, factor.regression.alpha, squares, rng)
            fitted, complete = _fitted(seen, best.slopes), space.exhausted
            if not space.add(missed):
                rest = max(held, 16 * noise)
                # A residual that rounding keeps out of the space, or one that is rounding.
                unfitted, tried = step.lost(0.0, best), True
                break
            seen = np.concatenate([seen, views.seen(space)])
            if space.basis[0].shape[1] >= MANY_COPIES and np.isfinite(rest):
                # The regression is all that there is to look at: labels outside the first block.
                newest = solved(vectors=False)
                unfitted = step.lost(_fitted(seen, newest.slopes) - fitted, best)
                if complete:
                    # No power of the first block will show what else there is.
                    gain = newest.worth - newest.worth_of(best.inside)
                    rest = max(rest, _LABELS_SAFETY * abs(gain) / newest.worth)
                if rest <= tol:
                    hidden = _HIDDEN * abs(newest.worth / best.worth - 1)
                    space.drop()
                    seen, tried = seen[: space.size], True
                    break
                best, gains, probing = solved(), [], False
        if space.expand():
            seen = np.concatenate([seen, views.seen(space)])
    newest_step = step if tried else None
    return Grown(
        space,
        seen,
        best,
        float(rest),
        squares,
        float(unfitted),
        newest_step,
        hidden,
        probes,
        unsized,
        views,
        bool(space.size > most and rest > tol),
    )


def _inspected(
    X: Operator, grown: Grown, weights: Array, factor: Factor, rng: np.random.Generator
) -> Inspection:
    """Check directions and regression by fresh products with X.

    What one step along the residual of the labels' regression adds to the directions is missing
    too.
    """
    space, best = grown.space, grown.best
    if not best.values.size:
        return Inspection(0.0, 0.0, 0.0)
    if isinstance(space, NormalSpace):
        seen = _inspected_in_passes(space, best, factor.share, rng)
    else:
        seen = _inspected_by_images(space, best, weights, factor.share, rng)
    step = grown.step
    if step is None:
        assert factor.regression is not None
        alpha = factor.regression.alpha
        step = _missed(space, grown.views, best, alpha, grown.squares, rng)[1]
    return replace(seen, inside=max(seen.inside, best.level**2 * step.gain / best.worth))


def _inspected_by_images(
    space: KrylovSpace, best: Ritz, weights: Array, share: float, rng: np.random.Generator
) -> Inspection:
    """Check that V = X W are eigenvectors of ``X (share I + B B') X'``, B being the slopes."""
    X, slopes = space.X, best.level * best.slopes

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
        X.random_block(X.shape[0], OUTSIDE, rng),
    )


def _inspected_in_passes(
    space: NormalSpace, best: Ritz, share: float, rng: np.random.Generator
) -> Inspection:
    """Check the same on the side of the columns.

    With R the root of ``share I + B B'``, ``R X'X W`` are eigenvectors of ``R X'X R``.
    """
    X = space.X
    shaped = ShapedRows(X, share, space.combine(best.level * best.slopes))
    lengths = np.sqrt(best.values)
    right = shaped.shape_block(space.combine_normal(best.inside / lengths))
    return inspect(
        shaped.normal,
        lambda coefficients: times(right, coefficients),
        lambda block: remove(block, [right]),
        best.values,
        X.random_block(X.shape[1], OUTSIDE, rng),
    )


def _opened(
    views: LabelViews, factor: Factor, count: int, rng: np.random.Generator
) -> tuple[KrylovSpace, Array, Array]:
    """Return a space of one block, ``seen``, and the squared lengths of the columns."""
    assert factor.regression is not None
    space, squares = views.opened(count, rng)
    return space, views.seen(space), squares + factor.regression.alpha


def _widened(
    since: Grown, count: int, rng: np.random.Generator
) -> tuple[KrylovSpace, Array, Array]:
    """Add a random block to a space that was found to lack directions."""
    space, seen = since.space, since.seen
    width = max(space.basis[0].shape[1], -(-count // (3 * SMOOTH_WIDTH)) * SMOOTH_WIDTH)
    if space.add(since.views.random_rows(width, rng)):
        seen = np.concatenate([seen, since.views.seen(space)])
    return space, seen, since.squares


class _Step(NamedTuple):
    """The energy that one step along the regression's residual adds to the fitted labels.

    ``total`` is estimated for all labels, ``sure`` is that of one combination, and ``gain`` is
    how much more of the fitted labels lies along the directions found.
    """

    total: float
    sure: float
    gain: float

    def lost(self, gained: float, found: Ritz) -> float:
        """Return the share of the objective that the space does not gain although it should."""
        missing = found.level**2 * self.total / found.worth
        return missing if gained < _GAINED * self.sure else 0.0


def _fitted(seen: Array, slopes: Array) -> float:
    """Return the energy of the fitted labels, ``tr L'X (X'X + alpha I)^-1 X'L``."""
    return float((seen * slopes).sum())


def _missed(  # noqa: PLR0917
    space: KrylovSpace,
    views: LabelViews,
    best: Ritz,
    alpha: float,
    squares: Array,
    rng: np.random.Generator,
) -> tuple[Array, _Step]:
    """Return directions that the space may have missed, and what a step along them fits.

    The residual of the regression, from fresh products with X, for random combinations of
    the labels, divided by the squared lengths of the columns: a feature in small units
    counts as any other. And random directions, where the first block is too narrow for all
    copies of an eigenvalue.
    """
    X = space.X
    mixing = rng.standard_normal((best.slopes.shape[1], PROBE))
    inside = best.slopes @ mixing
    slopes, fitted = space.combine(inside), space.gram @ inside
    gap = views.residual(slopes, mixing) - alpha * slopes
    step = gap / like(np.where(squares > 0, squares, np.inf)[:, None], gap)
    lengths, image = views.mapped(space, step)
    descent = np.square((host(gap) * host(step)).sum(axis=0))
    cost = lengths + alpha * np.square(column_norms(step))
    energy = np.divide(descent, cost, out=np.zeros_like(cost), where=cost > 0)
    sure = float((energy / np.square(mixing).sum(axis=0)).max())
    length = np.divide(np.sqrt(descent), cost, out=np.zeros_like(cost), where=cost > 0)
    before, change = best.inside.T @ fitted, best.inside.T @ image * length
    gain = float((2 * before * change + np.square(change)).sum()) / PROBE
    block = step
    if space.basis[0].shape[1] < MANY_COPIES:
        block = concatenate([step, X.random_block(X.shape[1], PROBE, rng)], axis=1)
    lengths = column_norms(block)
    alive = np.flatnonzero(lengths > 0)
    tried = _Step(float(energy.mean()), sure, max(gain, 0.0))
    return block[:, alive] / like(lengths[alive], block), tried
