"""Lay out items in the plane, and name the places where labels are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter
from sklearn.manifold import TSNE
from sklearn.utils import check_array, check_random_state
from threadpoolctl import threadpool_limits

from .._params import Integer, check_params
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter

__all__ = ["Region", "layout", "regions"]

# Number of points laid out by t-SNE; further points are placed among them.
_SAMPLE = 3000
_PERPLEXITY = 30.0
# Twice as many iterations, and a finer angle, double the time and gain 0.0004 in trustworthiness.
_ROUNDS = 500
_ANGLE = 0.7
# A further point is placed by this many neighbours, with noise of this standard deviation.
_NEIGHBOURS = 5
_SPREAD = 0.012
_ROWS_AT_ONCE = 4096

# Regions are searched on a grid of _CELLS x _CELLS cells, in squares of these widths.
_CELLS = 80
_WIDTHS = (5, 9, 15)
_LEAST_ITEMS = 4
# How much more frequent a label must be in its region than in all items; from the second value
# on, more does not count. A label of half of all items is a poor name for a region.
_LEAST_LIFT, _FULL_LIFT = 2.0, 8.0
# Regions nearer than the first are one; names have a height, and a width per character.
_APART, _HEIGHT, _WIDTH = 0.12, 0.05, 0.018


@dataclass(frozen=True)
class Region:
    """A place where a label is frequent, and the number of its items there."""

    name: str
    x: float
    y: float
    count: int


def layout(vectors: Any, *, random_state: int = 0) -> Array:
    """Lay out items in the plane, similar items near each other.

    Up to 3,000 items are laid out by t-SNE, which starts from their principal axes. Of more
    items, a random sample of 3,000 is laid out; each of the others is placed at the weighted
    mean of its five nearest in the sample, with a little noise to keep points apart.

    Parameters
    ----------
    vectors : array of shape (n, m)
        Vectors of the items, for example :meth:`SemanticIndex.vectors`; only their directions
        matter.
    random_state : int, default=0
        The same number gives the same places.

    Returns
    -------
    array of shape (n, 2)
        In float32, from -1 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.display.layout import layout
    >>> corners = np.repeat(np.eye(3), 20, axis=0)
    >>> places = layout(corners)
    >>> places.shape, bool(np.abs(places).max() <= 1)
    ((60, 2), True)
    """
    check_params("layout", {"random_state": random_state}, {"random_state": Integer(0)})
    table = _read(vectors)
    rng = check_random_state(random_state)
    count = len(table)
    if count <= _SAMPLE:
        return _apart(_framed(_tsne(table, rng)), rng)
    chosen = np.sort(rng.choice(count, _SAMPLE, replace=False))
    laid = _apart(_framed(_tsne(table[chosen], rng)), rng)
    others = np.setdiff1d(np.arange(count), chosen)
    places = np.empty((count, 2), dtype=np.float32)
    places[chosen] = laid
    places[others] = _placed(table[others], table[chosen], laid)
    places[others] += rng.normal(scale=_SPREAD, size=(others.size, 2))
    # Clipping would put all points outside on one straight line.
    return _framed(places)


def _read(vectors: Any) -> Array:
    """Return the rows scaled to length 1."""
    try:
        table = check_array(vectors, dtype=np.float32, ensure_min_samples=0, ensure_min_features=0)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"layout: vectors cannot be used: {error}") from error
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table / np.where(lengths > 0, lengths, 1.0))


def _tsne(table: Array, rng: np.random.RandomState) -> Array:
    if len(table) < 4:
        # Too few for t-SNE: on a line, in their order.
        line = np.linspace(-1.0, 1.0, len(table)) if len(table) > 1 else np.zeros(len(table))
        return np.stack([line, np.zeros(len(table))], axis=1)
    centred = table - table.mean(axis=0, dtype=np.float64)
    gram = centred.T @ centred if len(table) >= table.shape[1] else centred @ centred.T
    if not np.any(np.abs(gram) > 1e-12):
        # All are the same: anywhere, but apart.
        return rng.normal(size=(len(table), 2))
    tsne = TSNE(
        perplexity=min(_PERPLEXITY, (len(table) - 1) / 3),
        init=_principal_plane(centred),
        learning_rate="auto",
        max_iter=_ROUNDS,
        angle=_ANGLE,
        random_state=rng,
    )
    # Sums over threads are not reproducible, and t-SNE amplifies the last digit.
    with threadpool_limits(1):
        return np.asarray(tsne.fit_transform(table), dtype=np.float64)


def _principal_plane(centred: Array) -> Array:
    """Return the coordinates on two principal axes, scaled down to start t-SNE."""
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    plane = np.zeros((len(centred), 2))
    axes = min(2, sizes.size)
    plane[:, :axes] = left[:, :axes] * sizes[:axes]
    plane *= np.where(plane[np.abs(plane).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    return np.asarray(plane / max(plane[:, 0].std(), 1e-12) * 1e-4, dtype=np.float32)


def _framed(places: Array) -> Array:
    """Centre places, and scale them to lie from -1 to 1."""
    if not len(places):
        return np.zeros((0, 2), dtype=np.float32)
    low, high = places.min(axis=0), places.max(axis=0)
    side = max(float((high - low).max()), 1e-30)
    return np.asarray((places - (low + high) / 2) / (side / 2), dtype=np.float32)


def _apart(places: Array, rng: np.random.RandomState) -> Array:
    """Move points that coincide with an earlier one a little."""
    _, first = np.unique(places, axis=0, return_index=True)
    again = np.setdiff1d(np.arange(len(places)), first)
    moved = places.copy()
    moved[again] += rng.normal(scale=_SPREAD, size=(again.size, 2))
    return _framed(moved) if again.size else moved


def _placed(table: Array, known: Array, laid: Array) -> Array:
    """Return the weighted means of the places of the nearest."""
    parts = []
    for start in range(0, len(table), _ROWS_AT_ONCE):
        similarity = table[start : start + _ROWS_AT_ONCE] @ known.T
        near = np.argpartition(-similarity, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
        values = np.take_along_axis(similarity, near, axis=1)
        # A steep weight, because the mean of two places far apart is far from both.
        weights = np.exp(30.0 * (values - values.max(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        parts.append((laid[near] * weights[..., None]).sum(axis=1))
    return np.concatenate(parts)


def regions(
    positions: Any, label_lists: Sequence[Sequence[str] | None], *, most: int = 30
) -> list[Region]:
    """Name places of a layout by the labels that are frequent there.

    For every label the square with many of its items and few others is searched. Labels that
    are frequent in their square are kept, the best first; of labels in one place, the one that
    fits best.

    Parameters
    ----------
    positions : array of shape (n, 2)
        The result of :func:`layout`.
    label_lists : sequence of n sequences of str
        The labels of each item; None where they are not known.
    most : int, default=30
        Maximum number of regions.

    Returns
    -------
    list of Region
        The best first. ``count`` is the number of items of the label in its place.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.display.layout import regions
    >>> rng = np.random.default_rng(0)
    >>> places = np.concatenate([rng.normal(-0.5, 0.05, (30, 2)), rng.normal(0.5, 0.05, (30, 2))])
    >>> found = regions(places, [["game"]] * 30 + [["sound"]] * 30)
    >>> sorted((region.name, region.x > 0, region.count) for region in found)
    [('game', False, 30), ('sound', True, 30)]
    """
    check_params("regions", {"most": most}, {"most": Integer(0)})
    places = np.asarray(positions, dtype=np.float64)
    if places.ndim != 2 or places.shape[1] != 2 or len(places) != len(label_lists):
        raise InvalidParameter(
            "regions: positions must have two columns and a row for each of the "
            f"{len(label_lists)} label lists, but has shape {places.shape}."
        )
    members: dict[str, list[int]] = {}
    for row, labels in enumerate(label_lists):
        for label in set(labels or ()):
            members.setdefault(label, []).append(row)
    frequent = sorted(name for name, rows in members.items() if len(rows) >= _LEAST_ITEMS)
    grid = _Grid(places)
    found = [
        place
        for name in frequent
        if (place := grid.best(name, np.array(members[name]))) is not None
    ]
    found.sort(key=lambda place: (-place[0], place[1].name))
    kept: list[Region] = []
    for _, region in found:
        if len(kept) == most:
            break
        if not any(_meet(region, one) for one in kept):
            kept.append(region)
    return kept


def _meet(one: Region, other: Region) -> bool:
    """Return whether two regions are in one place, or their names overlap."""
    x, y = abs(one.x - other.x), abs(one.y - other.y)
    width = _WIDTH * (len(one.name) + len(other.name)) / 2
    return bool(np.hypot(x, y) < _APART or (x < width and y < _HEIGHT))


class _Grid:
    """Counts of points in squares around every cell of a grid."""

    def __init__(self, places: Array) -> None:
        self._places = places
        self._low = places.min(axis=0) if len(places) else np.zeros(2)
        high = places.max(axis=0) if len(places) else np.ones(2)
        self._cell = max(float((high - self._low).max()), 1e-9) / _CELLS
        self._all = [self._sums(np.arange(len(places)), width) for width in _WIDTHS]

    def _sums(self, rows: Array, width: int) -> Array:
        inside = ((self._places[rows] - self._low) / self._cell).astype(int)
        inside = np.minimum(inside, _CELLS - 1)
        counts = np.zeros((_CELLS, _CELLS))
        np.add.at(counts, tuple(inside.T), 1.0)
        return np.asarray(uniform_filter(counts, width, mode="constant") * width**2).round()

    def best(self, name: str, rows: Array) -> tuple[float, Region] | None:
        """Return the best square for a label, with its score; None if there is none."""
        found: tuple[float, int, Any] | None = None
        for width, everything in zip(_WIDTHS, self._all, strict=True):
            own = self._sums(rows, width)
            purity = own / np.maximum(everything, 1.0)
            reach = own / rows.size
            # Purity counts twice: a name may leave out items of its own, but not rename others.
            worth = 5 * purity * reach / np.maximum(4 * reach + purity, 1e-12)
            lift = purity * len(self._places) / rows.size
            worth *= np.log(np.clip(lift, 1.0, _FULL_LIFT)) / np.log(_FULL_LIFT)
            worth[(own < _LEAST_ITEMS) | (lift < _LEAST_LIFT)] = 0.0
            place = int(worth.argmax())
            if worth.flat[place] > (found[0] if found else 0.0):
                found = float(worth.flat[place]), width, np.unravel_index(place, worth.shape)
        if found is None:
            return None
        worth_here, width, cell = found
        centre = self._low + (np.array(cell) + 0.5) * self._cell
        near = np.abs(self._places[rows] - centre).max(axis=1) <= width / 2 * self._cell
        x, y = np.median(self._places[rows[near]], axis=0)
        return worth_here, Region(name, float(x), float(y), int(near.sum()))
