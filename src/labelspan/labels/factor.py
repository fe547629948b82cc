"""The label factor: all that a solver knows of a method; and that of MLSI, which is stacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .._typing import Array
from ..operators.array_backend import host, inner, scale_columns, scaled, width_of

__all__ = [
    "RANK_TOLERANCE",
    "Balance",
    "Factor",
    "Form",
    "Regression",
    "Stack",
    "block_rank",
    "equalizing_weights",
    "rank_tolerance",
    "square_rank",
    "stack_weights",
    "unit_columns",
]

# Directions whose squared length is below this fraction of the longest are rounding.
RANK_TOLERANCE = 1e-10
# Products of columns have enough digits of directions with this fraction of the longest.
_CLEAR = 1e-6

Form = Literal["ridge", "inverse", "direct"]
# What the sides of MLSI are divided by.
Balance = Literal["equalized", "fitted", "labels"] | bool


@dataclass(frozen=True)
class Regression:
    """The replacement of labels by their regression on the features: ``X B Q^1/2``.

    Parameters
    ----------
    alpha : float
        Regularization strength: ``B = (X'X + alpha I)^+ X'L``.
    mix : callable or None, default=None
        Takes ``B'B`` and returns ``Q^1/2``; None means that Q is the identity.
    norm : float or None, default=None
        If given, the regressed labels are divided by their Frobenius norm and multiplied by
        this one: a strong penalty shrinks them, and they would lose their weight.

    See Also
    --------
    Factor : The factor that it is part of.

    Examples
    --------
    >>> from labelspan.labels import Regression
    >>> Regression(1.0).mix is None
    True
    """

    alpha: float
    mix: Callable[[Array], Array] | None = None
    norm: float | None = None

    def rescale(self, length: float) -> float:
        """Return what regressed labels of a Frobenius norm are multiplied by."""
        if self.norm is None or not length > 0:
            return 1.0
        return self.norm / length


@dataclass(frozen=True)
class Factor:
    """The label agreement ``S = share * X X' + L L'`` that a method maximises.

    Parameters
    ----------
    labels : array of shape (n, s) or None, default=None
        L, a thin block; None for a method without labels.
    share : float, default=0.0
        Weight of the features themselves. 0 for OPLS, CCA, LDA and HSL.
    regression : Regression or None, default=None
        If given, L is replaced by its regression on X, so that S stays within range(X).

    See Also
    --------
    read_labels : Read labels of any type.
    opls_factor, cca_factor, lda_factor, hsl_factor : Blocks L of the methods.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> Factor(labels=np.ones((3, 1))).thin, Factor(share=1.0).thin
    (True, False)
    """

    labels: Array | None = None
    share: float = 0.0
    regression: Regression | None = None

    @property
    def thin(self) -> bool:
        """Whether S is ``L L'`` only, without the features and without a regression."""
        return self.share == 0 and self.regression is None


def block_rank(block: Array) -> int:
    """Count the independent columns of a thin block, whatever their scales.

    Parameters
    ----------
    block : array of shape (n, s)

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.factor import block_rank
    >>> block_rank(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]]))
    1
    >>> block_rank(np.array([[1.0, 1.0 + 1e-7], [1.0, 1.0], [0.0, 0.0]]))
    2
    """
    return int(unit_columns(block).axes.shape[1])


class UnitColumns(NamedTuple):
    """``block = left diag(singular) axes' diag(lengths)`` without null directions.

    ``left`` is None where the products of the block have told the others well enough.
    """

    left: Array | None
    singular: Array
    axes: Array
    lengths: Array


def unit_columns(block: Array) -> UnitColumns:
    """Decompose a thin block with columns of unit length; those of zeros have no direction.

    Products of columns keep half of the digits of a short direction: columns that nearly repeat
    each other are decomposed themselves.

    Parameters
    ----------
    block : array of shape (n, s)

    Returns
    -------
    UnitColumns
    """
    square = inner(block, block, dtype=np.float64)
    lengths = np.sqrt(square.diagonal())
    alive = np.where(lengths > 0, lengths, 1.0)
    unit = square / alive / alive[:, None]
    values, axes = np.linalg.eigh((unit + unit.T) / 2)
    values, axes = values[::-1], axes[:, ::-1]
    if not values.size or values[-1] > _CLEAR * values[0] or not values[0] > 0:
        keep = values > 0
        return UnitColumns(None, np.sqrt(values[keep]), axes[:, keep], alive)
    rows = host(block).astype(np.float64, copy=False) / alive
    left, singular, turned = np.linalg.svd(rows, full_matrices=False)
    keep = singular > rank_tolerance(width_of(block), rows.shape) * singular[0]
    return UnitColumns(left[:, keep], singular[keep], turned[keep].T, alive)


def rank_tolerance(dtype: Any, shape: tuple[int, int]) -> float:
    """Return the singular value, relative to the largest, below which a direction is null.

    To be applied after columns are scaled to unit length. Rounding of the entries of X in
    their own width has singular values of about eps then, whatever the number of rows:
    8 eps times the root of the smaller side. Sums over rows and columns, in float64, add
    8 eps times the root of both sides. Data in float32 is taken to have been computed in
    float32: its rank is that of its own width.

    Parameters
    ----------
    dtype : dtype
    shape : (int, int)

    Returns
    -------
    float
    """
    rows, columns = max(1, shape[0]), max(1, shape[1])
    entries = float(np.finfo(dtype).eps) * np.sqrt(min(rows, columns))
    return float(8 * max(entries, float(np.finfo(np.float64).eps) * np.sqrt(rows * columns)))


def square_rank(square: Array) -> int:
    """Count the independent columns of a block B from ``B'B``.

    Parameters
    ----------
    square : array of shape (s, s)

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.factor import square_rank
    >>> square_rank(np.diag([1.0, 1e-20, 0.0]))
    2
    """
    norms = np.sqrt(square.diagonal())
    alive = norms > 0
    if not alive.all():
        square, norms = square[np.ix_(alive, alive)], norms[alive]
    if not norms.size:
        return 0
    unit = square / norms / norms[:, None]
    spectrum = np.linalg.eigvalsh((unit + unit.T) / 2)
    return int((spectrum > RANK_TOLERANCE * spectrum[-1]).sum())


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
    >>> from labelspan.labels.factor import stack_weights
    >>> stack = stack_weights(x_square=4.0, y_square=1.0, beta=0.5, alpha=1.0, form="direct")
    >>> stack.share, stack.regression
    (0.125, None)
    """

    share: float
    scale: float
    regression: Regression | None

    def factor(self, labels: Array, weights: Array | None = None) -> Factor:
        """Return the factor for given labels; without labels where their weight is zero.

        ``weights`` has a number per label, which multiplies it.
        """
        if self.scale == 0:
            return Factor(share=self.share)
        if weights is None:
            return Factor(scaled(labels, self.scale), self.share, self.regression)
        return Factor(scale_columns(labels, self.scale * weights), self.share, self.regression)


def stack_weights(
    *,
    x_square: float,
    y_square: float,
    beta: float,
    alpha: float,
    form: Form,
    balance: Balance = "labels",
) -> Stack:
    """Compute the weights in yu2005's ``C = (1 - beta) X X' + beta Y Y'`` for one of three forms.

    ``x_square`` and ``y_square`` are squared Frobenius norms. With ``balance="labels"``, X and Y
    are divided by their norms so that both parts of C have trace one; with "fitted", and the form
    "ridge", the fitted labels are divided by their own norm instead of that of Y; "equalized" is
    the same here, for labels that :func:`equalizing_weights` has weighted. The division is
    done in the weights, and X itself is not changed.

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
    balance : {"labels", "fitted", "equalized"} or bool, default="labels"
        True is "labels", False divides by nothing.

    Returns
    -------
    Stack

    Examples
    --------
    >>> from labelspan.labels.factor import stack_weights
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
            return _mix(square * x_square, beta, alpha)

        return Stack(1.0 / (t * x_square), 1.0 / np.sqrt(y_square), Regression(0.0, mix))
    regression = Regression(alpha) if form == "ridge" else None
    if balance in ("fitted", "equalized") and form == "ridge":
        regression = Regression(alpha, norm=float(np.sqrt(beta)))
    return Stack((1.0 - beta) / x_square, np.sqrt(beta / y_square), regression)


def equalizing_weights(squares: Array) -> Array:
    """Return what labels are multiplied by so that rare ones count more: one over the root of s.

    s is the standard deviation of a label. As they are, labels count by how much they vary, and
    frequent ones take the space; divided by s, each counts alike, and those of few rows bring
    noise. On five data sets the root of s is ahead of both, in neighbours and in label scores.

    Parameters
    ----------
    squares : array of shape (k,)
        Mean square of each label, centred where it is used so.

    Returns
    -------
    array of shape (k,)
        1 for a label without variation.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.factor import equalizing_weights
    >>> equalizing_weights(np.array([1.0, 16.0, 0.0])).tolist()
    [1.0, 0.5, 1.0]
    """
    varied = squares > 0
    return np.where(varied, np.where(varied, squares, 1.0) ** -0.25, 1.0)


def _mix(square: Array, beta: float, alpha: float) -> Array:
    """Return ``Q^1/2`` of the inverse form, by the eigenvalues of B'B.

    With ``c = 1 + (1 - beta) alpha`` the formula becomes
    ``Q = c^-2 (I / beta + (alpha / c) B'B)^-1``: no differences, and no division by ``1 - beta``.
    """
    values, axes = np.linalg.eigh((square + square.T) / 2)
    c = 1.0 + (1.0 - beta) * alpha
    inner = 1.0 / beta + (alpha / c) * np.maximum(values, 0.0)
    return np.asarray((axes / (c * np.sqrt(inner))) @ axes.T)
