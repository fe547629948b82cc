"""Learn a tagger from the features and labels of items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..operators import as_operator
from ..operators.row_data import row_squares
from ..solvers.alpha import choose_alpha
from ..text import TextFeatures
from .decision import Candidates, Decision, LabelRecord, LeftOutTags, collect, emphasised
from .label_regression import LabelRegression, WeightPruner
from .label_tagger import Tagger, Voters

__all__ = ["Fold", "learn_tagger"]

# Number of labels from which the penalty is chosen.
_LABELS_FOR_PENALTY = 500
# Number of items from which the weight of the votes is chosen.
_VOTING = 2000
# Maximum size of a matrix that is factorised, for few labels and for many.
_DIRECT, _MOST_DIRECT = 1500, 4000

# Items that are held out, and features of all others and of these, learned without them.
Fold = tuple[Array, Any, Any]


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
    alpha = _penalty(features, targets)
    # A factorisation costs the same for any number of labels; iterations do not.
    direct = min(_MOST_DIRECT, max(_DIRECT, 2 * len(labels)))
    regression = LabelRegression(features, alpha, seed, direct, len(labels))
    prune = WeightPruner(features, len(labels))
    weights: list[sparse.csr_matrix] = []
    intercept: list[Array] = []

    def scores() -> Iterator[tuple[slice, Array]]:
        for own, found, unseen in regression.blocks(emphasised(targets)):
            kept, constant = prune(found)
            weights.append(kept)
            intercept.append(constant)
            yield own, unseen

    parts = [_held_out(targets, alpha, *fold) for fold in folds]
    if parts:
        # Features that depend on the labels also fit their neighbours too well.
        for _ in scores():
            pass
        candidates, weight = Candidates.join(parts), None
    else:
        candidates, weight = _with_votes(collect(scores(), targets), features, targets, seed)
    decision = Decision.choose(candidates, weight)
    support = np.asarray(targets.sum(axis=0)).ravel().astype(np.int64)
    record = LabelRecord.of(candidates, decision, support)
    return Tagger(
        tuple(labels),
        alpha,
        sparse.csr_matrix(sparse.vstack(weights, format="csr")),
        np.concatenate(intercept),
        record.thresholds(candidates, decision),
        decision,
        record,
        np.asarray(rows, dtype=np.int64),
        features,
        targets,
        regression.diagonal,
        LeftOutTags.of(candidates, decision, targets),
        texts,
        sampled,
    )


def _penalty(features: Any, targets: sparse.csr_matrix) -> float:
    """Choose alpha by the leave-one-out error, from the most frequent labels."""
    counts = np.asarray(targets.sum(axis=0)).ravel()
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_LABELS_FOR_PENALTY])
    wanted = targets[:, frequent].toarray().astype(np.float64)
    if sparse.issparse(features):
        ones = sparse.csr_matrix(np.ones((features.shape[0], 1), dtype=np.float32))
        rows = sparse.hstack([features, ones], format="csr")
    else:
        rows = np.hstack([features, np.ones((len(features), 1), dtype=np.float32)])
    found = choose_alpha(as_operator(rows), wanted, intercept=False).alpha
    # Rows of texts have length 1, as has the constant: stay in the range where leave-one-out is
    # reliable.
    scale = float(row_squares(rows).mean()) / 2
    return float(np.clip(found, 0.05 * scale, 20 * scale))


def _held_out(
    targets: sparse.csr_matrix, alpha: float, held: Array, others: Any, unseen: Any
) -> Candidates:
    """Score held-out items by a regression and voters of the others."""
    inside = np.setdiff1d(np.arange(targets.shape[0]), held)
    regression = LabelRegression(others, alpha)
    votes = Voters(others, targets[inside]).votes(unseen)
    scores = (
        (own, np.asarray(unseen @ found[:-1] + found[-1]))
        for own, found, _ in regression.blocks(emphasised(targets)[inside])
    )
    found = collect(scores, targets[held]).with_votes(votes)
    return found._replace(rows=np.asarray(held)[found.rows])


def _with_votes(
    found: Candidates, features: Any, targets: sparse.csr_matrix, seed: int
) -> tuple[Candidates, float]:
    """Choose the weight of the votes, from a sample of many items; return candidates with votes."""
    n, voters = targets.shape[0], Voters(features, targets)
    order = np.random.default_rng(seed).permutation(n)

    def votes(rows: Array) -> Any:
        ones = np.ones(rows.size, np.float32)
        place = sparse.csr_matrix((ones, (rows, np.arange(rows.size))), shape=(n, rows.size))
        return place @ voters.votes(features[rows], rows)

    sample, rest = np.sort(order[:_VOTING]), np.sort(order[_VOTING:])
    some = votes(sample)
    weight = found.of(sample).with_votes(some).best_weight()
    return (found.with_votes(some + votes(rest)) if weight else found), weight
