"""Measures of predictions, rankings, neighbours and subspaces, beside scikit-learn's.

Labels come as an indicator, 0 and 1, an array or a sparse matrix. What a measure cannot
judge (a label with one class, a row without labels) is left out and counted; where nothing
is left, :class:`~labelspan.errors.InvalidLabels` is raised.
"""

from .per_label import (
    F1Scores,
    LabelMean,
    MacroPrecision,
    average_precision,
    f1_scores,
    macro_precision,
    mean_auc,
    threshold_by_share,
)
from .per_row import RowMean, coverage, label_ranking_average_precision, one_error, ranking_loss
from .retrieval import RetrievalScores, ranked_at_k, retrieval_at_k
from .subspaces import principal_angles
from .targets import r_squared

__all__ = [
    "F1Scores",
    "LabelMean",
    "MacroPrecision",
    "RetrievalScores",
    "RowMean",
    "average_precision",
    "coverage",
    "f1_scores",
    "label_ranking_average_precision",
    "macro_precision",
    "mean_auc",
    "one_error",
    "principal_angles",
    "r_squared",
    "ranked_at_k",
    "ranking_loss",
    "retrieval_at_k",
    "threshold_by_share",
]
