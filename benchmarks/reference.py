"""What results are held against: plain numpy, in float64, with nothing of labelspan's."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "canonical_correlations",
    "cca_factor",
    "eigen_residual",
    "energy",
    "mlsi_objective",
    "pair_correlations",
    "ridge",
    "star_factor",
]


def ridge(
    X: Any, targets: np.ndarray, alpha: float, *, tol: float = 1e-10, max_iter: int = 5000
) -> np.ndarray:
    """``(X'X + alpha I)^-1 X'targets`` by conjugate gradients, every column on its own."""
    X = X.astype(np.float64)
    right = np.asarray(X.T @ targets.astype(np.float64))
    solution, residual = np.zeros_like(right), right.copy()
    direction, square = residual.copy(), np.square(residual).sum(axis=0)
    goal = tol**2 * square
    for _ in range(max_iter):
        if (square <= goal).all():
            return solution
        image = X.T @ (X @ direction) + alpha * direction
        step = _divide(square, (direction * image).sum(axis=0))
        solution += step * direction
        residual -= step * image
        previous, square = square, np.square(residual).sum(axis=0)
        direction = residual + _divide(square, previous) * direction
    raise RuntimeError(f"the reference regression did not reach {tol} in {max_iter} iterations")


def _divide(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0))


def energy(X: Any, components: np.ndarray) -> float:
    """``|X Q|^2`` for an orthonormal basis Q of the rows of ``components``."""
    basis = np.linalg.qr(components.T.astype(np.float64))[0]
    return float(np.square(X.astype(np.float64) @ basis).sum())


def mlsi_objective(
    X: Any, Y: np.ndarray, fitted: np.ndarray, embedding: np.ndarray, beta: float
) -> float:
    """The balanced objective of MLSI for the space that an embedding of X spans.

    ``(1 - beta) |V'X|^2 / |X|^2 + beta |V'fitted|^2 / |Y|^2`` with V orthonormal.
    """
    basis = np.linalg.qr(embedding.astype(np.float64))[0]
    wide = X.astype(np.float64)
    features = np.square(wide.T @ basis).sum() / np.square(wide.data).sum()
    labels = np.square(basis.T @ fitted).sum() / np.square(Y.astype(np.float64)).sum()
    return float((1 - beta) * features + beta * labels)


def canonical_correlations(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """All canonical correlations of two dense blocks, by singular values."""
    return np.linalg.svd(_basis(X).T @ _basis(Y), compute_uv=False)


def pair_correlations(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """The correlations of the columns of two blocks, pair by pair, falling."""
    one, two = one - one.mean(axis=0), two - two.mean(axis=0)
    lengths = np.linalg.norm(one, axis=0) * np.linalg.norm(two, axis=0)
    return np.sort(np.abs((one * two).sum(axis=0)) / lengths)[::-1]


def cca_factor(Y: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the centred labels."""
    return _basis(Y.astype(np.float64))


def star_factor(Y: np.ndarray) -> np.ndarray:
    """The factor of the star expansion's Laplacian (sun2009), centred."""
    spread = _divide(Y.astype(np.float64), np.broadcast_to(Y.sum(axis=0), Y.shape))
    scale = np.sqrt(np.outer(spread.sum(axis=1), spread.sum(axis=0)))
    block = _divide(spread, scale)
    return np.asarray(block - block.mean(axis=0))


def _basis(block: np.ndarray) -> np.ndarray:
    left, values, _ = np.linalg.svd(block - block.mean(axis=0), full_matrices=False)
    return left[:, values > 1e-10 * values[0]]


def eigen_residual(
    X: Any, factor: np.ndarray, alpha: float, components: np.ndarray, eigenvalues: np.ndarray
) -> float:
    """The largest ``|X'HH'X w - l (X'X + alpha I) w|`` of centred X, over the first left side."""
    X, W = X.astype(np.float64), components.T.astype(np.float64)
    means = np.asarray(X.mean(axis=0)).reshape(1, -1)
    image = X @ W - means @ W

    def back(block: np.ndarray) -> np.ndarray:
        return np.asarray(X.T @ block - means.T * block.sum(axis=0))

    left = back(factor @ (factor.T @ image))
    gap = left - eigenvalues * (back(image) + alpha * W)
    return float(np.linalg.norm(gap, axis=0).max() / np.linalg.norm(left[:, 0]))
