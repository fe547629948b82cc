"""Sufficient statistics of features and labels: one pass, exact, mergeable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators import Operator

__all__ = ["Statistics"]


@dataclass(frozen=True)
class Statistics:
    """Means and centred products of X and a label block B, in float64.

    Products are kept about the means and shifted when two parts are joined (Chan, Golub
    and LeVeque 1983): sums of squares about zero would lose the digits of data far from
    it.

    Attributes
    ----------
    n : int
    x_mean, b_mean : arrays of shape (d,) and (s,)
    xx, xb, bb : arrays of shape (d, d), (d, s) and (s, s)

    See Also
    --------
    solve_statistics : Solve from them.

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

    @classmethod
    def of(cls, X: Operator, block: Array) -> Statistics:
        """Compute the statistics of one batch."""
        b_mean = block.mean(axis=0)
        shifted = block - b_mean
        x_mean, gram, cross = X.centered_moments(shifted)
        return cls(X.shape[0], x_mean, b_mean, gram, cross, shifted.T @ shifted)

    def join(self, other: Statistics) -> Statistics:
        """Join the statistics of both parts, in either order."""
        n = self.n + other.n
        share = self.n * other.n / n
        x_gap, b_gap = other.x_mean - self.x_mean, other.b_mean - self.b_mean
        return Statistics(
            n,
            # A step from one mean towards the other: a constant column stays where it is,
            # where a weighted sum would round and make it vary.
            self.x_mean + (other.n / n) * x_gap,
            self.b_mean + (other.n / n) * b_gap,
            _sum(np.outer(share * x_gap, x_gap), self.xx, other.xx),
            _sum(np.outer(share * x_gap, b_gap), self.xb, other.xb),
            _sum(np.outer(share * b_gap, b_gap), self.bb, other.bb),
        )

    def about(self, *, center: bool) -> tuple[Array, Array, Array]:
        """``X'X``, ``X'B`` and ``B'B``, about the means or about zero."""
        if center:
            # A constant label leaves nothing but rounding, which must not pass for a direction.
            alive = np.diag(self.bb) > 1e-26 * self.n * self.b_mean**2
            return self.xx, self.xb * alive, self.bb * np.outer(alive, alive)
        x, b = self.x_mean, self.b_mean
        return (
            self.xx + self.n * np.outer(x, x),
            self.xb + self.n * np.outer(x, b),
            self.bb + self.n * np.outer(b, b),
        )


def _sum(total: Array, *others: Array) -> Array:
    for other in others:
        total += other
    return total
