"""The factor of MLSI: features and labels side by side, balanced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._typing import Array
from .factor import Factor, Regression

__all__ = ["Form", "Stack", "stack_weights"]

Form = Literal["ridge", "inverse", "direct"]


@dataclass(frozen=True)
class Stack:
    """The weights of features and labels in MLSI: ``share * X X'`` and ``scale * Y``.

    Attributes
    ----------
    share, scale : float
    regression : Regression or None
        None where the labels enter as they are.

    Examples
    --------
    >>> from labelspan.labels import stack_weights
    >>> stack = stack_weights(x_square=4.0, y_square=1.0, beta=0.5, alpha=1.0, form="direct")
    >>> stack.share, stack.regression
    (0.125, None)
    """

    share: float
    scale: float
    regression: Regression | None

    def factor(self, labels: Array) -> Factor:
        """Return the factor for given labels; without labels where their weight is zero."""
        if self.scale == 0:
            return Factor(share=self.share)
        return Factor(self.scale * labels, self.share, self.regression)


def stack_weights(
    *,
    x_square: float,
    y_square: float,
    beta: float,
    alpha: float,
    form: Form,
    balance: bool = True,
) -> Stack:
    """Compute the weights in yu2005's ``C = (1 - beta) X X' + beta Y Y'`` for one of three forms.

    ``x_square`` and ``y_square`` are squared Frobenius norms. With ``balance``, X and Y are
    divided by their norms so that both parts of C have trace one; the division is done in the
    weights, and X itself is not changed.

    ``"ridge"``
        Y enters as its ridge regression on X, with ``alpha`` in the units of X.
    ``"inverse"``
        yu2005 Eq. 8 and 12 for every ``alpha`` (its gamma, on the balanced X): with
        ``t = 1/(1 - beta) + alpha`` and B the minimum-norm regression, the weight of X is
        ``1/t`` and the regressed labels are mixed by
        ``Q = t^-2 ((1 - beta)^2 (I/beta + B'B/(1 - beta)) - B'B/t)^-1``.
    ``"direct"``
        yu2005 Eq. 4: Y enters as it is, and ``alpha`` belongs to the metric.

    Parameters
    ----------
    x_square, y_square : float
    beta : float
        Weight of the labels, from 0 to 1.
    alpha : float
    form : {"ridge", "inverse", "direct"}
    balance : bool, default=True

    Returns
    -------
    Stack

    Examples
    --------
    >>> from labelspan.labels import stack_weights
    >>> stack_weights(x_square=4.0, y_square=1.0, beta=0.0, alpha=1.0, form="ridge").share
    0.25
    """
    x_square = x_square if balance and x_square > 0 else 1.0
    y_square = y_square if balance and y_square > 0 else 1.0
    if beta == 0:
        weight = 1.0 + alpha if form == "inverse" else 1.0
        return Stack(1.0 / (weight * x_square), 0.0, None)
    if form == "inverse":
        t = 1.0 / (1.0 - beta) + alpha

        def mix(square: Array) -> Array:
            return _mix(square * x_square, 1.0 - beta, t)

        return Stack(1.0 / (t * x_square), 1.0 / np.sqrt(y_square), Regression(0.0, mix))
    regression = Regression(alpha) if form == "ridge" else None
    return Stack((1.0 - beta) / x_square, np.sqrt(beta / y_square), regression)


def _mix(square: Array, share: float, t: float) -> Array:
    """Return ``Q^1/2`` of the inverse form, by the eigenvalues of B'B."""
    values, axes = np.linalg.eigh((square + square.T) / 2)
    values = np.maximum(values, 0.0)
    inner = share**2 * (1.0 / (1.0 - share) + values / share) - values / t
    return np.asarray((axes / (t * np.sqrt(inner))) @ axes.T)
