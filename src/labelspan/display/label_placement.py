"""Place names next to their points such that none overlaps another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._typing import Array

__all__ = ["spread", "write_names"]

_DIRECTIONS = 16
# A box is moved by steps of this many pixels, this many steps at once, and by no more than this
# share of the diagonal, because a name further off could belong to any point.
_STEP, _TIMES, _FURTHEST = 3.0, 12, 0.3
# In points: the room around a name, and how far it may be from its point without a line.
_PAD, _NEAR = 1.5, 6.0


def spread(
    points: Array, radii: Array, sizes: Array, bounds: tuple[float, float, float, float]
) -> Array:
    """Return centres for boxes near points, such that no box overlaps a point or another box.

    Boxes are placed in the given order: each next to its point, if possible on the side away
    from the middle of all points, and moved outwards until it is free.

    Parameters
    ----------
    points : array of shape (n, 2)
    radii : array of shape (n,)
        Radius of each point.
    sizes : array of shape (k, 2)
        Widths and heights of the boxes, which belong to the first k points.
    bounds : tuple of four floats
        Left, bottom, right and top: boxes stay inside.

    Returns
    -------
    centres : array of shape (k, 2)
        NaN for a box that has no room.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.display.label_placement import spread
    >>> points = np.array([[50.0, 50.0], [50.0, 50.0]])
    >>> spread(points, np.ones(2), np.full((2, 2), 10.0), (0, 0, 100, 100)).round()
    array([[56., 50.],
           [44., 56.]])
    """
    low, high = np.reshape(bounds, (2, 2))
    turns = 2 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    outwards = points - points.mean(axis=0)
    outwards[~outwards.any(axis=1)] = (1.0, 0.0)
    steps = np.arange(0.0, _FURTHEST * np.linalg.norm(high - low), _STEP)
    centres = np.full((len(sizes), 2), np.nan)
    for i, size in enumerate(sizes):
        ways = circle[np.argsort(-circle @ outwards[i], kind="stable")]
        # The side or corner of the box that is nearest to its point touches it.
        touching = points[i] + np.clip(np.sqrt(2) * ways, -1, 1) * size / 2
        for start in range(0, steps.size, _TIMES):
            pushed = radii[i] + steps[start : start + _TIMES, None, None]
            tries = (touching + pushed * ways).reshape(-1, 2)
            tries = tries[((tries - size / 2 >= low) & (tries + size / 2 <= high)).all(axis=1)]
            taken = _on_point(tries, size, points, radii)
            taken |= _on_box(tries, size, centres[:i], sizes[:i])
            if not taken.all():
                centres[i] = tries[taken.argmin()]
                break
    return centres


def _on_point(tries: Array, size: Array, points: Array, radii: Array) -> Array:
    across, along = (
        np.maximum(np.abs(tries[:, None, axis] - points[:, axis]) - size[axis] / 2, 0.0)
        for axis in range(2)
    )
    return np.asarray((across**2 + along**2 < (0.999 * radii) ** 2).any(axis=1))


def _on_box(tries: Array, size: Array, centres: Array, sizes: Array) -> Array:
    # A box without room has NaN for its centre, and overlaps nothing.
    across, along = (
        np.abs(tries[:, None, axis] - centres[:, axis]) < (size[axis] + sizes[:, axis]) / 2
        for axis in range(2)
    )
    return np.asarray((across & along).any(axis=1))


def write_names(
    ax: Any, points: Array, radii: Array, names: Mapping[int, str], fontsize: float
) -> dict[int, Any]:
    """Write names next to points; return the texts that found room.

    ``radii`` are in typographic points; ``names`` are by the number of their point, in the
    order in which they are placed. Those far from their point have a line to it.
    """
    root = ax.figure.canvas.figure
    # Positions in pixels are known after the layout.
    root.draw_without_rendering()
    scale = root.dpi / 72
    rest = [number for number in range(len(points)) if number not in names]
    order = np.array([*names, *rest], dtype=np.intp)
    places, reach = ax.transData.transform(points)[order], radii[order] * scale
    sizes = np.reshape([_extent(ax, name, fontsize) for name in names.values()], (-1, 2))
    frame = ax.get_window_extent()
    bounds = (frame.x0, frame.y0, frame.x1, frame.y1)
    centres = spread(places, reach, sizes + 2 * _PAD * scale, bounds)
    texts = {}
    for i, (number, name) in enumerate(names.items()):
        if np.isnan(centres[i]).any():
            continue
        offset = centres[i] - places[i]
        gap = np.linalg.norm(np.maximum(np.abs(offset) - sizes[i] / 2, 0.0)) - reach[i]
        line = {"arrowstyle": "-", "color": "0.6", "lw": 0.6, "shrinkA": 0.0, "shrinkB": 0.0}
        texts[number] = ax.annotate(
            name,
            points[number],
            xytext=offset / scale,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=fontsize,
            zorder=3,
            arrowprops=line if gap > _NEAR * scale else None,
        )
        # Names must not change the size of the axes.
        texts[number].set_in_layout(False)
    return texts


def _extent(ax: Any, name: str, fontsize: float) -> tuple[float, float]:
    text = ax.text(0.0, 0.0, name, fontsize=fontsize)
    box = text.get_window_extent()
    text.remove()
    return box.width, box.height
