"""Solvers: stateless values that take a problem and give a solution."""

from .auto import SOLVERS, Choice, choose_solver
from .base import Problem, Solution, Solver, eigen_residual, refuse_unless_fit
from .eigen import Eigen
from .gram import Gram, solve_statistics
from .least_squares import LeastSquares
from .randomized import Randomized
from .statistics import Statistics
from .two_stage import TwoStage

__all__ = [
    "SOLVERS",
    "Choice",
    "Eigen",
    "Gram",
    "LeastSquares",
    "Problem",
    "Randomized",
    "Solution",
    "Solver",
    "Statistics",
    "TwoStage",
    "choose_solver",
    "eigen_residual",
    "refuse_unless_fit",
    "solve_statistics",
]
