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
from ..errors import InvalidInput, LabelspanWarning, warn_caller
from .row_data import translated

__all__ = ["KERNEL_LIMIT", "Kernel", "KernelMap", "landmark_rows", "symmetric_kernel"]

# The most rows for which the n x n kernel matrix and its eigenvectors are formed:
# 5,000 x 5,000 in float64 is 191 MiB.
KERNEL_LIMIT = 5000
_NULL = 1e-12
# Relative asymmetry, and negative eigenvalues, that rounding can explain.
_ASYMMETRY = 1e-6
_NEGATIVE = 1e-8
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
        if self.name == "rbf":
            # Distances do not change; their digits do.
            if left is right:
                (left,) = (right,) = translated(right)
            else:
                right, left = translated(right, left)
        values = pairwise_kernels(left, right, metric=self.name, filter_params=filtered, **options)
        return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class KernelMap:
    """The map ``phi(x) = k(x, Z) @ projection`` for a kernel and reference rows Z."""

    kernel: Kernel
    reference: Any
    projection: Array

    @classmethod
    def of(cls, kernel: Kernel, reference: Any, *, center: bool = False) -> tuple[KernelMap, Array]:
        """Return the map, and the coordinates of the reference rows.

        Uses a Cholesky factor where the kernel matrix is safely positive definite, which costs
        a tenth of its eigenvectors, and otherwise the eigenvectors, without null directions.
        With ``center`` the coordinates are turned to the axes of the centred rows: otherwise they
        would depend on each other almost exactly where the kernel is nearly singular.
        """
        gram = symmetric_kernel(kernel, reference)
        null = _null(reference)
        lower, failed = lapack.dpotrf(gram, lower=1, clean=1)
        pivots = np.square(np.diag(lower))
        if not failed and pivots.min() > max(_SAFE, 10 * null) * pivots.max():
            inverse, _ = lapack.dtrtri(lower, lower=1)
            return cls(kernel, reference, inverse.T), lower
        values, vectors = np.linalg.eigh(gram)
        keep = values > null * max(values[-1], 0.0)
        if not keep.any():
            raise InvalidInput(
                "kernel: no eigenvalue of the kernel matrix is above zero, so it has no direction "
                "to offer; choose another kernel or gamma."
            )
        root = np.sqrt(values[keep])
        projection, coordinates = vectors[:, keep] / root, vectors[:, keep] * root
        if center:
            centred = coordinates - coordinates.mean(axis=0)
            _, lengths, turned = np.linalg.svd(centred, full_matrices=False)
            axes = turned[np.square(lengths) > null * lengths[0] ** 2].T
            projection, coordinates = projection @ axes, coordinates @ axes
        return cls(kernel, reference, projection), coordinates

    def features(self, rows: Any) -> Array:
        """Return ``phi`` of some rows, in float64."""
        return np.asarray(self.kernel(rows, self.reference) @ self.projection)


def symmetric_kernel(kernel: Kernel, rows: Any) -> Array:
    """Return the kernel between rows and themselves, symmetric to the last bit.

    A matrix of the user that is not symmetric raises an error. A matrix or a function of the
    user with clearly negative eigenvalues is warned about, because only its positive part is used.
    """
    gram = kernel(rows, rows)
    mean = (gram + gram.T) / 2
    if kernel.name == "precomputed":
        _refuse_asymmetry(gram, kernel, rows)
    if kernel.name == "precomputed" or callable(kernel.name):
        _warn_if_indefinite(mean, kernel, rows)
    return mean


def _null(rows: Any) -> float:
    """Return the fraction of the largest eigenvalue below which a kernel's are rounding."""
    return max(_NULL, int(rows.shape[0]) * float(np.finfo(rows.dtype).eps))


def _refuse_asymmetry(gram: Array, kernel: Kernel, rows: Any) -> None:
    largest, difference = np.abs(gram).max(), np.abs(gram - gram.T).max()
    if difference > max(_ASYMMETRY, 10 * _null(rows)) * largest:
        raise InvalidInput(
            f"{_called(kernel)} must be symmetric, but it differs from its transpose by up to "
            f"{difference:.3g}, and its largest entry is {largest:.3g}; give (K + K.T) / 2 if "
            "both directions mean the same."
        )


def _warn_if_indefinite(gram: Array, kernel: Kernel, rows: Any) -> None:
    slack = max(_NEGATIVE, 10 * _null(rows)) * float(np.linalg.norm(gram))
    shifted = gram + slack * np.eye(gram.shape[0])
    # A Cholesky factor costs a tenth of the eigenvalues, and exists for all but indefinite ones.
    if not lapack.dpotrf(shifted, lower=1, overwrite_a=1)[1]:
        return
    values = np.linalg.eigvalsh(gram)
    if -values[0] > slack:
        warn_caller(
            f"{_called(kernel)} is not positive semi-definite: its eigenvalues lie between "
            f"{values[0]:.3g} and {values[-1]:.3g}. Directions with negative eigenvalues are left "
            f"out; use a positive semi-definite kernel, or add {-values[0]:.3g} to the diagonal.",
            LabelspanWarning,
        )


def _called(kernel: Kernel) -> str:
    name = kernel.name if isinstance(kernel.name, str) else kernel.name.__name__
    return f"kernel={name!r}: the kernel matrix"


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
