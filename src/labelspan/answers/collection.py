"""The collection: its size, what to look at in its labels, and its map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np

from .._typing import TypedDict
from ..curation import Finding
from ..curation.audit_results import KINDS, PAIRS
from ..display.map_data import SCALE, MapPoints, small_place
from ..display.map_regions import Region
from ..display.style import shorten
from ..index import SemanticIndex
from ..index.results import LabelReport
from .common import Count, Given, find_item, find_label, labels_by_count

__all__ = ["MOST_OTHERS", "MapState", "home", "map_state", "name_of"]

MapState = Literal["drawing", "ready", "failed"]

# Of findings about more than a label of an item only some are listed.
MOST_OTHERS = 200
_COMMON = 24
_PLACES = 14


class AttentionData(TypedDict):
    """Something in the labels to look at."""

    what: str
    count: Count
    unsure: Annotated[Count, "number of further ones that are unsure"]
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


class MapData(TypedDict):
    """The answer of ``/map``."""

    name: Annotated[str, "of the index"]
    state: Annotated[MapState, "of the map"]
    percent: Annotated[Count, "how much of the layout is done while it is being drawn"]
    items: Annotated[Count, "number of points"]
    regions: Annotated[list[Region], "names for places, from -1 to 1"]


def name_of(index: SemanticIndex) -> str:
    """Return the name of an index: of its folder, or of the corpus if it was not named."""
    folder = "" if index.path is None else index.path.resolve().name
    named = "" if folder == "index.labelspan" else folder.removesuffix(".labelspan")
    return named or str(index.corpus_fields.get("name") or "index")


def home(
    index: SemanticIndex,
    given: Given,
    drawn: MapPoints | None,
    findings: Sequence[Finding],
    reports: Mapping[str, LabelReport] | None,
) -> HomeData:
    """Summarise the index."""
    return {
        "name": name_of(index),
        "items": len(index),
        "labels": len(index.labels),
        "dimensions": index.n_dimensions,
        "tags": index.can_tag,
        "model": index.model_name,
        "problem": index.problem,
        "common": dict(labels_by_count(index)[:_COMMON]),
        "attention": _attention(index, findings, reports or {}),
        "picture": [
            {"colour": colour, "path": path}
            for colour, path in ([] if drawn is None else drawn.small)
        ],
        "names": [] if drawn is None else _place_names(drawn.regions),
    }


def _place_names(regions: Sequence[Region]) -> list[PlaceData]:
    """Return the names of the largest regions that do not overlap on the small map."""
    shown: list[PlaceData] = []
    for region in sorted(regions, key=lambda region: -region.count):
        name = shorten(region.name)
        wide = 6.5 * len(name)
        x, y = small_place(SCALE * region.x, SCALE * region.y)
        at = min(max(float(x), wide / 2 + 6), 494 - wide / 2)
        free = all(
            abs(at - other["x"]) > (wide + 6.5 * len(other["name"])) / 2 + 6
            or abs(float(y) - other["y"]) > 15
            for other in shown
        )
        if free and len(shown) < _PLACES:
            address = f"/map?view={SCALE * region.x:.0f}.{SCALE * region.y:.0f}.350"
            shown.append({"name": name, "x": round(at), "y": round(float(y)), "address": address})
    return shown


def _attention(
    index: SemanticIndex, findings: Sequence[Finding], reports: Mapping[str, LabelReport]
) -> list[AttentionData]:
    """Count problems known without an audit, and what an audit is sure of if there is one."""
    store, labels = index.store, index.labels
    unlabelled = int(np.count_nonzero(store.labels.counts[store.vectors.alive] <= 0))
    kinds = Counter(finding.kind for finding in findings)
    sure = Counter(finding.kind for finding in findings if finding.sure)
    single = sum(count == 1 for count in labels.values())
    never = sum(report.never for report in reports.values())
    counts = [
        ("Items without labels", unlabelled, 0, "/search?sort=labels&show=table"),
        ("Labels of a single item", single, 0, "/labels?sort=-items"),
        ("Labels that cannot be predicted", never, 0, "/labels?sort=-threshold"),
        *(
            (_kind(kind, kinds[kind]), count, kinds[kind] - count, f"/review?kind={kind}")
            for kind, count in sure.items()
            if kind in (*PAIRS, "duplicates", "merge")
        ),
    ]
    return [
        {"what": what, "count": count, "unsure": unsure, "address": address}
        for what, count, unsure, address in counts
        if count and labels
    ]


def _kind(kind: str, count: int) -> str:
    """Return the name of a kind of finding, of which not more than some are looked for."""
    return KINDS[kind] + (", the first" if count == MOST_OTHERS and kind not in PAIRS else "")


def map_state(
    index: SemanticIndex, given: Given, drawn: MapPoints | None, state: MapState, percent: int
) -> MapData:
    """Return the state of the map and its names; the points have an address of their own."""
    if given["item"]:
        find_item(index, given["item"])
    for name in (*filter(None, [given["colour"]]), *given["label"], *given["without"]):
        find_label(index, name)
    return {
        "name": name_of(index),
        "state": state,
        "percent": percent,
        "items": len(index),
        "regions": [] if drawn is None else drawn.regions,
    }
