"""Items of an index: database, vectors, labels and words, by permanent row numbers.

A change is written to the database first, in one transaction, and then to memory. Search takes
three steps: mask the rows that a filter allows (:mod:`.filters`), rank them
(:mod:`.searching`), and fetch the items that are shown.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidFile, InvalidInput, Mismatch
from ..text import WordSearch, WordSegment
from .database import ItemDatabase, ItemRecord
from .inputs import did_you_mean
from .item_labels import Labels, LabelTable
from .label_places import LabelDirections, LabelPlaces
from .metadata_fields import MetadataField, read_fields
from .results import Item
from .vectors import UnitVectors

__all__ = ["ItemStore"]

# Rows that are added up, and items that are read, at once.
_ROWS, _FETCHED = 1 << 14, 1000
# Stands for an item that was added after the fit and removed since.
_NOTHING = ItemRecord("", "", {})


class ItemStore:
    """Items in a database, with their unit vectors, labels and words in memory.

    Parameters
    ----------
    database : ItemDatabase
    vectors : array of shape (n, m)
        Unit vectors of the first n rows; those of rows that were added later are in the database.
    words : WordSearch or None
        Words of the first n rows; None if the index takes vectors.
    """

    def __init__(self, database: ItemDatabase, vectors: Array, words: WordSearch | None) -> None:
        self._database = database
        self._lock = threading.RLock()
        self.words = words
        with database.snapshot():
            self.revision = database.revision
            self.labels = database.label_table()
            self.vectors = UnitVectors(vectors)
            self._read_added(len(self.labels))
        self._settle()

    def _read_added(self, size: int) -> None:
        """Read the vectors and words of rows that were added after the fit, and removed rows."""
        base = self.vectors.base
        fits = base.ndim == 2 and base.dtype == np.float32 and len(base) <= size
        if not fits or (self.words is not None and len(self.words) != len(base)):
            raise InvalidFile("The vectors and words do not fit the items; the index is damaged.")
        for added in self._database.segments(len(base), "vectors"):
            if added.dtype != np.float32 or added.shape[1:] != base.shape[1:]:
                raise InvalidFile("Added vectors do not fit the others; the index is damaged.")
            self.vectors.append(added)
        removed = self._database.removed()
        if removed.size and not 0 <= removed.min() <= removed.max() < size:
            raise InvalidFile("Removed rows do not fit the items; the index is damaged.")
        self.vectors.drop(removed)
        if self.words is not None and len(base) < size:
            # A removed row has no text any more.
            late = dict(self._database.scan(len(base)))
            every = [late.get(row, _NOTHING) for row in range(len(base), size)]
            self._add_words([one.id for one in every], [one.text for one in every])
        if self.words is not None:
            self.words.remove(removed.tolist())
            self.words.set_labels(self.labels.names, self.labels.matrix())

    def _add_words(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        if self.words is not None and len(texts):
            block = self.words.vocabulary.number(texts)
            self.words.append(WordSegment.build(block, ids, texts))

    def _settle(self) -> None:
        """Drop what was computed from items or labels that have changed."""
        self._moments: tuple[Array, Array] | None = None
        self._spread: tuple[Array, Array] | None = None
        self._centres: tuple[list[str], Array] | None = None
        self._fields: dict[str, MetadataField] | None = None
        # Ranks of all rows by title and by id, if a list was sorted so.
        self.ranks: dict[str, Array] = {}
        self._places: LabelPlaces | None = None

    def write_to(self, path: Path, key: str, decisions: Sequence[tuple[Any, ...]] = ()) -> Array:
        """Write the items, and more decisions, to a new file; return the vectors of all rows."""
        with self._lock:
            if self.changed():
                raise Mismatch(
                    "save: a writer has changed the index since it was loaded; call refresh first."
                )
            self._database.write_file(path, key, decisions)
            return self.vectors.rows(np.arange(self.vectors.alive.size))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def changed(self) -> bool:
        """Tell whether a writer has changed the items since they were read."""
        return self._database.revision != self.revision

    def verify(self) -> None:
        """Check every record of the database."""
        with self._lock:
            self._database.verify()

    def __len__(self) -> int:
        return int(np.count_nonzero(self.vectors.alive))

    # --- changing ---------------------------------------------------------------------

    def add(self, items: Sequence[Item], vectors: Array, *, replace: bool) -> None:
        """Add items; ``replace`` allows them to replace items with the same ids."""
        with self._lock:
            there = [item.id for item in items if self.find(item.id) is not None]
            if there and not replace:
                raise InvalidInput(
                    f"add: the id {there[0]!r} is already in the index; choose another, or give "
                    "replace=True."
                )
            gone = [self.row(name) for name in there]
            with self._database.change() as cursor:
                self._database.remove(cursor, gone)
                records = [ItemRecord(item.id, item.text, item.metadata) for item in items]
                first = self._database.insert(cursor, records)
                self._database.insert_rows(cursor, first, vectors)
                lists: dict[int, Labels] = dict.fromkeys(gone)
                lists |= {first + n: item.labels for n, item in enumerate(items)}
                labels = self.labels.changed(lists)
                self._database.put_labels(cursor, labels, lists)
            self.vectors.append(vectors)
            self._add_words([item.id for item in items], [item.text for item in items])
            self._drop(gone)
            self._take(labels)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove items; all ids must exist."""
        with self._lock:
            gone = sorted({self.row(name) for name in ids})
            labels = self.labels.changed(dict.fromkeys(gone))
            with self._database.change() as cursor:
                self._database.remove(cursor, gone)
                self._database.put_labels(cursor, labels, gone)
            self._drop(gone)
            self._take(labels)

    def relabel(
        self, lists: Mapping[int, Labels], decisions: Sequence[tuple[Any, ...]] = ()
    ) -> None:
        """Change the labels of some rows, and keep decisions, in one transaction."""
        with self._lock:
            labels = self.labels.changed(lists)
            with self._database.change() as cursor:
                if lists:
                    self._database.put_labels(cursor, labels, lists)
                self._database.put_decisions(cursor, decisions)
            self._take(labels)

    def decisions(self) -> list[tuple[Any, ...]]:
        """Read all decisions, as they were given to :meth:`relabel`."""
        with self._lock:
            return self._database.decisions()

    def _drop(self, rows: Sequence[int]) -> None:
        gone = np.array(rows, dtype=np.intp)
        self.vectors.drop(gone)
        if self.words is not None:
            self.words.remove(rows)

    def _take(self, labels: LabelTable) -> None:
        self.labels = labels
        if self.words is not None:
            self.words.set_labels(labels.names, labels.matrix())
        self.revision = self._database.revision
        self._settle()

    def fresh_ids(self, count: int) -> list[str]:
        """Make ids for items without: unused numbers."""
        with self._lock:
            number = self.vectors.alive.size
            found: list[str] = []
            while len(found) < count:
                if self._database.row_of(str(number)) is None:
                    found.append(str(number))
                number += 1
            return found

    def named(self, text: str) -> Array:
        """Return the rows of the items whose title is a text, or whose id apart from case."""
        return np.zeros(0, dtype=np.intp) if self.words is None else self.words.named(text)

    # --- rows -------------------------------------------------------------------------

    def find(self, name: Any) -> int | None:
        """Return the row of an item by its id; None if there is none."""
        if not _is_id(name):
            return None
        with self._lock:
            row = self._database.row_of(name)
        # An item that a writer has added since is not known yet.
        known = row is not None and 0 <= row < self.vectors.alive.size
        return row if known and self.vectors.alive[row] else None

    def row(self, name: Any) -> int:
        """Return the row of an item by its id; raise an error if there is none."""
        found = self.find(name)
        if found is None:
            if self.changed():
                raise InvalidInput(
                    f"There is no item {name!r} in the index, which a writer has changed since it "
                    "was read; refresh it."
                )
            similar = did_you_mean(name, self.ids())
            raise InvalidInput(f"There is no item {name!r} in the index{similar}")
        return found

    def rows(self, names: Iterable[str]) -> Array:
        """Return the rows of items by their ids."""
        return np.array([self.row(name) for name in names], dtype=np.intp)

    def ids(self) -> list[str]:
        """Return the ids of all items, in the order of their rows."""
        return list(self.ids_by_row().values())

    def ids_by_row(self) -> dict[int, str]:
        """Return the id of the item in each row."""
        alive = self.vectors.alive
        with self._lock:
            every = list(self._database.ids())
        return {row: name for row, name in every if 0 <= row < alive.size and alive[row]}

    # --- reading ----------------------------------------------------------------------

    def fetch(self, rows: Iterable[int]) -> dict[int, Item]:
        """Read the items in some rows, without those that a writer has removed since."""
        with self._lock:
            labels = self.labels
            found = self._database.fetch([int(row) for row in rows])
        return {
            row: Item(record.id, record.text, labels.labels(row), record.metadata)
            for row, record in found.items()
        }

    def items(self, rows: Iterable[int]) -> list[Item]:
        """Return the items in some rows, in this order."""
        given = [int(row) for row in rows]
        found = self.fetch(given)
        return [found[row] for row in given if row in found]

    def item(self, name: str) -> Item:
        """Return an item by its id."""
        found = self.items([self.row(name)])
        if not found:
            raise InvalidInput(f"The item {name!r} was removed by a writer; refresh the index.")
        return found[0]

    def scan(self) -> Iterator[tuple[int, Item]]:
        """Yield row and item of all items, in order."""
        alive = np.flatnonzero(self.vectors.alive)
        for start in range(0, len(alive), _FETCHED):
            yield from sorted(self.fetch(alive[start : start + _FETCHED].tolist()).items())

    def fields(self) -> dict[str, MetadataField]:
        """Return the metadata by fields."""
        with self._lock:
            if self._fields is None:
                self._fields = read_fields(self._database.metadata(), self.vectors.alive)
            return self._fields

    # --- statistics of the vectors ----------------------------------------------------

    def moments(self) -> tuple[Array, Array]:
        """Compute the mean of all vectors and the mean of their outer products."""
        with self._lock:
            if self._moments is None:
                rows = self.vectors.rows(np.flatnonzero(self.vectors.alive)).astype(np.float64)
                count = max(1, len(rows))
                self._moments = rows.sum(axis=0) / count, rows.T @ rows / count
            return self._moments

    def spread(self) -> tuple[Array, Array]:
        """Estimate the mean of the vectors and of their outer products on a sample."""
        with self._lock:
            if self._spread is None:
                self._spread = self.vectors.moments()
            return self._spread

    def centred_labels(self) -> tuple[list[str], Array]:
        """Compute for each label the mean vector of its items minus the mean of all items."""
        with self._lock:
            if self._centres is None:
                labels, mean = self.labels, self.moments()[0]
                sums = np.zeros((len(labels.names), mean.size))
                matrix = labels.matrix(kind=np.float64)
                for start in range(0, len(labels), _ROWS):
                    rows = np.arange(start, min(start + _ROWS, len(labels)))
                    sums += matrix[rows].T @ self.vectors.rows(rows).astype(np.float64)
                names = list(labels.totals)
                own = [labels.number[name] for name in names]
                self._centres = names, sums[own] / labels.support[own][:, None] - mean
            return self._centres

    def label_places(self, found: LabelDirections) -> LabelPlaces:
        """Place the items by their labels as well as by their vectors."""
        with self._lock:
            if self._places is None:
                self._places = LabelPlaces(self.vectors, self.labels, found)
            return self._places


def _is_id(name: Any) -> bool:
    """Tell whether a value may be an id: a string that can be written in UTF-8."""
    try:
        return isinstance(name, str) and name.encode() is not None
    except UnicodeEncodeError:
        return False
