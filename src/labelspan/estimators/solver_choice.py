"""Which solver an estimator would use on given data."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ..errors import Mismatch
from ..solvers import Problem, SolverChoice
from ..solvers import choose_solver as choose_for_problem
from ._factor_fit import state_factor
from .lsi import LSI
from .mlsi import MLSI

__all__ = ["choose_solver"]


def choose_solver(estimator: Any, X: Any = None, y: Any = None) -> SolverChoice:
    r"""Tell which solver ``solver="auto"`` runs for an estimator and data, and why.

    The choice depends only on the method, the penalty and the shape, never on the machine. The
    estimator is not changed, and the eigenproblem

    .. math:: X^\top S X w = \lambda (X^\top X + \alpha I) w

    is stated but not solved; where ``alpha`` is chosen from the data, that is done.

    Parameters
    ----------
    estimator : estimator or Problem
        For example ``MLSI(100)``; fitted or not. A :class:`labelspan.solvers.Problem` is taken as
        it is, without ``X`` and ``y``.
    X : array, sparse matrix or operator of shape (n, d), default=None
        The features.
    y : array or sparse matrix of shape (n,) or (n, k), default=None
        The labels; None for estimators that take none.

    Returns
    -------
    SolverChoice
        The name of the solver, ``solver``, and the ``reason``.

    See Also
    --------
    labelspan.solvers.choose_solver : The same for a problem.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan import CCA, MLSI, choose_solver
    >>> X = np.random.default_rng(0).standard_normal((300, 20))
    >>> Y = X[:, :3] > 0
    >>> choose_solver(MLSI(5), X, Y)
    SolverChoice(solver='exact', reason='the smaller side, 20, is short: one decomposition')
    >>> choose_solver(CCA(), X, Y).solver
    'exact'
    """
    if isinstance(estimator, Problem):
        return choose_for_problem(estimator)
    if "solver" not in getattr(estimator, "get_params", dict)():
        name = type(estimator).__name__
        raise Mismatch(f"{name} has no parameter solver; it is solved in one way only.")
    asked = clone(estimator).set_params(solver="auto")
    stated = asked._state(X, y) if isinstance(asked, LSI | MLSI) else state_factor(asked, X, y)
    return choose_for_problem(stated.problem)
