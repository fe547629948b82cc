"""Sufficient statistics of features and labels: one pass, exact, mergeable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack, qr

from .._typing import Array
from ..operators import Operator
from ..operators.digits import (
    above_rounding,
    constant_columns,
    rank_tolerance,
    rounding_columns,
    unit_spectrum,
)

__all__ = ["Statistics"]

# Number of rows of a batch that are made dense at a time.
_PART = 4096
# Squared Cholesky pivots above this, in columns of equal length, are not rounding.
_SAFE = 1e-10
# Singular values within this factor of the rank tolerance may be rounding, or may not.
_UNSURE = 30.0


@dataclass(frozen=True)
class Statistics:
    """Means and centred products of X and a label block B, in float64.

    Products are stored about the means and shifted when two parts are joined (Chan,
    Golub and LeVeque 1983): sums of squares about zero would lose the digits of data
    far from it. Of such data the means are rounded as well, and the rounding, common to all
    rows of a batch, would become a direction: it is stored as ``rest``. With ``exact`` the R
    factor of the rows (TSQR) is stored instead of products: it can distinguish columns that
    differ by less than the square root of the rounding.

    Attributes
    ----------
    n : int
    x_mean, b_mean : arrays of shape (d,) and (s,)
    xx, xb, bb : arrays of shape (d, d), (d, s) and (s, s)
    factor : array of shape (q, d + s) or None
        If exact: a few rows with the same products as all rows; the products are then empty.
    rest : array of shape (d + s,) or None
        What the rounding of ``x_mean`` and ``b_mean`` lost; None for nothing.
    """

    n: int
    x_mean: Array
    b_mean: Array
    xx: Array
    xb: Array
    bb: Array
    factor: Array | None = None
    rest: Array | None = None

    @classmethod
    def of(cls, X: Operator, block: Array, *, exact: bool = False) -> Statistics:
        """Compute the statistics of one batch; ``exact`` stores an R factor."""
        if exact:
            parts = [slice(start, start + _PART) for start in range(0, X.shape[0], _PART)]
            found = [cls._of_rows(X.wide_rows(part), block[part]) for part in parts]
            total = found[0]
            for more in found[1:]:
                total = total.join(more)
            return total
        n = X.shape[0]
        centred, x_mean = X.centered()
        # The means of the centred rows, in one more narrow pass.
        x_rest = centred.cross(np.ones((n, 1)))[:, 0] / n
        shifted, b_mean, b_rest = _centred(block)
        gram, cross = centred.moments(shifted)
        gram = gram - np.outer(n * x_rest, x_rest)
        rest = np.concatenate([x_rest, b_rest])
        return cls(n, x_mean, b_mean, gram, cross, shifted.T @ shifted, rest=rest)

    @classmethod
    def _of_rows(cls, X: Array, block: Array) -> Statistics:
        centred, mean, rest = _centred(np.concatenate([X, block], axis=1))
        d, none = X.shape[1], np.zeros((0, 0))
        factor = _shortened(centred)
        return cls(len(X), mean[:d], mean[d:], none, none, none, factor, rest)

    def join(self, other: Statistics) -> Statistics:
        """Join the statistics of both parts, in either order."""
        n, d = self.n + other.n, self.x_mean.size
        share = self.n * other.n / n
        mean, mine = self._means()
        others, theirs = other._means()
        # Nearby means are subtracted without rounding, and a step from one towards the other
        # keeps a constant column constant; a weighted sum would round and make it vary.
        gap = (others - mean) + (theirs - mine)
        step = (other.n / n) * gap
        joined = mean + step
        rest = (mean - joined) + step + mine
        if self.factor is not None and other.factor is not None:
            factor = _shortened(
                np.concatenate([self.factor, other.factor, np.sqrt(share) * gap[None]])
            )
            return replace(
                self, n=n, x_mean=joined[:d], b_mean=joined[d:], factor=factor, rest=rest
            )
        x_gap, b_gap = gap[:d], gap[d:]
        return Statistics(
            n,
            joined[:d],
            joined[d:],
            self.xx + other.xx + np.outer(share * x_gap, x_gap),
            self.xb + other.xb + np.outer(share * x_gap, b_gap),
            self.bb + other.bb + np.outer(share * b_gap, b_gap),
            rest=rest,
        )

    def _means(self) -> tuple[Array, Array]:
        """Return the means of X and B, and what their rounding lost."""
        means = np.concatenate([self.x_mean, self.b_mean])
        return means, np.zeros_like(means) if self.rest is None else self.rest

    def rows(self, *, center: bool, dtype: Any = np.float64, one_unit: bool = False) -> FewRows:
        """Return a few rows of X and B with the same products, about the means or about zero.

        Directions of X that are null in ``dtype``, that of the data, and columns that are rounding
        are removed, as in a fit; ``one_unit`` as in :func:`rounding_columns`.
        """
        d, means = self.x_mean.size, self._means()[0]
        lost = 0.0
        if self.factor is not None:
            rows = self.factor
        else:
            rows, lost = _rows_of(np.block([[self.xx, self.xb], [self.xb.T, self.bb]]))
            if center:
                # A constant column leaves only rounding, which must not become a direction.
                squares = np.square(rows).sum(axis=0)
                rows = rows * (above_rounding(squares, self.n, means) > 0)
        if not center:
            rows = np.concatenate([rows, np.sqrt(self.n) * means[None]])
        X, block, unsure = rows[:, :d], rows[:, d:], False
        deviations = np.linalg.norm(X, axis=0) / np.sqrt(self.n)
        X = X * ~rounding_columns(deviations, center * means[:d], dtype, one_unit=one_unit)
        tolerance = rank_tolerance(dtype, (self.n, d))
        # Products keep directions that are rounding of float32.
        if self.factor is not None or dtype != np.float64:
            X, unsure = _of_full_rank(X, tolerance)
        return FewRows(X, block, lost, unsure)

    def with_labels(self, slopes: Array, x_mean: Array, b_mean: Array) -> Statistics:
        """Return the statistics of X with labels that are fitted, ``(X - x_mean) slopes + b_mean``.

        For statistics without labels.
        """
        labels = b_mean + (self.x_mean - x_mean) @ slopes
        rest = np.concatenate([self._means()[1], np.zeros(labels.size)])
        if self.factor is not None:
            factor = np.concatenate([self.factor, self.factor @ slopes], axis=1)
            return replace(self, b_mean=labels, factor=factor, rest=rest)
        cross = self.xx @ slopes
        return replace(self, b_mean=labels, xb=cross, bb=slopes.T @ cross, rest=rest)


class FewRows(NamedTuple):
    """A few rows of X and B with the products of all rows.

    ``lost`` is the squared length, in columns of equal length, below which directions were lost
    in products. ``unsure`` says that the rank of an R factor, or of float32, is not certain.
    """

    X: Array
    block: Array
    lost: float
    unsure: bool


def _centred(rows: Array) -> tuple[Array, Array, Array]:
    """Return rows minus their means, the means, and what the rounding of these lost."""
    means = rows.mean(axis=0)
    constant = constant_columns(rows)
    means[constant] = rows[0, constant]
    centred = rows - means
    rest = centred.mean(axis=0)
    return centred - rest, means, rest


def _of_full_rank(rows: Array, tolerance: float) -> tuple[Array, bool]:
    """Remove null directions, in columns of unit length; return also whether some are uncertain."""
    lengths = np.linalg.norm(rows, axis=0)
    unit = rows / np.where(lengths > 0, lengths, 1.0)
    gram = unit.T @ unit
    lower, failed = lapack.dpotrf(gram, lower=1)
    # An estimate of the condition number is much cheaper than singular values.
    if not failed:
        condition = lapack.dpocon(lower, np.abs(gram).sum(axis=0).max(initial=0.0), uplo="L")[0]
        if condition > max(_SAFE, (_UNSURE * tolerance) ** 2):
            return rows, False
    left, singular, right = np.linalg.svd(unit, full_matrices=False)
    limit = tolerance * singular.max(initial=0.0)
    keep = singular > limit
    near = (singular > limit / _UNSURE) & (singular < _UNSURE * limit)
    if keep.all():
        return rows, bool(near.any())
    return (left[:, keep] * singular[keep]) @ right[keep] * lengths, bool(near.any())


def _shortened(rows: Array) -> Array:
    """Return at most twice as many rows as columns, with the same products."""
    if len(rows) <= 2 * rows.shape[1]:
        return rows
    return np.asarray(qr(rows, mode="r", check_finite=False)[0][: rows.shape[1]])


def _rows_of(products: Array) -> tuple[Array, float]:
    """Return rows with given products, and the squared length below which they have none."""
    # A zero column must stay zero; eigenvectors would leave rounding in it.
    lengths = np.sqrt(np.maximum(np.diag(products), 0.0))
    divisors = np.where(lengths > 0, lengths, 1.0)
    unit = products / divisors / divisors[:, None]
    lower, failed = lapack.dpotrf(unit, lower=1, clean=1)
    if not failed and np.square(np.diag(lower)).min() > _SAFE:
        return lower.T * lengths, 0.0
    values, axes = unit_spectrum(products, lengths)
    lost = rank_tolerance(np.float64, unit.shape) * float(values.max(initial=0.0))
    return (np.sqrt(values) * axes).T * lengths, lost
