"""The papers' formulations as they stand, in plain numpy and scipy.

The eigenproblems of sun2009 (Eq. 3 to 5 and LDA) with d x d arrays, the same by
regressions of one label at a time with LSQR, and yu2005's primal (Eq. 8) and dual
(Eq. 12) with their inverses. Nothing here is labelspan's.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.metrics.pairwise import rbf_kernel

from .. import reference
from .tasks import Contender, Fitted, Task, is_sparse

__all__ = ["PRINTED", "balanced", "factor", "printed_matrix"]


def factor(method: str, task: Task) -> np.ndarray:
    """H of ``X'HH'X w = lambda (X'X + alpha I) w``, centred by columns."""
    if method == "cca":
        return reference.cca_factor(task.Y)
    if method == "opls":
        return np.asarray(task.Y - task.Y.mean(axis=0))
    if method == "hsl":
        return reference.star_factor(task.Y)
    one_hot = (task.y[:, None] == np.unique(task.y)).astype(np.float64)
    block = one_hot / np.sqrt(one_hot.sum(axis=0))
    return np.asarray(block - block.mean(axis=0))


def _eigenproblem(method: str, task: Task) -> Fitted:
    if is_sparse(task.X):
        raise TypeError("written for dense arrays, not for sparse ones")
    X = task.X.astype(np.float64)
    X = X - X.mean(axis=0)
    cross = X.T @ factor(method, task)
    metric = X.T @ X
    metric[np.diag_indices_from(metric)] += task.alpha
    side = metric.shape[0]
    _, weights = linalg.eigh(cross @ cross.T, metric, subset_by_index=(side - task.count, side - 1))
    return Fitted(X @ weights, weights)


def _one_by_one(method: str, task: Task) -> Fitted:
    H = factor(method, task)
    means = np.asarray(task.X.mean(axis=0)).ravel()
    centred = LinearOperator(
        task.X.shape,
        matvec=lambda v: task.X @ v.ravel() - means @ v.ravel(),
        rmatvec=lambda u: task.X.T @ u.ravel() - means * u.sum(),
        dtype=np.float64,
    )
    damp = np.sqrt(task.alpha)
    slopes = np.column_stack(
        [lsqr(centred, column, damp=damp, atol=1e-8, btol=1e-8)[0] for column in H.T]
    )
    image = task.X @ slopes - means @ slopes
    square = H.T @ image
    values, axes = np.linalg.eigh((square + square.T) / 2)
    turn = axes[:, -task.count :] / np.sqrt(values[-task.count :])
    return Fitted(image @ turn, slopes @ turn)


def balanced(block: Any) -> Any:
    """A matrix divided by its Frobenius norm."""
    entries = block.data if is_sparse(block) else block
    return block * (1.0 / np.linalg.norm(np.asarray(entries, dtype=np.float64)))


def printed_matrix(kernel: np.ndarray, Y: np.ndarray, beta: float) -> np.ndarray:
    """yu2005's C."""
    return np.asarray((1 - beta) * kernel + beta * Y @ Y.T)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error", linalg.LinAlgWarning)
        try:
            return np.asarray(linalg.inv(matrix, assume_a="sym"))
        except linalg.LinAlgWarning as warning:
            raise np.linalg.LinAlgError(str(warning)) from None


def _primal(task: Task) -> Fitted:
    if is_sparse(task.X):
        raise TypeError("written for dense arrays, not for sparse ones")
    X, Y = balanced(task.X.astype(np.float64)), balanced(task.Y)
    right = X.T @ _inverse(printed_matrix(X @ X.T, Y, task.beta)) @ X
    right[np.diag_indices_from(right)] += task.alpha
    side = right.shape[0]
    _, weights = linalg.eigh(X.T @ X, right, subset_by_index=(side - task.count, side - 1))
    return Fitted(X @ weights, weights)


def _dual(task: Task) -> Fitted:
    X, Y = balanced(task.X.astype(np.float64)), balanced(task.Y)
    kernel = X @ X.T
    kernel = kernel.toarray() if is_sparse(kernel) else kernel
    coefficients = _solve_dual(kernel, Y, task)
    return Fitted(kernel @ coefficients, X.T @ coefficients)


def _kernel_dual(task: Task) -> Fitted:
    kernel = rbf_kernel(task.X.astype(np.float64), gamma=task.gamma)
    kernel /= np.trace(kernel)
    return Fitted(kernel @ _solve_dual(kernel, balanced(task.Y), task))


def _solve_dual(kernel: np.ndarray, Y: np.ndarray, task: Task) -> np.ndarray:
    right = kernel @ _inverse(printed_matrix(kernel, Y, task.beta)) @ kernel + task.alpha * kernel
    side = kernel.shape[0]
    few = (side - task.count, side - 1)
    _, vectors = linalg.eigh(kernel @ kernel, (right + right.T) / 2, subset_by_index=few)
    return np.asarray(vectors)


def _thin(method: str, equation: str) -> tuple[Contender, ...]:
    return (
        Contender(
            f"sun2009 {equation}, dense",
            partial(_eigenproblem, method),
            package="scipy",
            square="d",
        ),
        Contender(
            "LSQR, label by label",
            partial(_one_by_one, method),
            package="scipy",
            sparse_only=True,
        ),
    )


PRINTED: dict[str, tuple[Contender, ...]] = {
    "cca": _thin("cca", "Eq. 3"),
    "opls": _thin("opls", "Eq. 4"),
    "hsl": _thin("hsl", "Eq. 5"),
    "lda": _thin("lda", "LDA"),
    "mlsi-printed": (
        Contender("yu2005 Eq. 8, primal", _primal, package="scipy", square="d"),
        Contender("yu2005 Eq. 12, dual", _dual, package="scipy", square="n"),
    ),
    "kernel-mlsi": (
        Contender(
            "yu2005 Eq. 12, dual",
            _kernel_dual,
            same=False,
            remark="inverse form",
            package="scipy",
            square="n",
        ),
    ),
}
