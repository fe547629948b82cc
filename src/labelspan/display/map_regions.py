"""Names of regions of a map at several zoom levels: labels, and words where no label fits."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._typing import Array

__all__ = ["MapRegions", "Region", "name_regions", "word_lists"]

# Number of cells across the map at level 0, for few and for many items; it doubles with each level.
_FEWEST_CELLS, _MOST_CELLS = 6, 32
# Number of cells across the map, relative to the square root of the number of items.
_CELLS = 0.6
# A cell is evaluated together with those around it, with these weights in both directions.
_WINDOW = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 6.0
_LEAST_ITEMS = 4
# Minimum fraction of the items around a cell that have its name, and minimum odds ratio compared
# with elsewhere. The evidence is the number of items times the Kullback-Leibler divergence; by
# chance, it exceeds 8 for one in several thousand cells. Less is enough for words and at higher
# levels, where even a name found by chance fits a fifth of the items.
_LEAST_SHARE, _LEAST_ODDS = 0.3, 3.0
_LEAST_EVIDENCE, _LESS_EVIDENCE = 8.0, 5.0
# Among the names that fit, the purest is chosen: a name may miss some of its items, but should not
# cover others. Above this ratio to the fraction of all items, a rarer name is not better.
_PURITY_POWER, _FULL_LIFT = 2, 8.0
# Words may name smaller fractions, because a text rarely repeats the words of its neighbours.
_LEAST_WORD_SHARE = 0.2
# Maximum number of names at level 0; each further level may have four times as many.
_MOST_NAMES = 60
# Words: maximum fraction of the items, and number of words per text. A place is named by several:
# the further ones are so much more frequent there, and all together are at most so long.
_MOST_FREQUENT = 0.2
_MOST_WORDS = 30
_WORDS_OF_NAME, _LEAST_LIFT, _LONGEST_NAME = 3, 1.5, 32
_BETWEEN = " · "
# English words that are no stop words of a search, and tell nothing as the name of a place.
_VAGUE = """
across along another around could every first four last many may might much must new one second
should three two whose within would
"""
_WORD = re.compile(r"[^\W\d_]{3,30}")


@dataclass(frozen=True)
class Region:
    """A region where a label or a word is frequent, and the number of its items there.

    Attributes
    ----------
    name : str
        A label, or two or three words.
    x, y : float
    count : int
    level : int
        0 for a name that is shown on the whole map; each further level is for twice the zoom.
    kind : str
        "label" or "word".
    """

    name: str
    x: float
    y: float
    count: int
    level: int = 0
    kind: str = "label"


@dataclass(frozen=True, eq=False)
class MapRegions:
    """Named regions of a map, and the region of each item.

    Attributes
    ----------
    regions : list of Region
        By level, those with the most items first.
    labels : list of str
        The labels that name regions of level 0, the largest first.
    own : array of shape (n,)
        For each item the index of the one of its ``labels`` that is most typical of its region;
        -1 if it has none of them.
    """

    regions: list[Region] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    own: Array = field(default_factory=lambda: np.zeros(0, dtype=np.intp))


def word_lists(texts: Iterable[str], common: Collection[str] = ()) -> list[list[str]]:
    """Return the different words at the beginning of each text, in lower case."""
    left_out = {*common, *_VAGUE.split()}
    found = []
    for text in texts:
        # Further words are ignored, and a long text is not folded as a whole.
        words = _WORD.findall(text[: 20 * _MOST_WORDS].lower())[:_MOST_WORDS]
        found.append([word for word in dict.fromkeys(words) if word not in left_out])
    return found


def name_regions(
    positions: Any,
    label_lists: Sequence[Sequence[str] | None],
    *,
    words: Sequence[Sequence[str]] | None = None,
    levels: int = 1,
) -> MapRegions:
    """Name regions of a layout by their most typical labels, or by words if no label fits.

    The map is divided into cells. A cell gets the name with the largest p^2 log(p / q), where p
    is the fraction of the items around it that have the name, and q that of all items, or, from
    the second level on, of the items of the larger region that contains it; ratios above 8
    count as 8. Connected cells with the same name form a region.
    """
    places = np.asarray(positions, dtype=np.float64)
    if not len(places):
        return MapRegions()
    names = [_Names("label", label_lists, len(places))]
    if words is not None:
        names.append(_Names("word", words, int(_MOST_FREQUENT * len(places))))
    across = int(np.clip(_CELLS * np.sqrt(len(places)), _FEWEST_CELLS, _MOST_CELLS))
    grids = [_Grid(places, across * 2**level) for level in range(levels)]
    found: list[Region] = []
    for level in range(levels):
        named = np.zeros(grids[level].size, dtype=bool)
        for one in names:
            scores = grids[level].scores(one, grids[level - 1] if level else None)
            new = grids[level].regions(one, scores, level, named)
            # Words, if any, come after labels.
            found += new[: _MOST_NAMES * 4**level]
            if level == 0 and one.kind == "label":
                labels = [region.name for region in new]
                own = grids[0].most_typical(one, scores, labels)
    return MapRegions(found, labels, own)


class _Names:
    """Names with the items that have them, as a sparse matrix of items and names."""

    def __init__(self, kind: str, lists: Sequence[Sequence[str] | None], most: int) -> None:
        self.kind = kind
        members: dict[str, list[int]] = {}
        for row, own in enumerate(lists):
            for name in set(own or ()):
                members.setdefault(name, []).append(row)
        self.names = sorted(
            name for name, rows in members.items() if _LEAST_ITEMS <= len(rows) <= most
        )
        self.sizes = np.array([len(members[name]) for name in self.names], dtype=np.float64)
        ends = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        rows = np.fromiter((row for name in self.names for row in members[name]), np.intp, ends[-1])
        shape = (len(lists), len(self.names))
        by_name = sparse.csc_array((np.ones(rows.size, dtype=np.float32), rows, ends), shape=shape)
        self.table = by_name.tocsr()


def _entries(table: sparse.csr_array, rows: Array, columns: Array) -> Array:
    """Return entries of a table; of none, scipy would return a sparse array."""
    return np.asarray(table[rows, columns]).reshape(-1) if rows.size else np.zeros(0)


class _Grid:
    """Cells of a map that hold items, and how well names fit them."""

    def __init__(self, places: Array, across: int) -> None:
        self._places = places
        low, side = places.min(axis=0), max(float(np.ptp(places, axis=0).max()), 1e-9)
        self._low, self._width = low, side / across
        at = np.minimum((places - low) / self._width, across - 1).astype(np.int64)
        # Two more on each side, so that windows do not wrap around.
        self._stride = across + 4
        numbers, own = np.unique((at[:, 0] + 2) * self._stride + at[:, 1] + 2, return_inverse=True)
        self._numbers, self._own = numbers, own.reshape(-1)
        self.size = len(numbers)
        members = (np.ones(len(places), dtype=np.float32), (self._own, np.arange(len(places))))
        self._members = sparse.csr_array(members, shape=(self.size, len(places)))
        self._around = self._near(_WINDOW)
        self._counted: dict[str, sparse.csr_array] = {}
        self.totals = self._around @ np.bincount(self._own).astype(np.float64)

    def _near(self, weights: Array) -> sparse.csr_array:
        """Return the weights of cells around each cell, by their distance in both directions."""
        half = len(weights) // 2
        rows, columns, values = [], [], []
        for across in range(-half, half + 1):
            for along in range(-half, half + 1):
                other = self._numbers + across * self._stride + along
                found = np.minimum(np.searchsorted(self._numbers, other), self.size - 1)
                there = np.flatnonzero(self._numbers[found] == other)
                rows.append(there)
                columns.append(found[there])
                weight = weights[across + half] * weights[along + half]
                values.append(np.full(there.size, weight, dtype=np.float32))
        parts = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.csr_array(parts, shape=(self.size, self.size))

    def counts(self, names: _Names) -> sparse.csr_array:
        """Return the number of items around each cell that have each name."""
        if names.kind not in self._counted:
            self._counted[names.kind] = (self._around @ (self._members @ names.table)).tocsr()
        return self._counted[names.kind]

    def scores(self, names: _Names, larger: _Grid | None) -> sparse.coo_array:
        """Return how well each name fits a cell, without those that do not."""
        counts = self.counts(names).tocoo()
        cell, name = counts.coords
        total = self.totals[cell]
        p = counts.data / total
        least = _LEAST_SHARE if names.kind == "label" else _LEAST_WORD_SHARE
        fits = (p >= least) & (counts.data >= _LEAST_ITEMS / 2)
        cell, name, p, total = (part[fits] for part in (cell, name, p, total))
        q = names.sizes[name] / len(self._places)
        if larger is not None:
            # The cell of the coarser grid that contains this one.
            member = np.empty(self.size, dtype=np.intp)
            member[self._own] = larger._own
            there = _entries(larger.counts(names), member[cell], name)
            q = np.maximum(q, there / larger.totals[member[cell]])
        q = np.minimum(q, 1 - 1e-9)
        odds = p * (1 - q) / np.maximum((1 - p) * q, 1e-9)
        fits = odds >= _LEAST_ODDS
        cell, name, p, q, total = (part[fits] for part in (cell, name, p, q, total))
        least = _LEAST_EVIDENCE if names.kind == "label" and larger is None else _LESS_EVIDENCE
        least = min(least, len(self._places) / 4)
        rest = (1 - p) * np.log(np.maximum(1 - p, 1e-12) / (1 - q))
        clear = total * (p * np.log(p / q) + rest) >= least
        score = p**_PURITY_POWER * np.log(np.minimum(p / q, _FULL_LIFT))
        parts = (score[clear], (cell[clear], name[clear]))
        return sparse.coo_array(parts, shape=counts.shape)

    def regions(
        self, names: _Names, scores: sparse.coo_array, level: int, named: Array
    ) -> list[Region]:
        """Return the regions of the best names, the largest first; mark their cells as named."""
        cell, name = scores.coords
        order = np.lexsort((name, -scores.data, cell))
        first = np.unique(cell[order], return_index=True)[1]
        cell, name = cell[order][first], name[order][first]
        free = ~named[cell]
        best = np.full(self.size, -1)
        best[cell[free]] = name[free]
        near = self._near(np.ones(3)).tocoo()
        rows, columns = near.coords
        same = (best[rows] == best[columns]) & (best[rows] >= 0)
        links = sparse.coo_array((near.data[same], (rows[same], columns[same])), shape=near.shape)
        _, part = connected_components(links, directed=False)
        # The items of each part that have its name.
        pairs = names.table.tocoo()
        items, numbers = pairs.coords
        carried = best[self._own[items]] == numbers
        items = items[carried]
        parts = part[self._own[items]]
        order = np.lexsort((items, parts))
        items, parts = items[order], parts[order]
        starts = np.flatnonzero(np.diff(parts, prepend=-1))
        found: list[Region] = []
        # On the whole map, a label or the word that a place was found by is used once.
        used = set[str]()
        for rows in sorted(np.split(items, starts[1:]), key=len, reverse=True):
            if rows.size < _LEAST_ITEMS:
                break
            of, name_of = part[self._own[rows[0]]], names.names[best[self._own[rows[0]]]]
            named[part == of] = True
            if name_of in used and not level:
                continue
            used.add(name_of)
            x, y = self._middle(rows, part)
            if names.kind == "word":
                name_of = self._more_words(names, name_of, part[self._own] == of)
            found.append(Region(name_of, x, y, int(rows.size), level, names.kind))
        found.sort(key=lambda one: (-one.count, one.name, one.x, one.y))
        return found

    def _more_words(self, names: _Names, first: str, inside: Array) -> str:
        """Return a word with the others that tell most about the items of a place."""
        table = names.table[np.flatnonzero(inside)]
        counts = np.bincount(table.indices, minlength=len(names.names))
        p = counts / max(1, table.shape[0])
        lift = p * len(self._places) / names.sizes
        worth = p**_PURITY_POWER * np.log(np.clip(lift, 1.0, _FULL_LIFT))
        worth[(lift < _LEAST_LIFT) | (counts < _LEAST_ITEMS / 2)] = 0.0
        found = [first]
        for number in np.argsort(-worth, kind="stable")[: 4 * _WORDS_OF_NAME]:
            word = names.names[number]
            # Forms of one word say nothing more.
            new = not any(word[:4] == other[:4] for other in found)
            fits = len(_BETWEEN.join([*found, word])) <= _LONGEST_NAME
            if worth[number] > 0 and new and fits and len(found) < _WORDS_OF_NAME:
                found.append(word)
        # What is most particular to the place first.
        order = {name: float(one) for name, one in zip(names.names, lift, strict=True)}
        return _BETWEEN.join(sorted(found, key=lambda word: (-order[word], word)))

    def _middle(self, rows: Array, part: Array) -> tuple[float, float]:
        """Return the median of some items, or an item if the median is outside their region."""
        places = self._places[rows]
        middle = np.median(places, axis=0)
        at = np.floor((middle - self._low) / self._width).astype(np.int64) + 2
        number = np.searchsorted(self._numbers, at[0] * self._stride + at[1])
        inside = number < self.size and part[number] == part[self._own[rows[0]]]
        if not inside:
            # The item of the fullest cell that is nearest to the median.
            full = self.totals[self._own[rows]]
            near = places[full >= np.quantile(full, 0.9)]
            middle = near[np.square(near - middle).sum(axis=1).argmin()]
        return float(middle[0]), float(middle[1])

    def most_typical(self, names: _Names, scores: sparse.coo_array, chosen: Sequence[str]) -> Array:
        """Return the index of each item's name with the best score in its cell."""
        numbers = np.full(len(names.names) + 1, -1)
        position = {name: n for n, name in enumerate(names.names)}
        for n, name in enumerate(chosen):
            numbers[position[name]] = n
        items, own = names.table.tocoo().coords
        table = scores.tocsr()
        found = np.full(len(self._places), -1, dtype=np.intp)
        worth = _entries(table, self._own[items], own)
        kept = numbers[own] >= 0
        items, own, worth = items[kept], own[kept], worth[kept]
        # The last one written is the best; among names without a score here, that of the largest
        # region.
        order = np.lexsort((-numbers[own], worth))
        found[items[order]] = numbers[own[order]]
        return found
