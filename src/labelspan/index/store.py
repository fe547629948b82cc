"""Items of an index by permanent row numbers: database, labels, vectors and words.

The items are in one SQLite database, in memory or in a file:

    items        row, id, text and metadata (JSON) of each item; a row number is never reused
    item_labels  labels of 4,096 rows: how many each has (-1: unknown), and their numbers
    removed      rows whose items were removed
    added        vectors of rows that were added after the last save
    decisions    what was decided about labels of items
    lessons      what was answered when a label was taught, in order
    about        key of the index, names of the labels by number, vocabulary of the labels, and a
                 revision that grows with every change

A change is one transaction, on disk when its call returns, and then made in memory. Each record
has a hash, which is checked when it is read. Files from elsewhere are opened without running
anything in them. Search takes three steps: mask the rows that a filter allows, rank them
(:mod:`.searching`), and fetch the items that are shown.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any, Self, TypeVar

import numpy as np
from scipy import sparse

from .._files import check_descriptors, file_size
from .._typing import Array
from ..corpus import LabelVocabulary
from ..errors import InvalidFile, InvalidInput, LabelspanError, Mismatch
from ..text import WordSearch, WordSegment
from .folder import (
    ITEMS,
    ArrayFile,
    Files,
    Rows,
    field,
    generation_folder,
    parse_json,
    read_manifest,
    write_arrays,
)
from .inputs import did_you_mean, label_name, read_ids, read_label_lists, read_metadata
from .metadata_fields import MetadataField, read_fields
from .results import Item
from .vectors import AnnIndex, LabelDirections, UnitVectors, label_places, open_ann

__all__ = [
    "IndexItems",
    "ItemDatabase",
    "ItemStore",
    "LabelTable",
    "Labels",
    "read_decisions",
    "read_lessons",
]

T = TypeVar("T")

# Labels of an item, sorted; None if they are unknown.
Labels = tuple[str, ...] | None

_TABLES = (
    "CREATE TABLE items (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text, metadata, hash)",
    "CREATE TABLE item_labels (block INTEGER PRIMARY KEY, counts, numbers, hash)",
    "CREATE TABLE removed (row INTEGER PRIMARY KEY)",
    "CREATE TABLE added (first INTEGER PRIMARY KEY, vectors, hash)",
    "CREATE TABLE decisions (number, time, item, label, kind, decision, had, undone, who, action, "
    "hash, PRIMARY KEY (number, item, label))",
    "CREATE TABLE about (name TEXT PRIMARY KEY, value, hash)",
    "CREATE TABLE lessons (label, number, time, who, event, value, hash, "
    "PRIMARY KEY (label, number))",
)
# Names in the table about.
VOCABULARY, _KEY, _LABELS, _REVISION = "vocabulary", "key", "labels", "revision"
# Rows whose labels are one record.
LABEL_BLOCK = 4096
# Bytes of the vectors of one record, about.
_ADDED_BYTES = 1 << 23
_MEMORY = ":memory:"
# Largest text or array that is written or read, in bytes.
LARGEST_VALUE = 1 << 26
_TIMEOUT = 10.0
_FETCHED_AT_ONCE = 500
# Rows from which added ones are many, whatever the size of the index.
_MANY_ADDED = 1000
# Up to this size all items are checked whenever an index is opened.
_SMALL_DATABASE = 1 << 20
# Memory for a database that is filled, in KiB.
_BUILD_CACHE = 1 << 18
# Files that SQLite may put next to a database: write-ahead log, shared memory, journal.
_SIDE_FILES = ("-wal", "-shm", "-journal")
# Formats before this one had labels in the table of the items, and decisions in a file.
_FIRST_FORMAT = 5


class LabelTable:
    """Labels of the items in all rows. A table is immutable; a change returns a new one.

    ``names`` are those of the columns, which keep their numbers for ever; ``counts`` has the number
    of labels of each row, -1 where they are unknown, and ``columns`` their columns, row after row.

    Examples
    --------
    >>> from labelspan.index.store import LabelTable
    >>> table = LabelTable.of([("a", "b"), None, ("b",)])
    >>> table.labels(0), table.labels(1), table.rows("b").tolist()
    (('a', 'b'), None, [0, 2])
    """

    def __init__(self, names: Sequence[str], counts: Array, columns: Array) -> None:
        self.names, self.counts, self.columns = names, counts, columns
        self.known = counts >= 0
        self.starts = np.concatenate([[0], np.cumsum(np.maximum(counts, 0), dtype=np.int64)])

    @classmethod
    def of(cls, lists: Sequence[Labels], names: Sequence[str] = ()) -> LabelTable:
        """Make a table of lists of labels; names that are new get the next columns."""
        nothing = np.zeros(0, dtype=np.int32)
        return cls(names, nothing, nothing).changed(dict(enumerate(lists)))

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def number(self) -> dict[str, int]:
        """Column of each name."""
        return {name: column for column, name in enumerate(self.names)}

    @cached_property
    def support(self) -> Array:
        """Number of items with the label of each column."""
        return np.bincount(self.columns, minlength=len(self.names))

    @cached_property
    def _by_column(self) -> sparse.csc_matrix:
        return self.matrix().tocsc()

    def labels(self, row: int) -> Labels:
        """Return the labels of a row, sorted."""
        if not self.known[row]:
            return None
        own = self.columns[self.starts[row] : self.starts[row + 1]].tolist()
        return tuple(sorted([self.names[column] for column in own]))

    def rows(self, label: Any) -> Array:
        """Return the rows with a label, in order; raise an error if no item has it."""
        column = self.number.get(label_name(label))
        if column is None or not self.support[column]:
            raise self.unknown(label)
        start, end = self._by_column.indptr[column : column + 2]
        return np.asarray(self._by_column.indices[start:end], dtype=np.intp)

    def unknown(self, label: Any) -> InvalidInput:
        """Return the error for a label that no item has."""
        return InvalidInput(f"No item has the label {label!r}{did_you_mean(label, self.totals)}")

    @cached_property
    def totals(self) -> dict[str, int]:
        """Number of items with each label, without labels of no item, sorted by name."""
        found = zip(self.names, self.support.tolist(), strict=True)
        return dict(sorted((name, count) for name, count in found if count))

    def matrix(self, rows: Array | None = None, kind: Any = np.float32) -> sparse.csr_matrix:
        """Return a 0/1 matrix of some rows, by default all; unknown labels count as none."""
        ones = np.ones(self.columns.size, dtype=kind)
        shape = (len(self), len(self.names))
        found = sparse.csr_matrix((ones, self.columns, self.starts), shape=shape)
        found.sort_indices()
        return found if rows is None else found[rows]

    def changed(self, lists: Mapping[int, Labels]) -> LabelTable:
        """Return the table with other labels in some rows, and with rows after the last."""
        new = {label for own in lists.values() for label in own or ()}
        names = [*self.names, *sorted(new.difference(self.number))]
        number = {name: column for column, name in enumerate(names)}
        size = max(len(self), *(row + 1 for row in lists)) if lists else len(self)
        counts = np.full(size, -1, dtype=np.int32)
        counts[: len(self)] = self.counts
        touched = np.zeros(size, dtype=bool)
        given = np.array(list(lists), dtype=np.int64)
        touched[given] = True
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        kept = ~touched[rows]
        counts[given] = [-1 if own is None else len(own) for own in lists.values()]
        every = np.concatenate([rows[kept], np.repeat(given, np.maximum(counts[given], 0))])
        fresh = [number[label] for own in lists.values() for label in own or ()]
        columns = np.concatenate([self.columns[kept], np.array(fresh, dtype=np.int32)])
        return LabelTable(names, counts, columns[np.argsort(every, kind="stable")])


@contextmanager
def _errors(where: str | Path, what: str) -> Iterator[None]:
    """Raise errors of SQLite as errors of a file that cannot be opened, read or written."""
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, LabelspanError):
            raise
        check_descriptors(where)
        # A message about a damaged file may quote its bytes.
        line = f"{' '.join(str(error).split()):.200}"
        end = "; the index is as it was" if what == "written" else ""
        raise InvalidFile(f"{where} cannot be {what}: {line}{end}.") from error


def _connect(where: str | Path, options: str = "") -> sqlite3.Connection:
    """Open a file or a database in memory; ``options`` are appended to the file's URI."""
    with _errors(where, "opened"):
        connection = sqlite3.connect(
            f"{where.resolve().as_uri()}{options}" if isinstance(where, Path) else where,
            timeout=_TIMEOUT,
            isolation_level=None,
            # An index may be used by several threads; ItemStore has a lock.
            check_same_thread=False,
            uri=isinstance(where, Path),
        )
    try:
        with _errors(where, "read"):
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
            connection.execute("PRAGMA synchronous = FULL")
            # A foreign file may define functions and triggers; none of them is called.
            connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


# Made once: json.dumps makes an encoder for each call with an option.
_to_json = json.JSONEncoder(ensure_ascii=False).encode


def _hashed(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Append the hash of a record to its values."""
    # Arrays are hashed first: their text would be several times as long.
    parts = [hashlib.blake2b(one).digest() if isinstance(one, bytes) else one for one in values]
    return (*values, hashlib.blake2b(repr(parts).encode(), digest_size=16).digest())


class ItemDatabase:
    """Database in memory or in a file.

    ``where`` is its name in error messages. ``check`` is called before each change, and raises an
    error if the file is not that of the index any more.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        where: str,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection, self._where, self._check = connection, where, check
        if where == _MEMORY:
            # An index in memory ends like any other object; one in a folder must be closed.
            weakref.finalize(self, connection.close)

    # --- opening ----------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        path: Path,
        key: str,
        *,
        write: bool,
        check: Callable[[], None] = lambda: None,
        locked: bool = False,
    ) -> Self:
        """Open a file, if it belongs to the manifest with this key.

        ``locked`` says that the caller holds the lock of the folder, so that nobody writes.
        """
        log, shared, journal = (path.with_name(path.name + end) for end in _SIDE_FILES)
        for file in (path, log, shared):
            if file == path or os.path.lexists(file):
                file_size(file)
        if os.path.lexists(journal):
            # An index uses a log instead; a journal could name other files for SQLite to delete.
            raise InvalidFile(f"{journal} does not belong to an index; it is not opened.")
        mode = "mode=rw" if write else "mode=ro"
        empty = not log.exists() or (locked and file_size(log) == 0)
        if not write and empty and (locked or not os.access(path.parent, os.W_OK)):
            # Readers of a log write to a shared file, for which a full disk has no room and a
            # read-only one no place; without a writer and a log it is not needed.
            mode = "immutable=1"
        opened = cls(_connect(path, f"?{mode}"), str(path), check)
        try:
            found = opened._tables()
            # Format 5 had no lessons; it is only read, to fit it again.
            if found != sorted(_TABLES) and (write or found != sorted(_TABLES[:-1])):
                raise InvalidFile(
                    f"{path}: its tables are not those of an index of this version: it is "
                    "damaged, or was written by an unreleased version; fit it again."
                )
            if opened.about(_KEY) != key:
                raise InvalidFile(f"{path} belongs to another index; it is not opened.")
        except BaseException:
            opened.close()
            raise
        return opened

    @classmethod
    def build(cls, where: Path | str = _MEMORY, key: str = "memory") -> Self:
        """Create a database in memory, or create or continue one in a file without readers."""
        made = cls(_connect(where), str(where))
        try:
            with _errors(where, "written"):
                execute = made._connection.execute
                execute("PRAGMA journal_mode = WAL")
                execute("PRAGMA synchronous = NORMAL")
                execute(f"PRAGMA cache_size = -{_BUILD_CACHE}")
                if not made._tables():
                    cursor = execute("BEGIN")
                    for table in _TABLES:
                        cursor.execute(table)
                    for name, value in ((_KEY, key), (_LABELS, "[]"), (_REVISION, 0)):
                        made.put(cursor, name, value)
                    cursor.execute("COMMIT")
        except BaseException:
            made.close()
            raise
        return made

    def write_file(
        self,
        path: Path,
        key: str,
        decisions: Iterable[tuple[Any, ...]] = (),
        lessons: Iterable[tuple[Any, ...]] = (),
    ) -> None:
        """Write all of it to a new file under another key; it is on disk when this returns.

        Rows that were added later are not kept apart any more: the caller writes their vectors.
        """
        with _errors(path, "written"), closing(_connect(path)) as target:
            self._connection.backup(target)
            self.put(target.cursor(), _KEY, key)
            target.execute("DELETE FROM added")
            self.put_decisions(target.cursor(), decisions)
            self.put_lessons(target.cursor(), lessons)
            target.execute("PRAGMA journal_mode = WAL")
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def finish(self) -> None:
        """Bring all that was written into one file, and close it."""
        with closing(self), _errors(self._where, "written"):
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # --- changing ---------------------------------------------------------------------

    @contextmanager
    def change(self, *, revised: bool = True) -> Iterator[sqlite3.Cursor]:
        """Make one transaction of all changes inside; a failure changes nothing.

        ``revised`` is False if neither items nor labels change.
        """
        with _errors(self._where, "written"):
            cursor = self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._check()
                yield cursor
                if revised:
                    self.put(cursor, _REVISION, self.about(_REVISION) + 1)
                cursor.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    cursor.execute("ROLLBACK")
                raise

    def insert(
        self, cursor: sqlite3.Cursor, items: Iterable[Item], vectors: Array | None = None
    ) -> int:
        """Add items in the next rows, with their vectors after a fit; return the first row."""
        first = self.next_row
        cursor.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?)",
            [
                _hashed((row, item.id, item.text, _to_json(item.metadata)))
                for row, item in enumerate(items, first)
            ],
        )
        if vectors is not None:
            step = max(1, _ADDED_BYTES // max(1, 4 * vectors.shape[1]))
            for start in range(0, len(vectors), step):
                part = np.ascontiguousarray(vectors[start : start + step], dtype="<f4").tobytes()
                cursor.execute("INSERT INTO added VALUES (?, ?, ?)", _hashed((first + start, part)))
        return first

    def remove(self, cursor: sqlite3.Cursor, rows: Sequence[int]) -> None:
        """Remove the items in some rows."""
        given = [(row,) for row in rows]
        cursor.executemany("DELETE FROM items WHERE row = ?", given)
        cursor.executemany("INSERT INTO removed VALUES (?)", given)

    def truncate(self, cursor: sqlite3.Cursor, count: int) -> None:
        """Remove the rows from a number on, which a stopped fit left behind."""
        cursor.execute("DELETE FROM items WHERE row >= ?", (count,))

    def put_labels(
        self, cursor: sqlite3.Cursor, table: LabelTable, rows: Iterable[int] | None = None
    ) -> None:
        """Write the labels of the blocks that hold some rows; None writes all blocks."""
        self.put(cursor, _LABELS, _to_json(table.names))
        every = range(0, len(table), LABEL_BLOCK) if rows is None else rows
        for block in sorted({int(row) // LABEL_BLOCK for row in every}):
            start, end = block * LABEL_BLOCK, min(len(table), (block + 1) * LABEL_BLOCK)
            columns = table.columns[table.starts[start] : table.starts[end]]
            parts = (part.astype("<i4").tobytes() for part in (table.counts[start:end], columns))
            record = _hashed((block, *parts))
            cursor.execute("INSERT OR REPLACE INTO item_labels VALUES (?, ?, ?, ?)", record)

    def put_decisions(self, cursor: sqlite3.Cursor, records: Iterable[tuple[Any, ...]]) -> None:
        """Write decisions: number, time, item, label, kind, decision, had, undone, who, action."""
        cursor.executemany(
            "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_hashed(tuple(record)) for record in records],
        )

    def put_lessons(self, cursor: sqlite3.Cursor, records: Iterable[tuple[Any, ...]]) -> None:
        """Write events of lessons: label, number, time, who, event, value."""
        cursor.executemany(
            "INSERT OR REPLACE INTO lessons VALUES (?, ?, ?, ?, ?, ?, ?)",
            [_hashed(tuple(record)) for record in records],
        )

    def put(self, cursor: sqlite3.Cursor, name: str, value: Any) -> None:
        """Note something about the whole index, if it is not noted already."""
        if value != self.about(name):
            record = _hashed((name, value))
            cursor.execute("INSERT OR REPLACE INTO about VALUES (?, ?, ?)", record)

    # --- reading ----------------------------------------------------------------------

    def select(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the records of a query."""
        with _errors(self._where, "read"):
            # With "yield from", a query that is left early would close its cursor, too late.
            for record in self._connection.execute(query, values):  # noqa: UP028
                yield record

    def _tables(self) -> list[str]:
        """List the definitions in the file: tables, views, triggers."""
        found = self.select("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY sql")
        return [sql for (sql,) in found]

    def about(self, name: str) -> Any:
        """Return a note about the whole index, or None."""
        for record in self.select("SELECT * FROM about WHERE name = ?", name):
            return self._verified(record, f"{name!r}")[1]
        return None

    def vocabulary(self) -> LabelVocabulary | None:
        """Return the vocabulary of the labels; None if there is none."""
        found = self.about(VOCABULARY)
        return None if found is None else LabelVocabulary.from_json(found)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make all reads inside see one state, whatever a writer does."""
        with _errors(self._where, "read"):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    @property
    def next_row(self) -> int:
        """Row number of the next item."""
        found = self.select("SELECT max(row) FROM items UNION ALL SELECT max(row) FROM removed")
        return 1 + max(-1 if last is None else int(last) for (last,) in found)

    def fetch(self, rows: Sequence[int], labels: LabelTable) -> dict[int, Item]:
        """Read the items in some rows; those that are not there are left out."""
        query = "SELECT items.* FROM json_each(?) JOIN items ON row = value"
        found = self.select(query, json.dumps(rows))
        return {values[0]: self._parsed(values, labels) for values in found}

    def scan(self, start: int = 0, labels: LabelTable | None = None) -> Iterator[tuple[int, Item]]:
        """Yield row and item of all items from a row on, in order."""
        for values in self.select("SELECT * FROM items WHERE row >= ? ORDER BY row", start):
            yield values[0], self._parsed(values, labels)

    def metadata(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield row and metadata of all items that have some, in order."""
        query = "SELECT row, metadata FROM items WHERE metadata != '{}' ORDER BY row"
        for row, text in self.select(query):
            yield row, self._metadata(text)

    def decisions(self) -> list[tuple[Any, ...]]:
        """Read all decisions, in their order."""
        found = self.select("SELECT * FROM decisions ORDER BY number, rowid")
        return [self._verified(values, "a decision") for values in found]

    def lessons(self, label: str | None = None, after: int = 0) -> list[tuple[Any, ...]]:
        """Read the events of all lessons, or of one after a number, in their order."""
        query = "SELECT * FROM lessons WHERE label = ifnull(?, label) AND number > ?"
        found = self.select(f"{query} ORDER BY label, number", label, after)
        return [self._verified(one, "an answer") for one in found]

    def label_table(self) -> LabelTable:
        """Read the labels of all rows."""
        with _errors(self._where, "read"):
            names = parse_json(str(self.about(_LABELS)).encode(), self._where)
            blocks = [
                self._verified(values, "a block of labels")[1:]
                for values in self.select("SELECT * FROM item_labels ORDER BY block")
            ]
            counts, columns = (
                np.frombuffer(b"".join(block[n] for block in blocks), dtype="<i4").copy()
                for n in (0, 1)
            )
            fits = (
                isinstance(names, list)
                and all(isinstance(name, str) for name in names)
                and len(set(names)) == len(names)
                and counts.size == self.next_row
                and counts.min(initial=-1) == -1
                and np.maximum(counts, 0).sum() == columns.size
                and columns.min(initial=0) == 0
                and columns.max(initial=-1) < len(names)
            )
        if not fits:
            raise InvalidFile(f"{self._where} is damaged: labels do not fit the items.")
        return LabelTable(names, counts, columns)

    def added(self, first: int, width: int) -> Array:
        """Return the vectors of all rows from ``first`` on."""
        parts = [np.zeros((0, width), dtype="<f4")]
        with _errors(self._where, "read"):
            for values in self.select("SELECT * FROM added ORDER BY first"):
                start, data = self._verified(values, "a part of the added vectors")
                if start != first:
                    break
                parts.append(np.frombuffer(data, dtype="<f4").reshape(-1, width))
                first += len(parts[-1])
        if first != self.next_row:
            raise InvalidFile(f"{self._where} is damaged: added rows are missing.")
        return np.concatenate(parts)

    def verify(self) -> None:
        """Check every record, and that there is an item for every row that was not removed."""
        with self.snapshot():
            count = sum(1 for _ in self.scan())
            self.label_table()
            self.decisions()
            self.lessons()
            ((removed,),) = self.select("SELECT count(*) FROM removed")
            if count + removed != self.next_row:
                raise InvalidFile(f"{self._where} is damaged: items are missing.")

    # --- internal ---------------------------------------------------------------------

    def _parsed(self, values: tuple[Any, ...], labels: LabelTable | None) -> Item:
        row, name, text, metadata = self._verified(values, f"the item in row {values[0]!r:.40}")
        if not isinstance(name, str) or not isinstance(text, str):
            raise InvalidFile(f"{self._where} is damaged: row {row!r:.40} is not an item.")
        own = None if labels is None or row >= len(labels) else labels.labels(row)
        return Item(name, text, own, self._metadata(metadata))

    def _metadata(self, text: str) -> dict[str, Any]:
        if text == "{}":
            return {}
        try:
            found = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            found = None
        plain = (str, bool, int, float, NoneType)
        if isinstance(found, dict) and all(isinstance(value, plain) for value in found.values()):
            return found
        raise InvalidFile(f"{self._where} is damaged: metadata is not a table of plain values.")

    def _verified(self, values: tuple[Any, ...], what: str) -> tuple[Any, ...]:
        """Return a record without its hash, which must be right."""
        if _hashed(values[:-1]) != values:
            raise InvalidFile(f"{self._where} is damaged: {what} is not what was written.")
        return values[:-1]


class ItemStore:
    """Items in a database, with their unit vectors, labels and words in memory.

    ``vectors`` and ``words`` are those of the rows of the last save; ``words`` is None if the index
    takes vectors. ``folder`` is where the files are, None in memory, and ``links`` the file of
    approximate search.
    """

    def __init__(
        self,
        database: ItemDatabase,
        vectors: Array,
        words: WordSearch | None,
        folder: Path | None = None,
        links: ArrayFile | None = None,
    ) -> None:
        self._database = database
        self._lock = threading.RLock()
        self.words, self.folder, self._links = words, folder, links
        self._computed: dict[str, Any] = {}
        with database.snapshot():
            self.revision = database.about(_REVISION)
            self.labels = database.label_table()
            self.vocabulary = database.vocabulary()
            removed = [row for (row,) in database.select("SELECT row FROM removed")]
            first, size = len(vectors), len(self.labels)
            fits = vectors.ndim == 2 and vectors.dtype == np.float32 and first <= size
            fits = fits and min(removed, default=0) >= 0
            if not fits or (words is not None and len(words) != first):
                raise InvalidFile("Vectors or words do not fit the items; the index is damaged.")
            self.vectors = UnitVectors(vectors)
            self.vectors.append(database.added(first, self.vectors.width))
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
        vectors, links = files.open("vectors").array("vectors"), open_ann(files)
        path, key = files.folder / ITEMS, field(content, "key", str)
        database = ItemDatabase.open(path, key, write=write, check=check)
        try:
            if files.verify or file_size(path) <= _SMALL_DATABASE:
                database.verify()
            return cls(database, vectors, words, files.folder, links)
        except BaseException:
            database.close()
            raise

    def write(
        self,
        files: Files,
        key: str,
        decisions: Sequence[tuple[Any, ...]] = (),
        lessons: Sequence[tuple[Any, ...]] = (),
    ) -> None:
        """Write items, vectors of all rows, more decisions and lessons, to a new folder."""
        with self._lock:
            if self.changed():
                raise Mismatch(
                    "save: a writer has changed the index since it was loaded; call refresh first."
                )
            self._database.write_file(files.folder / ITEMS, key, decisions, lessons)
            shape = (self.vectors.alive.size, self.vectors.width)
            parts = (block for _, block in self.vectors.blocks())
            files.write("vectors", {"vectors": Rows(shape, "<f4", parts)})

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def changed(self) -> bool:
        """Return whether a writer has changed the items since they were read."""
        return bool(self._database.about(_REVISION) != self.revision)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.vectors.alive))

    @property
    def many_added(self) -> bool:
        """Whether so many rows were added since the last save that opening takes longer.

        Their words are numbered whenever the index is opened; a save does that once.
        """
        saved = len(self.vectors.base)
        return self.vectors.alive.size - saved >= max(_MANY_ADDED, saved // 8)

    # --- changing ---------------------------------------------------------------------

    def add(self, items: Sequence[Item], vectors: Array, *, replace: bool) -> None:
        """Add items; ``replace`` allows them to replace items with the same ids."""
        with self._lock:
            there = self._known([item.id for item in items])
            if there and not replace:
                raise InvalidInput(
                    f"add: the id {min(there)!r} is already in the index; choose another, or give "
                    "replace=True."
                )
            gone = list(there.values())
            with self._database.change() as cursor:
                self._database.remove(cursor, gone)
                first = self._database.insert(cursor, items, vectors)
                lists: dict[int, Labels] = dict.fromkeys(gone)
                lists |= {first + n: item.labels for n, item in enumerate(items)}
                labels = self.labels.changed(lists)
                self._database.put_labels(cursor, labels, lists)
            self.vectors.append(vectors)
            self._add_words(items)
            self._drop(gone)
            self._take(labels)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove items; all ids must exist."""
        with self._lock:
            gone = sorted(set(self.rows(ids).tolist()))
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
                self._database.put_labels(cursor, labels, lists)
                self._database.put_decisions(cursor, decisions)
            self._take(labels)

    def use_vocabulary(self, vocabulary: LabelVocabulary) -> None:
        """Store names of labels and broader labels with the items."""
        with self._lock:
            with self._database.change() as cursor:
                self._database.put(cursor, VOCABULARY, vocabulary.to_json())
            self.vocabulary = vocabulary
            self._take(self.labels)

    def has_label(self, name: str) -> bool:
        """Return whether an item has a label, or the vocabulary knows it."""
        known = self.vocabulary is not None and name in self.vocabulary
        return known or name in self.labels.totals

    def decisions(self) -> list[tuple[Any, ...]]:
        """Read all decisions, as they were given to :meth:`relabel`."""
        with self._lock:
            return self._database.decisions()

    def lessons(self, label: str | None = None, after: int = 0) -> list[tuple[Any, ...]]:
        """Read the events of all lessons, or of one after a number: see :meth:`record_lesson`."""
        with self._lock:
            return self._database.lessons(label, after)

    def record_lesson(self, label: str, events: Sequence[tuple[str, str, str, str]]) -> None:
        """Append events (time, who, event, value) to the lesson of a label, on disk at once."""
        with self._lock, self._database.change(revised=False) as cursor:
            query = "SELECT coalesce(max(number), 0) FROM lessons WHERE label = ?"
            ((last,),) = self._database.select(query, label)
            numbered = [(label, n, *event) for n, event in enumerate(events, last + 1)]
            self._database.put_lessons(cursor, numbered)

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

    def _take(self, labels: LabelTable) -> None:
        """Replace the labels, and drop cached results."""
        self.labels = labels
        self._name_labels()
        self.revision = self._database.about(_REVISION)
        self._computed = {}

    def fresh_ids(self, count: int) -> list[str]:
        """Make ids for items without: unused numbers."""
        numbers = map(str, itertools.count(self.vectors.alive.size))
        return list(itertools.islice((one for one in numbers if self.find(one) is None), count))

    # --- rows -------------------------------------------------------------------------

    def _known(self, names: Sequence[Any]) -> dict[str, int]:
        """Return the rows of the names that are ids of items."""
        # Bytes: a name that no text could have, with half a character, is not an error.
        given = [name.encode("utf-8", "surrogatepass") for name in names if isinstance(name, str)]
        alive, found = self.vectors.alive, dict[str, int]()
        for start in range(0, len(given), _FETCHED_AT_ONCE):
            part = given[start : start + _FETCHED_AT_ONCE]
            each = ", ".join(["CAST(? AS TEXT)"] * len(part))
            with self._lock:
                query = f"SELECT id, row FROM items WHERE id IN ({each})"
                found.update(self._database.select(query, *part))
        # An item that a writer has added since is not known yet.
        return {name: row for name, row in found.items() if 0 <= row < alive.size and alive[row]}

    def find(self, name: Any) -> int | None:
        """Return the row of an item by its id; None if there is none."""
        return next(iter(self._known([name]).values()), None)

    def row(self, name: Any) -> int:
        """Return the row of an item by its id; raise an error if there is none."""
        return int(self.rows([name])[0])

    def rows(self, names: Iterable[Any]) -> Array:
        """Return the rows of items by their ids; raise an error if one is not there."""
        given = list(names)
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
        alive = self.vectors.alive
        with self._lock:
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

    @cached_property
    def ann(self) -> AnnIndex | None:
        """What proposes near rows in a large index that was saved; None if search is exact."""
        if self._links is None:
            return None
        return AnnIndex.read(self._links, *self.vectors.base.shape)

    # --- computed from items and labels -----------------------------------------------

    def stored(self, name: str) -> Any:
        """Return what :meth:`keep` wrote for these items and labels; None if there is none."""
        if self.folder is None:
            return None
        try:
            file = ArrayFile(self.folder / f"{name}.arrays", mapped=False)
            current = file.about.get("revision") == self.revision
            return parse_json(bytes(file.array("json")), file.path) if current else None
        except (InvalidFile, OSError):
            return None

    def keep(self, name: str, value: Any) -> None:
        """Cache a result that was computed from the current items and labels."""
        if self.folder is None or not self.folder.is_dir():
            return
        data = np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
        with suppress(InvalidFile, OSError):
            write_arrays(self.folder / f"{name}.arrays", {"json": data}, revision=self.revision)

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """Return the result of a function of the items and labels, cached until these change."""
        with self._lock:
            if name not in self._computed:
                self._computed[name] = compute()
            found: T = self._computed[name]
            return found

    def fields(self) -> dict[str, MetadataField]:
        """Return the metadata by fields."""
        return self.once(
            "fields", lambda: read_fields(self._database.metadata(), self.vectors.alive)
        )

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


# --- items and decisions of an index of this format or an older one, to fit it again ----------


class IndexItems:
    """Items of an index in a folder, as a stream that :func:`fit_stream` takes."""

    def __init__(self, folder: Path) -> None:
        content = read_manifest(folder, older=True)
        self._old = content["version"] < _FIRST_FORMAT
        self._path = generation_folder(folder, content) / ITEMS
        self._key = field(content, "key", str)
        self.name = str(folder)
        settings = content.get("settings")
        known = settings.get("fields") if isinstance(settings, dict) else None
        self.corpus_fields: dict[str, Any] = known if isinstance(known, dict) else {}
        about = self._path.stat()
        # What must be the same for an interrupted fit to go on.
        self.fingerprint: Mapping[str, Any] = {
            "index": self._key,
            "bytes": about.st_size,
            "changed": about.st_mtime_ns,
        }

    def items(self, skip: int = 0) -> Generator[Item, None, None]:
        """Yield the items in their order, without the first ones."""
        with closing(_older_items(self._path) if self._old else self._items()) as every:
            yield from itertools.islice(every, skip, None)

    def vocabulary(self) -> LabelVocabulary | None:
        """Return the vocabulary of the labels; None if there is none, or in older formats."""
        if self._old:
            return None
        with closing(ItemDatabase.open(self._path, self._key, write=False)) as database:
            return database.vocabulary()

    def _items(self) -> Generator[Item, None, None]:
        with closing(ItemDatabase.open(self._path, self._key, write=False)) as database:
            for _, item in database.scan(labels=database.label_table()):
                yield item


def _older_items(path: Path) -> Generator[Item, None, None]:
    """Read the table of formats up to 4, with labels as JSON in each row."""
    file_size(path)
    query = "SELECT id, text, labels, metadata FROM items ORDER BY row"
    with _errors(path, "read"), closing(_connect(path, "?mode=ro")) as connection:
        for name, text, labels, metadata in connection.execute(query):
            own = None if labels is None else json.loads(labels)
            yield Item(
                read_ids([name], 1, "fit")[0],
                str(text),
                read_label_lists([own], 1, "fit")[0],
                read_metadata([json.loads(metadata)], 1, "fit")[0],
            )


def read_decisions(folder: Path) -> list[tuple[Any, ...]]:
    """Read the decisions of the index in a folder whose lock is held; empty if there is none."""
    if not (folder / "manifest.json").exists():
        return []
    content = read_manifest(folder, older=True)
    if content["version"] < _FIRST_FORMAT:
        return _older_decisions(folder / "decisions.jsonl")
    with closing(_locked_database(folder, content)) as database:
        return database.decisions()


def read_lessons(folder: Path) -> list[tuple[Any, ...]]:
    """Read the lessons of the index in a folder whose lock is held; empty if there is none."""
    if not (folder / "manifest.json").exists():
        return []
    content = read_manifest(folder, older=True)
    if content["version"] <= _FIRST_FORMAT:
        return []
    with closing(_locked_database(folder, content)) as database:
        return database.lessons()


def _locked_database(folder: Path, content: Mapping[str, Any]) -> ItemDatabase:
    path = generation_folder(folder, content) / ITEMS
    return ItemDatabase.open(path, field(content, "key", str), write=False, locked=True)


def _older_decisions(path: Path) -> list[tuple[Any, ...]]:
    """Read the log of formats up to 4: a JSON object per line, the last of which may be torn."""
    if not path.exists():
        return []
    file_size(path)
    found: list[tuple[Any, ...]] = []
    undone: set[int] = set()
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
            what = record["decision"]
            if what == "undo":
                undone.add(int(record["of"]))
            elif what != "applied":
                start = int(record["number"]), record["time"]
                for one in record["pairs"]:
                    had = None if one["had"] is None else int(one["had"])
                    pair = one["item"], one["label"], one["kind"]
                    found.append((*start, *pair, what, had))
        except (ValueError, KeyError, TypeError):
            continue
    return [(*one, int(one[0] in undone), "", "review") for one in found]
