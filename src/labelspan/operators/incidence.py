"""The edges of a graph as an operator: ``L = E'E`` is its Laplacian."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InvalidInput, LabelspanWarning
from .sparse import Sparse

__all__ = ["incidence"]


def incidence(graph: Any, n_rows: int, scale: float = 1.0, dtype: Any = np.float64) -> Sparse:
    """One row an edge: ``sqrt(scale w_ij)`` at i and its negative at j.

    ``|E v|^2 = scale * sum_ij w_ij (v_i - v_j)^2 / 2 = scale * v'(D - W)v``. A graph that is
    not symmetric is made so, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators.incidence import incidence
    >>> E = incidence(np.array([[0.0, 4.0], [4.0, 0.0]]), 2)
    >>> E.toarray()
    array([[ 2., -2.]])
    """
    weights = sparse.csr_array(graph, dtype=np.float64)
    if weights.shape != (n_rows, n_rows):
        raise InvalidInput(
            f"graph must be a square matrix over the {n_rows} rows of X, "
            f"but has shape {weights.shape}."
        )
    if not np.isfinite(weights.data).all() or (weights.data < 0).any():
        raise InvalidInput("graph must hold finite weights of at least 0; shift or clip them.")
    if abs(weights - weights.T).max() > 1e-10 * max(abs(weights).max(), 1e-300):
        warnings.warn(
            "graph is not symmetric; the mean of it and its transpose is used.",
            LabelspanWarning,
            stacklevel=3,
        )
    upper = sparse.triu((weights + weights.T) / 2, k=1).tocoo()
    upper.eliminate_zeros()
    count = upper.nnz
    root = np.sqrt(scale * upper.data)
    edges = np.repeat(np.arange(count), 2)
    ends = np.stack([upper.row, upper.col], axis=1).ravel()
    values = np.stack([root, -root], axis=1).ravel()
    matrix = sparse.csr_array((values.astype(dtype), (edges, ends)), shape=(count, n_rows))
    return Sparse(matrix)
