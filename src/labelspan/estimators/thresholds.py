"""Thresholds of label scores, from the scores of training rows without their own labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._typing import Array
from ..labels import Labels
from ..operators.array_backend import host, on_host
from ..solvers.ridge import leverage_of
from .solving import seed_of, threads_for
from .training import TrainingRows

__all__ = ["best_thresholds", "label_thresholds"]

# Number of rows on which thresholds are chosen, and the maximum number of their scores.
_FEWEST, _MOST, _ENTRIES = 100, 2000, 1 << 18
# Number of rows that choose the common threshold: the scores of all labels need fewer.
_COMMON_ROWS = 500
# A score without the row's own labels is unknown where they determine nearly all of it.
_MOST_LEVERAGE = 0.95
# Number of rows with a label at which its own threshold counts as much as the common one. Micro F1
# of OPLS on five development sets: .505 with 30, .498 with 10, .499 with the common one only;
# macro F1: .393, .397, .374.
_PRIOR = 30.0


def label_thresholds(
    model: Any,
    rows: TrainingRows,
    own: Callable[[Array, Array], Array] | None,
    alpha: float = 0.0,
    leverage: float | None = None,
) -> Array:
    """Return a threshold of the label scores for each label.

    The scores of a row contain its own labels, with the weight that ridge regression with ``alpha``
    gives them, on average over rows as in generalised cross-validation; this part is subtracted.

    Parameters
    ----------
    model : estimator
        Fitted, with its map to the labels.
    rows : TrainingRows
        The rows, centred if the estimator centres, with a 0/1 indicator as labels.
    own : function or None
        Returns the coordinates of labels in the embedding, from row numbers and the centred labels
        of these rows. None if the embedding is regarded as given, and only the regression of the
        labels on it as learned.
    alpha : float, default=0.0
        Regularization strength of the regression that places the labels.
    leverage : float or None, default=None
        The mean weight of a row's own labels in this regression; None if the solver does not know.

    Returns
    -------
    thresholds : array of shape (k,)
        With the largest F1, of each label and of all labels together.
    """
    X, labels = rows.X, rows.labels
    index = _sampled(labels, seed_of(model))
    truth = host(labels.operator.rows(index).to_block())
    loadings, means = on_host(model.label_loadings_), on_host(model.label_means_)
    latent = host(X.rows(index).matmat(X.to_device(on_host(model.components_).T)))
    weight = loadings.shape[0] / X.shape[0]
    if own is not None:
        weight = _leverage(rows, alpha) if leverage is None else leverage
    weight = min(weight + model.center / X.shape[0], _MOST_LEVERAGE)
    if own is None:
        scores = latent @ loadings - weight * (truth - means)
    else:
        scores = (latent - weight * host(own(index, truth - means))) @ loadings
    scores = scores / (1.0 - weight) + means
    if labels.unknown is not None:
        unknown = labels.unknown[index]
        scores, truth = np.where(unknown, -np.inf, scores), np.where(unknown, 0.0, truth)
    return best_thresholds(scores, truth)


def best_thresholds(scores: Array, truth: Array) -> Array:
    """Return the threshold with the largest F1 for each label, near the common one if it is rare.

    The common threshold is that of all labels together. A score of minus infinity is unknown.
    """
    some = slice(None, None, max(1, len(scores) // _COMMON_ROWS))
    common = _best_cut(scores[some].reshape(-1, 1), truth[some].reshape(-1, 1))[0]
    support = truth.sum(axis=0)
    weight = support / (support + _PRIOR)
    own = np.where(support > 0, _best_cut(scores, truth), common)
    return np.asarray(weight * own + (1.0 - weight) * common)


def _best_cut(scores: Array, truth: Array) -> Array:
    """Return the cut of each column with the largest F1, halfway between two scores."""
    # The last bit of a score is whether the label is there: sorting numbers takes a quarter of the
    # time of sorting their indices. Of equal scores, those with the label are last.
    rising = np.subtract(0.0, scores.T, order="C")
    bits = rising.view(np.int64)
    bits &= ~1
    bits |= (truth.T > 0) ^ (bits < 0)
    rising.sort(axis=1)
    # The best cut is after a row with the label.
    columns, place = np.nonzero((bits & 1) ^ (bits < 0))
    bits &= ~1
    counts = np.bincount(columns, minlength=scores.shape[1])
    first = np.cumsum(counts) - counts
    cut = -rising[columns, place]
    after = np.minimum(place + 1, scores.shape[0] - 1)
    below = np.where(after > place, -rising[columns, after], cut - 1.0)
    below = np.where(np.isfinite(below), below, cut - 1.0)
    hits = np.arange(1.0, columns.size + 1.0) - first[columns]
    f1 = np.where(cut > below, hits / (place + 1.0 + counts[columns]), -1.0)
    found = -rising[:, 0]  # for columns without the label
    top = np.zeros(counts.size)
    top[counts > 0] = np.maximum.reduceat(f1, first[counts > 0]) if f1.size else 0.0
    best = np.flatnonzero(f1 == top[columns])[::-1]  # the first of each column is assigned last
    found[columns[best]] = (cut[best] + below[best]) / 2
    return found


def _sampled(labels: Labels, seed: int) -> Array:
    """Return the numbers of the labelled rows on which thresholds are chosen."""
    rows = np.flatnonzero(labels.labelled)
    count = int(np.clip(_ENTRIES // max(labels.names.size, 1), _FEWEST, _MOST))
    if rows.size <= count:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, count, replace=False))


def _leverage(rows: TrainingRows, alpha: float) -> float:
    """Return the trace of ``X (X'X + alpha I)^-1 X'`` over n, estimated from random columns."""
    X = rows.X
    if not alpha > 0:
        return min(X.shape) / X.shape[0]
    if rows.decomposition.known:
        return float(rows.decomposition.mean_leverage(alpha))
    with threads_for(X):
        return leverage_of(X, alpha)
