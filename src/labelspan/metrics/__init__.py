"""Metrics for predictions, rankings, neighbours and subspaces that scikit-learn does not have.

Labels are given as an indicator of 0 and 1, an array or a sparse matrix. Labels or rows for which
a metric is undefined (a label with one class, a row without labels) are skipped and counted; if
nothing is left, :class:`~labelspan.errors.InvalidLabels` is raised.
"""

from .per_label import average_precision, f1_scores, mean_auc, threshold_by_share
from .retrieval import retrieval_at_k
from .subspaces import principal_angles

__all__ = [
    "average_precision",
    "f1_scores",
    "mean_auc",
    "principal_angles",
    "retrieval_at_k",
    "threshold_by_share",
]
