"""The graph of rows with similar labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._typing import Array
from ...errors import InvalidLabels
from ...operators import Operator
from ...operators.convert import dense_block

__all__ = ["LabelGraph", "label_correlation", "label_graph"]


class LabelGraph(Operator):
    """The graph ``F C F'`` without its diagonal, for a thin F and a small symmetric C."""

    def __init__(self, sides: Array, middle: Array) -> None:
        rows = sides.shape[0]
        super().__init__((rows, rows), np.float64)
        self._sides, self._middle = sides, middle
        self._diagonal = ((sides @ middle) * sides).sum(axis=1)[:, None]

    def _matmat(self, block: Array) -> Array:
        inner = self._middle @ (self._sides.T @ block)
        return np.asarray(self._sides @ inner - self._diagonal * block)

    def _rmatmat(self, block: Array) -> Array:
        return self._matmat(block)


def label_correlation(Y: Any) -> Array:
    """Compute the cosine similarity between the columns of Y (wang2010, Eq. 19).

    A label without rows has similarity 0 to all labels, including itself.
    """
    values = _indicator(Y)
    norms = np.linalg.norm(values, axis=0)
    unit = values / np.where(norms > 0, norms, 1.0)
    return unit.T @ unit


def label_graph(Y: Any) -> LabelGraph:
    """Return the graph of rows with similar labels (wang2010, Eq. 18).

    Its weights are ``y_i'C y_j / (|y_i| |y_j|)``, where C is the cosine similarity between labels
    (Eq. 19). Rows without labels have no neighbours.
    On one-hot labels it connects the rows of each class with weight 1. It has rank k plus a
    diagonal: a product costs O(n k).

    Parameters
    ----------
    Y : array or sparse matrix of shape (n, k)
        A 0/1 indicator without unknown entries.

    Returns
    -------
    graph : LabelGraph
        An operator of shape (n, n).

    See Also
    --------
    with_label_graph : Adds it to a graph from features.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.papers.wang2010 import label_graph
    >>> label_graph(np.array([[1, 0], [1, 0], [0, 1]])).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    values = _indicator(Y)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return LabelGraph(values / np.where(norms > 0, norms, 1.0), label_correlation(values))


def _indicator(Y: Any) -> Array:
    values = dense_block(Y, "Y")
    if values.ndim != 2 or not np.isin(values, (0, 1)).all():
        raise InvalidLabels(
            "Y must be a 0/1 indicator with one column per label, all entries known, "
            f"but has shape {values.shape} and type {values.dtype}."
        )
    return values.astype(np.float64)
