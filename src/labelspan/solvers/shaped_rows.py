"""Rows of X multiplied by the root of ``share I + B B'``, without forming it."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import inner, like
from ..operators.operator import Composite
from .orthonormal import orthonormalize

__all__ = ["ShapedRows"]


class ShapedRows(Composite):
    """``X (share I + B B')^1/2``: features, and the labels that B fits, as one matrix.

    The left singular vectors of ``[share^1/2 X, X B]`` are those of this matrix, which has no more
    columns than X and is applied in as many passes over its rows.
    """

    def __init__(self, base: Operator, share: float, slopes: Array) -> None:
        super().__init__(base.shape, [base])
        self.base, self.one_pass = base, base.one_pass
        basis, factor = orthonormalize(slopes)
        turned, lengths, _ = np.linalg.svd(np.asarray(factor, dtype=np.float64))
        count = min(factor.shape)
        self._root = float(np.sqrt(share))
        self._axes = basis @ like(turned[:, :count], basis)
        self._more = np.sqrt(share + np.square(lengths)) - self._root

    def shape_block(self, block: Array) -> Array:
        """Return ``(share I + B B')^1/2 block``."""
        along = self._more[:, None] * inner(self._axes, block)
        shaped: Array = self._root * block + self._axes @ like(along, self._axes)
        return shaped

    def _matmat(self, block: Array) -> Array:
        return self.base.matmat(self.shape_block(block))

    def _rmatmat(self, block: Array) -> Array:
        return self.shape_block(self.base.rmatmat(block))

    def normal(self, block: Array) -> Array:
        return self.shape_block(self.base.normal(self.shape_block(self.place(block))))
