"""Learn a tagger from the features and labels of items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._typing import Array
from ..operators.row_data import row_squares
from ..text import TextFeatures
from .decision import Decision, HeldOutScores, make_comparable
from .label_regression import LabelledRows, LabelRegression, RowView, add_sparse, leading_directions
from .label_tagger import Tagger, Voters

__all__ = ["Fold", "learn_tagger"]

# Items whose held-out scores choose the penalty and the weights, and then the map to
# probabilities and the thresholds.
_HELD_OUT = 3000
# Pairs of each of these items, in addition to its labels: with the highest scores, and at random.
_BEST, _RANDOM = 30, 30
# Values that are tried, for rows of length 1: of the penalty, and of the weights of remainders
# and votes; in this order, because tags hardly depend on the first, larger remainders learn rare
# labels and those that are added later, and near duplicates favour small weights of votes.
_ALPHAS = (1.0, 3.0, 0.3)
_RESTS = (0.8, 0.5, 0.35, 0.25, 0.17, 0.12, 0.08, 0.05, 0.03, 0.02)
_VOTES = (0.1, 0.25, 0.5, 1.0)
# Differences in quality that may be chance.
_CHANCE = 0.001
# Those of the scores that select the pairs.
_USUAL = (1.0, 0.15, 0.25)
# Number of best labels of an item that count.
_DEPTH = 5
_GAINS = 1 / np.log2(np.arange(_DEPTH) + 2)
# Entries of a block of scores.
_ENTRIES = 1 << 22

# The regression of rows for a penalty.
_Model = Callable[[float], LabelRegression]
# Items that are held out, and features of all others and of these, learned without them.
Fold = tuple[Array, Any, Any]


class _ScoredRows(NamedTuple):
    """Labelled rows, and others with labels to be scored by models of these.

    ``own`` are the numbers of the others among the labelled rows, None if they are not there.
    """

    rows: LabelledRows
    features: Any
    labels: sparse.csr_matrix
    own: Array | None

    def some(self, count: int, rng: np.random.Generator) -> _ScoredRows:
        """Select some of the rows that are scored, at random."""
        if count >= self.labels.shape[0]:
            return self
        chosen = np.sort(rng.permutation(self.labels.shape[0])[:count])
        own = None if self.own is None else self.own[chosen]
        return _ScoredRows(self.rows, self.features[chosen], self.labels[chosen], own)


def learn_tagger(
    labels: Sequence[str],
    targets: sparse.csr_matrix,
    features: Any,
    rows: Array,
    *,
    folds: Iterable[Fold] = (),
    unseen: Array | None = None,
    texts: TextFeatures | None = None,
    sampled: bool = False,
    seed: int = 0,
) -> Tagger:
    """Learn to predict labels from the features (n, d) of labelled items.

    ``targets`` (n, k) has 0 and 1, and ``rows`` the increasing row numbers of the items in the
    collection. ``folds`` are for features that depend on the labels, for example those of a
    supervised embedding: numbers of held-out items, and features of all other items and of these,
    learned without them. Otherwise leave-one-out scores come from the regression in closed form:
    of the items with the numbers ``unseen``, if only the features of these do not.
    ``texts`` computed the features, if the tagger stores it; ``sampled`` says that these
    are not all labelled items.
    """
    targets = sparse.csr_matrix(targets, dtype=np.float32)
    targets.sort_indices()
    items = LabelledRows(features, targets, leading_directions(features, seed))
    parts = [_fold(targets, *fold, seed) for fold in folds]
    if not parts and unseen is None:
        parts = [_ScoredRows(items, features, targets, np.arange(targets.shape[0]))]
    elif unseen is not None:
        parts = [_ScoredRows(items, features[unseen], targets[unseen], unseen)]
    rng = np.random.default_rng(seed)
    scale = max(float(row_squares(features).mean()), 1e-12) if targets.shape[0] else 1.0
    usual = _Weights(_USUAL[0] * scale, _USUAL[1] / scale, _USUAL[2])
    held = [one.some(_HELD_OUT // len(parts), rng) for one in parts]
    regression = cache(LabelRegression)
    pairs = [
        block for one in held for block in _pairs(one, partial(regression, one.rows), usual, rng)
    ]
    chosen = _choose(pairs, usual, scale)
    found = HeldOutScores.join([one.held_out(chosen) for one in pairs])
    expected = sum(
        one.labels.shape[0] / max(1, one.rows.labels.shape[0]) * one.rows.support for one in held
    )
    return Tagger(
        tuple(labels),
        chosen.alpha,
        chosen.rest,
        Decision.choose(found, chosen.votes, expected),
        np.asarray(rows, dtype=np.int64),
        features,
        targets,
        items.directions,
        texts,
        sampled,
    )


def _fold(
    targets: sparse.csr_matrix, held: Array, others: Any, unseen: Any, seed: int
) -> _ScoredRows:
    inside = np.setdiff1d(np.arange(targets.shape[0]), held)
    rows = LabelledRows(others, targets[inside], leading_directions(others, seed))
    return _ScoredRows(rows, unseen, targets[held], None)


class _Weights(NamedTuple):
    """Penalty of the regression, and weights of the remainders and of the votes."""

    alpha: float
    rest: float
    votes: float


class _Pairs(NamedTuple):
    """Pairs of a row and a label: factors of the terms of their scores, votes, and more.

    ``model`` is the regression for a penalty, ``view`` has the rows, ``truth`` says whether they
    have the labels, ``weights`` how many pairs of all one stands for.
    """

    model: _Model
    view: RowView
    rows: Array
    columns: Array
    factors: Array
    votes: Array
    truth: Array
    weights: Array

    def parts(self, alpha: float) -> Array:
        """Return both terms of the scores, and the votes."""
        terms = np.stack(self.model(alpha).terms_of(self.view, self.rows, self.columns))
        return np.vstack([terms * self.factors, self.votes])

    def sure(self) -> _Pairs:
        """Return the pairs that stand for themselves only."""
        own = self.weights == 1
        rest = (self.columns[own], self.factors[:, own], self.votes[own], self.truth[own])
        return _Pairs(self.model, self.view, self.rows[own], *rest, self.weights[own])

    def held_out(self, weights: _Weights) -> HeldOutScores:
        """Score the pairs."""
        scores = np.array([1.0, weights.rest, weights.votes]) @ self.parts(weights.alpha)
        return HeldOutScores(scores, self.truth, self.weights, self.columns)


def _pairs(
    held: _ScoredRows, model: _Model, usual: _Weights, rng: np.random.Generator
) -> Iterator[_Pairs]:
    """Score held-out rows with the usual weights, and yield for blocks of them some pairs."""
    rows, features, labels, own = held
    voters = Voters(rows.features, rows.labels)
    step = max(1, _ENTRIES // max(1, labels.shape[1]))
    for start in range(0, labels.shape[0], step):
        part = slice(start, start + step)
        truth, there = labels[part], None if own is None else own[part]
        view, votes = rows.view(features[part], there), voters.votes(features[part], there)
        factors = np.ones((2, *truth.shape), dtype=np.float32)
        make_comparable((factors[0], factors[1]), rows.support, None if own is None else truth)
        known = np.isfinite(factors[0])
        factors[0][~known] = 0.0
        lead, rest = model(usual.alpha).terms(view)
        scores = lead * factors[0] + usual.rest * (rest * factors[1])
        add_sparse(scores, votes, usual.votes)
        items, columns, stands_for = _listed(scores, truth, rng)
        # What a model without the item cannot know is not learned from.
        some = known[items, columns]
        at = items[some], columns[some]
        has = np.asarray(truth[at]).ravel() > 0
        votes = np.asarray(votes[at]).ravel()
        yield _Pairs(model, view, *at, factors[:, *at], votes, has, stands_for[some])


def _choose(pairs: Sequence[_Pairs], usual: _Weights, scale: float) -> _Weights:
    """Choose the weights with the best tags of held-out rows."""
    # Pairs that stand for others change little.
    some = [one.sure() for one in pairs]
    alphas = [one * scale for one in _ALPHAS]
    parts = {alpha: np.hstack([one.parts(alpha) for one in some]) for alpha in alphas}
    tags = _TagOrder.of(some)

    def best(choices: Iterable[_Weights]) -> _Weights:
        """Choose the first that is as good as the best, up to chance."""
        found = [
            (one, tags.quality(np.array([1.0, one.rest, one.votes]) @ parts[one.alpha]))
            for one in choices
        ]
        least = max(value for _, value in found) - _CHANCE
        return next(one for one, value in found if value >= least)

    rests = [one / scale for one in _RESTS]
    found = best(usual._replace(rest=rest) for rest in rests)
    found = best(found._replace(votes=votes) for votes in _VOTES)
    found = best(found._replace(alpha=alpha) for alpha in alphas)
    return best(found._replace(rest=rest) for rest in rests)


class _TagOrder(NamedTuple):
    """Pairs of a row and a label by row: a line for each row that has a label.

    ``places`` are the numbers of its pairs, -1 after the last, ``ideal`` its best possible gain.
    """

    truth: Array
    places: Array
    ideal: Array

    @classmethod
    def of(cls, pairs: Sequence[_Pairs]) -> _TagOrder:
        """Group the pairs of blocks of rows."""
        starts = np.cumsum([0, *(one.view.coordinates.shape[0] for one in pairs)])
        rows = np.concatenate([start + one.rows for start, one in zip(starts, pairs, strict=False)])
        truth = np.concatenate([one.truth for one in pairs])
        order = np.argsort(rows, kind="stable")
        counts = np.bincount(rows, minlength=starts[-1])
        places = np.full((starts[-1], max(_DEPTH, counts.max(initial=0))), -1)
        first = np.cumsum(counts) - counts
        places[rows[order], np.arange(rows.size) - np.repeat(first, counts)] = order
        right = np.bincount(rows[truth], minlength=starts[-1])
        best = np.concatenate([[0.0], np.cumsum(_GAINS)])
        return cls(truth, places[right > 0], best[np.minimum(right[right > 0], _DEPTH)])

    def quality(self, scores: Array) -> float:
        """Return the mean of nDCG and the best micro F1 of a common threshold."""
        if not self.ideal.size:
            return 0.0
        own = np.where(self.places >= 0, scores[self.places], -np.inf)
        top = np.argpartition(-own, _DEPTH - 1, axis=1)[:, :_DEPTH]
        order = np.argsort(-np.take_along_axis(own, top, axis=1), axis=1)
        chosen = np.take_along_axis(self.places, np.take_along_axis(top, order, axis=1), axis=1)
        gains = (self.truth[chosen] & (chosen >= 0)) @ _GAINS
        hits = np.cumsum(self.truth[np.argsort(-scores)])
        f1 = 2 * hits / (np.arange(1, hits.size + 1) + hits[-1])
        return float((gains / self.ideal).mean() + f1.max()) / 2


def _listed(
    scores: Array, truth: sparse.csr_matrix, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """List pairs of rows and labels: true ones, those with the highest scores, and some others.

    Returns rows, columns, and the number of pairs that each stands for.
    """
    n, k = scores.shape
    if k <= _BEST + _RANDOM:
        rows, columns = np.indices((n, k)).reshape(2, -1)
        return rows, columns, np.ones(n * k)
    first = np.arange(n)[:, None] * k
    top = first + np.argpartition(-scores, _BEST, axis=1)[:, :_BEST]
    has = np.repeat(np.arange(n), np.diff(truth.indptr)) * k + truth.indices
    sure = np.unique(np.concatenate([top.ravel(), has]))
    others = np.setdiff1d(first + rng.integers(k, size=(n, _RANDOM)), sure)
    missing = k - np.bincount(sure // k, minlength=n)
    stands_for = missing / np.maximum(1, np.bincount(others // k, minlength=n))
    found = np.concatenate([sure, others])
    return found // k, found % k, np.concatenate([np.ones(sure.size), stands_for[others // k]])
