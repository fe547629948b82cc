"""Prediction of labels: ridge regression on features, and votes of the nearest labelled items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..text import TextFeatures
from .left_out_tags import LeftOutTags
from .tagging import (
    NEVER,
    Candidates,
    Decision,
    LabelRecord,
    collect,
    decide,
    emphasised,
    records,
    thresholds,
)
from .voters import Voters

__all__ = ["Tagger", "fit_tagger", "labelled_folds", "left_out", "update_tagger"]

# Entries of a block of probabilities.
_ENTRIES = 1 << 22
# Weights of all labels that are kept whole; of larger models this share of each label's.
_WHOLE = 4_000_000
_KEPT = 0.05
_FEWEST_KEPT = 1000


@dataclass(frozen=True)
class Tagger:
    """Regression and voters of each label, and how to decide from their scores.

    The score of a label is ``x @ weights + intercept``, plus ``decision.weight`` times the share
    of votes; ``decision`` maps it to a probability. A label is chosen if its probability reaches
    its threshold.

    Attributes
    ----------
    labels : tuple of str
    texts : TextFeatures or None
        Computes features of texts; None if they are those of the vectorizer or of the space.
    alpha : float
        The penalty of the regression.
    weights : CSC matrix of shape (d, k)
        The largest weights of every label.
    intercept, thresholds : arrays of shape (k,)
    decision : Decision
    record : LabelRecord
        Decisions on left-out items.
    voters : Voters
        Features and labels of the labelled items.
    places : array of shape (n,)
        The places of these items in the store.
    left_out : LeftOutTags or None
        The most probable labels of these items, predicted without the item.
    sampled : bool
        Whether these are only a sample of the labelled items.
    """

    labels: tuple[str, ...]
    texts: TextFeatures | None
    alpha: float
    weights: sparse.csc_matrix
    intercept: Array
    thresholds: Array
    decision: Decision
    record: LabelRecord
    voters: Voters
    places: Array
    left_out: LeftOutTags | None = None
    sampled: bool = False

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.weights.shape[0])

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of each label."""
        return {label: column for column, label in enumerate(self.labels)}

    @cached_property
    def _by_feature(self) -> sparse.csr_matrix:
        return self.weights.tocsr()

    def scores(self, features: Any, own: Array | None = None) -> Array:
        """Compute the score of every label for a few rows.

        ``own`` are the numbers of the rows among the voters, which do not vote for themselves.
        """
        weights = self._by_feature
        found = features @ (weights.toarray() if _small(self) else weights)
        found = found.toarray() if sparse.issparse(found) else found
        found = np.asarray(found, dtype=np.float32) + self.intercept
        if self.decision.weight:
            found += self.decision.weight * self.voters.votes(features, own).toarray()
        return found

    def blocks(self, features: Any, voters: Array | None = None) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows with the scores of all labels; ``voters`` as in ``scores``."""
        step = max(1, _ENTRIES // max(1, len(self.labels)))
        for start in range(0, features.shape[0], step):
            own = slice(start, min(start + step, features.shape[0]))
            yield own, self.scores(features[own], None if voters is None else voters[own])

    def probabilities(self, features: Any) -> Array:
        """Compute the probability of every label for every row."""
        out = np.zeros((features.shape[0], len(self.labels)), dtype=np.float32)
        for own, scores in self.blocks(features):
            out[own] = self.decision.probability(scores)
        return out

    def best(self, features: Any, k: int, voters: Array | None = None) -> tuple[Array, Array]:
        """Return for each row the ``k`` best labels and their probabilities, best first.

        ``voters`` are the numbers of the rows among the voters; -1 for others.
        """
        k = min(k, len(self.labels))
        columns = np.zeros((features.shape[0], k), dtype=np.intp)
        chances = np.zeros((features.shape[0], k), dtype=np.float32)
        for own, scores in self.blocks(features, voters):
            top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            columns[own] = top
            chances[own] = self.decision.probability(np.take_along_axis(scores, top, axis=1))
        return columns, chances


def _small(tagger: Tagger) -> bool:
    return bool(tagger.n_features * len(tagger.labels) <= _ENTRIES // 4)


def fit_tagger(
    labels: tuple[str, ...],
    targets: sparse.csr_matrix,
    features: Any,
    *,
    places: Array,
    texts: TextFeatures | None = None,
    folds: Sequence[Array] = (),
    outside: Callable[[Array], tuple[Any, Any]] | None = None,
    seed: int = 0,
    sampled: bool = False,
) -> Tagger:
    """Learn to predict labels from the features of labelled items.

    Parameters
    ----------
    labels : tuple of str
    targets : CSR matrix of shape (n, k)
        0 and 1.
    features : array or CSR matrix of shape (n, d)
    places : array of shape (n,)
        Places of the items in the store.
    texts : TextFeatures or None
        What computed the features, if the tagger keeps it.
    folds : list of arrays
        For features that have seen the labels: row numbers of each fold.
    outside : callable or None
        For such features: called with the rows of a fold; returns features of all rows, and of
        the rows of the fold, that were learned without the fold. Otherwise the scores of
        left-out items come from the regression in closed form.
    seed : int
    sampled : bool
        Whether the items are only a sample of the labelled ones.
    """
    from .label_ridge import LabelRidge, WeightPruner, penalty, with_constant  # noqa: PLC0415 - with scikit-learn

    rows = with_constant(features)
    alpha = penalty(rows, targets)
    ridge = LabelRidge(rows, alpha, seed)
    voters = Voters(features, targets)
    prune = WeightPruner(features, _kept(features.shape[1], len(labels)))
    weights: list[sparse.csc_matrix] = []
    intercept: list[Array] = []
    # Features that have seen the labels also know their neighbours too well.
    votes = None if folds else voters.votes(features, np.arange(targets.shape[0]))

    def scores() -> Iterator[tuple[slice, Array]]:
        for own, found, unseen in ridge.blocks(emphasised(targets)):
            kept, constant = prune(found)
            weights.append(kept)
            intercept.append(constant)
            yield own, unseen

    if votes is not None:
        candidates = collect(scores(), votes, targets)
    else:
        for _ in scores():
            pass
        assert outside is not None
        candidates = _candidates_of_folds(targets, folds, outside, alpha)
    decision = decide(candidates)
    support = np.asarray(targets.sum(axis=0)).ravel().astype(np.int64)
    record = records(candidates, decision, len(labels), support)
    return Tagger(
        labels,
        texts,
        alpha,
        sparse.hstack(weights, format="csc"),
        np.concatenate(intercept),
        thresholds(record, candidates, decision),
        decision,
        record,
        voters,
        np.asarray(places, dtype=np.int64),
        LeftOutTags.of(candidates, decision, targets),
        sampled,
    )


def left_out(tagger: Tagger) -> Candidates:
    """Compute the scores of the labelled items from models without them.

    For features that have seen the labels, for example those of a space, they are too hopeful.
    """
    from .label_ridge import LabelRidge, with_constant  # noqa: PLC0415 - with scikit-learn

    rows, targets = with_constant(tagger.voters.features), tagger.voters.labels
    ridge = LabelRidge(rows, tagger.alpha)
    votes = tagger.voters.votes(tagger.voters.features, np.arange(targets.shape[0]))
    return collect(
        ((own, unseen) for own, _, unseen in ridge.blocks(emphasised(targets))), votes, targets
    )


def _candidates_of_folds(
    targets: sparse.csr_matrix,
    folds: Sequence[Array],
    outside: Callable[[Array], tuple[Any, Any]],
    alpha: float,
) -> Candidates:
    from .label_ridge import LabelRidge, with_constant  # noqa: PLC0415 - with scikit-learn

    parts: list[Candidates] = []
    wanted = emphasised(targets)
    everything = np.arange(targets.shape[0])
    for held in folds:
        others = np.setdiff1d(everything, held)
        known, unseen = outside(held)
        inside, asked = known[others], with_constant(unseen)
        ridge = LabelRidge(with_constant(inside), alpha)
        votes = Voters(inside, targets[others]).votes(unseen)
        scores = (
            (own, np.asarray(asked @ found)) for own, found, _ in ridge.blocks(wanted[others])
        )
        found = collect(scores, votes, targets[held])
        parts.append(replace(found, rows=held[found.rows]))
    arrays = ("rows", "columns", "regression", "votes", "truth")
    return Candidates(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays},
        total=int(targets.nnz),
    )


def update_tagger(
    tagger: Tagger,
    labels: tuple[str, ...],
    *,
    targets: sparse.csr_matrix,
    features: Any,
    places: Array,
    touched: Array,
    sources: Array,
) -> Tagger:
    """Learn some labels again from changed items; everything else stays.

    ``labels`` are those of the tagger, in their order, and new ones; ``touched`` are the columns
    to learn; ``sources`` are the rows of the tagger that each row was, -1 for changed ones. The
    penalty, the map to probabilities and the weights of other labels stay: for those a new item
    is only one more without the label.
    """
    from .label_ridge import LabelRidge, WeightPruner, with_constant  # noqa: PLC0415 - with scikit-learn

    count = len(labels)
    old = len(tagger.labels)
    # Without any labelled item nothing can be learned, and nothing is predicted.
    ridge = LabelRidge(with_constant(features), tagger.alpha) if len(places) else None
    fresh: list[sparse.csc_matrix] = []
    intercept = np.zeros(count, dtype=np.float32)
    intercept[:old] = tagger.intercept
    intercept[touched] = 0.0
    wanted = emphasised(targets).tocsc()[:, touched]
    prune = WeightPruner(features, _kept(features.shape[1], count))
    for own, found in ridge.weights(wanted) if ridge is not None else ():
        kept_weights, intercept[touched[own]] = prune(found)
        fresh.append(kept_weights)
    width = tagger.n_features
    kept = np.ones(old, dtype=np.float32)
    kept[touched[touched < old]] = 0
    before = (tagger.weights @ sparse.diags_array(kept, format="csc")).tocsc()
    before.eliminate_zeros()
    before = sparse.csc_matrix(
        (before.data, before.indices, _longer(before.indptr, count)), shape=(width, count)
    )
    placing = sparse.csc_matrix(
        (np.ones(touched.size, np.float32), (np.arange(touched.size), touched)),
        shape=(touched.size, count),
    )
    fresh = fresh or [sparse.csc_matrix((width, touched.size), dtype=np.float32)]
    learned = sparse.hstack(fresh, format="csc")
    support = np.asarray(targets.sum(axis=0)).ravel().astype(np.int64)
    record = LabelRecord(
        _padded(tagger.record.chosen, count), _padded(tagger.record.right, count), support
    )
    limits = np.full(count, tagger.decision.threshold, dtype=np.float32)
    limits[:old] = tagger.thresholds
    # One item cannot be predicted from the others.
    limits[support < 2] = NEVER
    return replace(
        tagger,
        labels=labels,
        weights=sparse.csc_matrix(before + learned @ placing),
        intercept=intercept,
        thresholds=limits,
        record=record,
        voters=Voters(features, targets),
        places=np.asarray(places, dtype=np.int64),
        left_out=None
        if tagger.left_out is None
        else tagger.left_out.moved(sources, tagger.voters.labels, targets),
    )


def labelled_folds(count: int, folds: int, rng: Any) -> list[Array]:
    """Split 0 to count - 1 into random folds; an empty list if there are too few."""
    folds = min(folds, count // 2)
    if folds < 2:
        return []
    return [np.sort(part) for part in np.array_split(rng.permutation(count), folds)]


def _kept(features: int, labels: int) -> int:
    """Return how many weights of a label to keep."""
    if features * labels <= _WHOLE:
        return features
    return max(_FEWEST_KEPT, int(_KEPT * features), _WHOLE // labels)


def _padded(values: Array, count: int) -> Array:
    return np.concatenate([values, np.zeros(count - values.size, dtype=values.dtype)])


def _longer(places: Array, count: int) -> Array:
    return np.concatenate([places, np.full(count + 1 - places.size, places[-1])])
