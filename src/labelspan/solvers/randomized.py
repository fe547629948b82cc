"""``randomized``: block Krylov, for LSI and MLSI on data with two long sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..labels import Factor
from ..operators import Operator
from ..operators.array_backend import column_norms, concatenate, inner, like
from .krylov import SMOOTH_WIDTH, KrylovSpace, rest_of, truncated_svd
from .penalties import L1
from .problem import Problem, Solution, rounding, solve_arranged
from .small_dense import Ritz, leading, ritz

__all__ = ["Randomized", "grow"]

_FEATURES_TOL = 2e-3
_LABELS_TOL = 5e-3
# The start block holds this share of the labels' energy, and all of them where they are few.
_LABEL_ENERGY = 0.96
_FEW_LABELS = 32


@dataclass(frozen=True)
class Randomized:
    """LSI and MLSI from one Krylov space, to a stated share of the objective.

    For LSI a truncated SVD. For MLSI the space starts from the features' view of the
    labels, ``X'[Y, random]``, and serves twice: the ridge regression of the labels and the
    leading directions of features and regressed labels are both found inside it.

    Parameters
    ----------
    tol : float or None
        Stop when the objective still to come is below this share of the objective found.
        None is 2e-3 for LSI, whose objective is the energy kept, and 5e-3 for MLSI. What is
        still to come is judged by what the last blocks brought; for MLSI by how much the
        newest space is worth more than the one before it, both by the newest regression.
    max_iter : int
        The most blocks that a space grows by, beyond those that ``n_components`` needs.
    seed : int
        The same seed gives the same answer.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> from labelspan.operators import as_operator
    >>> from labelspan.solvers import Problem, Randomized
    >>> X = as_operator(np.random.default_rng(0).standard_normal((200, 100)))
    >>> found = Randomized().solve(Problem(X, Factor(share=1.0), n_components=3))
    >>> found.exact, found.converged
    (False, True)
    """

    tol: float | None = None
    max_iter: int = 100
    seed: int = 0

    @property
    def name(self) -> str:
        return "randomized"

    def why_not(self, problem: Problem) -> str | None:
        factor = problem.factor
        if isinstance(problem.penalty, L1):
            return "solver='randomized' cannot take penalty='l1'; use solver='least-squares'."
        if factor.thin:
            return (
                "solver='randomized' is for LSI and MLSI; OPLS, CCA, LDA and HSL are solved "
                "exactly at the same price by solver='two-stage'."
            )
        if factor.regression is not None and factor.regression.mix is not None:
            return (
                "solver='randomized' cannot take form='inverse', which needs the regression "
                "to its end; use solver='two-stage', or form='ridge'."
            )
        if problem.metric_alpha or (factor.labels is not None and factor.regression is None):
            return (
                "solver='randomized' cannot take form='direct', whose metric is not X'X; "
                "use solver='gram' or 'eigen', or form='ridge'."
            )
        return None

    def solve(self, problem: Problem) -> Solution:
        return solve_arranged(problem, self._solve)

    def _solve(self, problem: Problem) -> Solution:
        rng = np.random.default_rng(self.seed)
        if problem.factor.labels is None:
            return self._features(problem, rng)
        return self._features_and_labels(problem, problem.factor.labels, rng)

    def _features(self, problem: Problem, rng: np.random.Generator) -> Solution:
        tol = _FEATURES_TOL if self.tol is None else self.tol
        svd = truncated_svd(
            problem.X, problem.n_components, tol=tol, max_iter=self.max_iter, rng=rng
        )
        weights = svd.right / like(np.sqrt(svd.values), svd.right)
        values = problem.factor.share * svd.values
        return self._solution(weights, values, svd.n_iter, svd.rest, tol=tol)

    def _features_and_labels(
        self, problem: Problem, labels: Array, rng: np.random.Generator
    ) -> Solution:
        X, factor, count = problem.X, problem.factor, problem.n_components
        tol = _LABELS_TOL if self.tol is None else self.tol
        space, seen, best, rest = grow(
            X, labels, factor, count, tol=tol, max_iter=self.max_iter, rng=rng
        )
        weights, images = space.combine(best.inside), best.inside.T @ seen
        return self._solution(weights, best.values, len(space.basis), rest, tol=tol, images=images)

    def _solution(
        self,
        weights: Array,
        values: Array,
        n_iter: int,
        rest: float,
        *,
        tol: float,
        images: Array | None = None,
    ) -> Solution:
        converged = rest <= tol
        status = f"The objective still to come is estimated at {rest:.1e} of the objective found."
        if not converged:
            status = f"solver='randomized' stopped after {n_iter} blocks; raise max_iter or tol."
        return Solution(
            weights,
            values,
            self.name,
            exact=False,
            converged=bool(converged),
            status=status,
            n_iter=n_iter,
            residual=float(rest),
            images=images,
        )


def grow(
    X: Operator,
    labels: Array,
    factor: Factor,
    count: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> tuple[KrylovSpace, Array, Ritz, float]:
    """A Krylov space for features and labels, ``P'X'L`` in it, its best directions, and the
    share of the objective that is still to come.

    ``P'X'L`` grows with the space: that costs less than X'L, and serves the regression and
    the label loadings.
    """
    labels = X.place(labels)
    space = KrylovSpace(X, X.rmatmat(_start(X, labels, count, rng)))
    seen = _see(space, labels, np.zeros((0, labels.shape[1])))
    tolerance = 64 * rounding(X.dtype)
    best: Ritz | None = None
    gains: list[float] = []
    rest = np.inf
    while True:
        if space.size >= min(count, *X.shape):
            newest = ritz(space.gram, seen, factor, count, tolerance)
            if best is not None:
                # By the newest regression, the newest directions can only be worth more.
                gains.append(newest.worth - newest.worth_of(best.inside))
                rest = rest_of(gains, newest.worth, rounding(X.dtype))
            best = newest
        if rest <= tol or (best is not None and len(space.basis) >= max_iter):
            break
        if not space.expand():
            rest = 0.0
            break
        seen = _see(space, labels, seen)
    if best is None:
        best = ritz(space.gram, seen, factor, count, tolerance)
    return space, seen, best, float(rest)


def _start(X: Operator, labels: Array, count: int, rng: np.random.Generator) -> Array:
    """The leading directions of the labels, and a few random ones for the features.

    A rotation of the labels changes nothing in MLSI, so the directions that hold most of
    their energy may stand for all of them, and the regression inside the space finds the
    rest. Fewer would stall short of the objective; all of them would cost more than as
    many deeper blocks.
    """
    width = labels.shape[1]
    energy, axes = leading(inner(labels, labels), width)
    share = np.cumsum(energy) / max(float(energy.sum()), np.finfo(float).tiny)
    most = int(np.searchsorted(share, _LABEL_ENERGY)) + 1
    few = min(width, max(most, _FEW_LABELS), max(count, 2 * _FEW_LABELS))
    wanted = labels @ like(axes[:, :few], labels)
    extra = max(4, count // 10, count // 3 - few)
    extra += -(few + extra) % SMOOTH_WIDTH
    both = concatenate([wanted, X.random_block(labels.shape[0], extra, rng)], axis=1)
    lengths = column_norms(both)
    alive = np.flatnonzero(lengths > 0)
    return both[:, alive] / like(lengths[alive], both)


def _see(space: KrylovSpace, labels: Array, seen: Array) -> Array:
    return np.concatenate([seen, inner(space.image[-1], labels)])
