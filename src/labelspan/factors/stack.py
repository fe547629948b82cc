"""MLSI's factor: features and labels side by side, in balance."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..operators.base import Array
from .base import Factor, Regression

__all__ = ["Form", "stack_factor"]

Form = Literal["ridge", "inverse", "direct"]


def stack_factor(
    labels: Array,
    *,
    features_square: float,
    beta: float,
    alpha: float,
    form: Form,
    balance: bool = True,
) -> Factor:
    """The factor of yu2005's ``C = (1 - beta) X X' + beta Y Y'`` in one of three forms.

    ``features_square`` is the squared Frobenius norm of X. Balanced, X and Y are divided
    by their norms so that both sides of C have trace one; the division is carried by the
    weights, and X itself is never touched.

    ``"ridge"``
        Y enters as its ridge regression on X, with ``alpha`` in the units of X.
    ``"inverse"``
        yu2005 Eq. 8 and 12 for every ``alpha`` (its gamma, on the balanced X): with
        ``t = 1/(1 - beta) + alpha`` and B the minimum-norm regression, the weight of X is
        ``1/t`` and the regressed labels are mixed by
        ``Q = t^-2 ((1 - beta)^2 (I/beta + B'B/(1 - beta)) - B'B/t)^-1``.
    ``"direct"``
        yu2005 Eq. 4: Y enters as it is, and ``alpha`` belongs to the metric.
    """
    x_square = features_square if balance and features_square > 0 else 1.0
    y_square = float(np.square(labels).sum())
    y_square = y_square if balance and y_square > 0 else 1.0
    if beta == 0:
        weight = 1.0 + alpha if form == "inverse" else 1.0
        return Factor(share=1.0 / (weight * x_square))
    unit = labels / np.sqrt(y_square)
    if form == "inverse":
        t = 1.0 / (1.0 - beta) + alpha

        def mix(square: Array) -> Array:
            return _mix(square * x_square, 1.0 - beta, t)

        return Factor(unit, 1.0 / (t * x_square), Regression(0.0, mix))
    regression = Regression(alpha) if form == "ridge" else None
    return Factor(np.sqrt(beta) * unit, (1.0 - beta) / x_square, regression)


def _mix(square: Array, share: float, t: float) -> Array:
    """``Q^1/2`` of the inverse form, by the eigenvalues of B'B."""
    values, axes = np.linalg.eigh((square + square.T) / 2)
    values = np.maximum(values, 0.0)
    inner = share**2 * (1.0 / (1.0 - share) + values / share) - values / t
    return np.asarray((axes / (t * np.sqrt(inner))) @ axes.T)
