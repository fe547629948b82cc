"""``auto``: the choice of a solver for a problem, and its reason."""

from __future__ import annotations

from typing import NamedTuple

from .limits import DIRECT_LIMIT, decomposes
from .problem import Problem, Solver
from .two_stage import Exact, Krylov

__all__ = ["SOLVERS", "SolverChoice", "choose_solver"]

SOLVERS: dict[str, type[Solver]] = {
    "exact": Exact,
    "krylov": Krylov,
}

# Up to this size a decomposition costs less than a Krylov space for half as many labels.
_LABELLED_SIDE = 2048


class SolverChoice(NamedTuple):
    """A solver's name and the reason for it.

    Attributes
    ----------
    solver : str
        One of ``SOLVERS``.
    reason : str

    See Also
    --------
    choose_solver : Make the choice.

    Examples
    --------
    >>> from labelspan.solvers import SolverChoice
    >>> SolverChoice("exact", "few columns").solver
    'exact'
    """

    solver: str
    reason: str


def choose_solver(problem: Problem) -> SolverChoice:
    """Choose the solver that ``solver="auto"`` uses for a problem, with the reason.

    The choice depends only on the kind of problem, alpha and the shape, never on the machine.

    Parameters
    ----------
    problem : Problem
        The problem to solve.

    Returns
    -------
    SolverChoice
        The name of the solver, and the reason.

    See Also
    --------
    labelspan.choose_solver : The same for an estimator and data.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Problem, choose_solver
    >>> X = as_operator(np.ones((2000, 50)))
    >>> choose_solver(Problem(X, None, n_components=5, feature_weight=1.0)).solver
    'exact'
    """
    X, labels = problem.X, problem.labels
    short = X.short_side
    if problem.sparse_labels:
        return SolverChoice("krylov", "there are too many labels for a dense array")
    if problem.labels_only:
        if decomposes(X) or (problem.alpha == 0 and short <= DIRECT_LIMIT):
            return SolverChoice("exact", f"the smaller side, {short}, is short, the factor thin")
        return SolverChoice("krylov", "the factor is thin: one block of regressions")
    if decomposes(X):
        return SolverChoice("exact", f"the smaller side, {short}, is short: one decomposition")
    width = 0 if labels is None else labels.shape[1]
    count = problem.n_components
    if (count > short // 4 and short <= DIRECT_LIMIT) or (
        count + width > short // 2 and short <= _LABELLED_SIDE
    ):
        return SolverChoice("exact", "many directions are requested: a direct solver is cheaper")
    return SolverChoice("krylov", "both n and d are large: block Krylov, to a given accuracy")
