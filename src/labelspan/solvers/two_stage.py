"""``two-stage``: exact, and thin from end to end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ..operators import HStack, Scaled, as_operator
from ..operators.array_backend import inner, like, sum_of_squares, times
from .accuracy import accuracy_wanted, check_directions, column_lengths, sentence, unsure
from .krylov import finest_tolerance, truncated_svd
from .penalties import L1
from .problem import Problem, Solution, solve_arranged
from .regression import SHORT, Regressed, regress
from .small_dense import thin_spectrum

__all__ = ["TwoStage"]

# What may be missing of the eigenvalues of a thin factor where no tolerance is given.
_TO_COME = 5e-3
# The truncated SVD of the second stage is run to this share of the energy.
_ENERGY = 1e-12


@dataclass(frozen=True)
class TwoStage:
    """Least squares for all labels at once, then a small eigenproblem or one SVD.

    With a thin factor H: ``G = (X'X + alpha I)^+ X'H``, the s x s matrix ``H'X G`` and
    its eigenvectors. With features and regressed labels: the regression first, then one
    truncated SVD of ``[c X, X B Q^1/2]``. No array has both n rows and d columns.

    Parameters
    ----------
    tol : float or None
        Relative residual of the regressions where they are iterated on. None means 1e-8 for float64
        and 1e-4 for float32, but with a thin factor, a penalty and both sides of X above 4,096 the
        iteration stops where the eigenvalues still to come are estimated at 0.5% of those found.
        Below 4e-6, data in float32 is multiplied in float64, where it is in memory or on a device.
    max_iter : int
        The most iterations of each stage.
    seed : int
        For the start of the SVD.

    See Also
    --------
    LeastSquares : The formulation of sun2009.

    References
    ----------
    .. [1] Sun, L., Ji, S., & Ye, J. (2009). A least squares formulation for a class of
           generalized eigenvalue problems in machine learning. ICML.
           https://doi.org/10.1145/1553374.1553499

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import TwoStage, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> TwoStage().solve(Problem(X, Factor(labels=np.eye(20)[:, :2]), n_components=2)).solver
    'two-stage'
    """

    tol: float | None = None
    max_iter: int = 1000
    seed: int = 0

    @property
    def name(self) -> str:
        return "two-stage"

    def why_not(self, problem: Problem) -> str | None:
        if isinstance(problem.penalty, L1):
            return (
                "solver='two-stage' cannot take penalty='l1', because its second stage would undo "
                "the zeros."
            )
        if problem.factor.labels is None:
            return "solver='two-stage' needs labels to regress on X, and the factor has none."
        if problem.factor.share and problem.factor.regression is None:
            return (
                "solver='two-stage' cannot take a factor of features and labels whose labels are "
                "not regressed on X."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        X = problem.X
        if self.tol is not None and self.tol < finest_tolerance(X.dtype):
            # In float32 the residual may be that small, but not the error of the directions.
            problem = replace(problem, X=X.in_float64() or X)
        if problem.X.short_side <= SHORT:
            return self._solve(problem)
        return solve_arranged(problem, self._solve)

    def _solve(self, problem: Problem) -> Solution:
        labels, regression = problem.factor.labels, problem.factor.regression
        assert labels is not None
        alpha = problem.metric_alpha if regression is None else regression.alpha
        share = _TO_COME if regression is None and self.tol is None else 0.0
        fit = regress(problem.X, labels, alpha, tol=self.tol, max_iter=self.max_iter, share=share)
        return self._thin(problem, fit) if regression is None else self._stack(problem, fit)

    def _thin(self, problem: Problem, fit: Regressed) -> Solution:
        slopes = fit.slopes
        values, axes = thin_spectrum(fit.agreement, problem.n_components)
        mixing = axes / np.sqrt(values)
        weights = times(slopes, mixing)
        # W'X'L without a product: the agreement is L'X G, and W = G mixing.
        images = mixing.T @ fit.agreement.T
        return self._solution(weights, values, fit, fit.residual, fit.converged, images=images)

    def _stack(self, problem: Problem, fit: Regressed) -> Solution:
        X, factor = problem.X, problem.factor
        assert factor.regression is not None
        slopes = X.place(fit.slopes)
        if factor.regression.mix is not None:
            slopes = slopes @ like(factor.regression.mix(inner(slopes, slopes)), slopes)
        fitted = X.matmat(slopes)
        level = factor.regression.rescale(sum_of_squares(fitted))
        if level != 1.0:
            slopes, fitted = level * slopes, level * fitted
        share = np.sqrt(factor.share)
        scaled = Scaled(X, columns=np.full(X.shape[1], share))
        both = HStack([scaled, as_operator(fitted)])
        svd = truncated_svd(
            both,
            problem.n_components,
            tol=_ENERGY,
            max_iter=self.max_iter,
            rng=np.random.default_rng(self.seed),
        )
        from_features, from_labels = both.split(svd.right / like(np.sqrt(svd.values), svd.right))
        weights = share * from_features + slopes @ from_labels
        lengths = column_lengths(X)
        lengths[lengths == 0] = 1.0
        equation = check_directions(
            X, weights, svd.values, share=factor.share, slopes=slopes, scale=lengths
        )
        right = equation <= np.sqrt(accuracy_wanted(X.dtype))
        return self._solution(
            weights,
            svd.values,
            fit,
            max(fit.residual, equation),
            fit.converged and svd.converged and right,
            label_axes=level * both.split(svd.right)[1],
            level=level,
        )

    def _solution(
        self,
        weights: Array,
        values: Array,
        fit: Regressed,
        residual: float,
        converged: bool,
        *,
        images: Array | None = None,
        label_axes: Array | None = None,
        level: float = 1.0,
    ) -> Solution:
        status = sentence(f"Regressed by {fit.method}", residual)
        if fit.to_come is not None:
            status = (
                f"Regressed by {fit.method}; the eigenvalues still to come are estimated at "
                f"{fit.to_come:.1e} of those found."
            )
        if not converged and fit.method.startswith("block"):
            error = "" if fit.error is None else f" and an estimated error of {fit.error:.1e}"
            status = (
                f"solver='two-stage' stopped after {fit.n_iter} iterations with a relative "
                f"residual of {residual:.1e}{error}; raise alpha, max_iter or tol."
            )
        elif not converged:
            status = unsure(max(fit.error or 0.0, residual), residual)
        return Solution(
            weights,
            values,
            self.name,
            exact=fit.to_come is None,
            converged=converged,
            status=status,
            n_iter=fit.n_iter,
            residual=residual,
            error=fit.error,
            images=images,
            label_axes=label_axes,
            level=level,
            statistics={"method": fit.method},
        )
