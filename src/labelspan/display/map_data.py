"""The map of a corpus as bytes that a browser reads: text as JSON, numbers as typed arrays."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .._typing import Array
from ..index import SemanticIndex
from ..index.metadata_fields import MetadataField, metadata_text, read_fields
from .corpus_map import CorpusMap
from .map_regions import Region
from .style import palettes

__all__ = ["SCALE", "MapPoints", "draw_points", "encode_map", "small_place", "whole_positions"]

# Positions are whole numbers of 16 bits.
SCALE = 32767
# Maximum number of metadata fields to colour by, of distinct values of a field, and of
# numbers that are treated as categories.
_MOST_FIELDS, _MOST_VALUES, _FEW_NUMBERS = 16, 300, 12
_DIGITS = 4
# A small picture of a map has at most this number of points, in these colours.
_SMALL, _COLOURS = 1800, 12


def whole_positions(points: Array) -> Array:
    """Return positions from -1 to 1 as whole numbers."""
    return np.asarray(np.rint(SCALE * np.asarray(points)), dtype=np.int16).reshape(-1, 2)


def encode_map(found: CorpusMap) -> bytes:
    """Return a map as bytes.

    Four bytes ``LSM1``, the length of a JSON object as a little-endian integer of four bytes, the
    object, and arrays, each starting at a multiple of four bytes. ``arrays`` of the object lists
    their names, types and lengths: ``positions`` (x and y in turn, multiplied by 32767),
    ``groups`` (the index of the main label of each item, or -1), ``label_ends`` and
    ``label_rows`` (the items of each label), and one for each of ``fields``, the metadata:
    numbers, days since 1970, or the number of a value, with NaN or -1 for none.
    """
    return _MapWithoutLabels(found).bytes(*_members(found.labels), found.groups)


class _MapWithoutLabels:
    """What stays in the bytes of a map when labels change: points, titles, regions and metadata."""

    def __init__(self, found: CorpusMap) -> None:
        fields: list[dict[str, Any]] = []
        self._arrays = {"positions": whole_positions(found.points).reshape(-1)}
        known = read_fields(enumerate(found.metadata), len(found.metadata))
        for name in dict.fromkeys(key for own in found.metadata for key in own):
            read = _values_of(known[name])
            if read is not None and len(fields) < _MOST_FIELDS:
                about, values = read
                self._arrays[f"field{len(fields)}"] = values
                fields.append({"name": name, **about})
        regions = [
            asdict(one) | {"x": round(one.x, _DIGITS), "y": round(one.y, _DIGITS)}
            for one in found.regions
        ]
        head = {
            "ids": list(found.ids),
            "titles": list(found.titles),
            "groups": list(found.named.labels),
            "regions": regions,
            "fields": fields,
            "palettes": palettes(),
        }
        self._head = _as_json(head)

    def bytes(self, names: list[str], ends: Array, rows: Array, groups: Array) -> bytes:
        """Return the bytes with labels: the rows of each name, and the group of each row."""
        arrays = self._arrays | {
            "groups": groups.astype(np.int16),
            "label_ends": ends.astype(np.uint32),
            "label_rows": rows.astype(np.uint32),
        }
        about = [[name, str(values.dtype), values.size] for name, values in arrays.items()]
        text = self._head[:-1] + b"," + _as_json({"labels": names, "arrays": about})[1:]
        text += b" " * (-len(text) % 4)
        parts = [b"LSM1", np.array(len(text), dtype="<u4").tobytes(), text]
        for values in arrays.values():
            data = values.astype(values.dtype.newbyteorder("<")).tobytes()
            parts.append(data + b"\0" * (-len(data) % 4))
        return b"".join(parts)


def _as_json(content: Any) -> bytes:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace")


def _members(lists: Sequence[Sequence[str]]) -> tuple[list[str], Array, Array]:
    """Return the labels of all items, where the rows of each end, and these rows."""
    members: dict[str, list[int]] = {}
    for row, labels in enumerate(lists):
        for label in labels:
            members.setdefault(label, []).append(row)
    names = sorted(members)
    rows = [np.array(members[name], dtype=np.uint32) for name in names]
    every = np.concatenate([np.zeros(0, dtype=np.uint32), *rows])
    return names, np.cumsum([0, *map(len, rows)]), every


def _values_of(field: MetadataField) -> tuple[dict[str, Any], Array] | None:
    """Return the type of a metadata field, and its values as numbers; None if it is not useful."""
    texts = ["" if one is None else metadata_text(one) for one in field.values]
    different = {one for one in texts if one}
    if len(different) < 2:
        return None
    if field.kind in ("number", "date") and len(different) > _FEW_NUMBERS:
        with np.errstate(over="ignore"):
            known = np.append(field.keys, np.nan).astype(np.float32)
        known[~np.isfinite(known)] = np.nan
        useful = np.count_nonzero(np.isfinite(known)) > 1
        return ({"kind": field.kind}, known[field.codes]) if useful else None
    if field.kind == "text":
        return None
    order = [code for code, one in enumerate(texts) if one]
    if field.kind == "category":
        sizes = np.bincount(field.codes[field.codes >= 0], minlength=len(texts))
        order.sort(key=lambda code: (-sizes[code], texts[code]))
    order = order[:_MOST_VALUES]
    codes = np.full(len(texts) + 1, -1, dtype=np.int16)
    codes[order] = np.arange(len(order))
    return {"kind": "category", "values": [texts[code] for code in order]}, codes[field.codes]


# --- the whole map of an index --------------------------------------------------------------


@dataclass(frozen=True)
class MapPoints:
    """A map to be sent: its bytes, plain and packed, their ETag, and main regions.

    ``places`` are the points as whole numbers, ``small`` the lines of a small picture of them: a
    class, and where its points lie. ``rows`` are those of the items in the index, ``groups`` their
    main labels by number among ``main_labels``, ``names`` all labels that name a region.
    """

    points: bytes
    packed: bytes
    etag: str
    regions: list[Region]
    places: Array
    small: list[tuple[str, str]]
    rows: Array
    groups: Array
    main_labels: list[str]
    names: frozenset[str]
    fixed: _MapWithoutLabels

    def relabelled(self, index: SemanticIndex) -> MapPoints | None:
        """Return the map with the present labels and colours, and the same points and regions.

        None if other items are there, or a label that names a region is gone. An item keeps its
        main label, or gets the one of the largest region.
        """
        table, rows = index.store.labels, np.flatnonzero(index.store.vectors.alive)
        if not np.array_equal(rows, self.rows) or not self.names <= table.totals.keys():
            return None
        names = list(table.totals)
        matrix = table.matrix(rows)
        by_label = matrix[:, [table.number[name] for name in names]].tocsc()
        main = matrix[:, [table.number[name] for name in self.main_labels]].sorted_indices()
        groups = np.full(len(rows), -1)
        some = np.flatnonzero(np.diff(main.indptr))
        groups[some] = main.indices[main.indptr[some]]
        kept = np.flatnonzero(self.groups >= 0)
        if len(kept):
            kept = kept[np.asarray(main[kept, self.groups[kept]]).reshape(-1) > 0]
            groups[kept] = self.groups[kept]
        data = self.fixed.bytes(names, by_label.indptr, by_label.indices, groups)
        return replace(
            self,
            points=data,
            packed=_packed(data, 1),
            etag=_etag(data),
            small=_small(self.places, groups),
            groups=groups,
        )

    def inside(self, corners: Array) -> Array:
        """Return a mask of the points inside a polygon, by the even-odd rule."""
        x, y = self.places.T.astype(np.float64)
        found = np.zeros(len(x), dtype=bool)
        for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            crosses = (ay > y) != (by > y)
            if ay != by:
                found ^= crosses & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
        return found


def draw_points(
    index: SemanticIndex,
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[Array], None] | None = None,
) -> MapPoints:
    """Lay out all items of an index, or read their places; this takes a while for many."""
    rows = np.flatnonzero(index.store.vectors.alive)
    found = CorpusMap.from_index(index, progress=progress, watch=watch)
    fixed = _MapWithoutLabels(found)
    data = fixed.bytes(*_members(found.labels), found.groups)
    places = whole_positions(found.points)
    return MapPoints(
        points=data,
        packed=_packed(data, 6),
        etag=_etag(data),
        regions=[one for one in found.regions if one.level == 0],
        places=places,
        small=_small(places, found.groups),
        rows=rows,
        groups=found.groups,
        main_labels=list(found.named.labels),
        names=frozenset(one.name for one in found.regions if one.kind == "label"),
        fixed=fixed,
    )


def _packed(data: bytes, level: int) -> bytes:
    return gzip.compress(data, level, mtime=0)


def _etag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:32]}"'


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
