"""A graph over the rows of X as an operator: symmetric weights, zeros on the diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput, LabelspanWarning, warn_caller
from .dense import Dense
from .operator import Operator
from .sparse import Sparse

__all__ = ["graph_of_edges", "incidence", "read_graph"]


def read_graph(graph: Any, n_rows: int) -> Operator:
    """Read a graph over ``n_rows`` rows, dense or sparse; an operator is returned as it is.

    Weights on the diagonal are ignored. A graph that is not symmetric
    is symmetrised, with a warning.
    """
    if isinstance(graph, Operator):
        _refuse_shape(graph.shape, n_rows)
        return graph
    weights = _symmetric(graph, n_rows)
    if sparse.issparse(weights):
        return Sparse(_without_diagonal(weights))
    np.fill_diagonal(weights, 0.0)
    return Dense(weights)


def graph_of_edges(near: Array, weights: Array) -> Sparse:
    """Create a graph with edges from each row to those in ``near``, an array of shape (n, k).

    Two rows share an edge if either names the other.
    """
    rows, k = near.shape
    start = np.arange(0, rows * k + 1, k)
    directed = sparse.csr_array((weights.ravel(), near.ravel(), start), shape=(rows, rows))
    return Sparse(_without_diagonal(directed.maximum(directed.T)))


def incidence(graph: Any, n_rows: int, scale: float = 1.0, dtype: Any = np.float64) -> Sparse:
    """Return the edges of a graph, one per row: ``sqrt(scale w_ij)`` at i, its negative at j.

    ``|E v|^2 = scale * sum_ij w_ij (v_i - v_j)^2 / 2 = scale * v'(D - W)v``, so that
    ``L = E'E`` is its Laplacian.
    """
    upper = sparse.triu(_matrix(read_graph(graph, n_rows)), k=1).tocoo()
    upper.eliminate_zeros()
    count = upper.nnz
    root = np.sqrt(scale * upper.data)
    edges = np.repeat(np.arange(count), 2)
    ends = np.stack([upper.row, upper.col], axis=1).ravel()
    values = np.stack([root, -root], axis=1).ravel()
    matrix = sparse.csr_array((values.astype(dtype), (edges, ends)), shape=(count, n_rows))
    return Sparse(matrix)


def _matrix(graph: Operator) -> Any:
    if isinstance(graph, Sparse):
        return graph._csr
    return sparse.csr_array(graph.toarray())


def _symmetric(graph: Any, n_rows: int) -> Any:
    """Check the weights and return a copy of them in float64."""
    if sparse.issparse(graph):
        weights: Any = sparse.csr_array(graph, dtype=np.float64, copy=True)
        weights.sum_duplicates()
    else:
        weights = np.array(graph, dtype=np.float64)
    _refuse_shape(weights.shape, n_rows)
    entries = weights.data if sparse.issparse(weights) else weights
    if not np.isfinite(entries).all() or (entries < 0).any():
        raise InvalidInput("graph must have finite weights of at least 0; shift or clip them.")
    if abs(weights - weights.T).max() <= 1e-10 * max(abs(weights).max(), 1e-300):
        return weights
    warn_caller(
        "graph is not symmetric; the mean of it and its transpose is used.",
        LabelspanWarning,
    )
    return (weights + weights.T) / 2


def _refuse_shape(shape: tuple[int, ...], n_rows: int) -> None:
    if shape != (n_rows, n_rows):
        raise InvalidInput(
            f"graph must be a square matrix over the {n_rows} rows of X, but has shape {shape}."
        )


def _without_diagonal(weights: Any) -> Any:
    coo = weights.tocoo()
    keep = (coo.row != coo.col) & (coo.data > 0)
    return sparse.csr_array((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=coo.shape)
