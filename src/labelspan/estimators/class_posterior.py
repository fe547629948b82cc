"""Classes from an embedding: their normal distributions with a common covariance, and accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._typing import Array
from ..operators.array_backend import as_block, host
from ..operators.digits import whitening
from ._streams import labels_as_fitted

__all__ = ["accuracy", "class_scores", "discriminants", "predict_proba"]

# Variance within classes, relative to the total, below which a direction counts as constant.
_LEAST_SPREAD = 1e-9


def discriminants(total: Array, sums: Array, counts: Array, rows: int) -> tuple[Array, Array]:
    """Return slopes (m, k) and offsets (k,) of the log posterior of each class, up to a constant.

    Parameters
    ----------
    total : array of shape (m, m)
        Scatter of the embedded rows.
    sums : array of shape (m, k)
        Sums of the embedded rows of each class.
    counts : array of shape (k,)
        Number of rows of each class.
    rows : int
        Number of rows.
    """
    root = whitening(total)
    means = root.T @ (sums / np.maximum(counts, 1.0))
    spread, turned = np.linalg.eigh(np.eye(means.shape[0]) - (means * counts) @ means.T)
    within = turned / np.maximum(spread, _LEAST_SPREAD) @ turned.T
    slopes = max(rows - counts.size, 1) * within @ means
    priors = np.log(np.maximum(counts, 1e-300) / max(counts.sum(), 1.0))
    return root @ slopes, priors - (means * slopes).sum(axis=0) / 2


def class_scores(self: Any, X: Any) -> Array:
    """Return log posteriors of classes, up to a constant per row; label scores for an indicator."""
    if "discriminants_" not in vars(self):
        return host(self.label_scores(X))
    latent = host(as_block(self.transform(X))).astype(np.float64)
    return np.asarray(latent @ self.discriminants_ + self.discriminant_offsets_)


def has_posterior(model: Any) -> bool:
    """Return whether classes have posteriors; scikit-learn's tools ask before the fit, too."""
    return bool("discriminants_" in vars(model) or "classes_" not in vars(model))


@available_if(has_posterior)  # type: ignore[untyped-decorator]
def predict_proba(self: Any, X: Any) -> Array:
    """Return the posterior probability of each class.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.

    Returns
    -------
    probabilities : array of shape (n, k)
        One column for each entry of ``classes_``.
    """
    scores = self._fitted()._class_scores(X)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def accuracy(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the accuracy of :meth:`predict`, for several labels that of whole rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    y : labels of the form that was given to ``fit``
        Rows with unknown entries (-1 or NaN) are ignored; a class that was not seen in ``fit``
        counts as an error.
    sample_weight : array of shape (n,) or None, default=None
        Weight of each row.

    Returns
    -------
    score : float
        Fraction of rows that are predicted correctly.
    """
    fitted = self._fitted()
    if fitted.label_kind_ == "classes":
        best = fitted._class_scores(X).argmax(axis=1)
        labels = labels_as_fitted(fitted, y, best.size, new_classes=True)
        right = labels.values[np.arange(best.size), best] == 1
    else:
        found = fitted.predict(X)
        labels = labels_as_fitted(fitted, y, found.shape[0], new_classes=True)
        right = np.all(host(labels.operator.to_block()) == found, axis=1)
    weights = np.ones(right.size) if sample_weight is None else np.asarray(sample_weight)
    if labels.unknown is not None:
        weights = np.where(labels.unknown.any(axis=1), 0.0, weights)
    return float(np.average(right, weights=weights))
