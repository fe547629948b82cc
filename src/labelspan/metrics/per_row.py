"""Measures row by row: how well the scores rank a row's labels above the others.

In all of them a tie counts against the scores, as scikit-learn has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import (
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from ..errors import InvalidLabels
from .metric_inputs import Array, read_indicator, read_scores

__all__ = ["RowMean", "coverage", "label_ranking_average_precision", "one_error", "ranking_loss"]


@dataclass(frozen=True)
class RowMean:
    """A mean over rows; ``left_out`` counts the rows that the measure cannot judge.

    Attributes
    ----------
    value : float
    left_out : int

    Examples
    --------
    >>> from labelspan.metrics import one_error
    >>> one_error([[1, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.2]])
    RowMean(value=0.5, left_out=0)
    """

    value: float
    left_out: int


def one_error(Y: Any, scores: Any) -> RowMean:
    """The share of rows whose highest label is not theirs; scikit-learn has no such measure.

    Rows without labels are left out and counted. Where several labels share the highest
    score, one that is not the row's makes an error.

    Parameters
    ----------
    Y : array or sparse matrix of shape (n, k)
        The labels, 0 and 1; k is at least 2.
    scores : array of shape (n, k)
        The higher, the surer.

    Returns
    -------
    RowMean

    Examples
    --------
    >>> from labelspan.metrics import one_error
    >>> one_error([[1, 0], [1, 0], [0, 0]], [[0.9, 0.2], [0.3, 0.4], [0.5, 0.6]])
    RowMean(value=0.5, left_out=1)
    """
    truth, scores, left_out = _judged(Y, scores, "one_error")
    highest = scores == scores.max(axis=1, keepdims=True)
    return RowMean(float((highest & ~truth).any(axis=1).mean()), left_out)


def coverage(Y: Any, scores: Any) -> RowMean:
    """How far down the ranking one must go, on average, to meet all labels of a row.

    scikit-learn's ``coverage_error`` on the rows with labels; the others are left out and
    counted, where scikit-learn counts them as 0. The highest label has depth 1 (some papers
    start at 0), and the best value is the mean number of labels a row.

    Parameters
    ----------
    Y : array or sparse matrix of shape (n, k)
        The labels, 0 and 1; k is at least 2.
    scores : array of shape (n, k)
        The higher, the surer.

    Returns
    -------
    RowMean

    Examples
    --------
    >>> from labelspan.metrics import coverage
    >>> coverage([[1, 0, 0], [0, 0, 1]], [[0.9, 0.2, 0.1], [0.5, 0.4, 0.3]])
    RowMean(value=2.0, left_out=0)
    """
    truth, scores, left_out = _judged(Y, scores, "coverage")
    return RowMean(float(coverage_error(truth, scores)), left_out)


def ranking_loss(Y: Any, scores: Any) -> RowMean:
    """The share of pairs, a label of the row and one that is not, in the wrong order.

    scikit-learn's ``label_ranking_loss`` on the rows that have such pairs; rows with no label
    or with all of them are left out and counted, where scikit-learn counts them as 0.

    Parameters
    ----------
    Y : array or sparse matrix of shape (n, k)
        The labels, 0 and 1; k is at least 2.
    scores : array of shape (n, k)
        The higher, the surer.

    Returns
    -------
    RowMean

    Examples
    --------
    >>> from labelspan.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 0], [1, 1, 1]], [[0.5, 0.9, 0.1], [0.5, 0.4, 0.3]])
    RowMean(value=0.5, left_out=1)
    """
    truth, scores, left_out = _judged(Y, scores, "ranking_loss", pairs=True)
    return RowMean(float(label_ranking_loss(truth, scores)), left_out)


def label_ranking_average_precision(Y: Any, scores: Any) -> RowMean:
    """The mean, over a row's labels, of the share of its labels among those ranked as high.

    scikit-learn's ``label_ranking_average_precision_score`` on the rows with labels; the
    others are left out and counted, where scikit-learn counts them as 1.

    Parameters
    ----------
    Y : array or sparse matrix of shape (n, k)
        The labels, 0 and 1; k is at least 2.
    scores : array of shape (n, k)
        The higher, the surer.

    Returns
    -------
    RowMean

    Examples
    --------
    >>> from labelspan.metrics import label_ranking_average_precision
    >>> label_ranking_average_precision([[1, 0], [0, 1]], [[0.9, 0.2], [0.8, 0.3]])
    RowMean(value=0.75, left_out=0)
    """
    truth, scores, left_out = _judged(Y, scores, "label_ranking_average_precision")
    return RowMean(float(label_ranking_average_precision_score(truth, scores)), left_out)


def _judged(Y: Any, scores: Any, owner: str, *, pairs: bool = False) -> tuple[Array, Array, int]:
    """The rows that can be judged, and how many cannot; ``pairs`` asks for a label not theirs."""
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
