"""The answers of the first page and of the map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from typing_extensions import TypedDict

from ..curation.audit_results import KINDS, PAIRS
from ..display.map_data import SCALE, small_place
from ..display.map_regions import Region
from ..display.style import shorten
from .answer_parts import Asked, find_item, find_label, labels_by_count
from .schema import Count
from .snapshot import MOST_OTHERS, Snapshot

__all__ = ["home", "map_page"]

_COMMON = 24
_PLACES = 14


class AttentionData(TypedDict):
    """Something in the labels to look at."""

    what: str
    count: Count
    address: Annotated[str, "where it is listed"]


class LineData(TypedDict):
    """Points of one colour."""

    colour: Annotated[str, "c0 to c11, or empty"]
    path: Annotated[str, "as in SVG"]


class PlaceData(TypedDict):
    """A name on the small map."""

    name: str
    x: Annotated[Count, "from the left"]
    y: Annotated[Count, "from the top"]
    address: Annotated[str, "of the map there"]


class HomeData(TypedDict):
    """The answer of ``/``."""

    name: Annotated[str, "name of the collection"]
    items: Annotated[Count, "number of items"]
    labels: Annotated[Count, "number of labels"]
    dimensions: Annotated[Count, "number of dimensions"]
    tags: Annotated[bool, "whether labels can be predicted"]
    model: Annotated[str, "name of the language model next to the words; empty without one"]
    problem: Annotated[str, "why the model is not used; else empty"]
    common: Annotated[dict[str, Count], "the most frequent labels, and their numbers of items"]
    attention: Annotated[list[AttentionData], "what to look at"]
    picture: Annotated[list[LineData], "a small map, 500 by 340; empty until the map is drawn"]
    names: Annotated[list[PlaceData], "names of places on it"]


def home(snapshot: Snapshot, asked: Asked) -> HomeData:
    """Summarise the index."""
    index, drawn = snapshot.index, snapshot.map
    return {
        "name": snapshot.name,
        "items": len(index),
        "labels": len(snapshot.labels),
        "dimensions": index.n_dimensions,
        "tags": snapshot.tags,
        "model": index.model_name,
        "problem": index.problem,
        "common": dict(labels_by_count(snapshot)[:_COMMON]),
        "attention": _attention(snapshot),
        "picture": [
            {"colour": colour, "path": path}
            for colour, path in ([] if drawn is None else drawn.small)
        ],
        "names": [] if drawn is None else _place_names(drawn.regions),
    }


def _place_names(regions: Sequence[Region]) -> list[PlaceData]:
    """Return the names of the largest regions that do not overlap on the small map."""
    found: list[PlaceData] = []
    for one in sorted(regions, key=lambda one: -one.count):
        name = shorten(one.name)
        wide = 6.5 * len(name)
        x, y = small_place(SCALE * one.x, SCALE * one.y)
        at = min(max(float(x), wide / 2 + 6), 494 - wide / 2)
        free = all(
            abs(at - other["x"]) > (wide + 6.5 * len(other["name"])) / 2 + 6
            or abs(float(y) - other["y"]) > 15
            for other in found
        )
        if free and len(found) < _PLACES:
            address = f"/map?view={SCALE * one.x:.0f}.{SCALE * one.y:.0f}.350"
            found.append({"name": name, "x": round(at), "y": round(float(y)), "address": address})
    return found


def _attention(snapshot: Snapshot) -> list[AttentionData]:
    """Count problems known without an audit, and what an audit is sure of if there is one."""
    never = sum(row.never for row in (snapshot.report() or {}).values())
    kinds = Counter(one.kind for one in snapshot.findings)
    sure = Counter(one.kind for one in snapshot.findings if one.sure)
    found = [
        ("items without labels", snapshot.unlabelled, "/search?sort=labels&show=table"),
        (
            "labels of a single item",
            sum(count == 1 for count in snapshot.labels.values()),
            "/labels?sort=-items",
        ),
        ("labels that cannot be predicted", never, "/labels?sort=-threshold"),
        *(
            (_named(kind, kinds[kind], count), count, f"/review?kind={kind}")
            for kind, count in sure.items()
            if kind in (*PAIRS, "duplicates", "merge")
        ),
    ]
    return [
        {"what": what, "count": count, "address": address}
        for what, count, address in found
        if count and snapshot.labels
    ]


def _named(kind: str, count: int, sure: int) -> str:
    what = KINDS[kind].lower()
    more = "or more " if count == MOST_OTHERS and kind not in PAIRS else ""
    return f"{what}, and {count - sure:,} {more}unsure" if count > sure else more + what


class MapData(TypedDict):
    """The answer of ``/map``."""

    name: Annotated[str, "of the index"]
    state: Annotated[Literal["drawing", "ready", "failed"], "of the map"]
    percent: Annotated[Count, "how much of the layout is done while it is being drawn"]
    items: Annotated[Count, "number of points"]
    regions: Annotated[list[Region], "names for places, from -1 to 1"]


def map_page(snapshot: Snapshot, asked: Asked) -> MapData:
    """Return the state of the map and its names; the points have an address of their own."""
    if asked["item"]:
        find_item(snapshot, asked["item"])
    for name in (*filter(None, [asked["colour"]]), *asked["label"], *asked["without"]):
        find_label(snapshot, name)
    return {
        "name": snapshot.name,
        "state": snapshot.map_state,
        "percent": snapshot.map_percent,
        "items": len(snapshot.index),
        "regions": [] if snapshot.map is None else snapshot.map.regions,
    }
