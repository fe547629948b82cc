"""Code shared by DLE and LPP: a graph over the rows, and low-dimensional coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._params import Constraint, Either, Integer, Null, OneOf, Real
from .._typing import Array
from ..errors import InvalidInput, NotConverged, warn_caller
from ..graph.affinity import AFFINITIES
from ..operators import Operator, as_operator
from ..solvers.decomposition import complete_basis
from ..solvers.limits import DIRECT_LIMIT

__all__ = [
    "GRAPH_OPTIONS",
    "Coordinates",
    "coordinates",
    "warn_unclear",
]

GRAPH_OPTIONS: Mapping[str, Constraint] = {
    "n_components": Either((Integer(1), Null())),
    "alpha": Real(0.0),
    "affinity": OneOf(AFFINITIES),
    "n_neighbors": Integer(1),
    "gamma": Either((Real(0.0), Null())),
}


# Float32 data with at most this many entries is solved in float64.
_SMALL = 1 << 22


@dataclass(frozen=True)
class Coordinates:
    """The rows in at most min(n, d) coordinates, and the map back to the features.

    ``shortest`` is the shortest direction that was kept, relative to the longest, in columns of
    equal length.
    """

    rows: Operator
    to_features: Callable[[Array], Array]
    shortest: float = 1.0


def coordinates(owner: str, data: Any, *, center: bool = True) -> tuple[Coordinates, Array]:
    """Return the rows in at most min(n, d) coordinates, and the means that were subtracted.

    ``owner`` is named in the error for data that is too large.
    """
    rows, columns = data.shape
    # For few entries float64 costs nothing and does not lose features in small units.
    X = as_operator(data.astype(np.float64) if rows * columns <= _SMALL else data)
    X, means = X.centered() if center else (X, np.zeros(columns))
    if min(rows, columns) > DIRECT_LIMIT:
        raise InvalidInput(
            f"{owner}: X has shape {(rows, columns)}, and the smaller side must be at most "
            f"{DIRECT_LIMIT}; reduce X first, for example make_pipeline(LSI(500), {owner}())."
        )
    if columns <= rows:
        return Coordinates(X, lambda weights: weights), means
    # The method only uses the row space: with X = P S V', its coordinates are P S = X V, and a
    # direction u in them is V u in the features.
    basis = complete_basis(X, np.zeros((rows, 0)), 0.0)
    # Centred, n rows span n - 1 directions; far from zero, rounding adds one more.
    right = basis.right.to_block()[:, : rows - center]
    if right.shape[1] == 0:
        raise InvalidInput(f"{owner}: all rows of X are equal; there is no direction to find.")
    return Coordinates(as_operator(X.matmat(right)), right.__matmul__, basis.shortest), means


def warn_unclear(owner: str) -> None:
    """Warn that the rank of the data cannot be distinguished from rounding."""
    warn_caller(
        f"{owner}: the answer may be wrong, because columns of X have very different units or "
        "depend on each other almost exactly; scale the columns, for example with "
        "StandardScaler, raise alpha, or leave out columns that repeat others.",
        NotConverged,
    )
