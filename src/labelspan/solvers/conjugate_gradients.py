"""Block conjugate gradients: all right-hand sides pass through the operator together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators.array_backend import (
    add_product,
    column_norms,
    inner,
    like,
    single_thread,
    times,
    width_of,
)
from .accuracy import rounding
from .orthonormal import orthonormalize

__all__ = ["Iterated", "block_cg", "solve_definite"]


def block_cg(
    apply: Callable[[Array], Array],
    right: Array,
    alpha: float,
    tol: float,
    max_iter: int,
) -> tuple[Array, int, float, list[float]]:
    """Block conjugate gradients with an orthonormal residual block (Dubrulle 2001).

    Right-hand sides that depend on each other are merged at the start, and a residual
    that loses rank on the way only narrows the block: nothing divides by zero. Returns the
    solution, the number of iterations, the relative residual by the recursion, and by how much
    each iteration lowered the square of the error, ``tr E'A E``.
    """
    lengths = column_norms(right)
    lengths[lengths == 0] = 1.0
    scale = like(lengths, right)
    residual_basis, factor = orthonormalize(right / scale)
    solution = 0 * right
    direction = residual_basis
    coefficients = factor
    worst, n_iter = float(residual_basis.shape[1] > 0), 0
    gains: list[float] = []
    while worst > tol and n_iter < max_iter and residual_basis.shape[1]:
        n_iter += 1
        image = apply(direction) + alpha * direction
        square = inner(direction, image)
        with single_thread():  # the same bits for any number of threads
            inverse = np.linalg.pinv(
                (square + square.T) / 2, rcond=rounding(width_of(right)), hermitian=True
            )
        step = inverse @ coefficients
        gains.append(float(((coefficients * step).sum(axis=0) * np.square(lengths)).sum()))
        add_product(solution, direction, step)
        residual_basis, factor = orthonormalize(residual_basis - times(image, inverse))
        coefficients = factor @ coefficients
        worst = float(np.linalg.norm(coefficients, axis=0).max()) if coefficients.size else 0.0
        direction = times(direction, factor.T)
        direction += residual_basis
    return solution * scale, n_iter, worst, gains


@dataclass(frozen=True)
class Iterated:
    """What an iteration found, and the true relative residual of its worst column."""

    values: Array
    n_iter: int
    residual: float
    converged: bool


def solve_definite(
    apply: Callable[[Array], Array],
    right: Array,
    diagonal: Array,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Iterated:
    """Solve ``A x = b`` column by column of b, for a positive (semi-)definite A, in float64.

    A is scaled to a unit diagonal first, so that vertices of very different degrees are no
    bad condition. Where A is singular, b must lie in its range. The residual is that of the
    scaled system, computed again from the answer; where directions that the block let go
    have left it above ``tol``, the iteration goes on with what is left.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.solvers.conjugate_gradients import solve_definite
    >>> A = np.diag([1.0, 100.0])
    >>> solve_definite(A.__matmul__, np.ones((2, 1)), np.diag(A)).values.round(6).ravel()
    array([1.  , 0.01])
    """
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))[:, None]

    def scaled(block: Array) -> Array:
        return np.asarray(scale * apply(scale * block))

    target = scale * right.astype(np.float64)
    lengths = np.linalg.norm(target, axis=0)
    lengths[lengths == 0] = 1.0
    solution = np.zeros_like(target)
    rest, gaps, n_iter = target, np.linalg.norm(target, axis=0) / lengths, 0
    while gaps.max(initial=0.0) > tol and n_iter < max_iter:
        # Columns that are done would only widen the block.
        open_ = gaps > tol
        step, used, _, _ = block_cg(
            scaled, rest[:, open_], 0.0, tol / gaps.max(), max_iter - n_iter
        )
        n_iter += used
        trial = solution.copy()
        trial[:, open_] += step
        rest = target - scaled(trial)
        before, after = gaps, np.linalg.norm(rest, axis=0) / lengths
        if after.max() < before.max():
            solution, gaps = trial, after
        if after.max() > 0.5 * before.max():
            # Rounding, or a right-hand side outside the range: more turns will not help.
            break
    worst = float(gaps.max(initial=0.0))
    return Iterated(scale * solution, n_iter, worst, worst <= tol)
