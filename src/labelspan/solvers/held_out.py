"""Choose the regularization strength by the error on held-out rows, where n and d are large.

A Krylov space that starts at ``X'Y`` depends on the labels of the row that is left out; the error
inside it is far too small, and so is the penalty that it chooses (by factors of 35, 34 and 400 on
three collections of texts). The space is therefore built from the labels of a part of the rows, and
the error is measured on the other rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
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
from .alpha_curve import AlphaCurve, alpha_grid, minimise
from .block_krylov import KrylovSpace
from .limits import rounding, squared_units
from .small_dense import psd_basis
from .svd import leading_combinations

__all__ = ["HeldOutOptions", "held_out"]

# By how much a penalty is divided to check, in other units, that no smaller one is better.
_SMALLER = 30.0
# Columns with squares below this fraction of the median are much shorter.
_MUCH_SHORTER = 100.0


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
    more_splits : int
        Number of further splits before it is said that nothing is predicted.
    change, gain : float
        The space is large enough if one more block changes the penalty by less than the fraction
        ``change`` and the error by less than ``1 - gain``. With 12 blocks and .98, penalties for
        dense data with nearly as many columns as rows were 3 to 30 times too small, and their
        errors 6 to 36% above the smallest.
    """

    part: float = 0.15
    fewest_rows: int = 1_000
    most: int = 5_000
    each_label: int = 16
    width: int = 8
    fewest: int = 3
    blocks: int = 40
    more_splits: int = 3
    change: float = 0.1
    gain: float = 0.99


_HELD_OUT = HeldOutOptions()


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

    def split() -> _HeldOutRows:
        index = np.sort(rng.permutation(rows)[:count])
        truth = host(as_operator(targets).rows(index).to_block())
        return _HeldOutRows(X, index, truth, cross, means, intercept)

    first = split()
    curve = _settled(first, options)
    if curve.at_end != "upper":
        return curve
    # That nothing is predicted may be chance: few rows of one label hide a twentieth of it.
    splits = [first, *(split() for _ in range(options.more_splits))]
    settled = [_settled(one, options).settled for one in splits[1:]]

    def errors(alphas: Array) -> Array:
        return np.asarray(sum(one.errors(alphas) for one in splits) / len(splits))

    return replace(minimise(errors, curve.alphas), settled=curve.settled and all(settled))


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
        curve = minimise(split.errors, alpha_grid(split.squares, split.columns))
        settled = (
            blocks >= options.fewest
            and abs(np.log(curve.alpha / before)) < options.change
            and options.gain < curve.error / error < 1 / options.gain
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
    axes = leading_combinations(labels, leading, rng)
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
        self._cross = train.to_device(units[:, None] * cross)
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
        self._offset, self._units = self.to_device(offset[:, None]), self.to_device(units[:, None])

    def normal(self, block: Array) -> Array:
        block = self._units * self.to_device(block)
        out = plus(self._all.normal(block), self._held.normal(block), -1.0)
        along = self.shape[0] * (self._offset.T @ block)
        product: Array = self._units * subtract_outer(out, self._offset, along)
        return product

    def _matmat(self, block: Array) -> Array:
        raise NotImplementedError

    def _rmatmat(self, block: Array) -> Array:
        raise NotImplementedError
