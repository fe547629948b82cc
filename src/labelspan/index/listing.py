"""Lists of items: a selection by text, labels and metadata, its order, and counts over it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from .browsing import label_separator
from .inputs import label_name
from .metadata_fields import metadata_text
from .results import Item
from .searching import BALANCE, match_all, query_vectors

if TYPE_CHECKING:
    from .semantic import SemanticIndex
    from .store import ItemStore

__all__ = ["ItemListing", "Postings", "Selected", "Selection", "label_separator", "metadata_text"]

_MOST_KEPT = 16
_ITEMS_AT_ONCE = 500


@dataclass(frozen=True)
class Selection:
    """A condition on items.

    An item must match ``text``, have all of ``labels``, a label in each of ``groups`` and all of
    ``metadata`` (as ``key=value``), and none of what is in the fields with ``without``.
    """

    text: str = ""
    balance: float = BALANCE
    labels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    without_groups: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    without_metadata: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selected:
    """Places of items in order of the index, and scores, if there is something to compare with."""

    places: Array
    scores: Array | None

    def mask(self, size: int) -> Array:
        """Mark the places."""
        marks = np.zeros(size, dtype=bool)
        marks[self.places] = True
        return marks


class Postings:
    """The places of each of some names, in one array, so that counting a selection is fast."""

    def __init__(self, places: Mapping[str, Sequence[int]]) -> None:
        self.names = sorted(name for name, own in places.items() if len(own))
        self._numbers = {name: n for n, name in enumerate(self.names)}
        sizes = [len(places[name]) for name in self.names]
        self._ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self._places = np.fromiter(
            (place for name in self.names for place in places[name]), np.int32, sum(sizes)
        )

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def places(self, name: str) -> Array:
        """Return the places of a name."""
        number = self._numbers[name]
        return self._places[self._ends[number] : self._ends[number + 1]]

    def counts(self, mask: Array) -> dict[str, int]:
        """Count the marked places of each name, without names that have none."""
        if not self.names:
            return {}
        found = np.add.reduceat(mask[self._places], self._ends[:-1], dtype=np.int64)
        return {self.names[n]: int(found[n]) for n in np.flatnonzero(found)}


class ItemListing:
    """All items of an index that does not change, to be selected, sorted and counted.

    Parameters
    ----------
    index : SemanticIndex
    """

    def __init__(self, index: SemanticIndex) -> None:
        self._model, self._store = index.model, index.store
        table, metadata = self._store.labels, _value_rows(self._store)
        labels = {name: table.rows(name).tolist() for name in table.totals}
        self.size = int(self._store.vectors.alive.size)
        self.alive = np.flatnonzero(self._store.vectors.alive)
        self.labels = Postings(labels)
        self.separator = label_separator(self.labels.names)
        self.groups = Postings(_groups(labels, self.separator))
        self.values = {
            key: Postings(_texts(values)) for key, values in sorted(metadata.items()) if values
        }
        self._metadata = metadata
        self._lock = threading.Lock()
        self._selected: OrderedDict[Selection, Selected] = OrderedDict()
        self._ranks: dict[str, Array] = {}

    @property
    def unlabelled(self) -> int:
        """Number of items that have no label, or whose labels are not known."""
        return int(np.count_nonzero(self._rank("labels")[self.alive] == 0))

    # --- selecting --------------------------------------------------------------------

    def select(self, wanted: Selection) -> Selected:
        """Return the items that fulfil a condition; the last few answers are kept."""
        with self._lock:
            if wanted in self._selected:
                self._selected.move_to_end(wanted)
                return self._selected[wanted]
        found = self._select(wanted)
        with self._lock:
            self._selected[wanted] = found
            if len(self._selected) > _MOST_KEPT:
                self._selected.popitem(last=False)
        return found

    def _select(self, wanted: Selection) -> Selected:
        mask = np.zeros(self.size, dtype=bool)
        mask[self.alive] = True
        for label in wanted.labels:
            mask &= self._marked(self._labelled(label))
        for label in wanted.without:
            mask[self._labelled(label)] = False
        for group in wanted.groups:
            mask &= self._marked(self._grouped(group))
        for group in wanted.without_groups:
            mask[self._grouped(group)] = False
        for pair in wanted.metadata:
            mask &= self._marked(self._described(pair))
        for pair in wanted.without_metadata:
            mask[self._described(pair)] = False
        if wanted.text.strip():
            found, _ = match_all(
                self._model, self._store, wanted.text, mask=mask, balance=wanted.balance, close=1
            )
            found = found.take(np.argsort(found.rows))
            return Selected(found.rows.astype(np.int32), found.scores)
        places = np.flatnonzero(mask).astype(np.int32)
        if not wanted.labels:
            return Selected(places, None)
        names = tuple(label_name(name) for name in wanted.labels)
        vectors, _ = query_vectors(self._model, self._store, None, (), names)
        scores = self._store.vectors.cosines(vectors[0], places)
        return Selected(places, np.minimum(scores, 1.0))

    def _labelled(self, label: str) -> Array:
        name = label_name(label)
        if name not in self.labels:
            raise self._store.labels.unknown(name)
        return self.labels.places(name)

    def _grouped(self, group: str) -> Array:
        if group not in self.groups:
            raise InvalidInput(f"No item has a label in the group {group!r}.")
        return self.groups.places(group)

    def _described(self, pair: str) -> Array:
        found = [
            own.places(value)
            for key, own in self.values.items()
            if pair.startswith(f"{key}=") and (value := pair[len(key) + 1 :]) in own
        ]
        if not found:
            raise InvalidInput(f"No item has the metadata {pair!r}.")
        return np.concatenate(found)

    def _marked(self, places: Array) -> Array:
        marks = np.zeros(self.size, dtype=bool)
        marks[places] = True
        return marks

    # --- sorting ----------------------------------------------------------------------

    def sorts(self) -> list[str]:
        """Return the names by which items can be sorted; a minus before one reverses it."""
        return ["score", "title", "id", "labels", *(f"meta.{key}" for key in self.values)]

    def ordered(self, found: Selected, sort: str = "") -> Array:
        """Return the numbers of the selected items in order, as places in ``found.places``.

        An empty name sorts by score, if there is one, and otherwise keeps the order of the index.
        """
        name, back = sort.removeprefix("-"), sort.startswith("-")
        if not name or (name == "score" and found.scores is None):
            if found.scores is None:
                return np.arange(len(found.places))
            name = "score"
        if name == "score":
            assert found.scores is not None
            return np.lexsort((found.places, found.scores if back else -found.scores))
        ranks = self._rank(name)[found.places]
        missing = ranks < 0
        return np.lexsort((found.places, -ranks if back else ranks, missing))

    def _rank(self, name: str) -> Array:
        """Return for each place its rank by a name; -1 where an item has no such value."""
        with self._lock:
            if name in self._ranks:
                return self._ranks[name]
        makers: dict[str, Callable[[], Array]] = {
            "id": self._rank_ids,
            "title": self._rank_titles,
            "labels": self._rank_labels,
        }
        if name in makers:
            made = makers[name]()
        elif name.startswith("meta.") and name.removeprefix("meta.") in self.values:
            made = self._rank_values(name.removeprefix("meta."))
        else:
            names = ", ".join(self.sorts())
            raise InvalidInput(f"sort: items cannot be sorted by {name!r}; choose one of {names}.")
        with self._lock:
            self._ranks[name] = made
        return made

    def _rank_ids(self) -> Array:
        found = self._store.ids_by_row()
        return self._ranked(list(found.values()), list(found))

    def _rank_titles(self) -> Array:
        titles: list[str] = []
        places: list[int] = []
        for start in range(0, len(self.alive), _ITEMS_AT_ONCE):
            part = self.alive[start : start + _ITEMS_AT_ONCE].tolist()
            # An item that a writer removes meanwhile has no title.
            for place, item in self._store.fetch(part).items():
                titles.append(item.title.casefold())
                places.append(place)
        return self._ranked(titles, places)

    def _rank_labels(self) -> Array:
        return np.bincount(
            np.concatenate([np.zeros(0, np.int32), *map(self.labels.places, self.labels.names)]),
            minlength=self.size,
        )

    def _rank_values(self, key: str) -> Array:
        values = self._metadata[key]
        order = sorted(values, key=_sort_key)
        ranks = np.full(self.size, -1, dtype=np.int32)
        for rank, value in enumerate(order):
            ranks[values[value]] = rank
        return ranks

    def _ranked(self, keys: list[str], places: list[int]) -> Array:
        ranks = np.full(self.size, -1, dtype=np.int32)
        for rank, n in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
            ranks[places[n]] = rank
        return ranks

    # --- reading ----------------------------------------------------------------------

    def items(self, places: Array) -> list[Item]:
        """Return the items in some places, in this order."""
        return self._store.items(places.tolist())

    def parts(self, places: Array) -> Iterator[list[Item]]:
        """Yield the items in some places, a few hundred at once."""
        for start in range(0, len(places), _ITEMS_AT_ONCE):
            yield self.items(places[start : start + _ITEMS_AT_ONCE])

    def place(self, name: str) -> int:
        """Return the place of an item by its id."""
        return self._store.row(name)


def _value_rows(store: ItemStore) -> dict[str, dict[tuple[bool, Any], list[int]]]:
    return {
        name: {
            (type(value) is bool, value): np.flatnonzero(field.codes == code).tolist()
            for code, value in enumerate(field.values)
        }
        for name, field in store.fields().items()
    }


def _groups(labels: Mapping[str, Sequence[int]], separator: str) -> dict[str, list[int]]:
    """Return the places of all beginnings of labels that end before a separator."""
    if not separator:
        return {}
    found: dict[str, set[int]] = {}
    for label, places in labels.items():
        parts = label.split(separator)
        for end in range(1, len(parts)):
            group = separator.join(parts[:end])
            if group:
                found.setdefault(group, set()).update(places)
    return {group: sorted(places) for group, places in found.items()}


def _texts(values: Mapping[tuple[bool, Any], Sequence[int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for (_, value), places in values.items():
        found.setdefault(metadata_text(value), []).extend(places)
    return found


def _sort_key(typed: tuple[bool, Any]) -> tuple[int, Any]:
    """Sort numbers before texts, and those before nothing."""
    value = typed[1]
    if value is None:
        return 2, 0
    if isinstance(value, str):
        return 1, value.casefold()
    return 0, value
