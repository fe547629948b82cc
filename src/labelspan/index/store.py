"""Items of an index by permanent row numbers: database, labels, vectors and words.

A change reads what it changes under the lock of the store, is one transaction of the database,
and returns a new store: threads that read the old one are not disturbed. Search takes three steps:
mask the rows that a filter allows, rank them (:mod:`.searching`), and fetch the items that are
shown.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from .._arrays import Rows
from .._files import file_size
from .._typing import Array
from ..corpus import LabelVocabulary
from ..errors import InvalidFile, InvalidInput, Mismatch, NotFound
from ..text import WordSearch, WordSegment
from .blocks import TAG_LENGTH
from .cells import Wanted
from .database import FITTED, REVISION, TOUCHED, VOCABULARY, ItemDatabase
from .folder import ITEMS, Files, field
from .history import (
    NOTES,
    By,
    Cell,
    Group,
    History,
    Past,
    Row,
    as_value,
    bit,
    field_kind,
    hashed,
    hashed_item,
    item_value,
    label_changes,
    metadata_value,
)
from .inputs import did_you_mean
from .label_table import Labels, LabelTable
from .links import LINK_FIELDS, LinkFields, LinkGraph, read_graph
from .metadata_fields import MetadataField, read_fields
from .model import IndexModel
from .model_block import ROWS_FILE
from .results import Item
from .vectors import LabelDirections, UnitVectors, label_places

__all__ = ["ItemStore"]

T = TypeVar("T")

_FETCHED_AT_ONCE = 500
# Results that do not depend on labels.
_OF_ITEMS = frozenset({"fields", "ids by row", "rows by id", "moments"})
# Rows from which added ones are many, whatever the size of the index, and share of the others.
_MANY_ADDED, _SHARE_ADDED = 100, 1 / 32
# Up to this size all items are checked whenever an index is opened.
_SMALL_DATABASE = 1 << 20
# Returns the vectors of texts, and their rows of the block next to the words.
Embed = Callable[[list[str]], tuple[Array, Array | None]]


def _logged(field: str, value: str | None) -> str | None:
    """Return the value after a change as the log has it."""
    if value is None or field not in ("item", "vocabulary"):
        return value
    return hashed_item(value) if field == "item" else hashed(value)


class _Computed(NamedTuple):
    """A result, what it was computed for, and whether only a few such results are kept."""

    of: Hashable
    few: bool
    result: Future[Any]


class ItemStore:
    """Items in a database, with their unit vectors, labels and words in memory, at one revision.

    ``vectors`` and ``words`` are those of the rows of the last save; ``words`` is None if the index
    takes vectors. ``folder`` is where the files are, None in memory.
    """

    def __init__(  # noqa: PLR0917 - what a generation holds
        self,
        database: ItemDatabase,
        vectors: Array,
        words: WordSearch | None,
        folder: Path | None = None,
        block_rows: Array | None = None,
        model: IndexModel | None = None,
    ) -> None:
        self._database, self._model = database, model
        self._lock = threading.RLock()
        self.words, self.folder = words, folder
        self._computed: dict[Hashable, _Computed] = {}
        with database.snapshot():
            self.revision, self.touched = database.about(REVISION), database.about(TOUCHED) or 0
            self.labels = database.label_table()
            self.vocabulary = database.vocabulary()
            self.link_fields = LinkFields.from_json(database.about(LINK_FIELDS))
            self._graph: LinkGraph | None = None
            removed = [row for (row,) in database.select("SELECT row FROM removed")]
            first, size = len(vectors), len(self.labels)
            # Rows from this one on were added after the fit.
            self.fitted: int = size if (found := database.about(FITTED)) is None else found
            fits = vectors.ndim == 2 and vectors.dtype == np.float32 and first <= size
            # A removed row has no labels, so that labels are counted over items.
            fits = fits and min(removed, default=0) >= 0 and not self.labels.known[removed].any()
            if not fits or (words is not None and len(words) != first):
                raise InvalidFile("Vectors or words do not fit the items; the index is damaged.")
            self.vectors = UnitVectors(vectors)
            width = 0 if block_rows is None else block_rows.shape[1]
            if block_rows is not None and (block_rows.ndim != 2 or len(block_rows) != first):
                raise InvalidFile("The blocks of features do not fit; the index is damaged.")
            late_rows = database.added(first, self.vectors.width + width)
            self.vectors.append(late_rows[:, : self.vectors.width])
            # What the blocks next to the words store of each item.
            self.block_rows = None if block_rows is None else UnitVectors(block_rows)
            if self.block_rows is not None:
                self.block_rows.append(late_rows[:, self.vectors.width :])
            self.vectors.put(*database.moved(self.vectors.width))
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
        model: IndexModel | None = None,
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
            return cls(database, vectors, words, files.folder, rows, model)
        except BaseException:
            database.close()
            raise

    def write(self, files: Files, key: str, past: Past) -> None:
        """Write items and vectors of all rows to a new folder.

        If there is no log, that of the index which is replaced goes on.
        """
        with self._lock:
            if self.changed():
                raise Mismatch(
                    "save: a writer has changed the index since it was loaded; call refresh first."
                )
            self._database.write_file(files.folder / ITEMS, key, past)
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
    def _change(self, by: By, rows: list[Row], *, revised: bool = True) -> Iterator[Any]:
        """Make one transaction of all changes inside, which append to the rows of the log."""
        if revised and self.changed():
            raise Mismatch("The items have changed since this store was read; use index.store.")
        if self.block_rows is not None:
            # What links were before the change.
            _ = self.graph
        with self._database.change(revised=revised) as cursor:
            if self.link_fields is not None:
                self._database.put(cursor, LINK_FIELDS, self.link_fields.to_json())
            yield cursor
            if rows:
                self._database.log(cursor, by, rows)
        self._database.merge_log()

    def add(
        self,
        items: Sequence[Item],
        vectors: Array,
        block_rows: Array | None = None,
        *,
        replace: bool,
        by: By,
    ) -> Self:
        """Add items; ``replace`` allows them to replace items with the same ids."""
        both = vectors if block_rows is None else np.hstack([vectors, block_rows])
        log: list[Row] = []
        with self._lock, self._change(by, log) as cursor:
            there = self._known([item.id for item in items])
            if there and not replace:
                raise InvalidInput(
                    f"add: the id {min(there)!r} is already in the index; choose another, or "
                    "give replace=True."
                )
            first, old = self._database.next_row, self.fetch(there.values())
            lists: dict[int, Labels] = dict.fromkeys(there.values())
            lists |= {first + n: item.labels for n, item in enumerate(items)}
            labels = self.labels.changed(lists)
            for row, item in enumerate(items, first):
                if item.id in there:
                    before = there[item.id]
                    log += self._differences(old[before], item, before, row, labels)
                else:
                    value = item_value(item, labels.numbers(row), row)
                    log.append((item.id, "item", None, hashed_item(value)))
            return self._put(cursor, items, both, [*there.values()], labels, lists, self.vocabulary)

    def _differences(
        self, old: Item, item: Item, before: int, row: int, labels: LabelTable
    ) -> Iterator[Row]:
        """Yield what differs between two states of an item, in two rows."""
        if old.text != item.text or self.words is None or self.block_rows is not None:
            # A vector that is given may have changed with the same text.
            yield item.id, "text", as_value([old.text, before]), as_value([item.text, row])
        own, new = self.labels.numbers(before), labels.numbers(row)
        yield from label_changes(item.id, own, new)
        for key in sorted(old.metadata.keys() | item.metadata.keys()):
            pair = metadata_value(old, key), metadata_value(item, key)
            if pair[0] != pair[1]:
                yield item.id, f"metadata {key}", *pair

    def _put(  # noqa: PLR0917 - what one transaction writes
        self,
        cursor: Any,
        items: Sequence[Item],
        vectors: Array,
        gone: Sequence[int],
        labels: LabelTable,
        touched: Iterable[int],
        vocabulary: LabelVocabulary | None,
        *,
        rewritten: bool = False,
        relinked: Mapping[int, Item] | None = None,
    ) -> Self:
        """Remove the items of some rows, add others after the last row, and write labels.

        ``rewritten`` says that the metadata of others was written before, and ``relinked`` which
        items may have other links by that; the vectors may be those of other links, too.
        """
        self._database.remove(cursor, gone)
        if items:
            self._database.insert(cursor, items, vectors)
        self._database.put_labels(cursor, labels, touched)
        made = self._with(labels)
        if not (items or gone or rewritten):
            made._computed = self._of_items()
        made.vocabulary = vocabulary
        if items:
            made.vectors.append(vectors[:, : made.vectors.width])
            if made.block_rows is not None:
                made.block_rows.append(vectors[:, made.vectors.width :])
            made._add_words(items)
        made._drop(gone)
        made._name_labels()
        rows = [*touched]
        if items or gone or relinked:
            old = None if items or gone else self._graph
            made._graph = None if old is None else made._read_graph(old, relinked or {})
            rows += made._follow_links(cursor, self, again=relinked is not None)
        rows = list(dict.fromkeys(rows))
        before = np.count_nonzero(
            self.labels.known[[row for row in rows if row < len(self.labels)]]
        )
        # An item that is replaced has two rows, and counts once.
        made.touched += int(max(before, np.count_nonzero(labels.known[rows])))
        self._database.put(cursor, TOUCHED, made.touched)
        self._database.put(cursor, FITTED, self.fitted)
        # The transaction counts the revision at its end.
        made.revision = self.revision + 1
        return made

    # --- links ------------------------------------------------------------------------

    def with_link_field(self, field: str, mark: str) -> Self:
        """Return a store in which a field has links; this one, if it has them already."""
        if self.link_fields is not None and field in self.link_fields.marks:
            return self
        made = copy(self)
        made.link_fields = (self.link_fields or LinkFields({})).with_field(field, mark)
        made._graph = None
        return made

    @property
    def graph(self) -> LinkGraph | None:
        """The links between the items; None if no field has any."""
        if self._graph is None:
            self._graph = self._read_graph(None, {})
        return self._graph

    def _read_graph(self, old: LinkGraph | None, changed: Mapping[int, Item]) -> LinkGraph | None:
        """Read the links; those of all items that have not changed may be known."""
        if self.link_fields is None:
            return None
        with self._lock:
            tables = {row: item.metadata for row, item in changed.items()}
            size = self.vectors.alive.size
            return read_graph(self._database, size, self.link_fields, old, tables)

    def columns(self, rows: Array, use: int) -> Array:
        """Return the columns of the blocks next to the words, for the embedding or the tagger."""
        if self.block_rows is None or self._model is None:
            return np.zeros((len(rows), 0), dtype=np.float32)
        blocks = self._model.blocks
        graph = self.graph if blocks.links is not None else None
        return blocks.columns(self._stored, rows, graph, use)

    def _stored(self, rows: Array) -> Array:
        assert self.block_rows is not None
        return self.block_rows.rows(rows).astype(np.float32)

    def _follow_links(self, cursor: Any, before: ItemStore, *, again: bool) -> list[int]:
        """Compute the vectors of items whose neighbours have changed, and perhaps of new ones.

        Return the rows whose links have changed, if the tagger uses links.
        """
        model = self._model
        if model is None or model.blocks.links is None or self.graph is None:
            return []
        changed = self.graph.changed(before.graph)
        rows = self.graph.around(changed)
        if again:
            rows = np.union1d(rows, np.arange(before.vectors.alive.size, self.vectors.alive.size))
        rows = rows[self.vectors.alive[rows]]
        for start in range(0, rows.size, _FETCHED_AT_ONCE):
            some = rows[start : start + _FETCHED_AT_ONCE]
            there = self.fetch(some)
            texts = [there[row].text for row in some.tolist()]
            vectors = model.linked_vectors(texts, self._stored, some, self.graph)
            self._database.put_moved(cursor, some, vectors)
            self.vectors.put(some, vectors)
        return changed.tolist() if model.blocks.lengths(TAG_LENGTH)[1] else []

    def remove(self, ids: Iterable[str], by: By) -> Self:
        """Remove items; all ids must exist."""
        with self._lock:
            given = list(ids)
            self.rows(given)
            return self.apply({(name, "item"): None for name in given}, by)

    def numbered(self, labels: Iterable[str]) -> tuple[dict[str, int], LabelTable]:
        """Return the numbers of labels, and a table in which new ones have their numbers."""
        new = [name for name in dict.fromkeys(labels) if name not in self.labels.number]
        table = self.labels.with_names([*self.labels.names, *new]) if new else self.labels
        return table.number, table

    def relabel(self, lists: Mapping[str, Labels], by: By) -> Self:
        """Change the labels of items by id."""
        with self._lock:
            number, table = self.numbered(label for own in lists.values() for label in own or ())
            cells: dict[Cell, str | None] = {}
            rows = self.rows(lists).tolist()
            for (name, own), row in zip(lists.items(), rows, strict=True):
                wanted = None if own is None else sorted(number[label] for label in own)
                for item, field, _, after in label_changes(name, self.labels.numbers(row), wanted):
                    cells[item, field] = after
            return self.apply(cells, by, table)

    def use_vocabulary(self, vocabulary: LabelVocabulary, by: By) -> Self:
        """Store names of labels and broader labels with the items."""
        return self.apply({("", "vocabulary"): vocabulary.to_json()}, by)

    def apply(
        self,
        cells: Mapping[Cell, str | None],
        by: By,
        labels: LabelTable | None = None,
        embed: Embed | None = None,
    ) -> Self:
        """Give cells of the log other values, in one transaction; the same store if none changes.

        ``labels`` is a table with the numbers of new labels; ``embed`` computes vectors of texts
        that come back, if theirs are not known any more.
        """
        with self._lock:
            present = self.present(cells)
            # What somebody says is noted, also if others have said it before.
            wanted = {
                cell: value
                for cell, value in cells.items()
                if present[cell] != value or field_kind(cell[1]) == "verdict"
            }
            table = self.labels if labels is None else labels
            # A label that is not on any item yet is noted without a change of items.
            notes = all(field_kind(what) in NOTES for _, what in wanted)
            if not wanted and table is self.labels:
                return self
            log: list[Row] = []
            with self._change(by, log, revised=not notes) as cursor:
                if notes:
                    made = self._noted(cursor, table)
                else:
                    made = self._applied(cursor, wanted, table, log, embed)
                done = {row[:2] for row in log}
                log += [
                    (*cell, present[cell], _logged(cell[1], value))
                    for cell, value in wanted.items()
                    if cell not in done
                ]
            return made

    def _noted(self, cursor: Any, labels: LabelTable) -> Self:
        """Return a store that knows names of labels which no item has, with the same results."""
        if labels is self.labels:
            return self
        self._database.put_names(cursor, labels.names)
        made = copy(self)
        made.labels = labels
        return made

    def _applied(
        self,
        cursor: Any,
        cells: dict[Cell, str | None],
        table: LabelTable,
        log: list[Row],
        embed: Embed | None,
    ) -> Self:
        """Write cells of items and labels; cells that change with them go to the log."""
        wanted = Wanted.of(cells, table.names, self.vocabulary)
        table = table.with_names(wanted.names)
        put, relabelled = wanted.put, {*wanted.labels, *wanted.known}
        there = self._known([*wanted.metadata, *relabelled, *put, *wanted.gone])
        old = self.fetch([there[name] for name in {*wanted.metadata, *put} & there.keys()])
        changed = {item.id: wanted.with_metadata(item) for item in old.values()}
        lists: dict[int, Labels] = {there[name]: None for name in wanted.gone}
        for name in relabelled:
            before = self.labels.numbers(there[name])
            lists[there[name]] = own = wanted.labels_of(name, before)
            cells.pop((name, "labels"), None)
            if (own is None) != (before is None):
                known = bit(before is not None), bit(own is not None)
                log.append((name, "labels", *known))
        for row, (name, (text, _)) in enumerate(put.items(), self._database.next_row):
            if name in there:
                own = lists.pop(there[name], table.labels(there[name]))
                wanted.items[name] = replace(changed[name], text=text, labels=own)
                lists[there[name]] = None
                cells[name, "text"] = as_value([text, row])
            lists[row] = wanted.items[name].labels
        in_place = {there[name]: one for name, one in changed.items() if name not in put}
        self._database.put_items(cursor, in_place)
        if wanted.vocabulary is not self.vocabulary:
            found = None if wanted.vocabulary is None else wanted.vocabulary.to_json()
            self._database.put(cursor, VOCABULARY, found)
        gone = [there[name] for name in (*wanted.gone, *(one for one in put if one in there))]
        items, vectors = [wanted.items[name] for name in put], self._vectors_of(put, embed)
        labels, vocabulary = table.changed(lists), wanted.vocabulary
        linking = self.link_fields is not None and self.link_fields.among(
            key for own in wanted.metadata.values() for key in own
        )
        return self._put(
            *(cursor, items, vectors, gone, labels, lists, vocabulary),
            rewritten=bool(in_place or put),
            relinked=in_place if put or linking else None,
        )

    def _vectors_of(self, put: Mapping[str, tuple[str, int]], embed: Embed | None) -> Array:
        """Return the vectors of items that come back: those of their rows, or of their texts."""
        rows = np.array([row for _, row in put.values()], dtype=np.intp)
        arrays = [self.vectors] if self.block_rows is None else [self.vectors, self.block_rows]
        found = np.zeros((len(put), sum(one.width for one in arrays)), dtype=np.float32)
        here = (rows >= 0) & (rows < self.vectors.alive.size)
        found[here] = np.hstack([one.rows(rows[here]) for one in arrays])
        lost = [text for (text, _), one in zip(put.values(), here, strict=True) if not one]
        if lost:
            if embed is None:
                raise Mismatch("undo: the vectors of these items are not known any more.")
            found[~here] = np.hstack([one for one in embed(lost) if one is not None])
        return found

    def has_label(self, name: str) -> bool:
        """Return whether a label is in the vocabulary or on any item."""
        known = self.vocabulary is not None and name in self.vocabulary
        return known or name in self.labels.totals

    # --- the log ----------------------------------------------------------------------

    def present(self, cells: Iterable[Cell]) -> dict[Cell, str | None]:
        """Return the values that cells have now."""
        given = list(cells)
        rows = self._known(list({item for item, _ in given if item}))
        whole = {
            rows[item]
            for item, what in given
            if item in rows and field_kind(what) in ("item", "text", "metadata")
        }
        items = self.fetch(whole)
        numbers: dict[str, set[int]] = {}
        found: dict[Cell, str | None] = {}
        for item, what in given:
            kind, _, key = what.partition(" ")
            row, value = rows.get(item, -1), None
            if kind in NOTES:
                value = self._noted_value(item, what)
            elif kind == "name":
                value = as_value(self.labels.names[int(key)])
            elif kind == "vocabulary":
                value = None if self.vocabulary is None else self.vocabulary.to_json()
            elif row < 0:
                pass
            elif kind == "labels":
                value = bit(self.labels.known[row])
            elif kind == "label":
                if item not in numbers:
                    numbers[item] = set(self.labels.numbers(row) or ())
                value = bit(int(key) in numbers[item])
            elif kind == "metadata":
                value = metadata_value(items[row], key)
            elif kind == "text":
                value = as_value([items[row].text, row])
            elif kind == "item":
                value = item_value(items[row], self.labels.numbers(row), row)
            found[item, what] = value
        return found

    def _noted_value(self, item: str, what: str) -> str | None:
        condition = "item = ? AND field = ? ORDER BY number DESC LIMIT 1"
        return next((one[5] for one in self.log_rows(condition, item, what)), None)

    def groups(self, condition: str, *values: Any) -> list[Group]:
        """Read what was changed at once from the log."""
        with self._lock:
            return self._database.groups(condition, *values)

    def select(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the records of a query."""
        with self._lock:
            return list(self._database.select(query, *values))

    def log_rows(self, condition: str, *values: Any) -> list[tuple[Any, ...]]:
        """Read changes of the log: number, group, item, what, before and after."""
        with self._lock:
            return list(self._database.rows(condition, *values))

    @property
    def number(self) -> int:
        """Number of the last change in the log."""
        with self._lock:
            return self._database.last_number

    def label_names(self) -> list[str]:
        """Return the names of labels by number, also those that another process has noted."""
        with self._lock:
            return self._database.names()

    @property
    def history(self) -> History:
        """The log: what was changed, and how it is undone."""
        return History(self)

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
        """Return a store of the same items without what was computed from their labels."""
        with self._lock:
            made = self._with(self.labels)
            made._computed = self._of_items()
            return made

    def _of_items(self) -> dict[Hashable, _Computed]:
        """Return what was computed from items, which labels do not change."""
        return {name: one for name, one in self._computed.items() if name in _OF_ITEMS}

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

    def known_ids(self, names: Iterable[str]) -> list[str]:
        """Return the names that are ids of items."""
        return [*self._known(list(names))]

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
                        raise NotFound(
                            f"{missing}, which a writer has changed since it was read; refresh it."
                        )
                    raise NotFound(f"{missing}{did_you_mean(name, self.ids())}")
        return np.array([known[name] for name in given], dtype=np.intp)

    def ids_of(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the ids of the items in some rows."""
        with self._lock:
            query = "SELECT items.row, items.id FROM items JOIN json_each(?) ON row = value"
            return dict(self._database.select(query, json.dumps([int(row) for row in rows])))

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
            raise NotFound(f"The item {name!r} was removed by a writer; refresh the index.")
        return found[0]

    def scan(self) -> Iterator[tuple[int, Item]]:
        """Yield row and item of all items, in order."""
        alive = np.flatnonzero(self.vectors.alive)
        for start in range(0, len(alive), _FETCHED_AT_ONCE):
            yield from self.fetch(alive[start : start + _FETCHED_AT_ONCE]).items()

    # --- computed from items and labels -----------------------------------------------

    def once(
        self, name: Hashable, compute: Callable[[], T], *, of: Hashable = None, most: int = 0
    ) -> T:
        """Return the result of a function of the items and labels, cached until these change.

        It is also computed again if ``of`` changes, for example the number of the log. If several
        threads ask, one computes it, and the others wait for that. Of results with ``most``, that
        number is kept: those that were used last.
        """
        with self._lock:
            known = self._computed.pop(name, None)
            made = _Computed(of, most > 0, Future()) if known is None or known.of != of else known
            # The one that was used last is the last.
            self._computed[name] = made
            if most:
                for one in [key for key, other in self._computed.items() if other.few][:-most]:
                    del self._computed[one]
        if made is not known:
            try:
                made.result.set_result(compute())
            except BaseException as error:
                with self._lock:
                    if self._computed.get(name) is made:
                        del self._computed[name]
                made.result.set_exception(error)
        found: T = made.result.result()
        return found

    def forget(self, newer: ItemStore) -> None:
        """Drop what was computed, unless it is true of a newer store as well.

        Results refer to their store, which would else be kept until circles are looked for.
        """
        with self._lock:
            if newer._computed is not self._computed:
                self._computed.clear()

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
