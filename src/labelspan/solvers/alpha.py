"""Choose the regularization strength by leave-one-out error, in closed form.

With ``X = U diag(s)^1/2 V'`` the ridge fit of Y is ``U diag(s / (s + alpha)) U'Y`` for every
alpha: one decomposition serves a whole grid. The error on row i of the model that was fitted
without row i is the residual of row i divided by ``1 - h_i``, where the leverage ``h_i`` is
the diagonal of the matrix that maps Y to the fit. A mean that is subtracted from X and Y is an
unpenalised column, and adds its own leverage (1 / n without weights).

The decomposition may be that of the data, of a kernel, or of the image ``X P`` of an orthonormal
basis P: the leverages are then those of the problem in that space. Such a basis must not have
been built from the labels. A Krylov space that starts at ``X'Y`` depends on the labels of the row
that is left out; the error inside it is far too small, and so is the penalty that it chooses (by
factors of 35, 34 and 400 on three collections of texts). If both n and d are large,
the space is therefore built from the labels of a part of the rows, and the error is measured on the
other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ..errors import UncertainPenalty, warn_caller
from ..operators import Operator, RowBlocks, Scaled, as_operator
from ..operators.array_backend import (
    concatenate,
    host,
    inner,
    inner_all,
    like,
    plus,
    subtract_outer,
    unit_columns,
)
from ..operators.digits import rank_tolerance
from ..operators.operator import Composite
from .block_krylov import KrylovSpace
from .exact import basis_of_products, left_basis
from .problem import decomposes, rounding, squared_units
from .small_dense import psd_basis

__all__ = [
    "AlphaCurve",
    "HeldOutOptions",
    "choose_alpha",
    "generalized_cross_validation",
    "held_out",
    "leave_one_out",
    "warn_at_end",
]

# What is left of a row, 1 - h_i, is never divided by less.
_LEAST_LEFT = 1e-100
# The smallest 1 - h_i without a penalty that is not only rounding.
_SMALLEST = 1e-12
# The smallest penalty that is tried, relative to the square of the shortest column and to the
# median eigenvalue. Ten columns of bytes do not hide ten flags; on texts and other ordinary data
# the choice is that of a grid that starts higher.
_LOWEST, _LOWEST_EIGENVALUE = 1e-6, 1e-4
# Number of evaluations after the grid, each at the minimum of a parabola through three points.
_REFINEMENTS = 4
# Errors that differ by less than this fraction of themselves, or of the error of the means of the
# labels, down to the smallest penalty, are equal.
_FLAT, _PERFECT = 1e-3, 1e-6
# Grid points per factor of ten.
_PER_DECADE = 3
_FEWEST = 25
# Number of random mixtures that represent a larger number of labels.
_MIXED = 16
# Number of rows over which errors are averaged, if a model of all rows is available.
_SAMPLE = 5_000
# Up to this many labels, all their products take no longer than some passes over them,
# and much less on many threads.
_GRAM_LABELS = 128
# By how much a penalty is divided to check, in other units, that no smaller one is better.
_SMALLER = 30.0
# Columns with squares below this fraction of the median are much shorter.
_MUCH_SHORTER = 100.0
# Up to this short side, data that is wide or tall by less than this factor is decomposed if its
# columns are in very different units. With as many columns as rows the penalty of held-out rows
# had an error up to 100 times the smallest.
_LARGEST_SQUARE, _NEARLY_SQUARE = 2048, 0.4
# Number of power iterations for the leading directions of the labels, which need not be exact.
_POWERS = 3


@dataclass(frozen=True)
class HeldOutOptions:
    """Thresholds of the choice on held-out rows.

    Parameters
    ----------
    part : float
        Fraction of the rows that is held out.
    fewest_rows, most : int
        Minimum, but at most a fifth of the rows, and maximum number of held-out rows. With a fifth
        of 1,000 to 3,000 rows the leave-one-out error is .05% to .3% above the smallest, with two
        splits of 15%, which take almost twice as long, .03% to .1%. With 30% it was 5% on data with
        dominant rows.
    each_label : int
        Up to this many labels each is used itself.
    width : int
        Number of combinations that represent more labels.
    fewest, blocks : int
        Minimum and maximum number of blocks of the Krylov space.
    change, gain : float
        The space is large enough if one more block changes the penalty by less than the fraction
        ``change`` and leaves ``gain`` of the error. With 12 blocks and .98, penalties for dense
        data with nearly as many columns as rows were 3 to 30 times too small, and their errors 6
        to 36% above the smallest.
    """

    part: float = 0.15
    fewest_rows: int = 1_000
    most: int = 5_000
    each_label: int = 16
    width: int = 8
    fewest: int = 3
    blocks: int = 40
    change: float = 0.1
    gain: float = 0.99


_HELD_OUT = HeldOutOptions()


@dataclass(frozen=True)
class AlphaCurve:
    """Prediction error for each penalty of a grid, and the best penalty.

    Attributes
    ----------
    alphas : array of shape (g,)
        Rising.
    errors : array of shape (g,)
        Sum over labels of the mean squared prediction error.
    alpha : float
        The minimiser, refined between grid points.
    error : float
        The error there.
    settled : bool
        False if an iteration stopped before the choice was certain.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : Try alpha together with other parameters.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelspan import OPLS
    >>> X, Y = make_multilabel_classification(100, n_features=20, random_state=0)
    >>> model = OPLS().fit(X, Y)
    >>> curve = model.alpha_curve_
    >>> bool(curve.error <= curve.errors.min()), curve.alpha == model.alpha_
    (True, True)
    """

    alphas: Array
    errors: Array
    alpha: float
    error: float
    settled: bool = True

    @property
    def at_end(self) -> str | None:
        """Which end of the grid was chosen, "lower" or "upper"; None if neither."""
        if self.alphas.size < 2 or self.alphas[0] < self.alpha < self.alphas[-1]:
            return None
        return "lower" if self.alpha <= self.alphas[0] else "upper"


def warn_at_end(curve: AlphaCurve, owner: str) -> None:
    """Warn if the error decreases up to an end of the grid, or with each iteration."""
    chosen = f"{owner}: alpha='auto' chose"
    if not curve.settled:
        warn_caller(
            f"{chosen} {curve.alpha:.0e}, but the error on held-out rows still decreases with each "
            "iteration; scale the columns of X, or set alpha.",
            UncertainPenalty,
        )
    elif curve.at_end == "lower":
        warn_caller(
            f"{chosen} the smallest value that it tries, {curve.alpha:.0e}: the error decreases "
            "down to there; give more rows, or set alpha.",
            UncertainPenalty,
        )
    elif curve.at_end == "upper":
        warn_caller(
            f"{chosen} the largest value that it tries, {curve.alpha:.0e}: with every smaller one "
            "the features do not predict the labels of other rows better than the means of the "
            "labels do; check the features, give more rows, or set alpha.",
            UncertainPenalty,
        )


def alpha_grid(squares: Array, columns: Array) -> Array:
    """Return an increasing grid of penalties for the spectrum of the data.

    From a fraction of the square of the shortest column, and of the smaller eigenvalues of
    ``X'X``, ``squares``, where the penalty has almost no effect, to ten times the largest, where
    almost nothing is fitted: at least 25 points, three per factor of ten. ``columns`` are the
    squared lengths of the columns of X, zero for those that are rounding. Data multiplied by c has
    a grid multiplied by c squared.
    """
    if squares.size == 0:
        return np.ones(1)
    shortest = columns[columns > 0].min(initial=np.inf)
    lowest = min(_LOWEST * shortest, _LOWEST_EIGENVALUE * np.median(squares))
    highest = max(1e3 * squares.mean(), 10 * squares[0])
    count = max(_FEWEST, int(np.ceil(_PER_DECADE * np.log10(highest / lowest))) + 1)
    return np.geomspace(lowest, highest, count)


def choose_alpha(X: Operator, labels: Operator, *, intercept: bool) -> AlphaCurve:
    """Choose the penalty of the ridge regression of labels on features.

    Uses the exact leave-one-out error if one decomposition of the data is the cheapest way to a
    fit, which then uses it as well, and up to 2,048 columns in very different units of about as
    many rows; the error is averaged over 5,000 rows if there are more and
    the columns are few, and over 16 random mixtures of the labels if there are more. Otherwise
    it uses the error on held-out rows (:func:`held_out`). Random numbers are the same in
    every call. X is centred if the fit centres; with an ``intercept`` the regression centres both.
    """
    if not (decomposes(X) or _needs_all_rows(X, intercept)):
        return held_out(X, labels, intercept=intercept)
    rows, k = labels.shape
    if k > 2 * _MIXED:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(k, _MIXED))
        block = host(labels.matmat(signs / np.sqrt(_MIXED)))
    else:
        block = host(labels.formed())
    centered = _centred(X, intercept)
    basis = left_basis(centered, block)
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
        host(sample.matmat(sample.place(basis.to_left))),
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

    That is so if there are about as many columns as rows: then they fit all rows, or nearly. In
    about equal units, penalties at which they do are far from the best. In very different
    units, the columns in large units fit them at every penalty at which the others count.
    """
    shorter, longer = sorted(X.shape)
    if X.short_side > _LARGEST_SQUARE or shorter < _NEARLY_SQUARE * longer:
        return False
    return bool(np.ptp(squared_units(_centred(X, intercept))) > 0)


def held_out(
    X: Operator,
    labels: Operator,
    *,
    intercept: bool,
    seed: int = 0,
    options: HeldOutOptions = _HELD_OUT,
) -> AlphaCurve:
    """Choose the penalty by the error on held-out rows, in a Krylov space of the other rows.

    Many labels are represented by a few leading directions, and random combinations of the rest,
    whose expected error is that of the rest. The space starts from ``X_t'Y_t R`` for the training
    rows and grows by ``X_t'X_t`` until one more block hardly changes the choice, because a space
    that is too small regularises by itself. On collections of texts 4 to 5 blocks were enough.
    Products with the training rows are those with all rows minus those with the held-out ones: a
    block costs one product with X and one with its transpose, or one pass over rows in files.
    """
    rng = np.random.default_rng(seed)
    rows = X.shape[0]
    few = min(rows // 5, options.fewest_rows)
    count = min(max(int(options.part * rows), few, 1), options.most)
    mixing = _combinations(labels, rng, options)
    X = X.arranged()[0]
    targets = labels.matmat(mixing)
    if X.device is None:
        targets = host(targets)
    cross = X.cross(targets)
    means = labels.column_means() @ mixing if intercept else np.zeros(mixing.shape[1])
    index = np.sort(rng.permutation(rows)[:count])
    split = _HeldOutRows(
        X, index, host(as_operator(targets).rows(index).formed()), cross, means, intercept
    )
    return _settled(split, options)


def _in_memory(X: Operator, index: Array) -> Operator:
    """Return some rows, in memory if X is read in passes."""
    if not isinstance(X, RowBlocks):
        return X.rows(index)
    taken = as_operator(X.take(index))
    return taken if X.offset is None else taken.shifted(X.offset)


def _settled(split: _HeldOutRows, options: HeldOutOptions) -> AlphaCurve:
    """Grow the space until one more block does not change the chosen penalty."""
    before = error = np.inf
    checked = split.equal_units
    for blocks in range(1, options.blocks + 1):
        curve = _minimise(split.errors, alpha_grid(split.squares, split.columns))
        settled = (
            blocks >= options.fewest
            and abs(np.log(curve.alpha / before)) < options.change
            and curve.error > options.gain * error
        )
        if (settled and checked) or blocks == options.blocks:
            break
        penalty = curve.alpha
        if settled:
            # In a space grown for one penalty, smaller ones seem worse than they are. That the
            # features predict nothing is said only after the space was grown for the smallest.
            upper = curve.at_end == "upper"
            penalty = float(split.columns.min()) if upper else curve.alpha / _SMALLER
        if not split.grow(penalty):
            break
        checked = split.equal_units or settled
        before, error = curve.alpha, curve.error
    return replace(curve, settled=settled or blocks < options.blocks)


def _combinations(labels: Operator, rng: np.random.Generator, options: HeldOutOptions) -> Array:
    """Return R (k x 16 or fewer) such that ``|E R|^2`` estimates ``|E|^2`` for errors E.

    The estimate is unbiased for any orthonormal axes, and has less variance for dominant ones.
    """
    k = labels.shape[1]
    if k <= options.each_label:
        return np.eye(k)
    leading = options.width // 2
    axes = rng.standard_normal((k, leading))
    square = labels.gram() if k <= _GRAM_LABELS else None
    for _ in range(_POWERS):
        product = host(labels.normal(axes)) if square is None else square @ axes
        axes = np.linalg.qr(product)[0]
    random = rng.standard_normal((k, options.width - leading)) / np.sqrt(options.width - leading)
    return np.concatenate([axes, random - axes @ (axes.T @ random)], axis=1)


class _HeldOutRows:
    """Held-out rows, and a growing space in which the labels of the others are regressed on X.

    ``cross`` and ``means`` are ``X'Y`` and the means of the labels Y of all rows, ``truth`` those
    of the held-out rows. Columns have unit length: with ``X = Z D`` the regression is
    ``(Z'Z + alpha D^-2) C = Z'Y``, and each block of the space is the residual for the current
    penalty, divided by the diagonal of the matrix.
    """

    def __init__(  # noqa: PLR0917
        self, X: Operator, index: Array, truth: Array, cross: Array, means: Array, intercept: bool
    ) -> None:
        held = _in_memory(X, index)
        rows, few = X.shape[0], held.shape[0]
        left = rows - few
        cross, offset = cross - held.cross(truth), np.zeros(X.shape[1])
        if intercept:
            offset = (rows * X.column_means() - few * held.column_means()) / left
            means = (rows * means - truth.sum(axis=0)) / left
            cross = cross - left * np.outer(offset, means)
        self._truth = truth - means
        # Squared lengths of the columns of unequal units; their mean if units are about equal.
        self.columns = squares = squared_units(X.shifted(offset))
        self.equal_units = bool(np.ptp(squares) == 0)
        units = 1 / np.sqrt(squares)
        self._rows = Scaled(held.shifted(offset), columns=units)
        train: Operator = _OtherRows(X, held, offset, units)
        if not X.one_pass:
            # Rows of zeros instead of a copy of the other rows.
            mask = np.ones(rows)
            mask[index] = 0.0
            train = Scaled(X.shifted(offset), rows=mask, columns=units)
        self._cross = train.place(units[:, None] * cross)
        # One number in equal units.
        self._squares: Array | float = float(squares[0])
        if not self.equal_units:
            self._squares = like(squares[:, None], self._cross)
        # Columns of usual length and longer ones count alike in the first block if the penalty is
        # theirs; much shorter ones need a block of their own.
        shortest, usual = float(squares.min()), float(np.median(squares))
        penalties = [usual, shortest] if shortest < usual / _MUCH_SHORTER else [usual]
        start = concatenate([self._divided(1 * self._cross, one) for one in penalties], axis=1)
        self._space = KrylovSpace(train, start, passes=X.one_pass)
        self._image = np.zeros((few, 0))
        self._seen = np.zeros((0, truth.shape[1]))
        self._penalty = np.zeros((0, 0))
        self._observe()

    def _divided(self, block: Array, alpha: float) -> Array:
        """Divide by the diagonal of ``Z'Z + alpha D^-2``."""
        return unit_columns(block / (1 + alpha / self._squares))

    def grow(self, alpha: float) -> bool:
        """Add the residual for a penalty to the space; return False if it adds no direction."""
        space = self._space
        if not space.basis:
            return False
        inside = self._solution(np.array([alpha]))[0]
        along = space.combine(inside)
        normal = space.combine_image(inside)
        if not space.passes:
            normal = space.X.rmatmat(normal)
        residual = self._cross - normal - alpha / self._squares * along
        if not space.add(self._divided(residual, alpha)):
            return False
        self._observe()
        return True

    def _observe(self) -> None:
        """Decompose the problem in the space: ``P'Z'Z P + a P'D^-2 P`` is diagonal for every a."""
        space = self._space
        if space.basis and self._image.shape[1] < space.size:
            newest = space.basis[-1]
            self._image = np.hstack([self._image, host(self._rows.matmat(newest))])
            self._seen = np.concatenate([self._seen, inner(newest, self._cross)])
            old = self._penalty.shape[0]
            if self.equal_units:
                side = np.eye(space.size)[:, old:] / self._squares
            else:
                side = np.concatenate(inner_all(space.basis, newest / self._squares))
            corner = (side[old:] + side[old:].T) / 2
            self._penalty = np.block([[self._penalty, side[:old]], [side[:old].T, corner]])
        gram = (space.gram + space.gram.T) / 2
        # The penalty at which both parts count alike keeps the digits of both.
        self._middle = float(np.trace(gram) / (np.trace(self._penalty) or 1.0)) or 1.0
        tolerance = rank_tolerance(space.X.dtype, gram.shape)
        values, axes = psd_basis(gram + self._middle * self._penalty, tolerance)
        roots = axes / np.sqrt(values)
        self._shares, turned = np.linalg.eigh(self._middle * (roots.T @ self._penalty @ roots))
        self._shares = np.clip(self._shares, 0.0, 1.0)
        self._axes = roots @ turned
        inside = self._axes.T @ self._seen
        self._inside = inside
        # Eigenvalues of X'X in the space, decreasing.
        smallest = rounding(np.float64) * max(1, values.size)
        self.squares = self._middle * (1 - self._shares) / np.maximum(self._shares, smallest)
        self.squares = np.maximum(self.squares, smallest * self._middle)
        image = self._image @ self._axes
        # Two small arrays give the errors of all penalties.
        self._both = (image.T @ image) * (inside @ inside.T)
        self._match = ((image.T @ self._truth) * inside).sum(axis=1)

    def _shrunk(self, alphas: Array) -> Array:
        return np.asarray(1.0 / (1.0 + (alphas[:, None] / self._middle - 1.0) * self._shares))

    def _solution(self, alphas: Array) -> Array:
        """Return the coefficients in the space for each penalty."""
        return np.stack(
            [self._axes @ (row[:, None] * self._inside) for row in self._shrunk(alphas)]
        )

    def errors(self, alphas: Array) -> Array:
        """Return the mean squared error on the held-out rows for each penalty."""
        shrunk = self._shrunk(alphas)
        fitted = ((shrunk @ self._both) * shrunk).sum(axis=1) - 2 * shrunk @ self._match
        return np.asarray((np.square(self._truth).sum() + fitted) / len(self._truth))


class _OtherRows(Composite):
    """All rows but a few, minus their mean, in other units; supports only products in one pass."""

    def __init__(self, X: Operator, held: Operator, offset: Array, units: Array) -> None:
        super().__init__((X.shape[0] - held.shape[0], X.shape[1]), [X])
        self._all, self._held = X, held
        self._offset, self._units = self.place(offset[:, None]), self.place(units[:, None])

    def normal(self, block: Array) -> Array:
        block = self._units * self.place(block)
        out = plus(self._all.normal(block), self._held.normal(block), -1.0)
        along = self.shape[0] * (self._offset.T @ block)
        product: Array = self._units * subtract_outer(out, self._offset, along)
        return product

    def _matmat(self, block: Array) -> Array:
        raise NotImplementedError

    def _rmatmat(self, block: Array) -> Array:
        raise NotImplementedError


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
    return _minimise(errors, np.asarray(alphas, float))


def generalized_cross_validation(
    gram: Array, cross: Array, label_square: float, *, rows: int, intercept: bool = True
) -> AlphaCurve:
    """Return the generalised cross-validation error, from sufficient statistics only.

    ``n RSS / (n - df)^2``: leave-one-out with every leverage replaced by their mean, for streams
    whose rows are not stored (Golub, Heath and Wahba, Technometrics 21(2), 1979). Computed from
    ``X'X`` and ``X'Y``, about the means if there is an intercept, and the trace of ``Y'Y``.
    """
    basis = basis_of_products(gram, cross)
    rank = min(basis.rank, rows - intercept)
    values, explained = basis.values[:rank], np.square(basis.coordinates[:rank]).sum(axis=1)
    beyond = max(label_square - float(explained.sum()), 0.0)
    free = rows - rank - intercept

    def errors(alphas: Array) -> Array:
        kept = alphas[:, None] / (values + alphas[:, None])
        left_over = free + kept.sum(axis=1)
        return np.asarray(rows * (beyond + np.square(kept) @ explained) / left_over**2)

    return _minimise(errors, alpha_grid(values, np.square(basis.lengths)))


def _minimise(errors_of: Callable[[Array], Array], grid: Array) -> AlphaCurve:
    """Evaluate a grid, then refine its minimum by parabolas in the logarithm."""
    errors = errors_of(grid)
    # In a tie, the strongest penalty.
    best = int(np.flatnonzero(errors <= errors.min() * (1 + 1e-12))[-1])
    worse = np.flatnonzero(errors > errors.min() + max(_FLAT * errors.min(), _PERFECT * errors[-1]))
    flat = int(worse[0]) if worse.size else 0
    if best < flat - 1:
        # If nothing changes down to the smallest penalty, the strongest one of these is safer.
        return AlphaCurve(grid, errors, float(grid[flat - 1]), float(errors[flat - 1]))
    if best in (0, grid.size - 1):
        return AlphaCurve(grid, errors, float(grid[best]), float(errors[best]))
    points = [(float(np.log(grid[i])), float(errors[i])) for i in (best - 1, best, best + 1)]
    for _ in range(_REFINEMENTS):
        step = _vertex(points)
        if step is None:
            break
        points = _bracket([*points, (step, float(errors_of(np.exp([step]))[0]))])
    place, value = min(points, key=lambda point: point[1])
    return AlphaCurve(grid, errors, float(np.exp(place)), value)


def _vertex(points: list[tuple[float, float]]) -> float | None:
    """Return the minimum of the parabola through three points; None if it is not a new point."""
    (a, fa), (b, fb), (c, fc) = points
    down, up = (b - a) * (fb - fc), (b - c) * (fb - fa)
    if down == up:
        return None
    place = b - ((b - a) * down - (b - c) * up) / (2 * (down - up))
    if not a < place < c or min(abs(place - point) for point in (a, b, c)) < 1e-4:
        return None
    return place


def _bracket(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Select the lowest point and its two neighbours."""
    ordered = sorted(points)
    best = min(range(len(ordered)), key=lambda number: ordered[number][1])
    best = min(max(best, 1), len(ordered) - 2)
    return ordered[best - 1 : best + 2]
