"""Learn a tagger from the features and labels of items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
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
# probabilities and the threshold.
_CHOOSING, _CALIBRATING = 3000, 4000
# Pairs of each of these items, in addition to its labels: with the highest scores, and at random.
_BEST, _RANDOM = 30, 30
# Values that are tried, for rows of length 1: of the penalty, and of the weights of remainders
# and votes. Tags hardly depend on the first.
_ALPHAS = (0.3, 1.0, 3.0)
_RESTS = (0.8, 0.5, 0.35, 0.25, 0.17, 0.12, 0.08, 0.05, 0.03, 0.02)
_VOTES = (0.0, 0.1, 0.25, 0.5, 1.0)
# Differences in average precision that may be chance.
_CHANCE = 0.001
# Those of the scores that select the pairs.
_USUAL = (1.0, 0.15, 0.25)
# Entries of a block of scores.
_ENTRIES = 1 << 22

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
    texts: TextFeatures | None = None,
    sampled: bool = False,
    seed: int = 0,
) -> Tagger:
    """Learn to predict labels from the features (n, d) of labelled items.

    ``targets`` (n, k) has 0 and 1, and ``rows`` the increasing row numbers of the items in the
    collection. ``folds`` are for features that depend on the labels, for example those of a
    supervised embedding: numbers of held-out items, and features of all other items and of these,
    learned without them. Otherwise leave-one-out scores come from the regression in closed form.
    ``texts`` computed the features, if the tagger stores it; ``sampled`` says that these
    are not all labelled items.
    """
    targets = sparse.csr_matrix(targets, dtype=np.float32)
    targets.sort_indices()
    items = LabelledRows(features, targets, leading_directions(features, seed))
    parts = [_fold(targets, *fold, seed) for fold in folds]
    if not parts:
        parts = [_ScoredRows(items, features, targets, np.arange(targets.shape[0]))]
    rng = np.random.default_rng(seed)
    scale = max(float(row_squares(features).mean()), 1e-12) if targets.shape[0] else 1.0
    held = [one.some(_CALIBRATING // len(parts), rng) for one in parts]
    chosen = _choose([one.some(_CHOOSING // len(held), rng) for one in held], scale, rng)
    return Tagger(
        tuple(labels),
        chosen.alpha,
        chosen.rest,
        _decision(held, chosen, rng),
        np.asarray(rows, dtype=np.int64),
        features,
        targets,
        items.directions,
        texts,
        sampled,
    )


def _decision(held: Sequence[_ScoredRows], weights: _Weights, rng: np.random.Generator) -> Decision:
    """Choose the map from scores to probabilities, and thresholds, on held-out rows."""
    scores = [pairs.held_out() for one in held for pairs in _pairs(one, weights, rng)]
    expected = sum(
        one.labels.shape[0] / max(1, one.rows.labels.shape[0]) * one.rows.support for one in held
    )
    return Decision.choose(HeldOutScores.join(scores), weights.votes, expected)


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
    """Pairs of a row and a label: scores, factors of their terms, votes, and more.

    ``view`` has the rows, ``truth`` says whether they have the labels, ``weights`` how many pairs
    of all one stands for.
    """

    view: RowView
    rows: Array
    columns: Array
    scores: Array
    factors: Array
    votes: Array
    truth: Array
    weights: Array

    def held_out(self) -> HeldOutScores:
        return HeldOutScores(self.scores, self.truth, self.weights, self.columns)


def _pairs(held: _ScoredRows, weights: _Weights, rng: np.random.Generator) -> Iterator[_Pairs]:
    """Score held-out rows, and yield for blocks of them some pairs."""
    rows, features, labels, own = held
    model, voters = LabelRegression(rows, weights.alpha), Voters(rows.features, rows.labels)
    step = max(1, _ENTRIES // max(1, labels.shape[1]))
    for start in range(0, labels.shape[0], step):
        part = slice(start, start + step)
        truth, there = labels[part], None if own is None else own[part]
        view, votes = rows.view(features[part], there), voters.votes(features[part], there)
        factors = np.ones((2, *truth.shape), dtype=np.float32)
        make_comparable((factors[0], factors[1]), rows.support, None if own is None else truth)
        known = np.isfinite(factors[0])
        factors[0][~known] = 0.0
        lead, rest = model.terms(view)
        scores = lead * factors[0] + weights.rest * (rest * factors[1])
        add_sparse(scores, votes, weights.votes)
        items, columns, stands_for = _listed(scores, truth, rng)
        # What a model without the item cannot know is not learned from.
        some = known[items, columns]
        at = items[some], columns[some]
        has = np.asarray(truth[at]).ravel() > 0
        votes = np.asarray(votes[at]).ravel()
        yield _Pairs(view, *at, scores[at], factors[:, *at], votes, has, stands_for[some])


def _choose(held: Sequence[_ScoredRows], scale: float, rng: np.random.Generator) -> _Weights:
    """Choose the weights with the best average precision on held-out rows."""
    usual = _Weights(_USUAL[0] * scale, _USUAL[1] / scale, _USUAL[2])
    alphas = [one * scale for one in _ALPHAS]
    # For each penalty and block the three parts of the scores.
    parts: dict[float, list[Array]] = {alpha: [] for alpha in alphas}
    known: list[HeldOutScores] = []
    for one in held:
        for pairs in _pairs(one, usual, rng):
            # The others change little.
            sure = pairs.weights == 1
            at = pairs.rows[sure], pairs.columns[sure]
            known.append(HeldOutScores(*(values[sure] for values in pairs.held_out())))
            for alpha in alphas:
                terms = np.stack(LabelRegression(one.rows, alpha).terms_of(pairs.view, *at))
                parts[alpha].append(np.vstack([terms * pairs.factors[:, sure], pairs.votes[sure]]))
    every, joined = HeldOutScores.join(known), {a: np.hstack(own) for a, own in parts.items()}

    def precision(one: _Weights) -> float:
        found = np.array([1.0, one.rest, one.votes]) @ joined[one.alpha]
        return every._replace(scores=found).precision()

    def best(choices: Iterable[_Weights]) -> _Weights:
        """Choose the first that is as good as the best, up to chance."""
        found = [(one, precision(one)) for one in choices]
        least = max(value for _, value in found) - _CHANCE
        return next(one for one, value in found if value >= least)

    # Remainders first: they learn rare labels, and those that are added later.
    rests = [one / scale for one in _RESTS]
    found = best(_Weights(a, r, usual.votes) for r, a in product(rests, alphas))
    found = best(found._replace(votes=votes) for votes in _VOTES)
    return best(found._replace(rest=rest) for rest in rests)


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
