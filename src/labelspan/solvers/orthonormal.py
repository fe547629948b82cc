"""Thin blocks: orthonormal columns by Gram matrices, which cost one pass of BLAS 3."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .._typing import Array
from ..operators.array_backend import column_norms, inner, inner_all, subtract_products, times
from ..operators.threads import single_thread

__all__ = ["orthonormalize", "remove", "remove_measured"]


# Directions whose squared length is below this share of the longest are rounding, in
# either width: float64 Gram matrices resolve no less, float32 blocks hold no more.
_TOLERANCE = 1e-12
# Above this condition a triangular factor would not show a loss of rank.
_SAFE = 1e4
# Below this condition one pass leaves the columns orthonormal to rounding.
_ENOUGH = 10.0


def orthonormalize(block: Array) -> tuple[Array, Array]:
    """``block = Q R`` with orthonormal Q of as many columns as the block has rank.

    R is in float64. By the Gram matrix: its Cholesky factor where that is safe, else its
    eigenvalues, which show the rank, the shortest directions first; and again where one pass
    could not be accurate.
    """
    basis, total = block, np.eye(block.shape[1])
    for _ in range(3):
        gram = inner(basis, basis, dtype=np.float64)
        if gram.size == 0 or not np.trace(gram) > 0:
            return block[:, :0], total[:0]
        with single_thread():
            root, inverse, condition = _triangular(gram) or _spectral(gram)
        basis = times(basis, inverse)
        total = root @ total
        if condition < _ENOUGH:
            break
    return basis, total


def _triangular(gram: Array) -> tuple[Array, Array, float] | None:
    """``R``, ``R^-1`` and a condition with ``R'R`` the Gram matrix; None where that is unsafe."""
    lengths = np.sqrt(np.diag(gram))
    if not lengths.min() > 0:
        return None
    try:
        # Columns of length 1 first: different lengths do not make the condition bad.
        lower = np.linalg.cholesky(gram / np.outer(lengths, lengths))
    except np.linalg.LinAlgError:
        return None
    inverse = np.linalg.inv(lower)
    condition = float(np.linalg.norm(lower) * np.linalg.norm(inverse)) / lengths.size
    if not condition < _SAFE:
        return None
    return lower.T * lengths, inverse.T / lengths[:, None], condition


def _spectral(gram: Array) -> tuple[Array, Array, float]:
    """Do the same by eigenvalues, without directions that are rounding."""
    values, vectors = np.linalg.eigh(gram)
    keep = values > _TOLERANCE * values[-1]
    root, vectors = np.sqrt(values[keep]), vectors[:, keep]
    return root[:, None] * vectors.T, vectors / root, float(root[-1] / root[0])


def remove(block: Array, against: Sequence[Array]) -> Array:
    """Remove, in place, what lies along orthonormal blocks; twice where that is much."""
    remove_measured(block, against)
    return block


def remove_measured(
    block: Array, against: Sequence[Array], along: Array | None = None
) -> tuple[Array, Array]:
    """Do the same, and return the norms of the columns before and after it.

    ``along`` holds ``against' @ block`` where it is known already, up to rounding.
    """
    if not against:
        lengths = column_norms(block)
        return lengths, lengths
    ends = np.cumsum([0, *(basis.shape[1] for basis in against)])
    if along is None:
        parts = inner_all(against, block)
    else:
        parts = [along[start:stop] for start, stop in pairwise(ends)]
    before, after = subtract_products(block, against, parts)
    if not (after > 0.1 * before).all():
        _, after = subtract_products(block, against, inner_all(against, block))
    return before, after
