"""Coordinates small enough to solve in, for methods that form square matrices of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidInput
from ..labels import RANK_TOLERANCE
from ..operators import Operator, as_operator
from ..solvers.problem import DIRECT_LIMIT
from ..solvers.small_dense import psd_basis

__all__ = ["Coordinates", "coordinates"]


@dataclass(frozen=True)
class Coordinates:
    """The rows in coordinates of at most min(n, d) columns, and the way back."""

    rows: Operator
    to_features: Callable[[Array], Array]


def coordinates(owner: str, data: Any, *, center: bool = True) -> tuple[Coordinates, Array]:
    """The rows, about their mean where asked for, and what was taken off.

    ``owner`` is named in the refusal of data that is too large.
    """
    X = as_operator(data)
    rows, columns = X.shape
    X, means = X.centered() if center else (X, np.zeros(columns))
    if min(rows, columns) > DIRECT_LIMIT:
        raise InvalidInput(
            f"{owner}: X has shape {(rows, columns)}, and the smaller side must be at most "
            f"{DIRECT_LIMIT}; reduce X first, say make_pipeline(LSI(500), {owner}())."
        )
    if columns <= rows:
        return Coordinates(X, lambda weights: weights), means
    # All that the method looks at lies in the row space: with X = P S V', its coordinates
    # are P S, and a direction u of theirs is V u = X' P S^-1 u among the features.
    squares, left = psd_basis(X.cogram(), RANK_TOLERANCE)
    # About their mean, n rows have n - 1 directions; far from zero, rounding shows one more.
    squares, left = squares[: rows - center], left[:, : rows - center]
    if squares.size == 0:
        raise InvalidInput(f"{owner}: all rows of X are equal; there is no direction to find.")
    lengths = np.sqrt(squares)
    wide = X

    def to_features(weights: Array) -> Array:
        return wide.cross((left / lengths) @ weights)

    return Coordinates(as_operator(left * lengths), to_features), means
