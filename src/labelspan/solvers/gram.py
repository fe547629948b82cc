"""``gram``: from sufficient statistics, for data with a moderate number of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..labels import Factor
from .penalties import L1
from .problem import DIRECT_LIMIT, Problem, Solution, rounding
from .small_dense import psd_basis, psd_solve, spectral, thin_spectrum

__all__ = ["Gram", "solve_statistics"]


# Directions with this share of the largest eigenvalue stand clear of a float32 product's rounding.
_CLEAR = 1e-3


@dataclass(frozen=True)
class Gram:
    """One pass over the rows for ``X'X`` and ``X'L``; nothing else of the data is used.

    Exact for every factor. Memory d x d, time n d^2 + d^3 whatever the number of rows.

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
            return (
                "solver='gram' cannot take penalty='l1', which needs the rows; "
                "use solver='least-squares'."
            )
        columns = problem.X.shape[1]
        if columns > DIRECT_LIMIT:
            return (
                f"solver='gram' would form a dense {columns} x {columns} array, above its limit "
                f"of {DIRECT_LIMIT}; use solver='auto'."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        labels = problem.factor.labels
        if labels is not None:
            return self._solve(problem, *problem.X.moments(labels))
        if problem.X.dtype != np.float64:
            found = self._solve(problem, problem.X.rough_gram(), None)
            values = found.eigenvalues
            if values.size == problem.n_components and values[-1] > _CLEAR * values[0]:
                return found
        return self._solve(problem, problem.X.gram(), None)

    def _solve(self, problem: Problem, gram: Array, cross: Array | None) -> Solution:
        return solve_statistics(
            gram,
            cross,
            problem.factor,
            alpha=problem.metric_alpha,
            count=problem.n_components,
            rows=problem.X.shape[0],
        )


def solve_statistics(
    gram: Array, cross: Array | None, factor: Factor, *, alpha: float, count: int, rows: int
) -> Solution:
    """Solve from ``X'X`` and ``X'L`` alone; of the factor, all but the labels is used.

    Parameters
    ----------
    gram : array of shape (d, d)
        ``X'X``.
    cross : array of shape (d, s) or None
        ``X'L``; None where a method knows no labels.
    factor : Factor
    alpha : float
        The 2-norm penalty in the metric.
    count : int
        Directions wanted.
    rows : int
        Of X; what is rounding depends on them.

    Returns
    -------
    Solution

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
    tolerance = 4 * max(rows, gram.shape[0]) * rounding(np.dtype(np.float64))
    if factor.thin and cross is not None:
        slopes = psd_solve(gram, cross, alpha, tolerance)
        values, axes = thin_spectrum(cross.T @ slopes, count)
        return Solution(slopes @ (axes / np.sqrt(values)), values, "gram")
    values, right = psd_basis(gram, tolerance)
    coordinates = None if cross is None else (right.T @ cross) / np.sqrt(values)[:, None]
    eigenvalues, inside = spectral(values, coordinates, factor, alpha, count)
    return Solution(right @ inside, eigenvalues, "gram", statistics={"rank": float(values.size)})
