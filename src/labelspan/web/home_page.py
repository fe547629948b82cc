"""The answers of the first page and of the map."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Literal

from typing_extensions import TypedDict

from ..curation.audit_results import KINDS
from ..display.map_data import SCALE, small_place
from ..display.map_regions import Region
from ..display.style import shorten
from .answer_parts import Asked, find_item, find_label, labels_by_count
from .label_pages import report_of
from .schema import Count
from .snapshot import PAIRS, Snapshot

__all__ = ["example_queries", "home", "map_page"]

_COMMON = 24
_PLACES = 14
# Items that are read for examples of queries, characters of their texts, and items that must
# have a phrase.
_READ, _BEGINNING, _LEAST_ITEMS = 3000, 600, 3
# The largest share of the items that may have it.
_MOST_ITEMS = 0.02
_WORDS = re.compile(r"[^\W\d_]{3,20}")
# A phrase does not reach over these.
_BREAKS = re.compile(r"[.,;:!?()\[\]\"\n]+")


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
    common: Annotated[dict[str, Count], "the most frequent labels, and their numbers of items"]
    examples: Annotated[list[str], "phrases to search for, which a few items share"]
    attention: Annotated[list[AttentionData], "what to look at"]
    picture: Annotated[list[LineData], "a small map, 500 by 340; empty until the map is drawn"]
    names: Annotated[list[PlaceData], "names of places on it"]


def home(snapshot: Snapshot, asked: Asked) -> HomeData:
    """Summarise the index."""
    index, drawn = snapshot.index, snapshot.map

    def examples() -> list[str]:
        ids = index.ids[:: max(1, -(-len(index) // _READ))]
        return example_queries((item.text for item in index.items(ids)), snapshot.common)

    return {
        "name": snapshot.name,
        "items": len(index),
        "labels": len(snapshot.labels),
        "dimensions": index.n_dimensions,
        "tags": snapshot.tags,
        "common": dict(labels_by_count(snapshot)[:_COMMON]),
        "examples": snapshot.cached("examples", examples),
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
    """Count problems known without an audit, and the findings of an audit if there is one."""
    never = sum(row.never for row in report_of(snapshot).values())
    kinds = Counter(one.kind for one in snapshot.findings)
    found = [
        ("items without labels", snapshot.unlabelled, "/search?sort=labels&show=table"),
        (
            "labels of a single item",
            sum(count == 1 for count in snapshot.labels.values()),
            "/report?sort=-support",
        ),
        ("labels that cannot be predicted", never, "/report?sort=-threshold"),
        *(
            (KINDS[kind].lower(), count, f"/review?kind={kind}")
            for kind, count in kinds.items()
            if kind in (*PAIRS, "duplicates", "merge")
        ),
    ]
    return [
        {"what": what, "count": count, "address": address}
        for what, count, address in found
        if count and snapshot.labels
    ]


def example_queries(texts: Iterable[str], common: Collection[str], most: int = 3) -> list[str]:
    """Return phrases of two words that occur together in a few texts, and seldom apart.

    No two have a word in common, and none has one of the ``common`` words.

    Examples
    --------
    >>> from labelspan.web.home_page import example_queries
    >>> texts = ["a board game", "play a board game", "the board game"] + ["some other text"] * 300
    >>> example_queries(texts, {"some", "the"})
    ['board game']
    """
    words: Counter[str] = Counter()
    phrases: Counter[tuple[str, str]] = Counter()
    count = 0
    for text in texts:
        count += 1
        runs = [part.split() for part in _BREAKS.split(text[:_BEGINNING].lower())]
        words.update({word for run in runs for word in run})
        phrases.update({pair for run in runs for pair in pairwise(run) if pair[0] != pair[1]})

    def fits(phrase: tuple[str, str]) -> bool:
        few = _LEAST_ITEMS <= phrases[phrase] <= max(_MOST_ITEMS * count, _LEAST_ITEMS)
        return few and all(word not in common and _WORDS.fullmatch(word) for word in phrase)

    def worth(phrase: tuple[str, str]) -> float:
        both = phrases[phrase]
        # Pointwise mutual information, for as many items as there are.
        return math.sqrt(both) * math.log(both * count / (words[phrase[0]] * words[phrase[1]]))

    found: list[tuple[str, str]] = []
    for phrase in sorted(filter(fits, phrases), key=lambda one: (-worth(one), one)):
        if len(found) < most and not any(set(phrase) & set(other) for other in found):
            found.append(phrase)
    return [" ".join(phrase) for phrase in found]


class MapData(TypedDict):
    """The answer of ``/map``."""

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
        "state": snapshot.map_state,
        "percent": snapshot.map_percent,
        "items": len(snapshot.index),
        "regions": [] if snapshot.map is None else snapshot.map.regions,
    }
