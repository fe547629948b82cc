"""The state of an adapter: sums over all rows, and a random sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from ..labels import Labels
from ..labels.reading import Kind
from ..operators import Operator, as_operator
from ..solvers import Statistics

__all__ = ["FEWEST", "AdapterStream"]

# Maximum number of held-out rows, and number of rows in which their neighbours are searched.
HELD_OUT, ITEMS = 400, 2000
_FOLDS = 5
# With fewer labelled rows nothing is compared.
FEWEST = 20
# Number of rows that are read and summed at once.
_BATCH = 16_384


@dataclass(frozen=True)
class AdapterStream:
    """Statistics of all rows, and a sample of the labelled ones.

    Each labelled row gets a random number that depends on its position; the sample has the
    rows with the smallest numbers, in this order, so that it does not depend on the batches.
    A stream is immutable; adding a batch returns a new one.
    """

    names: Array
    kind: Kind
    dtype: Any
    seed: int
    numbers: Array
    rows: Array
    row_labels: Array
    labelled: Statistics | None = None
    unlabelled: Statistics | None = None
    solved: bool = False

    @classmethod
    def opened(cls, labels: Labels, X: Operator, seed: int) -> AdapterStream:
        """Start an empty stream; fitted labels are stored in float64."""
        whole = labels.many or bool(np.isin(labels.values, (0.0, 1.0)).all())
        none = np.zeros((0, labels.names.size), np.int8 if whole else np.float64)
        rows = np.zeros((0, X.shape[1]), X.dtype)
        return cls(labels.names, labels.kind, X.dtype, seed, np.zeros(0), rows, none)

    @property
    def n_labelled(self) -> int:
        """Number of labelled rows."""
        return 0 if self.labelled is None else self.labelled.n

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.n_labelled + (0 if self.unlabelled is None else self.unlabelled.n)

    def extended(self, X: Operator, labels: Labels) -> AdapterStream:
        """Return the stream with more rows, which are summed in small parts."""
        stream, n = self, X.shape[0]
        step = max(1, min(_BATCH, (1 << 25) // max(1, labels.names.size)))
        for start in range(0, n, step):
            part = np.arange(start, min(start + step, n))
            rows = X if part.size == n else X.rows(part)
            stream = stream._with_part(rows, labels if part.size == n else labels.rows(part))
        return stream

    def _with_part(self, X: Operator, labels: Labels) -> AdapterStream:
        known = labels.labelled
        index, rest = np.flatnonzero(known), np.flatnonzero(~known)
        values: Any = labels.values
        values = (values.toarray() if labels.many else values)[index]
        labelled, unlabelled = self.labelled, self.unlabelled
        if rest.size:
            others = X.rows(rest)
            none = np.zeros((rest.size, 0))
            unlabelled = _joined(unlabelled, Statistics.of(others, none, products=False))
        if not index.size:
            return replace(self, unlabelled=unlabelled)
        rows = X if index.size == X.shape[0] else X.rows(index)
        labelled = _joined(labelled, Statistics.of(rows, values, products=False))
        drawn = np.random.Generator(np.random.PCG64(self.seed).advance(self.n_labelled))
        numbers = np.concatenate([self.numbers, drawn.random(index.size)])
        order = np.argsort(numbers)[: HELD_OUT + ITEMS]
        new = order[order >= self.numbers.size] - self.numbers.size
        # Rows of the sample, and the new ones that enter it, by their ranks.
        sampled = np.concatenate([self.rows, _dense(rows, new, self.rows.dtype)])
        tags = np.concatenate([self.row_labels, values[new].astype(self.row_labels.dtype)])
        place = order.copy()
        place[order >= self.numbers.size] = self.numbers.size + np.arange(new.size)
        return replace(
            self,
            numbers=numbers[order],
            rows=sampled[place],
            row_labels=tags[place],
            labelled=labelled,
            unlabelled=unlabelled,
        )

    def whole(self) -> Statistics:
        """Return the statistics of all labelled rows."""
        if self.labelled is None or self.labelled.n < 2:
            raise InvalidInput("Adapter needs at least two labelled rows; pass more.")
        return self.labelled

    def splits(self) -> list[Array]:
        """Return the sampled rows that are queries in each split; none if rows are too few."""
        if self.n_labelled < FEWEST:
            return []
        # Queries are a fifth of the rows in each split, and 400 in all.
        size = min(self.n_labelled // _FOLDS, HELD_OUT)
        folds = max(1, min(_FOLDS, round(min(self.n_labelled, HELD_OUT) / size)))
        return [np.arange(fold * size, (fold + 1) * size) for fold in range(folds)]

    def without(self, part: Array) -> Statistics:
        """Return the statistics of the labelled rows that are not in a part of the sample."""
        whole, held = self.whole(), self.row_labels[part].astype(np.float64)
        less = Statistics.of(as_operator(self.rows[part]), held, products=False)
        n = whole.n - less.n
        x_gap, b_gap = less.x_mean - whole.x_mean, less.b_mean - whole.b_mean
        share = whole.n * less.n / n
        return Statistics(
            n,
            whole.x_mean - (less.n / n) * x_gap,
            whole.b_mean - (less.n / n) * b_gap,
            whole.xx - less.xx - np.outer(share * x_gap, x_gap),
            whole.xb - less.xb - np.outer(share * x_gap, b_gap),
            whole.bb - less.bb - share * np.square(b_gap),
        )

    def refuse_unless_solved(self, owner: str) -> None:
        """Raise an error if there is no map."""
        if not self.solved:
            raise InvalidInput(
                f"{owner}: the batches were not solved; call solve(), with at least two labelled "
                "rows."
            )


def _joined(left: Statistics | None, right: Statistics) -> Statistics:
    return right if left is None else left.join(right)


def _dense(X: Operator, index: Array, dtype: Any) -> Array:
    if not index.size:
        return np.zeros((0, X.shape[1]), dtype)
    order = np.argsort(index)
    out = np.empty((index.size, X.shape[1]), dtype)
    out[order] = X.rows(index[order]).toarray()
    return out
