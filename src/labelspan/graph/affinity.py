"""Graphs over rows, and their Laplacians."""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np

from .._params import Either, Integer, Null, OneOf, Real, check_params
from .._typing import Array
from ..errors import InvalidInput
from ..operators import Operator
from ..operators.dense import Dense
from ..operators.row_data import as_rows, check_rows, product, row_squares, translated, transposed
from ..operators.row_graph import graph_of_edges, read_graph
from .neighbors import Search, nearest_neighbors

__all__ = [
    "AFFINITIES",
    "Laplacian",
    "degrees",
    "gaussian_graph",
    "graph_over_rows",
    "metric_form",
    "neighbor_graph",
]

AFFINITIES = ("nearest_neighbors", "rbf", "precomputed")

# Maximum number of rows of the full Gaussian, which is an n x n array.
_GAUSSIAN_LIMIT = 5000
_GAMMA = Either((Null(), Real(0.0)))


def gaussian_graph(X: Any, gamma: float | None = None) -> Operator:
    """Return the full Gaussian graph ``exp(-gamma |x_i - x_j|^2)`` (wang2010, Eq. 17).

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        At most 5,000 rows, because this is an n x n array; use :func:`neighbor_graph` beyond.
    gamma : float or None, default=None
        The paper's ``1 / (2 sigma)``. None uses half the inverse of the median squared
        distance between rows.

    Returns
    -------
    graph : Operator
        The weights, of shape (n, n).

    See Also
    --------
    neighbor_graph : A sparse graph for more rows.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.graph import gaussian_graph
    >>> gaussian_graph(np.array([[0.0], [1.0]]), gamma=2.0).toarray().round(3)
    array([[0.   , 0.135],
           [0.135, 0.   ]])
    """
    check_params("gaussian_graph", {"gamma": gamma}, {"gamma": _GAMMA})
    return _gaussian(check_rows(X, "gaussian_graph"), gamma)[0]


def neighbor_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    weight: Literal["binary", "heat", "cosine"] = "heat",
    gamma: float | None = None,
    search: Search = "auto",
) -> Operator:
    """Return the symmetric graph of nearest neighbours.

    Two rows share an edge if either is among the nearest neighbours of the other.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    n_neighbors : int, default=10
        Number of neighbours of each row, not counting itself.
    weight : {"heat", "binary", "cosine"}, default="heat"
        ``exp(-gamma |x_i - x_j|^2)``; 1; or the cosine between the rows if it is
        positive, with neighbours by angle.
    gamma : float or None, default=None
        For "heat". None uses half the inverse of the median squared distance of neighbours.
    search : {"auto", "exact", "approximate"}, default="auto"
        Exact search compares all pairs of rows. Approximate search compares each row only with
        those in nearby cells, and finds most neighbours. "auto" is exact up to 40,000 rows.

    Returns
    -------
    graph : Operator
        The weights, sparse, of shape (n, n).

    See Also
    --------
    gaussian_graph : The full graph, for few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.graph import neighbor_graph
    >>> neighbor_graph(np.array([[0.0], [1.0], [5.0]]), 1, weight="binary").toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    given = {"n_neighbors": n_neighbors, "weight": weight, "gamma": gamma, "search": search}
    check_params(
        "neighbor_graph",
        given,
        {
            "n_neighbors": Integer(1),
            "weight": OneOf(("binary", "heat", "cosine")),
            "gamma": _GAMMA,
            "search": OneOf(("auto", "exact", "approximate")),
        },
    )
    if gamma is not None and weight != "heat":
        raise InvalidInput(f"neighbor_graph: gamma={gamma} has no meaning for weight={weight!r}.")
    data = check_rows(X, "neighbor_graph")
    metric: Any = "cosine" if weight == "cosine" else "euclidean"
    near, values = nearest_neighbors(data, n_neighbors, metric=metric, search=search)
    if weight == "heat":
        weights, _ = _heat(values, gamma)
    else:
        weights = np.maximum(values, 0.0) if weight == "cosine" else np.ones(near.shape)
    return graph_of_edges(near, weights)


def graph_over_rows(model: Any, X: Any, graph: Any) -> tuple[Operator, float | None]:
    """Return a given graph and None, or the graph of the estimator's affinity and its gamma."""
    if graph is not None:
        return read_graph(graph, X.shape[0]), None
    if model.affinity == "precomputed":
        raise InvalidInput(
            f"{type(model).__name__}: affinity='precomputed' needs a graph over the rows of X; "
            "pass graph= to fit, or choose another affinity."
        )
    if model.affinity == "rbf":
        return _gaussian(as_rows(X), model.gamma)
    near, distances = nearest_neighbors(X, model.n_neighbors, search="auto")
    weights, gamma = _heat(distances, model.gamma)
    return graph_of_edges(near, weights), gamma


def _gaussian(X: Any, gamma: float | None) -> tuple[Operator, float]:
    rows = X.shape[0]
    if rows > _GAUSSIAN_LIMIT:
        raise InvalidInput(
            f"gaussian_graph: {rows} rows would form a {rows} x {rows} array, above the limit of "
            f"{_GAUSSIAN_LIMIT}; use neighbor_graph, or affinity='nearest_neighbors'."
        )
    (data,) = translated(X.astype(np.float64, copy=False))
    lengths = row_squares(data)
    squares = lengths[:, None] + lengths - 2 * product(data, transposed(data))
    squares = np.maximum((squares + squares.T) / 2, 0.0)
    if gamma is None:
        gamma = _half_inverse(np.median(squares[np.triu_indices(rows, k=1)]) if rows > 1 else 0.0)
    weights = np.exp(-gamma * squares)
    np.fill_diagonal(weights, 0.0)
    return Dense(weights), gamma


def _heat(distances: Array, gamma: float | None) -> tuple[Array, float]:
    squares = np.square(distances)
    if gamma is None:
        gamma = _half_inverse(np.median(squares) if squares.size else 0.0)
    return np.exp(-gamma * squares), gamma


def _half_inverse(square: Any) -> float:
    # If half of the rows are equal, any gamma works; use the largest float if they are
    # so close that the inverse would be infinite.
    return min(0.5 / float(square), sys.float_info.max) if square > 0 else 1.0


def degrees(graph: Operator) -> Array:
    """Sum the weights at each vertex, in float64."""
    return np.asarray(graph.matmat(np.ones((graph.shape[0], 1)))[:, 0], dtype=np.float64)


class Laplacian(Operator):
    """The Laplacian ``L = D - W`` of a graph, or ``I - D^-1/2 W D^-1/2`` if normalised.

    Parameters
    ----------
    graph : Operator
        The weights W, for example of :func:`neighbor_graph`.
    normalized : bool, default=False
        Whether to normalise; a vertex without neighbours then raises an error.

    See Also
    --------
    neighbor_graph, gaussian_graph : Create a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.graph import Laplacian
    >>> from labelspan.operators.row_graph import read_graph
    >>> path = read_graph(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 3.0], [0.0, 3.0, 0.0]]), 3)
    >>> Laplacian(path).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  4., -3.],
           [ 0., -3.,  3.]])
    """

    def __init__(self, graph: Operator, *, normalized: bool = False) -> None:
        super().__init__(graph.shape, np.float64)
        self.graph, self.normalized = graph, normalized
        self.degrees = degrees(graph)
        if normalized:
            isolated = np.flatnonzero(self.degrees <= 0)
            if isolated.size:
                raise InvalidInput(
                    f"graph has {isolated.size} row(s) without a neighbour, the first is row "
                    f"{isolated[0]}, and the normalised Laplacian needs one for "
                    "each; connect them, omit them, or use more neighbours."
                )
            self._root = 1.0 / np.sqrt(self.degrees)[:, None]

    def _matmat(self, block: Array) -> Array:
        if self.normalized:
            return np.asarray(block - self._root * self.graph.matmat(self._root * block))
        return np.asarray(self.degrees[:, None] * block - self.graph.matmat(block))

    def _rmatmat(self, block: Array) -> Array:
        return self._matmat(block)


def metric_form(X: Operator, middle: Operator) -> Array:
    """Compute ``X' M X`` in float64 for a symmetric operator M over the rows, by blocks."""
    out = np.empty((X.shape[1],) * 2)
    for part, values in X.column_blocks():
        out[:, part] = X.cross(middle.matmat(values.astype(np.float64)))
    return (out + out.T) / 2
