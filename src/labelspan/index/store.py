"""Items of an index by permanent row numbers: database, labels, vectors and words.

A change reads what it changes under the lock of the store, is one transaction of the database,
and returns a new store: threads that read the old one are not disturbed. Search takes three steps:
mask the rows that a filter allows, rank them (:mod:`.searching`), and fetch the items that are
shown.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from .._arrays import Rows
from .._files import file_size
from .._typing import Array
from ..corpus import LabelVocabulary
from ..errors import InvalidFile, InvalidInput, Mismatch
from ..text import WordSearch, WordSegment
from .database import REVISION, VOCABULARY, ItemDatabase
from .folder import ITEMS, Files, field
from .inputs import did_you_mean
from .label_table import Labels, LabelTable
from .metadata_fields import MetadataField, read_fields
from .model_block import ROWS_FILE
from .results import Item
from .vectors import LabelDirections, UnitVectors, label_places

__all__ = ["ItemStore"]

T = TypeVar("T")

_FETCHED_AT_ONCE = 500
# Rows from which added ones are many, whatever the size of the index, and share of the others.
_MANY_ADDED, _SHARE_ADDED = 100, 1 / 32
# Up to this size all items are checked whenever an index is opened.
_SMALL_DATABASE = 1 << 20


class ItemStore:
    """Items in a database, with their unit vectors, labels and words in memory, at one revision.

    ``vectors`` and ``words`` are those of the rows of the last save; ``words`` is None if the index
    takes vectors. ``folder`` is where the files are, None in memory.
    """

    def __init__(
        self,
        database: ItemDatabase,
        vectors: Array,
        words: WordSearch | None,
        folder: Path | None = None,
        block_rows: Array | None = None,
    ) -> None:
        self._database = database
        self._lock = threading.RLock()
        self.words, self.folder = words, folder
        self._computed: dict[str, Future[Any]] = {}
        with database.snapshot():
            self.revision = database.about(REVISION)
            self.labels = database.label_table()
            self.vocabulary = database.vocabulary()
            removed = [row for (row,) in database.select("SELECT row FROM removed")]
            first, size = len(vectors), len(self.labels)
            fits = vectors.ndim == 2 and vectors.dtype == np.float32 and first <= size
            # A removed row has no labels, so that labels are counted over items.
            fits = fits and min(removed, default=0) >= 0 and not self.labels.known[removed].any()
            if not fits or (words is not None and len(words) != first):
                raise InvalidFile("Vectors or words do not fit the items; the index is damaged.")
            self.vectors = UnitVectors(vectors)
            width = 0 if block_rows is None else block_rows.shape[1]
            if block_rows is not None and (block_rows.ndim != 2 or len(block_rows) != first):
                raise InvalidFile("The rows of the model do not fit; the index is damaged.")
            late_rows = database.added(first, self.vectors.width + width)
            self.vectors.append(late_rows[:, : self.vectors.width])
            # Rows of the block next to the words, of length 1.
            self.block_rows = None if block_rows is None else UnitVectors(block_rows)
            if self.block_rows is not None:
                self.block_rows.append(late_rows[:, self.vectors.width :])
            if first < size:
                # A removed row has no text any more.
                late, nothing = dict(database.scan(first)), Item("", "", None, {})
                self._add_words([late.get(row, nothing) for row in range(first, size)])
        self._drop(removed)
        self._name_labels()

    @classmethod
    def read(
        cls,
        files: Files,
        content: Mapping[str, Any],
        words: WordSearch | None,
        *,
        write: bool,
        check: Callable[[], None],
    ) -> Self:
        """Open the items of a generation; ``check`` is called before each change."""
        vectors = files.open("vectors").array("vectors")
        path, key = files.folder / ITEMS, field(content, "key", str)
        database = ItemDatabase.open(path, key, write=write, check=check)
        try:
            if files.verify or file_size(path) <= _SMALL_DATABASE:
                database.verify()
            rows = files.open(ROWS_FILE).array("rows") if ROWS_FILE in files else None
            return cls(database, vectors, words, files.folder, rows)
        except BaseException:
            database.close()
            raise

    def write(
        self,
        files: Files,
        key: str,
        decisions: Sequence[tuple[Any, ...]] = (),
        events: Sequence[tuple[Any, ...]] = (),
    ) -> None:
        """Write items, vectors of all rows, more decisions and events, to a new folder."""
        with self._lock:
            if self.changed():
                raise Mismatch(
                    "save: a writer has changed the index since it was loaded; call refresh first."
                )
            self._database.write_file(files.folder / ITEMS, key, decisions, events)
            shape = (self.vectors.alive.size, self.vectors.width)
            parts = (block for _, block in self.vectors.blocks())
            files.write("vectors", {"vectors": Rows(shape, "<f4", parts)})
            if self.block_rows is not None:
                shape = (self.vectors.alive.size, self.block_rows.width)
                half = (block.astype("<f2") for _, block in self.block_rows.blocks())
                files.write(ROWS_FILE, {"rows": Rows(shape, "<f2", half)})

    def close(self) -> None:
        """Close the database, after what other threads read from it now."""
        with self._lock:
            self._database.close()

    def changed(self) -> bool:
        """Return whether a writer has changed the items since they were read."""
        with self._lock:
            return bool(self._database.about(REVISION) != self.revision)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.vectors.alive))

    @property
    def many_added(self) -> bool:
        """Whether the rows added since the last save make opening the index slower.

        Their words are numbered whenever the index is opened, and the tagger learns from them; a
        save does that once.
        """
        saved = len(self.vectors.base)
        return self.vectors.alive.size - saved >= max(_MANY_ADDED, _SHARE_ADDED * saved)

    # --- changing ---------------------------------------------------------------------

    @contextmanager
    def _change(self, *, revised: bool = True) -> Iterator[Any]:
        """Make one transaction of all changes inside, and then merge the log of the database."""
        if revised and self.changed():
            raise Mismatch("The items have changed since this store was read; use index.store.")
        with self._database.change(revised=revised) as cursor:
            yield cursor
        self._database.merge_log()

    def add(
        self,
        items: Sequence[Item],
        vectors: Array,
        block_rows: Array | None = None,
        *,
        replace: bool,
    ) -> Self:
        """Add items; ``replace`` allows them to replace items with the same ids."""
        both = vectors if block_rows is None else np.hstack([vectors, block_rows])
        with self._lock:
            with self._change() as cursor:
                there = self._known([item.id for item in items])
                if there and not replace:
                    raise InvalidInput(
                        f"add: the id {min(there)!r} is already in the index; choose another, or "
                        "give replace=True."
                    )
                gone = list(there.values())
                self._database.remove(cursor, gone)
                first = self._database.insert(cursor, items, both)
                lists: dict[int, Labels] = dict.fromkeys(gone)
                lists |= {first + n: item.labels for n, item in enumerate(items)}
                labels = self.labels.changed(lists)
                self._database.put_labels(cursor, labels, lists)
            made = self._with(labels)
            made.vectors.append(vectors)
            if made.block_rows is not None and block_rows is not None:
                made.block_rows.append(block_rows)
            made._add_words(items)
            made._drop(gone)
            made._name_labels()
            return made

    def remove(self, ids: Iterable[str]) -> Self:
        """Remove items; all ids must exist."""
        with self._lock:
            with self._change() as cursor:
                gone = sorted(set(self.rows(ids).tolist()))
                labels = self.labels.changed(dict.fromkeys(gone))
                self._database.remove(cursor, gone)
                self._database.put_labels(cursor, labels, gone)
            made = self._with(labels)
            made._drop(gone)
            made._name_labels()
            return made

    def relabel(
        self, lists: Mapping[str, Labels], decisions: Sequence[tuple[Any, ...]] = ()
    ) -> Self:
        """Change the labels of items by id, and keep decisions, in one transaction."""
        with self._lock:
            with self._change() as cursor:
                own = dict(zip(self.rows(lists).tolist(), lists.values(), strict=True))
                labels = self.labels.changed(own)
                self._database.put_labels(cursor, labels, own)
                self._database.put_decisions(cursor, decisions)
            made = self._with(labels)
            made._name_labels()
            return made

    def use_vocabulary(self, vocabulary: LabelVocabulary) -> Self:
        """Store names of labels and broader labels with the items."""
        with self._lock:
            with self._change() as cursor:
                self._database.put(cursor, VOCABULARY, vocabulary.to_json())
            made = self._with(self.labels)
            made.vocabulary = vocabulary
            made._name_labels()
            return made

    def has_label(self, name: str) -> bool:
        """Return whether a label is in the vocabulary or on any item."""
        known = self.vocabulary is not None and name in self.vocabulary
        return known or name in self.labels.totals

    def decisions(self) -> list[tuple[Any, ...]]:
        """Read all decisions, as they were given to :meth:`relabel`."""
        with self._lock:
            return self._database.decisions()

    def events(self, about: str | None = None, after: int = 0) -> list[tuple[Any, ...]]:
        """Read all events, or those about one thing after a number: see :meth:`record`."""
        with self._lock:
            return self._database.events(about, after)

    def record(self, about: str, events: Sequence[tuple[str, str, str, str]]) -> None:
        """Append events (time, who, event, value) about one thing; they are on disk at once."""
        with self._lock, self._change(revised=False) as cursor:
            self._record(cursor, about, events)

    def _record(self, cursor: Any, about: str, events: Sequence[tuple[str, str, str, str]]) -> None:
        query = "SELECT coalesce(max(number), 0) FROM events WHERE about = ?"
        ((last,),) = self._database.select(query, about)
        numbered = [(about, n, *event) for n, event in enumerate(events, last + 1)]
        self._database.put_events(cursor, numbered)

    def change_metadata(
        self,
        tables: Mapping[str, Mapping[str, Any]],
        about: str,
        event: tuple[str, str, str, str],
    ) -> Self:
        """Replace the metadata of items by id, and record an event, in one transaction."""
        with self._lock:
            with self._change() as cursor:
                rows = dict(zip(self.rows(tables).tolist(), tables.values(), strict=True))
                items = self.fetch(rows)
                changed = {row: replace(one, metadata={**rows[row]}) for row, one in items.items()}
                self._database.put_items(cursor, changed)
                self._record(cursor, about, [event])
            return self._with(self.labels)

    def _add_words(self, items: Sequence[Item]) -> None:
        if self.words is not None:
            texts = [item.text for item in items]
            block = self.words.vocabulary.number(texts)
            self.words.append(WordSegment.build(block, [item.id for item in items], texts))

    def _drop(self, rows: Sequence[int]) -> None:
        self.vectors.drop(np.array(rows, dtype=np.intp))
        if self.words is not None:
            self.words.remove(rows)

    def _name_labels(self) -> None:
        """Give the labels the words by which their items are found."""
        if self.words is not None:
            names, known = self.labels.names, self.vocabulary
            if known is not None:
                names = [" ".join((one, *known.concept(one).other_names)) for one in names]
            self.words.set_labels(names, self.labels.matrix())

    def _with(self, labels: LabelTable) -> Self:
        """Return a store with other labels, vectors and words that can change, and no results."""
        made = copy(self)
        made.vectors, made.words = copy(self.vectors), copy(self.words)
        made.block_rows = copy(self.block_rows)
        made.labels, made._computed = labels, {}
        made.revision = self._database.about(REVISION)
        return made

    def copy(self) -> Self:
        """Return a store of the same items without what was computed from them."""
        with self._lock:
            return self._with(self.labels)

    def fresh_ids(self, count: int) -> list[str]:
        """Make ids for items without: unused numbers."""
        numbers = map(str, itertools.count(self.vectors.alive.size))
        return list(itertools.islice((one for one in numbers if self.find(one) is None), count))

    # --- rows -------------------------------------------------------------------------

    def _known(self, names: Sequence[Any]) -> dict[str, int]:
        """Return the rows of the names that are ids of items."""
        # Bytes: a name that no text could have, with half a character, is not an error.
        given = [name.encode("utf-8", "surrogatepass") for name in names if isinstance(name, str)]
        found = dict[str, int]()
        with self._lock:
            alive = self.vectors.alive
            for start in range(0, len(given), _FETCHED_AT_ONCE):
                part = given[start : start + _FETCHED_AT_ONCE]
                each = ", ".join(["CAST(? AS TEXT)"] * len(part))
                query = f"SELECT id, row FROM items WHERE id IN ({each})"
                found.update(self._database.select(query, *part))
        # An item that a writer has added since is not known yet.
        return {name: row for name, row in found.items() if 0 <= row < alive.size and alive[row]}

    def labels_of(self, name: str) -> Labels:
        """Return the labels of an item by its id; None if they are unknown."""
        with self._lock:
            return self.labels.labels(self.row(name))

    def find(self, name: Any) -> int | None:
        """Return the row of an item by its id; None if there is none."""
        return next(iter(self._known([name]).values()), None)

    def row(self, name: Any) -> int:
        """Return the row of an item by its id; raise an error if there is none."""
        return int(self.rows([name])[0])

    def rows(self, names: Iterable[Any]) -> Array:
        """Return the rows of items by their ids; raise an error if one is not there."""
        given = list(names)
        with self._lock:
            known = self._known(given)
            for name in given:
                if not isinstance(name, str) or name not in known:
                    missing = f"There is no item {name!r} in the index"
                    if self.changed():
                        raise InvalidInput(
                            f"{missing}, which a writer has changed since it was read; refresh it."
                        )
                    raise InvalidInput(f"{missing}{did_you_mean(name, self.ids())}")
        return np.array([known[name] for name in given], dtype=np.intp)

    def ids(self) -> list[str]:
        """Return the ids of all items, in the order of their rows."""
        return list(self.ids_by_row().values())

    def ids_by_row(self) -> dict[int, str]:
        """Return the id of the item in each row."""
        with self._lock:
            alive = self.vectors.alive
            every = list(self._database.select("SELECT row, id FROM items ORDER BY row"))
        return {row: name for row, name in every if 0 <= row < alive.size and alive[row]}

    # --- reading ----------------------------------------------------------------------

    def fetch(self, rows: Iterable[int]) -> dict[int, Item]:
        """Read the items in some rows, without those that a writer has removed since."""
        with self._lock:
            return self._database.fetch([int(row) for row in rows], self.labels)

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
        for start in range(0, len(alive), _FETCHED_AT_ONCE):
            yield from self.fetch(alive[start : start + _FETCHED_AT_ONCE]).items()

    # --- computed from items and labels -----------------------------------------------

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """Return the result of a function of the items and labels, cached until these change.

        If several threads ask, one computes it, and the others wait for that.
        """
        with self._lock:
            known = self._computed.get(name)
            if known is None:
                made = self._computed[name] = Future[T]()
        if known is not None:
            found: T = known.result()
            return found
        try:
            made.set_result(compute())
        except BaseException as error:
            del self._computed[name]
            made.set_exception(error)
        return made.result()

    def metadata_keys(self) -> list[str]:
        """Return the keys of the metadata, sorted, without reading the values of their fields."""
        with self._lock:
            return sorted({key for _, table in self._metadata() for key in table})

    def fields(self) -> dict[str, MetadataField]:
        """Return the metadata by fields."""
        return self.once("fields", lambda: read_fields(self._metadata(), self.vectors.alive.size))

    def _metadata(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield row and metadata of the items that have some; not of those added since."""
        alive = self.vectors.alive
        every = self._database.metadata()
        return ((row, table) for row, table in every if 0 <= row < alive.size and alive[row])

    def moments(self) -> tuple[Array, Array]:
        """Compute the mean of the vectors and of their outer products, on a sample if many."""
        return self.once("moments", self.vectors.moments)

    def centred_labels(self) -> tuple[list[str], Array]:
        """Compute for each label the mean vector of its items minus the mean of all items."""

        def compute() -> tuple[list[str], Array]:
            labels, mean = self.labels, self.moments()[0]
            sums = np.zeros((len(labels.names), mean.size))
            matrix = labels.matrix(kind=np.float64)
            for first, block in self.vectors.blocks():
                sums += matrix[first : first + len(block)].T @ block.astype(np.float64)
            names = list(labels.totals)
            own = [labels.number[name] for name in names]
            return names, sums[own] / labels.support[own][:, None] - mean

        return self.once("centres", compute)

    def label_places(self, found: LabelDirections) -> UnitVectors:
        """Place the items by their labels as well as by their vectors."""
        return self.once("places", lambda: label_places(self.vectors, self.labels.matrix(), found))
