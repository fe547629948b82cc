"""The map of an index as JSON, encoded once."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import numpy as np

from .._typing import Array
from ..display import CorpusMap
from ..index import SemanticIndex
from .schema import Count

__all__ = ["MapPoints", "PointsData", "RegionData", "draw", "small_place"]

# Places are sent as whole numbers of 16 bits.
_SCALE = 32767
_DIGITS = 4
# The small picture on the first page has at most this number of points, in these colours.
_SMALL, _COLOURS = 1800, 8


class RegionData(TypedDict):
    """A name for a place of the map; ``count`` items with that label or word are there."""

    name: str
    x: Annotated[float, "from -1 to 1"]
    y: Annotated[float, "from -1 to 1"]
    count: Count
    level: Annotated[Count, "0 is shown with the whole map, each further one at twice the zoom"]
    kind: Annotated[str, "label, or word where no label names the place"]


class PointsData(TypedDict):
    """The answer of ``/map/points.json``."""

    ids: Annotated[list[str], "of all items"]
    titles: Annotated[list[str], "their first lines"]
    x: Annotated[list[int], "from -32767 to 32767"]
    y: Annotated[list[int], "from -32767 to 32767"]
    labels: Annotated[dict[str, list[Count]], "for each label the positions of its items"]
    regions: Annotated[list[RegionData], "names for places"]


@dataclass(frozen=True)
class MapPoints:
    """A map to be sent: ``PointsData`` as JSON, plain and packed, its ETag, and main regions.

    ``places`` are the points as whole numbers, ``small`` the lines of a small picture of them: a
    class, and where its points lie.
    """

    points: bytes
    packed: bytes
    etag: str
    regions: list[RegionData]
    places: Array

    small: list[tuple[str, str]] = field(default_factory=list)

    def inside(self, corners: Array) -> Array:
        """Return the numbers of the points inside a polygon, by the even-odd rule."""
        x, y = self.places.T.astype(np.float64)
        found = np.zeros(len(x), dtype=bool)
        for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            crosses = (ay > y) != (by > y)
            if ay != by:
                found ^= crosses & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
        return np.flatnonzero(found)


def draw(index: SemanticIndex, progress: Callable[[int, int], None] | None = None) -> MapPoints:
    """Lay out all items of an index, or read their places; this takes a while for many."""
    found = CorpusMap.from_index(index, progress=progress)
    rows: dict[str, list[int]] = {}
    for row, labels in enumerate(found.labels):
        for label in labels:
            rows.setdefault(label, []).append(row)
    regions: list[RegionData] = [
        {
            "name": one.name,
            "x": round(one.x, _DIGITS),
            "y": round(one.y, _DIGITS),
            "count": int(one.count),
            "level": one.level,
            "kind": one.kind,
        }
        for one in found.regions
    ]
    places = np.rint(_SCALE * np.asarray(found.points)).astype(np.int16)
    content: PointsData = {
        "ids": list(found.ids),
        "titles": list(found.titles),
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "labels": dict(sorted(rows.items())),
        "regions": regions,
    }
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    first = [one for one in regions if one["level"] == 0]
    etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    small = _small(places, first, rows)
    return MapPoints(data, gzip.compress(data, 6, mtime=0), etag, first, places, small)


def _small(
    places: Array, regions: list[RegionData], rows: dict[str, list[int]]
) -> list[tuple[str, str]]:
    """Return a sample of the points by colour, as paths of an SVG picture of 500 by 340."""
    colour = np.full(len(places), -1)
    named = sorted(
        (one for one in regions if one["kind"] == "label"), key=lambda one: -one["count"]
    )
    # As on the map: a point of several regions gets the colour of the smallest.
    for number, one in enumerate(named[:_COLOURS]):
        colour[rows[one["name"]]] = number
    # Evenly spaced in the order of the index, so that all of it is shown.
    shown = np.arange(0, len(places), max(1, -(-len(places) // _SMALL)))
    x, y = small_place(places[shown, 0], places[shown, 1])
    found: list[tuple[str, str]] = []
    for number in range(-1, _COLOURS):
        own = np.flatnonzero(colour[shown] == number)
        if len(own):
            path = "".join(f"M{x[n]:.0f} {y[n]:.0f}h0" for n in own)
            found.append(("" if number < 0 else f"c{number}", path))
    return found


def small_place(x: Any, y: Any) -> tuple[Any, Any]:
    """Return where places of the map lie in the small picture."""
    return 250 + x * (238 / _SCALE), 170 - y * (158 / _SCALE)
