"""The graph penalty: mu X'LX in the metric, over labelled and unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ..._params import Real
from ..._typing import Array
from ...errors import InvalidInput, InvalidParameter
from ...estimators.factor_methods import fit_factor, prepare_factor
from ...estimators.training import fitting
from ...operators import Operator, Product, as_operator
from ...operators.array_backend import concatenate, host
from ...operators.operator import Composite
from ...operators.row_graph import incidence
from ...solvers import Problem

__all__ = ["fit_with_graph"]

M = TypeVar("M")


def fit_with_graph(model: M, X: Any, y: Any, graph: Any, mu: float) -> M:
    """Fit OPLS, CCA, LDA or HSL with a graph penalty.

    ``mu X'LX`` with the Laplacian L of the graph is added to the metric, which moves rows that
    share an edge closer together, labelled or not.

    Parameters
    ----------
    model : OPLS, CCA, LDA or HSL
        The estimator; it is fitted in place.
    X : array or sparse matrix of shape (n, d)
        The features.
    y : vector of classes, or array or sparse matrix of shape (n, k)
        Rows whose labels are all unknown (-1 or NaN) are used only for the graph.
    graph : array or sparse matrix of shape (n, n)
        Weights between rows, labelled or not.
    mu : float
        Weight of the graph; 0 is the plain method.

    Returns
    -------
    model
        The fitted estimator.

    See Also
    --------
    labelspan.DLE : A method in which a graph is part of the criterion.

    Examples
    --------
    >>> import numpy as np
        >>> from labelspan import OPLS
    >>> from labelspan.papers.sun2009 import fit_with_graph
    >>> X, Y = np.random.default_rng(0).random((6, 3)), np.eye(6)[:, :2]
    >>> model = fit_with_graph(OPLS(alpha=1.0), X, Y, np.ones((6, 6)), mu=0.1)
    >>> bool(model.eigenvalues_[0] < OPLS(alpha=1.0).fit(X, Y).eigenvalues_[0])
    True
    """
    if not Real(0.0).accepts(mu):
        owner = type(model).__name__
        raise InvalidParameter(f"{owner}: mu must be a number of at least 0, but {mu!r} was given.")
    _fit(model, X, y, graph, mu)
    return model


@fitting
def _fit(model: Any, X: Any, y: Any, graph: Any, mu: float) -> None:
    rows, H = prepare_factor(model, X, y)
    raw: Operator = rows.raw
    edges = incidence(graph, raw.shape[0], mu, raw.dtype)

    def penalised(problem: Problem) -> Problem:
        if mu == 0:
            return problem
        # Rows with H = 0: X'X becomes X'X + mu X'LX.
        labels = host(H.to_block())
        labels = np.concatenate([labels, np.zeros((edges.shape[0], labels.shape[1]))])
        stacked = VStack([rows.X, Product(edges, raw)])
        return replace(problem, X=stacked, labels=as_operator(labels))

    fit_factor(model, rows, H, penalised)


class VStack(Composite):
    """Operators over the same columns on top of each other: ``[X_1; X_2; ...]``."""

    def __init__(self, parts: Sequence[Operator]) -> None:
        if not parts or len({part.shape[1] for part in parts}) != 1:
            shapes = [part.shape for part in parts]
            raise InvalidInput(f"VStack: parts must have the same number of columns, got {shapes}.")
        height = sum(part.shape[0] for part in parts)
        super().__init__((height, parts[0].shape[1]), parts)
        self.parts = tuple(parts)
        ends = np.cumsum([0, *(part.shape[0] for part in parts)]).tolist()
        self._slices = [slice(start, stop) for start, stop in pairwise(ends)]

    def _matmat(self, block: Array) -> Array:
        return concatenate([self.to_device(part.matmat(block)) for part in self.parts])

    def _rmatmat(self, block: Array) -> Array:
        pieces = zip(self.parts, self._slices, strict=True)
        first, *others = (self.to_device(part.rmatmat(block[rows])) for part, rows in pieces)
        return sum(others, first)

    def shifted(self, offset: Array) -> Operator:
        return VStack([part.shifted(offset) for part in self.parts])

    def gram(self) -> Array:
        return sum((part.gram() for part in self.parts[1:]), self.parts[0].gram())

    def sum_of_squares(self) -> float:
        return sum(part.sum_of_squares() for part in self.parts)
