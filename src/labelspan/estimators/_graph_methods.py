"""What DLE and LPP share: a graph over the rows, and coordinates small enough to solve in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._params import Constraint, Either, Integer, Null, OneOf, Real
from .._typing import Array
from ..errors import InvalidInput
from ..graph.affinity import AFFINITIES, Affinity
from ..labels.factor import RANK_TOLERANCE
from ..operators import Operator, as_operator
from ..operators.row_graph import read_graph
from ..solvers.problem import DIRECT_LIMIT
from ..solvers.small_dense import psd_basis

__all__ = ["GRAPH_OPTIONS", "Coordinates", "coordinates", "graph_over_rows"]

GRAPH_OPTIONS: Mapping[str, Constraint] = {
    "n_components": Either((Integer(1), Null())),
    "alpha": Real(0.0),
    "affinity": OneOf(AFFINITIES),
    "n_neighbors": Integer(1),
    "gamma": Either((Real(0.0), Null())),
}


def graph_over_rows(model: Any, data: Any, graph: Any) -> Operator:
    """Return the graph that was given, or one made with the affinity of the estimator."""
    if graph is not None:
        return read_graph(graph, data.shape[0])
    affinity = Affinity(model.affinity, model.n_neighbors, model.gamma)
    return affinity(type(model).__name__, data).graph


@dataclass(frozen=True)
class Coordinates:
    """The rows in at most min(n, d) coordinates, and the map from those back to features."""

    rows: Operator
    to_features: Callable[[Array], Array]


def coordinates(owner: str, data: Any, *, center: bool = True) -> tuple[Coordinates, Array]:
    """Return the rows in small coordinates, and the means that were subtracted.

    ``owner`` is named in the error for data that is too large.
    """
    X = as_operator(data)
    rows, columns = X.shape
    X, means = X.centered() if center else (X, np.zeros(columns))
    if min(rows, columns) > DIRECT_LIMIT:
        raise InvalidInput(
            f"{owner}: X has shape {(rows, columns)}, and the smaller side must be at most "
            f"{DIRECT_LIMIT}; reduce X first, for example make_pipeline(LSI(500), {owner}())."
        )
    if columns <= rows:
        return Coordinates(X, lambda weights: weights), means
    # The method only uses the row space: with X = P S V', its coordinates are P S, and a
    # direction u of theirs is V u = X' P S^-1 u among the features.
    squares, left = psd_basis(X.cogram(), RANK_TOLERANCE)
    # Centred, n rows have n - 1 directions; far from zero, rounding shows one more.
    squares, left = squares[: rows - center], left[:, : rows - center]
    if squares.size == 0:
        raise InvalidInput(f"{owner}: all rows of X are equal; there is no direction to find.")
    lengths = np.sqrt(squares)
    wide = X

    def to_features(weights: Array) -> Array:
        return wide.cross((left / lengths) @ weights)

    return Coordinates(as_operator(left * lengths), to_features), means
