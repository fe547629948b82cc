"""Kernels as features: rows become coordinates whose inner products are the kernel.

With ``K = k(Z, Z) = U diag(g) U'`` over reference rows Z, the map
``phi(x) = k(x, Z) U g^-1/2`` (or a rotation of it, as a Cholesky factor gives) has
``phi(x) phi(x')' = k(x, x')`` exactly where Z holds all rows of the fit (the dual form of
every method), and approximately where Z is a part of them (Nystroem landmarks). Centring
phi by columns is what kernel PCA does to K. So a method with a kernel is the linear method
on ``phi(X)``, and no solver needs to know. Of a function that is not a kernel, such as the
sigmoid, the positive part is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.metrics.pairwise import pairwise_kernels

from .._typing import Array
from ..errors import InvalidInput

__all__ = ["KERNEL_LIMIT", "Kernel", "KernelMap", "landmark_rows", "symmetric_kernel"]

# The most rows for which the n x n kernel matrix and its eigenvectors are formed:
# 5,000 x 5,000 in float64 is 191 MiB.
KERNEL_LIMIT = 5000
_NULL = 1e-12
# Squared pivots of a Cholesky factor above this fraction of the largest are not rounding.
_SAFE = 1e-8


@dataclass(frozen=True)
class Kernel:
    """A kernel function by scikit-learn's name or as a callable, with its parameters."""

    name: str | Callable[..., float]
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: Mapping[str, Any] | None = None

    def __call__(self, left: Any, right: Any) -> Array:
        """Return the matrix of kernel values between the rows of two sets."""
        if self.name == "precomputed":
            return np.asarray(left, dtype=np.float64)
        if callable(self.name):
            options = dict(self.params or {})
        else:
            options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        filtered = not callable(self.name)
        values = pairwise_kernels(left, right, metric=self.name, filter_params=filtered, **options)
        return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class KernelMap:
    """The map ``phi(x) = k(x, Z) @ projection`` for a kernel and reference rows Z."""

    kernel: Kernel
    reference: Any
    projection: Array

    @classmethod
    def of(cls, kernel: Kernel, reference: Any) -> tuple[KernelMap, Array]:
        """Return the map, and the coordinates of the reference rows.

        Uses a Cholesky factor where the kernel matrix is safely positive definite, which costs
        a tenth of its eigenvectors, and otherwise the eigenvectors, without null directions.
        """
        gram = symmetric_kernel(kernel, reference)
        lower, failed = lapack.dpotrf(gram, lower=1, clean=1)
        pivots = np.square(np.diag(lower))
        if not failed and pivots.min() > _SAFE * pivots.max():
            inverse, _ = lapack.dtrtri(lower, lower=1)
            return cls(kernel, reference, inverse.T), lower
        values, vectors = np.linalg.eigh(gram)
        keep = values > _NULL * max(values[-1], 0.0)
        if not keep.any():
            raise InvalidInput(
                "kernel: no eigenvalue of the kernel matrix is above zero, so it has no direction "
                "to offer; choose another kernel or gamma."
            )
        root = np.sqrt(values[keep])
        return cls(kernel, reference, vectors[:, keep] / root), vectors[:, keep] * root

    def features(self, rows: Any) -> Array:
        """Return ``phi`` of some rows, in float64."""
        return np.asarray(self.kernel(rows, self.reference) @ self.projection)


def symmetric_kernel(kernel: Kernel, rows: Any) -> Array:
    """Return the kernel between rows and themselves, symmetric to the last bit."""
    gram = kernel(rows, rows)
    return (gram + gram.T) / 2


def landmark_rows(
    owner: str, kernel: Kernel, rows: Any, landmarks: int | None, rng: np.random.RandomState
) -> Any:
    """Return the reference rows: all rows, or a random selection where landmarks are given."""
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
                f"array, above the limit of {KERNEL_LIMIT}; give landmarks (Nystroem), for example "
                "landmarks=1000."
            )
        return rows
    if landmarks > count:
        raise InvalidInput(
            f"{owner}: landmarks={landmarks} is more than the {count} rows of X; "
            "use fewer, or None for all."
        )
    return rows[np.sort(rng.permutation(count)[:landmarks])]
