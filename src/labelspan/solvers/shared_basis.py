"""A basis shared by many candidates on the same rows, in which each candidate costs little."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ..labels import Factor, Regression
from ..operators import Operator
from .exact import complete_basis
from .krylov import LabelledSpace
from .problem import Problem, rounding
from .small_dense import psd_basis, spectral, thin_spectrum

__all__ = ["SharedBasis", "shared_basis"]

# Up to this size the basis is exact; beyond, it is a Krylov space.
_EXACT_SIDE = 1024
# A space that ranks candidates need not be as accurate as the final fit.
_SPACE_TOL = 3e-2
_MOST_BLOCKS = 8


@dataclass(frozen=True)
class SharedBasis:
    """A basis V of (a part of) X's row space: ``X = U diag(values)^1/2 V'`` on it.

    ``labels`` is ``U'Y`` and ``factor`` is ``U'H`` for the two label blocks. V is stored
    as blocks side by side, times ``mixing`` if that is not the identity.
    """

    values: Array
    blocks: tuple[Array, ...]
    mixing: Array | None
    labels: Array
    factor: Array

    def coordinates(self, X: Operator) -> Array:
        """``X V`` for other rows."""
        image = np.concatenate([X.matmat(block) for block in self.blocks], axis=1)
        image = image.astype(np.float64)
        return image if self.mixing is None else image @ self.mixing

    def with_labels(self, X: Operator, labels: Array) -> SharedBasis:
        """Return the same basis with other labels of the rows X that it was built from."""
        cross = X.rmatmat(labels)
        seen = np.concatenate([block.T @ cross for block in self.blocks]).astype(np.float64)
        if self.mixing is not None:
            seen = self.mixing.T @ seen
        return replace(self, labels=seen / np.sqrt(self.values)[:, None])

    def stack(
        self, factor: Factor, scale: float | Array, alpha: float, count: int
    ) -> tuple[Array, Array]:
        """Return the eigenvalues and the weights in the basis for one factor."""
        return spectral(self.values, scale * self.labels, factor, alpha, count)

    def thin(self, alpha: float, count: int) -> tuple[Array, Array]:
        """Return the same for a factor of labels and one penalty."""
        shifted = self.values + alpha
        inner = (self.factor * (self.values / shifted)[:, None]).T @ self.factor
        values, axes = thin_spectrum(inner, count)
        slopes = self.factor * (np.sqrt(self.values) / shifted)[:, None]
        return values, np.asarray(slopes @ (axes / np.sqrt(values)))

    def images(self, inside: Array) -> Array:
        """``W'X'Y`` for weights in the basis."""
        return np.asarray(inside.T @ (np.sqrt(self.values)[:, None] * self.labels))

    def fitted_images(self, inside: Array, alpha: float) -> Array:
        """``W'X'X B`` for weights in the basis and the ridge regression of the labels."""
        shrunk = np.sqrt(self.values) * (self.values / (self.values + alpha))
        return np.asarray(inside.T @ (shrunk[:, None] * self.labels))


def shared_basis(
    X: Operator, labels: Array, factor: Array, *, alpha: float, count: int, seed: int
) -> SharedBasis:
    """Build the basis for candidates with penalties of at least ``alpha`` and up to ``count``.

    Exact if the smaller side of X is short; otherwise a Krylov space built from the
    labels, accurate to about one percent of the objective.
    """
    blocks = np.concatenate([labels, factor], axis=1)
    width = labels.shape[1]
    if min(X.shape) <= _EXACT_SIDE:
        basis = complete_basis(X, blocks, alpha)
        seen = basis.coordinates
        return SharedBasis(basis.values, (basis.right,), None, seen[:, :width], seen[:, width:])
    scale = np.linalg.norm(labels) or 1.0
    balanced = Factor(
        labels=labels, share=float(scale**2) / X.sum_of_squares(), regression=Regression(alpha)
    )
    rng = np.random.default_rng(seed)
    problem = Problem(X, balanced, count)
    grown = LabelledSpace(problem, tol=_SPACE_TOL, max_iter=_MOST_BLOCKS, rng=rng)
    grown.grow(check=False)
    space = grown.space
    values, vectors = psd_basis(space.gram, 64 * rounding(X.dtype))
    image = np.concatenate([part.T @ blocks for part in space.image]).astype(np.float64)
    seen = (vectors.T @ image) / np.sqrt(values)[:, None]
    return SharedBasis(values, tuple(space.basis), vectors, seen[:, :width], seen[:, width:])
