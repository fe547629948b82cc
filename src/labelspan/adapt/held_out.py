"""Comparison of maps on held-out rows and held-out labels.

Rows are split into a part that maps are fitted on and queries. Each query finds its nearest rows
(by cosine) among a sample of the fitted part, and nDCG at 10 says whether they share its labels.
For *new* labels the map is fitted again without a third of the labels, which then judge it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .._typing import Array
from ..graph.neighbors import nearest_neighbors
from ..metrics.retrieval import LabelGains
from .nested_map import AxisMap, LabelSpectrum

__all__ = ["HeldOutRows", "Scores", "label_groups", "nearest", "size_grid"]

DEPTH = 10
# Principal axes that are compared in, and that balances are chosen in; the final map uses all.
_AXES, _NARROW = 512, 160
_GROUPS = 3

# Scores of each query by number of dimensions; NaN for queries that say nothing.
Scores = dict[int, Array]


def size_grid(rank: int, wanted: int | None = None) -> list[int]:
    """Return the numbers of dimensions to compare: powers of two, and the one that is wanted."""
    sizes = {size for size in (2**power for power in range(3, 10)) if size <= rank}
    sizes |= {min(rank, 8)}
    if wanted is not None:
        sizes.add(min(wanted, rank))
    return sorted(sizes)


def label_groups(n_labels: int, seed: int) -> list[Array]:
    """Split labels at random into groups, each held out once; none where there are too few."""
    if n_labels < _GROUPS:
        return []
    order = np.random.default_rng(seed).permutation(n_labels)
    member = np.empty(n_labels, dtype=int)
    member[order] = np.arange(n_labels) % _GROUPS
    return [member == group for group in range(_GROUPS)]


def nearest(
    queries: Array, items: Array, sizes: Sequence[int], depth: int = DEPTH
) -> Iterator[tuple[int, Array]]:
    """Yield, for each number of leading columns, the items with the largest cosines."""
    for size in sizes:
        yield size, nearest_neighbors(items[:, :size], depth, queries[:, :size], metric="cosine")[0]


def _gains(queries: Array, items: Array) -> LabelGains:
    # A fitted label counts from one half.
    left, right = ((side >= 0.5).astype(np.float32) for side in (queries, items))
    return LabelGains.of(left, right, DEPTH)


@dataclass
class HeldOutRows:
    """Queries and items of one split, in the coordinates of a spectrum of the fitted part.

    Parameters
    ----------
    spectrum : LabelSpectrum
        Of the fitted part.
    queries, items : arrays of shape (q, d) and (n, d)
    query_labels, item_labels : arrays of shape (q, k) and (n, k)
    groups : list of arrays of bool of shape (k,)
        Groups of labels that are held out in turn.
    """

    spectrum: LabelSpectrum
    queries: Array
    items: Array
    query_labels: Array
    item_labels: Array
    groups: list[Array]
    _maps: dict[tuple[float, int, int], AxisMap] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.spectrum = self.spectrum.leading(_AXES)
        self._queries = self.spectrum.coordinates(self.queries.astype(np.float32, copy=False))
        self._items = self.spectrum.coordinates(self.items.astype(np.float32, copy=False))
        self._gains = _gains(self.query_labels, self.item_labels)
        self._group_gains = [
            _gains(self.query_labels[:, group], self.item_labels[:, group]) for group in self.groups
        ]
        self._centred = self.item_labels - self.spectrum.label_mean.astype(np.float32)

    @property
    def rank(self) -> int:
        """The largest number of dimensions that can be compared."""
        return int(self.spectrum.squares.size)

    def untouched(self) -> tuple[Array, Array]:
        """Return scores of the original vectors, for all labels and for held-out ones."""
        width = self.queries.shape[1]
        queries, items = (side.astype(np.float32) for side in (self.queries, self.items))
        ((_, found),) = nearest(queries, items, [width])
        return self._gains.ndcg(found), self._mean_of_groups(found)

    def pca(self, sizes: Sequence[int]) -> tuple[Scores, Scores]:
        """Return scores of the leading principal axes, for all labels and for held-out ones."""
        seen, new = {}, {}
        for size, found in nearest(self._queries, self._items, sizes):
            seen[size], new[size] = self._gains.ndcg(found), self._mean_of_groups(found)
        return seen, new

    def adapted(
        self, balance: float, sizes: Sequence[int], *, known: bool = False, narrow: bool = False
    ) -> tuple[Scores, Scores]:
        """Return scores of a map, for labels that it was fitted with and for held-out ones.

        ``known`` places items by their labels as well as by their vectors. ``narrow`` leaves out
        the last principal axes, which saves most of the time.
        """
        axes = self.rank if not narrow else min(self.rank, max(_NARROW, 2 * sizes[-1]))
        seen = {
            size: self._gains.ndcg(found)
            for size, found in self._found(balance, -1, sizes, axes, known=known)
        }
        parts: dict[int, list[Array]] = {size: [] for size in sizes}
        for number, gains in enumerate(self._group_gains):
            for size, found in self._found(balance, number, sizes, axes, known=known):
                parts[size].append(gains.ndcg(found))
        return seen, {size: self._mean(part) for size, part in parts.items()}

    def _found(
        self, balance: float, group: int, sizes: Sequence[int], axes: int, *, known: bool
    ) -> Iterator[tuple[int, Array]]:
        found = self._map(balance, group, axes)
        widest = sizes[-1]
        weights = found.weights[:, :widest]
        queries, items = (side[:, :axes] @ weights for side in (self._queries, self._items))
        if known:
            items += self._centred @ found.directions[:, :widest]
        return nearest(queries, items, sizes)

    def _map(self, balance: float, group: int, axes: int) -> AxisMap:
        """Return the map without a group of labels (-1: with all of them), kept for later."""
        key = balance, group, axes
        if key not in self._maps:
            columns = None if group < 0 else ~self.groups[group]
            self._maps[key] = self.spectrum.leading(axes).solve(
                balance, columns=columns, dtype=np.float32
            )
        return self._maps[key]

    def _mean_of_groups(self, found: Array) -> Array:
        return self._mean([gains.ndcg(found) for gains in self._group_gains])

    def _mean(self, parts: list[Array]) -> Array:
        """Return means over the groups that say something about a query; NaN if none does."""
        if not parts:
            return np.full(self.queries.shape[0], np.nan)
        table = np.stack(parts)
        known = ~np.isnan(table)
        total = np.where(known, table, 0.0).sum(axis=0)
        counts = known.sum(axis=0)
        return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
