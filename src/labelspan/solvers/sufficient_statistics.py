"""Sufficient statistics of features and labels: one pass, exact, mergeable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators import Dense, Operator

__all__ = ["Statistics"]

# Labels with a smaller fraction of entries that are not zero are summed entry by entry.
_MOSTLY_ZERO = 0.1


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
        Where products between labels are not kept, ``bb`` is its diagonal, of shape (s,).

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
    def of(cls, X: Operator, block: Array, *, products: bool = True) -> Statistics:
        """Compute the statistics of one batch.

        Without ``products`` between labels, thousands of labels take little memory, and the
        products with rare ones little time.
        """
        n, b_mean = X.shape[0], block.mean(axis=0)
        rare = np.count_nonzero(block) < _MOSTLY_ZERO * block.size
        if rare and not products and isinstance(X, Dense):
            x_mean, gram, _ = X.centered_moments(np.empty((n, 0)))
            # Centred rows take the means of labels away by themselves.
            centred = X.shifted(x_mean)
            assert isinstance(centred, Dense)
            squares = np.square(block).sum(axis=0) - n * np.square(b_mean)
            return cls(n, x_mean, b_mean, gram, centred.cross_rare(block), squares)
        shifted = block - b_mean
        x_mean, gram, cross = X.centered_moments(shifted)
        inner = shifted.T @ shifted if products else np.square(shifted).sum(axis=0)
        return cls(n, x_mean, b_mean, gram, cross, inner)

    def features(self) -> Statistics:
        """Return the part that does not depend on labels."""
        none = np.zeros((self.xx.shape[0], 0))
        return Statistics(self.n, self.x_mean, np.zeros(0), self.xx, none, np.zeros(0))

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
            _sum(
                share * (np.square(b_gap) if self.bb.ndim == 1 else np.outer(b_gap, b_gap)),
                self.bb,
                other.bb,
            ),
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
