"""Penalties on the weights: the 2-norm in every solver, the 1-norm in least squares."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["L1", "L2", "Penalty"]


@dataclass(frozen=True)
class L2:
    """``alpha * |w|^2``, added to the metric: ``X'X + alpha I``."""

    alpha: float = 0.0
    name = "l2"


@dataclass(frozen=True)
class L1:
    """``alpha * |w|_1`` beside the squared error: sparse loadings."""

    alpha: float
    name = "l1"


Penalty = L1 | L2
