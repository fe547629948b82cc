"""Choose the number of directions of a reduced-rank regression from its spectrum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import host
from .regression import regress

__all__ = ["RankChoice", "choose_rank", "degrees_of_freedom"]

# The exponent of the weights that Chen, Dong and Chan recommend.
_EXPONENT = 2.0
# Random signs that the trace of a large regression is estimated from.
_SIGNS = 8


@dataclass(frozen=True)
class RankChoice:
    """The rank with the smallest estimated prediction error.

    Attributes
    ----------
    rank : int
        At least 1.
    errors : array of shape (m,)
        Generalized cross-validation error of rank 1, 2, ...; infinite where a rank has more
        degrees of freedom than there are observations.

    Examples
    --------
    >>> from labelspan.solvers.rank_choice import choose_rank
    >>> choose_rank([90.0, 50.0, 0.4, 0.3], total=180.0, rows=100, labels=4, freedom=5.0).rank
    2
    """

    rank: int
    errors: Array


def choose_rank(
    eigenvalues: Array,
    *,
    total: float,
    rows: int,
    labels: int,
    freedom: float,
    kept: Array | None = None,
) -> RankChoice:
    r"""Choose the rank of a regression of labels on features from its eigenvalues.

    Reduced-rank regression with an adaptive nuclear norm penalty [1]_ shrinks the singular
    values d of the fitted labels to :math:`d (1 - (\tau / d)^{\gamma + 1})_+` with
    :math:`\gamma = 2`: directions of noise vanish and strong ones stay as they are. For each
    rank r the threshold is the next singular value, and the rank with the smallest generalized
    cross-validation error is taken, with r (f + k - r) degrees of freedom, f those of the
    regression of one label.

    Parameters
    ----------
    eigenvalues : array of shape (m,)
        Squared singular values of the fitted labels, falling: the eigenvalues of OPLS.
    total : float
        Squared norm of the labels.
    rows, labels : int
        Number of observations and of independent labels.
    freedom : float
        Degrees of freedom of the regression of one label: the rank of the features, or less
        with a penalty; see :func:`degrees_of_freedom`.
    kept : array of shape (m,) or None, default=None
        What a penalty keeps of the squared length of each fitted direction, relative to its
        eigenvalue; None is 1, for no penalty.

    Returns
    -------
    RankChoice

    References
    ----------
    .. [1] Chen, Dong and Chan. Reduced rank regression via adaptive nuclear norm
       penalization. Biometrika 100(4), 2013.
    """
    values = np.maximum(np.asarray(eigenvalues, dtype=np.float64), 0.0)
    kept = np.ones(values.size) if kept is None else np.asarray(kept, dtype=np.float64)
    ranks = np.arange(1, values.size + 1)
    used = ranks * (freedom + np.maximum(labels - ranks, 0))
    left = rows * labels - used
    errors = np.full(values.size, np.inf)
    roots = np.sqrt(values)
    thresholds = np.append(roots[1:], 0.0)
    for rank in ranks[left > 0]:
        d = roots[:rank]
        shares = 1.0 - np.divide(thresholds[rank - 1], d, out=np.zeros(rank), where=d > 0) ** (
            _EXPONENT + 1
        )
        explained = values[:rank] * shares * (2.0 - shares * kept[:rank])
        residual = max(total - float(explained.sum()), 0.0)
        errors[rank - 1] = rows * labels * residual / left[rank - 1] ** 2
    best = int(np.argmin(errors)) + 1 if np.isfinite(errors).any() else 1
    return RankChoice(best, errors)


def degrees_of_freedom(X: Operator, alpha: float, *, seed: int = 0) -> float:
    """Return the trace of ``X (X'X + alpha I)^+ X'``.

    Estimated from the regression of a few random signs, to about one percent where the trace is
    large; never more than the smaller side.
    """
    rng = np.random.default_rng(seed)
    signs = rng.integers(0, 2, (X.shape[0], _SIGNS)) * 2.0 - 1.0
    found = regress(X, signs, alpha)
    return float(np.clip(np.diag(host(found.agreement)).mean(), 1.0, min(X.shape)))
