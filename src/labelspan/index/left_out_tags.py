"""The most probable labels of labelled items, as models without the item predict them.

They are found when the labels are learned, and kept with the index: what is predicted for an item
from others tells better whether its labels are right than what a model says that has seen them,
and it is read in no time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from .tagging import Candidates, Decision

__all__ = ["MOST", "UNKNOWN", "LeftOutTags"]

# Labels that are kept of each item.
MOST = 12
# In place of a column where there is none.
UNKNOWN = -1


@dataclass(frozen=True)
class LeftOutTags:
    """For each row the columns of its most probable labels, best first, and their probabilities.

    Columns are -1 where there are no more labels; a row that begins so is not known.
    """

    columns: Array
    chances: Array

    @classmethod
    def of(cls, found: Candidates, decision: Decision, shape: tuple[int, int]) -> LeftOutTags:
        """Choose them among candidates of a number of rows and of labels."""
        count, most = shape[0], min(MOST, shape[1])
        scores = found.regression + decision.weight * found.votes
        order = np.lexsort((found.columns, -scores, found.rows))
        rows = found.rows[order]
        rank = np.arange(rows.size) - np.searchsorted(rows, rows)
        best = rank < most
        made = cls.unknown(count, most)
        made.columns[rows[best], rank[best]] = found.columns[order][best]
        made.chances[rows[best], rank[best]] = decision.probability(scores[order][best])
        return made

    @classmethod
    def unknown(cls, count: int, most: int) -> LeftOutTags:
        """Make some of which nothing is known yet."""
        columns = np.full((count, most), UNKNOWN, dtype=np.int32)
        return cls(columns, np.zeros((count, most), dtype=np.float32))

    @property
    def known(self) -> Array:
        """Which rows are known."""
        if not self.columns.shape[1]:
            return np.zeros(len(self.columns), dtype=bool)
        return np.asarray(self.columns[:, 0] != UNKNOWN)

    def is_sound(self, shape: tuple[int, int]) -> bool:
        """Tell whether the arrays fit to a number of rows and of labels."""
        count, labels = shape
        columns, chances = self.columns, self.chances
        return (
            columns.ndim == 2
            and columns.shape == chances.shape
            and len(columns) == count
            and columns.dtype == np.int32
            and chances.dtype == np.float32
            and (not columns.size or (columns.min() >= UNKNOWN and columns.max() < labels))
        )

    def moved(self, sources: Array) -> LeftOutTags:
        """Return the rows with some numbers, in this order; a negative number is unknown."""
        made = self.unknown(len(sources), self.columns.shape[1])
        there = sources >= 0
        made.columns[there] = self.columns[sources[there]]
        made.chances[there] = self.chances[sources[there]]
        return made
