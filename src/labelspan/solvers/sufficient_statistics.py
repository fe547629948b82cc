"""Sufficient statistics of features and labels: one pass, exact, mergeable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, qr

from .._typing import Array
from ..operators import Operator

__all__ = ["Statistics"]

# Labels with a smaller fraction of nonzeros are summed entry by entry.
_MOSTLY_ZERO = 0.1
# Number of rows of a batch that are made dense at a time.
_PART = 4096
# Squared Cholesky pivots above this, in columns of equal length, are not rounding.
_SAFE = 1e-10


@dataclass(frozen=True)
class Statistics:
    """Means and centred products of X and a label block B, in float64.

    Products are stored about the means and shifted when two parts are joined (Chan,
    Golub and LeVeque 1983): sums of squares about zero would lose the digits of data
    far from it. With ``exact`` the R factor of the rows (TSQR) is stored instead of products:
    it can distinguish columns that differ by less than the square root of the rounding.

    Attributes
    ----------
    n : int
    x_mean, b_mean : arrays of shape (d,) and (s,)
    xx, xb, bb : arrays of shape (d, d), (d, s) and (s, s)
        If products between labels are not stored, ``bb`` is its diagonal, of shape (s,).
    factor : array of shape (q, d + s) or None
        If exact: a few rows with the same products as all rows; the products are then empty.

    See Also
    --------
    Problem : What is solved with their rows.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Statistics
    >>> X, B = np.arange(8.0).reshape(4, 2), np.ones((4, 1))
    >>> parts = [Statistics.of(as_operator(X[rows]), B[rows]) for rows in ([0, 1], [2, 3])]
    >>> parts[0].join(parts[1]).x_mean
    array([3., 4.])
    """

    n: int
    x_mean: Array
    b_mean: Array
    xx: Array
    xb: Array
    bb: Array
    factor: Array | None = None

    @classmethod
    def of(
        cls, X: Operator, block: Array, *, products: bool = True, exact: bool = False
    ) -> Statistics:
        """Compute the statistics of one batch.

        Without ``products`` between labels, thousands of labels need little memory, and
        products with rare ones little time. ``exact`` stores an R factor.
        """
        if exact:
            parts = [slice(start, start + _PART) for start in range(0, X.shape[0], _PART)]
            found = [cls._of_rows(X.wide_rows(part), block[part]) for part in parts]
            total = found[0]
            for more in found[1:]:
                total = total.join(more)
            return total
        n, b_mean = X.shape[0], block.mean(axis=0)
        rare = np.count_nonzero(block) < _MOSTLY_ZERO * block.size
        centred, x_mean = X.centered()
        if rare and not products:
            # With centred rows, the means of the labels cancel.
            squares = np.square(block).sum(axis=0) - n * np.square(b_mean)
            return cls(n, x_mean, b_mean, centred.gram(), centred.cross(block), squares)
        shifted = block - b_mean
        gram, cross = centred.moments(shifted)
        inner = shifted.T @ shifted if products else np.square(shifted).sum(axis=0)
        return cls(n, x_mean, b_mean, gram, cross, inner)

    @classmethod
    def _of_rows(cls, X: Array, block: Array) -> Statistics:
        rows = np.concatenate([X, block], axis=1)
        mean, d = rows.mean(axis=0), X.shape[1]
        none = np.zeros((0, 0))
        factor = _shortened(rows - mean)
        return cls(len(rows), mean[:d], mean[d:], none, none, none, factor)

    def features(self) -> Statistics:
        """Return the part that does not depend on labels."""
        none = np.zeros((self.xx.shape[0], 0))
        return Statistics(self.n, self.x_mean, np.zeros(0), self.xx, none, np.zeros(0))

    def join(self, other: Statistics) -> Statistics:
        """Join the statistics of both parts, in either order."""
        n = self.n + other.n
        share = self.n * other.n / n
        x_gap, b_gap = other.x_mean - self.x_mean, other.b_mean - self.b_mean
        # A step from one mean towards the other keeps a constant column constant;
        # a weighted sum would round and make it vary.
        x_mean, b_mean = self.x_mean + (other.n / n) * x_gap, self.b_mean + (other.n / n) * b_gap
        if self.factor is not None and other.factor is not None:
            step = np.sqrt(share) * np.concatenate([x_gap, b_gap])[None]
            factor = _shortened(np.concatenate([self.factor, other.factor, step]))
            return Statistics(n, x_mean, b_mean, self.xx, self.xb, self.bb, factor)
        between = np.square(b_gap) if self.bb.ndim == 1 else np.outer(b_gap, b_gap)
        return Statistics(
            n,
            x_mean,
            b_mean,
            self.xx + other.xx + np.outer(share * x_gap, x_gap),
            self.xb + other.xb + np.outer(share * x_gap, b_gap),
            self.bb + other.bb + share * between,
        )

    def rows(self, *, center: bool) -> tuple[Array, Array, float]:
        """Return a few rows of X and B with the same products, about the means or about zero.

        The third value is the squared length, in columns of equal length, below which directions
        were lost.
        """
        if self.factor is not None:
            rows, lost = self.factor, 0.0
        else:
            rows, lost = _rows_of(np.block([[self.xx, self.xb], [self.xb.T, self.bb]]))
        d, means = self.x_mean.size, np.concatenate([self.x_mean, self.b_mean])
        if center:
            # A constant column leaves only rounding, which must not become a direction.
            squares = np.square(rows).sum(axis=0)
            rows = rows * (squares > 1e-26 * self.n * np.square(means))
        else:
            rows = np.concatenate([rows, np.sqrt(self.n) * means[None]])
        return rows[:, :d], rows[:, d:], lost

    def with_labels(self, slopes: Array, x_mean: Array, b_mean: Array) -> Statistics:
        """Return the statistics of X with labels that are fitted, ``(X - x_mean) slopes + b_mean``.

        For statistics without labels.
        """
        labels = b_mean + (self.x_mean - x_mean) @ slopes
        if self.factor is not None:
            factor = np.concatenate([self.factor, self.factor @ slopes], axis=1)
            return Statistics(self.n, self.x_mean, labels, self.xx, self.xb, self.bb, factor)
        cross = self.xx @ slopes
        return Statistics(self.n, self.x_mean, labels, self.xx, cross, slopes.T @ cross)


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
    values, axes = np.linalg.eigh((unit + unit.T) / 2)
    lost = 4 * len(unit) * float(np.finfo(np.float64).eps) * max(float(values[-1]), 0.0)
    keep = values > lost
    return (np.sqrt(values[keep]) * axes[:, keep]).T * lengths, lost
