"""The Green's function of a graph: the pseudo-inverse of its Laplacian, as an operator."""

from __future__ import annotations

import numpy as np

from ...._typing import Array
from ....errors import LabelspanWarning, warn_caller
from ....graph.affinity import Laplacian, degrees
from ....operators import Operator
from ..label_graph import LabelGraph
from ..weighted_sum import WeightedSum
from .graph_systems import SystemSolver, reach

__all__ = ["GreenFunction", "connected_graph"]

# Sum of the added links at each row, in mean degrees.
_LINK = 1e-3


class GreenFunction(Operator):
    """``L^+`` for the Laplacian of a connected graph, by conjugate gradients.

    Constant vectors, the null space, are subtracted before and after.
    """

    def __init__(self, graph: Operator, solve: SystemSolver) -> None:
        super().__init__(graph.shape, np.float64)
        self._laplacian = Laplacian(graph)
        self._solve = solve

    def _matmat(self, block: Array) -> Array:
        right = block - block.mean(axis=0)
        found = self._solve(self._laplacian.matmat, right, self._laplacian.degrees)
        return np.asarray(found - found.mean(axis=0))

    def _rmatmat(self, block: Array) -> Array:
        return self._matmat(block)


def connected_graph(owner: str, graph: Operator) -> Operator:
    """Return the graph, with weak links between all rows if it is not connected.

    The Laplacian of a graph with several components has a null vector for each, and its
    pseudo-inverse ignores how the components differ. With links that sum to a thousandth of the
    mean degree, only the constant vector is in the null space.
    """
    rows = graph.shape[0]
    if reach(graph, np.arange(rows) == 0).all():
        return graph
    link = _LINK * float(degrees(graph).mean()) or 1.0
    warn_caller(
        f"{owner}: the graph is not connected, so weak links between all rows were added, "
        f"{_LINK:g} of the mean degree; use more neighbours for a connected graph.",
        LabelspanWarning,
    )
    uniform = LabelGraph(np.ones((rows, 1)), np.array([[link / rows]]))
    return WeightedSum([graph, uniform], [1.0, 1.0])
