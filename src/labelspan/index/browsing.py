"""Lists of items that match a text and a filter, and counts over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput, NotFound
from .label_table import LabelTable
from .label_tree import LabelNode, label_separator, label_tree
from .metadata_fields import FieldKind
from .model import IndexModel
from .results import Hit
from .searching import Filter, Query, Ranking, mask_rows, match_all
from .store import ItemStore

__all__ = [
    "Facet",
    "ItemList",
    "browse",
]

# Items that are only close in meaning, after those that match.
_CLOSE = 50


@dataclass(frozen=True)
class Facet:
    """Values of a key of the metadata among the items of a list.

    ``counts`` has the most frequent values as texts with their numbers of items, ``more`` the
    number of further values, and ``bins`` a histogram of numbers or dates: lowest and highest
    value of each bin, and its number of items.
    """

    field: str
    kind: FieldKind
    counts: tuple[tuple[str, int], ...]
    more: int
    bins: tuple[tuple[Any, Any, int], ...]


class ItemList:
    """Items that match, in order, with pages of them and counts over all of them.

    Items that are only close in meaning form a separate list, ``close``: they are in no page and no
    count of this one.

    Parameters
    ----------
    store : ItemStore
        The items of the index.
    found : Ranking
        Items that match.
    scored : bool
        Whether there was something to compare the items with.
    close : ItemList or None, default=None
        Items that are only close in meaning, which are looked for if few items match; None in the
        list of these.
    unknown : sequence of str
        Words of the text that no item has.

    Attributes
    ----------
    total : int
        Number of items that match.

    See Also
    --------
    labelspan.SemanticIndex.browse : Returns it.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
    >>> labels = [["game"], ["game", "net"], ["image"], ["image"]]
    >>> index = SemanticIndex().fit(texts, labels, metadata=[{"year": 2000 + n} for n in range(4)])
    >>> found = index.browse(filter={"metadata": {"year": {"to": 2002}}}, sort="-meta.year")
    >>> found.total, [hit.id for hit in found.page()]
    (3, ['2', '1', '0'])
    >>> found.label_counts()
    {'game': 2, 'image': 1, 'net': 1}
    >>> found.facets()[0].bins
    ((2000, 2000, 1), (2001, 2001, 1), (2002, 2002, 1), (2003, 2003, 0))
    """

    def __init__(
        self,
        store: ItemStore,
        found: Ranking,
        *,
        scored: bool,
        close: ItemList | None = None,
        unknown: Sequence[str] = (),
    ) -> None:
        self._store, self._found, self.close = store, found, close
        self.total, self.scored, self.unknown = len(found.rows), scored, unknown

    def __len__(self) -> int:
        return self.total

    @property
    def positions(self) -> Array:
        """Positions of the items that match among all items, in the order of the list."""
        return np.searchsorted(np.flatnonzero(self._store.vectors.alive), self._found.rows)

    def page(self, number: int = 1, size: int = 50) -> list[Hit]:
        """Return a page of the items, numbered from 1; an empty list beyond the last."""
        if number < 1 or size < 1:
            raise InvalidInput(
                f"page: number and size must be 1 or more, but {number!r} and {size!r} were given."
            )
        part = self._found.take(np.arange(self.total)[(number - 1) * size : number * size])
        return part.hits(self._store.fetch(part.rows.tolist()))

    @property
    def ids(self) -> list[str]:
        """Ids of all items of the list, in its order."""
        names = self._store.ids_by_row()
        return [names[row] for row in self._found.rows.tolist()]

    def blocks(self, size: int = 500) -> Iterator[list[Hit]]:
        """Yield all items, some hundreds at once."""
        for number in range(1, -(-len(self) // size) + 1):
            yield self.page(number, size)

    def label_counts(self) -> dict[str, int]:
        """Count the items with each label, most frequent first."""
        found = self._store.once("labels of items", lambda: _Sets.of_labels(self._store.labels))
        return found.counts(self._found.rows)

    def label_tree(self) -> list[LabelNode]:
        """Return the labels of these items in the tree of the vocabulary; empty without one."""
        vocabulary = self._store.vocabulary
        if vocabulary is None:
            return []
        return label_tree(self._store.labels, vocabulary, self._found.rows)

    def group_counts(self) -> dict[str, int]:
        """Count the items with a label in each group: beginnings of labels before a separator."""
        found = self._store.once("groups of items", lambda: _Sets.of_groups(self._store.labels))
        return found.counts(self._found.rows)

    def facets(self, most: int = 50) -> list[Facet]:
        """Count the values of the metadata, at most ``most`` of each key.

        Keys whose values hardly repeat, and are neither numbers nor dates, are left out.
        """
        found = []
        for name, field in self._store.fields().items():
            if field.kind == "text":
                continue
            counts = field.counts(self._found.rows)
            shown = field.most_common(counts)
            more = max(0, len(shown) - most)
            best = tuple(shown[:most])
            found.append(Facet(name, field.kind, best, more, field.bins(counts)))
        return found


def browse(  # noqa: PLR0917
    model: IndexModel,
    store: ItemStore,
    query: Any,
    filter: Filter | Mapping[str, Any] | None,
    balance: float,
    sort: str,
    within: Any,
) -> ItemList:
    """List the items that match a text and a filter."""
    wanted = Filter.of(filter)
    mask = mask_rows(store, wanted)
    if within is not None:
        marks = np.asarray(within)
        if marks.dtype != bool or marks.shape != (len(store),):
            raise InvalidInput(
                f"browse: within must have True or False for each of {len(store)} items, but its "
                f"shape is {marks.shape}."
            )
        mask = mask.copy()
        mask[np.flatnonzero(store.vectors.alive)[~marks]] = False
    scored, close = True, Ranking.by_space(np.zeros(0, dtype=np.intp), np.zeros(0))
    unknown: Sequence[str] = ()
    asked = query is not None and not (isinstance(query, str) and not query.strip())
    if asked:
        given = Query(model, store, query)
        found, close, unknown = match_all(given, mask=mask, balance=balance, close=_CLOSE)
    else:
        rows = np.flatnonzero(mask)
        names = [name for name in wanted.labels if name in store.labels.totals]
        scored = bool(names)
        scores = np.zeros(len(rows))
        if scored:
            # The most typical items of the labels come first.
            vectors, _ = Query(model, store, labels=names).vectors()
            scores = np.minimum(store.vectors.cosines(vectors[0], rows), 1.0)
        found = Ranking.by_space(rows, scores).take(np.argsort(-scores, kind="stable"))
    name, back = sort.removeprefix("-"), sort.startswith("-")
    if name in ("", "score"):
        found = found.take(np.arange(len(found.rows))[:: -1 if back and scored else 1])
        close = close.take(np.arange(len(close.rows))[:: -1 if back else 1])
    else:
        found, close = (_sorted(store, one, name, back) for one in (found, close))
    group = ItemList(store, close, scored=scored)
    return ItemList(store, found, scored=scored, close=group, unknown=unknown)


def _sorted(store: ItemStore, ranking: Ranking, name: str, back: bool) -> Ranking:
    ranks = _ranks(store, name)[ranking.rows]
    return ranking.take(np.lexsort((ranking.rows, -ranks if back else ranks, ranks < 0)))


def _ranks(store: ItemStore, name: str) -> Array:
    """Return the rank of each row by a name; -1 if an item has no such value."""
    if name == "labels":
        return np.maximum(store.labels.counts, 0)
    fields = store.fields()
    if name.startswith("meta.") and name.removeprefix("meta.") in fields:
        return fields[name.removeprefix("meta.")].codes
    if name not in ("id", "title"):
        names = ", ".join(["score", "title", "id", "labels", *(f"meta.{key}" for key in fields)])
        raise NotFound(f"sort: items cannot be sorted by {name!r}; choose one of {names}.")
    return store.once(f"rank by {name}", lambda: _rank_by(store, name))


def _rank_by(store: ItemStore, name: str) -> Array:
    if name == "id":
        keys = store.ids_by_row()
    else:
        keys = {row: item.title.casefold() for row, item in store.scan()}
    ranks = np.full(store.vectors.alive.size, -1, dtype=np.int32)
    ranks[sorted(keys, key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


class _Sets:
    """Names in their order, and a matrix that marks the rows of each."""

    def __init__(self, names: Sequence[str], marks: Any) -> None:
        order = sorted(range(len(names)), key=names.__getitem__)
        self._names = [names[n] for n in order]
        self._marks = sparse.csr_matrix(marks)[order]

    @classmethod
    def of_labels(cls, table: LabelTable) -> _Sets:
        return cls(table.names, table.matrix().T)

    @classmethod
    def of_groups(cls, table: LabelTable) -> _Sets:
        separator = label_separator(list(table.totals))
        groups: dict[str, int] = {}
        pairs = []
        for column, label in enumerate(table.names if separator else ()):
            parts = [label] if "://" in label else label.split(separator)
            for end in range(1, len(parts)):
                group = separator.join(parts[:end])
                if group:
                    pairs.append((groups.setdefault(group, len(groups)), column))
        numbers, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        shape = (len(groups), len(table.names))
        inside = sparse.csr_matrix((np.ones(len(pairs), np.float32), (numbers, columns)), shape)
        return cls(list(groups), (inside @ table.matrix().T).sign())

    def counts(self, rows: Array) -> dict[str, int]:
        """Count some rows in each set, the largest first."""
        given = np.zeros(self._marks.shape[1], dtype=np.float32)
        given[rows] = 1.0
        counts = (self._marks @ given).astype(np.int64)
        best = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        return {
            self._names[n]: count
            for n, count in zip(best.tolist(), counts[best].tolist(), strict=True)
        }
