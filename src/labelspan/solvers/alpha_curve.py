"""The prediction error of a ridge regression for a grid of penalties, and the best of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..errors import UncertainPenalty, warn_caller

__all__ = ["AlphaCurve", "alpha_grid", "minimise", "warn_at_end"]

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
            f"{chosen} {curve.alpha:.0e}, but the error on held-out rows still changes with each "
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


def minimise(errors_of: Callable[[Array], Array], grid: Array) -> AlphaCurve:
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
