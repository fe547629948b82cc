"""``eigen``: direct and dense, the reference that the other solvers are held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators.array_backend import host
from .penalties import L1
from .problem import Problem, Solution, rounding
from .small_dense import psd_basis, spectral

__all__ = ["Eigen"]

# Named by the user, the direct solver goes further than what is chosen for them:
# 20,000 x 20,000 in float64 is 3 GiB.
_LIMIT = 20_000


@dataclass(frozen=True)
class Eigen:
    """Eigenvectors of the smaller Gram matrix, then of the whole problem in that basis.

    Primal (d x d) where d <= n, dual (n x n) otherwise. Takes every factor; the cost is
    cubic in the smaller side.

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
            return (
                "solver='eigen' cannot take penalty='l1', which has no eigenproblem; "
                "use solver='least-squares'."
            )
        smaller = problem.X.short_side
        if smaller > _LIMIT:
            return (
                f"solver='eigen' would form a dense {smaller} x {smaller} array, above its limit "
                f"of {_LIMIT}; use solver='auto'."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        X, labels = problem.X, problem.factor.labels
        rows, columns = X.shape
        tolerance = 4 * max(rows, columns) * rounding(np.dtype(np.float64))
        if columns == X.short_side:
            values, right = psd_basis(X.gram(), tolerance)
            coordinates = _primal_coordinates(problem, values, right)
        else:
            values, left = psd_basis(X.cogram(), tolerance)
            right = host(X.rmatmat(left / np.sqrt(values)))
            coordinates = None if labels is None else left.T @ host(labels)
        eigenvalues, inside = spectral(
            values, coordinates, problem.factor, problem.metric_alpha, problem.n_components
        )
        statistics = {"rank": float(values.size)}
        return Solution(right @ inside, eigenvalues, self.name, statistics=statistics)


def _primal_coordinates(problem: Problem, values: Array, right: Array) -> Array | None:
    labels = problem.factor.labels
    if labels is None:
        return None
    return np.asarray((right.T @ problem.X.cross(labels)) / np.sqrt(values)[:, None])
