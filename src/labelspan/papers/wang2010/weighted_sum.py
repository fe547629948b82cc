"""A weighted sum of graphs."""

from __future__ import annotations

from collections.abc import Sequence

from ..._typing import Array
from ...operators import Operator
from ...operators.operator import Composite

__all__ = ["WeightedSum"]


class WeightedSum(Composite):
    """The sum ``a_1 W_1 + a_2 W_2 + ...`` of symmetric operators of one shape."""

    def __init__(self, parts: Sequence[Operator], weights: Sequence[float]) -> None:
        super().__init__(parts[0].shape, parts)
        self.parts, self.weights = tuple(parts), tuple(float(weight) for weight in weights)

    def _matmat(self, block: Array) -> Array:
        pairs = zip(self.weights, self.parts, strict=True)
        first, *others = (weight * self.to_device(part.matmat(block)) for weight, part in pairs)
        return sum(others, first)

    def _rmatmat(self, block: Array) -> Array:
        return self._matmat(block)
