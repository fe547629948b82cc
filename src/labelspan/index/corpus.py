"""The items of an index with their vectors, and all that changes them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from .._typing import Array
from ..errors import InvalidFile, InvalidInput
from .ann import Cache, Graph, near_top
from .catalogue import Catalogue, Filter
from .items import Item, Items, Record
from .vectors import Vectors

__all__ = ["Corpus"]


class Corpus:
    """Items in a table, their unit vectors, and a catalogue of both.

    Everything is written to the table first, in one transaction; what is in memory follows.

    Vectors and catalogue know an item by its place. For those of the array that is the row
    in the table; those that came later, some of which may be gone, stand behind it in the
    order of their rows.
    """

    def __init__(
        self, items: Items, vectors: Vectors, catalogue: Catalogue, late: Sequence[int] = ()
    ) -> None:
        self._items = items
        self._vectors = vectors
        self.catalogue = catalogue
        self._late = list(late)
        self._early = vectors.alive.size - len(self._late)
        self.revision = items.revision
        self._lock = threading.RLock()
        self.cache = Cache(vectors.base)
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
            late: list[int] = []
            tail: list[bytes] = []
            alive = np.zeros(len(base), dtype=bool)
            for record in items.scan(verify=verify):
                place = record.row
                if record.vector is None and 0 <= place < len(base):
                    alive[place] = True
                elif record.vector is not None and len(base) <= place < following:
                    if len(record.vector) != 4 * base.shape[1]:
                        raise InvalidFile("items.sqlite is damaged: a vector has another length.")
                    place = len(base) + len(late)
                    late.append(record.row)
                    tail.append(record.vector)
                else:
                    raise InvalidFile("items.sqlite is damaged: an item has no vector.")
                if record.item.id in catalogue.rows:
                    raise InvalidFile("items.sqlite is damaged: two items have one id.")
                catalogue.add(place, record.item)
            vectors.drop(np.flatnonzero(~alive))
            # Joined at once: a number of rows that is not there takes no memory.
            numbers = np.frombuffer(b"".join(tail), dtype="<f4")
            vectors.append(numbers.reshape(len(late), base.shape[1]))
            return cls(items, vectors, catalogue, late)

    def write_to(self, path: Path, key: str) -> Array:
        """Write the items that are there to a table of their own; gives their vectors."""
        kept: list[int] = []
        known = {self._row(int(place)): place for place in np.flatnonzero(self._vectors.alive)}

        def records() -> Iterator[Record]:
            for record in self._items.scan():
                # A reader may be behind: it writes what it knows.
                if record.row in known:
                    kept.append(int(known[record.row]))
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
            old = self._fetch(gone)
            first, place = self._items.next_row, self._vectors.alive.size
            records = [
                Record(first + n, item, vectors[n].astype("<f4").tobytes())
                for n, item in enumerate(items)
            ]
            self._items.write(records, [self._row(one) for one in gone])
            self._forget(old)
            self._vectors.append(vectors)
            self._late += [record.row for record in records]
            for number, item in enumerate(items, start=place):
                self.catalogue.add(number, item)
            self._settle()

    def remove(self, ids: Sequence[str]) -> None:
        """Remove items; all of them must be there."""
        with self._lock:
            gone = sorted({self.catalogue.row(name) for name in ids})
            old = self._fetch(gone)
            self._items.write((), [self._row(one) for one in gone])
            self._forget(old)
            self._settle()

    def _row(self, place: int) -> int:
        """The row in the table of the item in a place."""
        return place if place < self._early else self._late[place - self._early]

    def _fetch(self, places: Sequence[int]) -> dict[int, Item]:
        """The items in some places."""
        rows = {self._row(place): place for place in places}
        return {rows[row]: item for row, item in self._items.fetch(list(rows)).items()}

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
            found = self._fetch([row])
        if row not in found:
            raise InvalidInput(f"The item {name!r} was removed by a writer; refresh the index.")
        return found[row]

    def items(self, names: Sequence[str]) -> list[Item]:
        """Some items; those that a writer has removed are left out."""
        with self._lock:
            rows = [self.catalogue.row(name) for name in names]
            found = self._fetch(rows)
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
        self,
        queries: Array,
        k: int,
        wanted: Filter,
        leave_out: Sequence[str],
        graph: Graph | None = None,
    ) -> tuple[list[list[tuple[float, Item]]], bool]:
        """The best items for each unit query, best first, and whether a graph proposed them."""
        with self._lock:
            size = self._vectors.alive.size
            chosen = self.catalogue.mask(wanted, size)
            mask = self._vectors.alive if chosen is None else self._vectors.alive & chosen
            if leave_out:
                mask = mask.copy()
                mask[[self.catalogue.row(name) for name in leave_out]] = False
            ranked, proposed = near_top(self._vectors, graph, queries, k, mask)
            needed = sorted({int(row) for rows, _ in ranked for row in rows})
            items = self._fetch(needed)
        # A writer may have removed items since a reader read them.
        answers = [
            [(float(s), items[int(r)]) for r, s in zip(rows, scores, strict=True) if r in items]
            for rows, scores in ranked
        ]
        return answers, proposed
