"""What an adapter has seen of a stream of vectors and labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import Array
from ..labels import Labels
from ..labels.reading import Kind
from ..operators import Operator, as_operator
from ..solvers import Statistics
from .row_sample import RowSample

__all__ = ["AdapterStream", "MapRows", "split_plan"]

# Held-out rows at most, and rows that their neighbours are looked for among.
HELD_OUT, ITEMS = 400, 2000
_FOLDS = 5
# With fewer labelled rows nothing is compared.
FEWEST = 20


@dataclass(frozen=True)
class MapRows:
    """One split: statistics of the fitted part, a sample of its rows, and held-out rows."""

    labelled: Statistics
    items: Array
    item_labels: Array
    queries: Array
    query_labels: Array


@dataclass(frozen=True)
class AdapterStream:
    """Statistics of all rows but the candidates for queries, and a sample of rows.

    A stream does not change; a batch makes a new one.
    """

    names: Array
    kind: Kind
    dtype: Any
    sample: RowSample
    labelled: Statistics | None = None
    unlabelled: Statistics | None = None
    batches: int = 0

    @classmethod
    def opened(
        cls,
        names: Array,
        kind: Kind,
        dtype: Any,
        columns: int,
        seed: int,
        *,
        whole: bool = True,
    ) -> AdapterStream:
        """Start a stream that has seen nothing; ``whole`` if all labels will be 0 or 1."""
        sample = RowSample.empty(columns, names.size, np.dtype(dtype), seed, whole=whole)
        return cls(names, kind, dtype, sample)

    @property
    def n_labelled(self) -> int:
        """Number of labelled rows."""
        return self.sample.seen

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.sample.seen + (0 if self.unlabelled is None else self.unlabelled.n)

    def extended(self, X: Operator, labels: Labels) -> AdapterStream:
        """Return the stream with one more batch."""
        known = labels.labelled
        unlabelled = self.unlabelled
        if not known.all():
            rest = X.rows(np.flatnonzero(~known))
            more = Statistics.of(rest, np.zeros((rest.shape[0], 0)), products=False)
            unlabelled = _joined(unlabelled, more)
        index = np.flatnonzero(known)
        sample, labelled = self.sample, self.labelled
        numbers = sample.draw(index.size)
        candidates = np.flatnonzero(sample.within(numbers, HELD_OUT + ITEMS))
        grown = sample.extended(
            numbers[candidates],
            _host_rows(X, index[candidates]) if candidates.size else sample.rows[:0],
            labels.values[index[candidates]],
            seen=index.size,
            size=HELD_OUT + ITEMS,
        )
        # Rows that may become queries stay out of the sums until others take their places.
        held = grown.numbers[:HELD_OUT]
        released = np.flatnonzero(~np.isin(sample.numbers[:HELD_OUT], held))
        if released.size:
            labelled = _joined(labelled, self._part(released))
        summed = index[~np.isin(numbers, held)]
        if summed.size:
            rows = X if summed.size == X.shape[0] else X.rows(summed)
            more = Statistics.of(rows, labels.values[summed], products=False)
            labelled = _joined(labelled, more)
        return replace(
            self,
            sample=grown,
            labelled=labelled,
            unlabelled=unlabelled,
            batches=self.batches + 1,
        )

    def whole(self) -> Statistics:
        """Return the statistics of all labelled rows."""
        held = min(HELD_OUT, self.sample.numbers.size)
        return _joined(self.labelled, self._part(np.arange(held)))

    def splits(self) -> list[MapRows]:
        """Return the splits to compare maps on; none where rows are too few."""
        folds, size = split_plan(self.n_labelled)
        held = min(HELD_OUT, self.sample.numbers.size)
        used = folds * size
        beyond = np.arange(used, held)
        base = self.labelled
        if beyond.size:
            base = _joined(base, self._part(beyond))
        parts = [np.arange(fold * size, (fold + 1) * size) for fold in range(folds)]
        moments = [self._part(part) for part in parts]
        out = []
        for fold, part in enumerate(parts):
            fitted = base
            for other in range(folds):
                if other != fold:
                    fitted = _joined(fitted, moments[other])
            assert fitted is not None
            items = np.setdiff1d(np.arange(self.sample.numbers.size), part)
            out.append(
                MapRows(
                    fitted,
                    self.sample.rows[items],
                    self.sample.labels[items],
                    self.sample.rows[part],
                    self.sample.labels[part],
                )
            )
        return out

    def _part(self, index: Array) -> Statistics:
        rows = as_operator(self.sample.rows[index])
        labels = self.sample.labels[index].astype(np.float64)
        return Statistics.of(rows, labels, products=False)


def split_plan(rows: int) -> tuple[int, int]:
    """Return the number of splits and of queries in each: a fifth of the rows, 400 in all."""
    if rows < FEWEST:
        return 0, 0
    size = min(rows // _FOLDS, HELD_OUT)
    return max(1, min(_FOLDS, round(min(rows, HELD_OUT) / size))) if size else 0, size


def _joined(left: Statistics | None, right: Statistics) -> Statistics:
    return right if left is None else left.join(right)


def _host_rows(X: Operator, index: Array) -> Array:
    return np.asarray(X.rows(index).toarray())
