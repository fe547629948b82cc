"""Graphs from features: the full Gaussian, and nearest neighbours."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_array

from .._params import Either, Integer, Null, OneOf, Real, check_params
from .._typing import Array
from ..errors import InvalidInput
from ..operators import Dense, Operator
from ..operators.kernel_map import KERNEL_LIMIT
from ..operators.row_data import canonical, translated
from ..operators.row_graph import graph_of_edges
from .neighbors import Search, find_neighbors, squared_distances

__all__ = [
    "AFFINITIES",
    "Affinity",
    "AffinityGraph",
    "WeightKind",
    "gaussian_graph",
    "neighbor_graph",
]

AFFINITIES = ("nearest_neighbors", "rbf", "precomputed")
WeightKind = Literal["binary", "heat", "cosine"]

_GAMMA = Either((Null(), Real(0.0)))


def gaussian_graph(X: Any, gamma: float | None = None) -> Operator:
    """Make the full Gaussian graph ``exp(-gamma |x_i - x_j|^2)`` (wang2010, Eq. 17).

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        At most 5,000 rows, because this is an n x n array; use :func:`neighbor_graph` beyond.
    gamma : float or None, default=None
        The paper's ``1 / (2 sigma)``. None takes half the inverse of the median squared
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
    return _gaussian(X, gamma).graph


@dataclass(frozen=True)
class AffinityGraph:
    """A graph over rows, and the gamma of its Gaussian; None where it has none.

    Attributes
    ----------
    graph : Operator
        Of shape (n, n).
    gamma : float or None

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.graph.affinity import Affinity
    >>> made = Affinity("rbf", 1, 2.0)("mine", np.array([[0.0], [1.0]]))
    >>> made.gamma
    2.0
    """

    graph: Operator
    gamma: float | None


def _gaussian(X: Any, gamma: float | None) -> AffinityGraph:
    check_params("gaussian_graph", {"gamma": gamma}, {"gamma": _GAMMA})
    data = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    rows = data.shape[0]
    if rows > KERNEL_LIMIT:
        raise InvalidInput(
            f"gaussian_graph: {rows} rows would make a {rows} x {rows} array, above the limit of "
            f"{KERNEL_LIMIT}; use neighbor_graph, or affinity='nearest_neighbors'."
        )
    (data,) = translated(canonical(data).astype(np.float64, copy=False))
    squares = euclidean_distances(data, squared=True)
    squares = (squares + squares.T) / 2
    if gamma is None:
        gamma = _half_inverse(np.median(squares[np.triu_indices(rows, k=1)]) if rows > 1 else 0.0)
    weights = np.exp(-gamma * squares)
    np.fill_diagonal(weights, 0.0)
    return AffinityGraph(Dense(weights), gamma)


def neighbor_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    weight: WeightKind = "heat",
    gamma: float | None = None,
    mutual: bool = False,
    search: Search = "auto",
) -> Operator:
    """Make the symmetric graph of nearest neighbours.

    Two rows are joined where either is among the nearest neighbours of the other.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    n_neighbors : int, default=10
        Neighbours of each row, itself not counted; at most all others.
    weight : {"heat", "binary", "cosine"}, default="heat"
        ``exp(-gamma |x_i - x_j|^2)``; 1; or the cosine between the rows where it is above
        zero, with neighbours by angle.
    gamma : float or None, default=None
        For "heat". None takes half the inverse of the median squared distance of neighbours.
    mutual : bool, default=False
        Whether to join two rows only where each is a neighbour of the other.
    search : {"auto", "exact", "approximate"}, default="auto"
        Exact search compares all pairs of rows. Approximate search compares rows in the leaves
        of a few random trees and then neighbours of neighbours; its time grows as n log n.
        "auto" is exact up to 20,000 rows.

    Returns
    -------
    graph : Operator
        The weights, sparse, of shape (n, n).

    See Also
    --------
    gaussian_graph : The full graph, for few rows.
    combine : Add graphs.

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
    data = canonical(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]))
    rows, count = data.shape[0], min(n_neighbors, data.shape[0] - 1)
    if weight == "heat":
        start, end = find_neighbors(data, count, search=search)
        weights, _ = _heat(data, start, end, gamma)
    elif weight == "cosine":
        start, end = find_neighbors(data, count, metric="cosine", search=search)
        # Between unit vectors the squared distance is 2 - 2 cos.
        weights = np.maximum(1.0 - squared_distances(data, start, end, unit=True) / 2, 0.0)
    else:
        start, end = find_neighbors(data, count, search=search)
        weights = np.ones(start.size)
    return graph_of_edges(start, end, weights, rows, mutual=mutual)


def _heat(X: Any, start: Array, end: Array, gamma: float | None) -> tuple[Array, float]:
    squares = squared_distances(X, start, end)
    if gamma is None:
        gamma = _half_inverse(np.median(squares) if squares.size else 0.0)
    return np.exp(-gamma * squares), gamma


def _half_inverse(square: Any) -> float:
    # Where half of the rows are equal, any gamma will do; and the largest float where they are
    # so close that the inverse would be infinite.
    return min(0.5 / float(square), sys.float_info.max) if square > 0 else 1.0


@dataclass(frozen=True)
class Affinity:
    """The recipe by which an estimator makes a graph over its rows.

    Parameters
    ----------
    kind : str
        One of ``AFFINITIES``.
    n_neighbors : int
    gamma : float or None

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.graph.affinity import Affinity
    >>> made = Affinity("nearest_neighbors", 1, None)("mine", np.array([[0.0], [1.0], [5.0]]))
    >>> made.graph.shape
    (3, 3)
    """

    kind: str
    n_neighbors: int
    gamma: float | None

    def __call__(self, owner: str, X: Any) -> AffinityGraph:
        """Make the graph over the rows of X, and return it with its gamma."""
        if self.kind == "precomputed":
            raise InvalidInput(
                f"{owner}: affinity='precomputed' needs a graph over the rows of X; "
                "give graph= in fit, or choose another affinity."
            )
        if self.kind == "rbf":
            return _gaussian(X, self.gamma)
        start, end = find_neighbors(X, min(self.n_neighbors, X.shape[0] - 1))
        weights, gamma = _heat(X, start, end, self.gamma)
        return AffinityGraph(graph_of_edges(start, end, weights, X.shape[0]), gamma)
