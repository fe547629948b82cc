"""``gram``: from sufficient statistics, for data with a moderate number of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..labels import Factor
from .accuracy import accuracy_wanted, sentence
from .direct import by_basis, by_products, certified, regression_alpha
from .penalties import L1
from .problem import DIRECT_LIMIT, Problem, Solution
from .singular_basis import basis_of_products, singular_basis

__all__ = ["Gram", "solve_statistics"]


# Directions with this fraction of the largest eigenvalue are clear of the rounding of products in
# float32, which is 2e-8 to 2e-7 of the largest where blocks of rows are summed in float64.
_CLEAR = 2e-4


@dataclass(frozen=True)
class Gram:
    """One pass over the rows for ``X'X`` and ``X'L``; exact for every factor.

    Memory d x d, time n d^2 + d^3. Products of the data keep half of its digits: where the
    condition number, after scaling, says that too few are left, the data is factorised
    instead (as :class:`Eigen` does), at about three times the cost. The check at the end takes
    up to six products with four columns.

    See Also
    --------
    Eigen : The dense reference.
    Statistics : The sums that it needs.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Gram, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> Gram().solve(Problem(X, Factor(labels=np.eye(20)[:, :2]), n_components=2)).solver
    'gram'
    """

    @property
    def name(self) -> str:
        return "gram"

    def why_not(self, problem: Problem) -> str | None:
        if isinstance(problem.penalty, L1):
            return "solver='gram' cannot take penalty='l1', which needs the rows."
        columns = problem.X.shape[1]
        if columns > DIRECT_LIMIT:
            return (
                f"solver='gram' would form a dense {columns} x {columns} array, above its limit "
                f"of {DIRECT_LIMIT}."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        X, factor = problem.X, problem.factor
        alpha, count = problem.metric_alpha, problem.n_components
        if factor.labels is None and X.dtype != np.float64:
            found = by_products(X.rough_gram(), None, factor, alpha, count)
            if found is not None and found.values[-1] > _CLEAR * found.values[0]:
                return certified(problem, found, self.name)
        if factor.labels is None:
            found = by_products(X.gram(), None, factor, alpha, count)
        else:
            found = by_products(*X.moments(factor.labels), factor, alpha, count)
        if found is None:
            known = factor.labels is not None
            basis = singular_basis(X, factor.labels)
            found = by_basis(basis, factor, alpha, count, known=known)
        return certified(problem, found, self.name)


def solve_statistics(
    gram: Array, cross: Array | None, factor: Factor, *, alpha: float, count: int, rows: int
) -> Solution:
    """Solve from ``X'X`` and ``X'L``; of the factor, all but the labels is used.

    The data is gone, so that digits which its products have lost cannot be found again: the
    solution has not converged, and says what to do, where that matters. Directions shorter
    than about 1e-7 of the longest, after scaling, cannot be distinguished from null ones.

    Parameters
    ----------
    gram : array of shape (d, d)
        ``X'X``.
    cross : array of shape (d, s) or None
        ``X'L``; None for a factor without labels.
    factor : Factor
        What the space should keep of features and labels.
    alpha : float
        The 2-norm penalty in the metric.
    count : int
        The number of directions.
    rows : int
        The number of rows of X.

    Returns
    -------
    Solution
        The same as from the rows themselves.

    See Also
    --------
    Statistics : The sums of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.solvers import solve_statistics
    >>> found = solve_statistics(
    ...     np.diag([4.0, 1.0]), np.array([[2.0], [0.0]]), Factor(), alpha=0.0, count=1, rows=5
    ... )
    >>> found.eigenvalues.round(6)
    array([1.])
    """
    penalty = regression_alpha(factor, alpha)
    found = by_products(gram, cross, factor, alpha, count)
    if found is None:
        seen = np.zeros((gram.shape[0], 0)) if cross is None else cross
        basis = basis_of_products(gram, seen)
        found = by_basis(basis, factor, alpha, count, known=cross is not None)
    error = found.lost
    residual = 0.0
    if cross is not None and found.slopes is not None:
        right = cross / found.scale[:, None]
        gap = right - (gram @ found.slopes + penalty * found.slopes) / found.scale[:, None]
        residual = float(np.linalg.norm(gap) / (np.linalg.norm(right) or 1.0))
    status = sentence("Solved from sums of products", residual)
    accurate = max(error, residual) <= accuracy_wanted(np.float64)
    if not accurate:
        status = (
            f"The answer may be off by {max(error, residual):.0e} of itself: sums of products keep "
            "too few digits of columns that depend on each other almost exactly; raise alpha, or "
            "give all rows at once."
        )
    statistics = {} if found.rank is None else {"rank": float(found.rank)}
    return Solution(
        found.weights,
        found.values,
        "gram",
        converged=accurate,
        status=status,
        residual=residual,
        error=error,
        label_axes=found.label_axes,
        level=found.level,
        statistics=statistics,
    )
