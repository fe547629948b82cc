"""Maps of several estimators: rows placed by their labels, and back to the features."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..errors import (
    InvalidInput,
)
from ..operators.array_backend import (
    as_block,
    host,
    like,
    on_host,
)
from ._streams import (
    labels_as_fitted,
)
from .base import Embedding
from .training import refuse_overflow

__all__ = ["inverse_transform", "placed_by_labels", "transform_with_labels"]


@refuse_overflow
def inverse_transform(self: Embedding, Z: Any) -> Array:
    """Map embedded points back to features.

    Of all features that :meth:`transform` maps to Z, these are the ones closest to the mean.

    Parameters
    ----------
    Z : array of shape (n, m)
        Embedded rows.

    Returns
    -------
    X : array of shape (n, d)
        The features.
    """
    fitted = self._fitted()
    components = on_host(fitted.components_)
    latent = as_block(Z)
    m = components.shape[0]
    if latent.ndim != 2 or latent.shape[1] != m:
        raise InvalidInput(
            f"{type(self).__name__}: inverse_transform takes embedded rows "
            f"with {m} columns, but an array of shape {tuple(latent.shape)} was given."
        )
    wide = components.astype(np.float64)
    back = np.linalg.solve(wide @ wide.T, wide).astype(components.dtype)
    found: Array = latent @ like(back, latent) + like(on_host(fitted.mean_), latent)
    return found


@refuse_overflow
def transform_with_labels(self: Any, X: Any, labels: Any = None) -> Array:
    """Map rows to the embedding.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    labels : labels of the form that was given to ``fit``, or None, default=None
        Known labels of the rows, for the items of a collection; -1 or NaN marks unknown
        entries, which add nothing. Rows that are embedded with their labels are closer to the
        queries that should find them, which are embedded from features only. Not available for
        ``penalty="l1"`` and ``solver="least-squares"``.

    Returns
    -------
    Z : array of shape (n, m)
        ``(X - mean_) @ components_.T``. With labels, ``+ (Y - label_means_) @ D``: the fitted
        labels and the known ones together. D has a direction for each label, for OPLS
        ``label_loadings_.T`` with ``scale="eigenvalue"``, for others ``label_directions_``.
    """
    fitted = self._fitted()
    rows = Embedding.transform(fitted, X)
    if labels is None:
        return rows
    return placed_by_labels(fitted, rows, labels, fitted._label_moves())


def placed_by_labels(model: Any, places: Any, y: Any, directions: Array) -> Array:
    """Add the contribution of known labels to embedded rows, by one direction per label."""
    block = as_block(places)
    labels = labels_as_fitted(y, block.shape[0], model.classes_, type(model).__name__)
    ways, means = host(directions), host(model.label_means_)
    if labels.many:
        added = labels.values @ ways - means @ ways
    else:
        values = labels.values - means
        if labels.unknown is not None:
            values = np.where(labels.unknown, 0.0, values)
        added = values @ ways
    moved: Array = block + like(added, block)
    return moved
