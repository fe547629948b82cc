"""Penalties on the weights: the 2-norm in every solver, the 1-norm in least squares."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["L1", "L2", "Penalty"]


@dataclass(frozen=True)
class L2:
    """``alpha * |w|^2``, added to the metric: ``X'X + alpha I``.

    Parameters
    ----------
    alpha : float, default=0.0
        Regularization strength, in squared units of the features.

    See Also
    --------
    L1 : Sparse loadings.

    Examples
    --------
    >>> from labelspan.solvers import L2
    >>> L2().alpha
    0.0
    """

    alpha: float = 0.0
    name = "l2"


@dataclass(frozen=True)
class L1:
    """``alpha * |w|_1`` added to the squared error: sparse loadings.

    Parameters
    ----------
    alpha : float
        Regularization strength.

    See Also
    --------
    L2 : Ridge.

    Examples
    --------
    >>> from labelspan.solvers import L1
    >>> L1(0.1).name
    'l1'
    """

    alpha: float
    name = "l1"


Penalty = L1 | L2
