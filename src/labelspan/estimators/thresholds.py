"""Thresholds of label scores, from the scores of training rows without their own labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._typing import Array
from ..labels import Labels
from ..operators import Operator
from ..operators.array_backend import host, on_host
from ..solvers.regression import regress
from .solving import seed_of

__all__ = ["best_thresholds", "label_thresholds"]

# Number of rows on which thresholds are chosen, and the maximum number of their scores.
_FEWEST, _MOST, _ENTRIES = 100, 2000, 1 << 18
# Columns of random signs that estimate the leverage, and the accuracy of their regression.
_PROBES, _ACCURACY = 4, 0.1
# A score without the row's own labels is unknown where they determine nearly all of it.
_MOST_LEVERAGE = 0.95
# Number of rows with a label at which its own threshold counts as much as the common one. Micro F1
# of OPLS on five development sets: .505 with 30, .498 with 10, .499 with the common one only;
# macro F1: .393, .397, .374.
_PRIOR = 30.0


def label_thresholds(
    model: Any,
    X: Operator,
    labels: Labels,
    own: Callable[[Array, Array], Array] | None,
    alpha: float = 0.0,
) -> Array:
    """Return a threshold of the label scores for each label.

    The scores of a row contain its own labels, with the weight that ridge regression with ``alpha``
    gives them, on average over rows as in generalised cross-validation; this part is subtracted.

    Parameters
    ----------
    model : estimator
        Fitted, with its map to the labels.
    X : Operator
        The rows, centred if the estimator centres.
    labels : Labels
        Labels of these rows, a 0/1 indicator.
    own : function or None
        Returns the coordinates of labels in the embedding, from row numbers and the centred labels
        of these rows. None if the embedding is regarded as given, and only the regression of the
        labels on it as learned.
    alpha : float, default=0.0
        Regularization strength of the regression that places the labels.

    Returns
    -------
    thresholds : array of shape (k,)
        With the largest F1, of each label and of all labels together.
    """
    rows = _sampled(labels, seed_of(model))
    truth: Any = labels.values[rows]
    truth = truth.toarray() if labels.many else host(truth).astype(np.float64)
    loadings, means = on_host(model.label_loadings_), on_host(model.label_means_)
    latent = host(X.rows(rows).matmat(X.place(on_host(model.components_).T)))
    if own is None:
        fitted, share = truth - means, loadings.shape[0] / X.shape[0]
    else:
        fitted = host(own(rows, truth - means)) @ loadings
        share = _leverage(X, alpha, seed_of(model))
    share = min(share + model.center / X.shape[0], _MOST_LEVERAGE)
    scores = (latent @ loadings - share * fitted) / (1.0 - share) + means
    if labels.unknown is not None:
        unknown = labels.unknown[rows]
        scores, truth = np.where(unknown, -np.inf, scores), np.where(unknown, 0.0, truth)
    return best_thresholds(scores, truth)


def best_thresholds(scores: Array, truth: Array) -> Array:
    """Return the threshold with the largest F1 for each label, near the common one if it is rare.

    The common threshold is that of all labels together. A score of minus infinity is unknown.
    """
    known = np.isfinite(scores)
    common = _best_cut(scores[known][:, None], truth[known][:, None])[0]
    support = truth.sum(axis=0)
    weight = support / (support + _PRIOR)
    own = np.where(support > 0, _best_cut(scores, truth), common)
    return np.asarray(weight * own + (1.0 - weight) * common)


def _best_cut(scores: Array, truth: Array) -> Array:
    """Return the cut of each column with the largest F1, halfway between two scores."""
    order = np.argsort(-scores, axis=0)
    ordered = np.take_along_axis(scores, order, axis=0)
    hits = np.cumsum(np.take_along_axis(truth, order, axis=0), axis=0)
    below = np.concatenate([ordered[1:], ordered[-1:] - 1.0])
    below = np.where(np.isfinite(below), below, ordered - 1.0)
    taken = np.arange(1.0, scores.shape[0] + 1.0)[:, None]
    f1 = np.where((ordered > below) & np.isfinite(ordered), hits / (taken + hits[-1:]), -1.0)
    best, columns = f1.argmax(axis=0), np.arange(scores.shape[1])
    return np.asarray((ordered[best, columns] + below[best, columns]) / 2)


def _sampled(labels: Labels, seed: int) -> Array:
    """Return the numbers of the labelled rows on which thresholds are chosen."""
    rows = np.flatnonzero(labels.labelled)
    count = int(np.clip(_ENTRIES // max(labels.names.size, 1), _FEWEST, _MOST))
    if rows.size <= count:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, count, replace=False))


def _leverage(X: Operator, alpha: float, seed: int) -> float:
    """Return the trace of ``X (X'X + alpha I)^-1 X'`` over n, estimated from random signs."""
    rows = X.shape[0]
    if not alpha > 0:
        return min(X.shape) / rows
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (rows, _PROBES))
    found = regress(X, signs.astype(X.dtype), alpha, tol=_ACCURACY)
    return float(np.trace(found.agreement)) / (_PROBES * rows)
