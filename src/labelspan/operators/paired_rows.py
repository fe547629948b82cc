"""Rows of features and of labels in the same blocks, scaled or combined: products of one pass.

Nothing here has as many entries as there are rows: a solver that uses only these products needs
memory for two blocks of rows, and for blocks with a row per feature or per label.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..errors import Mismatch
from .array_backend import host
from .operator import Operator
from .row_blocks import RowBlocks

__all__ = ["PairedRows", "paired"]


class PairedRows:
    """X and L with the same rows, each in blocks and centred or not.

    Parameters
    ----------
    X, labels : RowBlocks
        In blocks of the same sizes.
    scale : float or array of shape (k,), default=1.0
        What the labels are multiplied by.
    mix : array of shape (k, r) or None, default=None
        Combinations of the labels that take their place: ``L mix``.
    """

    def __init__(
        self,
        X: Operator,
        labels: Operator,
        scale: float | Array = 1.0,
        mix: Array | None = None,
    ) -> None:
        if not (isinstance(X, RowBlocks) and isinstance(labels, RowBlocks)):
            raise Mismatch("Labels in files need X in files too; write both by RowWriter.")
        self.X, self.labels, self.mix = X, labels, mix
        self._scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), labels.shape[1:])

    def both(self, block: Array) -> tuple[Array, Array]:
        """Return ``X'(X block)`` and ``L'(X block)``."""
        normal, seen = self.X.joint_products(block, self.labels)
        seen = self._scale[:, None] * host(seen)
        return normal, self.X.place(seen if self.mix is None else self.mix.T @ seen)

    @property
    def width(self) -> int:
        """Number of labels, or of their combinations."""
        return self.labels.shape[1] if self.mix is None else self.mix.shape[1]

    @property
    def changed(self) -> bool:
        """Whether the labels are not those that are stored."""
        return self.labels.is_changed

    def back(self, block: Array) -> Array:
        """Return ``X'(L block)`` for a block with a row per label."""
        own = host(block) if self.mix is None else self.mix @ host(block)
        return self.X.label_products(self._scale[:, None] * own, self.labels)

    def take(self, index: Array) -> tuple[Any, Any]:
        """Return some rows of X and of L, given by rising numbers, not centred."""
        return self.X.take(index), self.labels.take(index)


def paired(X: Operator, labels: Any, scale: float | Array = 1.0) -> PairedRows | None:
    """Pair features and labels that are both in blocks; None where the labels are not.

    Labels in blocks need features in blocks.
    """
    return PairedRows(X, labels, scale) if isinstance(labels, RowBlocks) else None
