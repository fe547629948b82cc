"""The problem every solver takes, the solution every solver gives, and its certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np

from .._typing import Array
from ..errors import Mismatch
from ..labels import Factor
from ..operators import Operator
from ..operators.array_backend import put_rows

__all__ = [
    "DIRECT_LIMIT",
    "L1",
    "L2",
    "Penalty",
    "Problem",
    "Solution",
    "Solver",
    "decomposes",
    "eigen_residual",
    "refuse_unless_fit",
    "solve_arranged",
]

# The largest side of a square array that a solver forms without being asked by name:
# 4,096 x 4,096 in float64 is 128 MiB.
DIRECT_LIMIT = 4096
# The smaller side up to which a decomposition of the data costs less than an iteration: of dense
# data, where a product costs as much as a row of a Gram matrix, and of sparse data.
_DENSE_SIDE, _SPARSE_SIDE = 1024, 400
# Data with a smaller share of entries that are stored is sparse.
_SPARSE = 0.1


@dataclass(frozen=True)
class L2:
    """``alpha * |w|^2``, added to the metric: ``X'X + alpha I``.

    Parameters
    ----------
    alpha : float, default=0.0
        Regularization strength, in squared units of the features.

    See Also
    --------
    L1 : Sparse loadings.

    Examples
    --------
    >>> from labelspan.solvers import L2
    >>> L2().alpha
    0.0
    """

    alpha: float = 0.0
    name = "l2"


@dataclass(frozen=True)
class L1:
    """``alpha * |w|_1`` added to the squared error: sparse loadings.

    Parameters
    ----------
    alpha : float
        Regularization strength.

    See Also
    --------
    L2 : Ridge.

    Examples
    --------
    >>> from labelspan.solvers import L1
    >>> L1(0.1).name
    'l1'
    """

    alpha: float
    name = "l1"


Penalty = L1 | L2


@dataclass(frozen=True)
class Problem:
    """Maximise label agreement under a data metric.

    ``X'S X w = lambda (X'X + alpha I) w`` with S given by the factor. X is centred
    already where the method centres. With a regressed factor the penalty sits in the
    regression, and the metric is only ``X'X``.

    Parameters
    ----------
    X : Operator
        The features.
    factor : Factor
        What the space should keep of features and labels.
    n_components : int
        Number of directions.
    penalty : L2 or L1
        No penalty by default.

    See Also
    --------
    Solution : What a solver returns.
    choose_solver : Which solver fits.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import L2
    >>> from labelspan.solvers import Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> Problem(X, Factor(labels=np.eye(20)[:, :2]), 2, L2(0.5)).metric_alpha
    0.5
    """

    X: Operator
    factor: Factor
    n_components: int
    penalty: Penalty = field(default_factory=L2)

    def __post_init__(self) -> None:
        if self.metric_alpha and not self.factor.thin:
            raise Mismatch("A penalty in the metric needs a factor made only of labels.")

    @property
    def metric_alpha(self) -> float:
        """The 2-norm penalty inside the metric."""
        return self.penalty.alpha if isinstance(self.penalty, L2) else 0.0


@dataclass(frozen=True)
class Solution:
    """What a solver found.

    Attributes
    ----------
    weights : array of shape (d, m)
        W, with ``W'(X'X + alpha I)W = I`` unless ``metric`` says otherwise; the best
        direction first.
    eigenvalues : array of shape (m,)
        lambda, falling.
    solver : str
        Name of the solver used.
    exact : bool
        False where the answer is an approximation by design.
    converged : bool
        False where an iteration stopped early; ``status`` then says what to do.
    status : str
        Convergence message.
    n_iter : int
        Iterations, or 1 for a direct solver.
    residual : float or None
        The relative residual of the regression and of the eigenproblem, computed from the
        data by products that the solver had not used, in columns of equal length.
    error : float or None
        A bound on the error of the fitted labels, relative to the labels; None where
        nothing bounds it.
    images : array of shape (m, s) or None
        ``W'X'L``, what the factor's labels say along each direction, where the solver had
        it at hand.
    label_axes : array of shape (s, m) or None
        What one row of L adds to its place ``sqrt(lambda) W'x`` where the labels are regressed:
        with ``Z = [c X, c' X B] = V diag(s) R'``, the rows of ``c' R`` that belong to the labels.
    level : float
        c' of ``label_axes``: what the regressed labels are multiplied by in the objective, besides
        the factor of L.
    metric : array of shape (m, m) or None
        ``W'(X'X + alpha I)W`` where it is not the identity, as for least squares.
    statistics : mapping
        Further numbers, by name.
    embed : function or None
        Returns ``X W`` from what the solver has kept, without a product with X; None where it has
        kept nothing.

    See Also
    --------
    Problem : What a solver is given.
    eigen_residual : Check it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Exact, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> found = Exact().solve(Problem(X, Factor(share=1.0), n_components=2))
    >>> found.solver, found.weights.shape, found.exact
    ('exact', (5, 2), True)
    """

    weights: Array
    eigenvalues: Array
    solver: str
    exact: bool = True
    converged: bool = True
    status: str = "Solved directly."
    n_iter: int = 1
    residual: float | None = None
    error: float | None = None
    images: Array | None = None
    label_axes: Array | None = None
    level: float = 1.0
    metric: Array | None = None
    statistics: Mapping[str, float | str] = field(default_factory=dict)
    embed: Callable[[], Array] | None = None


@runtime_checkable
class Solver(Protocol):
    """A stateless value: configuration in its fields, a problem in, a solution out.

    See Also
    --------
    Problem : What it is given.
    Solution : What it returns.

    Examples
    --------
    >>> from labelspan.solvers import Exact, Solver
    >>> isinstance(Exact(), Solver)
    True
    """

    @property
    def name(self) -> str: ...

    def why_not(self, problem: Problem) -> str | None:
        """None where the solver takes the problem, else a message that says what to do."""
        ...

    def solve(self, problem: Problem) -> Solution: ...


def decomposes(X: Operator) -> bool:
    """Return whether one decomposition of the data is the cheapest way to everything."""
    return X.short_side <= (_SPARSE_SIDE if X.fill < _SPARSE else _DENSE_SIDE)


def solve_arranged(problem: Problem, solve: Callable[[Problem], Solution]) -> Solution:
    """Solve with the columns in the order that products like best; weights in their own."""
    X, order = problem.X.arranged()
    if order is None:
        return solve(problem)
    found = solve(replace(problem, X=X))
    return replace(found, weights=put_rows(order, found.weights))


def refuse_unless_fit(solver: Solver, problem: Problem) -> None:
    """Raise :class:`Mismatch` with the solver's own words where it does not fit.

    Parameters
    ----------
    solver : Solver
        The solver to ask.
    problem : Problem
        The problem that it is to solve.

    See Also
    --------
    choose_solver : Choose one that fits.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import LeastSquares, Problem, refuse_unless_fit
    >>> problem = Problem(as_operator(np.eye(4)), Factor(share=1.0), n_components=1)
    >>> refuse_unless_fit(LeastSquares(), problem)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
        ...
    labelspan.errors.Mismatch: it says why, and what to use instead
    """
    reason = solver.why_not(problem)
    if reason is not None:
        raise Mismatch(reason)


def eigen_residual(problem: Problem, solution: Solution) -> float:
    """Compute the certificate: the largest relative residual of the eigenproblem.

    ``|X'S X w - lambda (X'X + alpha I) w|`` over the norm of the left side's first
    column, computed only from the operator. A regressed factor is solved again by the
    regression that the solution implies, so only factors without one are certified.

    Parameters
    ----------
    problem : Problem
        The eigenproblem.
    solution : Solution
        What a solver returned for it.

    Returns
    -------
    float
        Close to the rounding of the data for an exact solution.

    See Also
    --------
    labelspan.metrics.principal_angles : Compare subspaces.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Problem, Exact, eigen_residual
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> problem = Problem(X, Factor(labels=np.eye(20)[:, :2]), n_components=2)
    >>> eigen_residual(problem, Exact().solve(problem)) < 1e-10
    True
    """
    X, factor = problem.X, problem.factor
    if factor.regression is not None:
        raise Mismatch("eigen_residual certifies factors without a regression.")
    weights = solution.weights
    image = X.matmat(weights)
    agreement = np.zeros((X.shape[0], weights.shape[1]))
    if factor.share:
        agreement += factor.share * X.matmat(X.rmatmat(image))
    if factor.labels is not None:
        agreement += factor.labels @ (factor.labels.T @ image)
    left = X.rmatmat(agreement)
    metric = X.rmatmat(image) + problem.metric_alpha * weights
    gap = np.linalg.norm(left - metric * solution.eigenvalues, axis=0)
    return float(gap.max() / np.linalg.norm(left[:, 0]))
