"""Label ranking metrics, averaged over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidLabels
from .metric_inputs import Array, read_indicator, read_scores

__all__ = ["RowMean", "one_error", "rankable_rows"]


@dataclass(frozen=True)
class RowMean:
    """Hold a mean over rows.

    Attributes
    ----------
    value : float
        The mean over the rows that the metric is defined for.
    left_out : int
        The number of other rows.

    See Also
    --------
    one_error : Fraction of rows whose highest-scored label is wrong.

    Examples
    --------
    >>> from labelspan.metrics import one_error
    >>> one_error([[1, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.2]])
    RowMean(value=0.5, left_out=0)
    """

    value: float
    left_out: int


def one_error(Y: Any, scores: Any) -> RowMean:
    """Compute the fraction of rows whose highest-scored label is wrong.

    Rows without labels are left out and counted. If several labels share the highest score, the
    row counts as an error unless all of them are labels of the row.

    Parameters
    ----------
    Y : array or sparse matrix of shape (n, k)
        The labels, 0 and 1; k is at least 2.
    scores : array of shape (n, k)
        A score per row and label; higher means more likely.

    Returns
    -------
    RowMean
        The fraction, and the number of rows without labels.

    See Also
    --------
    rankable_rows : Select rows for the ranking metrics of scikit-learn.

    Examples
    --------
    >>> from labelspan.metrics import one_error
    >>> one_error([[1, 0], [1, 0], [0, 0]], [[0.9, 0.2], [0.3, 0.4], [0.5, 0.6]])
    RowMean(value=0.5, left_out=1)
    """
    truth, scores, left_out = _rankable(Y, scores, "one_error")
    highest = scores == scores.max(axis=1, keepdims=True)
    return RowMean(float((highest & ~truth).any(axis=1).mean()), left_out)


def rankable_rows(Y: Any, scores: Any, *, pairs: bool = False) -> tuple[Array, Array, int]:
    """Select the rows that a label ranking metric of scikit-learn can evaluate.

    scikit-learn's ``coverage_error`` and ``label_ranking_loss`` count a row without labels as 0,
    and ``label_ranking_average_precision_score`` counts it as 1, which changes the mean over rows.
    Apply them to what this function returns to leave such rows out.

    Parameters
    ----------
    Y : array or sparse matrix of shape (n, k)
        The labels, 0 and 1; k is at least 2.
    scores : array of shape (n, k)
        A score per row and label; higher means more likely.
    pairs : bool, default=False
        Whether a row must also lack a label, as ``label_ranking_loss`` needs.

    Returns
    -------
    Y : array of bool, of shape (m, k)
        The labels of the selected rows.
    scores : array of shape (m, k)
        Their scores.
    left_out : int
        The number of rows that were left out, n - m.

    See Also
    --------
    one_error : Fraction of rows whose highest-scored label is wrong.

    Examples
    --------
    >>> from sklearn.metrics import coverage_error, label_ranking_loss
    >>> from labelspan.metrics import rankable_rows
    >>> Y = [[1, 0, 0], [0, 0, 0], [1, 1, 1]]
    >>> scores = [[0.5, 0.9, 0.1], [0.2, 0.4, 0.3], [0.5, 0.4, 0.3]]
    >>> truth, kept, left_out = rankable_rows(Y, scores)
    >>> float(coverage_error(truth, kept)), left_out
    (2.5, 1)
    >>> truth, kept, left_out = rankable_rows(Y, scores, pairs=True)
    >>> float(label_ranking_loss(truth, kept)), left_out
    (0.5, 2)
    """
    return _rankable(Y, scores, "rankable_rows", pairs=pairs)


def _rankable(Y: Any, scores: Any, owner: str, *, pairs: bool = False) -> tuple[Array, Array, int]:
    truth = read_indicator(Y, "Y", owner)
    scores = read_scores(scores, truth, owner)
    if truth.shape[1] < 2:
        raise InvalidLabels(f"{owner}: Y must have at least two labels to rank, but has one.")
    kept = truth.any(axis=1)
    if pairs:
        kept &= ~truth.all(axis=1)
    if not kept.any():
        has = "a label, and lacks one" if pairs else "a label"
        raise InvalidLabels(f"{owner}: no row of Y has {has}; give at least one that has.")
    return truth[kept], np.asarray(scores[kept]), int((~kept).sum())
