"""Names for places of a map at several zoom levels: labels, and words where no label fits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._params import Integer, check_params
from .._typing import Array
from ..errors import InvalidParameter

__all__ = ["Region", "regions", "word_lists"]

# Widths of the squares of level 0, as shares of the map; each further level halves them.
_WIDTHS = (0.19, 0.11, 0.065)
# Squares of one width are apart by a quarter of it in both directions for labels at level 0, and
# by a half otherwise.
_QUARTERS = np.stack(np.meshgrid(*2 * [np.arange(4) / 4]), axis=-1).reshape(-1, 2)
_HALVES = np.stack(np.meshgrid(*2 * [np.arange(2) / 2]), axis=-1).reshape(-1, 2)
_LEAST_ITEMS = 4
# How much more frequent a name must be in its region than in all items; from the second value
# on, more does not count. A label of half of all items is a poor name for a region.
_LEAST_LIFT, _FULL_LIFT = 2.0, 8.0
# Share of the items of a region that a name must fit, from the second level on and for words.
_LEAST_PURITY = 0.3
# At level 0, regions nearer than the first are one; names have a height, and a width per
# character.
_APART, _HEIGHT, _WIDTH = 0.12, 0.05, 0.018
# Names at each level: the first is given, and each level has this many times more.
_MORE = 3
# Squares that are tried for each name of a level.
_TRIED = 4
# Words: in this share of the items at most, and this many of a text.
_MOST_FREQUENT = 0.25
_MOST_WORDS = 30
_WORD = re.compile(r"[^\W\d_]{3,30}")


@dataclass(frozen=True)
class Region:
    """A place where a label or a word is frequent, and the number of its items there.

    Attributes
    ----------
    name : str
    x, y : float
    count : int
    level : int
        0 for a name that is shown with the whole map; each further level is for twice the zoom.
    kind : str
        "label" or "word".
    """

    name: str
    x: float
    y: float
    count: int
    level: int = 0
    kind: str = "label"


def word_lists(texts: Iterable[str]) -> list[list[str]]:
    """Return the different words at the beginning of each text, in lower case.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    list of lists of str

    Examples
    --------
    >>> from labelspan.display.map_regions import word_lists
    >>> word_lists(["A chess game: play chess in 2 minutes"])
    [['chess', 'game', 'play', 'minutes']]
    """
    found = []
    for text in texts:
        # Further words are not looked at, and a long text is not folded as a whole.
        words = _WORD.findall(text[: 20 * _MOST_WORDS].lower())[:_MOST_WORDS]
        found.append(list(dict.fromkeys(words)))
    return found


def regions(
    positions: Any,
    label_lists: Sequence[Sequence[str] | None],
    *,
    words: Sequence[Sequence[str]] | None = None,
    most: int = 30,
    levels: int = 1,
) -> list[Region]:
    """Name places of a layout by the labels that are frequent there.

    For every label the square with many of its items and few others is searched. Labels that
    are frequent in their square are kept, the best first; of labels in one place, the one that
    fits best. Each further level names smaller squares, where a label may have several; and words
    name places that no label names.

    Parameters
    ----------
    positions : array of shape (n, 2)
        The result of :func:`labelspan.display.layout.layout`.
    label_lists : sequence of n sequences of str
        The labels of each item; None where they are not known.
    words : sequence of n sequences of str or None, default=None
        The words of each item, as :func:`word_lists` returns them; None names by labels only.
    most : int, default=30
        Maximum number of regions of the first level; each further level has up to three times
        as many.
    levels : int, default=1
        Number of levels; four are enough for 100,000 items.

    Returns
    -------
    list of Region
        By level, and the best first. ``count`` is the number of items of the name in its place.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.display.map_regions import regions
    >>> rng = np.random.default_rng(0)
    >>> places = np.concatenate([rng.normal(-0.5, 0.05, (30, 2)), rng.normal(0.5, 0.05, (30, 2))])
    >>> found = regions(places, [["game"]] * 30 + [["sound"]] * 30)
    >>> sorted((region.name, region.x > 0) for region in found)
    [('game', False), ('sound', True)]
    """
    given = {"most": most, "levels": levels}
    check_params("regions", given, {"most": Integer(0), "levels": Integer(1)})
    places = np.asarray(positions, dtype=np.float64)
    if places.ndim != 2 or places.shape[1] != 2 or len(places) != len(label_lists):
        raise InvalidParameter(
            "regions: positions must have two columns and a row for each of the "
            f"{len(label_lists)} label lists, but has shape {places.shape}."
        )
    if words is not None and len(words) != len(places):
        raise InvalidParameter(
            f"regions: words must have a list for each of the {len(places)} items, but "
            f"{len(words)} were given."
        )
    if not len(places) or not most:
        return []
    names = [_Names("label", label_lists, len(places))]
    if words is not None:
        names.append(_Names("word", words, int(_MOST_FREQUENT * len(places))))
    squares = _Squares(places)
    kept = _Kept()
    for level in range(levels):
        full = len(kept.regions) + most * _MORE**level
        for one in names:
            for region in squares.best(one, level, _TRIED * full):
                if len(kept.regions) == full:
                    break
                kept.offer(region)
    return kept.regions


class _Kept:
    """Regions that do not meet: they are in different places, and their names do not overlap."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        # Place and length of the name of each region.
        self._about = np.zeros((64, 3))
        self._named: dict[str, list[int]] = {}

    def offer(self, region: Region) -> None:
        """Keep a region if it meets no other."""
        count = len(self.regions)
        x, y, lengths = self._about[:count].T
        across, along = np.abs(x - region.x), np.abs(y - region.y)
        away = np.hypot(across, along)
        scale = 1 / 2**region.level
        widths = scale * _WIDTH * (lengths + len(region.name)) / 2
        meets = (away < scale * _APART) | ((across < widths) & (along < scale * _HEIGHT))
        if meets.any():
            return
        # The same name again only in another part of the map.
        for number in self._named.get(region.name, ()):
            if away[number] < 2 * _APART / 2 ** self.regions[number].level:
                return
        self._named.setdefault(region.name, []).append(count)
        if count == len(self._about):
            self._about = np.concatenate([self._about, np.zeros_like(self._about)])
        self._about[count] = region.x, region.y, len(region.name)
        self.regions.append(region)


class _Names:
    """Names with the items that have them, as a sparse table of items and names."""

    def __init__(self, kind: str, lists: Sequence[Sequence[str] | None], most: int) -> None:
        self.kind = kind
        members: dict[str, list[int]] = {}
        for row, own in enumerate(lists):
            for name in set(own or ()):
                members.setdefault(name, []).append(row)
        self.names = sorted(
            name for name, rows in members.items() if _LEAST_ITEMS <= len(rows) <= most
        )
        self.rows = [np.array(members[name], dtype=np.intp) for name in self.names]
        self.sizes = np.array([rows.size for rows in self.rows], dtype=np.float64)
        # Pairs of an item and a name that it has.
        self.items = np.concatenate([np.zeros(0, dtype=np.intp), *self.rows])
        self.numbers = np.repeat(np.arange(len(self.names)), self.sizes.astype(np.intp))


class _Squares:
    """Squares of several widths over a map, and how well names fit them."""

    def __init__(self, places: Array) -> None:
        self._places = places
        self._low = places.min(axis=0)
        self._side = max(float(np.ptp(places, axis=0).max()), 1e-9)

    def best(self, names: _Names, level: int, most: int) -> Iterator[Region]:
        """Give regions for names, the best first; at level 0 one for each."""
        found: list[tuple[float, int, float, Array]] = []
        # Words are many, and their places need not fit as well.
        few = names.kind == "label" and level == 0
        for share in _WIDTHS if names.kind == "label" else _WIDTHS[1:2]:
            width = share * self._side / 2**level
            for shift in _QUARTERS if few else _HALVES:
                found += self._fitting(names, level, width, shift * width)
        found.sort(key=lambda one: (-one[0], names.names[one[1]], *one[3]))
        # Worse ones would hardly find a free place.
        if level:
            found = found[:most]
        seen = set()
        for _, number, width, centre in found:
            if level == 0 and number in seen:
                continue
            seen.add(number)
            yield self._region(names, number, level, width, centre)

    def _fitting(
        self, names: _Names, level: int, width: float, shift: Array
    ) -> list[tuple[float, int, float, Array]]:
        """Return worth, name, width and centre for each square and name that fit."""
        count = len(self._places)
        cells = np.floor((self._places - self._low + shift) / width).astype(np.int64)
        numbers, own = np.unique(cells, axis=0, return_inverse=True)
        own = own.reshape(-1)
        totals = np.bincount(own, minlength=len(numbers)).astype(np.float64)
        # How often each name occurs in each square.
        pairs = own[names.items] * max(len(names.names), 1) + names.numbers
        pairs, own_items = np.unique(pairs, return_counts=True)
        frequent = own_items >= _LEAST_ITEMS
        own_items = own_items[frequent]
        square, name = np.divmod(pairs[frequent], max(len(names.names), 1))
        purity = own_items / totals[square]
        # A small square cannot hold all items of a frequent label.
        possible = (
            names.sizes[name] if level == 0 else np.minimum(names.sizes[name], totals[square])
        )
        reach = own_items / possible
        # Purity counts twice: a name may leave out items of its own, but not rename others.
        worth = 5 * purity * reach / np.maximum(4 * reach + purity, 1e-12)
        lift = purity * count / names.sizes[name]
        worth *= np.log(np.clip(lift, 1.0, _FULL_LIFT)) / np.log(_FULL_LIFT)
        least = _LEAST_PURITY if level or names.kind == "word" else 0.0
        fits = (lift >= _LEAST_LIFT) & (purity >= least)
        if level:
            # Of names of the same worth, that of more items.
            worth = worth * np.log1p(own_items)
            # Only the best two of a square.
            order = np.lexsort((name, -worth, square))
            first = np.searchsorted(square[order], square[order])
            rank = np.empty(order.size, dtype=np.intp)
            rank[order] = np.arange(order.size) - first
            fits &= rank < 2
        centres = self._low - shift + (numbers + 0.5) * width
        return [
            (float(worth[n]), int(name[n]), width, centres[square[n]]) for n in np.flatnonzero(fits)
        ]

    def _region(
        self, names: _Names, number: int, level: int, width: float, centre: Array
    ) -> Region:
        """Return the region around the middle of the items in a square."""
        own = self._places[names.rows[number]]
        near = np.ones(len(own), dtype=bool)
        for _ in range(3):
            near = np.abs(own - centre).max(axis=1) <= width / 2
            if not near.any():
                break
            centre = np.median(own[near], axis=0)
        count = int((np.abs(own - centre).max(axis=1) <= width / 2).sum())
        x, y = (float(value) for value in centre)
        return Region(names.names[number], x, y, count, level, names.kind)
