"""The K-means-Laplacian embedding, called KL in wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...._params import Constraint, Either, Integer, Null
from ...._typing import Array
from ....errors import InvalidInput, InvalidLabels, InvalidParameter
from ....estimators._graph_methods import coordinates
from ....graph.affinity import metric_form
from ....graph.neighbors import nearest_neighbors
from ....labels import Labels
from ....operators import Operator
from ....solvers.small_dense import psd_basis
from .graph_classifier import GraphClassifier, documented
from .graph_systems import SOLVER_CONSTRAINTS, SystemSolver
from .green import GreenFunction, connected_graph

__all__ = ["KMeansLaplacian"]


@documented
class KMeansLaplacian(GraphClassifier):
    """Nearest labelled row in the K-means-Laplacian embedding, called KL in wang2010.

    By Wang, Ding and Li (SDM 2009), whose text was not available; this is the quotient that
    Eq. 9 of wang2010 generalises. Relaxed K-means maximises ``tr Q'Xc Xc'Q``, the
    Laplacian embedding minimises ``tr Q'LQ``. Together::

        max tr (Q'LQ)^-1 (Q'Xc Xc'Q)

    Its columns solve ``Xc Xc'q = lambda L q``. With ``v = Xc'q / lambda^1/2`` this is
    ``q = L^+ Xc v / lambda^1/2``, and inserted in v a problem of the size of the features::

        Xc'L^+ Xc v = lambda v,      Q = L^+ Xc V lambda^-1/2,      Q'LQ = I

    L^+ is applied by conjugate gradients. The embedding does not use the labels. An
    unlabelled row gets the labels of the nearest labelled row in it, and ``scores_`` are these
    labels, 0 or 1; new rows, which are not embedded, get the weighted vote of their neighbours.

    If the graph is not connected, weak links between all rows are added, with a warning: the
    quotient would be infinite for differences between components.

    Special cases: on the complete graph with equal weights L^+ is a multiple of the centring
    matrix, and Q spans the leading principal components of X.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of dimensions of the embedding. None is the number of classes or labels minus
        one, or the rank of X if that is smaller.
    {graph, solve}

    Attributes
    ----------
    embedding_ : array of shape (n, m)
        Q, for every row of ``fit``.
    eigenvalues_ : array of shape (m,)
        lambda, decreasing: the quotient along each column.
    classes_ : array of shape (k,)
        Names of the classes or labels.
    scores_ : array of shape (n, k)
    transduction_ : array of shape (n,) or (n, k)
        Classes, or labels, of all rows of ``fit``; known ones are unchanged.
    thresholds_ : array of shape (k,) or None
        For an indicator: 0.5.
    graph_ : operator of shape (n, n)
        The graph.
    n_iter_ : int
        Number of iterations of conjugate gradients, over all solves.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    SpectralGraphTransducer : A balanced cut of the graph.

    References
    ----------
    .. [1] Wang, F., Ding, C., & Li, T. (2009). Integrated KL (K-means - Laplacian)
           clustering. SDM.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from labelspan.papers.wang2010.comparators import KMeansLaplacian
    >>> X, y = load_wine(return_X_y=True)
    >>> known = np.arange(178) % 10 == 0
    >>> found = KMeansLaplacian().fit_predict(scale(X), np.where(known, y, -1))
    >>> bool((found == y)[~known].mean() > 0.9)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **GraphClassifier._constraints,
        **SOLVER_CONSTRAINTS,
        "n_components": Either((Integer(1), Null())),
    }

    embedding_: Array
    eigenvalues_: Array

    def __init__(
        self,
        *,
        n_components: int | None = None,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter

    def _prepare(self, graph: Operator) -> Operator:
        return connected_graph(type(self).__name__, graph)

    def _propagate(self, data: Any, labels: Labels, graph: Operator) -> Array:
        solve = SystemSolver(type(self).__name__, self.tol, self.max_iter)
        rows = coordinates(type(self).__name__, data)[0].rows
        green = GreenFunction(graph, solve)
        quotients, directions = psd_basis(metric_form(rows, green))
        count = self._count(quotients.size, labels)
        directions = directions[:, :count] / np.sqrt(quotients[:count])
        self.embedding_ = green.matmat(rows.matmat(directions))
        self.eigenvalues_ = quotients[:count]
        self.n_iter_ = solve.n_iter
        known = np.flatnonzero(labels.labelled)
        nearest, _ = nearest_neighbors(self.embedding_[known], 1, self.embedding_)
        found = labels.values[known[nearest[:, 0]]]
        return np.where(labels.labelled[:, None], labels.values, found)

    def _count(self, most: int, labels: Labels) -> int:
        owner = type(self).__name__
        if most == 0:
            raise InvalidInput(
                f"{owner}: all rows of X are equal, so nothing can be embedded; pass rows that "
                "differ."
            )
        if self.n_components is None:
            if labels.names.size < 2:
                raise InvalidLabels(
                    f"{owner}: y has only the class {labels.names[0]}, but n_components=None needs "
                    "two; label rows of another class, or pass n_components."
                )
            return min(most, labels.names.size - 1)
        if self.n_components > most:
            raise InvalidParameter(
                f"{owner}: n_components={self.n_components} is too large; X has rank {most}, so "
                f"use at most {most}."
            )
        return self.n_components

    def _thresholds(self, scores: Array, labels: Labels) -> Array:
        return np.full(scores.shape[1], 0.5)
