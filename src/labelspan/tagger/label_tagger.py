"""The tagger: ridge regression on features, and votes of the nearest labelled items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput
from ..graph.neighbors import NeighborSearch
from ..operators.row_data import row_squares
from ..text import TextFeatures
from ..text.vocabulary import (
    checked_parts,
    offsets_rise,
    require,
    within,
)
from .decision import NEVER, Decision, LabelRecord, LeftOutTags, emphasised
from .label_regression import LabelRegression, WeightPruner

__all__ = ["Tagger", "Voters"]

# Number of items that vote.
_VOTERS = 20
# In large collections, features in more than this fraction or number of items are not used to
# find the voters, because they would take most of the time.
_FREQUENT, _MOST_ITEMS, _MANY = 0.03, 50, 1000
# Entries of a block of scores.
_ENTRIES = 1 << 22

# Types and shapes of the arrays that are stored.
_SHAPES = {
    "rows": "i8 n",
    "diagonal": "f4 n",
    "intercept": "f4 k",
    "thresholds": "f4 k",
    "record": "i8 3 k",
    "levels": "f8 2 knots",
    "numbers": "f8 5",
    "left_out_columns": "i4 n listed",
    "left_out_chances": "f4 n listed",
    "left_out_own": "f4 labels",
}
_DAMAGED = "The parts of the tagger do not match; the index is damaged."


class Voters:
    """Labelled items, the nearest of which vote; frequent features are ignored."""

    def __init__(self, features: Any, labels: sparse.csr_matrix) -> None:
        self._features = features
        self._labels = labels

    @cached_property
    def _columns(self) -> Array | None:
        """Features by which items are compared; None for all."""
        n, d = self._features.shape
        if not sparse.issparse(self._features) or n < _MANY:
            return None
        counts = np.bincount(self._features.indices, minlength=d)
        return np.asarray(counts <= min(_FREQUENT * n, _MOST_ITEMS))

    def _compared(self, features: Any) -> Any:
        keep = self._columns
        if keep is None:
            return features
        rows = sparse.csr_matrix(features)
        inside = keep[rows.indices]
        sums = np.concatenate([[0], np.cumsum(inside)])
        return sparse.csr_matrix(
            (rows.data[inside], rows.indices[inside], sums[rows.indptr]), shape=rows.shape
        )

    @cached_property
    def _search(self) -> NeighborSearch:
        return NeighborSearch(self._compared(self._features), metric="cosine")

    def nearest(self, features: Any, own: Array | None = None) -> tuple[Array, Array]:
        """Find the nearest items of each row, with their cosines, best first.

        ``own`` are the numbers of the rows among the items, which do not vote for themselves; -1
        for others. If fewer items share a feature, the last cosines are 0.
        """
        found, cosines = self._search.nearest(
            _VOTERS, self._compared(features), exclude=own, search="auto"
        )
        cosines = np.where((found >= 0) & (cosines > 0), cosines, 0.0).astype(np.float32)
        return np.where(cosines > 0, found, 0), cosines

    def votes(self, features: Any, own: Array | None = None) -> sparse.csr_matrix:
        """Return for each row and label the fraction of the votes, weighted by the cosines."""
        items, cosines = self.nearest(features, own)
        total = cosines.sum(axis=1, keepdims=True)
        weights = cosines / np.where(total > 0, total, 1.0)
        starts = np.arange(0, weights.size + 1, max(1, weights.shape[1]))
        if not weights.size:
            return sparse.csr_matrix((len(items), self._labels.shape[1]), dtype=np.float32)
        shape = (len(items), self._labels.shape[0])
        choice = sparse.csr_matrix((weights.ravel(), items.ravel(), starts), shape=shape)
        choice.eliminate_zeros()
        return sparse.csr_matrix(choice @ self._labels)


@dataclass(frozen=True)
class Tagger:
    """Regression and voters of each label, and the decision from their scores.

    The score of a label is ``x @ weights + intercept``, plus ``decision.weight`` times the share
    of votes; ``decision`` maps it to a probability. A label is chosen if its probability reaches
    its threshold. :func:`labelspan.tagger.learning.learn_tagger` creates one; :meth:`updated`
    returns a changed copy.
    """

    # Name of each column; the largest weights (k, d), intercepts and thresholds (k,) of labels.
    labels: tuple[str, ...]
    alpha: float
    weights: sparse.csr_matrix
    intercept: Array
    thresholds: Array
    decision: Decision
    # Decisions on held-out items.
    record: LabelRecord
    # For the labelled items: rows in the collection, increasing; features (n, d); labels (n, k), 0
    # and 1; inputs of the leave-one-out scores; labels predicted without the item.
    rows: Array
    features: Any
    targets: sparse.csr_matrix
    diagonal: Array
    left_out: LeftOutTags
    # Computes features of texts; None if they are computed elsewhere.
    texts: TextFeatures | None = None
    # Whether it was trained on only a sample of the labelled items.
    sampled: bool = False

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.weights.shape[1])

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of each label."""
        return {label: column for column, label in enumerate(self.labels)}

    @cached_property
    def voters(self) -> Voters:
        """The labelled items."""
        return Voters(self.features, self.targets)

    @cached_property
    def _by_feature(self) -> Any:
        found = self.weights.T.tocsr()
        small = self.n_features * len(self.labels) <= _ENTRIES // 4
        return found.toarray() if small else found

    def places(self, rows: Array) -> Array:
        """Return the positions of some rows of the collection among the labelled items, or -1."""
        if not self.rows.size:
            return np.full(len(rows), -1)
        at = np.minimum(np.searchsorted(self.rows, rows), self.rows.size - 1)
        return np.asarray(np.where(self.rows[at] == rows, at, -1))

    def regression(self, features: Any) -> Array:
        """Compute the score of every label by the regression."""
        found = features @ self._by_feature
        found = found.toarray() if sparse.issparse(found) else found
        return np.asarray(found, dtype=np.float32) + self.intercept

    def scores(self, features: Any, own: Array | None = None) -> Array:
        """Compute the score of every label for a few rows.

        ``own`` are the numbers of the rows among the labelled items, or -1: their scores are those
        of a model without them.
        """
        found = self.regression(features)
        if own is not None:
            known = np.flatnonzero(own >= 0)
            truth = emphasised(self.targets)[own[known]].toarray()
            shrunk = self.alpha * self.diagonal[own[known], None]
            found[known] = truth - (truth - found[known]) / shrunk
        if self.decision.weight:
            found += self.decision.weight * self.voters.votes(features, own).toarray()
        return found

    def _blocks(self, features: Any, own: Array | None) -> Iterator[tuple[slice, Array]]:
        step = max(1, _ENTRIES // max(1, len(self.labels)))
        for start in range(0, features.shape[0], step):
            part = slice(start, min(start + step, features.shape[0]))
            yield part, self.scores(features[part], None if own is None else own[part])

    def probabilities(self, features: Any, own: Array | None = None) -> Array:
        """Compute the probability of every label for every row; ``own`` as in :meth:`scores`."""
        out = np.zeros((features.shape[0], len(self.labels)), dtype=np.float32)
        for part, scores in self._blocks(features, own):
            out[part] = self.decision.probability(scores)
        return out

    def best(self, features: Any, k: int, own: Array | None = None) -> tuple[Array, Array]:
        """Return the ``k`` best labels of each row and their probabilities, best first.

        ``own`` as in :meth:`scores`.
        """
        k = min(k, len(self.labels))
        columns = np.zeros((features.shape[0], k), dtype=np.intp)
        chances = np.zeros((features.shape[0], k), dtype=np.float32)
        for part, scores in self._blocks(features, own):
            top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            columns[part] = top
            chances[part] = self.decision.probability(np.take_along_axis(scores, top, axis=1))
        return columns, chances

    def contributions(self, features: Any, column: int) -> Array:
        """Return the contribution of each feature of one row to the score of a label."""
        row = sparse.csr_matrix(features)
        weights = self.weights[[column]].toarray().ravel()
        found = np.zeros(weights.size)
        found[row.indices] = row.data * weights[row.indices]
        return found

    # --- changes ----------------------------------------------------------------------

    def updated(
        self,
        labels: Sequence[str],
        rows: Array,
        targets: sparse.csr_matrix,
        features: Any = None,
        removed: Sequence[int] = (),
    ) -> Tagger:
        """Return a tagger after some items were added, relabelled or removed.

        ``labels`` are those of the tagger, in order, followed by new ones; ``rows`` the increasing
        numbers of items that are new or have other labels, ``targets``; ``features`` those of the
        new ones; ``removed`` the numbers of items that were removed or lost their labels.

        Only labels of these items are learned again, starting from their current weights. Alpha,
        the map to probabilities and the weights of other labels do not change: for these a new item
        is only one more item without the label.
        """
        rows = np.asarray(rows, dtype=np.int64)
        at = self.places(rows)
        if tuple(labels[: len(self.labels)]) != self.labels:
            raise InvalidInput("updated: labels must begin with those of the tagger, in order.")
        if int((at < 0).sum()) != (0 if features is None else features.shape[0]):
            raise InvalidInput(
                f"updated: features must have a row for each of the {int((at < 0).sum())} items "
                "that are new to the tagger."
            )
        gone = self.places(np.asarray(removed, dtype=np.int64))
        made, touched = self._with_items(tuple(labels), rows, targets, features, gone[gone >= 0])
        made = made._learned_again(touched)
        return made._left_out_again(made.places(rows))

    def _with_items(
        self,
        labels: tuple[str, ...],
        rows: Array,
        targets: sparse.csr_matrix,
        features: Any,
        gone: Array,
    ) -> tuple[Tagger, Array]:
        """Return a tagger with the items after a change, and the affected labels."""
        count, width, at = len(self.rows), len(labels), self.places(rows)
        wide = _resized(self.targets, count, width)
        given = sparse.csr_matrix(targets, dtype=np.float32, shape=(len(rows), width))
        known, fresh = at[at >= 0], np.flatnonzero(at < 0)
        different = abs(wide[known] - given[at >= 0]).tocoo()
        touched = np.unique(
            np.concatenate(
                [different.col[different.data > 0], given[fresh].indices, wide[gone].indices]
            )
        ).astype(np.int64)
        # Sources of the new rows: old ones first, then the given ones.
        kept = np.setdiff1d(np.arange(count), gone)
        source = np.arange(count)
        source[known] = count + np.flatnonzero(at >= 0)
        every = np.concatenate([self.rows[kept], rows[fresh]])
        order = np.argsort(every, kind="stable")
        source = np.concatenate([source[kept], count + fresh])[order]
        held = np.concatenate([kept, count + np.arange(fresh.size)])[order]
        table = _stacked(wide, given)[source]
        found, diagonal = self.features, self.diagonal
        if fresh.size:
            found = _stacked(found, features)
            # The smallest possible value for a row of this length.
            least = 1.0 / (row_squares(features) + 1.0 + self.alpha)
            diagonal = np.concatenate([diagonal, least.astype(np.float32)])
        if fresh.size or gone.size:
            found = found[held]
        support = np.asarray(table.sum(axis=0)).ravel().astype(np.int64)
        limits = _padded(self.thresholds, width)
        limits[len(self.labels) :] = self.decision.threshold
        # One item cannot be predicted from the others.
        limits[support < 2] = NEVER
        before = self.left_out
        extra = np.zeros((fresh.size, before.columns.shape[1]), dtype=np.int32)
        chances = sparse.csr_matrix((before.own, wide.indices, wide.indptr), wide.shape)
        made = replace(
            self,
            labels=labels,
            rows=every[order],
            features=found,
            targets=table,
            diagonal=diagonal[held],
            left_out=LeftOutTags(
                np.vstack([before.columns, extra])[held],
                np.vstack([before.chances, extra.astype(np.float32)])[held],
                # Those of changed items are computed later.
                _stacked(chances, given)[source].data,
            ),
            record=LabelRecord(
                _padded(self.record.chosen, width), _padded(self.record.right, width), support
            ),
            thresholds=limits,
            intercept=_padded(self.intercept, width),
            weights=_resized(self.weights, width, self.n_features),
        )
        return made, touched

    def _learned_again(self, touched: Array) -> Tagger:
        """Learn some labels again, starting from their current weights."""
        if not touched.size or not self.rows.size:
            return self
        regression = LabelRegression(self.features, self.alpha)
        prune = WeightPruner(self.features, len(self.labels))
        wanted = emphasised(self.targets)[:, touched].toarray()
        before = np.vstack([self.weights[touched].toarray().T, self.intercept[touched]])
        start = (wanted - regression.predict(before)) / self.alpha
        found = regression.solve(wanted, start=start)
        kept, intercept = prune(regression.weights_of(found))
        order = np.arange(len(self.labels))
        order[touched] = len(self.labels) + np.arange(touched.size)
        weights = _stacked(self.weights, kept)[order]
        constants = self.intercept.copy()
        constants[touched] = intercept
        return replace(self, weights=weights, intercept=constants)

    def _left_out_again(self, changed: Array) -> Tagger:
        """Predict the labels of changed items again."""
        if not changed.size or not len(self.labels):
            return self
        width = self.left_out.columns.shape[1]
        columns, chances = self.left_out.columns.copy(), self.left_out.chances.copy()
        own = self.left_out.own.copy()
        starts = self.targets.indptr
        for part, scores in self._blocks(self.features[changed], changed):
            top = np.argsort(-scores, axis=1, kind="stable")[:, :width]
            likely = self.decision.probability(scores)
            columns[changed[part]] = top
            chances[changed[part]] = np.take_along_axis(likely, top, axis=1)
            for number, item in enumerate(changed[part].tolist()):
                entries = slice(starts[item], starts[item + 1])
                own[entries] = likely[number, self.targets.indices[entries]]
        return replace(self, left_out=LeftOutTags(columns, chances, own))

    # --- storage ----------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to store, by name, without the names of the labels."""
        decision = self.decision
        numbers = [self.alpha, decision.weight, decision.threshold, self.sampled, self.n_features]
        record = [self.record.chosen, self.record.right, self.record.support]
        texts = {} if self.texts is None else self.texts.arrays()
        return {
            "numbers": np.array(numbers, dtype=np.float64),
            "intercept": self.intercept,
            "thresholds": self.thresholds,
            "levels": np.stack([self.decision.knots, self.decision.levels]),
            "record": np.stack(record).astype(np.int64),
            "rows": self.rows,
            "diagonal": self.diagonal,
            "left_out_columns": self.left_out.columns,
            "left_out_chances": self.left_out.chances,
            "left_out_own": self.left_out.own,
            **_packed("weights", self.weights),
            **_packed("targets", self.targets),
            **_packed("features", self.features),
            **{f"texts_{name}": array for name, array in texts.items()},
        }

    @classmethod
    def from_arrays(
        cls,
        labels: Sequence[str],
        arrays: Mapping[str, Array],
        texts: TextFeatures | None = None,
    ) -> Tagger:
        """Restore the tagger from :meth:`arrays`; raise InvalidFile if it is damaged.

        ``texts`` are the features whose arrays begin with ``texts_``.
        """
        k = len(labels)
        parts = checked_parts(_SHAPES, arrays, _DAMAGED, k=k)
        rows, diagonal, intercept, thresholds, record, levels, numbers, columns, chances, own = (
            parts
        )
        require(
            _DAMAGED,
            (np.diff(rows) > 0).all(),
            np.isfinite(levels).all() and (np.diff(levels) >= 0).all() and levels.size > 0,
            np.isfinite(numbers).all() and numbers[0] > 0,
            (diagonal > 0).all(),
            within(columns.ravel(), k),
            (own >= 0).all() and (own <= 1).all(),
        )
        alpha, weight, threshold, sampled, width = numbers.tolist()
        features = _unpacked("features", arrays, rows.size, int(width))
        weights = _unpacked("weights", arrays, k, int(width))
        targets = _unpacked("targets", arrays, rows.size, k)
        require(_DAMAGED, own.size == targets.nnz, texts is None or texts.size == width)
        return cls(
            tuple(labels),
            alpha,
            weights,
            intercept,
            thresholds,
            Decision(weight, levels[0], levels[1], threshold),
            LabelRecord(*record),
            rows,
            features,
            targets,
            diagonal,
            LeftOutTags(columns, chances, own),
            texts,
            sampled > 0,
        )


def _stacked(first: Any, second: Any) -> Any:
    """Append rows to others."""
    if not sparse.issparse(first):
        return np.vstack([first, second])
    found = sparse.csr_matrix(sparse.vstack([first, second], format="csr"))
    found.sort_indices()
    return found


def _padded(values: Array, count: int) -> Array:
    return np.concatenate([values, np.zeros(count - values.size, dtype=values.dtype)])


def _resized(matrix: sparse.csr_matrix, rows: int, columns: int) -> sparse.csr_matrix:
    """Return a matrix with more rows or columns, without a copy of its entries."""
    starts = matrix.indptr
    starts = np.concatenate([starts, np.full(rows + 1 - starts.size, starts[-1], starts.dtype)])
    return sparse.csr_matrix((matrix.data, matrix.indices, starts), shape=(rows, columns))


def _packed(name: str, matrix: Any) -> dict[str, Array]:
    if not sparse.issparse(matrix):
        return {f"{name}_data": np.asarray(matrix, dtype=np.float32)}
    return {
        f"{name}_data": matrix.data.astype(np.float32, copy=False),
        f"{name}_columns": matrix.indices.astype(np.int32, copy=False),
        f"{name}_starts": matrix.indptr.astype(np.int64),
    }


def _unpacked(name: str, arrays: Mapping[str, Array], count: int, width: int) -> Any:
    """Read a matrix; indices out of range would make products read foreign memory."""
    if f"{name}_columns" not in arrays:
        shape = {f"{name}_data": "f4 n d"}
        return checked_parts(shape, arrays, _DAMAGED, n=count, d=width)[0]
    shapes = {f"{name}_data": "f4 p", f"{name}_columns": "i4 p", f"{name}_starts": "i8 n+1"}
    data, columns, starts = checked_parts(shapes, arrays, _DAMAGED, n=count)
    largest = np.iinfo(np.int32).max
    require(_DAMAGED, 0 <= width < largest, offsets_rise(starts, data.size), within(columns, width))
    small = starts.astype(np.int32) if data.size < largest else starts
    return sparse.csr_matrix((data, columns, small), shape=(count, width))
