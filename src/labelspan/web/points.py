"""The map of an index as JSON, encoded once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, TypedDict

from ..display import CorpusMap
from ..index import SemanticIndex
from .schema import Count

__all__ = ["MapPoints", "PointsData", "RegionData", "draw"]

_DIGITS = 4


class RegionData(TypedDict):
    """A name for a place of the map; ``count`` items with that label are there."""

    name: str
    x: float
    y: float
    count: Count


class PointsData(TypedDict):
    """The answer of ``/map/points.json``."""

    ids: Annotated[list[str], "of all items"]
    titles: Annotated[list[str], "their first lines"]
    x: list[float]
    y: list[float]
    labels: Annotated[dict[str, list[Count]], "for each label the positions of its items"]
    regions: Annotated[list[RegionData], "names for places"]


@dataclass(frozen=True)
class MapPoints:
    """A map ready to be sent: ``PointsData`` as JSON, its ETag, and the regions."""

    points: bytes
    etag: str
    regions: list[RegionData]


def draw(index: SemanticIndex) -> MapPoints:
    """Lay out all items of an index; this takes a while for many."""
    found = CorpusMap.from_index(index)
    rows: dict[str, list[int]] = {}
    for row, labels in enumerate(found.labels):
        for label in labels:
            rows.setdefault(label, []).append(row)
    regions: list[RegionData] = [
        {"name": one.name, "x": _round(one.x), "y": _round(one.y), "count": one.count}
        for one in found.regions
    ]
    content: PointsData = {
        "ids": list(found.ids),
        "titles": list(found.titles),
        "x": [_round(x) for x in found.points[:, 0].tolist()],
        "y": [_round(y) for y in found.points[:, 1].tolist()],
        "labels": dict(sorted(rows.items())),
        "regions": regions,
    }
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return MapPoints(data, f'"{hashlib.sha256(data).hexdigest()[:32]}"', regions)


def _round(value: float) -> float:
    return round(value, _DIGITS)
