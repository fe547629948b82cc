"""From scores to decisions: comparable scores, calibrated probabilities, thresholds.

All of these are chosen from leave-one-out scores of labelled items. The map to probabilities is
shared by all labels: a rare label has too few items for its own. The threshold of a frequent label
is the common one, with the best micro F1; that of a rare one has the best expected F1 of the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._typing import Array

__all__ = [
    "NEVER",
    "Decision",
    "HeldOutScores",
    "LabelRecord",
    "LeftOutTags",
    "emphasis",
    "make_comparable",
]

# Threshold of a label that is never chosen: probabilities stay below it.
NEVER = 1.0
_KNOTS = 100
_HIGHEST = np.float32(0.9999)
# Allowed ratio of the number of chosen labels to that of the true ones.
_COUNT = 0.02
# The regression shrinks the scores of rare labels: both terms are increased by these powers of
# (m + 3) / (m + 1003) for a label of m items. Powers of .1 and .3 have .001 less nDCG@5 and
# micro F1 on five development collections, .05 and .2 about the same.
_RARITY = (0.1, 0.2)
_ADDED, _MANY = 3, 1000


class HeldOutScores(NamedTuple):
    """Scores of pairs of an item and a label by models without the item.

    ``truth`` says whether the item has the label, ``weights`` how many pairs of all one stands for,
    ``columns`` are the numbers of the labels.
    """

    scores: Array
    truth: Array
    weights: Array
    columns: Array


@dataclass(frozen=True)
class Decision:
    """Weight of the votes, map from scores to probabilities, and thresholds.

    ``probability`` interpolates between ``knots`` and ``levels``, which both rise. ``own`` are the
    thresholds of labels, and ``threshold`` is that of labels that are added.
    """

    weight: float
    knots: Array
    levels: Array
    threshold: float
    own: Array

    @classmethod
    def choose(cls, found: HeldOutScores, weight: float, expected: Array) -> Decision:
        """Choose the map and the thresholds from the scores of held-out items.

        ``expected`` is the number of these items that is expected to have each label.
        """
        scores = found.scores.astype(np.float64)
        knots, levels = _calibrate(scores, found.truth, found.weights)
        limit = float(np.interp(_threshold(scores, found.truth, found.weights), knots, levels))
        chances = np.interp(scores, knots, levels)
        own = _own_thresholds(chances, found.columns, found.weights, expected, limit)
        return cls(weight, knots, levels, limit, own.astype(np.float32))

    def probability(self, scores: Array) -> Array:
        """Map scores to probabilities."""
        found = np.interp(scores, self.knots, self.levels).astype(np.float32)
        return np.minimum(found, _HIGHEST)

    def scores_of(self, chances: Array) -> Array:
        """Return scores whose probabilities are just not below some; infinite if none is."""
        found = np.interp(chances, self.levels, self.knots).astype(np.float32)
        found[self.probability(np.array([np.inf])) < chances] = np.inf
        while (low := np.isfinite(found) & (self.probability(found) < chances)).any():
            found[low] = np.nextafter(found[low], np.float32(np.inf))
        return found


@dataclass(frozen=True)
class LeftOutTags:
    """The most probable labels of labelled items, predicted by models trained without the item."""

    # For each item at most 12 labels, best first, and their probabilities.
    columns: Array
    chances: Array
    # Probabilities of the labels that items have, in the order of the matrix of labels.
    own: Array


@dataclass(frozen=True)
class LabelRecord:
    """For each label, over held-out items: times chosen, times right, and number of items."""

    chosen: Array
    right: Array
    support: Array

    @classmethod
    def of(cls, found: LeftOutTags, thresholds: Array, labels: sparse.csr_matrix) -> LabelRecord:
        """Count the decisions on labelled items."""
        k = labels.shape[1]
        right = labels.indices[found.own >= thresholds[labels.indices]]
        rows, places = np.nonzero(found.chances >= thresholds[found.columns])
        columns = found.columns[rows, places]
        wrong = columns[np.asarray(labels[rows, columns]).ravel() == 0] if rows.size else columns
        hits = np.bincount(right, minlength=k)
        support = np.bincount(labels.indices, minlength=k)
        return cls(hits + np.bincount(wrong, minlength=k), hits, support)


def make_comparable(
    terms: Sequence[Array], support: Array, own: sparse.csr_matrix | None = None
) -> None:
    """Multiply the terms of the scores by numbers that are larger if the label is rare, in place.

    There may be two choices of the second term. This makes labels with different numbers of items,
    ``support``, comparable by one threshold.
    ``own`` are the labels of the rows if these are among the items, and are left out. A label that
    no item has cannot be predicted.
    """
    if own is not None:
        rows = np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))
        others = support[own.indices] - 1
    factors = emphasis(support)
    for number, term in enumerate(terms):
        np.multiply(term, factors[min(number, 1)], out=term)
    if own is not None:
        changed = emphasis(others) / emphasis(others + 1)
        for number, term in enumerate(terms):
            term[rows, own.indices] *= changed[min(number, 1)]
        terms[0][rows[others == 0], own.indices[others == 0]] = -np.inf
    terms[0][:, support == 0] = -np.inf


def emphasis(support: Any) -> Array:
    """Return the factors of both terms for labels with some numbers of items."""
    share = (np.asarray(support) + _ADDED) / (np.asarray(support) + _ADDED + _MANY)
    return np.stack([np.power(share, -power).astype(np.float32) for power in _RARITY])


def _calibrate(scores: Array, truth: Array, weights: Array) -> tuple[Array, Array]:
    """Fit an increasing map from scores to probabilities, by the means of groups of scores."""
    if not truth.any():
        return np.array([0.0, 1.0]), np.array([0.0, 1e-3])
    order = np.argsort(scores, kind="stable")
    scores, truth, weights = scores[order], truth[order], weights[order]
    # Groups have about equal numbers of true pairs, so that there are many where it matters.
    rank = np.cumsum(truth) + np.arange(order.size) / order.size
    groups = max(2, min(_KNOTS, int(truth.sum()) // 5, order.size // 4))
    edges = np.searchsorted(rank, np.linspace(0, rank[-1], groups + 1)[1:-1])
    starts = np.unique(np.concatenate([[0], edges[edges < order.size]]))
    sizes = np.add.reduceat(weights, starts)
    middles = np.add.reduceat(weights * scores, starts) / sizes
    # Half a case is added, so that no probability is 1.
    shares = np.add.reduceat(weights * truth, starts) / (sizes + 0.5)
    # Importing it takes longer than a search.
    from scipy.optimize import isotonic_regression  # noqa: PLC0415

    rising = isotonic_regression(shares, weights=sizes).x
    lowest, highest = float(scores[0]), float(scores[-1])
    span = max(highest - lowest, 1e-6)
    knots = np.concatenate([[lowest - span], middles, [highest + span]])
    levels = np.concatenate([[0.0], rising, [max(1.0 - 1e-3, float(rising[-1]))]])
    knots, first = np.unique(knots, return_index=True)
    levels = np.maximum.accumulate(levels[first])
    # A small slope, so that different scores have different probabilities.
    return knots, levels * (1 - 1e-4) + 1e-4 * np.linspace(0, 1, knots.size)


def _threshold(scores: Array, truth: Array, weights: Array) -> float:
    """Find the score with the best micro F1 that chooses about as many labels as items have."""
    total = int(truth.sum())
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits, taken = np.cumsum(truth[order]), np.cumsum(weights[order])
    f1 = 2 * hits / (taken + total)
    last = np.append(ranked[:-1] > ranked[1:], True)
    near = np.abs(taken - total) <= max(1.0, _COUNT * total)
    allowed = last & near if (last & near).any() else last
    best = int(np.argmax(np.where(allowed, f1, -1.0)))
    below = ranked[best + 1] if best + 1 < ranked.size else ranked[best] - 1e-6
    return float((ranked[best] + below) / 2)


def _own_thresholds(
    chances: Array, columns: Array, weights: Array, expected: Array, limit: float
) -> Array:
    """Return a threshold for each label, from the chances of pairs; ``limit`` without pairs.

    A pair more increases the expected F1 of a label if its chance is above half of this F1, and
    micro F1 if it is above ``limit``. The threshold is that of the sum of micro and macro F1: the
    mean of both, the first weighted by the mean number of items of labels, the second by the number
    of items that have the label or are chosen.
    """
    order = np.lexsort((-chances, columns))
    chances, columns, weights = chances[order], columns[order], weights[order]
    first = np.searchsorted(columns, columns)
    hits, taken = (np.concatenate([[0.0], np.cumsum(one)]) for one in (chances * weights, weights))
    sizes = taken[1:] - taken[first] + expected[columns]
    half = (hits[1:] - hits[first]) / np.maximum(sizes, 1e-9)
    # The last of each label is the best.
    best = np.lexsort((half, columns))
    best = best[np.append(columns[1:] != columns[:-1], True)[: best.size]]
    usual = float(expected.sum()) / max(1, int(np.count_nonzero(expected)))
    found = np.full(expected.size, limit)
    share = usual / np.maximum(usual + sizes[best], 1e-9)
    found[columns[best]] += share * (half[best] - limit)
    return found
