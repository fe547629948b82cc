"""Linear systems on a graph, for the baselines that are one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from .._params import Constraint, Integer, Real
from .._typing import Array
from ..errors import LabelspanWarning, NotConverged
from ..graph import degrees
from ..labels import Labels
from ..operators import Operator
from ..solvers.conjugate_gradients import solve_definite
from ._base import GraphClassifier

__all__ = ["Solves", "SolvingClassifier", "reach", "reached"]

_FAINT = 1e-8


class Solves:
    """Conjugate gradients for one fit: counts iterations, and warns where they do not end."""

    def __init__(self, owner: str, tol: float, max_iter: int) -> None:
        self._owner, self._tol, self._max_iter = owner, tol, max_iter
        self.n_iter = 0
        self._warned = False

    def __call__(self, apply: Callable[[Array], Array], right: Array, diagonal: Array) -> Array:
        """``A^-1 right`` for a positive (semi-)definite A."""
        found = solve_definite(apply, right, diagonal, tol=self._tol, max_iter=self._max_iter)
        self.n_iter += found.n_iter
        if not found.converged and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._owner}: conjugate gradients stopped after {found.n_iter} iterations at "
                f"a relative residual of {found.residual:.1e}, above tol={self._tol:g}; raise "
                "max_iter or tol.",
                NotConverged,
                stacklevel=2,
            )
        return found.values

    def shifted(
        self,
        apply: Callable[[Array], Array],
        right: Array,
        diagonal: Array,
        shifts: Array,
    ) -> Array:
        """Column j of the answer is ``(A + shifts[j] I)^-1 right[:, j]``."""
        out = np.empty(right.shape)
        for shift in np.unique(shifts):
            here = np.flatnonzero(shifts == shift)

            def moved(block: Array, shift: float = shift) -> Array:
                return np.asarray(apply(block) + shift * block)

            out[:, here] = self(moved, right[:, here], diagonal + shift)
        return out


class SolvingClassifier(GraphClassifier):
    """A graph classifier whose scores solve linear systems, by conjugate gradients."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **GraphClassifier._constraints,
        "tol": Real(0.0),
        "max_iter": Integer(1),
    }

    tol: float
    max_iter: int

    n_iter_: int

    def _propagate(self, data: Any, labels: Labels, graph: Operator) -> Array:
        solves = Solves(type(self).__name__, self.tol, self.max_iter)
        scores = self._solve(data, labels, graph, solves)
        self.n_iter_ = max(1, solves.n_iter)
        return scores

    def _solve(self, data: Any, labels: Labels, graph: Operator, solves: Solves) -> Array:
        raise NotImplementedError(type(self).__name__)


def reach(graph: Operator, start: Array) -> Array:
    """The rows to which a path leads from some, given as True.

    Steps that carry less than a hundred-millionth of a row's degree lead nowhere: no
    iteration in float64 could tell what comes through them.
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
    """The rows that labels reach; warns of the others."""
    labelled = labels.labelled
    if labelled.all():
        return labelled
    found = reach(graph, labelled)
    if not found.all():
        given = "the most frequent class" if labels.kind == "classes" else "no score of its own"
        warnings.warn(
            f"{owner}: no label reaches {int((~found).sum())} of the {found.size} rows, each of "
            f"which gets {given}; use more neighbours, or label a row in every part of the graph.",
            LabelspanWarning,
            stacklevel=2,
        )
    return found
