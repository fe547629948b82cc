"""``eigen``: direct and dense, the reference that the other solvers are held against."""

from __future__ import annotations

from dataclasses import dataclass

from .direct import by_basis, certified, regression_alpha
from .penalties import L1
from .problem import Problem, Solution
from .singular_basis import dual_basis, singular_basis

__all__ = ["Eigen"]

# Named by the user, the direct solver goes further than what is chosen for them:
# 20,000 x 20,000 in float64 is 3 GiB.
_LIMIT = 20_000
# Entries of a wide X up to which it is factorised at once.
_MANY_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Eigen:
    """Singular vectors of the data, then the whole problem in that basis.

    Takes every factor. No Gram matrix is formed, so that no digits are lost; columns are
    scaled to unit length before the rank is decided, and the answer is in the units of the
    data. The cost is that of two singular value decompositions; memory n x d where
    d > n, otherwise d x d and one block of rows. Only with many columns and few rows, above a
    million entries, ``X X'`` is used first, as long as it keeps the digits.

    See Also
    --------
    Gram : One pass over the rows, for few columns.
    TwoStage : For thin label factors.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Eigen, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> Eigen().solve(Problem(X, Factor(labels=np.eye(20)[:, :2]), n_components=2)).solver
    'eigen'
    """

    @property
    def name(self) -> str:
        return "eigen"

    def why_not(self, problem: Problem) -> str | None:
        if isinstance(problem.penalty, L1):
            return "solver='eigen' cannot take penalty='l1', which has no eigenproblem."
        smaller = problem.X.short_side
        if smaller > _LIMIT:
            return (
                f"solver='eigen' would form a dense {smaller} x {smaller} array, above its limit "
                f"of {_LIMIT}."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        X, factor, alpha = problem.X, problem.factor, problem.metric_alpha
        rows, columns = X.shape
        basis = None
        if X.dual and rows < columns and rows * columns > _MANY_ENTRIES:
            penalty = regression_alpha(factor, alpha)
            basis = dual_basis(X, factor.labels, penalty, problem.n_components)
        last = basis is None
        if basis is None:
            basis = singular_basis(X, factor.labels)
        known = factor.labels is not None
        found = by_basis(basis, factor, alpha, problem.n_components, known=known)
        return certified(problem, found, self.name, last=last)
