"""The problem that a solver takes, the solution that it returns, and its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from .._typing import Array
from ..errors import Mismatch
from ..operators import Operator, as_operator
from .decomposition import Decomposition

__all__ = ["Problem", "Solution", "Solver", "eigen_residual"]


@dataclass(frozen=True)
class Problem:
    """Maximise label agreement under a data metric.

    A method made only of labels, with ``S = H H'``, solves ``X'S X w = lambda (X'X + alpha I) w``.
    With a ``feature_weight`` a the features count, too: H is regressed on X with penalty alpha,
    ``B = (X'X + alpha I)^+ X'H``, and ``X'(a X X' + c'^2 X B B'X') X w = lambda X'X w`` is solved,
    in which c' rescales the fitted labels. X is already centred if the method centres.

    Parameters
    ----------
    X : Operator
        The features.
    labels : Operator, array of shape (n, s), or None
        The label factor H, an operator from then on; None for a method without labels.
    n_components : int
        Number of directions.
    alpha : float, default=0.0
        Regularization strength, added to the diagonal of ``X'X``.
    feature_weight : float or None, default=None
        Weight of the features in the objective; None for a method made only of labels.
    label_norm : float or None, default=None
        If given, the fitted labels ``X B`` are rescaled to this Frobenius norm, because a strong
        penalty would shrink them and reduce their weight.
    leverage : bool, default=False
        Whether the mean leverage of the rows is of use, if the solver can tell it at little cost.
    decomposition : Decomposition or None, default=None
        The decomposition of X that the choice of alpha has used, for solvers that can use it.

    See Also
    --------
    Solution : What a solver returns.
    choose_solver : Chooses a solver for it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Problem, choose_solver
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> choose_solver(Problem(X, np.eye(20)[:, :2], 2, alpha=0.5)).solver
    'exact'
    """

    X: Operator
    labels: Operator | None
    n_components: int
    alpha: float = 0.0
    feature_weight: float | None = None
    label_norm: float | None = None
    leverage: bool = False
    decomposition: Decomposition | None = None

    def __post_init__(self) -> None:
        if self.labels is not None:
            object.__setattr__(self, "labels", as_operator(self.labels))
        elif self.feature_weight is None:
            raise Mismatch("A problem needs labels, or a feature_weight, or both.")

    @property
    def labels_only(self) -> bool:
        """Whether the objective is made only of labels."""
        return self.feature_weight is None

    @property
    def sparse_labels(self) -> bool:
        """Whether there are too many labels for a dense array."""
        return self.labels is not None and not self.labels.dense

    @cached_property
    def label_block(self) -> Array | None:
        """H as a block, None without labels; do not modify it."""
        return None if self.labels is None else self.labels.to_block()


@dataclass(frozen=True)
class Solution:
    """The result of a solver.

    Attributes
    ----------
    weights : array of shape (d, m)
        W, with ``W'(X'X + alpha I)W = I`` unless ``metric`` says otherwise; the best
        direction first.
    eigenvalues : array of shape (m,)
        lambda, in decreasing order.
    solver : str
        Name of the solver used.
    exact : bool
        False if the answer is an approximation by design.
    converged : bool
        False if an iteration stopped early; ``status`` then says what to do.
    status : str
        Convergence message.
    n_iter : int
        Iterations, or 1 for a direct solver.
    residual : float or None
        The relative residual of the regression and of the eigenproblem, computed
        from the data by new products, in columns of equal length.
    error : float or None
        A bound on the error of the fitted labels, relative to the labels; None if
        there is none.
    images : array of shape (m, s) or None
        ``W'X'H``, the labels along each direction, or ``W'X'X B`` if they are regressed, if the
        solver computed it.
    label_axes : array of shape (s, m) or None
        Contribution of one row of H to its coordinates ``sqrt(lambda) W'x`` if the labels are
        regressed: with ``Z = [c X, c' X B] = V diag(s) R'``, the rows of ``c' R`` that belong to
        the labels.
    metric : array of shape (m, m) or None
        ``W'(X'X + alpha I)W`` if it is not the identity, as for least squares.
    embed : function or None
        Returns ``X W`` from stored results, without a product with X; None if nothing
        is stored.
    leverage : float or None
        The mean diagonal of ``X (X'X + alpha I)^+ X'``, if it was asked for and is known.

    See Also
    --------
    Problem : What a solver is given.
    eigen_residual : Check it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Exact, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> found = Exact().solve(Problem(X, None, n_components=2, feature_weight=1.0))
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
    metric: Array | None = None
    embed: Callable[[], Array] | None = None
    leverage: float | None = None

    @property
    def lengths(self) -> Array:
        """The roots of the eigenvalues, 1 for those that are zero."""
        return np.sqrt(np.where(self.eigenvalues > 0, self.eigenvalues, 1.0))


@runtime_checkable
class Solver(Protocol):
    """A stateless object that maps a problem to a solution; its fields are its options.

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
        """None if the solver supports the problem, else a message that says what to do."""
        ...

    def solve(self, problem: Problem) -> Solution: ...


def eigen_residual(problem: Problem, solution: Solution) -> float:
    """Compute the certificate: the largest relative residual of the eigenproblem.

    ``|X'S X w - lambda (X'X + alpha I) w|`` over the norm of the left side's first
    column, computed only from the operator. Only for methods made of labels, and for those without
    labels: with both, S depends on the regression.

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
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Problem, Exact, eigen_residual
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> problem = Problem(X, np.eye(20)[:, :2], n_components=2)
    >>> eigen_residual(problem, Exact().solve(problem)) < 1e-10
    True
    """
    X, labels, weights = problem.X, problem.labels, solution.weights
    if labels is not None and not problem.labels_only:
        raise Mismatch("eigen_residual certifies problems without a regression of the labels.")
    image = X.matmat(weights)
    agreement = np.zeros((X.shape[0], weights.shape[1]))
    if problem.feature_weight:
        agreement += problem.feature_weight * X.matmat(X.rmatmat(image))
    if labels is not None:
        agreement += labels.matmat(labels.rmatmat(image))
    left = X.rmatmat(agreement)
    metric = X.rmatmat(image) + problem.alpha * weights
    gap = np.linalg.norm(left - metric * solution.eigenvalues, axis=0)
    return float(gap.max() / np.linalg.norm(left[:, 0]))
