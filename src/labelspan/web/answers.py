"""Compute the answer of each page: a typed dict, sent as JSON or shown by a template.

The types below are the only description of the answers: the OpenAPI schema is derived from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypedDict

from ..curation.audit_results import KINDS
from ..display.map_data import SCALE
from ..display.map_regions import Region
from ..display.style import shorten
from ..index import AxisShare, FoundLabel, Hit, Item, LabelReport, Tag, WordShare
from ..index.inputs import label_name
from ..index.passages import SharedWords, passage
from .answer_parts import (
    Asked,
    CountedData,
    HitData,
    counted,
    find_item,
    find_label,
    hits_data,
    page_of,
    rounded,
)
from .examples import example_queries
from .http_errors import Refused
from .label_table import report_of
from .points import small_place
from .schema import Count, Unit
from .snapshot import PAIRS, Snapshot

__all__ = ["complete", "home", "item", "label", "labels", "map_page", "tag", "why"]

_LABELS_PER_PAGE = 200
_MOST_FOUND = 1_000_000
_PREDICTED = 10
_COMMON = 24
# Items that are read for examples of queries.
_READ_FOR_EXAMPLES = 3000
_PLACES = 9
_LONGEST_SHOWN = 20_000


def _by_count(snapshot: Snapshot) -> list[tuple[str, int]]:
    return sorted(snapshot.labels.items(), key=lambda pair: (-pair[1], pair[0]))


# --- pages ----------------------------------------------------------------------------------


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

    name: Annotated[str, "name of the folder"]
    items: Annotated[Count, "number of items"]
    labels: Annotated[Count, "number of labels"]
    dimensions: Annotated[Count, "number of dimensions"]
    tags: Annotated[bool, "whether labels can be predicted"]
    common: Annotated[list[CountedData], "the most frequent labels"]
    examples: Annotated[list[str], "phrases to search for, which a few items share"]
    attention: Annotated[list[AttentionData], "what to look at"]
    picture: Annotated[list[LineData], "a small map, 500 by 340; empty until the map is drawn"]
    names: Annotated[list[PlaceData], "names of places on it"]


def home(snapshot: Snapshot, asked: Asked) -> HomeData:
    """Summarize the index."""
    index = snapshot.index
    return {
        "name": snapshot.name,
        "items": len(index),
        "labels": len(snapshot.labels),
        "dimensions": index.n_dimensions,
        "tags": snapshot.tags,
        "common": counted(_by_count(snapshot)[:_COMMON]),
        "examples": snapshot.cached("examples", lambda: _examples(snapshot)),
        "attention": _attention(snapshot),
        "picture": [
            {"colour": colour, "path": path}
            for colour, path in ([] if snapshot.map is None else snapshot.map.small)
        ],
        "names": [] if snapshot.map is None else _place_names(snapshot.map.regions),
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
            view = f"{SCALE * one.x:.0f}.{SCALE * one.y:.0f}.350"
            found.append(
                {
                    "name": name,
                    "x": round(at),
                    "y": round(float(y)),
                    "address": f"/map?view={view}",
                }
            )
    return found


def _examples(snapshot: Snapshot) -> list[str]:
    """Return phrases that a few items share."""
    index = snapshot.index
    ids = index.ids[:: max(1, -(-len(index) // _READ_FOR_EXAMPLES))]
    return example_queries((item.text for item in index.items(ids)), snapshot.common)


def _attention(snapshot: Snapshot) -> list[AttentionData]:
    """Count what is known without an audit, and what the audit has found if it was computed."""
    found: list[AttentionData] = []

    def add(what: str, count: int, address: str) -> None:
        if count:
            found.append({"what": what, "count": count, "address": address})

    if snapshot.labels:
        add("items without labels", snapshot.unlabelled, "/search?sort=labels&show=table")
        single = sum(count == 1 for count in snapshot.labels.values())
        add("labels of a single item", single, "/report?sort=-support")
    rows = report_of(snapshot).values()
    never = sum(row.never for row in rows)
    add("labels that cannot be predicted", never, "/report?sort=-threshold")
    for kind, count in Counter(one.kind for one in snapshot.findings).items():
        if kind in (*PAIRS, "duplicates", "merge"):
            add(KINDS[kind].lower(), count, f"/review?kind={kind}")
    return found


class AxisShareData(TypedDict):
    """What one axis adds to the cosine."""

    axis: Count
    share: float
    end: Annotated[Literal["high", "low"], "where both query and item lie"]
    words: list[str]
    labels: list[str]


class WhyData(TypedDict):
    """The answer of ``/why``."""

    title: Annotated[str, "first line of the item"]
    score: Annotated[float, "as in the search"]
    from_words: Annotated[float, "part of it from words of the query"]
    from_space: Annotated[float, "part of it from closeness in the space"]
    exact: Annotated[
        Literal["id", "title"] | None, "whether the query is the id or the title of the item"
    ]
    matches: Annotated[list[WordShare], "words of the query in the item"]
    cosine: Annotated[float, "cosine similarity of query and item"]
    words: Annotated[list[WordShare], "words of the query, and what they add to the cosine"]
    axes: Annotated[list[AxisShareData], "the axes that add most to the cosine"]
    labels: Annotated[list[Tag], "labels of the item"]


def why(snapshot: Snapshot, asked: Asked) -> WhyData:
    """Explain why an item was found: the axes, words and labels it shares with a query."""
    found, q, near = find_item(snapshot, asked["id"]), asked["q"], asked["label"]
    for name in near:
        find_label(snapshot, name)
    if not q.strip() and not near:
        raise Refused(400, "q: it is empty; give the text that was searched for.")
    text = q if q.strip() else None
    explained = snapshot.index.explain(
        text, found.id, labels=() if text else near, balance=asked["balance"] / 100
    )
    return {
        "title": found.title,
        "score": rounded(explained.score),
        "from_words": rounded(explained.from_words),
        "from_space": rounded(explained.from_space),
        "exact": explained.exact,
        "matches": list(explained.matches),
        "cosine": rounded(explained.cosine),
        "words": list(explained.words),
        "axes": [_axis_share(snapshot, one) for one in explained.axes],
        "labels": list(explained.labels),
    }


def _axis_share(snapshot: Snapshot, one: AxisShare) -> AxisShareData:
    return {
        "axis": one.axis.number,
        "share": rounded(one.share),
        "end": one.end,
        "words": [word for word in _names(one.words) if not snapshot.common & set(word.split())],
        "labels": _names(one.labels),
    }


def _names(entries: Sequence[tuple[Any, float]]) -> list[str]:
    return [str(name) for name, _ in entries]


class NeighbourData(TypedDict):
    """A similar item, and what it shares with this one."""

    id: str
    score: Annotated[Unit, "cosine similarity"]
    title: Annotated[str, "first line of the text"]
    snippet: Annotated[str, "beginning of the rest"]
    labels: Annotated[list[str] | None, "null if they are not known"]
    shared_labels: list[str]
    shared_words: Annotated[list[str], "the rarest first"]


class ItemData(TypedDict):
    """The answer of ``/item``."""

    id: str
    title: Annotated[str, "first line of the text"]
    text: Annotated[str, f"at most {_LONGEST_SHOWN:,} characters of it"]
    cut: Annotated[bool, "whether the text is longer"]
    labels: Annotated[list[str] | None, "null if they are not known"]
    metadata: dict[str, Any]
    predicted: Annotated[list[Tag], "the most probable labels"]
    neighbours: Annotated[list[NeighbourData], "other items, the most similar first"]


def item(snapshot: Snapshot, asked: Asked) -> ItemData:
    """Return an item with its text, labels, predicted labels and neighbours."""
    found = find_item(snapshot, asked["id"])
    near = snapshot.index.search(None, asked["k"], items=found.id)
    shared = None if snapshot.words is None else SharedWords(snapshot.words, found.text)
    return {
        "id": found.id,
        "title": found.title,
        "text": found.text[:_LONGEST_SHOWN],
        "cut": len(found.text) > _LONGEST_SHOWN,
        "labels": None if found.labels is None else list(found.labels),
        "metadata": found.metadata,
        "predicted": snapshot.predicted([found.id])[0][:_PREDICTED],
        "neighbours": [_neighbour(found, shared, hit) for hit in near],
    }


def _neighbour(found: Item, shared: SharedWords | None, hit: Hit) -> NeighbourData:
    part = passage(hit)
    own = set(found.labels or ())
    return {
        "id": hit.id,
        "score": rounded(hit.score),
        "title": part.title,
        "snippet": part.text,
        "labels": None if hit.labels is None else list(hit.labels),
        "shared_labels": [name for name in hit.labels or () if name in own],
        "shared_words": [] if shared is None else shared.of(hit.text),
    }


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


class BranchData(TypedDict):
    """A label in the tree of its vocabulary."""

    label: str
    depth: Count
    count: Annotated[Count, "number of items with the label itself"]
    total: Annotated[Count, "number of items with it or a narrower one"]


class LabelsData(TypedDict):
    """The answer of ``/labels``."""

    count: Annotated[Count, "number of labels that match"]
    page: Annotated[Count, "number of this page"]
    pages: Annotated[Count, "number of pages"]
    labels: Annotated[list[CountedData], "the most frequent first"]
    tree: Annotated[list[BranchData], "all labels below what is broader, on the first page"]


def labels(snapshot: Snapshot, asked: Asked) -> LabelsData:
    """List all labels with the number of their items, the most frequent first."""
    every, part = _by_count(snapshot), asked["q"].strip()
    if part:
        # Also by alternative names, if there is a vocabulary.
        found = {one.label for one in snapshot.index.find_labels(part, _MOST_FOUND)}
        every = [(name, count) for name, count in every if name in found]
    page, pages = page_of(asked["page"], len(every), _LABELS_PER_PAGE)
    start = (page - 1) * _LABELS_PER_PAGE
    return {
        "count": len(every),
        "page": page,
        "pages": pages,
        "labels": counted(every[start : start + _LABELS_PER_PAGE]),
        "tree": [] if part or page > 1 else _tree(snapshot),
    }


def _tree(snapshot: Snapshot) -> list[BranchData]:
    if snapshot.index.vocabulary is None:
        return []
    return [
        {"label": one.label, "depth": depth, "count": one.count, "total": one.total}
        for node in snapshot.index.label_tree()
        for depth, one in node.walk()
    ]


class CompletedData(TypedDict):
    """The answer of ``/labels/complete.json``."""

    labels: list[FoundLabel]


def complete(snapshot: Snapshot, asked: Asked) -> CompletedData:
    """Find labels by a part of any of their names."""
    return {"labels": snapshot.index.find_labels(asked["q"], asked["n"])}


class NearData(TypedDict):
    """A label whose items are similar to those of another."""

    label: str
    score: Annotated[Unit, "cosine similarity"]
    count: Count


class LabelData(TypedDict):
    """The answer of ``/label``."""

    label: str
    count: Annotated[Count, "number of items that have it"]
    report: Annotated[LabelReport | None, "how well it is predicted; null if it is not"]
    neighbours: Annotated[list[NearData], "labels with similar items"]
    items: Annotated[list[HitData], "items that have it, the most typical first"]
    others: Annotated[list[HitData], "similar items that do not have it"]


def label(snapshot: Snapshot, asked: Asked) -> LabelData:
    """Return a label with its neighbours, its items, and items that may lack it."""
    name = asked["name"]
    count = find_label(snapshot, name)
    index = snapshot.index
    own = index.search(None, 10, {"labels": [name]}, labels=name)
    others = index.search(None, 5, {"without": [name]}, labels=name)
    return {
        "label": name,
        "count": count,
        "report": report_of(snapshot).get(label_name(name)),
        "neighbours": [
            {"label": other, "score": rounded(score), "count": snapshot.labels[other]}
            for other, score in index.similar_labels(name, 12)
        ],
        "items": hits_data(snapshot, own),
        "others": hits_data(snapshot, others),
    }


class TaggedData(TypedDict):
    """The answer of ``/tag``."""

    tags: Annotated[list[Tag], "labels, the most probable first"]


def tag(snapshot: Snapshot, asked: Asked) -> TaggedData:
    """Predict labels for a text, the most probable first."""
    text = asked["text"]
    found = snapshot.index.tag(text, asked["k"]) if text.strip() else []
    return {"tags": found}
