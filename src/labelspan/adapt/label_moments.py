"""Means and centred products of vectors and labels: one pass, exact, mergeable.

Everything that a linear map from labels needs, for any number of rows. Unlike
:class:`~labelspan.solvers.Statistics` it keeps no products between labels, so that thousands of
labels take little memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators import Dense, Operator

__all__ = ["LabelMoments"]

# Labels with a smaller fraction of entries that are not zero are summed entry by entry.
_MOSTLY_ZERO = 0.1


@dataclass(frozen=True)
class LabelMoments:
    """Number of rows, means, and products about the means, in float64.

    Attributes
    ----------
    n : int
    x_mean, y_mean : arrays of shape (d,) and (k,)
    gram : array of shape (d, d)
        ``X'X`` of centred X.
    cross : array of shape (d, k)
        ``X'Y`` of centred X and Y.
    y_square : float
        Sum of squares of centred Y.
    """

    n: int
    x_mean: Array
    y_mean: Array
    gram: Array
    cross: Array
    y_square: float

    @classmethod
    def of(cls, X: Operator, labels: Array) -> LabelMoments:
        """Compute the moments of one batch."""
        y_mean = labels.mean(axis=0)
        count = np.count_nonzero(labels)
        if isinstance(X, Dense) and count < _MOSTLY_ZERO * labels.size:
            x_mean, gram, _ = X.centered_moments(np.empty((X.shape[0], 0)))
            # Centred rows take the means of labels away by themselves.
            centred = X.shifted(x_mean)
            assert isinstance(centred, Dense)
            cross = centred.cross_rare(labels)
            square = float(np.square(labels).sum() - X.shape[0] * np.square(y_mean).sum())
            return cls(X.shape[0], x_mean, y_mean, gram, cross, square)
        shifted = labels - y_mean
        x_mean, gram, cross = X.centered_moments(shifted)
        return cls(X.shape[0], x_mean, y_mean, gram, cross, float(np.square(shifted).sum()))

    def join(self, other: LabelMoments | None) -> LabelMoments:
        """Join the moments of two parts (Chan, Golub and LeVeque 1983)."""
        if other is None:
            return self
        n = self.n + other.n
        share = self.n * other.n / n
        x_gap, y_gap = other.x_mean - self.x_mean, other.y_mean - self.y_mean
        return LabelMoments(
            n,
            self.x_mean + (other.n / n) * x_gap,
            self.y_mean + (other.n / n) * y_gap,
            self.gram + other.gram + np.outer(share * x_gap, x_gap),
            self.cross + other.cross + np.outer(share * x_gap, y_gap),
            self.y_square + other.y_square + share * float(y_gap @ y_gap),
        )

    def of_features(self) -> LabelMoments:
        """Return the part that does not depend on labels."""
        none = np.zeros((self.gram.shape[0], 0))
        return LabelMoments(self.n, self.x_mean, np.zeros(0), self.gram, none, 0.0)
