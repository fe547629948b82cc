"""The layout of an index: computed once, stored in its folder, and extended."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._typing import Array
from ..errors import InvalidFile, LabelspanError
from ..graph.neighbors import Progress
from ..index import SemanticIndex
from ..index.folder import MAP_FILE, ArrayFile, write_arrays
from .layout import layout, place

__all__ = ["stored_layout"]

_log = logging.getLogger("labelspan.display")
# If fewer than this fraction of the items were laid out together, all are laid out again.
_LEAST_LAID = 0.5
# Bytes of the hash of an item.
_KEY = 16


def stored_layout(
    index: SemanticIndex,
    ids: Sequence[str],
    *,
    progress: Progress | None = None,
) -> Array:
    """Return the positions of items, read from the folder of the index if they are stored there.

    Items added since are placed among the others; when half of all items are new, the layout is
    computed again. The result is written to the folder, if possible.
    """
    vectors = index.vectors(ids)
    if index.path is None:
        return layout(vectors, progress=progress)
    path = index.path / MAP_FILE
    keys = _item_keys(ids, vectors)
    known = _read(path)
    if known is not None:
        rows = dict(zip(known.keys, range(len(known.keys)), strict=True))
        found = np.array([rows.get(key, -1) for key in keys], dtype=np.intp)
        old = found >= 0
        if old.all():
            return known.places[found]
        laid = min(known.laid, int(old.sum()))
        if laid >= _LEAST_LAID * len(keys):
            places = np.empty((len(keys), 2), dtype=np.float32)
            places[old] = known.places[found[old]]
            places[~old] = place(vectors[~old], vectors[old], places[old])
            _write(path, _Layout(keys, places, laid))
            return places
    places = layout(vectors, progress=progress)
    _write(path, _Layout(keys, places, len(keys)))
    return places


@dataclass(frozen=True, eq=False)
class _Layout:
    """Keys and positions of items, and the number that were laid out together."""

    keys: Sequence[bytes]
    places: Array
    laid: int


def _item_keys(ids: Sequence[str], vectors: Array) -> list[bytes]:
    """Return for each item a hash of its id and vector.

    With these, positions stay valid when items are added or removed, or the index is saved again,
    and are not used for another embedding.
    """
    table = np.ascontiguousarray(vectors, dtype="<f4")
    return [
        hashlib.blake2b(
            vector.tobytes() + name.encode("utf-8", "surrogatepass"), digest_size=_KEY
        ).digest()
        for name, vector in zip(ids, table, strict=True)
    ]


def _read(path: Path) -> _Layout | None:
    """Read the file, which is a cache: it may be deleted, and is not used if it is damaged."""
    try:
        file = ArrayFile(path, mapped=False)
        keys, places = file.array("keys"), file.array("places")
        laid = int(file.about.get("laid", -1))
        fits = keys.shape == (len(places), _KEY) and places.shape == (len(places), 2)
        if not fits or places.dtype != np.float32 or not (np.abs(places) <= 1.0).all():
            raise InvalidFile(f"{path} is damaged: its positions do not match its items.")
        return _Layout([key.tobytes() for key in keys], places, laid)
    except FileNotFoundError:
        return None
    except (LabelspanError, OSError) as error:
        _log.warning("A stored map is not used: %s", error)
        return None


def _write(path: Path, found: _Layout) -> None:
    """Store positions for later; a read-only folder is left unchanged."""
    keys = np.frombuffer(b"".join(found.keys), dtype=np.uint8).reshape(-1, _KEY)
    try:
        if path.parent.is_dir():
            write_arrays(path, {"keys": keys, "places": found.places}, laid=found.laid)
    except (LabelspanError, OSError) as error:
        _log.warning("The map is kept in memory only: %s", error)
