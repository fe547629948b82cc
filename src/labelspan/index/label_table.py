"""Labels of the items of an index, by rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import NotFound
from .inputs import did_you_mean, label_name

__all__ = ["LabelTable", "Labels"]

# Labels of an item, sorted; None if they are unknown.
Labels = tuple[str, ...] | None


class LabelTable:
    """Labels of the items in all rows. A table is immutable; a change returns a new one.

    ``names`` are those of the columns, which keep their numbers for ever; ``counts`` has the number
    of labels of each row, -1 where they are unknown, and ``columns`` their columns, row after row.

    Examples
    --------
    >>> from labelspan.index.label_table import LabelTable
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

    def numbers(self, row: int) -> list[int] | None:
        """Return the columns of the labels of a row; None if they are unknown."""
        if not self.known[row]:
            return None
        found: list[int] = self.columns[self.starts[row] : self.starts[row + 1]].tolist()
        return found

    def labels(self, row: int) -> Labels:
        """Return the labels of a row, sorted."""
        own = self.numbers(row)
        return None if own is None else tuple(sorted([self.names[column] for column in own]))

    def with_names(self, names: Sequence[str]) -> LabelTable:
        """Return the table with other names of its columns, and names for further ones."""
        return self if names == self.names else LabelTable(names, self.counts, self.columns)

    def rows(self, label: Any) -> Array:
        """Return the rows with a label, in order; raise an error if no item has it."""
        column = self.number.get(label_name(label))
        if column is None or not self.support[column]:
            raise self.unknown(label)
        start, end = self._by_column.indptr[column : column + 2]
        return np.asarray(self._by_column.indices[start:end], dtype=np.intp)

    def unknown(self, label: Any) -> NotFound:
        """Return the error for a label that no item has."""
        return NotFound(f"No item has the label {label!r}{did_you_mean(label, self.totals)}")

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
