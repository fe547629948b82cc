"""Linear systems on a graph, and the rows that labels reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...._params import Constraint, Integer, Real
from ...._typing import Array
from ....errors import LabelspanWarning, NotConverged, warn_caller
from ....graph.affinity import degrees
from ....labels import Labels
from ....operators import Operator
from ....solvers.conjugate_gradients import block_cg

__all__ = ["SOLVER_CONSTRAINTS", "SystemSolver", "reach", "reached", "solve_definite"]

_FAINT = 1e-8
SOLVER_CONSTRAINTS: Mapping[str, Constraint] = {"tol": Real(0.0), "max_iter": Integer(1)}


class SystemSolver:
    """Conjugate gradients for one fit; counts iterations and warns once on failure."""

    def __init__(self, owner: str, tol: float, max_iter: int) -> None:
        self._owner, self._tol, self._max_iter = owner, tol, max_iter
        self._iterations = 0
        self._warned = False

    @property
    def n_iter(self) -> int:
        """Number of iterations so far, at least 1."""
        return max(1, self._iterations)

    def __call__(self, apply: Callable[[Array], Array], right: Array, diagonal: Array) -> Array:
        """Solve ``A x = right`` for a positive (semi-)definite A."""
        values, n_iter, residual = solve_definite(
            apply, right, diagonal, tol=self._tol, max_iter=self._max_iter
        )
        self._iterations += n_iter
        if residual > self._tol and not self._warned:
            self._warned = True
            warn_caller(
                f"{self._owner}: conjugate gradients stopped after {n_iter} iterations at "
                f"a relative residual of {residual:.1e}, above tol={self._tol:g}; raise "
                "max_iter or tol.",
                NotConverged,
            )
        return values

    def shifted(
        self,
        apply: Callable[[Array], Array],
        right: Array,
        diagonal: Array,
        shifts: Array,
    ) -> Array:
        """Solve ``(A + shifts[j] I) x_j = right[:, j]`` for every column j."""
        out = np.empty(right.shape)
        for shift in np.unique(shifts):
            here = np.flatnonzero(shifts == shift)

            def moved(block: Array, shift: float = shift) -> Array:
                return np.asarray(apply(block) + shift * block)

            out[:, here] = self(moved, right[:, here], diagonal + shift)
        return out


def reach(graph: Operator, start: Array) -> Array:
    """Find the rows that a path connects with some rows, given as True.

    Links below a hundred-millionth of the degree of a row are ignored: iterations in
    float64 could not resolve their effect.
    """
    sums = degrees(graph)
    inside = start
    while True:
        pull = graph.matmat(inside[:, None].astype(np.float64))[:, 0]
        grown = inside | (pull > _FAINT * sums)
        if (grown == inside).all():
            return inside
        inside = grown


def reached(owner: str, graph: Operator, labels: Labels) -> Array:
    """Find the rows that labels reach; warn about the others."""
    labelled = labels.labelled
    if labelled.all():
        return labelled
    found = reach(graph, labelled)
    if not found.all():
        given = "the most frequent class" if labels.kind == "classes" else "the default score"
        warn_caller(
            f"{owner}: no label reaches {int((~found).sum())} of the {found.size} rows, which get "
            f"{given}; use more neighbours, or label a row in every component of the graph.",
            LabelspanWarning,
        )
    return found


def solve_definite(
    apply: Callable[[Array], Array], right: Array, diagonal: Array, *, tol: float, max_iter: int
) -> tuple[Array, int, float]:
    """Solve ``A x = b`` column by column of b, for a positive (semi-)definite A, in float64.

    A is scaled to a unit diagonal first, so that very different degrees do not make
    it ill-conditioned. If A is singular, b must lie in its range. Also returned are the
    number of iterations and the relative residual of the scaled system, computed again from the
    answer; if that is above ``tol``, because the block dropped directions, the iteration continues
    with the residual.
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
        # Columns that have converged would only widen the block.
        open_ = gaps > tol
        run = block_cg(scaled, rest[:, open_], tol / gaps.max(), max_iter - n_iter)
        n_iter += run.n_iter
        trial = solution.copy()
        trial[:, open_] += run.solution
        rest = target - scaled(trial)
        before, after = gaps, np.linalg.norm(rest, axis=0) / lengths
        if after.max() < before.max():
            solution, gaps = trial, after
        if after.max() > 0.5 * before.max():
            # Rounding, or a right-hand side outside the range: more iterations do not help.
            break
    return scale * solution, n_iter, float(gaps.max(initial=0.0))
