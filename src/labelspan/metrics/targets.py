"""Metrics of regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from .metric_inputs import read_numbers, read_scores

__all__ = ["r_squared"]


def r_squared(Y: Any, scores: Any) -> float:
    r"""Compute the coefficient of determination over all columns.

    It differs from scikit-learn's ``r2_score(multioutput="variance_weighted")`` only for constant
    columns of Y: their errors count here.

    Parameters
    ----------
    Y : array of shape (n, k)
        The targets.
    scores : array of shape (n, k)
        The predictions.

    Returns
    -------
    float
        At most 1; 0 if all columns of Y are constant.

    See Also
    --------
    mean_auc : For labels instead of real targets.

    Notes
    -----
    With the mean :math:`\bar Y` of each column,

    .. math:: R^2 = 1 - \|Y - \hat Y\|_F^2 / \|Y - \bar Y\|_F^2 .

    Examples
    --------
    >>> from labelspan.metrics import r_squared
    >>> r_squared([[0.0, 1.0], [2.0, 3.0]], [[0.0, 1.0], [2.0, 2.0]])
    0.75
    """
    truth = read_numbers(Y, "Y", "r_squared")
    scores = read_scores(scores, truth, "r_squared")
    total = float(np.square(truth - truth.mean(axis=0)).sum())
    return 1.0 - float(np.square(truth - scores).sum()) / total if total else 0.0
