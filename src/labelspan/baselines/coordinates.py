"""Centred rows in few coordinates, as DLE and LPP take them."""

from __future__ import annotations

from typing import Any

from ..estimators.graphs import Coordinates, GraphSpace
from ..operators.base import Array

__all__ = ["centred"]


def centred(owner: str, data: Any) -> tuple[Coordinates, Array]:
    """The rows about their mean in at most min(n, d) coordinates, and the mean.

    ``owner`` is named in the refusal of data that is too large.
    """
    space: GraphSpace = type(owner, (GraphSpace,), {"center": True})()
    return space._coordinates(data)
