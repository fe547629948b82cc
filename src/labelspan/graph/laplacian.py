"""The Laplacian of a graph, as an operator."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from ..operators import Operator

__all__ = ["Laplacian", "degrees", "metric_form"]


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
    neighbor_graph, gaussian_graph, label_graph : Create a graph.

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
