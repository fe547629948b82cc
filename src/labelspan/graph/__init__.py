"""Graphs over the rows of X, as operators: similarity of rows by features or by labels.

Every graph is symmetric, with weights of at least 0 and zeros on the diagonal. Only the full
Gaussian is stored as an n x n array.
"""

from .affinity import (
    AFFINITIES,
    Affinity,
    AffinityGraph,
    WeightKind,
    gaussian_graph,
    neighbor_graph,
)
from .combined import combine
from .label_graph import LabelGraph, label_correlation, label_graph
from .laplacian import Laplacian, degrees, metric_form

__all__ = [
    "AFFINITIES",
    "Affinity",
    "AffinityGraph",
    "LabelGraph",
    "Laplacian",
    "WeightKind",
    "combine",
    "degrees",
    "gaussian_graph",
    "label_correlation",
    "label_graph",
    "metric_form",
    "neighbor_graph",
]
