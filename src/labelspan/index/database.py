"""SQLite database of an index: items, their labels, decisions about labels, and added vectors.

    items        row, id, text and metadata (JSON) of each item; a row number is never reused
    labels       number and name of each label
    item_labels  labels of 4,096 rows: how many each has (-1: unknown), and their numbers
    removed      rows whose items were removed
    segments     arrays of rows that were added after the fit, for example their vectors
    decisions    what was decided about labels of items
    about        key of the index, next row, and a revision that grows with every change

Every change is one transaction, on disk when its call returns. Each record has a hash, which is
checked when it is read. Files from elsewhere are opened without running anything in them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from .._typing import Array
from ..errors import InvalidFile, InvalidInput, Replaced
from .files import check_descriptors, file_size
from .item_labels import LabelTable

__all__ = ["ItemDatabase", "ItemRecord"]

_SCHEMA = """
CREATE TABLE items (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    hash BLOB NOT NULL
);
CREATE TABLE labels (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE item_labels (
    block INTEGER PRIMARY KEY,
    counts BLOB NOT NULL,
    numbers BLOB NOT NULL,
    hash BLOB NOT NULL
);
CREATE TABLE removed (row INTEGER PRIMARY KEY);
CREATE TABLE segments (
    first INTEGER NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (first, name)
);
CREATE TABLE decisions (
    number INTEGER NOT NULL,
    time TEXT NOT NULL,
    item TEXT NOT NULL,
    label TEXT NOT NULL,
    kind TEXT NOT NULL,
    decision TEXT NOT NULL,
    had INTEGER,
    undone INTEGER NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (number, item, label)
);
CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""
# Rows whose labels are one record.
LABEL_BLOCK = 4096
# Bytes of the vectors of one segment, about.
_SEGMENT_BYTES = 1 << 23
# Largest text or array that is written or read, in bytes.
LARGEST_VALUE = 1 << 26
# Row numbers stay far below the largest integer of SQLite.
_LARGEST_COUNT = 1 << 53
_TIMEOUT = 10.0
_FETCHED_AT_ONCE = 500
# Memory for a database that is filled, in KiB.
_BUILD_CACHE = 1 << 18
# Files that SQLite may put next to a database: write-ahead log, shared memory, journal.
_SIDE_FILES = ("-wal", "-shm", "-journal")


class ItemRecord(NamedTuple):
    """Id, text and metadata of an item, as they are stored."""

    id: str
    text: str
    metadata: dict[str, Any]


class ItemDatabase:
    """Database in memory or in a file.

    Parameters
    ----------
    connection : sqlite3.Connection
    where : str
        Its name in error messages.
    check : function or None, default=None
        Called before each change; raises an error if the file is not that of the index any more.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        where: str,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._connection = connection
        self._where = where
        self._check = check

    # --- opening ----------------------------------------------------------------------

    @classmethod
    def create(cls, key: str = "memory") -> Self:
        """Make an empty database in memory."""
        made = cls(_connect(":memory:"), "the index")
        made._create_tables(key)
        return made

    @classmethod
    def open(
        cls,
        path: Path,
        key: str,
        *,
        write: bool,
        check: Callable[[], None] | None = None,
        locked: bool = False,
    ) -> Self:
        """Open a file, if it belongs to the manifest with this key.

        ``locked`` says that the caller holds the lock of the folder, so that nobody writes.
        """
        log, shared, journal = (path.with_name(path.name + end) for end in _SIDE_FILES)
        file_size(path)
        for side_file in (log, shared):
            if os.path.lexists(side_file):
                file_size(side_file)
        if os.path.lexists(journal):
            # An index uses a log instead; a journal could name other files for SQLite to delete.
            raise InvalidFile(f"{journal} does not belong to an index; it is not opened.")
        mode = "mode=rw" if write else "mode=ro"
        empty = not log.exists() or (locked and file_size(log) == 0)
        if not write and empty and (locked or not os.access(path.parent, os.W_OK)):
            # Readers of a log write to a shared file, for which a full disk has no room and a
            # read-only one no place; without a writer and a log it is not needed.
            mode = "immutable=1"
        opened = cls(_connect(path, f"?{mode}"), str(path))
        try:
            opened._check = _same_file(path, check)
            with opened.reading():
                foreign = opened._tables() != _expected_tables()
                found = None if foreign else opened._about("key")
            if foreign:
                raise InvalidFile(f"{path} is damaged: its tables are not those of an index.")
            if found != key:
                raise InvalidFile(f"{path} belongs to another index; it is not opened.")
        except BaseException:
            opened.close()
            raise
        return opened

    @classmethod
    def build(cls, path: Path, key: str) -> Self:
        """Make or continue a database in a file that no reader has open, to be filled by parts."""
        there = path.exists()
        made = cls(_connect(path), str(path))
        with made._writing():
            made._connection.execute("PRAGMA journal_mode = WAL")
            made._connection.execute("PRAGMA synchronous = NORMAL")
            made._connection.execute(f"PRAGMA cache_size = -{_BUILD_CACHE}")
        if there and made._tables() == _expected_tables() and made._about("key") == key:
            return made
        made._create_tables(key)
        return made

    def write_file(self, path: Path, key: str, decisions: Iterable[tuple[Any, ...]] = ()) -> None:
        """Write all of it to a new file under another key; it is on disk when this returns.

        Rows that were added later are not kept apart any more: the caller writes their vectors.
        """
        with self._writing(path), closing(_connect(path)) as target:
            self._connection.backup(target)
            target.execute("UPDATE about SET value = ? WHERE name = 'key'", (key,))
            target.execute("DELETE FROM segments")
            self.put_decisions(target.cursor(), decisions)
            target.execute("PRAGMA journal_mode = WAL")
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def finish(self) -> None:
        """Bring all that was written into one file, and close it."""
        with self._writing():
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _create_tables(self, key: str) -> None:
        with self._writing():
            for statement in _SCHEMA.split(";"):
                self._connection.execute(statement)
            about = {"key": key, "next": 0, "revision": 0}
            self._connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())

    # --- changing ---------------------------------------------------------------------

    @contextmanager
    def change(self) -> Iterator[sqlite3.Cursor]:
        """Make one transaction of all changes inside; on failure nothing is changed."""
        with self._writing():
            cursor = self._connection.cursor()
            cursor.execute("BEGIN IMMEDIATE")
            try:
                if self._check is not None:
                    self._check()
                yield cursor
                cursor.execute("UPDATE about SET value = value + 1 WHERE name = 'revision'")
                cursor.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    cursor.execute("ROLLBACK")
                raise

    def insert(self, cursor: sqlite3.Cursor, items: Iterable[ItemRecord]) -> int:
        """Add items in the next rows; return the first of them."""
        first = self._whole("next")
        end = first
        values = []
        for item in items:
            values.append(_format_item(end, item))
            end += 1
        cursor.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", values)
        cursor.execute("UPDATE about SET value = ? WHERE name = 'next'", (end,))
        return first

    def insert_rows(self, cursor: sqlite3.Cursor, first: int, vectors: Array) -> None:
        """Keep the vectors of items that were added after the fit."""
        step = max(1, _SEGMENT_BYTES // max(1, 4 * vectors.shape[1]))
        for start in range(0, len(vectors), step):
            self._put_segment(cursor, first + start, "vectors", vectors[start : start + step])

    def _put_segment(self, cursor: sqlite3.Cursor, first: int, name: str, values: Array) -> None:
        out = io.BytesIO()
        np.lib.format.write_array(out, np.ascontiguousarray(values), allow_pickle=False)
        record = (first, name, out.getvalue())
        cursor.execute("INSERT INTO segments VALUES (?, ?, ?, ?)", (*record, _hash(record)))

    def remove(self, cursor: sqlite3.Cursor, rows: Sequence[int]) -> None:
        """Remove the items in some rows."""
        given = [(int(row),) for row in rows]
        cursor.executemany("DELETE FROM items WHERE row = ?", given)
        cursor.executemany("INSERT INTO removed VALUES (?)", given)

    def put_labels(
        self, cursor: sqlite3.Cursor, table: LabelTable, rows: Iterable[int] | None = None
    ) -> None:
        """Write the labels of the blocks that hold some rows; None writes all blocks."""
        blocks: Iterable[int] = range(-(-len(table) // LABEL_BLOCK))
        if rows is not None:
            blocks = sorted({int(row) // LABEL_BLOCK for row in rows})
        known = cursor.execute("SELECT count(*) FROM labels").fetchone()[0]
        names = enumerate(table.names[known:], start=known)
        cursor.executemany("INSERT INTO labels VALUES (?, ?)", names)
        for block in blocks:
            start, end = block * LABEL_BLOCK, min(len(table), (block + 1) * LABEL_BLOCK)
            counts, numbers = (part.astype("<i4").tobytes() for part in table.block(start, end))
            record = (block, counts, numbers)
            cursor.execute(
                "INSERT OR REPLACE INTO item_labels VALUES (?, ?, ?, ?)", (*record, _hash(record))
            )

    def truncate(self, count: int) -> None:
        """Remove the rows from a number on, which a stopped fit left behind."""
        with self.change() as cursor:
            cursor.execute("DELETE FROM items WHERE row >= ?", (count,))
            cursor.execute("UPDATE about SET value = ? WHERE name = 'next'", (count,))

    # --- decisions --------------------------------------------------------------------

    def put_decisions(self, cursor: sqlite3.Cursor, records: Iterable[tuple[Any, ...]]) -> None:
        """Write decisions: number, time, item, label, kind, decision, had, undone, who, action."""
        cursor.executemany(
            "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(*record, _hash(record)) for record in records],
        )

    def decisions(self) -> list[tuple[Any, ...]]:
        """Read all decisions, in their order."""
        with self.reading():
            found = self._connection.execute(
                "SELECT * FROM decisions ORDER BY number, rowid"
            ).fetchall()
            for values in found:
                self._verify(values, "a decision")
            return [values[:-1] for values in found]

    # --- reading ----------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make all reads inside see one state, whatever a writer does."""
        with self.reading():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    @property
    def next_row(self) -> int:
        """Row number of the next item."""
        with self.reading():
            return self._whole("next")

    @property
    def revision(self) -> int:
        """Number that grows with every change."""
        with self.reading():
            return self._whole("revision")

    def fetch(self, rows: Sequence[int]) -> dict[int, ItemRecord]:
        """Read the items in some rows; those that are not there are left out."""
        found: dict[int, ItemRecord] = {}
        with self.reading():
            for start in range(0, len(rows), _FETCHED_AT_ONCE):
                part = [int(row) for row in rows[start : start + _FETCHED_AT_ONCE]]
                marks = ",".join("?" * len(part))
                query = f"SELECT * FROM items WHERE row IN ({marks})"
                for values in self._connection.execute(query, part):
                    found[values[0]] = self._parsed(values)
        return found

    def scan(self, start: int = 0) -> Iterator[tuple[int, ItemRecord]]:
        """Yield all items from a row on, in order."""
        with self.reading():
            query = "SELECT * FROM items WHERE row >= ? ORDER BY row"
            for values in self._connection.execute(query, (start,)):
                yield values[0], self._parsed(values)

    def ids(self) -> Iterator[tuple[int, str]]:
        """Yield row and id of all items, in order."""
        with self.reading():
            yield from self._connection.execute("SELECT row, id FROM items ORDER BY row")

    def metadata(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield row and metadata of all items that have some, in order."""
        query = "SELECT row, metadata FROM items WHERE metadata != '{}' ORDER BY row"
        with self.reading():
            for row, text in self._connection.execute(query):
                yield row, _metadata(text)

    def row_of(self, name: str) -> int | None:
        """Return the row of an id; None if there is none."""
        with self.reading():
            query = "SELECT row FROM items WHERE id = ?"
            found = self._connection.execute(query, (name,)).fetchone()
            return None if found is None else int(found[0])

    def removed(self) -> Array:
        """Return the rows whose items were removed."""
        with self.reading():
            found = self._connection.execute("SELECT row FROM removed ORDER BY row").fetchall()
            return np.array([row for (row,) in found], dtype=np.int64)

    def label_table(self) -> LabelTable:
        """Read the labels of all rows."""
        with self.reading():
            size = self._whole("next")
            query = "SELECT number, name FROM labels ORDER BY number"
            names = self._connection.execute(query).fetchall()
            if [number for number, _ in names] != list(range(len(names))):
                raise InvalidFile(f"{self._where} is damaged: a label is missing.")
            counts: list[Array] = [np.zeros(0, "<i4")]
            numbers: list[Array] = [np.zeros(0, "<i4")]
            records = self._connection.execute("SELECT * FROM item_labels ORDER BY block")
            for block, values in enumerate(records):
                self._verify(values, "a block of labels")
                own = [np.frombuffer(part, dtype="<i4") for part in values[1:3]]
                length = min(LABEL_BLOCK, size - block * LABEL_BLOCK)
                fits = values[0] == block and own[0].size == length and own[0].min() >= -1
                if not fits or np.maximum(own[0], 0).sum() != own[1].size:
                    raise InvalidFile(f"{self._where} is damaged: labels do not fit the items.")
                counts.append(own[0])
                numbers.append(own[1])
        found = LabelTable(
            [name for _, name in names], np.concatenate(counts), np.concatenate(numbers)
        )
        columns = found.columns
        if len(found) != size or (
            columns.size and not 0 <= columns.min() <= columns.max() < len(names)
        ):
            raise InvalidFile(f"{self._where} is damaged: labels do not fit the items.")
        return found

    def segments(self, first: int, name: str) -> Iterator[Array]:
        """Yield the arrays of a name for rows from ``first`` on, which must be whole."""
        with self.reading():
            end = self._whole("next")
            query = "SELECT * FROM segments WHERE name = ? AND first >= ? ORDER BY first"
            for values in self._connection.execute(query, (name, first)):
                self._verify(values, "a segment")
                array = np.lib.format.read_array(io.BytesIO(values[2]), allow_pickle=False)
                if values[0] != first or not 0 < len(array) <= end - first:
                    raise InvalidFile(f"{self._where} is damaged: added rows are missing.")
                first += len(array)
                yield array
            if first != end:
                raise InvalidFile(f"{self._where} is damaged: added rows are missing.")

    def verify(self) -> None:
        """Check every record, and that there is an item for every row that was not removed."""
        with self.snapshot():
            count = sum(1 for _ in self.scan())
            self.label_table()
            self.decisions()
            if count != self._whole("next") - len(self.removed()):
                raise InvalidFile(f"{self._where} is damaged: items are missing.")
            for values in self._connection.execute("SELECT * FROM segments"):
                self._verify(values, "a segment")

    # --- internal ---------------------------------------------------------------------

    def _parsed(self, values: tuple[Any, ...]) -> ItemRecord:
        self._verify(values, f"the item in row {values[0]!r:.40}")
        row, name, text, metadata, _ = values
        if type(row) is not int or not isinstance(name, str) or not isinstance(text, str):
            raise ValueError(f"the content of row {row!r:.40} is not an item")
        return ItemRecord(name, text, _metadata(metadata))

    def _verify(self, values: tuple[Any, ...], what: str) -> None:
        if _hash(values[:-1]) != values[-1]:
            raise InvalidFile(f"{self._where} is damaged: {what} is not what was written.")

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
    def reading(self) -> Iterator[None]:
        """Raise errors of SQLite as errors of the file."""
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


def _same_file(path: Path, check: Callable[[], None] | None) -> Callable[[], None]:
    """Return a check that a path still is the file that was opened, and of something else."""
    opened = path.stat()

    def same() -> None:
        try:
            now = path.stat()
        except OSError:
            now = None
        if now is None or (now.st_ino, now.st_dev) != (opened.st_ino, opened.st_dev):
            raise Replaced(
                f"{path} was replaced or removed since it was opened; nothing was changed. Load "
                "the index again."
            )
        if check is not None:
            check()

    return same


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


def _format_item(row: int, item: ItemRecord) -> tuple[Any, ...]:
    metadata = _to_json(item.metadata) if item.metadata else "{}"
    values = (row, item.id, item.text, metadata)
    return (*values, _hash(values))


def _metadata(text: str) -> dict[str, Any]:
    found: Mapping[str, Any] = json.loads(text)
    plain = isinstance(found, dict) and all(
        value is None or isinstance(value, str | bool | int | float) for value in found.values()
    )
    if not plain:
        raise ValueError("metadata is not a table of plain values")
    return dict(found)


@cache
def _expected_tables() -> list[Any]:
    with closing(ItemDatabase.create("")._connection) as connection:
        return ItemDatabase(connection, "")._tables()


def _hash(values: Iterable[Any]) -> bytes:
    parts = [value if isinstance(value, bytes) else repr(value).encode() for value in values]
    content = b"".join([one for data in parts for one in (len(data).to_bytes(8, "big"), data)])
    return hashlib.blake2b(content, digest_size=16).digest()
