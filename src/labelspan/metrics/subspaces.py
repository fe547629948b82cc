"""Angles between subspaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import orth, svdvals

from ..errors import InvalidInput, Mismatch
from .metric_inputs import Array, read_numbers

__all__ = ["principal_angles"]


def principal_angles(A: Any, B: Any) -> Array:
    """The principal angles between two column spaces, in radians, largest first.

    There are as many angles as the smaller space has dimensions: columns that depend on
    others add none. A direction counts as dependent where its singular value is below the
    largest one times the rounding unit and the longer side of the matrix. Angles are those
    of scipy's ``subspace_angles``, but small ones keep their digits beside large ones, too.

    Parameters
    ----------
    A, B : arrays of shape (n, p) and (n, q)
        Columns span the spaces; for an estimator that is ``components_.T``.

    Returns
    -------
    array

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
            "principal_angles: A and B must have as many rows, for their columns to lie in one "
            f"space, but have {one.shape[0]} and {two.shape[0]}; to compare components_, transpose."
        )
    for name, side in (("A", one), ("B", two)):
        if not side.any():
            raise InvalidInput(
                f"principal_angles: {name} holds only zeros and spans no space; "
                "give at least one column that is not zero."
            )
    large, small = sorted((orth(one), orth(two)), key=lambda side: -side.shape[1])
    inside = large.T @ small
    cosines = svdvals(inside)[::-1]
    sines = svdvals(small - large @ inside)
    # A cosine near 1 has lost the digits of a small angle, a sine near 1 those of a large one.
    wide, narrow = np.arccos(cosines.clip(max=1)), np.arcsin(sines.clip(max=1))
    return np.asarray(np.where(cosines**2 < 0.5, wide, narrow))
