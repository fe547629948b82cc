"""Two solvers used only in these experiments, as the paper describes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from ..._typing import Array
from ...operators import Operator
from ...solvers import Exact, Problem, Solution
from ...solvers.decomposition import factorise
from ...solvers.ridge import ridge
from .least_squares import LeastSquares

__all__ = ["DirectLeastSquares", "Eigen", "Factored"]


@dataclass(frozen=True)
class Eigen:
    """Solver of the whole eigenproblem in the singular basis of the data, as a reference.

    It uses no Gram matrix and no regression.
    """

    @property
    def name(self) -> str:
        return "eigen"

    def why_not(self, problem: Problem) -> str | None:
        if not problem.labels_only:
            return "Eigen needs a factor made only of labels."
        return Exact().why_not(problem)

    def solve(self, problem: Problem) -> Solution:
        basis = factorise(problem.X, problem.label_block)
        roots = np.sqrt(basis.values + problem.alpha)[:, None]
        damped = np.sqrt(basis.values)[:, None] / roots * basis.coordinates
        left, lengths, _ = np.linalg.svd(damped, full_matrices=False)
        left, lengths = left[:, : problem.n_components], lengths[: problem.n_components]
        return Solution(basis.right.matmat(left / roots), np.square(lengths), self.name)


@dataclass(frozen=True)
class Factored:
    """Solver of the eigenproblem as in section 5 of the paper: Cholesky, then Lanczos.

    ``X'X + alpha I = L L'`` with all d x d entries, whatever the shape of X; then the
    leading eigenvectors of ``L^-1 X'S X L^-T``, applied as a thin product, which favours the
    eigenproblem.
    """

    @property
    def name(self) -> str:
        return "factored"

    def why_not(self, problem: Problem) -> str | None:
        if not problem.labels_only:
            return "Factored needs a factor made only of labels."
        if problem.alpha <= 0:
            return "Factored needs alpha > 0."
        return None

    def solve(self, problem: Problem) -> Solution:
        labels = problem.label_block
        assert labels is not None
        square = problem.X.gram()
        square[np.diag_indices_from(square)] += problem.alpha
        lower = linalg.cholesky(square, lower=True, overwrite_a=True, check_finite=False)
        thin = linalg.solve_triangular(lower, problem.X.cross(labels), lower=True)
        values, vectors = eigsh(
            LinearOperator(lower.shape, matvec=lambda v: thin @ (thin.T @ v), dtype=np.float64),
            k=problem.n_components,
            # A deterministic start that depends on the labels.
            v0=thin.sum(axis=1),
        )
        decreasing = np.argsort(-values)
        weights = linalg.solve_triangular(lower, vectors[:, decreasing], lower=True, trans="T")
        return Solution(weights, values[decreasing], self.name)


@dataclass(frozen=True)
class DirectLeastSquares(LeastSquares):
    """Least squares of sun2009 through a Gram matrix, instead of the iteration of the paper.

    LSQR gives the same answer, but close to n = d it takes thousands of iterations.
    """

    def _lsqr(self, X: Operator, wanted: Array, alpha: float) -> tuple[Array, int, bool]:
        fit = ridge(X, wanted, alpha)
        return fit.slopes.to_block(), fit.n_iter, fit.converged
