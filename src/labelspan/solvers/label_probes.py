"""The size of fitted labels, all of them, from the regression of a few random mixtures."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import column_norms, inner, plus
from .accuracy import rounding
from .conjugate_gradients import block_cg, gains_to_come
from .krylov_space import KrylovSpace
from .problem import DIRECT_LIMIT
from .regression import regress

__all__ = ["LabelProbes", "random_signs", "regress_mixtures"]

# Residual of the regression of the mixtures, and what may be to come of its agreement, both
# relative to the tolerance.
_REGRESSED, _SHARE = 0.1, 0.3
# Iterations of a regression that starts near its end, and by how much its energy may be off.
_MOST_ITERATIONS, _COUNTED = 50, 1e-3


def random_signs(labels: int, count: int, seed: int) -> Array:
    """Return random combinations of labels, whose mean square is that of all labels."""
    return np.random.default_rng([seed, 1]).choice([-1.0, 1.0], size=(labels, count))


def regress_mixtures(
    X: Operator,
    mixed: Array,
    alpha: float,
    tol: float,
    *,
    cross: Array | None = None,
    start: Array | None = None,
) -> LabelProbes | None:
    """Regress mixtures of the labels on all features; None where that does not converge.

    A space that keeps ``X'X P`` in place of ``X P`` needs ``cross``, the products of X' with them.
    ``start`` are slopes that are known to be near: those of the regression inside a space.
    """
    if start is not None and cross is None and alpha > 0 and X.short_side > DIRECT_LIMIT:
        square = _continued(X, X.place(mixed), X.place(start), alpha, _SHARE * tol)
        if square is not None:
            return LabelProbes(mixed, square)
    fit = regress(X, X.place(mixed), alpha, tol=_REGRESSED * tol, share=_SHARE * tol)
    if not fit.converged:
        return None
    slopes = X.place(fit.slopes)
    if cross is not None:
        return LabelProbes(mixed, float(np.trace(inner(slopes, X.normal(slopes)))), cross)
    return LabelProbes(mixed, float(np.square(column_norms(X.matmat(slopes))).sum()))


def _continued(X: Operator, mixed: Array, start: Array, alpha: float, share: float) -> float | None:
    """Return the squared norm of the fitted values, from slopes near those of the regression.

    None where fresh products with X show another energy, ``2 tr B'X'L - tr B'(X'X + alpha I) B``,
    than the iteration has counted.
    """
    cross = X.rmatmat(mixed)
    left = plus(plus(cross, X.normal(start), -1.0), start, -alpha)
    before = float(np.trace(inner(start, cross)) + np.trace(inner(start, left)))
    noise = rounding(X.dtype)
    run = block_cg(X.normal, left, alpha, noise, _MOST_ITERATIONS, share=share, known=before)
    slopes = plus(start, run.solution)
    square = float(np.square(column_norms(X.matmat(slopes))).sum())
    penalty = alpha * float(np.square(column_norms(slopes)).sum())
    energy = 2 * float(np.trace(inner(slopes, cross))) - square - penalty
    counted = before + sum(run.gains)
    done = gains_to_come(run.gains, noise, before) <= share or run.residual <= noise
    # The error of the energy is that of the slopes squared, while that of ``square`` is not: the
    # residual is not orthogonal to slopes that did not start from zero.
    return energy - penalty if done and abs(energy - counted) <= _COUNTED * counted else None


@dataclass
class LabelProbes:
    """Random mixtures of the labels, whose regression on all features is known.

    The space has only a part of the regression of the labels that it did not start from. What it
    lacks of these mixtures tells what it lacks of all labels.

    Parameters
    ----------
    mixed : array of shape (n, m)
        ``L S``, S being random signs.
    square : float
        Squared norm of their fitted values.
    cross : array of shape (d, m) or None, default=None
        ``X'L S``, for a space without images of its directions.
    """

    mixed: Array
    square: float
    cross: Array | None = None
    _known: list[tuple[Array, Array]] = field(default_factory=list)

    def outside(self, gram: Array, signs: Array, slopes: Array) -> float:
        """Estimate the squared norm of the fitted labels that a space lacks.

        ``slopes`` are those of all labels inside the space, and ``signs`` their mixtures.
        """
        return self.beyond(gram, slopes @ signs)

    def beyond(self, gram: Array, slopes: Array) -> float:
        """Do the same from the slopes of the mixtures inside the space."""
        inside = float((slopes * (gram @ slopes)).sum())
        return float(max(0.0, (self.square - inside) / self.mixed.shape[1]))

    def seen(self, space: KrylovSpace) -> Array:
        parts = space.image if self.cross is None else space.basis
        target = self.mixed if self.cross is None else self.cross
        # Blocks of the space may have been dropped and others added since.
        known = self._known
        self._known = [
            known[n] if n < len(known) and known[n][0] is part else (part, inner(part, target))
            for n, part in enumerate(parts)
        ]
        return np.concatenate([product for _, product in self._known])
