"""The Green's function of a graph: the pseudo-inverse of its Laplacian, never formed."""

from __future__ import annotations

import warnings

import numpy as np

from .._typing import Array
from ..errors import LabelspanWarning
from ..graph import LabelGraph, Laplacian, degrees
from ..operators import Operator, Sum
from .graph_systems import Solves, reach

__all__ = ["GreenFunction", "joined"]

# What the links that join parts of a graph sum to at each row, in mean degrees.
_LINK = 1e-3


class GreenFunction(Operator):
    """``L^+`` for the Laplacian of a connected graph, by conjugate gradients.

    The null space is that of the constant vectors, which are taken off before and after.
    """

    def __init__(self, graph: Operator, solves: Solves) -> None:
        super().__init__(graph.shape, np.float64)
        self._laplacian = Laplacian(graph)
        self._solves = solves

    def _matmat(self, block: Array) -> Array:
        right = block - block.mean(axis=0)
        found = self._solves(self._laplacian.matmat, right, self._laplacian.degrees)
        return np.asarray(found - found.mean(axis=0))

    def _rmatmat(self, block: Array) -> Array:
        return self._matmat(block)


def joined(owner: str, graph: Operator) -> Operator:
    """The graph, or where it falls apart, the graph with weak links between all rows.

    A Laplacian of several parts has a null vector for each, and its pseudo-inverse forgets
    how the parts differ. With links to all rows that sum to a thousandth of the mean degree
    it has the constant one alone, and what differs between parts comes first.
    """
    rows = graph.shape[0]
    if reach(graph, np.arange(rows) == 0).all():
        return graph
    link = _LINK * float(degrees(graph).mean()) or 1.0
    warnings.warn(
        f"{owner}: the graph falls into parts, which weak links between all rows join, "
        f"{_LINK:g} of the mean degree; use more neighbours for a graph in one part.",
        LabelspanWarning,
        stacklevel=2,
    )
    uniform = LabelGraph(np.ones((rows, 1)), np.array([[link / rows]]))
    return Sum([graph, uniform], [1.0, 1.0])
