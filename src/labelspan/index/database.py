"""The SQLite database of an index, in memory or in a file.

    items        row, id, text and metadata (JSON) of each item; a row number is never reused
    item_labels  labels of 4,096 rows: how many each has (-1: unknown), and their numbers
    removed      rows whose items were removed
    added        vectors of rows that were added after the last save; with the number -1 - row
                 of one whose vector follows from links that have changed
    history      what was changed at once, when and by whom (see :mod:`.history`)
    changes      the values before and after each of these changes
    about        key of the index, names of the labels by number, vocabulary of the labels, a
                 revision that grows with every change of items or labels, how many labelled items
                 were touched by these changes, and how many rows the items of the fit have

A change is one transaction, on disk when its call returns. Each record has a hash, which is checked
when it is read. Files from elsewhere are opened without running anything in them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sqlite3
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import NoneType
from typing import Any, Self

import numpy as np

from .._arrays import parse_json
from .._files import check_descriptors, file_size, write_whole
from .._typing import Array
from ..corpus import LabelVocabulary
from ..errors import InvalidFile, LabelspanError
from .folder import ITEMS, field, generation_folder, read_manifest
from .history import By, Group, Past, Row, now
from .label_table import LabelTable
from .links import LINK_FIELDS, LinkFields
from .results import Item

__all__ = ["IndexItems", "ItemDatabase", "Past", "read_history"]

_TABLES = (
    "CREATE TABLE items (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text, metadata, hash)",
    "CREATE TABLE item_labels (block INTEGER PRIMARY KEY, counts, numbers, hash)",
    "CREATE TABLE removed (row INTEGER PRIMARY KEY)",
    "CREATE TABLE added (first INTEGER PRIMARY KEY, vectors, hash)",
    "CREATE TABLE about (name TEXT PRIMARY KEY, value, hash)",
    "CREATE TABLE history (number INTEGER PRIMARY KEY, time, who, action, undoes, hash)",
    "CREATE TABLE changes (number INTEGER PRIMARY KEY, part_of, item, field, before, after, hash)",
    "CREATE INDEX changes_by_group ON changes (part_of, item)",
    "CREATE INDEX changes_by_cell ON changes (item, field)",
    "CREATE INDEX changes_by_field ON changes (field)",
)
# Of indexes of formats 5 and 6, which are only read, to fit them again.
_OLDER = (
    *_TABLES[:4],
    "CREATE TABLE decisions (number, time, item, label, kind, decision, had, undone, who, action, "
    "hash, PRIMARY KEY (number, item, label))",
    _TABLES[4],
    "CREATE TABLE events (about, number, time, who, event, value, hash, "
    "PRIMARY KEY (about, number))",
)
_OLDER_ORDER = {"decisions": "number, rowid", "events": "about, number"}
# Names in the table about.
VOCABULARY, _KEY, _LABELS, REVISION = "vocabulary", "key", "labels", "revision"
TOUCHED, FITTED = "touched", "fitted"
# Rows whose labels are one record.
LABEL_BLOCK = 4096
# Bytes of the vectors of one record, about.
_ADDED_BYTES = 1 << 23
_MEMORY = ":memory:"
# Largest text or array that is written or read, in bytes.
LARGEST_VALUE = 1 << 26
_TIMEOUT = 10.0
# How SQLite reports too little memory; the second is that of the file that readers share.
_NO_MEMORY = (sqlite3.SQLITE_IOERR_NOMEM, sqlite3.SQLITE_IOERR_SHMMAP)
# Memory for a database that is filled, in KiB.
_BUILD_CACHE = 1 << 18
# Files that SQLite may put next to a database: write-ahead log, shared memory, journal.
_SIDE_FILES = ("-wal", "-shm", "-journal")
# Format from which an index has a log.
_FIRST_LOG = 7
# What the log of a database must hold, if it could not be merged.
_LOG_NOTE, _LONGEST_NOTE = "log.json", 100


@contextmanager
def _errors(where: str | Path, what: str) -> Iterator[None]:
    """Raise errors of SQLite as errors of a file that cannot be opened, read or written."""
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, LabelspanError):
            raise
        if getattr(error, "sqlite_errorcode", None) in _NO_MEMORY:
            raise MemoryError from error
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
        # One that is not closed is closed with its last user: a save or a refresh replaces the
        # database under threads that still read the old one.
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
            older = [sorted(_OLDER), sorted(_OLDER[:-1])]
            if found != sorted(_TABLES) and (write or found not in older):
                raise InvalidFile(
                    f"{path}: its tables are not those of an index of this version: it is "
                    "damaged, or was written by an unreleased version; fit it again."
                )
            if opened.about(_KEY) != key:
                raise InvalidFile(f"{path} belongs to another index; it is not opened.")
            opened._check_log(path)
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
                    for name, value in ((_KEY, key), (_LABELS, "[]"), (REVISION, 0), (TOUCHED, 0)):
                        made.put(cursor, name, value)
                    cursor.execute("COMMIT")
        except BaseException:
            made.close()
            raise
        return made

    def write_file(self, path: Path, key: str, past: Past | None = None) -> None:
        """Write all of it to a new file under another key; it is on disk when this returns.

        Rows that were added later are not kept apart any more: the caller writes their vectors.
        """
        with _errors(path, "written"), closing(_connect(path)) as target:
            self._connection.backup(target)
            self.put(target.cursor(), _KEY, key)
            target.execute("DELETE FROM added")
            if past is not None and past.groups and not self.last_number:
                written = type(self)(target, str(path))
                written.carry(target.cursor(), past)
            target.execute("PRAGMA journal_mode = WAL")
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def finish(self) -> None:
        """Bring all that was written into one file, and close it."""
        with closing(self), _errors(self._where, "written"):
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # --- the log ----------------------------------------------------------------------

    def merge_log(self) -> None:
        """Merge the log of the changes into the file, so that a damaged log loses none.

        If a reader or a full disk prevents that, what the log must hold is recorded.
        """
        if self._where == _MEMORY:
            return
        note, merged = Path(self._where).with_name(_LOG_NOTE), False
        # The change is on disk, and stays so whatever happens here.
        with suppress(sqlite3.Error, OSError):
            execute = self._connection.execute
            execute("PRAGMA busy_timeout = 0")
            try:
                merged = execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
            finally:
                execute(f"PRAGMA busy_timeout = {int(1000 * _TIMEOUT)}")
            if merged:
                note.unlink(missing_ok=True)
        if not merged:
            with suppress(sqlite3.Error, LabelspanError, OSError):
                state = json.dumps(self._state()).encode()
                write_whole(note, lambda file: file.write(state))

    def _state(self) -> list[int]:
        """Return two numbers that grow with every change."""
        return [self.about(REVISION), self.last_number]

    def _check_log(self, path: Path) -> None:
        """Raise an error if changes are missing that the log held."""
        note = path.with_name(_LOG_NOTE)
        if not os.path.lexists(note) or file_size(note) > _LONGEST_NOTE:
            return
        noted = parse_json(note.read_bytes(), note)
        whole = isinstance(noted, list) and len(noted) == 2 and all(type(n) is int for n in noted)
        if not whole or any(n > own for n, own in zip(noted, self._state(), strict=True)):
            raise InvalidFile(
                f"{path}: changes are missing, because its log {path.name}-wal is damaged or gone; "
                f"restore the log, or remove {note.name} to do without them."
            )

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
                    self.put(cursor, REVISION, self.about(REVISION) + 1)
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
        self.put_items(cursor, dict(enumerate(items, first)))
        if vectors is not None:
            step = max(1, _ADDED_BYTES // max(1, 4 * vectors.shape[1]))
            for start in range(0, len(vectors), step):
                part = np.ascontiguousarray(vectors[start : start + step], dtype="<f4").tobytes()
                cursor.execute("INSERT INTO added VALUES (?, ?, ?)", _hashed((first + start, part)))
        return first

    def put_moved(self, cursor: sqlite3.Cursor, rows: Array, vectors: Array) -> None:
        """Write other vectors of rows."""
        given = np.ascontiguousarray(vectors, dtype="<f4")
        cursor.executemany(
            "INSERT OR REPLACE INTO added VALUES (?, ?, ?)",
            [_hashed((-1 - int(row), one.tobytes())) for row, one in zip(rows, given, strict=True)],
        )

    def moved(self, width: int) -> tuple[Array, Array]:
        """Return the rows that have other vectors, increasing, and these."""
        with _errors(self._where, "read"):
            found = self.select("SELECT * FROM added WHERE first < 0 ORDER BY first DESC")
            pairs = [self.verified(one, "a vector that has changed") for one in found]
            data = b"".join(one for _, one in pairs)
            vectors = np.frombuffer(data, dtype="<f4").reshape(-1, width)
            rows = np.array([-1 - number for number, _ in pairs], dtype=np.intp)
        if len(vectors) != rows.size or rows.max(initial=-1) >= self.next_row:
            raise InvalidFile(f"{self._where} is damaged: vectors do not fit the items.")
        return rows, vectors

    def put_items(self, cursor: sqlite3.Cursor, items: Mapping[int, Item]) -> None:
        """Write items to some rows, new ones or existing ones."""
        cursor.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?) ON CONFLICT (row) DO UPDATE "
            "SET text = excluded.text, metadata = excluded.metadata, hash = excluded.hash",
            [
                _hashed((row, item.id, item.text, _to_json(item.metadata)))
                for row, item in items.items()
            ],
        )

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
        self.put_names(cursor, table.names)
        every = range(0, len(table), LABEL_BLOCK) if rows is None else rows
        for block in sorted({int(row) // LABEL_BLOCK for row in every}):
            start, end = block * LABEL_BLOCK, min(len(table), (block + 1) * LABEL_BLOCK)
            columns = table.columns[table.starts[start] : table.starts[end]]
            parts = (part.astype("<i4").tobytes() for part in (table.counts[start:end], columns))
            record = _hashed((block, *parts))
            cursor.execute("INSERT OR REPLACE INTO item_labels VALUES (?, ?, ?, ?)", record)

    def log(self, cursor: sqlite3.Cursor, by: By, rows: Iterable[Row], time: str = "") -> int:
        """Append what was changed at once to the log; return its number."""
        group = self.last_number + 1
        ((last,),) = self.select("SELECT coalesce(max(number), 0) FROM changes")
        record = _hashed((group, time or now(), *by.checked()))
        cursor.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)", record)
        cursor.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)",
            (_hashed((number, group, *row)) for number, row in enumerate(rows, last + 1)),
        )
        return group

    def put_names(self, cursor: sqlite3.Cursor, names: Sequence[str]) -> None:
        """Write the names of labels, by number."""
        self.put(cursor, _LABELS, _to_json(list(names)))

    def names(self) -> list[str]:
        """Return the names of labels, by number."""
        found = parse_json(str(self.about(_LABELS)).encode(), self._where)
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise InvalidFile(f"{self._where} is damaged: labels have no names.")
        return found

    def past(self, version: int) -> Past:
        """Return the whole log; of an older format, what is in effect."""
        if version < _FIRST_LOG:
            from .older_history import read_older  # noqa: PLC0415 - only for an older index

            tables = {name for (name,) in self.select("SELECT name FROM sqlite_master")}
            return read_older(self.names(), *(self._older(name, tables) for name in _OLDER_ORDER))
        groups: list[tuple[str, By, list[Row]]] = [
            (one.time, By(one.who, one.action, one.undoes), []) for one in self.groups()
        ]
        for _, group, *row in self.rows():
            groups[group - 1][2].append(tuple(row))
        return Past(self.names(), groups)

    def _older(self, table: str, tables: set[str]) -> list[tuple[Any, ...]]:
        if table not in tables:
            return []
        query = f"SELECT * FROM {table} ORDER BY {_OLDER_ORDER[table]}"
        return [self.verified(one) for one in self.select(query)]

    def carry(self, cursor: sqlite3.Cursor, past: Past) -> None:
        """Append the log of the index that this one replaces, with its own numbers of labels."""
        names = self.names()
        number = {name: n for n, name in enumerate(names)}
        for name in past.names:
            if name not in number:
                number[name] = len(names)
                names.append(name)
        self.put_names(cursor, names)
        first = self.last_number
        for time, by, rows in past.groups:
            own = [past.renumbered(row, number) for row in rows]
            undoes = by.undoes + first if by.undoes else 0
            self.log(cursor, by._replace(undoes=undoes), own, time)

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
            return self.verified(record, f"{name!r}")[1]
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

    @property
    def last_number(self) -> int:
        """Number of the last change in the log, 0 if there is none."""
        ((last,),) = self.select("SELECT coalesce(max(number), 0) FROM history")
        return int(last)

    def groups(self, condition: str = "1", *values: Any) -> list[Group]:
        """Read what was changed at once, in order."""
        query = f"SELECT * FROM history WHERE {condition}"
        found = self.select(query, *values)
        return [Group(*self.verified(one, "an entry of the history")) for one in found]

    def rows(self, condition: str = "1 ORDER BY number", *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield number, group, item, field, before and after of changes in the log."""
        for one in self.select(f"SELECT * FROM changes WHERE {condition}", *values):
            yield self.verified(one, "a change of the history")

    def label_table(self) -> LabelTable:
        """Read the labels of all rows."""
        with _errors(self._where, "read"):
            names = self.names()
            blocks = [
                self.verified(values, "a block of labels")[1:]
                for values in self.select("SELECT * FROM item_labels ORDER BY block")
            ]
            counts, columns = (
                np.frombuffer(b"".join(block[n] for block in blocks), dtype="<i4").copy()
                for n in (0, 1)
            )
            fits = (
                len(set(names)) == len(names)
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
            for values in self.select("SELECT * FROM added WHERE first >= 0 ORDER BY first"):
                start, data = self.verified(values, "a part of the added vectors")
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
            self.groups()
            sum(1 for _ in self.rows())
            ((removed,),) = self.select("SELECT count(*) FROM removed")
            if count + removed != self.next_row:
                raise InvalidFile(f"{self._where} is damaged: items are missing.")

    # --- internal ---------------------------------------------------------------------

    def _parsed(self, values: tuple[Any, ...], labels: LabelTable | None) -> Item:
        row, name, text, metadata = self.verified(values, f"the item in row {values[0]!r:.40}")
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

    def verified(self, values: tuple[Any, ...], what: str = "a record") -> tuple[Any, ...]:
        """Return a record without its hash, which must be right."""
        if _hashed(values[:-1]) != values:
            raise InvalidFile(f"{self._where} is damaged: {what} is not what was written.")
        return values[:-1]


# --- items and log of an index that is fitted again ----------------------------------------------


class IndexItems:
    """Items of an index in a folder, as a stream that :func:`fit_stream` takes."""

    def __init__(self, folder: Path) -> None:
        content = read_manifest(folder, older=True)
        self._path = generation_folder(folder, content) / ITEMS
        self._key, self._version = field(content, "key", str), content["version"]
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
        with closing(self._open()) as database:
            every = database.scan(labels=database.label_table())
            for _, item in itertools.islice(every, skip, None):
                yield item

    def vocabulary(self) -> LabelVocabulary | None:
        """Return the vocabulary of the labels; None if there is none."""
        with closing(self._open()) as database:
            return database.vocabulary()

    def link_fields(self) -> LinkFields | None:
        """Return the fields that hold links; None if there are none."""
        with closing(self._open()) as database:
            return LinkFields.from_json(database.about(LINK_FIELDS))

    def past(self) -> Past:
        """Return the history of the index."""
        with closing(self._open()) as database:
            return database.past(self._version)

    def _open(self) -> ItemDatabase:
        return ItemDatabase.open(self._path, self._key, write=False)


def read_history(folder: Path) -> Past:
    """Read the log of the index in a folder whose lock is held, if there is one."""
    if not (folder / "manifest.json").exists():
        return Past([], [])
    content = read_manifest(folder, older=True)
    path, key = generation_folder(folder, content) / ITEMS, field(content, "key", str)
    with closing(ItemDatabase.open(path, key, write=False, locked=True)) as database:
        return database.past(content["version"])
