"""Solvers: stateless values that take a problem and give a solution."""

from .auto import SOLVERS, SolverChoice, choose_solver
from .eigen import Eigen
from .gram import Gram, solve_statistics
from .least_squares import LeastSquares
from .leave_one_out import AlphaCurve
from .penalties import L1, L2, Penalty
from .problem import Problem, Solution, Solver, eigen_residual, refuse_unless_fit
from .randomized import Randomized
from .sufficient_statistics import Statistics
from .two_stage import TwoStage

__all__ = [
    "L1",
    "L2",
    "SOLVERS",
    "AlphaCurve",
    "Eigen",
    "Gram",
    "LeastSquares",
    "Penalty",
    "Problem",
    "Randomized",
    "Solution",
    "Solver",
    "SolverChoice",
    "Statistics",
    "TwoStage",
    "choose_solver",
    "eigen_residual",
    "refuse_unless_fit",
    "solve_statistics",
]
