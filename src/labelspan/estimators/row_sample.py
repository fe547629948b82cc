"""Random rows of the data, on which a stream chooses its penalty, and an adapter its map."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ..labels import Labels
from ..operators import Operator

__all__ = ["RowSample"]

# Maximum number of labelled rows, and of rows without labels.
_LABELLED, _UNLABELLED = 2400, 1000


@dataclass(frozen=True)
class RowSample:
    """Rows with their labels: those with the smallest random numbers, in this order.

    The random number of a row depends on its position in the data, so that the sample does not
    depend on the batches in which the rows come. Rows without labels are last.
    """

    numbers: Array
    rows: Array
    labels: Labels

    @classmethod
    def of(cls, X: Operator, labels: Labels, *, start: int, seed: int) -> RowSample:
        """Choose rows of X, of which the first has the position ``start``."""
        # A generator that can be advanced to any position in no time.
        numbers = np.random.Generator(np.random.PCG64(seed).advance(start)).random(X.shape[0])
        index = _smallest(numbers, labels.labelled)
        order = np.sort(index)
        rows = X.rows(order).toarray()[np.searchsorted(order, index)]
        chosen = labels.rows(index)
        return cls(numbers[index], rows, replace(chosen, values=chosen.operator.to_block()))

    def join(self, other: RowSample) -> RowSample:
        """Return the sample of all rows of both."""
        numbers = np.concatenate([self.numbers, other.numbers])
        mine, theirs = self.labels, other.labels
        unknown = np.concatenate(
            [
                np.zeros(one.values.shape, dtype=bool) if one.unknown is None else one.unknown
                for one in (mine, theirs)
            ]
        )
        labels = replace(mine, values=np.concatenate([mine.values, theirs.values]), unknown=unknown)
        index = _smallest(numbers, labels.labelled)
        rows = np.concatenate([self.rows, other.rows])[index]
        return RowSample(numbers[index], rows, labels.rows(index))


def _smallest(numbers: Array, labelled: Array) -> Array:
    """Return the labelled rows with the smallest numbers, then others."""
    parts = ((labelled, _LABELLED), (~labelled, _UNLABELLED))
    found = [
        np.flatnonzero(mask)[np.argsort(numbers[mask], kind="stable")[:most]]
        for mask, most in parts
    ]
    return np.concatenate(found)
