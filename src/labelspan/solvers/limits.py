"""Sizes that are solved directly, and the accuracy that numbers of a type can have.

Columns are scaled to unit length before anything is compared, so that units do not matter; the
penalty stays in the units of the data.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import host

__all__ = [
    "DIRECT_LIMIT",
    "accuracy_wanted",
    "column_lengths",
    "combinations",
    "decomposes",
    "finest_tolerance",
    "rounding",
    "small_enough",
    "squared_units",
]

# Products of blocks whose width is a multiple of this are fastest.
SMOOTH_WIDTH = 4
# Rounding error of a sum of eigenvalues, in units of epsilon.
ROUNDINGS = 16
# The largest square array that a solver forms unless the user names the solver:
# 4,096 x 4,096 in float64 is 128 MiB.
DIRECT_LIMIT = 4096
# Up to this size of the smaller side, a decomposition of the data costs less than an iteration:
# for dense data, whose products cost as much as a row of a Gram matrix, and for sparse data.
_DENSE_SIDE, _SPARSE_SIDE = 1024, 400
# Data with a smaller fraction of stored entries is sparse.
_SPARSE = 0.5
# Maximum number of entries of a wide X that is made dense as a whole: 1 GiB.
_WIDE_ENTRIES = 1 << 27
# Number of random combinations of columns that a check multiplies by X.
_COMBINATIONS = 4
# Columns whose units differ by less than this factor are not scaled.
_ALIKE = 100.0
# Number of random sign vectors from which the lengths of columns are estimated.
_SIGNS = 16
_CHECK_SEED = 20_09


def decomposes(X: Operator) -> bool:
    """Return whether one decomposition of the data is the cheapest method."""
    return X.short_side <= (_SPARSE_SIDE if X.fill < _SPARSE else _DENSE_SIDE)


def small_enough(X: Operator) -> bool:
    """Return whether the data can be factorised directly: n or d is small, and X not too wide."""
    rows, columns = X.shape
    if columns == X.short_side:
        return columns <= DIRECT_LIMIT
    return rows <= DIRECT_LIMIT and rows * columns <= _WIDE_ENTRIES


def rounding(dtype: Any) -> float:
    """Return the relative size below which a number in this precision is rounding."""
    return float(np.finfo(dtype).eps)


def accuracy_wanted(dtype: Any) -> float:
    """Return the relative error of the fitted labels above which a solver warns."""
    return 1e-6 if np.dtype(dtype) == np.float64 else 1e-3


def column_lengths(X: Operator) -> Array:
    """Estimate the lengths of the columns from one product with random signs.

    Accurate to about 20%, which is enough for scaling; exactly zero for a zero column.
    """
    if X.one_pass:
        # Known, or summed where the rows are stored.
        return np.asarray(np.sqrt(np.maximum(host(X.column_squares()), 0.0)))
    signs = np.random.default_rng(_CHECK_SEED).integers(0, 2, (X.shape[0], _SIGNS)) * 2.0 - 1.0
    products = host(X.rmatmat(signs / np.sqrt(_SIGNS)))
    return np.asarray(np.sqrt(np.square(products).sum(axis=1)))


def squared_units(X: Operator) -> Array:
    """Return the squared lengths of columns that differ only in their units, not in sparsity.

    The mean square of the stored entries of each column, times their mean number; equal for all
    columns if their units differ by less than a factor of 100. Dense columns have their own
    lengths. Of texts, frequent words are long because they have many entries, and labels
    depend on them: dividing by lengths takes several times as many blocks for a choice of alpha.
    """
    squares, counts = host(X.column_squares()), np.maximum(host(X.column_counts()), 1.0)
    found = np.maximum(squares, 0.0) / counts * counts.mean()
    alive = found[found > 0]
    if not alive.size:
        return np.ones(found.size)
    if alive.max() < _ALIKE**2 * alive.min():
        return np.full(found.size, squares.mean())
    return np.asarray(np.where(found > 0, found, alive.min()))


@lru_cache(maxsize=64)
def combinations(columns: int, most: int = _COMBINATIONS) -> Array:
    """Return the coefficients of up to ``most`` random combinations of columns, read-only."""
    if columns <= most:
        chosen = np.eye(columns)
    else:
        rng = np.random.default_rng(_CHECK_SEED)
        chosen = rng.standard_normal((columns, most)) / np.sqrt(columns)
    chosen.setflags(write=False)
    return chosen


def finest_tolerance(dtype: Any) -> float:
    """Return the smallest fraction of an objective that sums in this precision can resolve."""
    return 2 * ROUNDINGS * rounding(dtype)
