"""Thin blocks: orthonormal columns by Gram matrices, which cost one pass of BLAS 3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..operators.arrays import Array, cast, column_norms, inner, like

__all__ = ["orthonormalize", "remove"]


# Directions whose squared length is below this share of the longest are rounding, in
# either width: float64 Gram matrices resolve no less, float32 blocks hold no more.
_TOLERANCE = 1e-12


def orthonormalize(block: Array) -> tuple[Array, Array]:
    """``block = Q R`` with orthonormal Q of as many columns as the block has rank.

    R is in float64. By eigenvalues of the Gram matrix, which shows the rank, and again
    where one pass could not be accurate. The shortest directions come first.
    """
    basis, total = block, np.eye(block.shape[1])
    for _ in range(3):
        wide = cast(basis, np.float64)
        values, vectors = np.linalg.eigh(inner(wide, wide))
        if values.size == 0 or not values[-1] > 0:
            return block[:, :0], total[:0]
        keep = values > _TOLERANCE * values[-1]
        root, vectors = np.sqrt(values[keep]), vectors[:, keep]
        basis = basis @ like(vectors / root, block)
        total = (root[:, None] * vectors.T) @ total
        if root[0] > 0.1 * root[-1]:
            break
    return basis, total


def remove(block: Array, against: Sequence[Array], along: Array | None = None) -> Array:
    """Take off, in place, what lies along orthonormal blocks; twice where that is much.

    ``along`` holds ``against' @ block`` where it is known already, up to rounding.
    """
    if not against:
        return block
    before = column_norms(block)
    for _ in range(2):
        start = 0
        for basis in against:
            stop = start + basis.shape[1]
            part = basis.T @ block if along is None else like(along[start:stop], block)
            block -= basis @ part
            start = stop
        after = column_norms(block)
        if (after > 0.1 * before).all():
            break
        before, along = after, None
    return block
