"""What DLE and LPP share: a graph over the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .._params import Choice, Constraint, Either, Integer, Null, Real
from .._typing import Array
from ..graph import AFFINITIES, Affinity
from ..operators import Operator, as_operator
from ..operators.row_graph import read_graph
from .coordinates import Coordinates, coordinates
from .overflow import refuse_large_squares
from .space import Space

__all__ = ["GraphSpace"]


class GraphSpace(Space):
    """A space that keeps rows close which a graph joins."""

    # Rows are compared with each other, and taken out by number.
    _sparse_formats: ClassVar[tuple[str, ...]] = ("csr",)
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Either((Integer(1), Null())),
        "alpha": Real(0.0),
        "affinity": Choice(AFFINITIES),
        "n_neighbors": Integer(1),
        "gamma": Either((Real(0.0), Null())),
    }

    alpha: float
    affinity: str
    n_neighbors: int
    gamma: float | None

    def _validate(self, X: Any, *, reset: bool, least: int = 1) -> Any:
        data = super()._validate(X, reset=reset, least=least)
        if reset:
            refuse_large_squares(as_operator(data))
        return data

    def _graph(self, data: Any, graph: Any) -> Operator:
        """The graph that was given, or one of the rows."""
        if graph is not None:
            return read_graph(graph, data.shape[0])
        affinity = Affinity(self.affinity, self.n_neighbors, self.gamma)
        return affinity(type(self).__name__, data).graph

    def _coordinates(self, data: Any) -> tuple[Coordinates, Array]:
        return coordinates(type(self).__name__, data, center=self.center)
