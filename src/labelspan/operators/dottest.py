"""The dot test: whether the two products of an operator belong to the same matrix."""

from __future__ import annotations

import numpy as np

from .array_backend import host
from .operator import Operator

__all__ = ["dottest"]


def dottest(operator: Operator, *, width: int = 3, seed: int = 0) -> float:
    """Compute the relative gap between ``<X v, u>`` and ``<v, X' u>`` for random blocks.

    It is zero up to rounding for a correct operator. Use it to test an operator of your own.

    Parameters
    ----------
    operator : Operator
        The operator to test.
    width : int, default=3
        Number of columns of the blocks.
    seed : int, default=0
        Seed of the random blocks.

    Returns
    -------
    gap : float
        Relative to the product of the norms.

    See Also
    --------
    labelspan.checks.check_operator : Check all methods of an operator.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator, dottest
    >>> dottest(as_operator(np.eye(4))) < 1e-12
    True
    """
    rng = np.random.default_rng(seed)
    rows, columns = operator.shape
    right = rng.standard_normal((columns, width)).astype(operator.dtype)
    left = rng.standard_normal((rows, width)).astype(operator.dtype)
    forward = host(operator.matmat(right))
    one = float(np.vdot(forward, left))
    two = float(np.vdot(right, host(operator.rmatmat(left))))
    scale = float(np.linalg.norm(forward) * np.linalg.norm(left))
    return abs(one - two) / scale if scale else abs(one - two)
