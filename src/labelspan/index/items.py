"""Items of an index: a SQLite table of them, and the table with vectors and lookups.

The table is in memory, or in a file whose transactions survive a killed process. A row holds
an item's id, text, labels and metadata, and a hash of these. The rows written by a save are
numbered in the order of its array of vectors; an item added later has its vector in its row, and
one whose labels were changed later an empty one. An index of SQLite names these two kinds, so
that a search reads them and no others when it starts.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
import stat
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from .._typing import Array
from ..errors import InvalidFile, InvalidInput, TooManyFiles
from .filters import Catalogue, Filter, filter_mask
from .inputs import label_name
from .label_places import LabelDirections, LabelPlaces
from .results import Item
from .vectors import UnitVectors
from .words import WordIndex

__all__ = [
    "ItemRow",
    "ItemStore",
    "ItemTable",
    "check_descriptors",
    "file_size",
    "missing_resource",
]

# Ranks rows, given a mask of those that may be found: for each query rows, best first, and what
# is known about each.
Ranker = Callable[["ItemStore", Array], list[tuple[Array, Sequence[Any]]]]

_SCHEMA = """
CREATE TABLE items (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    labels TEXT,
    metadata TEXT NOT NULL,
    vector BLOB,
    hash BLOB NOT NULL
);
CREATE INDEX changed ON items (row) WHERE vector IS NOT NULL;
CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""
# Largest text or vector that is written or read, in bytes.
LARGEST_VALUE = 1 << 26
# Row numbers and counts stay far below the largest integer of SQLite.
_LARGEST_COUNT = 1 << 53
_TIMEOUT = 10.0
_FETCHED_AT_ONCE = 500
# Vector of an item that was relabelled after the save whose array holds its vector.
_RELABELLED = b""
# Memory for a table that is filled, in KiB.
_BUILD_CACHE = 1 << 18
# A database, its log, its shared memory and their folder.
_OPENED_BY_SQLITE = 4
# Files that SQLite may put next to a database: write-ahead log, shared memory, journal.
_SIDE_FILES = ("-wal", "-shm", "-journal")


@dataclass(frozen=True)
class ItemRow:
    """Item with its row number.

    ``vector`` is None if the array of the last save holds it, and empty if the array holds it but
    the labels have changed since.
    """

    row: int
    item: Item
    vector: bytes | None


class ItemTable:
    """SQLite table of items, with their count, the next row and a revision number."""

    def __init__(self, connection: sqlite3.Connection, where: str) -> None:
        self._connection = connection
        self._where = where

    @classmethod
    def create(cls, key: str) -> Self:
        """Make an empty table in memory."""
        items = cls(_connect(":memory:"), "the index")
        items._create_tables(key)
        return items

    @classmethod
    def open(cls, path: Path, key: str, *, write: bool) -> Self:
        """Open the table in a file, if it belongs to the manifest with this key."""
        log, shared, journal = (path.with_name(path.name + end) for end in _SIDE_FILES)
        file_size(path)
        for side_file in (log, shared):
            if os.path.lexists(side_file):
                file_size(side_file)
        if os.path.lexists(journal):
            # An index uses a log instead; a journal could name other files for SQLite to delete.
            raise InvalidFile(f"{journal} does not belong to an index; it is not opened.")
        mode = "mode=rw" if write else "mode=ro"
        if not write and not os.access(path.parent, os.W_OK) and not log.exists():
            # Readers of a log write to a shared file; on a read-only medium there is no log.
            mode = "immutable=1"
        items = cls(_connect(path, f"?{mode}"), str(path))
        try:
            with items._reading():
                foreign = items._tables() != _expected_tables()
                found = None if foreign else items._about("key")
            if foreign:
                raise InvalidFile(f"{path} is damaged: its tables are not those of an index.")
            if found != key:
                raise InvalidFile(f"{path} belongs to another index; it is not opened.")
        except BaseException:
            items.close()
            raise
        return items

    @classmethod
    def write_file(cls, path: Path, records: Iterable[ItemRow], key: str) -> None:
        """Write rows to a new table in a file; they are on disk when this returns."""
        fresh = cls.create(key)
        with closing(fresh._connection), fresh._writing(path):
            fresh.write(records, ())
            with closing(_connect(path)) as target:
                fresh._connection.backup(target)
                target.execute("PRAGMA journal_mode = WAL")
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @classmethod
    def build(cls, path: Path, key: str) -> Self:
        """Make or continue a table in a file that no reader has open, to be filled by parts."""
        there = path.exists()
        items = cls(_connect(path), str(path))
        items._connection.execute("PRAGMA journal_mode = WAL")
        items._connection.execute("PRAGMA synchronous = NORMAL")
        items._connection.execute(f"PRAGMA cache_size = -{_BUILD_CACHE}")
        if there and items._tables() == _expected_tables() and items._about("key") == key:
            return items
        items._create_tables(key)
        return items

    def _create_tables(self, key: str) -> None:
        with self._transaction() as cursor:
            for statement in _SCHEMA.split(";"):
                cursor.execute(statement)
            about = {"key": key, "count": 0, "next": 0, "revision": 0}
            cursor.executemany("INSERT INTO about VALUES (?, ?)", about.items())

    def truncate(self, count: int) -> None:
        """Remove the rows from a number on."""
        with self._writing(), self._transaction() as cursor:
            cursor.execute("DELETE FROM items WHERE row >= ?", (count,))
            about = (("count", count), ("next", count))
            cursor.executemany(
                "UPDATE about SET value = ? WHERE name = ?", [(n, name) for name, n in about]
            )

    def finish(self) -> None:
        """Bring all that was written into one file, and close it."""
        with self._writing():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # --- changing ---------------------------------------------------------------------

    def write(self, records: Iterable[ItemRow], gone: Sequence[int]) -> None:
        """Remove some rows and add others, in one transaction."""
        with self._writing(), self._transaction() as cursor:
            cursor.executemany("DELETE FROM items WHERE row = ?", ((row,) for row in gone))
            added = cursor.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", map(_format_row, records)
            ).rowcount
            last = cursor.execute("SELECT max(row) FROM items").fetchone()[0]
            count, following = self._whole("count"), self._whole("next")
            about = {
                "count": count - len(gone) + max(added, 0),
                "next": max(following, 0 if last is None else last + 1),
                "revision": self._whole("revision") + 1,
            }
            cursor.executemany(
                "UPDATE about SET value = ? WHERE name = ?",
                ((value, name) for name, value in about.items()),
            )

    # --- reading ----------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make all reads inside see one state, whatever a writer does."""
        with self._reading():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    @property
    def next_row(self) -> int:
        """Row number of the next item; numbers are not reused."""
        with self._reading():
            return self._whole("next")

    @property
    def count(self) -> int:
        """Number of items."""
        with self._reading():
            return self._whole("count")

    @property
    def revision(self) -> int:
        """Number that grows with every change."""
        with self._reading():
            return self._whole("revision")

    def scan(self, *, verify: bool = False) -> Iterator[ItemRow]:
        """Yield all rows in order; ``verify`` checks their hashes and their count."""
        with self._reading():
            count = 0
            for values in self._connection.execute("SELECT * FROM items ORDER BY row"):
                count += 1
                yield self._parsed(values, verify)
            if verify and count != self._whole("count"):
                raise self.missing()

    def changes(self, *, verify: bool) -> Iterator[ItemRow]:
        """Yield the rows that were added or relabelled after the last save, in order."""
        query = "SELECT * FROM items INDEXED BY changed WHERE vector IS NOT NULL ORDER BY row"
        with self._reading():
            for values in self._connection.execute(query):
                yield self._parsed(values, verify)

    def rows_before(self, end: int) -> list[int]:
        """List the numbers of the rows before one that are there."""
        with self._reading():
            found = self._connection.execute("SELECT row FROM items WHERE row < ?", (end,))
            return [int(row) for (row,) in found]

    def row_of(self, name: str) -> int | None:
        """Return the row of an id; None if there is none."""
        with self._reading():
            query = "SELECT row FROM items WHERE id = ?"
            found = self._connection.execute(query, (name,)).fetchone()
            return None if found is None else int(found[0])

    def missing(self) -> InvalidFile:
        """Return the error for items that are not there."""
        return InvalidFile(f"{self._where} is damaged: items are missing.")

    def _parsed(self, values: tuple[Any, ...], verify: bool) -> ItemRow:
        if verify and _hash(values[:-1]) != values[-1]:
            raise InvalidFile(
                f"{self._where} is damaged: the item in row {values[0]} is not what was written."
            )
        return _parse_row(values)

    def fetch(self, rows: Sequence[int], *, verify: bool = False) -> dict[int, Item]:
        """Read the items in some rows."""
        found: dict[int, Item] = {}
        with self._reading():
            for start in range(0, len(rows), _FETCHED_AT_ONCE):
                part = [int(row) for row in rows[start : start + _FETCHED_AT_ONCE]]
                marks = ",".join("?" * len(part))
                query = f"SELECT * FROM items WHERE row IN ({marks})"
                for values in self._connection.execute(query, part):
                    found[values[0]] = self._parsed(values, verify).item
        return found

    # --- internal ---------------------------------------------------------------------

    def _tables(self) -> list[Any]:
        """List the definitions in the file: tables, views, triggers."""
        query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
        return self._connection.execute(query).fetchall()

    def _about(self, name: str) -> Any:
        query = "SELECT value FROM about WHERE name = ?"
        found = self._connection.execute(query, (name,)).fetchone()
        return None if found is None else found[0]

    def _whole(self, name: str) -> int:
        value = self._about(name)
        if type(value) is not int or not 0 <= value < _LARGEST_COUNT:
            raise InvalidFile(f"{self._where} is damaged: it has no {name!r}.")
        return value

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Cursor]:
        cursor = self._connection.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        try:
            yield cursor
            cursor.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                cursor.execute("ROLLBACK")
            raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
            if isinstance(error, InvalidInput):
                raise
            check_descriptors(self._where)
            raise InvalidFile(f"{self._where} cannot be read: {_line(error)}.") from error

    @contextmanager
    def _writing(self, path: Path | None = None) -> Iterator[None]:
        where = self._where if path is None else str(path)
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            check_descriptors(where)
            raise InvalidFile(
                f"{where} cannot be written: {_line(error)}; the index is as it was."
            ) from error


class ItemStore:
    """Items in a table, their unit vectors and words, and lookups by id, label and metadata.

    Every change is written to the table first, in one transaction, and then to memory.

    Vectors, words and catalogue know an item by its place. For items of the array that is the row
    in the table; items added later follow, in the order of their rows, without the removed ones.

    A store may be opened without its catalogue, which is read when it is first needed: a search
    for words asks the table for ids and the word index for labels.
    """

    def __init__(
        self,
        table: ItemTable,
        vectors: UnitVectors,
        catalogue: Catalogue | None,
        words: WordIndex | None,
        late: Sequence[int] = (),
        *,
        verify: bool = False,
        as_saved: bool = False,
    ) -> None:
        self._table = table
        self._vectors = vectors
        self.words = words
        self._catalogue = catalogue
        # Items that are read one by one are checked one by one.
        self._verify = verify
        # Whether the items and their labels are those of the last save.
        self.as_saved = as_saved
        self._late = list(late)
        self._early = vectors.alive.size - len(self._late)
        self.revision = table.revision
        self._lock = threading.RLock()
        self._moments: tuple[Array, Array] | None = None
        self._spread: tuple[Array, Array] | None = None
        self._label_places: LabelPlaces | None = None
        self._centres: tuple[list[str], Array] | None = None

    @classmethod
    def of(cls, items: Sequence[Item], vectors: Array, words: WordIndex | None) -> Self:
        """Make a store in memory."""
        table = ItemTable.create("memory")
        catalogue = Catalogue()
        table.write((ItemRow(row, item, None) for row, item in enumerate(items)), ())
        for row, item in enumerate(items):
            catalogue.add(row, item)
        return cls(table, UnitVectors(vectors), catalogue, words)

    @classmethod
    def open(
        cls,
        path: Path,
        key: str,
        base: Array,
        words: WordIndex | None,
        *,
        write: bool,
        verify: bool,
        lazy: bool = False,
    ) -> Self:
        """Open the store in a file, with the vectors and words of its items."""
        table = ItemTable.open(path, key, write=write)
        try:
            if lazy and words is not None:
                return cls._read_changes(table, base, words, verify)
            return cls._read(table, base, words, verify)
        except BaseException:
            table.close()
            raise

    @classmethod
    def _read(cls, table: ItemTable, base: Array, words: WordIndex | None, verify: bool) -> Self:
        vectors, catalogue = UnitVectors(base), Catalogue()
        with table.snapshot():
            following = table.next_row
            late: list[int] = []
            tail: list[bytes] = []
            added: list[Item] = []
            relabelled: dict[int, Item] = {}
            alive = np.zeros(len(base), dtype=bool)
            for record in table.scan(verify=verify):
                place = record.row
                if not record.vector and 0 <= place < len(base):
                    alive[place] = True
                    if record.vector is not None:
                        relabelled[place] = record.item
                elif record.vector and len(base) <= place < following:
                    _check_vector(record.vector, base)
                    place = len(base) + len(late)
                    late.append(record.row)
                    tail.append(record.vector)
                    added.append(record.item)
                else:
                    raise InvalidFile("items.sqlite is damaged: an item has no vector.")
                if record.item.id in catalogue.rows:
                    raise InvalidFile("items.sqlite is damaged: two items have one id.")
                catalogue.add(place, record.item)
            vectors.drop(np.flatnonzero(~alive))
            vectors.append(_joined(tail, base))
            if words is not None:
                words.drop(np.flatnonzero(~alive))
                _take_changes(words, relabelled, added)
            saved = bool(alive.all()) and not late and not relabelled
            return cls(table, vectors, catalogue, words, late, as_saved=saved)

    @classmethod
    def _read_changes(cls, table: ItemTable, base: Array, words: WordIndex, verify: bool) -> Self:
        """Read only what was added or changed after the last save."""
        vectors = UnitVectors(base)
        with table.snapshot():
            following, count = table.next_row, table.count
            late: list[int] = []
            tail: list[bytes] = []
            added: list[Item] = []
            relabelled: dict[int, Item] = {}
            for record in table.changes(verify=verify):
                vector = record.vector or b""
                if not vector and 0 <= record.row < len(base):
                    relabelled[record.row] = record.item
                elif vector and len(base) <= record.row < following:
                    _check_vector(vector, base)
                    late.append(record.row)
                    tail.append(vector)
                    added.append(record.item)
                else:
                    raise InvalidFile("items.sqlite is damaged: an item has no vector.")
            if count != len(base) + len(late):
                alive = np.zeros(len(base), dtype=bool)
                alive[[row for row in table.rows_before(len(base)) if row >= 0]] = True
                if verify and count != np.count_nonzero(alive) + len(late):
                    raise table.missing()
                vectors.drop(np.flatnonzero(~alive))
                words.drop(np.flatnonzero(~alive))
            vectors.append(_joined(tail, base))
            _take_changes(words, relabelled, added)
            saved = count == len(base) and not late and not relabelled
            return cls(table, vectors, None, words, late, verify=verify, as_saved=saved)

    @property
    def catalogue(self) -> Catalogue:
        """Places of all ids, labels and values of metadata."""
        with self._lock:
            if self._catalogue is None:
                self._catalogue = self._read_catalogue()
            return self._catalogue

    def _read_catalogue(self) -> Catalogue:
        """Read all items that were there when the store was opened."""
        found = Catalogue()
        known = {self._row(int(place)): int(place) for place in np.flatnonzero(self._vectors.alive)}
        with self._table.snapshot():
            same = self._table.revision == self.revision
            for record in self._table.scan(verify=self._verify):
                place = known.pop(record.row, None)
                if place is not None:
                    if record.item.id in found.rows:
                        raise InvalidFile("items.sqlite is damaged: two items have one id.")
                    found.add(place, record.item)
                elif same:
                    raise InvalidFile("items.sqlite is damaged: an item has no vector.")
        if known and same:
            raise self._table.missing()
        # A writer has removed some since.
        gone = np.array(sorted(known.values()), dtype=np.intp)
        self._vectors.drop(gone)
        if self.words is not None:
            self.words.drop(gone)
        return found

    def write_to(self, path: Path, key: str) -> tuple[Array, WordIndex | None]:
        """Write the current items to a new file; return their vectors and words."""
        kept: list[int] = []
        words = self.words
        # Rows get new numbers if items were added or removed.
        again = words is not None and not words.unchanged
        relabelled = words is not None and not words.labels.unchanged
        items: list[Item] = []
        known = {self._row(int(place)): place for place in np.flatnonzero(self._vectors.alive)}

        def records() -> Iterator[ItemRow]:
            for record in self._table.scan():
                # A reader may be out of date: it writes what it knows.
                if record.row in known:
                    kept.append(int(known[record.row]))
                    if again or relabelled:
                        items.append(record.item)
                    yield ItemRow(len(kept) - 1, record.item, None)

        with self._lock:
            ItemTable.write_file(path, records(), key)
            if words is not None and not again and len(kept) < len(words):
                # A writer has removed items since they were read.
                again = True
                items = [row.item for row in self._table.scan() if row.row in known]
            if words is not None and again:
                words = WordIndex.build(words.analyzer, items)
            elif words is not None and relabelled:
                words = words.relabelled([item.labels for item in items])
            return self._vectors.rows(np.array(kept, dtype=np.intp)), words

    @property
    def base(self) -> Array:
        """Vectors of the items of the last fit or save."""
        return self._vectors.base

    def close(self) -> None:
        """Close the file."""
        self._table.close()

    def changed(self) -> bool:
        """Tell whether a writer has changed the items since they were read."""
        return self._table.revision != self.revision

    def __len__(self) -> int:
        return int(np.count_nonzero(self._vectors.alive))

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
            gone = [self.place(name) for name in there]
            old = self._fetch(gone)
            first, place = self._table.next_row, self._vectors.alive.size
            records = [
                ItemRow(first + n, item, vectors[n].astype("<f4").tobytes())
                for n, item in enumerate(items)
            ]
            self._table.write(records, [self._row(one) for one in gone])
            self._forget(old)
            self._vectors.append(vectors)
            if self.words is not None:
                self.words.append(items)
            self._late += [record.row for record in records]
            if self._catalogue is not None:
                for number, item in enumerate(items, start=place):
                    self._catalogue.add(number, item)
            self._settle()

    def remove(self, ids: Sequence[str]) -> None:
        """Remove items; all ids must exist."""
        with self._lock:
            gone = sorted({self.place(name) for name in ids})
            old = self._fetch(gone)
            self._table.write((), [self._row(one) for one in gone])
            self._forget(old)
            self._settle()

    def relabel(self, ids: Sequence[str], labels: Sequence[tuple[str, ...] | None]) -> None:
        """Change the labels of items; their vectors stay."""
        with self._lock:
            places = [self.place(name) for name in ids]
            old = self._fetch(places)
            new = {
                place: replace(old[place], labels=own)
                for place, own in zip(places, labels, strict=True)
                if place in old
            }
            records = [
                ItemRow(
                    self._row(place),
                    item,
                    _RELABELLED
                    if place < self._early
                    else self._vectors.rows(np.array([place]))[0].tobytes(),
                )
                for place, item in new.items()
            ]
            self._table.write(records, [record.row for record in records])
            for place, item in new.items():
                if self._catalogue is not None:
                    self._catalogue.relabel(place, old[place], item)
                if self.words is not None:
                    self.words.relabel(place, item.labels)
            self._settle()

    def labelled(self) -> tuple[dict[int, str], dict[str, list[int]]]:
        """Return the id of the item in every place, and the places of every label."""
        with self._lock:
            ids = {place: name for name, place in self.catalogue.rows.items()}
            return ids, self.catalogue.label_rows()

    def described(
        self,
    ) -> tuple[dict[str, list[int]], dict[str, dict[tuple[bool, Any], list[int]]]]:
        """Return the places of every label, and of every value of each key of the metadata."""
        with self._lock:
            return self.catalogue.label_rows(), self.catalogue.metadata_rows()

    def in_places(self, places: Sequence[int]) -> list[Item]:
        """Return the items in some places, without those that a writer has removed."""
        with self._lock:
            found = self._fetch([int(place) for place in places])
        return [found[int(place)] for place in places if int(place) in found]

    def _row(self, place: int) -> int:
        """Return the table row of the item in a place."""
        return place if place < self._early else self._late[place - self._early]

    def _fetch(self, places: Sequence[int]) -> dict[int, Item]:
        """Read the items in some places."""
        rows = {self._row(place): place for place in places}
        found = self._table.fetch(list(rows), verify=self._verify)
        return {rows[row]: item for row, item in found.items()}

    def _settle(self) -> None:
        """Record the new revision and drop cached statistics."""
        self.revision, self.as_saved = self._table.revision, False
        self._moments = self._centres = self._spread = self._label_places = None

    def _forget(self, old: dict[int, Item]) -> None:
        if self._catalogue is not None:
            for row, item in old.items():
                self._catalogue.remove(row, item)
        gone = np.array(sorted(old), dtype=np.intp)
        self._vectors.drop(gone)
        if self.words is not None:
            self.words.drop(gone)

    def fresh_ids(self, count: int) -> list[str]:
        """Make ids for items without: unused numbers."""
        with self._lock:
            number = self._table.next_row
            found: list[str] = []
            while len(found) < count:
                if self.find(str(number)) is None:
                    found.append(str(number))
                number += 1
            return found

    # --- reading ----------------------------------------------------------------------

    def item(self, name: str) -> Item:
        """Return an item by its id."""
        with self._lock:
            row = self.place(name)
            found = self._fetch([row])
        if row not in found:
            raise InvalidInput(f"The item {name!r} was removed by a writer; refresh the index.")
        return found[row]

    def items(self, names: Sequence[str]) -> list[Item]:
        """Return some items, without those that a writer has removed."""
        with self._lock:
            rows = [self.place(name) for name in names]
            found = self._fetch(rows)
        return [found[row] for row in rows if row in found]

    def vectors(self, ids: Sequence[str]) -> Array:
        """Return the unit vectors of some items."""
        with self._lock:
            return self._vectors.rows(np.array([self.place(name) for name in ids], int))

    def labelled_vectors(self, label: str) -> Array:
        """Return the unit vectors of the items with a label."""
        with self._lock:
            return self._vectors.rows(self._labelled(label))

    def moments(self) -> tuple[Array, Array]:
        """Compute the mean of all vectors and the mean of their outer products."""
        with self._lock:
            if self._moments is None:
                rows = self._vectors.rows(np.flatnonzero(self._vectors.alive)).astype(np.float64)
                count = max(1, len(rows))
                self._moments = rows.sum(axis=0) / count, rows.T @ rows / count
            return self._moments

    def centred_labels(self) -> tuple[list[str], Array]:
        """Compute for each label the mean vector of its items minus the mean of all items."""
        with self._lock:
            if self._centres is None:
                names = list(self.label_counts())
                mean, _ = self.moments()
                own = [self.labelled_vectors(name).mean(axis=0, dtype=np.float64) for name in names]
                self._centres = names, np.array(own).reshape(len(names), mean.size) - mean
            return self._centres

    def label_places(self, found: LabelDirections) -> LabelPlaces:
        """Place the items by their labels as well as by their vectors."""
        with self._lock:
            if self._label_places is None:
                rows = {name: self._labelled(name).tolist() for name in self.label_counts()}
                self._label_places = LabelPlaces(self._vectors, rows, found)
            return self._label_places

    def spread(self) -> tuple[Array, Array]:
        """Estimate the mean of the vectors and of their outer products on a sample."""
        with self._lock:
            if self._spread is None:
                self._spread = self._vectors.moments()
            return self._spread

    @property
    def unit_vectors(self) -> UnitVectors:
        """Vectors of all items, by their places."""
        return self._vectors

    def search(
        self, wanted: Filter, leave_out: Sequence[str], rank: Ranker
    ) -> list[list[tuple[Any, Item]]]:
        """Rank the items that pass a filter; return those found, with what the ranker tells."""
        with self._lock:
            chosen = self._mask(wanted)
            mask = self._vectors.alive if chosen is None else self._vectors.alive & chosen
            if leave_out:
                mask = mask.copy()
                mask[[self.place(name) for name in leave_out]] = False
            ranked = rank(self, mask)
            needed = sorted({int(row) for rows, _ in ranked for row in rows})
            items = self._fetch(needed)
        # A writer may have removed items since a reader read them.
        return [
            [(part, items[int(r)]) for r, part in zip(rows, parts, strict=True) if r in items]
            for rows, parts in ranked
        ]

    def place(self, name: Any) -> int:
        """Return the place of an item by its id."""
        found = self.find(name)
        # The catalogue knows similar names.
        return self.catalogue.row(name) if found is None else found

    def find(self, name: Any) -> int | None:
        """Return the place of an item by its id; None if there is none."""
        if self._catalogue is not None:
            return self._catalogue.rows.get(name)
        with self._lock:
            row = self._table.row_of(name) if _is_id(name) else None
            place = row
            if row is not None and row >= self._early:
                # An item that a writer has added since is not known yet.
                place = self._early + bisect_left(self._late, row)
                if place == self._early + len(self._late) or self._row(place) != row:
                    return None
            alive = place is not None and place >= 0 and bool(self._vectors.alive[place])
            return place if alive else None

    def label_counts(self) -> dict[str, int]:
        """Count the items with each label."""
        with self._lock:
            if self._catalogue is None and self.words is not None:
                return self.words.label_counts(self._vectors.alive)
            return self.catalogue.label_counts()

    def _labelled(self, label: Any) -> Array:
        """Return the places of the items with a label, in order."""
        if self._catalogue is None and self.words is not None:
            rows = self.words.labelled(label_name(label))
            rows = rows[self._vectors.alive[rows]]
            if len(rows):
                return rows
        # The catalogue knows similar names.
        return self.catalogue.labelled(label)

    def _mask(self, wanted: Filter) -> Array | None:
        """Mark the places that pass a filter; None if all pass."""
        size = self._vectors.alive.size
        if wanted.metadata:
            return self.catalogue.mask(wanted, size)
        return filter_mask(wanted, size, self._labelled, lambda *_: self._vectors.alive)


def _is_id(name: Any) -> bool:
    """Tell whether a value may be an id: a string that can be written in UTF-8."""
    try:
        return isinstance(name, str) and name.encode() is not None
    except UnicodeEncodeError:
        return False


def _check_vector(vector: bytes, base: Array) -> None:
    if len(vector) != 4 * base.shape[1]:
        raise InvalidFile("items.sqlite is damaged: a vector has another length.")


def _joined(tail: Sequence[bytes], base: Array) -> Array:
    """Make an array of vectors from what was read: a wrong count in the file allocates nothing."""
    numbers: Array = np.frombuffer(b"".join(tail), dtype="<f4")
    return numbers.reshape(len(tail), base.shape[1])


def _take_changes(words: WordIndex, relabelled: Mapping[int, Item], added: Sequence[Item]) -> None:
    """Tell the word index what was changed after the last save."""
    for place, item in relabelled.items():
        words.relabel(place, item.labels)
    words.append(added)


def file_size(path: Path) -> int:
    """Return the size of a regular file; links, pipes and devices are not opened."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise InvalidFile(f"{path} is not a regular file; it is not opened.")
    return found.st_size


def missing_resource(error: BaseException | None, path: Any) -> Exception | None:
    """Return the error for a lack of file descriptors or memory; None for any other cause."""
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.EMFILE, errno.ENFILE):
        return TooManyFiles(
            f"{path} cannot be opened: too many files are open; close some, or raise the limit "
            "(ulimit -n)."
        )
    if code == errno.ENOMEM:
        return MemoryError(f"{path} cannot be opened: there is not enough memory.")
    return None


def check_descriptors(path: Any) -> None:
    """Raise an error if a few files cannot be opened: SQLite does not give this as the cause."""
    handles = []
    try:
        for _ in range(_OPENED_BY_SQLITE):
            handles.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        missing = missing_resource(error, path)
        if missing is not None:
            raise missing from error
    finally:
        for handle in handles:
            os.close(handle)


def _connect(where: str | Path, options: str = "") -> sqlite3.Connection:
    """Open a file or a database in memory; ``options`` are appended to the file's URI."""
    try:
        connection = sqlite3.connect(
            f"{where.resolve().as_uri()}{options}" if isinstance(where, Path) else where,
            timeout=_TIMEOUT,
            isolation_level=None,
            # An index may be used by several threads; ItemStore has a lock.
            check_same_thread=False,
            uri=isinstance(where, Path),
        )
    except sqlite3.Error as error:
        check_descriptors(where)
        raise InvalidFile(f"{where} cannot be opened: {error}.") from error
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        connection.execute("PRAGMA synchronous = FULL")
        # A foreign file may define functions and triggers; none of them is called.
        connection.execute("PRAGMA trusted_schema = OFF")
    except (sqlite3.Error, ValueError) as error:
        # A message about a damaged file may quote its bytes, which need not be UTF-8.
        try:
            check_descriptors(where)
        finally:
            connection.close()
        raise InvalidFile(f"{where} cannot be read: {_line(error)}.") from error
    return connection


def _line(error: Exception) -> str:
    """Return the message of an error in one line, shortened."""
    return f"{' '.join(str(error).split()):.200}"


# Made once: json.dumps makes an encoder for each call with an option.
_to_json = json.JSONEncoder(ensure_ascii=False).encode


def _format_row(record: ItemRow) -> tuple[Any, ...]:
    item = record.item
    labels = None if item.labels is None else _to_json(item.labels)
    metadata = _to_json(item.metadata) if item.metadata else "{}"
    values = (record.row, item.id, item.text, labels, metadata, record.vector)
    return (*values, _hash(values))


def _parse_row(values: tuple[Any, ...]) -> ItemRow:
    row, name, text, labels, metadata, vector, _ = values
    known = None if labels is None else json.loads(labels)
    table = json.loads(metadata)
    if (
        type(row) is not int
        or not isinstance(name, str)
        or not isinstance(text, str)
        or not (known is None or _names(known))
        or not (isinstance(table, dict) and all(map(_is_plain, table.values())))
        or not (vector is None or isinstance(vector, bytes))
    ):
        raise ValueError(f"the content of row {row!r:.40} is not an item")
    return ItemRow(row, Item(name, text, None if known is None else tuple(known), table), vector)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(label, str) for label in value)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


@cache
def _expected_tables() -> list[Any]:
    with closing(ItemTable.create("")._connection) as connection:
        return ItemTable(connection, "")._tables()


def _hash(values: Iterable[Any]) -> bytes:
    parts = [value if isinstance(value, bytes) else repr(value).encode() for value in values]
    content = b"".join([one for data in parts for one in (len(data).to_bytes(8, "big"), data)])
    return hashlib.blake2b(content, digest_size=16).digest()
