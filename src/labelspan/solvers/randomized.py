"""``randomized``: block Krylov, for LSI and MLSI on data with two long sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..factors import Factor
from ..operators import Operator
from ..operators.arrays import Array, column_norms, concatenate, inner, like
from ..penalties import L1
from .base import Problem, Solution
from .krylov import KrylovSpace, Tail, truncated_svd
from .small import leading, leading_values, psd_solve, ritz

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
        None is 2e-3 for LSI, whose objective is the energy kept. For MLSI it is 5e-3 of the
        energy kept and of the labels explained: the regression converges more slowly than
        the space it informs, whose own objective is then within 2e-3.
    max_iter : int
        The most blocks that a space grows by, beyond those that ``n_components`` needs.
    seed : int
        The same seed gives the same answer.
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
        space, seen, rest = grow(X, labels, factor, count, tol=tol, max_iter=self.max_iter, rng=rng)
        tolerance = 64 * float(np.finfo(X.dtype).eps)
        eigenvalues, inside = ritz(space.gram, seen, factor, count, tolerance)
        weights, images = space.combine(inside), inside.T @ seen
        return self._solution(weights, eigenvalues, len(space.basis), rest, tol=tol, images=images)

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
) -> tuple[KrylovSpace, Array, float]:
    """A Krylov space for features and labels, ``P'X'L`` in it, and what is still to come.

    ``P'X'L`` grows with the space: that costs less than X'L, and serves the regression, the
    objective and the label loadings.
    """
    labels = X.place(labels)
    space = KrylovSpace(X, X.rmatmat(_start(X, labels, count, rng)))
    seen = _see(space, labels, np.zeros((0, labels.shape[1])))
    tail, rest = Tail(), np.inf
    while rest > tol and (len(space.basis) < max_iter or space.size < count):
        if not space.expand():
            return space, seen, 0.0
        seen = _see(space, labels, seen)
        if space.size >= min(2 * count, *X.shape):
            rest = tail.add(_objective(space.gram, seen, factor, count))
    return space, seen, float(rest)


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
    both = concatenate([wanted, X.random_block(labels.shape[0], extra, rng)], axis=1)
    lengths = column_norms(both)
    alive = np.flatnonzero(lengths > 0)
    return both[:, alive] / like(lengths[alive], both)


def _see(space: KrylovSpace, labels: Array, seen: Array) -> Array:
    return np.concatenate([seen, inner(space.image[-1], labels)])


def _objective(gram: Array, seen: Array, factor: Factor, count: int) -> float:
    """A sum that only grows with the space: the energy of the features kept, and of the
    labels explained.
    """
    assert factor.regression is not None
    slopes = psd_solve(gram, seen, factor.regression.alpha, 1e-12)
    kept = factor.share * float(leading_values(gram, count).sum()) if factor.share else 0.0
    return kept + float((seen * slopes).sum())
