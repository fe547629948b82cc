"""From scores to decisions: weight of the votes, calibrated probabilities, one threshold.

All of these are chosen from leave-one-out scores of labelled items, and are shared by
all labels: a rare label has too few items for its own choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._typing import Array

__all__ = ["NEVER", "Candidates", "Decision", "LabelRecord", "LeftOutTags", "collect", "emphasised"]

# Threshold of a label that is never chosen: probabilities stay below it.
NEVER = 1.0
# Number of candidate labels of each item, in addition to its own.
_CANDIDATES = 30
# Number of labels of each item that are stored with their probabilities.
_KEPT = 12
_WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0)
_KNOTS = 100
_HIGHEST = np.float32(0.9999)
# Allowed ratio of the number of chosen labels to that of the true ones.
_COUNT = 0.02
# The regression shrinks the scores of rare labels most: their targets are increased by this
# power of their frequency. Chosen on the training parts of five collections, with these counts
# added to each label.
_RARITY = 0.1
_ADDED = 3


class Candidates(NamedTuple):
    """Pairs of items and labels with their scores from models trained without the item.

    The arrays have an entry per pair, in the order of rows and columns: row, column, score by
    regression, fraction of the votes, and whether the item has the label. All labels that an item
    has are among them.
    """

    rows: Array
    columns: Array
    regression: Array
    votes: Array
    truth: Array

    def scores(self, weight: float) -> Array:
        """Add the votes to the regression."""
        return np.asarray(self.regression + weight * self.votes)

    def of(self, rows: Array) -> Candidates:
        """Return the pairs of some rows."""
        own = np.isin(self.rows, rows)
        return Candidates(*(values[own] for values in self))

    @classmethod
    def join(cls, parts: Sequence[Candidates]) -> Candidates:
        """Put the pairs of different rows together."""
        every = cls(*(np.concatenate(values) for values in zip(*parts, strict=True)))
        order = np.lexsort((every.columns, every.rows))
        return cls(*(values[order] for values in every))

    def with_votes(self, votes: sparse.csr_matrix) -> Candidates:
        """Return the pairs with the fractions of the votes from a matrix of all rows."""
        return self._replace(votes=_entries(votes, self.rows, self.columns).astype(np.float32))

    def best_weight(self) -> float:
        """Choose the weight of the votes: the one with the best average precision."""
        return max(_WEIGHTS, key=lambda one: _precision(self.scores(one), self))


@dataclass(frozen=True)
class LabelRecord:
    """For each label, over held-out items: times chosen, times right, and number of items."""

    chosen: Array
    right: Array
    support: Array

    @classmethod
    def of(cls, found: Candidates, decision: Decision, support: Array) -> LabelRecord:
        """Count the decisions on candidates."""
        chosen = decision.probability(found.scores(decision.weight)) >= decision.threshold
        return cls(
            np.bincount(found.columns[chosen], minlength=support.size),
            np.bincount(found.columns[chosen & found.truth], minlength=support.size),
            support,
        )

    def thresholds(self, found: Candidates, decision: Decision) -> Array:
        """Return the common threshold, and an unreachable one for labels without signal.

        A label has no signal if it was chosen for held-out items but was never right, or if its
        own items, when held out, score no higher than the average for a label of this frequency.
        """
        columns = found.columns[found.truth]
        sums = np.bincount(columns, found.regression[found.truth], minlength=self.support.size)
        own = sums / np.maximum(1, np.bincount(columns, minlength=self.support.size))
        rows = max(1, int(found.rows.max(initial=0)) + 1)
        usual = self.support / rows * _emphasis(self.support, rows)
        silent = (self.right == 0) & ((self.chosen > 0) | (own <= usual))
        return np.where(silent, NEVER, decision.threshold).astype(np.float32)


@dataclass(frozen=True)
class Decision:
    """Weight of the votes, map from scores to probabilities, and threshold.

    ``probability`` interpolates between ``knots`` and ``levels``, which both rise.
    """

    weight: float
    knots: Array
    levels: Array
    threshold: float

    @classmethod
    def choose(cls, found: Candidates, weight: float | None = None) -> Decision:
        """Choose all three from the scores of held-out items; ``weight`` may be given."""
        weight = found.best_weight() if weight is None else weight
        scores = found.scores(weight).astype(np.float64)
        knots, levels = _calibrate(scores, found.truth)
        cut = _threshold(scores, found.truth)
        return cls(weight, knots, levels, float(np.interp(cut, knots, levels)))

    def probability(self, scores: Array) -> Array:
        """Map scores to probabilities."""
        found = np.interp(scores, self.knots, self.levels).astype(np.float32)
        return np.minimum(found, _HIGHEST)


@dataclass(frozen=True)
class LeftOutTags:
    """The most probable labels of labelled items, predicted by models trained without the item."""

    # For each item at most 12 labels, best first, and their probabilities.
    columns: Array
    chances: Array
    # Probabilities of the labels that items have, in the order of the matrix of labels.
    own: Array

    @classmethod
    def of(cls, found: Candidates, decision: Decision, labels: sparse.csr_matrix) -> LeftOutTags:
        """Select them from the candidates of all rows; each true label must be a candidate."""
        count, width = labels.shape[0], min(_KEPT, labels.shape[1])
        scores = found.scores(decision.weight)
        order = np.lexsort((found.columns, -scores, found.rows))
        rows = found.rows[order]
        rank = np.arange(rows.size) - np.searchsorted(rows, rows)
        best = rank < width
        columns = np.zeros((count, width), dtype=np.int32)
        chances = np.zeros((count, width), dtype=np.float32)
        columns[rows[best], rank[best]] = found.columns[order][best]
        chances[rows[best], rank[best]] = decision.probability(scores[order][best])
        # Both are in the order of rows and columns.
        return cls(columns, chances, decision.probability(scores[found.truth]))


def emphasised(labels: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return the targets of the regression: 0, and for each label a number above 1 if it is rare.

    This makes labels with different numbers of items comparable by one threshold.
    """
    factors = _emphasis(np.asarray(labels.sum(axis=0)).ravel(), labels.shape[0])
    return sparse.csr_matrix((factors[labels.indices], labels.indices, labels.indptr), labels.shape)


def _emphasis(support: Array, count: int) -> Array:
    share = (support + _ADDED) / max(1, count + _ADDED)
    return np.power(share, -_RARITY).astype(np.float32)


def collect(scores: Iterable[tuple[slice, Array]], labels: sparse.csr_matrix) -> Candidates:
    """Collect the candidates, without votes, from blocks of scores, a slice of labels each."""
    n, k = labels.shape
    best = np.full((n, 0), -np.inf, dtype=np.float32)
    names = np.zeros((n, 0), dtype=np.int32)
    found: list[tuple[Array, Array]] = []
    pattern = sparse.csc_matrix(labels)
    for own, block in scores:
        part = pattern[:, own].tocoo()
        pairs = part.row.astype(np.int64) * k + (part.col + own.start)
        found.append((pairs, block[part.row, part.col]))
        best = np.hstack([best, block])
        here = np.broadcast_to(np.arange(own.start, own.stop, dtype=np.int32), block.shape)
        names = np.hstack([names, here])
        if best.shape[1] > _CANDIDATES:
            top = np.argpartition(-best, _CANDIDATES - 1, axis=1)[:, :_CANDIDATES]
            best, names = np.take_along_axis(best, top, 1), np.take_along_axis(names, top, 1)
    found.append(((np.arange(n, dtype=np.int64)[:, None] * k + names).ravel(), best.ravel()))
    pairs, first = np.unique(np.concatenate([one for one, _ in found]), return_index=True)
    rows, columns = np.divmod(pairs, max(1, k))
    return Candidates(
        rows,
        columns,
        np.concatenate([one for _, one in found])[first].astype(np.float32),
        np.zeros(rows.size, dtype=np.float32),
        _entries(labels, rows, columns) > 0,
    )


def _precision(scores: Array, found: Candidates) -> float:
    """Compute the average precision over all pairs."""
    hits = found.truth[np.argsort(-scores, kind="stable")]
    if not hits.any():
        return 0.0
    precision = np.cumsum(hits) / np.arange(1, hits.size + 1)
    return float(precision[hits].mean())


def _calibrate(scores: Array, truth: Array) -> tuple[Array, Array]:
    """Fit an increasing map from scores to probabilities, by the means of groups of scores."""
    order = np.argsort(scores, kind="stable")
    # Groups have about equal numbers of true pairs, so that there are many where it matters.
    rank = np.cumsum(truth[order]) + np.arange(order.size) / max(1, order.size)
    groups = max(2, min(_KNOTS, int(truth.sum()) // 5, order.size // 4))
    edges = np.searchsorted(rank, np.linspace(0, rank[-1] if order.size else 0, groups + 1)[1:-1])
    parts = [part for part in np.split(order, np.unique(edges)) if part.size]
    middles = np.array([scores[part].mean() for part in parts])
    # Half a case is added to both sides, so that no probability is 0 or 1.
    shares = np.array([(truth[part].sum() + 0.5) / (part.size + 1) for part in parts])
    sizes = np.array([part.size for part in parts], dtype=float)
    # Importing it takes longer than a search.
    from scipy.optimize import isotonic_regression  # noqa: PLC0415

    rising = isotonic_regression(shares, weights=sizes).x
    lowest, highest = float(scores.min()), float(scores.max())
    span = max(highest - lowest, 1e-6)
    knots = np.concatenate([[lowest - span], middles, [highest + span]])
    levels = np.concatenate([[0.0], rising, [max(1.0 - 1e-3, float(rising[-1]))]])
    knots, first = np.unique(knots, return_index=True)
    levels = np.maximum.accumulate(levels[first])
    # A small slope, so that different scores have different probabilities.
    return knots, levels * (1 - 1e-4) + 1e-4 * np.linspace(0, 1, knots.size)


def _threshold(scores: Array, truth: Array) -> float:
    """Find the score with the best micro F1 that chooses about as many labels as items have."""
    total = int(truth.sum())
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits = np.cumsum(truth[order])
    taken = np.arange(1, hits.size + 1)
    f1 = 2 * hits / (taken + total)
    last = np.append(ranked[:-1] > ranked[1:], True)
    near = np.abs(taken - total) <= max(1.0, _COUNT * total)
    allowed = last & near if (last & near).any() else last
    best = int(np.argmax(np.where(allowed, f1, -1.0)))
    below = ranked[best + 1] if best + 1 < ranked.size else ranked[best] - 1e-6
    return float((ranked[best] + below) / 2)


def _entries(matrix: sparse.csr_matrix, rows: Array, columns: Array) -> Array:
    if not rows.size:
        return np.zeros(0)
    return np.asarray(matrix[rows, columns]).ravel()
