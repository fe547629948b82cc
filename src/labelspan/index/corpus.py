"""The items of an index with their vectors, and all that changes them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..errors import InvalidFile, InvalidInput
from ..operators.base import Array
from .catalogue import Catalogue, Filter
from .items import Item, Items, Record
from .vectors import Vectors

__all__ = ["Corpus"]


class Corpus:
    """Items in a table, their unit vectors, and a catalogue of both.

    Everything is written to the table first, in one transaction; what is in memory follows.
    """

    def __init__(self, items: Items, vectors: Vectors, catalogue: Catalogue) -> None:
        self._items = items
        self._vectors = vectors
        self.catalogue = catalogue
        self.revision = items.revision
        self._lock = threading.RLock()
        self._moments: tuple[Array, Array] | None = None
        self._centres: tuple[list[str], Array] | None = None

    @classmethod
    def of(cls, items: Sequence[Item], vectors: Array) -> Self:
        """A corpus in memory."""
        table = Items.create("memory")
        catalogue = Catalogue()
        table.write((Record(row, item, None) for row, item in enumerate(items)), ())
        for row, item in enumerate(items):
            catalogue.add(row, item)
        return cls(table, Vectors(vectors), catalogue)

    @classmethod
    def open(cls, path: Path, key: str, base: Array, *, write: bool, verify: bool) -> Self:
        """A corpus in a file, over the array of vectors that belongs to it."""
        items = Items.open(path, key, write=write)
        try:
            return cls._read(items, base, verify)
        except BaseException:
            items.close()
            raise

    @classmethod
    def _read(cls, items: Items, base: Array, verify: bool) -> Self:
        vectors, catalogue = Vectors(base), Catalogue()
        with items.snapshot():
            following = items.next_row
            late: list[tuple[int, bytes]] = []
            alive = np.zeros(max(following, len(base)), dtype=bool)
            for record in items.scan(verify=verify):
                known = record.row < (len(base) if record.vector is None else following)
                if not known or record.row < 0:
                    raise InvalidFile("items.sqlite is damaged: an item has no vector.")
                if record.vector is not None:
                    late.append((record.row, record.vector))
                alive[record.row] = True
                catalogue.add(record.row, record.item)
            if late and any(len(vector) != 4 * base.shape[1] for _, vector in late):
                raise InvalidFile("items.sqlite is damaged: a vector has another length.")
            tail = np.zeros((alive.size - len(base), base.shape[1]), dtype=np.float32)
            for row, vector in late:
                tail[row - len(base)] = np.frombuffer(vector, dtype="<f4")
            vectors.append(tail)
            vectors.drop(np.flatnonzero(~alive))
            return cls(items, vectors, catalogue)

    def write_to(self, path: Path, key: str) -> Array:
        """Write the items that are there to a table of their own; gives their vectors."""
        kept: list[int] = []

        def records() -> Iterator[Record]:
            for record in self._items.scan():
                # A reader may be behind: it writes what it knows.
                if record.row < self._vectors.alive.size and self._vectors.alive[record.row]:
                    kept.append(record.row)
                    yield Record(len(kept) - 1, record.item, None)

        with self._lock:
            Items.write_file(path, records(), key)
            return self._vectors.rows(np.array(kept, dtype=np.intp))

    def close(self) -> None:
        """Let go of the file."""
        self._items.close()

    def changed(self) -> bool:
        """Whether a writer has changed the items since they were read."""
        return self._items.revision != self.revision

    def __len__(self) -> int:
        return len(self.catalogue.rows)

    # --- changing ---------------------------------------------------------------------

    def add(self, items: Sequence[Item], vectors: Array, *, replace: bool) -> None:
        """Add items, in place of those with the same ids where ``replace`` says so."""
        with self._lock:
            there = [item.id for item in items if item.id in self.catalogue.rows]
            if there and not replace:
                raise InvalidInput(
                    f"add: the id {there[0]!r} is in the index already; choose another, or give "
                    "replace=True."
                )
            gone = [self.catalogue.rows[name] for name in there]
            old = self._items.fetch(gone)
            first = self._items.next_row
            records = [
                Record(first + n, item, vectors[n].astype("<f4").tobytes())
                for n, item in enumerate(items)
            ]
            self._items.write(records, gone)
            self._forget(old)
            self._vectors.append(vectors)
            for record in records:
                self.catalogue.add(record.row, record.item)
            self._settle()

    def remove(self, ids: Sequence[str]) -> None:
        """Remove items; all of them must be there."""
        with self._lock:
            gone = sorted({self.catalogue.row(name) for name in ids})
            old = self._items.fetch(gone)
            self._items.write((), gone)
            self._forget(old)
            self._settle()

    def _settle(self) -> None:
        self.revision = self._items.revision
        self._moments = self._centres = None

    def _forget(self, old: dict[int, Item]) -> None:
        for row, item in old.items():
            self.catalogue.remove(row, item)
        self._vectors.drop(np.array(sorted(old), dtype=np.intp))

    def fresh_ids(self, count: int) -> list[str]:
        """Numbers as names for items that come without."""
        with self._lock:
            number = self._items.next_row
            found: list[str] = []
            while len(found) < count:
                if str(number) not in self.catalogue.rows:
                    found.append(str(number))
                number += 1
            return found

    # --- reading ----------------------------------------------------------------------

    def item(self, name: str) -> Item:
        """An item by its id."""
        with self._lock:
            row = self.catalogue.row(name)
            found = self._items.fetch([row])
        if row not in found:
            raise InvalidInput(f"The item {name!r} was removed by a writer; refresh the index.")
        return found[row]

    def items(self, names: Sequence[str]) -> list[Item]:
        """Some items; those that a writer has removed are left out."""
        with self._lock:
            rows = [self.catalogue.row(name) for name in names]
            found = self._items.fetch(rows)
        return [found[row] for row in rows if row in found]

    def vectors(self, ids: Sequence[str]) -> Array:
        """The unit vectors of some items."""
        with self._lock:
            return self._vectors.rows(np.array([self.catalogue.row(name) for name in ids], int))

    def labelled_vectors(self, label: str) -> Array:
        """The unit vectors of the items with a label."""
        with self._lock:
            return self._vectors.rows(self.catalogue.labelled(label))

    def moments(self) -> tuple[Array, Array]:
        """The mean of all vectors, and the mean of their outer products."""
        with self._lock:
            if self._moments is None:
                rows = self._vectors.rows(np.flatnonzero(self._vectors.alive)).astype(np.float64)
                count = max(1, len(rows))
                self._moments = rows.sum(axis=0) / count, rows.T @ rows / count
            return self._moments

    def centred_labels(self) -> tuple[list[str], Array]:
        """All labels, and the mean vector of each one's items less that of all."""
        with self._lock:
            if self._centres is None:
                names = list(self.catalogue.label_counts())
                mean, _ = self.moments()
                own = [self.labelled_vectors(name).mean(axis=0, dtype=np.float64) for name in names]
                self._centres = names, np.array(own).reshape(len(names), mean.size) - mean
            return self._centres

    def search(
        self, queries: Array, k: int, wanted: Filter, leave_out: Sequence[str]
    ) -> list[list[tuple[float, Item]]]:
        """The best items for each unit query, best first."""
        with self._lock:
            size = self._vectors.alive.size
            allowed: Any = self.catalogue.mask(wanted, size)
            if leave_out:
                allowed = np.ones(size, dtype=bool) if allowed is None else allowed
                allowed[[self.catalogue.row(name) for name in leave_out]] = False
            ranked = self._vectors.top(queries, k, allowed)
            needed = sorted({int(row) for rows, _ in ranked for row in rows})
            items = self._items.fetch(needed)
        # A writer may have removed items since a reader read them.
        return [
            [(float(s), items[int(r)]) for r, s in zip(rows, scores, strict=True) if r in items]
            for rows, scores in ranked
        ]
