"""Items in SQLite: in memory, or in a file whose transactions outlive a kill.

A row holds an item's id, text, labels and metadata, and a hash of these. Rows of one
generation are numbered in the order of its array of vectors; an item that came later has
its vector in the row itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from ..errors import InvalidFile, InvalidInput
from .parts import file_size

__all__ = ["Item", "Items", "Record"]

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
CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""
# The largest text, or vector, that is written or read.
LARGEST_VALUE = 1 << 26
# Numbers of rows and of changes stay far below what SQLite can count to.
_LARGEST_COUNT = 1 << 53
_PATIENCE = 10.0
_FETCHED_AT_ONCE = 500
# What SQLite may put beside a file: its log, marks of readers, and a journal.
_BESIDE = ("-wal", "-shm", "-journal")
_LONGEST_TITLE = 90


@dataclass(frozen=True)
class Item:
    """What is known of an item; ``labels`` is None where they are unknown.

    Attributes
    ----------
    id, text : str
    labels : tuple of str or None
        None where they are not known.
    metadata : dict

    Examples
    --------
    >>> from labelspan.index import Item
    >>> Item("gimp", "An image editor", ("graphics",), {}).title
    'An image editor'
    """

    id: str
    text: str
    labels: tuple[str, ...] | None
    metadata: dict[str, Any]

    @property
    def title(self) -> str:
        """The first line of the text, not too long of it; the id where there is none."""
        line = next((part for part in self.text.splitlines() if part.strip()), self.id)
        line = " ".join(line.split())
        return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1].rstrip()}…"


@dataclass(frozen=True)
class Record:
    """An item in its row; ``vector`` is None where the generation's array holds it."""

    row: int
    item: Item
    vector: bytes | None


class Items:
    """The table of items, with a count, a next row and a revision that every change moves."""

    def __init__(self, connection: sqlite3.Connection, where: str) -> None:
        self._connection = connection
        self._where = where

    @classmethod
    def create(cls, key: str) -> Self:
        """An empty table in memory."""
        items = cls(_connect(":memory:"), "the index")
        with items._transaction() as cursor:
            for statement in _SCHEMA.split(";"):
                cursor.execute(statement)
            about = {"key": key, "count": 0, "next": 0, "revision": 0}
            cursor.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        return items

    @classmethod
    def open(cls, path: Path, key: str, *, write: bool) -> Self:
        """The table in a file, if it is the one that belongs to a manifest's key."""
        log, marks, journal = (path.with_name(path.name + end) for end in _BESIDE)
        file_size(path)
        for beside in (log, marks):
            if os.path.lexists(beside):
                file_size(beside)
        if os.path.lexists(journal):
            # Ours has a log instead; a journal could name files elsewhere, to be deleted.
            raise InvalidFile(f"{journal} does not belong to an index; it is not opened.")
        mode = "mode=rw" if write else "mode=ro"
        if not write and not os.access(path.parent, os.W_OK) and not log.exists():
            # Readers of a log leave marks beside it; on a read-only medium nobody writes one.
            mode = "immutable=1"
        items = cls(_connect(path, f"?{mode}"), str(path))
        try:
            with items._reading():
                strange = items._tables() != _our_tables()
                found = None if strange else items._about("key")
            if strange:
                raise InvalidFile(f"{path} is damaged: its tables are not those of an index.")
            if found != key:
                raise InvalidFile(f"{path} belongs to another index, and is not opened.")
        except BaseException:
            items.close()
            raise
        return items

    @classmethod
    def write_file(cls, path: Path, records: Iterable[Record], key: str) -> None:
        """Write records to a new table in a file, on disk when this returns."""
        fresh = cls.create(key)
        with closing(fresh._connection), fresh._writing(path):
            fresh.write(records, ())
            with closing(_connect(path)) as target:
                fresh._connection.backup(target)
                target.execute("PRAGMA journal_mode = WAL")
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    # --- changing ---------------------------------------------------------------------

    def write(self, records: Iterable[Record], gone: Sequence[int]) -> None:
        """Remove some rows and add others, all or none of them."""
        with self._writing(), self._transaction() as cursor:
            cursor.executemany("DELETE FROM items WHERE row = ?", ((row,) for row in gone))
            added = cursor.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", map(_as_row, records)
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
        """All reading inside sees one state, whatever a writer does."""
        with self._reading():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    @property
    def next_row(self) -> int:
        """The number of the next item's row; numbers are not used twice."""
        with self._reading():
            return self._whole("next")

    @property
    def revision(self) -> int:
        """A number that every change moves."""
        with self._reading():
            return self._whole("revision")

    def scan(self, *, verify: bool = False) -> Iterator[Record]:
        """All rows in order; ``verify`` sees that each is what was written."""
        with self._reading():
            count = 0
            for values in self._connection.execute("SELECT * FROM items ORDER BY row"):
                if verify and _hash(values[:-1]) != values[-1]:
                    raise InvalidFile(
                        f"{self._where} is damaged: the item in row {values[0]} is not what was "
                        "written."
                    )
                count += 1
                yield _as_record(values)
            if verify and count != self._whole("count"):
                raise InvalidFile(f"{self._where} is damaged: items are missing.")

    def fetch(self, rows: Sequence[int]) -> dict[int, Item]:
        """The items in some rows."""
        found: dict[int, Item] = {}
        with self._reading():
            for start in range(0, len(rows), _FETCHED_AT_ONCE):
                part = [int(row) for row in rows[start : start + _FETCHED_AT_ONCE]]
                marks = ",".join("?" * len(part))
                query = f"SELECT * FROM items WHERE row IN ({marks})"
                for values in self._connection.execute(query, part):
                    found[values[0]] = _as_record(values).item
        return found

    # --- below ------------------------------------------------------------------------

    def _tables(self) -> list[Any]:
        """What the file defines: tables of ours, and no view or trigger beside them."""
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
            raise InvalidFile(f"{self._where} cannot be read: {_line(error)}.") from error

    @contextmanager
    def _writing(self, path: Path | None = None) -> Iterator[None]:
        where = self._where if path is None else str(path)
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise InvalidFile(
                f"{where} cannot be written: {_line(error)}; the index is as it was."
            ) from error


def _connect(where: str | Path, options: str = "") -> sqlite3.Connection:
    """Open a file, or memory, in the way that options of its address say."""
    try:
        connection = sqlite3.connect(
            f"{where.resolve().as_uri()}{options}" if isinstance(where, Path) else where,
            timeout=_PATIENCE,
            isolation_level=None,
            # One index may answer on several threads; it holds a lock of its own.
            check_same_thread=False,
            uri=isinstance(where, Path),
        )
    except sqlite3.Error as error:
        raise InvalidFile(f"{where} cannot be opened: {error}.") from error
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        connection.execute("PRAGMA synchronous = FULL")
        # A file from elsewhere may define what it likes; nothing of it is called.
        connection.execute("PRAGMA trusted_schema = OFF")
    except (sqlite3.Error, ValueError) as error:
        # What SQLite says of a damaged file may quote it, and then be no text.
        connection.close()
        raise InvalidFile(f"{where} cannot be read: {_line(error)}.") from error
    return connection


def _line(error: Exception) -> str:
    """What an error says, in a line that is not too long."""
    return f"{' '.join(str(error).split()):.200}"


def _as_row(record: Record) -> tuple[Any, ...]:
    item = record.item
    labels = None if item.labels is None else json.dumps(item.labels, ensure_ascii=False)
    metadata = json.dumps(item.metadata, ensure_ascii=False)
    values = (record.row, item.id, item.text, labels, metadata, record.vector)
    return (*values, _hash(values))


def _as_record(values: tuple[Any, ...]) -> Record:
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
        raise ValueError(f"what stands in row {row!r:.40} is no item")
    return Record(row, Item(name, text, None if known is None else tuple(known), table), vector)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(label, str) for label in value)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


@cache
def _our_tables() -> list[Any]:
    with closing(Items.create("")._connection) as connection:
        return Items(connection, "")._tables()


def _hash(values: Iterable[Any]) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        found.update(len(data).to_bytes(8, "big"))
        found.update(data)
    return found.digest()
