"""The size of fitted labels, all of them, from the regression of a few random mixtures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import column_norms, inner
from .krylov import KrylovSpace
from .regression import regress
from .small_dense import psd_solve

__all__ = ["LabelProbes", "random_signs", "regress_mixtures"]

# Residual of the regression of the mixtures, and what may be to come of its agreement, both
# relative to the tolerance.
_REGRESSED, _SHARE = 0.1, 0.3


def random_signs(labels: int, count: int, seed: int) -> Array:
    """Return random combinations of labels, whose mean square is that of all labels."""
    return np.random.default_rng([seed, 1]).choice([-1.0, 1.0], size=(labels, count))


def regress_mixtures(X: Operator, mixed: Array, alpha: float, tol: float) -> LabelProbes | None:
    """Regress mixtures of the labels on all features; None where that does not converge."""
    fit = regress(X, X.place(mixed), alpha, tol=_REGRESSED * tol, share=_SHARE * tol)
    if not fit.converged:
        return None
    image = X.matmat(X.place(fit.slopes))
    return LabelProbes(mixed, float(np.square(column_norms(image)).sum()))


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
    """

    mixed: Array
    square: float
    _seen: Array | None = None

    def outside(self, space: KrylovSpace, alpha: float, tolerance: float) -> float:
        """Estimate the squared norm of the fitted labels that a space lacks."""
        known = self._seen
        done = 0 if known is None else known.shape[0]
        parts, start = [] if known is None else [known], 0
        for image in space.image:
            if start >= done:
                parts.append(inner(image, self.mixed))
            start += image.shape[1]
        self._seen = np.concatenate(parts)
        slopes = psd_solve(space.gram, self._seen, alpha, tolerance)
        inside = float((slopes * (space.gram @ slopes)).sum())
        return float(max(0.0, (self.square - inside) / self.mixed.shape[1]))
