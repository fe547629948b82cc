"""What counts as rounding, and how far an answer may be from the right one.

One rule for every solver. Columns are brought to unit length before anything is compared,
so that units do not matter; the penalty stays in the units of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import host

__all__ = [
    "Check",
    "LazyProduct",
    "accuracy_wanted",
    "check_directions",
    "check_regression",
    "column_lengths",
    "combinations",
    "rounding",
    "sentence",
    "unsure",
]

# Random combinations of columns that a check multiplies by X.
_COMBINATIONS = 4
# Random signs from which the lengths of columns are estimated.
_SIGNS = 16
_CHECK_SEED = 20_09


def rounding(dtype: Any) -> float:
    """Return the relative size below which a number of this width is rounding."""
    return float(np.finfo(dtype).eps)


def accuracy_wanted(dtype: Any) -> float:
    """Return the relative error of the fitted labels above which a solver warns."""
    return 1e-6 if np.dtype(dtype) == np.float64 else 1e-3


def column_lengths(X: Operator, rng: np.random.Generator | None = None) -> Array:
    """Estimate the lengths of the columns from one product with random signs.

    Right to about 20%, which is enough for scaling; zero exactly where a column is zero.
    """
    if X.one_pass:
        # Known, or added up where the rows are.
        return np.asarray(np.sqrt(np.maximum(host(X.column_squares()), 0.0)))
    rng = np.random.default_rng(_CHECK_SEED) if rng is None else rng
    signs = rng.integers(0, 2, (X.shape[0], _SIGNS)) * 2.0 - 1.0
    products = host(X.rmatmat(signs / np.sqrt(_SIGNS)))
    return np.asarray(np.sqrt(np.square(products).sum(axis=1)))


@dataclass(frozen=True)
class Check:
    """A residual computed from the data, and the error that it means.

    ``residual`` is relative to the right-hand side, in columns of equal length. ``error``
    estimates the error of the fitted labels relative to the labels; None where nothing is
    known of it.
    """

    residual: float
    error: float | None = None

    @property
    def off(self) -> float:
        """How far the answer may be off, by the better of the two measures."""
        return self.residual if self.error is None else self.error


def check_regression(
    X: Operator,
    targets: Array,
    slopes: Array | LazyProduct,
    alpha: float,
    *,
    scale: Array,
    energy: Callable[[Array], float],
) -> Check:
    """Check ``(X'X + alpha I) slopes = X'targets`` by fresh products with X.

    The residual ``r = X'(T - X G) - alpha G`` is divided by the lengths of the columns of
    ``[X; sqrt(alpha) I]``. ``energy`` gives ``tr r'(X'X + alpha I)^+ r`` from the
    factorisation that was used: the square of the error of the fitted labels (and of the
    weights, by their penalty), small where that factorisation has any digits left. All targets are
    used, in random combinations: two products with at most 4 columns.
    """
    mixing = combinations(targets.shape[1])
    wanted, found = host(targets) @ mixing, _multiplied(slopes, mixing)
    if X.one_pass:
        seen, right = host(X.normal(found)), X.cross(wanted)
    else:
        products = X.cross(np.hstack([host(X.matmat(found)), wanted]))
        seen, right = np.hsplit(products, [found.shape[1]])
    gap = right - seen - alpha * found
    length = np.linalg.norm(right / scale[:, None])
    size = np.linalg.norm(gap / scale[:, None])
    residual = float(size / length) if length > 0 else float(size > 0)
    whole = np.linalg.norm(wanted)
    return Check(residual, float(np.sqrt(max(energy(gap), 0.0)) / whole) if whole > 0 else 0.0)


def check_directions(
    X: Operator,
    weights: Array,
    values: Array,
    *,
    share: float,
    slopes: Array | LazyProduct | None,
    scale: Array,
) -> float:
    """Check ``(share I + B B') X'X W = W diag(values)`` and ``W'X'X W = I`` by fresh products.

    For agreements that the features take part in, with B the slopes of the regressed labels.
    Random combinations of the directions, each divided by the root of its eigenvalue, in
    coordinates times the lengths of the columns; two products with at most 4 columns.
    """
    mixing = combinations(values.size)
    directions, roots = host(weights), np.sqrt(values)[:, None]
    mixed, right = directions @ (mixing / roots), directions @ (roots * mixing)
    seen = host(X.normal(mixed))
    # mixing' D W'X'X W D^-1 mixing, with D the roots: W'X'X W = I makes it mixing'mixing.
    square, expected = right.T @ seen, mixing.T @ mixing
    left = share * seen
    if slopes is not None:
        left = left + _multiplied(slopes, _multiplied(slopes.T, seen))
    right = right * scale[:, None]
    return max(
        float(np.linalg.norm(square - expected) / np.linalg.norm(expected)),
        float(np.linalg.norm(left * scale[:, None] - right) / np.linalg.norm(right)),
    )


@dataclass(frozen=True)
class LazyProduct:
    """``left @ right``, which would be larger than both."""

    left: Array
    right: Array

    @property
    def T(self) -> LazyProduct:
        return LazyProduct(self.right.T, self.left.T)

    def __matmul__(self, block: Array) -> Array:
        return np.asarray(self.left @ (self.right @ block))

    def __rmul__(self, number: float) -> LazyProduct:
        return LazyProduct(self.left, number * self.right)


def _multiplied(slopes: Any, block: Array) -> Array:
    return np.asarray((slopes if isinstance(slopes, LazyProduct) else host(slopes)) @ block)


def sentence(how: str, residual: float) -> str:
    """Say how it was solved and what the check gave."""
    return f"{how}; relative residual {residual:.0e}."


def unsure(off: float, residual: float) -> str:
    """Say that an answer failed its check, and what to do."""
    return (
        f"The answer may be off by {off:.0e} of itself (relative residual {residual:.0e}): columns "
        "of X depend on each other almost exactly, even in equal units; raise alpha, or leave "
        "out columns that repeat others."
    )


@lru_cache(maxsize=64)
def combinations(columns: int, most: int = _COMBINATIONS) -> Array:
    """Return the coefficients of up to ``most`` random combinations of columns, to be read only."""
    if columns <= most:
        chosen = np.eye(columns)
    else:
        rng = np.random.default_rng(_CHECK_SEED)
        chosen = rng.standard_normal((columns, most)) / np.sqrt(columns)
    chosen.setflags(write=False)
    return chosen
