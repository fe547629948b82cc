"""Solvers: stateless objects that map a problem to a solution."""

from .alpha import AlphaCurve
from .auto import SOLVERS, SolverChoice, choose_solver
from .exact import Exact
from .krylov import Krylov, KrylovOptions
from .least_squares import LeastSquares
from .problem import L1, L2, Penalty, Problem, Solution, Solver, eigen_residual
from .sufficient_statistics import Statistics

__all__ = [
    "L1",
    "L2",
    "SOLVERS",
    "AlphaCurve",
    "Exact",
    "Krylov",
    "KrylovOptions",
    "LeastSquares",
    "Penalty",
    "Problem",
    "Solution",
    "Solver",
    "SolverChoice",
    "Statistics",
    "choose_solver",
    "eigen_residual",
]
