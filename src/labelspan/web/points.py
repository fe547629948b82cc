"""The map of an index: every item a point, and names for the places where labels gather."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from ..display.layout import layout, regions
from ..index import SemanticIndex

__all__ = ["Map", "draw"]

# Other requests may read the items in between.
_ITEMS_AT_ONCE = 500
_DIGITS = 4


@dataclass(frozen=True)
class Map:
    """Points as JSON, ready to be sent, with a name of that content, and the regions."""

    points: bytes
    etag: str
    regions: tuple[dict[str, Any], ...]


def draw(index: SemanticIndex) -> Map:
    """Lay out all items of an index; this takes a while for many."""
    ids = index.ids
    positions = layout(index.vectors(ids))
    titles: dict[str, str] = {}
    own: dict[str, tuple[str, ...]] = {}
    for start in range(0, len(ids), _ITEMS_AT_ONCE):
        for item in index.items(ids[start : start + _ITEMS_AT_ONCE]):
            titles[item.id], own[item.id] = item.title, item.labels or ()
    lists = [own.get(name, ()) for name in ids]
    rows: dict[str, list[int]] = {}
    for row, labels in enumerate(lists):
        for label in labels:
            rows.setdefault(label, []).append(row)
    found = tuple(
        {"name": r.name, "x": round(float(r.x), _DIGITS), "y": round(float(r.y), _DIGITS)}
        | {"count": int(r.count)}
        for r in regions(positions, lists)
    )
    content = {
        "ids": ids,
        "titles": [titles.get(name, name) for name in ids],
        "x": [round(x, _DIGITS) for x in positions[:, 0].tolist()],
        "y": [round(y, _DIGITS) for y in positions[:, 1].tolist()],
        "labels": dict(sorted(rows.items())),
        "regions": found,
    }
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return Map(data, f'"{hashlib.sha256(data).hexdigest()[:32]}"', found)
