"""Areas of points that show numbers of rows, and their legend."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .style import COLOURS, FONT, legend_point, side_legend

__all__ = ["areas_of", "size_legend"]

# In square points: the most frequent label, the least, and any without counts.
_LARGEST, _SMALLEST, _PLAIN = 250.0, 6.0, 18.0
# Above this many points the areas shrink.
_MANY = 50


def areas_of(size: int, counts: Array | None) -> Array:
    """Return areas of points, in square points, in proportion to counts if there are any."""
    if counts is None:
        return np.full(size, _PLAIN)
    return np.maximum(_SMALLEST, _unit(counts) * counts)


def size_legend(ax: Any, counts: Array) -> None:
    """Add a legend of a few areas, for round numbers."""
    most = float(counts.max())
    rounds = {_round_down(most / part) for part in (1, 4, 16) if most >= part}
    handles = [
        legend_point(
            f"{number:,}", COLOURS[0], size=float(np.sqrt(max(_SMALLEST, _unit(counts) * number)))
        )
        for number in sorted(rounds, reverse=True)
    ]
    if handles:
        side_legend(ax, handles, title="rows", title_fontsize=FONT)


def _unit(counts: Array) -> float:
    """Return the area of one row."""
    return _LARGEST * min(1.0, float(np.sqrt(_MANY / counts.size))) / float(counts.max() or 1.0)


def _round_down(number: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20, 50 and so on that is not above a number."""
    ten = 10 ** int(np.log10(number))
    return max(int(step * ten) for step in (1, 2, 5) if step * ten <= number)
