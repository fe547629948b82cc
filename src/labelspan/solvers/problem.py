"""The problem that a solver takes, the solution that it returns, and its certificate.

What counts as rounding, and how far an answer may be from the right one, is one rule for every
solver. Columns are scaled to unit length before anything is compared, so that units do not matter;
the penalty stays in the units of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._typing import Array
from ..errors import Mismatch
from ..labels import Factor
from ..operators import Operator
from ..operators.array_backend import host, inner, put_rows, times

__all__ = [
    "DIRECT_LIMIT",
    "Check",
    "OfRows",
    "Problem",
    "Solution",
    "Solver",
    "accuracy_wanted",
    "check_directions",
    "check_regression",
    "column_lengths",
    "combinations",
    "decomposes",
    "eigen_residual",
    "finest_tolerance",
    "rest_of",
    "rounding",
    "sentence",
    "small_enough",
    "solve_arranged",
    "squared_units",
    "unsure",
]

# The slowest accepted decrease of the gains, and the part of its rate at which they continue.
_SLOWEST, _CONTINUED = 0.98, 2 / 3
# Rounding error of a sum of eigenvalues, in units of epsilon.
_ROUNDINGS = 16

# The largest square array that a solver forms unless the user names the solver:
# 4,096 x 4,096 in float64 is 128 MiB.
DIRECT_LIMIT = 4096
# Up to this size of the smaller side, a decomposition of the data costs less than an iteration:
# for dense data, whose products cost as much as a row of a Gram matrix, and for sparse data.
_DENSE_SIDE, _SPARSE_SIDE = 1024, 400
# Data with a smaller fraction of stored entries is sparse.
_SPARSE = 0.5
# Maximum number of entries of a wide X that is made dense as a whole: 1 GiB.
_WIDE_ENTRIES = 1 << 27
# Number of random combinations of columns that a check multiplies by X.
_COMBINATIONS = 4
# Columns whose units differ by less than this factor are not scaled.
_ALIKE = 100.0
# Number of random sign vectors from which the lengths of columns are estimated.
_SIGNS = 16
_CHECK_SEED = 20_09


@dataclass(frozen=True)
class Problem:
    """Maximise label agreement under a data metric.

    ``X'S X w = lambda (X'X + alpha I) w`` with S given by the factor. X is already
    centred if the method centres. With a regressed factor the penalty is part of the
    regression, and the metric is only ``X'X``.

    Parameters
    ----------
    X : Operator
        The features.
    factor : Factor
        What the embedding should represent of features and labels.
    n_components : int
        Number of directions.
    alpha : float, default=0.0
        Regularization strength, added to the diagonal of ``X'X``.
    leverage : bool, default=False
        Whether the mean leverage of the rows is of use, if the solver can tell it at little cost.

    See Also
    --------
    Solution : What a solver returns.
    choose_solver : Chooses a solver for it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Problem, choose_solver
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> choose_solver(Problem(X, Factor(labels=np.eye(20)[:, :2]), 2, alpha=0.5)).solver
    'exact'
    """

    X: Operator
    factor: Factor
    n_components: int
    alpha: float = 0.0
    leverage: bool = False

    def __post_init__(self) -> None:
        if self.alpha and not self.factor.thin:
            raise Mismatch("A penalty in the metric needs a factor made only of labels.")


@dataclass(frozen=True)
class Solution:
    """The result of a solver.

    Attributes
    ----------
    weights : array of shape (d, m)
        W, with ``W'(X'X + alpha I)W = I`` unless ``metric`` says otherwise; the best
        direction first.
    eigenvalues : array of shape (m,)
        lambda, in decreasing order.
    solver : str
        Name of the solver used.
    exact : bool
        False if the answer is an approximation by design.
    converged : bool
        False if an iteration stopped early; ``status`` then says what to do.
    status : str
        Convergence message.
    n_iter : int
        Iterations, or 1 for a direct solver.
    residual : float or None
        The relative residual of the regression and of the eigenproblem, computed
        from the data by new products, in columns of equal length.
    error : float or None
        A bound on the error of the fitted labels, relative to the labels; None if
        there is none.
    images : array of shape (m, s) or None
        ``W'X'L``, the labels of the factor along each direction, if the
        solver computed it.
    label_axes : array of shape (s, m) or None
        Contribution of one row of L to its coordinates ``sqrt(lambda) W'x`` if the labels are
        regressed: with ``Z = [c X, c' X B] = V diag(s) R'``, the rows of ``c' R`` that belong to
        the labels.
    level : float
        c' of ``label_axes``: the scale of the regressed labels in the objective, in addition to
        the factor of L.
    metric : array of shape (m, m) or None
        ``W'(X'X + alpha I)W`` if it is not the identity, as for least squares.
    embed : function or None
        Returns ``X W`` from stored results, without a product with X; None if nothing
        is stored.
    leverage : float or None
        The mean diagonal of ``X (X'X + alpha I)^+ X'``, if it was asked for and is known.

    See Also
    --------
    Problem : What a solver is given.
    eigen_residual : Check it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Exact, Problem
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> found = Exact().solve(Problem(X, Factor(share=1.0), n_components=2))
    >>> found.solver, found.weights.shape, found.exact
    ('exact', (5, 2), True)
    """

    weights: Array
    eigenvalues: Array
    solver: str
    exact: bool = True
    converged: bool = True
    status: str = "Solved directly."
    n_iter: int = 1
    residual: float | None = None
    error: float | None = None
    images: Array | None = None
    label_axes: Array | None = None
    level: float = 1.0
    metric: Array | None = None
    embed: Callable[[], Array] | None = None
    leverage: float | None = None


@runtime_checkable
class Solver(Protocol):
    """A stateless object that maps a problem to a solution; its fields are its options.

    See Also
    --------
    Problem : What it is given.
    Solution : What it returns.

    Examples
    --------
    >>> from labelspan.solvers import Exact, Solver
    >>> isinstance(Exact(), Solver)
    True
    """

    @property
    def name(self) -> str: ...

    def why_not(self, problem: Problem) -> str | None:
        """None if the solver supports the problem, else a message that says what to do."""
        ...

    def solve(self, problem: Problem) -> Solution: ...


def decomposes(X: Operator) -> bool:
    """Return whether one decomposition of the data is the cheapest method."""
    return X.short_side <= (_SPARSE_SIDE if X.fill < _SPARSE else _DENSE_SIDE)


def small_enough(X: Operator) -> bool:
    """Return whether the data can be factorised directly: n or d is small, and X not too wide."""
    rows, columns = X.shape
    if columns == X.short_side:
        return columns <= DIRECT_LIMIT
    return rows <= DIRECT_LIMIT and rows * columns <= _WIDE_ENTRIES


def solve_arranged(problem: Problem, solve: Callable[[Problem], Solution]) -> Solution:
    """Solve with the columns in the fastest order; return weights in the original order."""
    X, order = problem.X.arranged()
    if order is None:
        return solve(problem)
    found = solve(replace(problem, X=X))
    return replace(found, weights=put_rows(order, found.weights))


def eigen_residual(problem: Problem, solution: Solution) -> float:
    """Compute the certificate: the largest relative residual of the eigenproblem.

    ``|X'S X w - lambda (X'X + alpha I) w|`` over the norm of the left side's first
    column, computed only from the operator. A regressed factor is solved again by the
    regression that the solution implies, so only factors without one are certified.

    Parameters
    ----------
    problem : Problem
        The eigenproblem.
    solution : Solution
        What a solver returned for it.

    Returns
    -------
    float
        Close to the rounding of the data for an exact solution.

    See Also
    --------
    labelspan.metrics.principal_angles : Compare subspaces.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Problem, Exact, eigen_residual
    >>> X = as_operator(np.random.default_rng(0).standard_normal((20, 5)))
    >>> problem = Problem(X, Factor(labels=np.eye(20)[:, :2]), n_components=2)
    >>> eigen_residual(problem, Exact().solve(problem)) < 1e-10
    True
    """
    X, factor = problem.X, problem.factor
    if factor.regression is not None:
        raise Mismatch("eigen_residual certifies factors without a regression.")
    weights = solution.weights
    image = X.matmat(weights)
    agreement = np.zeros((X.shape[0], weights.shape[1]))
    if factor.share:
        agreement += factor.share * X.matmat(X.rmatmat(image))
    if factor.labels is not None:
        agreement += factor.labels.matmat(factor.labels.rmatmat(image))
    left = X.rmatmat(agreement)
    metric = X.rmatmat(image) + problem.alpha * weights
    gap = np.linalg.norm(left - metric * solution.eigenvalues, axis=0)
    return float(gap.max() / np.linalg.norm(left[:, 0]))


# --- checks by new products --------------------------------------------------------------


def rounding(dtype: Any) -> float:
    """Return the relative size below which a number in this precision is rounding."""
    return float(np.finfo(dtype).eps)


def accuracy_wanted(dtype: Any) -> float:
    """Return the relative error of the fitted labels above which a solver warns."""
    return 1e-6 if np.dtype(dtype) == np.float64 else 1e-3


def column_lengths(X: Operator) -> Array:
    """Estimate the lengths of the columns from one product with random signs.

    Accurate to about 20%, which is enough for scaling; exactly zero for a zero column.
    """
    if X.one_pass:
        # Known, or summed where the rows are stored.
        return np.asarray(np.sqrt(np.maximum(host(X.column_squares()), 0.0)))
    signs = np.random.default_rng(_CHECK_SEED).integers(0, 2, (X.shape[0], _SIGNS)) * 2.0 - 1.0
    products = host(X.rmatmat(signs / np.sqrt(_SIGNS)))
    return np.asarray(np.sqrt(np.square(products).sum(axis=1)))


def squared_units(X: Operator) -> Array:
    """Return the squared lengths of columns that differ only in their units, not in sparsity.

    The mean square of the stored entries of each column, times their mean number; equal for all
    columns if their units differ by less than a factor of 100. Dense columns have their own
    lengths. Of texts, frequent words are long because they have many entries, and labels
    depend on them: dividing by lengths takes several times as many blocks for a choice of alpha.
    """
    squares, counts = host(X.column_squares()), np.maximum(host(X.column_counts()), 1.0)
    found = np.maximum(squares, 0.0) / counts * counts.mean()
    alive = found[found > 0]
    if not alive.size:
        return np.ones(found.size)
    if alive.max() < _ALIKE**2 * alive.min():
        return np.full(found.size, squares.mean())
    return np.asarray(np.where(found > 0, found, alive.min()))


@dataclass(frozen=True)
class Check:
    """A residual computed from the data, and the error that it implies.

    ``residual`` is relative to the right-hand side, in columns of equal length. ``error``
    estimates the error of the fitted labels relative to the labels; None
    if unknown.
    """

    residual: float
    error: float | None = None

    @property
    def off(self) -> float:
        """The possible error of the answer, by the better of the two measures."""
        return self.residual if self.error is None else self.error


def check_regression(
    X: Operator,
    targets: Array,
    slopes: Operator,
    alpha: float,
    *,
    scale: Array,
    energy: Callable[[Array], float],
) -> Check:
    """Check ``(X'X + alpha I) slopes = X'targets`` by new products with X.

    The residual ``r = X'(T - X G) - alpha G`` is divided by the lengths of the columns of
    ``[X; sqrt(alpha) I]``. ``energy`` gives ``tr r'(X'X + alpha I)^+ r`` from the
    factorisation that was used: the square of the error of the fitted labels (and of the
    weights, by their penalty), small if that factorisation has any digits left. All targets are
    used, in random combinations: two products with at most 4 columns.
    """
    mixing = combinations(targets.shape[1])
    wanted, found = host(targets) @ mixing, host(slopes.matmat(mixing))
    if X.one_pass:
        seen, right = host(X.normal(found)), X.cross(wanted)
    else:
        products = X.cross(np.hstack([host(X.matmat(found)), wanted]))
        seen, right = np.hsplit(products, [found.shape[1]])
    gap = right - seen - alpha * found
    length = np.linalg.norm(right / scale[:, None])
    size = np.linalg.norm(gap / scale[:, None])
    residual = float(size / length) if length > 0 else float(size > 0)
    whole = np.linalg.norm(wanted)
    return Check(residual, float(np.sqrt(max(energy(gap), 0.0)) / whole) if whole > 0 else 0.0)


def check_directions(
    X: Operator,
    weights: Array,
    values: Array,
    *,
    share: float,
    slopes: Operator | None,
    level: float,
    scale: Array,
) -> float:
    """Check ``(share I + B B') X'X W = W diag(values)`` and ``W'X'X W = I`` by new products.

    For objectives that include the features, with B the coefficients of the regressed labels.
    Random combinations of the directions, each divided by the root of its eigenvalue, in
    coordinates times the lengths of the columns; two products with at most 4 columns.
    """
    mixing = combinations(values.size)
    directions, roots = host(weights), np.sqrt(values)[:, None]
    mixed, right = directions @ (mixing / roots), directions @ (roots * mixing)
    seen = host(X.normal(mixed))
    # mixing' D W'X'X W D^-1 mixing, with D the roots: W'X'X W = I makes it mixing'mixing.
    square, expected = right.T @ seen, mixing.T @ mixing
    left = share * seen
    if slopes is not None:
        left = left + level**2 * host(slopes.matmat(slopes.rmatmat(seen)))
    right = right * scale[:, None]
    return max(
        float(np.linalg.norm(square - expected) / np.linalg.norm(expected)),
        float(np.linalg.norm(left * scale[:, None] - right) / np.linalg.norm(right)),
    )


class OfRows(Operator):
    """``X'mixing``: coefficients as combinations of the rows of X, fewer numbers if n < d.

    Products are summed in float64 if they are to be ``exact``.
    """

    def __init__(self, X: Operator, mixing: Array, *, exact: bool = False) -> None:
        super().__init__((X.shape[1], mixing.shape[1]), np.float64 if exact else X.dtype)
        self.device = None if exact else X.device
        self.X, self.mixing = X, mixing
        self._back = X.cross if exact else X.rmatmat

    def _matmat(self, block: Array) -> Array:
        return self._back(times(self.mixing, block))

    def _rmatmat(self, block: Array) -> Array:
        X = self.X.in_type(self.dtype) or self.X
        return self.place(inner(self.mixing, X.matmat(block)))

    def formed(self) -> Array:
        return self._back(self.mixing)


def sentence(how: str, residual: float) -> str:
    """Return how it was solved and the result of the check."""
    return f"{how}; relative residual {residual:.0e}."


def unsure(off: float, residual: float) -> str:
    """Return a message that an answer failed its check, and what to do."""
    return (
        f"The answer may be off by {off:.0e} of itself (relative residual {residual:.0e}): columns "
        "of X are almost exactly dependent, even in equal units; raise alpha, or remove "
        "columns that repeat others."
    )


@lru_cache(maxsize=64)
def combinations(columns: int, most: int = _COMBINATIONS) -> Array:
    """Return the coefficients of up to ``most`` random combinations of columns, read-only."""
    if columns <= most:
        chosen = np.eye(columns)
    else:
        rng = np.random.default_rng(_CHECK_SEED)
        chosen = rng.standard_normal((columns, most)) / np.sqrt(columns)
    chosen.setflags(write=False)
    return chosen


def rest_of(gains: Sequence[float], total: float, noise: float) -> float:
    """Estimate the missing part of a growing sum, relative to it, from its last gains.

    The gains of a Krylov space decrease roughly geometrically, but at a slowing rate:
    the series continues at two thirds of the slower rate of the last two gains. On spectra that are
    flat, steep or in steps this was .7 to 30 times the missing part. Infinite before there are two
    gains; never below the rounding of the sum.
    """
    if len(gains) < 2:
        return np.inf
    ratio = max(_rate(gains[-2:]), _rate(gains[-3:-1]) if len(gains) > 2 else 0.0) ** _CONTINUED
    rest = abs(gains[-1]) * ratio / (1 - ratio) / abs(total)
    return float(max(rest, _ROUNDINGS * noise))


def _rate(gains: Sequence[float]) -> float:
    previous, gain = abs(gains[0]), abs(gains[-1])
    return min(gain / previous, _SLOWEST) if previous > 0 else _SLOWEST


def finest_tolerance(dtype: Any) -> float:
    """Return the smallest fraction of an objective that sums in this precision can resolve."""
    return 2 * _ROUNDINGS * rounding(dtype)
