"""The label factor: all that a solver knows of a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators.array_backend import inner

__all__ = ["RANK_TOLERANCE", "Factor", "Regression", "block_rank", "square_rank"]

# Directions whose squared length is below this fraction of the longest are rounding.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Regression:
    """The replacement of labels by their regression on the features: ``X B Q^1/2``.

    Parameters
    ----------
    alpha : float
        Regularization strength: ``B = (X'X + alpha I)^+ X'L``.
    mix : callable or None, default=None
        Takes ``B'B`` and returns ``Q^1/2``; None means that Q is the identity.

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
    >>> from labelspan.labels import block_rank
    >>> block_rank(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]]))
    1
    """
    return square_rank(inner(block, block))


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
    >>> from labelspan.labels import square_rank
    >>> square_rank(np.diag([1.0, 1e-20, 0.0]))
    2
    """
    norms = np.sqrt(np.diag(square))
    alive = norms > 0
    if not alive.any():
        return 0
    scaled = square[np.ix_(alive, alive)] / np.outer(norms[alive], norms[alive])
    spectrum = np.linalg.eigvalsh((scaled + scaled.T) / 2)
    return int((spectrum > RANK_TOLERANCE * spectrum[-1]).sum())
