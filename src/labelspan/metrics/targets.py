"""Measures for real targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from .metric_inputs import read_numbers, read_scores

__all__ = ["r_squared"]


def r_squared(Y: Any, scores: Any) -> float:
    """The share of the targets' variance that the scores explain, over all columns.

    ``1 - |Y - scores|^2 / |Y - mean|^2``, which is scikit-learn's ``r2_score(multioutput=
    "variance_weighted")`` but for columns of Y that do not vary: their errors count here.
    0 where no column varies.

    Parameters
    ----------
    Y, scores : arrays of shape (n, k)

    Returns
    -------
    float

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
