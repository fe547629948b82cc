"""Kernels as features: rows become coordinates whose inner products are the kernel.

With ``K = k(Z, Z) = U diag(g) U'`` over reference rows Z, the map
``phi(x) = k(x, Z) U g^-1/2`` has ``phi(x) phi(x')' = k(x, x')`` exactly where Z holds all
rows of the fit (the dual form of every method), and approximately where Z is a part of
them (Nystroem landmarks). Centring phi by columns is what kernel PCA does to K. So a
method with a kernel is the linear method on ``phi(X)``, and no solver knows the
difference. Of a function that is no kernel, such as the sigmoid, the positive part counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from ..errors import InvalidInput
from .base import Array

__all__ = ["KERNEL_LIMIT", "Kernel", "KernelMap", "landmark_rows"]

# The most rows for which the n x n kernel matrix and its eigenvectors are formed:
# 5,000 x 5,000 in float64 is 191 MiB.
KERNEL_LIMIT = 5000
_NULL = 1e-12


@dataclass(frozen=True)
class Kernel:
    """A kernel function by scikit-learn's name or as a callable, with its parameters."""

    name: str | Callable[..., float]
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: Mapping[str, Any] | None = None

    def __call__(self, left: Any, right: Any) -> Array:
        """The matrix of kernel values between rows of two sets."""
        if self.name == "precomputed":
            return np.asarray(left, dtype=np.float64)
        if callable(self.name):
            options = dict(self.params or {})
        else:
            options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        filtered = not callable(self.name)
        values = pairwise_kernels(left, right, metric=self.name, filter_params=filtered, **options)
        return np.asarray(values, dtype=np.float64)


class KernelMap:
    """The map ``phi`` for a kernel and reference rows."""

    def __init__(self, kernel: Kernel, reference: Any) -> None:
        self.kernel = kernel
        self.reference = reference
        gram = kernel(reference, reference)
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        keep = values > _NULL * max(values[-1], 0.0)
        if not keep.any():
            raise InvalidInput(
                "kernel: no direction is left between the rows, for no eigenvalue of the kernel "
                "matrix is above zero; choose another kernel or gamma."
            )
        self.projection = vectors[:, keep] / np.sqrt(values[keep])

    def features(self, rows: Any) -> Array:
        """``phi`` of some rows, in float64."""
        return np.asarray(self.kernel(rows, self.reference) @ self.projection)


def landmark_rows(
    owner: str, kernel: Kernel, rows: Any, landmarks: int | None, rng: np.random.RandomState
) -> Any:
    """The reference rows: all of them, or a random part where landmarks are asked for."""
    count = rows.shape[0]
    if kernel.name == "precomputed":
        if landmarks is not None:
            raise InvalidInput(
                f"{owner}: landmarks={landmarks} cannot be taken from kernel='precomputed'; "
                "give the rows themselves and a kernel's name."
            )
        if rows.shape[1] != count:
            raise InvalidInput(
                f"{owner}: kernel='precomputed' takes a square matrix in fit, "
                f"but X has shape {rows.shape}."
            )
        return rows
    if landmarks is None:
        if count > KERNEL_LIMIT:
            raise InvalidInput(
                f"{owner}: kernel={kernel.name!r} on {count} rows would form a {count} x {count} "
                f"array, above the limit of {KERNEL_LIMIT}; give landmarks=1000, say (Nystroem)."
            )
        return rows
    if landmarks > count:
        raise InvalidInput(
            f"{owner}: landmarks={landmarks} is more than the {count} rows of X; "
            "use fewer, or None for all."
        )
    return rows[np.sort(rng.permutation(count)[:landmarks])]
