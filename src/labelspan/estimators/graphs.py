"""What DLE and LPP share: a graph over the rows, and coordinates small enough to solve in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidInput
from ..factors import RANK_TOLERANCE
from ..graph import AFFINITIES, Affinity
from ..operators import Operator, as_operator
from ..operators.base import Array
from ..operators.graphs import read_graph
from ..solvers.base import DIRECT_LIMIT
from ..solvers.small import psd_basis
from ..validation.params import Choice, Constraint, Either, Integer, Null, Real
from .space import Space

__all__ = ["Coordinates", "GraphSpace"]


@dataclass(frozen=True)
class Coordinates:
    """The centred rows in coordinates of at most min(n, d) columns, and the way back."""

    rows: Operator
    to_features: Callable[[Array], Array]


class GraphSpace(Space):
    """A space that keeps rows close which a graph joins."""

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

    def _graph(self, data: Any, graph: Any) -> Operator:
        """The graph that was given, or one of the rows."""
        if graph is not None:
            return read_graph(graph, data.shape[0])
        affinity = Affinity(self.affinity, self.n_neighbors, self.gamma)
        return affinity(type(self).__name__, data)

    def _coordinates(self, data: Any) -> tuple[Coordinates, Array]:
        """The rows about their mean where the method centres, and what was taken off."""
        X = as_operator(data)
        rows, columns = X.shape
        X, means = X.centered() if self.center else (X, np.zeros(columns))
        if min(rows, columns) > DIRECT_LIMIT:
            owner = type(self).__name__
            raise InvalidInput(
                f"{owner}: X has shape {(rows, columns)}, and the smaller side must be at most "
                f"{DIRECT_LIMIT}; reduce X first, say make_pipeline(LSI(500), {owner}())."
            )
        if columns <= rows:
            return Coordinates(X, lambda weights: weights), means
        # All that the method looks at lies in the row space: with X = P S V', its coordinates
        # are P S, and a direction u of theirs is V u = X' P S^-1 u among the features.
        squares, left = psd_basis(X.cogram(), RANK_TOLERANCE)
        if squares.size == 0:
            raise InvalidInput(
                f"{type(self).__name__}: all rows of X are equal; there is no direction to find."
            )
        lengths = np.sqrt(squares)
        wide = X

        def to_features(weights: Array) -> Array:
            return wide.cross((left / lengths) @ weights)

        return Coordinates(as_operator(left * lengths), to_features), means
