"""Choose two dimensions of an embedding: two components, or the two principal axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from .._params import Integer
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter
from ..estimators.base import fixed_signs
from ..metrics.metric_inputs import read_numbers
from ..solvers.small_dense import leading

__all__ = ["Components", "Plane", "plane", "read_points"]

Components = Sequence[int] | Literal["pca"] | None

# Largest ratio of variances of a white embedding, in which no standard deviation is more than
# twice another: there principal axes are arbitrary, and the order of the components means more.
_WHITE = 4.0


class Plane(NamedTuple):
    """Points in two dimensions, and the names of their axes."""

    points: Array
    axes: tuple[str, str]


def read_points(owner: str, points: Any) -> Array:
    """Check points to draw, and return them as an array with two columns."""
    array = read_numbers(points, "points", owner)
    if array.shape[1] != 2:
        raise InvalidInput(f"{owner}: points must have two columns, but has shape {array.shape}.")
    return array


def plane(owner: str, table: Array, components: Components) -> Plane:
    """Return two dimensions of a table with one row per point and one column per component.

    None takes both components if there are two, and otherwise the principal axes, or the first
    two components if the embedding is white.
    """
    count = table.shape[1]
    if count < 2:
        raise InvalidInput(
            f"{owner}: the space has one component, and a picture of it needs two; "
            "learn a space with more."
        )
    if components is None and count > 2:
        values, _ = leading(_scatter(table), count)
        components = "pca" if values[0] > _WHITE * values[-1] else (0, 1)
    elif components is None:
        components = (0, 1)
    if isinstance(components, str) and components == "pca":
        return _principal(table)
    first, second = _pair(owner, components, count)
    names = (f"component {first}", f"component {second}")
    return Plane(table[:, [first, second]], names)


def _shares(what: str, values: Array, total: float) -> tuple[str, str]:
    first, second = (f"{value / (total or 1.0):.0%} of the variance" for value in values[:2])
    return f"{what} 1 ({first})", f"{what} 2 ({second})"


def _pair(owner: str, components: Any, count: int) -> tuple[int, int]:
    pair = tuple(components) if np.ndim(components) == 1 else ()
    inside = [Integer(0).accepts(number) and number < count for number in pair]
    if len(pair) != 2 or not all(inside) or pair[0] == pair[1]:
        raise InvalidParameter(
            f"{owner}: components must be two different numbers from 0 to {count - 1}, "
            f"'pca' or None, but {components!r} was given."
        )
    return int(pair[0]), int(pair[1])


def _scatter(table: Array) -> Array:
    centred = table - table.mean(axis=0, dtype=np.float64)
    return np.asarray(centred.T @ centred)


def _principal(table: Array) -> Plane:
    values, vectors = leading(_scatter(table), table.shape[1])
    axes = vectors[:, :2] * fixed_signs(vectors[:, :2])
    points = (table - table.mean(axis=0, dtype=np.float64)) @ axes
    return Plane(points, _shares("principal axis", values, float(values.sum())))
