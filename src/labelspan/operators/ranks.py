"""What counts as rounding: the rank of data, of labels, and of products, by one rule.

Columns are first scaled to unit length, so that units do not matter. A direction is then null if it
is shorter, relative to the longest, than :func:`rank_tolerance` says.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from .._typing import Array
from .array_backend import host, inner, width_of
from .machine import single_thread

__all__ = ["block_rank", "orthonormal_columns", "rank_tolerance", "unit_spectrum", "whitening"]

# Products of columns have enough digits for directions above this fraction of the longest.
_CLEAR = 1e-6
# Up to this size, one BLAS thread is as fast as several.
_SMALL = 768


def rank_tolerance(dtype: Any, shape: tuple[int, int]) -> float:
    """Return the singular value, relative to the largest, below which a direction is null.

    The same for the eigenvalues of a square array of products, whose rounding is that of the
    array. To be used after columns are scaled to unit length. Rounding of the entries of X
    then has singular values of about eps, whatever the number of rows: 8 eps
    times the root of the smaller side. Sums over rows and columns, in float64, add 8
    eps times the root of both sides. Data in float32 is assumed to have been computed in float32:
    its rank is that at float32 precision.
    """
    rows, columns = max(1, shape[0]), max(1, shape[1])
    entries = float(np.finfo(dtype).eps) * np.sqrt(min(rows, columns))
    return float(8 * max(entries, float(np.finfo(np.float64).eps) * np.sqrt(rows * columns)))


def block_rank(block: Array) -> int:
    """Return the number of independent columns of a thin block, whatever their scales."""
    found = _independent(block)
    return _singular(block, found).shape[1] if found.close else found.columns.size


def orthonormal_columns(block: Array) -> Array:
    """Return an orthonormal basis of the columns of a thin block, whatever their scales."""
    found = _independent(block)
    if found.close:
        return _singular(block, found)
    if not found.columns.size:
        return np.zeros((block.shape[0], 0))
    rows = np.divide(host(block)[:, found.columns], found.lengths[found.columns], order="C")
    return np.asarray(blas.dtrsm(1.0, found.lower, rows.T, lower=1, overwrite_b=1).T)


class _Independent(NamedTuple):
    """Independent columns, and the Cholesky factor ``lower`` of their products at unit length.

    ``close`` is true if another column is nearly, but not exactly, a combination of them.
    """

    columns: Array
    lower: Array
    lengths: Array
    close: bool


def _independent(block: Array) -> _Independent:
    """Choose independent columns by a pivoted Cholesky factor of their products.

    Products keep half of the digits of a short direction: whether the other columns are
    combinations of those chosen is computed from the columns themselves.
    """
    square = inner(block, block, dtype=np.float64)
    lengths = np.sqrt(square.diagonal())
    alive = np.flatnonzero(lengths > 0)
    unit = square[np.ix_(alive, alive)] / np.outer(lengths[alive], lengths[alive])
    if not alive.size:
        return _Independent(alive, unit, np.ones(lengths.size), close=False)
    lower, order, rank, _ = lapack.dpstrf(unit, tol=_CLEAR, lower=1)
    order, lower = order[: alive.size] - 1, np.tril(lower[:rank, :rank])
    index, others = alive[order[:rank]], alive[order[rank:]]
    close = False
    if others.size:
        rows = host(block).astype(np.float64, copy=False)
        rest, seen = rows[:, others] / lengths[others], unit[order[:rank]][:, order[rank:]]
        for _ in range(2):
            mixing = np.zeros((lengths.size, others.size))
            mixing[index] = lapack.dpotrs(lower, seen, lower=1)[0] / lengths[index][:, None]
            rest = rest - rows @ mixing
            seen = (rest.T @ rows).T[index] / lengths[index][:, None]
        tolerance = rank_tolerance(width_of(block), block.shape)
        close = bool(np.linalg.norm(rest) > tolerance * np.sqrt(alive.size))
    return _Independent(index, lower, np.where(lengths > 0, lengths, 1.0), close)


def _singular(block: Array, found: _Independent) -> Array:
    """Return the left singular vectors of the columns at unit length, without null directions."""
    rows = host(block).astype(np.float64, copy=False) / found.lengths
    left, singular, _ = np.linalg.svd(rows, full_matrices=False)
    return left[:, singular > rank_tolerance(width_of(block), rows.shape) * singular[0]]


def unit_spectrum(
    square: Array, lengths: Array, tolerance: float | None = None
) -> tuple[Array, Array]:
    """Return the spectrum of ``diag(lengths)^-1 square diag(lengths)^-1`` without null directions.

    For a positive semi-definite array of products of columns with these lengths: eigenvalues,
    rising, above the ``tolerance`` of an array of this size in float64, unless another one is
    given, and eigenvectors, whose entries for columns without a length are zeros.
    """
    units = np.where(lengths > 0, lengths, 1.0)
    scaled = square / units / units[:, None]
    with single_thread() if len(scaled) <= _SMALL else nullcontext():
        values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    tolerance = rank_tolerance(np.float64, square.shape) if tolerance is None else tolerance
    keep = values > tolerance * values.max(initial=0.0)
    return values[keep], vectors[:, keep] * (lengths > 0)[:, None]


def whitening(square: Array, tolerance: float | None = None) -> Array:
    """Return T with ``T'square T = I`` on the range of a positive semi-definite array."""
    lengths = np.sqrt(np.maximum(square.diagonal(), 0.0))
    values, axes = unit_spectrum(square, lengths, tolerance)
    if not values.size:
        return np.zeros((lengths.size, 1))
    return np.asarray(axes / np.sqrt(values) / np.where(lengths > 0, lengths, 1.0)[:, None])
