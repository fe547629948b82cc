"""Graphs over the rows of X, as operators: similarity of rows by features.

Every graph is symmetric, with weights of at least 0 and zeros on the diagonal. Only the full
Gaussian is stored as an n x n array.
"""

from .affinity import Laplacian, gaussian_graph, neighbor_graph

__all__ = ["Laplacian", "gaussian_graph", "neighbor_graph"]
