"""Angles between subspaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import orth, svdvals

from ..errors import InvalidInput, Mismatch
from .metric_inputs import Array, read_numbers

__all__ = ["principal_angles"]


def principal_angles(A: Any, B: Any) -> Array:
    """Compute the principal angles between two column spaces.

    The number of angles is the smaller of the two dimensions. A direction is ignored as linearly
    dependent if its singular value is below the largest one times the machine epsilon times the
    larger side of the matrix. The angles are those of scipy's ``subspace_angles``, but small ones
    stay accurate next to large ones.

    Parameters
    ----------
    A, B : arrays of shape (n, p) and (n, q)
        Their columns span the spaces; for an estimator use ``components_.T``.

    Returns
    -------
    array of shape (min(rank A, rank B),)
        The angles in radians, largest first.

    See Also
    --------
    labelspan.solvers.eigen_residual : How well weights solve the eigenproblem.

    References
    ----------
    A. Bjorck, G. H. Golub. Numerical methods for computing angles between linear subspaces.
    Mathematics of Computation 27(123), 579-594, 1973.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.metrics import principal_angles
    >>> np.degrees(principal_angles([[1, 0], [0, 1], [0, 0]], [[1, 0], [0, 1], [0, 1]])).round()
    array([45.,  0.])
    """
    one, two = (read_numbers(M, name, "principal_angles") for M, name in ((A, "A"), (B, "B")))
    if one.shape[0] != two.shape[0]:
        raise Mismatch(
            "principal_angles: A and B must have the same number of rows, so that their columns "
            f"lie in one space, but have {one.shape[0]} and {two.shape[0]}; to compare "
            "components_, transpose."
        )
    for name, side in (("A", one), ("B", two)):
        if not side.any():
            raise InvalidInput(
                f"principal_angles: {name} contains only zeros and does not span a "
                "space; pass at least one nonzero column."
            )
    large, small = sorted((orth(one), orth(two)), key=lambda side: -side.shape[1])
    inside = large.T @ small
    cosines = svdvals(inside)[::-1]
    sines = svdvals(small - large @ inside)
    # A cosine near 1 loses the digits of a small angle, a sine near 1 those of a large one.
    wide, narrow = np.arccos(cosines.clip(max=1)), np.arcsin(sines.clip(max=1))
    return np.asarray(np.where(cosines**2 < 0.5, wide, narrow))
