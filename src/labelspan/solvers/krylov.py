"""``krylov``: the leading directions in a block Krylov space, for large n and d.

Labels are regressed on the features first, by block conjugate gradients with columns of unit
length. Methods made only of labels then have an eigenproblem as wide as the labels. If the features
are part of the objective, the directions are the leading left singular vectors of
``[c X, c' X B]``, B being the coefficients of the regression: one Krylov loop, without B for LSI.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import LabelspanWarning, warn_caller
from ..labels import Factor
from ..operators import Operator
from ..operators.array_backend import host, scale_columns, sum_of_squares
from .block_krylov import BLOCK_WIDTH, TruncatedSVD, truncated_svd
from .fitted_labels import WithLabels, fitted_square, level_of, targets_of
from .problem import (
    Problem,
    Solution,
    finest_tolerance,
    sentence,
    solve_arranged,
    squared_units,
    unsure,
)
from .regression import Regressed, few_enough, regress
from .small_dense import leading_pairs, orthonormalize, thin_spectrum

__all__ = ["Krylov", "KrylovOptions"]

# The smallest tolerance for which float32 is used, the smallest penalty relative to the sum of
# squares, and the range of that sum.
_ROUGH, _PENALTY, _LOW, _HIGH = 1e-3, 1e-5, 1e-20, 1e20
# Number of subspace iterations for the leading directions of many labels.
_LABEL_STEPS = 3


@dataclass(frozen=True)
class KrylovOptions:
    """Thresholds of :class:`Krylov`.

    Parameters
    ----------
    features_tol, labels_tol, thin_tol : float
        Default tolerances without labels, with features and labels, and only with labels.
    blocks, iterations : int
        Maximum number of blocks of a space, and of iterations of conjugate gradients.
    each_label : int
        Up to this many labels, each is regressed; of more labels, as many leading combinations as
        the directions need. Next to features, these combinations stand for the labels.
    probes : int
        Number of random combinations of the labels that estimate the norm of the others.
    rounds : int
        Maximum number of times that the combinations of the labels are improved, for a thin factor.
    direct : int
        Up to this smaller side of X a regression may be solved directly, if that costs less.
    in_float64 : int
        Up to this many entries, data in float32 is solved in float64.
    in_float32 : tuple of (int, int)
        From this many entries, and up to that many stored ones, data is solved in float32 if its
        columns have similar units, so that the tolerance needs no more digits.

    See Also
    --------
    Krylov : The solver.

    Examples
    --------
    >>> from labelspan.solvers.krylov import KrylovOptions
    >>> KrylovOptions(direct=0).each_label
    256
    """

    features_tol: float = 5e-3
    labels_tol: float = 1e-2
    thin_tol: float = 5e-3
    blocks: int = 100
    iterations: int = 1000
    each_label: int = 256
    probes: int = 32
    rounds: int = 8
    direct: int = 4096
    in_float64: int = 1 << 22
    in_float32: tuple[int, int] = (1 << 19, 1 << 27)


@dataclass(frozen=True)
class Krylov:
    """Find the leading directions in a Krylov space, to a given accuracy of the objective.

    For features only, this is a truncated SVD. Labels are regressed on the features by block
    conjugate gradients with columns of unit length, or directly if n or d is small enough for that
    to cost less. With a thin factor, a small eigenproblem follows; with features, a truncated SVD
    of features and regressed labels together. Rows in files or on other machines are read once
    for each block and each iteration.

    Parameters
    ----------
    tol : float or None
        Stop when the missing part of the objective is estimated below this fraction
        of the objective found; by default 1e-2 with features and labels, and 5e-3 otherwise. For a
        thin factor a given number is the relative residual of the regressions instead. The estimate
        continues the last gains at a slower rate, and new products with X test it. It is an
        estimate, not a bound. With a ``tol`` below 4e-6, float32 data in memory or on a device is
        multiplied in float64; otherwise 4e-6 is used, with a warning.
    max_iter : int or None
        Maximum number of blocks of the space, and of iterations of conjugate gradients; None means
        100 and 1,000.
    seed : int
        The same seed gives the same answer.
    options : KrylovOptions
        Thresholds, for tests and experiments.

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
    options: KrylovOptions = field(default_factory=KrylovOptions)

    @property
    def name(self) -> str:
        return "krylov"

    def why_not(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem) -> Solution:
        X, finest = problem.X, finest_tolerance(problem.X.dtype)
        if self.tol is not None and self.tol < finest and X.dtype != np.float64:
            exact = X.in_type(np.float64)
            if exact is not None:
                return self.solve(replace(problem, X=exact))
            warn_caller(
                f"tol={self.tol:.0e} is below what {X.dtype} can tell; {finest:.0e} is used. Pass "
                "X in float64 for less.",
                LabelspanWarning,
            )
        if self._is_mild(problem):
            # Half of the digits suffice, and take half of the time.
            rough = X.in_type(np.float32)
            if rough is not None:
                found = solve_arranged(replace(problem, X=rough), self._solve)
                if found.converged and found.eigenvalues.size == problem.n_components:
                    return found
        wide = None
        if X.dtype == np.float64 or X.device is not None or _entries(X) > self.options.in_float64:
            found = solve_arranged(problem, self._solve)
            few = not problem.factor.thin and found.eigenvalues.size < problem.n_components
            # Next to columns in large units, short directions have no digits in float32.
            if few and X.dtype != np.float64 and X.device is None and np.ptp(squared_units(X)):
                wide = X.in_type(np.float64)
            if wide is None:
                return found
        wide = X.in_type(np.float64) if wide is None else wide
        return solve_arranged(problem if wide is None else replace(problem, X=wide), self._solve)

    def _is_mild(self, problem: Problem) -> bool:
        """Return whether float32 has enough digits, and X is neither small nor huge."""
        X, factor = problem.X, problem.factor
        rough = self.tol is None or self.tol >= _ROUGH
        fewest, most = self.options.in_float32
        if not rough or X.device is not None or _entries(X) < fewest:
            return False
        if _entries(X) * X.fill > most:
            return False
        square, alpha = X.sum_of_squares(), problem.alpha
        if factor.regression is not None:
            alpha = factor.regression.alpha
        labelled = factor.labels is not None
        if (labelled and alpha < _PENALTY * square) or not _LOW < square < _HIGH:
            return False
        units = squared_units(X)
        return bool(units.max() <= units.min())

    def _solve(self, problem: Problem) -> Solution:
        factor = problem.factor
        if factor.labels is None:
            return self._features(problem)
        return self._thin(problem) if factor.thin else self._both(problem)

    # --- features only ----------------------------------------------------------------

    def _tolerance(self, problem: Problem, default: float) -> float:
        return max(default if self.tol is None else self.tol, finest_tolerance(problem.X.dtype))

    def _svd(self, X: Operator, count: int, tol: float) -> TruncatedSVD:
        rng, most = np.random.default_rng(self.seed), self.max_iter or self.options.blocks
        return truncated_svd(X, count, tol=tol, max_iter=most, rng=rng)

    def _features(self, problem: Problem) -> Solution:
        tol = self._tolerance(problem, self.options.features_tol)
        svd = self._svd(problem.X, problem.n_components, tol)
        weights = scale_columns(svd.right, 1 / np.sqrt(svd.values))
        return self._solution(
            weights, problem.factor.share * svd.values, svd, tol=tol, embed=svd.left
        )

    # --- features and labels ----------------------------------------------------------

    def _both(self, problem: Problem) -> Solution:
        """Regress the labels, then find the directions of features and fitted labels together.

        Many labels are represented by their leading combinations: those of the labels along the
        directions would be more of the objective, but items with similar labels are not nearer.
        """
        X, factor, count = problem.X, problem.factor, problem.n_components
        assert factor.regression is not None
        alpha, tol = factor.regression.alpha, self._tolerance(problem, self.options.labels_tol)
        labels = problem.factor.labels
        assert labels is not None
        few = self._each(X, factor, labels.shape[1], count)
        axes = None if few else self._leading(labels, count + BLOCK_WIDTH)
        targets = targets_of(X, factor, axes)
        wanted = problem.leverage
        fit = self._regress(X, targets, alpha, tol / 2, fitted=True, leverage=wanted)
        fitted = fit.fitted(X) if X.shape[0] < X.shape[1] and not X.one_pass else None
        square = fitted_square(X, fit, alpha) if fitted is None else sum_of_squares(fitted)
        others = 0.0 if axes is None else self._square_of_others(X, factor, axes, tol)
        level = level_of(factor, others + float(square), fit)
        stacked = WithLabels(X, fit, fitted, float(np.sqrt(factor.share)), level)
        svd = self._svd(stacked, count, max(tol - max(fit.missing, 0.0), tol / 2))
        along = host(svd.right[X.shape[1] :]).astype(np.float64)
        return self._solution(
            stacked.weights(svd),
            svd.values,
            svd,
            tol=tol,
            more=fit.missing,
            fitted=fit.converged,
            combinations=0 if axes is None else axes.shape[1],
            label_axes=level * (along if axes is None else axes @ along),
            level=level,
            embed=svd.left,
            leverage=fit.leverage,
        )

    def _regress(
        self, X: Operator, targets: Array, alpha: float, share: float, **options: bool
    ) -> Regressed:
        return regress(
            X,
            targets,
            alpha,
            share=max(share, finest_tolerance(X.dtype)),
            max_iter=self.max_iter or self.options.iterations,
            direct=self.options.direct,
            **options,
        )

    def _each(self, X: Operator, factor: Factor, labels: int, count: int) -> bool:
        """Return whether each label is regressed; only few if they are sparse, for their memory."""
        if factor.many:
            return labels <= min(self.options.each_label, 2 * max(count, BLOCK_WIDTH))
        return labels <= self.options.each_label or few_enough(X, labels, self.options.direct)

    def _leading(self, labels: Operator, count: int) -> Array:
        """Return orthonormal combinations that hold most of the squared norm of the labels."""
        rng = np.random.default_rng(self.seed)
        width = min(labels.shape[1], max(count, 2 * BLOCK_WIDTH))
        axes: Array = rng.standard_normal((labels.shape[1], width))
        for _ in range(_LABEL_STEPS):
            axes = orthonormalize(host(labels.normal(labels.place(axes))))[0]
        return axes

    def _square_of_others(self, X: Operator, factor: Factor, axes: Array, tol: float) -> float:
        """Estimate the squared norm of the fitted labels outside some combinations of them."""
        assert factor.regression is not None
        rng, probes = np.random.default_rng(self.seed + 1), self.options.probes
        signs = rng.choice([-1.0, 1.0], (axes.shape[0], probes))
        signs = (signs - axes @ (axes.T @ signs)) / np.sqrt(probes)
        fit = self._regress(X, targets_of(X, factor, signs), factor.regression.alpha, tol / 4)
        return fitted_square(X, fit, factor.regression.alpha)

    # --- labels only ------------------------------------------------------------------

    def _thin(self, problem: Problem) -> Solution:
        """Solve a thin factor: regressions first, then an eigenproblem as wide as the labels."""
        X, alpha, count = problem.X, problem.alpha, problem.n_components
        labels = problem.factor.labels
        assert labels is not None
        width = labels.shape[1]
        if width > 2 * count and not self._each(X, problem.factor, width, count):
            return self._thin_of_many(problem, labels)
        most = self.max_iter or self.options.iterations
        tol = None if self.tol is None else max(self.tol, finest_tolerance(X.dtype))
        share = self.options.thin_tol if alpha > 0 and tol is None else None
        fit = regress(
            X,
            targets_of(X, problem.factor),
            alpha,
            tol=tol,
            share=share,
            max_iter=most,
            direct=self.options.direct,
            leverage=problem.leverage,
        )
        values, axes = thin_spectrum(fit.agreement, count)
        mixing = axes / np.sqrt(values)
        status = sentence(f"Regression: {fit.method}", fit.residual)
        if fit.to_come is not None:
            status = (
                f"Regression: {fit.method}; the missing eigenvalues are estimated at "
                f"{fit.to_come:.1e} of those found."
            )
        if not fit.converged and fit.method.startswith("block"):
            known = "an unknown part" if fit.to_come is None else f"{fit.to_come:.1e}"
            status = (
                f"solver='krylov' stopped after {fit.n_iter} iterations with a relative residual "
                f"of {fit.residual:.1e}, and {known} of the eigenvalues estimated to be missing; "
                "raise alpha, max_iter or tol."
            )
        elif not fit.converged:
            status = unsure(max(fit.error or 0.0, fit.residual), fit.residual)
        return Solution(
            fit.slopes.matmat(mixing),
            values,
            self.name,
            exact=fit.to_come is None,
            converged=fit.converged,
            status=status,
            n_iter=fit.n_iter,
            residual=fit.residual if fit.to_come is None else fit.to_come,
            error=fit.error,
            # W'X'L without a product: the agreement is L'X G, and W = G mixing.
            images=mixing.T @ fit.agreement.T,
            leverage=fit.leverage,
        )

    def _thin_of_many(self, problem: Problem, labels: Operator) -> Solution:
        """Do the same for few of many directions, from combinations of the labels.

        The regression G of some combinations spans the space in which the directions are found;
        the labels along these directions are better combinations.
        """
        X, alpha, count = problem.X, problem.alpha, problem.n_components
        tol = self.options.thin_tol if self.tol is None else self.tol
        axes, total, gained, n_iter = self._leading(labels, 2 * count), 0.0, np.inf, 0
        for _ in range(self.options.rounds):
            fit = self._regress(X, targets_of(X, problem.factor, axes), alpha, tol / 4)
            n_iter += fit.n_iter
            seen = host(labels.rmatmat(labels.place(host(fit.fitted(X)))))
            metric = axes.T @ seen
            values, inside = leading_pairs(seen.T @ seen, (metric + metric.T) / 2, 2 * count)
            before, total = total, float(values[:count].sum())
            gained = (total - before) / total
            if gained <= tol / 2:
                break
            axes = orthonormalize((seen @ inside).astype(np.float64))[0]
        values, inside = values[:count], inside[:, :count]
        keep = values > 0
        values, inside = values[keep], inside[:, keep]
        missing = max(fit.missing, 0.0) + 2 * abs(gained)
        done = fit.converged and gained <= tol / 2
        status = (
            f"Regression: {fit.method}; the missing eigenvalues are estimated at {missing:.1e} of "
            "those found."
        )
        if not done:
            status = (
                f"solver='krylov' stopped with {missing:.1e} of the eigenvalues estimated to be "
                "missing; raise alpha, max_iter or tol."
            )
        return Solution(
            fit.slopes.matmat(inside),
            values,
            self.name,
            exact=False,
            converged=bool(done),
            status=status,
            n_iter=n_iter,
            residual=missing,
            images=inside.T @ seen.T,
        )

    # --- the report -------------------------------------------------------------------

    def _solution(
        self,
        weights: Array,
        values: Array,
        svd: TruncatedSVD,
        *,
        tol: float,
        more: float = 0.0,
        fitted: bool = True,
        combinations: int = 0,
        **others: Any,
    ) -> Solution:
        """Say what is missing: of the directions, and ``more`` of the fitted labels.

        The objective is that of some ``combinations`` of the labels; 0 means all labels.
        """
        rest, shown = svd.rest + more, svd.shown
        converged = rest <= tol and fitted
        known = f"{rest:.1e}" if np.isfinite(rest) else "an unknown part"
        fresh = f"new products with X show {shown.missing:.0e}"
        status = (
            f"The missing part of the objective is estimated at {known} of the objective found; "
            f"{fresh}."
        )
        if shown.off > tol:
            status = (
                f"The directions differ from orthonormal ones by {shown.off:.0e} in new products "
                "with X; scale the columns of X, or pass X in float64."
            )
        elif not converged:
            status = (
                f"solver='krylov' stopped after {svd.n_iter} blocks with {known} of the "
                f"objective estimated to be missing ({fresh}); raise max_iter or tol, or use an "
                "exact solver."
            )
        if combinations:
            status = f"The labels are represented by {combinations} combinations. {status}"
        return Solution(
            weights,
            values,
            self.name,
            exact=False,
            converged=bool(converged),
            status=status,
            n_iter=svd.n_iter,
            residual=float(rest),
            **others,
        )


def _entries(X: Operator) -> int:
    return X.shape[0] * X.shape[1]
