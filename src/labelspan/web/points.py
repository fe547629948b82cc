"""The map of an index as bytes for a browser, encoded once."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Array
from ..display import CorpusMap
from ..display.map_data import SCALE, encode_map, whole_positions
from ..display.map_regions import Region
from ..index import SemanticIndex

__all__ = ["POINTS", "MapPoints", "draw", "small_place"]

POINTS = "/map/points.bin"
# The small picture on the first page has at most this number of points, in these colours.
_SMALL, _COLOURS = 1800, 12


@dataclass(frozen=True)
class MapPoints:
    """A map to be sent: its bytes, plain and packed, their ETag, and main regions.

    ``places`` are the points as whole numbers, ``small`` the lines of a small picture of them: a
    class, and where its points lie.
    """

    points: bytes
    packed: bytes
    etag: str
    regions: list[Region]
    places: Array
    small: list[tuple[str, str]] = field(default_factory=list)

    def inside(self, corners: Array) -> Array:
        """Return a mask of the points inside a polygon, by the even-odd rule."""
        x, y = self.places.T.astype(np.float64)
        found = np.zeros(len(x), dtype=bool)
        for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            crosses = (ay > y) != (by > y)
            if ay != by:
                found ^= crosses & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
        return found


def draw(index: SemanticIndex, progress: Callable[[int, int], None] | None = None) -> MapPoints:
    """Lay out all items of an index, or read their places; this takes a while for many."""
    found = CorpusMap.from_index(index, progress=progress)
    data = encode_map(found)
    regions = [one for one in found.regions if one.level == 0]
    etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    places = whole_positions(found.points)
    small = _small(places, found.groups)
    return MapPoints(data, gzip.compress(data, 6, mtime=0), etag, regions, places, small)


def _small(places: Array, groups: Array) -> list[tuple[str, str]]:
    """Return a sample of the points by colour, as paths of an SVG picture of 500 by 340."""
    # Evenly spaced in the order of the index, so that all of it is shown.
    shown = np.arange(0, len(places), max(1, -(-len(places) // _SMALL)))
    x, y = small_place(places[shown, 0], places[shown, 1])
    colour = np.where(groups[shown] < _COLOURS, groups[shown], -1)
    found: list[tuple[str, str]] = []
    for number in range(-1, _COLOURS):
        own = np.flatnonzero(colour == number)
        if len(own):
            path = "".join(f"M{x[n]:.0f} {y[n]:.0f}h0" for n in own)
            found.append(("" if number < 0 else f"c{number}", path))
    return found


def small_place(x: Any, y: Any) -> tuple[Any, Any]:
    """Return where places of the map lie in the small picture."""
    return 250 + x * (238 / SCALE), 170 - y * (158 / SCALE)
