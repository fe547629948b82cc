"""Lay out items in the plane; the layout of an index is stored in its folder, and extended."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.utils import check_array, check_random_state
from threadpoolctl import threadpool_limits

from .._arrays import ArrayFile, write_arrays
from .._typing import Array
from ..errors import InvalidFile, InvalidInput, LabelspanError
from ..graph.neighbors import Progress, nearest_neighbors
from ..index import SemanticIndex
from ..index.folder import MAP_FILE
from .mesh_tsne import ROUNDS, Watch, descend

__all__ = ["layout", "place", "stored_layout"]

_log = logging.getLogger("labelspan.display")

# Number of neighbours that attract each item.
_NEIGHBOURS = 15
# Number of neighbours that determine the position of an added item.
_PLACED_BY = 5
# Equal items, and items added later, are apart by this fraction of the usual distance.
_NEXT_TO = 0.5
_TURN = np.pi * (3 - np.sqrt(5))
_ROWS_AT_ONCE = 1024
# Seeds change the start by this fraction.
_NOISE = 0.01
# Points that are not further apart than this have the same position.
_SAME = 1e-5
# Number of points from which the usual distance to the nearest one is estimated.
_MEASURED = 5000
# If fewer than this fraction of the items were laid out together, all are laid out again.
_LEAST_LAID = 0.5
# Bytes of the hash of an item.
_KEY = 16


def layout(
    vectors: Any,
    *,
    random_state: int = 0,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Array:
    """Lay out items in the plane, similar items near each other.

    Uses t-SNE of all items: each is attracted by its 15 nearest neighbours and by those
    whose neighbour it is, and repelled by all items, which start on the principal axes. 63,620
    items take about two minutes on one core. ``watch`` is called with positions from -1 to 1 while
    the items move there.
    """
    table = _read(vectors, "layout")
    rng = check_random_state(random_state)
    # Sums over threads are not reproducible, and t-SNE amplifies the last digit.
    with threadpool_limits(1):
        return _side_by_side(_framed(_laid_out(table, rng, progress, watch)))


def place(vectors: Any, known: Any, places: Any) -> Array:
    """Add items to a layout, which does not change.

    Each is put next to the weighted mean of the positions of its five nearest items.
    """
    table, old = _read(vectors, "place"), _read(known, "place")
    laid = np.asarray(places, dtype=np.float32)
    if not len(table) or not len(old):
        return layout(table)
    with threadpool_limits(1):
        means = np.concatenate(
            [
                _mean_places(table[start : start + _ROWS_AT_ONCE], old, laid)
                for start in range(0, len(table), _ROWS_AT_ONCE)
            ]
        )
    return _beside(means, laid)


def _read(vectors: Any, owner: str) -> Array:
    """Return the rows scaled to length 1."""
    try:
        table = check_array(vectors, dtype=np.float32, ensure_min_samples=0, ensure_min_features=0)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{owner}: vectors cannot be used: {error}") from error
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table / np.where(lengths > 0, lengths, 1.0))


def _laid_out(
    table: Array,
    rng: np.random.RandomState,
    progress: Progress | None,
    watch: Watch | None,
) -> Array:
    """Return positions at any scale; those of equal items may be the same."""
    count = len(table)
    if count < 4:
        # On a line, in order.
        line = np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(count)
        return np.stack([line, np.zeros(count)], axis=1)
    # Finding neighbours takes time proportional to the square of the number of items.
    share = count / (count + 30_000)
    steps = sum(ROUNDS)
    search = int(steps * share)

    def report(before: int, of: int) -> Progress | None:
        if progress is None:
            return None
        return lambda done, total: progress(before + of * done // total, search + steps)

    # Zero rows have no direction: an additional column makes them similar to each other.
    zero = ~table.any(axis=1, keepdims=True)
    near, _ = nearest_neighbors(
        np.hstack([table, zero.astype(np.float32)]) if zero.any() else table,
        min(_NEIGHBOURS, max((count - 1) // 3, 1)),
        metric="cosine",
        search="auto",
        progress=report(0, search),
    )
    plane = _principal_plane(table - table.mean(axis=0, dtype=np.float64))
    start = plane + rng.normal(scale=_NOISE, size=plane.shape)
    return descend(
        near,
        1e-4 * start,
        progress=report(search, steps),
        watch=None if watch is None else lambda points: watch(_framed(points)),
    )


def _principal_plane(centred: Array) -> Array:
    """Return the coordinates on two principal axes, the first with standard deviation 1."""
    plane = np.zeros((len(centred), 2))
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :2]
    plane[:, : axes.shape[1]] = centred @ axes
    plane *= np.where(plane[np.abs(plane).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    return plane / max(float(plane[:, 0].std()), 1e-12)


def _framed(places: Array) -> Array:
    """Centre positions, and scale them to lie from -1 to 1; nothing is clipped."""
    if not len(places):
        return np.zeros((0, 2), dtype=np.float32)
    low, high = places.min(axis=0), places.max(axis=0)
    side = max(float((high - low).max()), 1e-30)
    framed = ((places - (low + high) / 2) / (side / 2)).astype(np.float32)
    return np.asarray(np.clip(framed, -1.0, 1.0))  # for the last digit


def _usual_distance(places: Array) -> float:
    """Return the median distance to the nearest other point."""
    if len(places) < 2:
        return 1.0
    asked = places[:: -(-len(places) // _MEASURED)]
    found = float(np.median(cKDTree(places).query(asked, 2)[0][:, 1]))
    return found or 1e-3 * float(np.ptp(places, axis=0).max()) or 1.0


def _spiral(numbers: Array) -> Array:
    """Return points around the origin at about equal distances, the first at the origin."""
    radius = np.sqrt(numbers)
    turn = _TURN * numbers
    return np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)


def _side_by_side(places: Array) -> Array:
    """Move points at the same position apart, as far as a plot can show."""
    if not len(places):
        return places
    kinds, own = np.unique(np.rint(places / _SAME), axis=0, return_inverse=True)
    if len(kinds) == len(places):
        return places
    own = own.reshape(-1)
    sizes = np.bincount(own)
    order = np.argsort(own, kind="stable")
    number = np.empty(len(own))
    number[order] = np.arange(len(own)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    reach = _NEXT_TO * _usual_distance(_SAME * kinds) / np.sqrt(sizes[own])
    return _framed(places + reach[:, None] * _spiral(number))


def _mean_places(table: Array, known: Array, laid: Array) -> Array:
    """Return the weighted means of the positions of the nearest items."""
    count = min(_PLACED_BY, len(known))
    near, values = nearest_neighbors(known, count, table, metric="cosine")
    # A steep weight, because the mean of two distant positions is far from both.
    weights = np.exp(30.0 * (values - values.max(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray((laid[near] * weights[..., None]).sum(axis=1))


def _beside(means: Array, laid: Array) -> Array:
    """Return different positions near the means, inside the frame."""
    distance = _NEXT_TO * _usual_distance(laid)
    taken = {place.tobytes() for place in laid}
    found = np.empty((len(means), 2), dtype=np.float32)
    for row, mean in enumerate(means):
        step = 1 + row % 7
        while True:
            off = distance * _spiral(np.array([step / 4]))[0]
            # Inwards if it would leave the frame.
            off = np.where(np.abs(mean + off) > 1, -off, off)
            spot = np.clip(mean + off, -1.0, 1.0).astype(np.float32)
            if spot.tobytes() not in taken:
                break
            step += 1
        taken.add(spot.tobytes())
        found[row] = spot
    return found


# --- the layout of an index -----------------------------------------------------------------


def stored_layout(
    index: SemanticIndex,
    ids: Sequence[str],
    *,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Array:
    """Return the positions of items, read from the folder of the index if they are stored there.

    Items added since are placed among the others; when half of all items are new, the layout is
    computed again. The result is written to the folder, if possible.
    """
    vectors = index.vectors(ids)
    if index.path is None:
        return layout(vectors, progress=progress, watch=watch)
    path = index.path / MAP_FILE
    keys = _item_keys(ids, vectors)
    known = _read_file(path)
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
            _write_file(path, _Layout(keys, places, laid))
            return places
    places = layout(vectors, progress=progress, watch=watch)
    _write_file(path, _Layout(keys, places, len(keys)))
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


def _read_file(path: Path) -> _Layout | None:
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


def _write_file(path: Path, found: _Layout) -> None:
    """Store positions for later; a read-only folder is left unchanged."""
    keys = np.frombuffer(b"".join(found.keys), dtype=np.uint8).reshape(-1, _KEY)
    try:
        if path.parent.is_dir():
            write_arrays(path, {"keys": keys, "places": found.places}, laid=found.laid)
    except (LabelspanError, OSError) as error:
        _log.warning("The map is kept in memory only: %s", error)
