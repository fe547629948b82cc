"""Correlations of labels, and their Laplacian."""

from __future__ import annotations

import numpy as np

from ...._typing import Array
from ....labels import Labels
from ..label_graph import label_correlation

__all__ = ["correlation", "label_laplacian"]


def correlation(labels: Labels) -> Array:
    """Compute the cosines between labels over the labelled rows."""
    return label_correlation(labels.values[labels.labelled])


def label_laplacian(labels: Labels, *, normalized: bool = False) -> Array:
    """Compute the k x k Laplacian of :func:`correlation` without its diagonal.

    Normalised, a label that occurs with no other has a row of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.papers.wang2010.comparators.label_correlation import label_laplacian
    >>> from labelspan.labels import read_labels
    >>> Y = read_labels(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]), 3, "example")
    >>> label_laplacian(Y).round(6) + 0.0
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """
    weights = correlation(labels)
    np.fill_diagonal(weights, 0.0)
    sums = weights.sum(axis=1)
    laplacian = np.diag(sums) - weights
    if normalized:
        root = np.where(sums > 0, 1.0 / np.sqrt(np.where(sums > 0, sums, 1.0)), 0.0)
        laplacian = root[:, None] * laplacian * root
    return np.asarray(laplacian)
