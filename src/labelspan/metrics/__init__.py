"""Metrics of predictions, rankings, neighbours and subspaces that scikit-learn does not have.

Labels are given as an indicator of 0 and 1, an array or a sparse matrix. Labels or rows for which
a metric is undefined (a label with one class, a row without labels) are left out and counted; if
nothing is left, :class:`~labelspan.errors.InvalidLabels` is raised.
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
from .per_row import RowMean, one_error, rankable_rows
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
    "f1_scores",
    "macro_precision",
    "mean_auc",
    "one_error",
    "principal_angles",
    "r_squared",
    "rankable_rows",
    "ranked_at_k",
    "retrieval_at_k",
    "threshold_by_share",
]
