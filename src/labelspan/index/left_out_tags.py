"""The most probable labels of labelled items, as models without the item predict them.

They are found when the labels are learned, and kept with the index: what is predicted for an item
from others tells better whether its labels are right than what a model says that has seen them,
and it is read in no time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._typing import Array
from .tagging import Candidates, Decision

__all__ = ["MOST", "UNKNOWN", "LeftOutTags", "entries_of"]

# Labels that are kept of each item.
MOST = 12
# In place of a column where there is none.
UNKNOWN = -1


@dataclass(frozen=True)
class LeftOutTags:
    """For each row the columns of its most probable labels, best first, and their probabilities.

    Columns are -1 where there are no more labels; a row that begins so is not known. ``own`` are
    the probabilities of the labels that items have, in the order of the entries of the matrix of
    labels, NaN where they are not known; indexes of earlier versions have none.
    """

    columns: Array
    chances: Array
    own: Array | None = None

    @classmethod
    def of(cls, found: Candidates, decision: Decision, labels: sparse.csr_matrix) -> LeftOutTags:
        """Choose them among candidates; ``labels`` are those that the items have."""
        count, most = labels.shape[0], min(MOST, labels.shape[1])
        scores = found.regression + decision.weight * found.votes
        order = np.lexsort((found.columns, -scores, found.rows))
        rows = found.rows[order]
        rank = np.arange(rows.size) - np.searchsorted(rows, rows)
        best = rank < most
        own = np.full(labels.nnz, np.nan, dtype=np.float32)
        made = cls(*_nothing(count, most), own)
        made.columns[rows[best], rank[best]] = found.columns[order][best]
        made.chances[rows[best], rank[best]] = decision.probability(scores[order][best])
        true = np.flatnonzero(found.truth)
        keys = np.repeat(np.arange(count), np.diff(labels.indptr)) * labels.shape[1]
        keys = keys + labels.indices
        order = np.argsort(keys, kind="stable")
        wanted = found.rows[true] * labels.shape[1] + found.columns[true]
        places = order[np.searchsorted(keys[order], wanted)]
        own[places] = decision.probability(scores[true])
        return made

    @classmethod
    def unknown(cls, count: int, most: int) -> LeftOutTags:
        """Make some of which nothing is known yet."""
        return cls(*_nothing(count, most))

    @property
    def known(self) -> Array:
        """Which rows are known."""
        if not self.columns.shape[1]:
            return np.zeros(len(self.columns), dtype=bool)
        return np.asarray(self.columns[:, 0] != UNKNOWN)

    def is_sound(self, shape: tuple[int, int], entries: int) -> bool:
        """Tell whether the arrays fit to a number of rows, of labels, and of labels of items."""
        count, labels = shape
        columns, chances = self.columns, self.chances
        if self.own is not None and not (
            self.own.shape == (entries,)
            and self.own.dtype == np.float32
            and not (self.own < 0).any()
            and not (self.own > 1).any()
        ):
            return False
        return (
            columns.ndim == 2
            and columns.shape == chances.shape
            and len(columns) == count
            and columns.dtype == np.int32
            and chances.dtype == np.float32
            and (not columns.size or (columns.min() >= UNKNOWN and columns.max() < labels))
        )

    def moved(
        self, sources: Array, before: sparse.csr_matrix, after: sparse.csr_matrix
    ) -> LeftOutTags:
        """Return the rows with some numbers, in this order; a negative number is unknown.

        ``before`` and ``after`` are the labels of the items, the same for each row that is known.
        """
        there = np.flatnonzero(sources >= 0)
        columns, chances = _nothing(len(sources), self.columns.shape[1])
        columns[there] = self.columns[sources[there]]
        chances[there] = self.chances[sources[there]]
        own = None
        if self.own is not None:
            own = np.full(after.nnz, np.nan, dtype=np.float32)
            own[entries_of(after, there)[0]] = self.own[entries_of(before, sources[there])[0]]
        return LeftOutTags(columns, chances, own)


def entries_of(labels: sparse.csr_matrix, rows: Array) -> tuple[Array, Array]:
    """Return the numbers of the entries of some rows of a matrix, and which row each belongs to."""
    starts = np.asarray(labels.indptr[:-1], dtype=np.int64)[rows]
    lengths = np.asarray(labels.indptr[1:], dtype=np.int64)[rows] - starts
    offsets = np.cumsum(lengths) - lengths
    entries = np.arange(lengths.sum()) + np.repeat(starts - offsets, lengths)
    return entries, np.repeat(np.arange(len(rows)), lengths)


def _nothing(count: int, most: int) -> tuple[Array, Array]:
    columns = np.full((count, most), UNKNOWN, dtype=np.int32)
    return columns, np.zeros((count, most), dtype=np.float32)
