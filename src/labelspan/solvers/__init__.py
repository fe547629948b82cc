"""Solvers: stateless objects that map a problem to a solution."""

from .alpha import AlphaCurve
from .auto import SOLVERS, SolverChoice, choose_solver
from .exact import Exact
from .krylov import Krylov, KrylovOptions
from .problem import Problem, Solution, Solver, eigen_residual

__all__ = [
    "SOLVERS",
    "AlphaCurve",
    "Exact",
    "Krylov",
    "KrylovOptions",
    "Problem",
    "Solution",
    "Solver",
    "SolverChoice",
    "choose_solver",
    "eigen_residual",
]
