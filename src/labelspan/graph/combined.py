"""Sums of graphs from different sources."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidInput, InvalidParameter
from ..operators import Operator, Sum
from .laplacian import degrees

__all__ = ["combine"]


def combine(graphs: Sequence[Operator], weights: Sequence[float] | None = None) -> Sum:
    """Add graphs, ``W_1 + b_2 W_2 + ...``; by default with equal total weights (wang2010, Eq. 16).

    Parameters
    ----------
    graphs : sequence of Operator
        Graphs over the same rows.
    weights : sequence of float or None, default=None
        Factor of each graph. None gives every graph the total weight of the first: the
        paper's beta, ``sum W_X / sum W_L`` off the diagonal.

    Returns
    -------
    graph : Sum
        An operator with the factors in its attribute ``weights``.

    See Also
    --------
    neighbor_graph, label_graph : Graphs to add.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.graph import combine, label_graph, neighbor_graph
    >>> X, Y = np.array([[0.0], [1.0], [5.0]]), np.array([[1, 0], [0, 1], [0, 1]])
    >>> graphs = [neighbor_graph(X, 1, weight="binary"), label_graph(Y)]
    >>> [round(weight, 6) for weight in combine(graphs).weights]
    [1.0, 2.0]
    """
    if weights is None:
        totals = [float(degrees(graph).sum()) for graph in graphs]
        empty = [number for number, total in enumerate(totals) if total <= 0]
        if empty:
            raise InvalidInput(
                f"graphs: number {empty[0]}, counted from 0, has no edge and cannot be given the "
                "total weight of the first; leave it out, or give weights."
            )
        weights = [totals[0] / total for total in totals]
    if any(weight < 0 for weight in weights):
        raise InvalidParameter(f"weights must be at least 0, but {list(weights)} was given.")
    return Sum(graphs, weights)
