"""What the mapped rows and weights are worth, computed again in float64.

Never from what a solver says of itself. Each measure is a sum that the method maximises,
in percent of its maximum; next to it, for methods with labels, the sine of the largest
angle between the mapped rows and those of the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.metrics.pairwise import rbf_kernel

from .. import reference
from .printed import balanced, factor, printed_matrix
from .tasks import Fitted, Task, is_sparse

__all__ = ["judge"]

# Up to this side a reference is a dense factorisation, beyond an iteration to this residual,
# whose square is what the sums are off by.
_DENSE = 2000
_TOL = 1e-6


def judge(method: str, task: Task, found: Mapping[str, Fitted]) -> dict[str, dict[str, float]]:
    """The measures of every contender that came to an end, by name."""
    if method in {"lsi", "pca", "stream"}:
        return _energy(task, found, center=method != "lsi")
    if method == "mlsi":
        return _objective(task, found)
    if method == "mlsi-printed":
        return _printed(task, found)
    if method == "kernel-lsi":
        return _kernel_energy(task, found)
    if method == "kernel-mlsi":
        return _kernel_objective(task, found)
    return _captured(method, task, found)


class _Centred:
    """X less its columns' means, with the two products and nothing else."""

    def __init__(self, X: Any, means: np.ndarray) -> None:
        self.X, self.means, self.shape = X, means, X.shape

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        return np.asarray(self.X @ block - self.means @ block)

    def dense(self) -> np.ndarray:
        """The array itself."""
        return np.asarray((self.X.toarray() if is_sparse(self.X) else self.X) - self.means)

    @property
    def T(self) -> _Turned:
        return _Turned(self)

    def astype(self, dtype: Any) -> _Centred:
        return _Centred(self.X.astype(dtype), self.means)


class _Turned:
    def __init__(self, of: _Centred) -> None:
        self.of = of

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        sums = block.sum(axis=0)
        away = np.multiply.outer(self.of.means, sums)
        return np.asarray(self.of.X.T @ block - away)


def _wide(X: Any, *, center: bool) -> Any:
    X = X.astype(np.float64)
    means = np.asarray(X.mean(axis=0)).ravel() * center
    return _Centred(X, means)


def _leading(X: Any, count: int, extra: np.ndarray | None = None) -> float:
    """The sum of the largest squared singular values of ``[X, extra]``."""
    rows, columns = X.shape
    block = np.zeros((rows, 0)) if extra is None else extra
    if min(rows, columns + block.shape[1]) <= _DENSE:
        if rows <= columns:
            dense = X.dense()
            square = dense @ dense.T + block @ block.T
        else:
            across = X.T @ block
            square = np.block([[_gram(X), across], [across.T, block.T @ block]])
        return float(np.linalg.eigvalsh(square)[-count:].sum())
    whole = LinearOperator(
        (rows, columns + block.shape[1]),
        matvec=lambda v: X @ v.ravel()[:columns] + block @ v.ravel()[columns:],
        rmatvec=lambda u: np.concatenate([X.T @ u.ravel(), block.T @ u.ravel()]),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).standard_normal(min(whole.shape))
    values = svds(whole, count, return_singular_vectors=False, v0=start)
    return float(np.square(values).sum())


def _gram(X: _Centred) -> np.ndarray:
    dense = X.dense()
    return np.asarray(dense.T @ dense)


def _percent(sums: Mapping[str, float], best: float, name: str) -> dict[str, dict[str, float]]:
    return {key: {name: 100 * value / best} for key, value in sums.items()}


def _energy(
    task: Task, found: Mapping[str, Fitted], *, center: bool
) -> dict[str, dict[str, float]]:
    X = _wide(task.X, center=center)
    sums = {}
    for key, fitted in found.items():
        assert fitted.weights is not None
        basis = np.linalg.qr(fitted.weights.astype(np.float64))[0]
        sums[key] = float(np.square(X @ basis).sum())
    return _percent(sums, _leading(X, task.count), "energy, %")


def _objective(task: Task, found: Mapping[str, Fitted]) -> dict[str, dict[str, float]]:
    X = task.X.astype(np.float64)
    fitted = (
        X @ reference.ridge(X, task.Y, task.alpha, tol=_TOL)
        if task.alpha
        else _projected(X, task.Y)
    )
    share = np.sqrt(1 - task.beta)
    labels = np.sqrt(task.beta) / np.linalg.norm(task.Y) * fitted
    best = _leading(_wide(share * balanced(X), center=False), task.count, labels)
    sums = {
        key: reference.mlsi_objective(X, task.Y, fitted, one.mapped, task.beta)
        for key, one in found.items()
    }
    return _percent(sums, best, "objective, %")


def _projected(X: Any, Y: np.ndarray) -> np.ndarray:
    dense = X.toarray() if is_sparse(X) else X
    return np.asarray(dense @ np.linalg.lstsq(dense, Y, rcond=None)[0])


def _printed(task: Task, found: Mapping[str, Fitted]) -> dict[str, dict[str, float]]:
    """The sum of yu2005's eigenvalues over the space; in percent of the best contender's."""
    X, Y = balanced(task.X.astype(np.float64)), balanced(task.Y)
    kernel = X @ X.T
    kernel = kernel.toarray() if is_sparse(kernel) else kernel
    # Some texts are the same twice, and C has no inverse then.
    inverse = np.linalg.pinv(printed_matrix(kernel, Y, task.beta), rcond=1e-12, hermitian=True)
    sums = {}
    for key, fitted in found.items():
        assert fitted.weights is not None
        weights = np.linalg.qr(fitted.weights.astype(np.float64))[0]
        image = X @ weights
        metric = image.T @ inverse @ image + task.alpha * np.eye(weights.shape[1])
        sums[key] = float(np.trace(np.linalg.solve(metric, image.T @ image)))
    return _percent(sums, max(sums.values(), default=1.0), "eigenvalues, %")


def _kernel(task: Task) -> np.ndarray:
    return np.asarray(rbf_kernel(task.X.astype(np.float64), gamma=task.gamma))


def _kernel_energy(task: Task, found: Mapping[str, Fitted]) -> dict[str, dict[str, float]]:
    kernel = _kernel(task)
    means = kernel.mean(axis=0)
    kernel += means.mean() - means - means[:, None]
    sums = {}
    for key, fitted in found.items():
        basis = np.linalg.qr(fitted.mapped.astype(np.float64))[0]
        sums[key] = float((basis * (kernel @ basis)).sum())
    best = float(np.linalg.eigvalsh(kernel)[-task.count :].sum())
    return _percent(sums, best, "energy, %")


def _kernel_objective(task: Task, found: Mapping[str, Fitted]) -> dict[str, dict[str, float]]:
    kernel = _kernel(task)
    side = kernel.shape[0]
    scores = kernel @ linalg.solve(kernel + task.alpha * np.eye(side), task.Y, assume_a="pos")
    scores /= np.linalg.norm(task.Y)
    square = (1 - task.beta) / np.trace(kernel) * kernel + task.beta * scores @ scores.T
    sums = {}
    for key, fitted in found.items():
        basis = np.linalg.qr(fitted.mapped.astype(np.float64))[0]
        sums[key] = float((basis * (square @ basis)).sum())
    best = float(np.linalg.eigvalsh(square)[-task.count :].sum())
    return _percent(sums, best, "objective, %")


def _captured(method: str, task: Task, found: Mapping[str, Fitted]) -> dict[str, dict[str, float]]:
    """``trace((W'(X'X + alpha I)W)^-1 W'X'HH'X W)``: the sum of eigenvalues that W reaches."""
    X, H = _wide(task.X, center=True), factor(method, task)
    slopes = _slopes(X, H, task.alpha)
    square = H.T @ (X @ slopes)
    values, axes = np.linalg.eigh((square + square.T) / 2)
    target = X @ (slopes @ axes[:, -task.count :])
    best = float(values[-task.count :].sum())
    measures = {}
    for key, fitted in found.items():
        assert fitted.weights is not None
        weights = np.linalg.qr(fitted.weights.astype(np.float64))[0]
        image = X @ weights
        metric = image.T @ image + task.alpha * np.eye(weights.shape[1])
        seen = H.T @ image
        reached = float(np.trace(np.linalg.pinv(metric, hermitian=True) @ seen.T @ seen))
        angle = float(np.sin(linalg.subspace_angles(image, target)).max())
        measures[key] = {"eigenvalues, %": 100 * reached / best, "angle": angle}
    return measures


def _slopes(X: _Centred, H: np.ndarray, alpha: float) -> np.ndarray:
    """``(X'X + alpha I)^+ X'H``."""
    rows, columns = X.shape
    cross = X.T @ H
    if columns <= _DENSE:
        square = _gram(X)
        if alpha:
            square[np.diag_indices_from(square)] += alpha
            return np.asarray(linalg.solve(square, cross, assume_a="pos"))
        return np.asarray(np.linalg.pinv(square, rcond=1e-12, hermitian=True) @ cross)
    if rows <= _DENSE and alpha:
        dense = X.dense()
        dual = linalg.solve(dense @ dense.T + alpha * np.eye(rows), H, assume_a="pos")
        return np.asarray(X.T @ dual)
    return reference.ridge(X, H, alpha, tol=_TOL)
