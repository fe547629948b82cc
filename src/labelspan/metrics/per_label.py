"""Metrics per label, and their means over labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidLabels, InvalidParameter
from .metric_inputs import Array, read_indicator, read_numbers, read_predictions, read_scores

__all__ = ["average_precision", "f1_scores", "mean_auc", "threshold_by_share"]


@dataclass(frozen=True)
class LabelMean:
    """A mean over labels, with the value of each label and the number of labels left out."""

    value: float
    per_label: Array
    left_out: int


@dataclass(frozen=True)
class F1Scores:
    """Macro and micro F1, with the F1 of each label and the number of labels left out."""

    macro: float
    micro: float
    per_label: Array
    left_out: int


def f1_scores(Y: Any, predictions: Any) -> F1Scores:
    """Compute macro and micro F1 of predicted labels.

    Micro F1 equals scikit-learn's ``f1_score(average="micro")``. Macro F1 is the mean over the
    labels that at least one row of Y has: for other labels F1 is 0 or undefined whatever is
    predicted. scikit-learn's ``average="macro"`` counts such labels as 0, which is
    ``np.nan_to_num(per_label).mean()``.

    Parameters
    ----------
    Y, predictions : arrays or sparse matrices of shape (n, k)
        The true and the predicted labels, 0 and 1.

    Returns
    -------
    F1Scores
        With ``macro``, the mean of the F1 of labels; ``micro``, the F1 of all labels together;
        ``per_label``, NaN if no row has the label; and ``left_out``, the number of such labels.

    See Also
    --------
    threshold_by_share : Thresholds that predict each label for a given fraction of rows.
    mean_auc : Quality of scores without thresholds.

    Notes
    -----
    From true positives, false positives and false negatives, of one label or of all together,
    :math:`F_1 = 2 TP / (2 TP + FP + FN)`.

    Examples
    --------
    >>> from labelspan.metrics import f1_scores
    >>> found = f1_scores([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 1]])
    >>> found.macro, round(found.micro, 3), found.left_out
    (0.5, 0.667, 1)
    """
    truth = read_indicator(Y, "Y", "f1_scores")
    said = read_predictions(predictions, truth, "f1_scores")
    hits = (truth & said).sum(axis=0)
    carried = np.asarray(truth.any(axis=0))
    # 2 TP + FP + FN is the number of true labels plus that of predicted labels.
    sizes = truth.sum(axis=0) + said.sum(axis=0)
    macro = _mean_over(2 * hits, sizes, carried, "f1_scores: no row of Y has a label")
    micro = 2 * float(hits.sum()) / float(sizes.sum())
    return F1Scores(macro.value, micro, macro.per_label, macro.left_out)


def mean_auc(Y: Any, scores: Any) -> LabelMean:
    """Compute the mean over labels of the area under the ROC curve.

    Each area is scikit-learn's ``roc_auc_score``. It is undefined for a label that all rows or no
    rows of Y have: such labels are left out and counted.

    Parameters
    ----------
    Y : array or sparse matrix of shape (n, k)
        The labels, 0 and 1.
    scores : array of shape (n, k)
        A score per row and label; higher means more likely.

    Returns
    -------
    LabelMean
        With ``value``, the mean over the labels for which it is defined; ``per_label``, NaN where
        it is not; and ``left_out``, the number of such labels.

    See Also
    --------
    average_precision : Mean average precision of the labels.
    f1_scores : Quality of decisions.

    Examples
    --------
    >>> from labelspan.metrics import mean_auc
    >>> found = mean_auc([[0, 0], [1, 0], [1, 0]], [[0.1, 0.3], [0.4, 0.2], [0.2, 0.1]])
    >>> found.value, found.left_out
    (1.0, 1)
    """
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415 - slow to import

    truth = read_indicator(Y, "Y", "mean_auc")
    scores = read_scores(scores, truth, "mean_auc")
    both = np.asarray(truth.any(axis=0) & ~truth.all(axis=0))
    areas = np.zeros(both.size)
    for label in np.flatnonzero(both):
        areas[label] = roc_auc_score(truth[:, label], scores[:, label])
    lacking = "mean_auc: every label of Y is present in all rows or in none"
    return _mean_over(areas, np.ones(both.size), both, lacking)


def average_precision(Y: Any, scores: Any) -> LabelMean:
    """Compute the mean average precision (mAP) over labels.

    For each label the rows are ranked by its scores. Its average precision is the mean, over the
    rows that have the label, of the precision down to that row; tied rows are counted together,
    as in scikit-learn's ``average_precision_score``. Labels that no row has are left out and
    counted.

    Parameters
    ----------
    Y : array or sparse matrix of shape (n, k)
        The labels, 0 and 1.
    scores : array of shape (n, k)
        A score per row and label; higher means more likely.

    Returns
    -------
    LabelMean
        With ``value``, the mean over the labels for which it is defined; ``per_label``, NaN where
        it is not; and ``left_out``, the number of such labels.

    See Also
    --------
    mean_auc : Area under the ROC curve, averaged over labels.
    retrieval_at_k : Quality of the nearest rows.

    Examples
    --------
    >>> from labelspan.metrics import average_precision
    >>> found = average_precision([[1, 0], [0, 0], [1, 0]], [[0.9, 0.1], [0.5, 0.2], [0.4, 0.3]])
    >>> round(found.value, 4), found.left_out
    (0.8333, 1)
    """
    truth = read_indicator(Y, "Y", "average_precision")
    scores = read_scores(scores, truth, "average_precision")
    # One label per row: sorting along memory is twice as fast.
    falling = np.ascontiguousarray(-scores.T)
    order = np.argsort(falling, axis=1)
    hits = np.take_along_axis(np.ascontiguousarray(truth.T), order, axis=1)
    found = hits.cumsum(axis=1)
    positives = found[:, -1]
    depth = np.arange(1, truth.shape[0] + 1)
    falling = np.take_along_axis(falling, order, axis=1)
    last = np.ones(falling.shape, dtype=bool)
    last[:, :-1] = falling[:, 1:] != falling[:, :-1]
    if not last.all():
        # Each row is evaluated at the end of its tie: the order within a tie is arbitrary.
        ends = np.where(last, depth, truth.shape[0])
        depth = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
        found = np.take_along_axis(found, depth - 1, axis=1)
    sums = (found / depth * hits).sum(axis=1)
    lacking = "average_precision: no row of Y has a label"
    return _mean_over(sums, positives, positives > 0, lacking)


def threshold_by_share(scores: Any, share: Any) -> Array:
    """Choose a threshold per label such that a given fraction of the rows is above it.

    With the frequencies of the labels in the training rows, each label is predicted for the same
    fraction of the rows in ``scores``; this suits scores without a natural zero. The threshold is
    the quantile ``1 - share`` of the scores of the label; rows equal to it are not above. With a
    share of 1 the label is predicted for every row.

    Parameters
    ----------
    scores : array of shape (n, k)
        A score per row and label.
    share : float, or array of shape (k,)
        From 0 to 1; the same for all labels, or one per label.

    Returns
    -------
    array of shape (k,)
        Labels are predicted by ``scores > threshold``.

    See Also
    --------
    f1_scores : F1 of the decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.metrics import threshold_by_share
    >>> scores = np.array([[0.1, 5.0], [0.2, 6.0], [0.3, 7.0], [0.4, 8.0]])
    >>> (scores > threshold_by_share(scores, [0.5, 0.25])).sum(axis=0)
    array([2, 1])
    """
    scores = read_numbers(scores, "scores", "threshold_by_share")
    shares = np.asarray(share)
    fits = shares.shape in ((), (scores.shape[1],)) and shares.dtype.kind in "fiub"
    # The comparison is also False for NaN.
    if not fits or not ((shares >= 0) & (shares <= 1)).all():
        raise InvalidParameter(
            "threshold_by_share: share must be a number from 0 to 1, or one for each of the "
            f"{scores.shape[1]} labels, but {share!r} was given."
        )
    out = np.empty(scores.shape[1], dtype=scores.dtype)
    for label, part in enumerate(np.broadcast_to(shares, out.shape)):
        column = scores[:, label]
        out[label] = np.quantile(column, 1 - part)
        if part == 1:
            out[label] = np.nextafter(column.min(), -np.inf, dtype=scores.dtype)
    return out


def _mean_over(tops: Array, bottoms: Array, kept: Array, lacking: str) -> LabelMean:
    """Average ``tops / bottoms`` over the labels that are kept."""
    if not kept.any():
        raise InvalidLabels(f"{lacking}; pass rows in which at least one label varies.")
    per_label = np.full(kept.size, np.nan)
    per_label[kept] = tops[kept] / bottoms[kept]
    return LabelMean(float(per_label[kept].mean()), per_label, int((~kept).sum()))
