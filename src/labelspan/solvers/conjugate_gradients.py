"""Block conjugate gradients, which know how much of the answer is still missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from ..operators.array_backend import (
    add_product,
    column_norms,
    column_sums,
    host,
    inner,
    like,
    plus,
    times,
    width_of,
)
from ..operators.machine import single_thread
from .limits import rounding
from .small_dense import orthonormalized, triangular

__all__ = ["Run", "block_cg"]

# By how much more than its part of the trace the squared norm of fitted labels may change.
_IN_OTHER_UNITS = 2.0
# Number of random columns that estimate the smallest eigenvalue of A in the Krylov space, and
# the factor by which the estimate may be too small.
_PROBES, _SAFE = 4, 2.0
# Number of iterations after which the remaining ones are estimated.
_LOOKED_AT = 6
# The smallest relative residual that is requested beyond the tolerance.
_ROUNDING = 1e-14


class Run(NamedTuple):
    """The result of block conjugate gradients.

    ``residual`` is the largest relative one, by the recursion. ``gains`` say by how much each
    iteration lowered the square of the error, ``tr E'A E``; ``to_come`` bounds what is missing,
    relative to their sum, and ``error`` the root of it; both are infinite without a bound.
    ``spread`` is about the root of ``tr A^-1`` in the Krylov space: a
    residual R means an error ``(tr E'A E)^1/2`` of at most ``|R| spread``, unless directions are
    too short to be in the space. ``image`` is that of the solution, for combinations of rows.
    ``halfway`` is the sum of the gains of the probes, or of all columns if none is one, and half of
    the bound of what is missing of it.
    """

    solution: Array
    n_iter: int
    residual: float
    gains: list[float]
    spread: float
    to_come: float
    error: float
    halfway: float
    image: Any = None


def block_cg(  # noqa: PLR0917
    apply: Callable[[Array], Array],
    right: Array,
    tol: float,
    max_iter: int,
    error: float = np.inf,
    rtol: float = 0.0,
    least: float = 0.0,
    shift: float | None = None,
    shrink: Array | float | None = None,
    patience: float = np.inf,
    probes: int = 0,
) -> Run:
    """Block conjugate gradients with an orthonormal residual block (Dubrulle 2001).

    Right-hand sides that depend on each other are merged at the start, and a residual
    that loses rank only narrows the block, so there is no division by zero. Stops when
    the relative residual of each column is below ``tol`` and implies an error below ``error``
    (see `Run`), or consists of rounding, or when the missing gains are below the fraction ``rtol``
    of those so far. These are bounded if no eigenvalue of the matrix is below ``least``, by a
    Gauss-Radau quadrature (Golub and Meurant 1997): with Q the residual block, ``Q'A^-1 Q`` is at
    most the ``bound``, whose recursion starts at ``1 / least``. On texts the bound is twice what is
    missing. No continuation of the gains replaces it: where a few factors dominate, gains fall a
    thousandfold after two iterations and then hardly at all, and of 240 such problems the last
    gains misled in 88, the slowest decrease over all windows in 25, the bound in none. Gives
    up where ``rtol`` would take more than ``patience`` further iterations. The last ``probes``
    columns have no part in this.

    The gains are those of ``tr right'S`` for the solution S. With ``shrink``, the diagonal of the
    penalty in A, the fraction is that of ``tr S'(A - diag(shrink))S``, the squared norm of the
    fitted labels. In equal units that grows by no more than the trace, as the solution grows in
    length; in others it was found to change by up to about twice as much as its part of the trace.

    With a ``shift``, the same iteration for ``X'X + shift I`` and ``X'right``, with all blocks as
    combinations of rows: ``apply`` multiplies by ``K = X X'``, inner products are those of K, and
    ``X'solution`` is the solution. If n < d, these blocks are shorter.
    """
    image = None if shift is None else apply(right)
    squares = np.square(column_norms(right)) if image is None else host(column_sums(right * image))
    lengths = np.sqrt(np.maximum(squares, 0.0))
    lengths[lengths == 0] = 1.0
    scale, noise = like(lengths, right), rounding(width_of(right))
    residual_basis, along, factor = orthonormalized(
        right / scale, None if image is None else image / scale
    )
    solution, fitted = 0 * right, None if image is None else 0 * image
    direction = residual_basis
    state = _Progress(factor, lengths, probes, least)
    smallest = _ROUNDING if error < np.inf else noise
    n_iter, unsure = 0, False

    def of_fit() -> float:
        if shrink is None:
            return 1.0
        squares = solution * (solution if fitted is None else fitted) * shrink
        penalty = float(host(column_sums(squares)) @ np.square(state.lengths))
        return _of_fit(penalty, shrink, sum(state.gains), noise)

    while (state.worst > tol or unsure) and n_iter < max_iter and residual_basis.shape[1]:
        n_iter, worst = n_iter + 1, state.worst
        image = apply(direction) if shift is None else plus(along, direction, shift)
        square = inner(direction if shift is None else along, image)
        with single_thread():  # the same bits for any number of threads
            inverse = _inverse((square + square.T) / 2, noise)
        step = state.step(inverse)
        add_product(solution, direction, step)
        if fitted is not None:
            add_product(fitted, along, step)
        if rtol and shift is not None and state.after_step <= rtol:
            # The product for the next residual would only lower the bound.
            state.to_come = state.after_step * of_fit()
            if state.to_come <= rtol:
                break
        rest = plus(residual_basis, times(image, inverse), -1.0)
        residual_basis, newest, factor = orthonormalized(
            rest, None if shift is None else apply(rest)
        )
        state.turn(inverse, factor)
        if rtol:
            if state.to_come <= rtol:
                state.to_come *= of_fit()
            # Where rounding brings a long direction back, the solution lacks what the gains say.
            reached = state.to_come <= rtol and state.worst <= worst
            if reached or state.iterations_left(rtol) > patience:
                break
        # Below rounding, the recursion does not give the residual.
        missed = state.error > error or 0 < rtol < state.to_come
        unsure = state.worst > smallest and missed
        direction = plus(times(direction, factor.T), residual_basis)
        if fitted is not None:
            along = plus(times(along, factor.T), newest)
    return Run(
        solution * scale,
        n_iter,
        state.worst,
        state.gains,
        state.spread,
        state.to_come,
        state.error if least > 0 else np.inf,
        state.halfway,
        None if fitted is None else fitted * scale,
    )


class _Progress:
    """What is known of the error of block conjugate gradients, from their small matrices only.

    ``gains``, ``to_come``, ``error`` and ``spread`` are those of a `Run`; ``worst`` is the largest
    relative residual. With Q the residual blocks, ``T = Q'A Q = U'SU`` with S = diag(square) and U
    bidiagonal by the factors: ``z'T^-1 z`` of random z needs no more than ``U'^-1 z``, block by
    block.
    """

    def __init__(self, factor: Array, lengths: Array, probes: int, least: float) -> None:
        self._counted = np.arange(lengths.size) < lengths.size - probes
        self.lengths = lengths * self._counted
        self._probed = lengths * ~self._counted if probes else lengths
        self._coefficients, self._inverse_trace = factor, 0.0
        self._gained = self._latest = 0.0
        self._rng, self._least = np.random.default_rng(0), least
        self._probe = self._rng.standard_normal((factor.shape[0], _PROBES))
        self._bound = _Bound(least, factor.shape[0])
        self.gains: list[float] = []
        self.worst, self.to_come = float(factor.shape[0] > 0), np.inf

    def step(self, inverse: Array) -> Array:
        """Return the coefficients of the next step, and count its gain."""
        step: Array = inverse @ self._coefficients
        gained = (self._coefficients * step).sum(axis=0)
        self.gains.append(float(gained @ np.square(self.lengths)))
        self._latest = float(gained @ np.square(self._probed))
        self._gained += self._latest
        return step

    @property
    def after_step(self) -> float:
        """The bound of what is missing before the next residual is known."""
        return max(self._bound.root**2 - self.gains[-1], 0.0) / (sum(self.gains) or 1.0)

    def turn(self, inverse: Array, factor: Array) -> None:
        """Go on to the next residual block."""
        self._inverse_trace += float((self._probe * (inverse @ self._probe)).sum()) / _PROBES
        fresh = self._rng.standard_normal((factor.shape[0], _PROBES))
        self._probe = factor @ self._probe + fresh
        self._coefficients, self._latest = factor @ self._coefficients, 0.0
        most = self._bound.after(inverse, factor, self._coefficients * self.lengths)
        self.to_come = most / (sum(self.gains) or 1.0)
        self.worst = _worst(self._coefficients[:, self._counted])

    @property
    def spread(self) -> float:
        return float(_SAFE * np.sqrt(max(self._inverse_trace, 0.0)))

    @property
    def error(self) -> float:
        """The root of the bound of what is missing; without one, its estimate."""
        if self._least > 0:
            return self._bound.root
        return float(np.linalg.norm(self._coefficients * self.lengths)) * self.spread

    @property
    def halfway(self) -> float:
        missing = self._bound.of(self._coefficients * self._probed) - self._latest
        return self._gained + missing / 2

    def iterations_left(self, rtol: float) -> float:
        return self._bound.iterations_left(rtol * sum(self.gains))


def _worst(coefficients: Array) -> float:
    """Return the largest norm of a column."""
    return float(np.linalg.norm(coefficients, axis=0).max()) if coefficients.size else 0.0


class _Bound:
    """Upper bounds of the missing gains, by the recursion of `block_cg`; infinite without one."""

    def __init__(self, least: float, width: int) -> None:
        self._least, self._seen = least, [np.inf]
        self._matrix = np.eye(width) / least if least > 0 else None

    @property
    def root(self) -> float:
        """The root of the latest bound."""
        return float(np.sqrt(self._seen[-1]))

    def after(self, inverse: Array, factor: Array, coefficients: Array) -> float:
        """Return the bound after an iteration, from the coefficients of the residual."""
        if self._matrix is not None:
            self._matrix = self._next(self._matrix - inverse, factor)
        self._seen.append(self.of(coefficients))
        return self._seen[-1]

    def of(self, coefficients: Array) -> float:
        """Return the present bound for some coefficients of the residual."""
        if not coefficients.size:
            return 0.0
        if self._matrix is None:
            return np.inf
        return float((coefficients * (self._matrix @ coefficients)).sum())

    def _next(self, gap: Array, factor: Array) -> Array:
        """Return ``(least I + factor gap^-1 factor')^-1``; ``I / least`` if the gap is rounding.

        That is a bound of every block, with which the recursion starts again.
        """
        with single_thread():
            root = triangular((gap + gap.T) / 2)
            if root is None:
                return np.eye(len(factor)) / self._least
            half = root[1].T @ factor.T
            return np.asarray(np.linalg.inv(half.T @ half + self._least * np.eye(len(factor))))

    def iterations_left(self, wanted: float) -> float:
        """Estimate the iterations until a bound is reached, at the rate of the second half."""
        half = len(self._seen) // 2
        before, now = self._seen[half], self._seen[-1]
        if len(self._seen) <= _LOOKED_AT or not np.isfinite(before) or not now > wanted > 0:
            return 0.0
        rate = np.log(before / now) / (len(self._seen) - 1 - half)
        return float(np.log(now / wanted) / rate) if rate > 0 else np.inf


def _inverse(matrix: Array, noise: float) -> Array:
    """Return the inverse of a positive matrix without directions that are rounding."""
    root = triangular(matrix)
    if root is not None:
        return np.asarray(root[1] @ root[1].T)
    return np.asarray(np.linalg.pinv(matrix, rcond=noise, hermitian=True))


def _of_fit(penalty: float, shrink: Array | float, gained: float, noise: float) -> float:
    """Return the ratio of a part of the squared norm of the fit to the same part of the trace."""
    more = 1.0 if isinstance(shrink, float) or shrink.shape[0] == 1 else _IN_OTHER_UNITS
    return more / max(1 - penalty / (gained or 1.0), noise)
