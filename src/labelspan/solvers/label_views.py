"""What a growing space sees of rows and labels: by images of its directions, or by passes.

Both give the same numbers. Images ``X P`` have a row per row of X, and serve data in memory. For
rows in files or on other machines, ``X'L`` is taken once, and everything else from ``X'(X P)``,
one pass over the rows for each block.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import (
    cast,
    column_norms,
    concatenate,
    divide_columns,
    host,
    inner,
    inner_all,
    like,
    plus,
    times,
)
from .krylov_space import SMOOTH_WIDTH, KrylovSpace, NormalSpace
from .small_dense import few_leading

__all__ = ["ByImages", "ByPasses", "LabelViews"]

# The start block holds this share of the labels' energy, and all of them where they are few.
_LABEL_ENERGY = 0.96
_FEW_LABELS = 32


class LabelViews(Protocol):
    """Products of rows and labels that a space for both needs."""

    def opened(self, count: int, rng: np.random.Generator) -> tuple[KrylovSpace, Array]:
        """Start a space from the labels' leading directions; return it and the columns' squares."""
        ...

    def random_rows(self, width: int, rng: np.random.Generator) -> Array:
        """Return random combinations of the rows of X."""
        ...

    def seen(self, space: KrylovSpace) -> Array:
        """Return ``P'X'L`` for the newest block of a space."""
        ...

    def crossed(self, mixing: Array) -> Array | None:
        """Return ``X'L mixing`` for a space without images, and None for one that has them."""
        ...

    def residual(self, slopes: Array, mixing: Array) -> Array:
        """Return ``X'(L mixing - X slopes)``."""
        ...

    def mapped(self, space: KrylovSpace, block: Array) -> tuple[Array, Array]:
        """Return the squared lengths of ``X block``, and ``P'X'X block``."""
        ...


class ByImages:
    """Views by the images ``X P`` that the space keeps.

    Parameters
    ----------
    X : Operator
    labels : array of shape (n, k)
        Placed.
    """

    def __init__(self, X: Operator, labels: Array) -> None:
        self._X, self._labels = X, labels

    def opened(self, count: int, rng: np.random.Generator) -> tuple[KrylovSpace, Array]:
        X, labels = self._X, self._labels
        found = _leading_labels(labels, count)
        wanted = times(labels, found.axes) if found.mixes else like(found.axes, labels)
        random = X.random_block(X.shape[0], found.extra, rng)
        parts = [divide_columns(block, column_norms(block)) for block in (wanted, random)]
        first = X.rmatmat(concatenate(parts, axis=1))
        # Squared lengths of the columns, estimated from the random part.
        random = cast(first[:, -found.extra :], np.float64)
        squares = X.shape[0] * host((random**2).mean(axis=1))
        return KrylovSpace(X, first, labels), squares

    def random_rows(self, width: int, rng: np.random.Generator) -> Array:
        return self._X.rmatmat(self._X.random_block(self._X.shape[0], width, rng))

    def seen(self, space: KrylovSpace) -> Array:
        return space.seen[-1]

    def crossed(self, mixing: Array) -> Array | None:
        return None

    def residual(self, slopes: Array, mixing: Array) -> Array:
        left = plus(times(self._labels, mixing), self._X.matmat(slopes), -1.0)
        return self._X.rmatmat(left)

    def mapped(self, space: KrylovSpace, block: Array) -> tuple[Array, Array]:
        image = self._X.matmat(block)
        return np.square(column_norms(image)), _inner_all(space.image, image)


class ByPasses:
    """Views by ``X'L``, which is kept, and by ``X'(X P)``.

    Parameters
    ----------
    X : Operator
    labels : array of shape (n, k)
        Placed.
    """

    def __init__(self, X: Operator, labels: Array) -> None:
        self._X, self._labels = X, labels
        self.cross: Array = np.zeros((0, 0))

    def opened(self, count: int, rng: np.random.Generator) -> tuple[KrylovSpace, Array]:
        X, labels = self._X, self._labels
        found = _leading_labels(labels, count)
        self.cross = X.rmatmat(labels)
        mixing = found.axes if found.mixes else inner(labels, like(found.axes, labels))
        alive = np.flatnonzero(found.energy > 0)
        lengths = found.energy[alive] ** (0.5 if found.mixes else 1.0)
        wanted = times(self.cross, mixing[:, alive] / lengths)
        random = self.random_rows(found.extra, rng)
        parts = [wanted, divide_columns(random, column_norms(random))]
        space = NormalSpace(X, concatenate(parts, axis=1))
        return space, X.column_squares()

    def random_rows(self, width: int, rng: np.random.Generator) -> Array:
        return self._X.normal(self._X.random_block(self._X.shape[1], width, rng))

    def seen(self, space: KrylovSpace) -> Array:
        return inner(space.basis[-1], self.cross)

    def crossed(self, mixing: Array) -> Array | None:
        return times(self.cross, mixing)

    def residual(self, slopes: Array, mixing: Array) -> Array:
        left: Array = times(self.cross, mixing) - self._X.normal(slopes)
        return left

    def mapped(self, space: KrylovSpace, block: Array) -> tuple[Array, Array]:
        normal = self._X.normal(block)
        squares = np.diag(inner(block, normal))
        return np.maximum(squares, 0.0), _inner_all(space.basis, normal)


class _Leading(NamedTuple):
    """Directions that hold most of the labels' energy, and how many random ones go with them.

    ``axes`` are combinations of the labels where these ``mixes``, else of the rows.
    """

    axes: Array
    energy: Array
    mixes: bool
    extra: int


def _leading_labels(labels: Array, count: int) -> _Leading:
    """Return the leading directions of the labels.

    A rotation of the labels changes nothing in the objective, so the directions that hold
    most of their energy may stand for all of them, and the regression inside the space finds
    the rest. Fewer would stall short of the objective; all of them would cost more than as
    many deeper blocks.
    """
    most = min(*labels.shape, max(count, 2 * _FEW_LABELS))
    flipped = labels.shape[0] < labels.shape[1]
    side = labels.T if flipped else labels
    square = inner(side, side)
    energy, axes = few_leading(square, most)
    share = np.cumsum(energy) / max(float(np.trace(square)), np.finfo(float).tiny)
    few = min(most, max(int(np.searchsorted(share, _LABEL_ENERGY)) + 1, _FEW_LABELS))
    axes, energy = axes[:, :few], energy[:few]
    if flipped:
        # Directions without energy get no length.
        axes = axes * (energy > 0)
    extra = max(4, count // 10, count // 3 - few)
    extra += -(few + extra) % SMOOTH_WIDTH
    return _Leading(axes, energy, not flipped, extra)


def _inner_all(parts: list[Array], block: Array) -> Array:
    return np.concatenate(inner_all(parts, block))
