"""Labels of all items in memory: one sparse matrix in rows, with the names of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput
from .inputs import did_you_mean, label_name

__all__ = ["LabelTable", "Labels"]

# Labels of an item, sorted; None if they are unknown.
Labels = tuple[str, ...] | None


class LabelTable:
    """Labels of the items in all rows. It does not change: a change makes another table.

    Parameters
    ----------
    names : sequence of str
        Name of each column; a column keeps its number for ever.
    counts : array of shape (n,)
        Number of labels of each row, -1 where they are unknown.
    columns : array
        Columns of the labels, row after row.

    Examples
    --------
    >>> from labelspan.index.item_labels import LabelTable
    >>> table = LabelTable.of([("a", "b"), None, ("b",)])
    >>> table.labels(0), table.labels(1), table.rows("b").tolist()
    (('a', 'b'), None, [0, 2])
    """

    def __init__(self, names: Sequence[str], counts: Array, columns: Array) -> None:
        self.names = names
        self.known = counts >= 0
        self.starts = np.concatenate([[0], np.cumsum(np.maximum(counts, 0), dtype=np.int64)])
        self.columns = columns

    @classmethod
    def of(cls, lists: Sequence[Labels], names: Sequence[str] = ()) -> LabelTable:
        """Make a table of lists of labels; names that are new get the next columns."""
        every = {label for own in lists for label in own or ()}
        known = [*names, *sorted(every.difference(names))]
        number = {name: column for column, name in enumerate(known)}
        counts = np.array([-1 if own is None else len(own) for own in lists], dtype=np.int32)
        columns = [number[label] for own in lists for label in own or ()]
        return cls(known, counts, np.array(columns, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def number(self) -> dict[str, int]:
        """Column of each name."""
        return {name: column for column, name in enumerate(self.names)}

    @property
    def counts(self) -> Array:
        """Number of labels of each row, -1 where they are unknown."""
        return np.where(self.known, np.diff(self.starts), -1).astype(np.int32)

    @cached_property
    def support(self) -> Array:
        """Number of items with the label of each column."""
        return np.bincount(self.columns, minlength=len(self.names))

    @cached_property
    def _by_column(self) -> tuple[Array, Array]:
        rows = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))
        ends = np.concatenate([[0], np.cumsum(self.support)])
        return ends, rows[np.argsort(self.columns, kind="stable")]

    def labels(self, row: int) -> Labels:
        """Return the labels of a row, sorted."""
        if not self.known[row]:
            return None
        own = self.columns[self.starts[row] : self.starts[row + 1]]
        return tuple(sorted(self.names[column] for column in own))

    def rows(self, label: Any) -> Array:
        """Return the rows with a label, in order; raise an error if no item has it."""
        column = self.number.get(label_name(label))
        if column is None or not self.support[column]:
            raise self.unknown(label)
        ends, rows = self._by_column
        return rows[ends[column] : ends[column + 1]].astype(np.intp)

    def unknown(self, label: Any) -> InvalidInput:
        """Return the error for a label that no item has."""
        return InvalidInput(f"No item has the label {label!r}{did_you_mean(label, self.totals)}")

    @cached_property
    def totals(self) -> dict[str, int]:
        """Number of items with each label, without labels of no item, sorted by name."""
        used = np.flatnonzero(self.support)
        found = {self.names[column]: int(self.support[column]) for column in used.tolist()}
        return dict(sorted(found.items()))

    def matrix(self, rows: Array | None = None, kind: Any = np.float32) -> sparse.csr_matrix:
        """Return a 0/1 matrix of some rows, by default all; unknown labels count as none."""
        ones = np.ones(self.columns.size, dtype=kind)
        shape = (len(self), len(self.names))
        found = sparse.csr_matrix((ones, self.columns, self.starts), shape=shape)
        found.sort_indices()
        return found if rows is None else found[rows]

    def block(self, start: int, end: int) -> tuple[Array, Array]:
        """Return the counts and columns of some rows."""
        return self.counts[start:end], self.columns[self.starts[start] : self.starts[end]]

    def changed(self, lists: Mapping[int, Labels]) -> LabelTable:
        """Return the table with other labels in some rows, and with rows after the last."""
        new = {label for own in lists.values() for label in own or ()}
        names = [*self.names, *sorted(new.difference(self.number))]
        number = {name: column for column, name in enumerate(names)}
        size = max(len(self), *(row + 1 for row in lists)) if lists else len(self)
        counts = np.full(size, -1, dtype=np.int32)
        counts[: len(self)] = self.counts
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        touched = np.zeros(size, dtype=bool)
        touched[list(lists)] = True
        kept = ~touched[rows]
        fresh = [(row, number[label]) for row, own in lists.items() for label in own or ()]
        added = np.array(fresh, dtype=np.int64).reshape(-1, 2)
        for row, own in lists.items():
            counts[row] = -1 if own is None else len(own)
        every = np.concatenate([rows[kept], added[:, 0]])
        columns = np.concatenate([self.columns[kept], added[:, 1]]).astype(np.int32)
        return LabelTable(names, counts, columns[np.argsort(every, kind="stable")])
