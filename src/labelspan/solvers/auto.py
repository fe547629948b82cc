"""``auto``: which solver a problem gets, and why."""

from __future__ import annotations

from typing import NamedTuple

from .eigen import Eigen
from .gram import Gram
from .least_squares import LeastSquares
from .penalties import L1
from .problem import DIRECT_LIMIT, Problem, Solver
from .randomized import Randomized
from .two_stage import TwoStage

__all__ = ["SOLVERS", "SolverChoice", "choose_solver"]

SOLVERS: dict[str, type[Solver]] = {
    "eigen": Eigen,
    "two-stage": TwoStage,
    "least-squares": LeastSquares,
    "randomized": Randomized,
    "gram": Gram,
}

# Up to this many columns a d x d eigenproblem costs less than an iteration would.
_GRAM_COLUMNS = 1024
# The same for rows, where the data is wide.
_DUAL_ROWS = 512


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
    >>> SolverChoice("gram", "few columns").solver
    'gram'
    """

    solver: str
    reason: str


def choose_solver(problem: Problem) -> SolverChoice:
    """Choose the solver that ``solver="auto"`` runs on a problem, with the reason.

    The choice depends only on the factor, the penalty and the shape, never on the machine.

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
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Problem, choose_solver
    >>> X = as_operator(np.ones((2000, 50)))
    >>> choose_solver(Problem(X, Factor(share=1.0), n_components=5)).solver
    'gram'
    """
    factor = problem.factor
    rows, columns = problem.X.shape
    short = problem.X.short_side
    if isinstance(problem.penalty, L1):
        return SolverChoice("least-squares", "the 1-norm penalty has no eigenproblem")
    if factor.thin:
        return SolverChoice("two-stage", "the factor is thin: exact from one block of regressions")
    if columns <= _GRAM_COLUMNS and columns == short:
        return SolverChoice(
            "gram", f"{columns} columns are few: one pass for X'X is exact and cheap"
        )
    if rows == short and (rows <= _DUAL_ROWS or columns <= _GRAM_COLUMNS):
        return SolverChoice("eigen", f"the smaller side, {rows}, is short: exact, dual")
    if factor.regression is not None and factor.regression.mix is not None:
        return SolverChoice("two-stage", "mixed labels need the regression to full convergence")
    if factor.labels is not None and factor.regression is None:
        name = "gram" if columns == short <= DIRECT_LIMIT else "eigen"
        return SolverChoice(name, "labels that are not regressed have only dense solvers")
    if problem.n_components > min(rows, columns) // 4 and short <= DIRECT_LIMIT:
        name = "gram" if columns == short else "eigen"
        return SolverChoice(name, "a large part of the spectrum is wanted: direct is cheaper")
    return SolverChoice(
        "randomized", "both n and d are large: block Krylov, to a stated share of the objective"
    )
