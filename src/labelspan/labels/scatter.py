"""Scatter between and within classes, with multi-label rows (wang2010, Eq. 12-15)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..operators import Operator, Scaled

__all__ = ["class_scatter"]


class Scatter(NamedTuple):
    """B with ``S_b = B B'``, S_w, and their sum S_t, about the multi-label mean."""

    between: Array
    within: Array
    total: Array


def class_scatter(X: Operator, Y: Array) -> Scatter:
    """Compute the class-wise scatters of the rows of X, counted once for each of their labels.

    With ``n_k`` rows in class k and ``m`` the mean over all pairs of a row and its label,
    ``S_b = sum n_k (m_k - m)(m_k - m)'``, ``S_t = sum y_ik (x_i - m)(x_i - m)'`` and
    ``S_w = S_t - S_b = sum y_ik (x_i - m_k)(x_i - m_k)'``. With one label per row they
    are those of linear discriminant analysis.

    Parameters
    ----------
    X : Operator
        The rows.
    Y : array of shape (n, k)
        A 0/1 indicator.

    Returns
    -------
    tuple of arrays
        ``between`` of shape (d, k), B with ``S_b = B B'``; ``within`` and ``total``, of shape
        (d, d).

    See Also
    --------
    lda_factor : The label factor of linear discriminant analysis.

    References
    ----------
    .. [1] Wang, H., Huang, H., & Ding, C. (2010). Discriminant Laplacian embedding. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.scatter import class_scatter
    >>> from labelspan.operators import as_operator
    >>> X, Y = np.array([[0.0], [2.0], [6.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> scatter = class_scatter(as_operator(X), Y)
    >>> float(np.round(scatter.within[0, 0], 10))
    2.0
    """
    sizes, counts = Y.sum(axis=0), Y.sum(axis=1)
    mean = X.cross(counts[:, None])[:, 0] / counts.sum()
    about = X.shifted(mean)
    alive = sizes > 0
    between = about.cross(Y[:, alive] / np.sqrt(sizes[alive]))
    total = Scaled(about, rows=np.sqrt(counts)).gram()
    return Scatter(between, total - between @ between.T, total)
