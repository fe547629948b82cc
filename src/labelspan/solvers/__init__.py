"""Solvers: stateless objects that map a problem to a solution.

``two_stage`` is the method, read from top to bottom, above two primitives: ``ridge`` and ``svd``.
Their direct forms take one ``decomposition`` of the data, their iterative forms only products of an
operator with thin blocks.
"""

from .alpha import AlphaCurve
from .auto import SOLVERS, SolverChoice, choose_solver
from .problem import Problem, Solution, Solver, eigen_residual
from .two_stage import Exact, Krylov, KrylovOptions

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
