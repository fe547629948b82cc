"""Every rule about digits: what counts as rounding, as a constant column, as a mean too large.

A column is *rounding* if it varies by less than its own values can show; it gets no weight. Ranks,
of data, of labels and of products, are decided after columns are scaled to unit length, so that
units do not matter: a direction is null if it is shorter, relative to the longest, than
:func:`rank_tolerance` says.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from .._typing import Array
from .array_backend import column_norms, host, inner, like, subtract_row, width_of
from .machine import map_threads, row_parts, single_thread

__all__ = [
    "above_rounding",
    "added_offset",
    "after_cancelling",
    "block_rank",
    "centered_columns",
    "clear_of_means",
    "constant_columns",
    "dead_dimensions",
    "digits_to_lose",
    "far_from_zero",
    "nearly_full",
    "orthonormal_columns",
    "rank_tolerance",
    "rounding_columns",
    "sampled_rows",
    "unit_spectrum",
    "whitening",
]

# What sums in float64 leave of numbers that cancel, relative to them.
_ROUNDED = 8 * float(np.finfo(np.float64).eps)
# A column of labels is constant if its distance from its mean is below this fraction of its length.
_CONSTANT = 1e-13
# Products of columns have enough digits for directions above this fraction of the longest.
_CLEAR = 1e-6
# Up to this size, one BLAS thread is as fast as several.
_SMALL = 768
# Dimensions of a model that vary by less than this fraction of the largest are dead.
_FAINT = 1e-6
# Number of rows sampled to see whether a column may be constant.
_FIRST_ROWS = 64
# Number of rows that are looked at together.
_AT_ONCE = 4096


# --- means that are large compared with the deviations -----------------------------------


def digits_to_lose(dtype: Any) -> float:
    """Return the largest allowed ratio of the squared mean to the centred sum of squares.

    Up to this ratio, products that are corrected after the multiplication keep enough of the 16
    digits of float64, or of the 7 of float32.
    """
    return 1e3 if np.dtype(dtype) == np.float64 else 1e1


def clear_of_means(squares: Array, about_means: Array, dtype: Any) -> bool:
    """Return whether columns with these sums of squares keep their digits if centred afterwards."""
    return bool((squares <= digits_to_lose(dtype) * about_means).all())


def far_from_zero(offset: Array, sums: Array, squares: Array, rows: int, dtype: Any) -> Array:
    """Return which columns lose digits if products are corrected by an offset.

    ``sums`` and ``squares`` are those of the entries of each column.
    """
    about = squares + offset * (rows * offset - 2 * sums)
    return np.asarray(rows * np.square(offset) > digits_to_lose(dtype) * about)


def nearly_full(counts: Any, rows: int, dtype: Any) -> Any:
    """Return which columns have so few zeros that they may be far from zero.

    The zeros of a column are a distance of the mean away from it, so that
    ``n mean^2 <= |column - mean|^2 n / zeros``: most columns have too many zeros.
    """
    return (rows - counts) * digits_to_lose(dtype) < rows


def added_offset(before: Array | None, offset: Array) -> Array:
    """Add an offset to the one that is there; where both cancel, what is left is rounding."""
    if before is None:
        return offset
    both = before + offset
    return np.where(np.abs(both) > 8 * _ROUNDED * np.abs(before), both, 0.0)


# --- columns that are constant, or nothing but rounding ----------------------------------


def constant_columns(rows: Array) -> Array:
    """Return which columns of an array are constant.

    Few columns are constant in a sample of rows, and only those are checked in full.
    """
    constant = (rows[sampled_rows(len(rows))] == rows[:1]).all(axis=0)
    if constant.any():
        index = np.flatnonzero(constant)
        constant[index] = (rows[:, index] == rows[:1, index]).all(axis=0)
    return np.asarray(constant)


def above_rounding(squares: Array, rows: int, offset: Array | None) -> Array:
    """Return squared lengths of columns, zero where the offset leaves rounding only."""
    if offset is None:
        return squares
    return np.where(squares > rows * np.square(_ROUNDED * offset), squares, 0.0)


def after_cancelling(squares: Array, correction: Array) -> Array:
    """Return squared lengths about the means, zero where the correction leaves rounding only."""
    left = squares + correction
    return np.where(left > _ROUNDED * squares, left, 0.0)


def rounding_columns(
    deviations: Array, means: Array, dtype: Any, *, one_unit: bool = False, margin: float = 1.0
) -> Array:
    """Return which columns are nothing but rounding, by their deviations from their means.

    A deviation is rounding below eps of the mean (8 eps of float64, as sums leave), or if its
    square underflows in the type of the data. For columns of ``one_unit``, such as the dimensions
    of a model's vectors, also below 1e-6 of the largest one. ``margin`` multiplies the limit, for
    deviations that are estimated.
    """
    limits = np.finfo(dtype)
    share = max(float(limits.eps), _ROUNDED)
    limit = np.maximum(share * np.abs(means), np.sqrt(float(limits.tiny)))
    if one_unit:
        limit = np.maximum(limit, _FAINT * deviations.max(initial=0.0))
    rounding = deviations <= margin * limit
    if rounding.all():
        # Where all numbers are too small to be squared, that is what is wrong with them.
        rounding = deviations <= margin * share * np.abs(means)
    return np.asarray(rounding)


def dead_dimensions(vectors: Array) -> Array:
    """Return which dimensions of a model's vectors, the columns of an array, are rounding."""
    means = vectors.mean(axis=0, dtype=np.float64)
    # In blocks: no copy of all vectors is made.
    squares = np.zeros(means.size)
    for start in range(0, len(vectors), _AT_ONCE):
        squares += np.square(vectors[start : start + _AT_ONCE] - means).sum(axis=0)
    deviations = np.sqrt(squares / max(1, len(vectors)))
    return rounding_columns(deviations, means, vectors.dtype, one_unit=True)


def sampled_rows(rows: int) -> Array:
    """Return the numbers of a few rows, which show most columns that vary."""
    return np.arange(0, rows, max(1, rows // _FIRST_ROWS))


def centered_columns(block: Any, means: Any, unknown: Array | None = None) -> Array:
    """Return ``block - means``, with 0 in unknown entries and in columns that are constant.

    A constant column would leave rounding errors, which could be mistaken for a direction.
    """
    length = column_norms(block)
    about = subtract_row(block, like(means, block))
    if unknown is not None:
        about = np.where(unknown, 0.0, about)
    constant = column_norms(about) <= _CONSTANT * length
    if constant.any():
        about[:, constant] = 0.0
    return about


# --- ranks --------------------------------------------------------------------------------


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
    values, lengths = host(block), found.lengths[found.columns]
    out = np.empty((len(values), found.columns.size))

    def solve(part: slice) -> None:
        rows = np.divide(values[part][:, found.columns], lengths, order="C")
        out[part] = blas.dtrsm(1.0, found.lower, rows.T, lower=1, overwrite_b=1).T

    map_threads(solve, row_parts(len(out), 2 * out.shape[1]), blas=True)
    return out


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
