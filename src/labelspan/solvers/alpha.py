"""Choose the regularization strength by leave-one-out error, in closed form.

With ``X = U diag(s)^1/2 V'`` the ridge fit of Y is ``U diag(s / (s + alpha)) U'Y`` for every
alpha: one decomposition serves a whole grid. The error on row i of the model that was fitted
without row i is the residual of row i divided by ``1 - h_i``, where the leverage ``h_i`` is
the diagonal of the matrix that maps Y to the fit. A mean that is subtracted from X and Y is an
unpenalised column, and adds its own leverage (1 / n without weights).

The decomposition may be that of the data, of a kernel, or of the image ``X P`` of an orthonormal
basis P that was not built from the labels: the leverages are then those of the problem in that
space. If both n and d are large, :mod:`.held_out` measures the error on some of the rows.
"""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import host
from .alpha_curve import AlphaCurve, alpha_grid, minimise, warn_at_end
from .decomposition import Decomposition, basis_of_products, left_basis
from .held_out import held_out
from .limits import decomposes, squared_units

__all__ = [
    "AlphaCurve",
    "choose_alpha",
    "held_out",
    "leave_one_out",
    "leave_one_out_of_sample",
    "warn_at_end",
]

# What is left of a row, 1 - h_i, is never divided by less.
_LEAST_LEFT = 1e-100
# The smallest 1 - h_i without a penalty that is not only rounding.
_SMALLEST = 1e-12
# More labels are represented by random mixtures, at least so many, and as many as one penalty takes
# this number of multiplications. With 16 mixtures of 34 labels of 100 rows, the error was 3% above
# the smallest.
_MIXED, _PRODUCTS = 16, 1 << 22
# Number of rows over which errors are averaged, if a model of all rows is available.
_SAMPLE = 5_000
# Up to this short side, data with at most this many rows per column is decomposed if its columns
# are in very different units. With as many columns as rows the penalty of held-out rows had an
# error up to 100 times the smallest, with three times as many columns three times.
_LARGEST_SHORT, _ROWS_PER_COLUMN = 2048, 2.5


def choose_alpha(
    X: Operator,
    labels: Operator,
    *,
    intercept: bool,
    decomposition: Decomposition | None = None,
) -> AlphaCurve:
    """Choose the penalty of the ridge regression of labels on features.

    Uses the exact leave-one-out error if one decomposition of the data is the cheapest way to a
    fit, which then uses it as well, and up to 2,048 rows or columns in very different units of
    not many more rows than columns; the error is averaged over 5,000 rows if there are more and
    the columns are few, and over random mixtures of the labels if there are many. Otherwise
    it uses the error on held-out rows (:func:`held_out`). Random numbers are the same in
    every call. X is centred if the fit centres; with an ``intercept`` the regression centres both.
    The ``decomposition`` of X is used if one is needed.
    """
    if not (decomposes(X) or _needs_all_rows(X, intercept)):
        return held_out(X, labels, intercept=intercept)
    rows, k = labels.shape
    mixing = _mixing(k, min(rows, _SAMPLE) * X.short_side)
    block = host(labels.to_block() if mixing is None else labels.matmat(mixing))
    centered = _centred(X, intercept)
    if decomposition is None or decomposition.X is not centered:
        decomposition = Decomposition(centered)
    basis = left_basis(decomposition, block)
    if basis is None:
        return held_out(X, labels, intercept=intercept)
    if basis.left is not None:
        return leave_one_out(
            basis.values, basis.left, centered.column_squares(), block, intercept=intercept
        )
    assert basis.to_left is not None
    index = np.sort(np.random.default_rng(0).permutation(rows)[:_SAMPLE])
    sample = centered if index.size == rows else centered.rows(index)
    return leave_one_out(
        basis.values,
        host(sample.matmat(sample.to_device(basis.to_left))),
        centered.column_squares(),
        block[index],
        intercept=intercept,
        rows=rows,
        coordinates=basis.coordinates,
        means=block.mean(axis=0),
    )


def _centred(X: Operator, intercept: bool) -> Operator:
    """Return X minus its means, unless there is no intercept or they are only rounding."""
    if not intercept:
        return X
    size = np.sqrt(X.sum_of_squares() / max(1, X.shape[0]))
    if np.linalg.norm(host(X.column_means())) <= 1e-10 * size:
        return X
    return X.centered()[0]


def _needs_all_rows(X: Operator, intercept: bool) -> bool:
    """Return whether the best penalty may depend on whether some of the rows are held out.

    That is so unless there are many more rows than columns: these fit all rows, or nearly. In
    about equal units, penalties at which they do are far from the best. In very different
    units, the columns in large units fit them at every penalty at which the others count.
    """
    rows, columns = X.shape
    if X.short_side > _LARGEST_SHORT or rows > _ROWS_PER_COLUMN * columns:
        return False
    return bool(np.ptp(squared_units(_centred(X, intercept))) > 0)


def leave_one_out(
    squares: Array,
    left: Array,
    columns: Array,
    labels: Array,
    *,
    intercept: bool = True,
    rows: int | None = None,
    coordinates: Array | None = None,
    means: Array | None = None,
    alphas: Array | None = None,
) -> AlphaCurve:
    """Return the leave-one-out error of ridge regression for a grid of penalties.

    ``sum_j mean_i ((Y - fit)_ij / (1 - h_i))^2``. Equal to the error of n models, each fitted
    without one row, intercept included. Costs ``n s k`` for each penalty.

    ``squares`` are the nonzero squared singular values of X, decreasing, centred if there is an
    intercept, ``left`` its left singular vectors, ``columns`` the squared lengths of its columns,
    and ``labels`` are not centred. If these are a sample of ``rows`` rows on which the error is
    estimated, ``coordinates``, ``U'Y``, and ``means`` of the labels are those of all rows.
    ``alphas`` rise; None takes :func:`alpha_grid`.
    """
    total = left.shape[0] if rows is None else rows
    if coordinates is None:
        # The left vectors of centred rows are orthogonal to the mean, which need not be removed.
        coordinates = left.T @ labels
    if not intercept:
        means = np.zeros(labels.shape[1])
    elif means is None:
        means = labels.mean(axis=0)
    if intercept and squares.size >= total:
        # Centred rows span one direction less; in float32 its rounding may look like one.
        squares, left, coordinates = (
            squares[: total - 1],
            left[:, : total - 1],
            coordinates[: total - 1],
        )
    leverages = np.square(left)
    # The part outside the column space of the features. If they span all rows it is rounding, which
    # in float32 would be larger than the residual of a small penalty.
    residual = labels - means - left @ coordinates
    free = 1.0 - intercept / total - leverages.sum(axis=1)
    if squares.size + intercept >= total:
        residual, free = np.zeros_like(residual), np.zeros_like(free)
    # A row that the others do not determine is predicted by the limit of small penalties.
    determined = free > _SMALLEST
    residual, free = residual * determined[:, None], free * determined

    def errors(alphas: Array) -> Array:
        found = np.empty(alphas.size)
        for number, alpha in enumerate(alphas):
            kept = alpha / (squares + alpha)
            left_over = np.maximum(free + leverages @ kept, _LEAST_LEFT)
            gap = residual + left @ (kept[:, None] * coordinates)
            found[number] = np.square(gap / left_over[:, None]).sum(axis=1).mean()
        return found

    if alphas is None:
        alphas = alpha_grid(squares, columns)
    return minimise(errors, np.asarray(alphas, float))


def leave_one_out_of_sample(
    gram: Array,
    cross: Array,
    sample: Array,
    labels: Array,
    means: Array,
    *,
    rows: int,
    intercept: bool = True,
) -> AlphaCurve:
    """Return the leave-one-out error, averaged over a sample, from sufficient statistics.

    ``gram`` and ``cross`` are ``X'X`` and ``X'Y`` of all rows, about the means if there is an
    intercept; ``sample`` are some rows of X, about the same means, with their ``labels``, which are
    not centred; ``means`` are those of all labels.
    """
    basis = basis_of_products(gram, cross)
    assert basis.to_left is not None
    rank = min(basis.rank, rows - intercept)
    coordinates, mixing = basis.coordinates[:rank], _mixing(labels.shape[1], len(sample) * rank)
    if mixing is not None:
        coordinates, labels, means = coordinates @ mixing, labels @ mixing, means @ mixing
    return leave_one_out(
        basis.values[:rank],
        sample @ basis.to_left[:, :rank],
        np.square(basis.lengths),
        labels,
        intercept=intercept,
        rows=rows,
        coordinates=coordinates,
        means=means,
    )


def _mixing(labels: int, products: int) -> Array | None:
    """Return random signs that mix many labels; None for few, by their ``products`` each."""
    width = max(_MIXED, _PRODUCTS // max(1, products))
    if labels <= max(2 * _MIXED, width):
        return None
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(labels, width))
    return np.asarray(signs / np.sqrt(width))
