"""The answer of the list of items: a page of a selection, with counts over all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypedDict

import numpy as np

from ..curation.audit_results import KINDS
from ..errors import InvalidInput
from ..index import Item
from ..index.listing import ItemListing, Selected, Selection, metadata_text
from .answer_parts import (
    Asked,
    AskedText,
    CountedData,
    SelectionData,
    counted,
    find_label,
    page_of,
    rounded,
    selection,
)
from .http_errors import Refused
from .schema import Count, Unit
from .snapshot import Snapshot

__all__ = [
    "COLUMNS",
    "LASSO",
    "DownloadedData",
    "ItemsData",
    "MatchesData",
    "download_rows",
    "item_list",
    "matches",
    "selected",
]

# Corners of a polygon on the map: whole numbers x.y, separated by underscores.
LASSO = r"(-?[0-9]{1,5}\.-?[0-9]{1,5}(_-?[0-9]{1,5}\.-?[0-9]{1,5}){2,199})?"
COLUMNS = ["id", "title", "score", "labels"]
_ROWS_PER_PAGE = 50
_MOST_COLUMNS = 3
_MOST_GROUPS = 20
_LABELS_OF_A_GROUP, _LABELS_OF_A_CHOSEN_GROUP, _LABELS = 5, 60, 20
_KEYS, _VALUES = 6, 6


class RowData(TypedDict):
    """An item in a table."""

    id: str
    title: Annotated[str, "first line of the text"]
    score: Annotated[Unit | None, "null if there is nothing to compare with"]
    labels: Annotated[list[str] | None, "null if they are not known"]
    values: Annotated[list[str], "metadata, in the order of the columns; empty if missing"]


class GroupData(TypedDict):
    """Labels with the same beginning; without a name, labels that have none."""

    group: str
    count: Annotated[Count, "number of items with one of its labels"]
    labels: Annotated[list[CountedData], "the most frequent of them"]
    more: Annotated[Count, "number of further labels"]


class ValueData(TypedDict):
    """A value of metadata and the number of items that have it."""

    value: str
    count: Count


class KeyData(TypedDict):
    """A key of metadata with its most frequent values."""

    key: str
    values: list[ValueData]
    more: Annotated[Count, "number of further values"]


class ListData(SelectionData):
    """The answer of ``/list``."""

    sort: AskedText
    count: Annotated[Count, "number of items that match"]
    page: Annotated[Count, "number of this page"]
    pages: Annotated[Count, "number of pages"]
    columns: Annotated[list[str], "keys of the metadata that rows show"]
    rows: Annotated[list[RowData], "items of this page"]
    groups: Annotated[list[GroupData], "labels of all items that match, by their beginnings"]
    keys: Annotated[list[KeyData], "metadata of all items that match"]


def item_list(snapshot: Snapshot, asked: Asked) -> ListData:
    """Return a page of the items that match, and counts over all of them."""
    listing, found = snapshot.listing, selected(snapshot, asked)
    order = _ordered(listing, found, asked["sort"])
    page, pages = page_of(asked["page"], len(order), _ROWS_PER_PAGE)
    shown = order[(page - 1) * _ROWS_PER_PAGE : page * _ROWS_PER_PAGE]
    scores = found.scores
    by_place = {} if scores is None else dict(zip(found.places[shown], scores[shown], strict=True))
    columns = _columns(listing)
    mask = found.mask(listing.size)
    return {
        **selection(asked),
        "sort": asked["sort"],
        "count": len(order),
        "page": page,
        "pages": pages,
        "columns": columns,
        "rows": [
            _row(item, by_place.get(listing.place(item.id)), columns)
            for item in listing.items(found.places[shown])
        ],
        "groups": _groups(listing, listing.labels.counts(mask), listing.groups.counts(mask), asked),
        "keys": _keys(listing, mask),
    }


class MatchesData(TypedDict):
    """The answer of ``/map/matches.json``."""

    count: Annotated[Count, "number of items that match"]
    points: Annotated[list[Count], "their positions in the points of the map"]


class DownloadedData(TypedDict):
    """An item in a file."""

    id: str
    title: Annotated[str, "first line of the text"]
    score: Annotated[Unit | None, "null if there is nothing to compare with"]
    labels: Annotated[list[str] | None, "null if they are not known"]
    metadata: dict[str, Any]


class ItemsData(TypedDict):
    """The answer of ``/list/items.json``."""

    items: Annotated[list[DownloadedData], "all items that match"]


def matches(snapshot: Snapshot, asked: Asked) -> MatchesData:
    """Return which points of the map are items that match."""
    listing, found = snapshot.listing, selected(snapshot, asked)
    points = np.searchsorted(listing.alive, found.places)
    return {"count": len(points), "points": points.tolist()}


def selected(snapshot: Snapshot, asked: Asked) -> Selected:
    """Return the items that fulfil what a request asks for."""
    listing = snapshot.listing
    for name in (*asked["label"], *asked["without"]):
        find_label(snapshot, name)
    wanted = Selection(
        asked["q"],
        asked["balance"] / 100,
        asked["label"],
        asked["without"],
        asked["group"],
        asked["without_group"],
        asked["meta"],
        asked["without_meta"],
    )
    for name in (*wanted.groups, *wanted.without_groups):
        if name not in listing.groups:
            raise Refused(404, "group: no item has a label in this group.")
    try:
        found = listing.select(wanted)
    except InvalidInput as error:
        if asked["meta"] or asked["without_meta"]:
            raise Refused(404, str(error)) from None
        raise
    if asked["finding"]:
        found = _kept(found, _concerned(snapshot, asked["finding"]))
    if asked["lasso"]:
        found = _kept(found, _inside(snapshot, asked["lasso"]))
    return found


def _kept(found: Selected, places: Any) -> Selected:
    kept = np.isin(found.places, places)
    return Selected(found.places[kept], None if found.scores is None else found.scores[kept])


def _concerned(snapshot: Snapshot, kind: str) -> list[int]:
    """Return the places of the items about which the audit has found something."""
    if kind not in KINDS:
        raise Refused(404, f"finding: choose one of {', '.join(KINDS)}.")
    snapshot.start_audit()
    if snapshot.audit is None and snapshot.audit_state == "computing":
        raise Refused(503, "The audit is being computed; try again.", {"retry-after": "2"})
    names = {name for one in snapshot.findings if one.kind == kind for name in one.items}
    return [snapshot.listing.place(name) for name in names if name in snapshot.index]


def _inside(snapshot: Snapshot, lasso: str) -> Any:
    """Return the places of the items inside a polygon on the map."""
    drawn = snapshot.map
    if drawn is None and snapshot.map_state == "failed":
        raise Refused(404, "lasso: there is no map of this index.")
    if drawn is None:
        raise Refused(503, "The map is being drawn; try again.", {"retry-after": "2"})
    corners = np.array([corner.split(".") for corner in lasso.split("_")], dtype=np.float64)
    inside = snapshot.cached(("lasso", lasso), lambda: drawn.inside(corners))
    return snapshot.listing.alive[inside]


def _ordered(listing: ItemListing, found: Selected, sort: str) -> Any:
    if sort.removeprefix("-") not in {"", *listing.sorts()}:
        raise Refused(404, f"sort: choose one of {', '.join(listing.sorts())}.")
    return listing.ordered(found, sort)


def _columns(listing: ItemListing) -> list[str]:
    """Return keys of the metadata that are worth a column: those whose values repeat."""
    half = len(listing.alive) / 2
    return [key for key, own in listing.values.items() if len(own.names) <= half][:_MOST_COLUMNS]


def _row(item: Item, score: float | None, columns: Sequence[str]) -> RowData:
    return {
        "id": item.id,
        "title": item.title,
        "score": None if score is None else rounded(score),
        "labels": None if item.labels is None else list(item.labels),
        "values": [metadata_text(item.metadata.get(key, "")) for key in columns],
    }


def _most_frequent(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _groups(
    listing: ItemListing, labels: dict[str, int], groups: dict[str, int], asked: Asked
) -> list[GroupData]:
    """Return the labels by the deepest group that is shown; below a chosen one, its own groups."""
    chosen, separator = set(asked["group"]), listing.separator
    shown = [
        (group, count)
        for group, count in _most_frequent(groups)
        if separator not in group or group.rpartition(separator)[0] in chosen
    ][:_MOST_GROUPS]
    names = {group for group, _ in shown}
    inside: dict[str, list[tuple[str, int]]] = {}
    for label, count in _most_frequent(labels):
        group = label
        while separator and group and group not in names:
            group = group.rpartition(separator)[0]
        inside.setdefault(group if group in names else "", []).append((label, count))
    if not separator:
        inside = {"": _most_frequent(labels)}
    rest = inside.get("", [])
    every = [*shown, ("", rest[0][1])] if rest else shown
    found: list[GroupData] = []
    for group, count in every:
        own = inside.get(group, [])
        most = _LABELS_OF_A_CHOSEN_GROUP if group in chosen else _LABELS_OF_A_GROUP
        most = most if group else _LABELS
        part = counted(own[:most])
        found.append({"group": group, "count": count, "labels": part, "more": len(own) - len(part)})
    return found


def _keys(listing: ItemListing, mask: Any) -> list[KeyData]:
    found: list[KeyData] = []
    for key, values in listing.values.items():
        pairs = _most_frequent(values.counts(mask))
        if len(found) < _KEYS and pairs and (pairs[0][1] > 1 or len(pairs) <= _VALUES):
            part: list[ValueData] = [{"value": name, "count": n} for name, n in pairs[:_VALUES]]
            found.append({"key": key, "values": part, "more": len(pairs) - len(part)})
    return found


def download_rows(snapshot: Snapshot, asked: Asked) -> Iterator[list[DownloadedData]]:
    """Yield all items that match, a few hundred at once: id, title, score, labels, metadata."""
    listing, found = snapshot.listing, selected(snapshot, asked)
    order = _ordered(listing, found, asked["sort"])
    places = found.places[order]
    scores = {} if found.scores is None else dict(zip(places, found.scores[order], strict=True))

    def parts() -> Iterator[list[DownloadedData]]:
        for items in listing.parts(places):
            yield [
                {
                    "id": item.id,
                    "title": item.title,
                    "score": rounded(scores[listing.place(item.id)]) if scores else None,
                    "labels": None if item.labels is None else list(item.labels),
                    "metadata": item.metadata,
                }
                for item in items
            ]

    return parts()
