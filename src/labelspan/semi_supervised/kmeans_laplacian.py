"""The K-means-Laplacian embedding, the KL of wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .._params import Constraint, Either, Integer, Null
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, InvalidParameter
from ..estimators._graph_methods import coordinates
from ..graph import metric_form
from ..graph.neighbors import nearest_row
from ..labels import RANK_TOLERANCE, Labels
from ..operators import Operator
from ..solvers.small_dense import psd_basis
from .graph_systems import Solves, SolvingClassifier
from .green import GreenFunction, joined

__all__ = ["KMeansLaplacian"]


class KMeansLaplacian(SolvingClassifier):
    """K-means-Laplacian embedding and the nearest labelled row in it, the KL of wang2010.

    By Wang, Ding and Li (SDM 2009), whose text was not at hand; this is the quotient that
    wang2010's Eq. 9 generalises. K-means, relaxed, looks for Q that maximises
    ``tr Q'Xc Xc'Q``, the Laplacian embedding for Q that minimises ``tr Q'LQ``. Together::

        max tr (Q'LQ)^-1 (Q'Xc Xc'Q)

    Its columns solve ``Xc Xc'q = lambda L q``. With ``v = Xc'q / lambda^1/2`` that says
    ``q = L^+ Xc v / lambda^1/2``, and put back in v, a problem of the size of the features::

        Xc'L^+ Xc v = lambda v,      Q = L^+ Xc V lambda^-1/2,      Q'LQ = I

    L^+ is applied by conjugate gradients. Labels play no part in the embedding. An unlabelled
    row gets the labels of the nearest labelled row in it, and ``scores_`` are those labels, 0
    or 1; new rows, which have no place in it, get the vote of their neighbours.

    A graph that falls into parts is joined by weak links between all rows, with a warning:
    the quotient would be infinite for what tells parts apart.

    Special cases: on the complete graph with equal weights L^+ is a multiple of the centring,
    and Q spans the leading principal components of X.

    Parameters
    ----------
    n_components : int or None, default=None
        The dimensions of the embedding. None takes one less than there are classes, or
        labels, and no more than X has directions.
    affinity : {"nearest_neighbors", "rbf", "precomputed"}, default="nearest_neighbors"
        The graph where none is given to ``fit``: nearest neighbours with Gaussian weights, or
        the full Gaussian, up to 5,000 rows. "precomputed" insists on a given one.
    n_neighbors : int, default=10
        For "nearest_neighbors".
    gamma : float or None, default=None
        The width of the Gaussian, ``exp(-gamma |x_i - x_j|^2)``; None takes half the inverse
        of the median squared distance.
    tol : float, default=1e-8
        The relative residual at which conjugate gradients stop.
    max_iter : int, default=1000
        The most iterations of a solve.

    Attributes
    ----------
    embedding_ : array of shape (n, m)
        Q, for every row of ``fit``.
    eigenvalues_ : array of shape (m,)
        lambda, falling: the quotient along each column.
    classes_ : array of shape (k,)
    scores_ : array of shape (n, k)
    transduction_ : array of shape (n,) or (n, k)
        The class of every row of ``fit``, or its labels; known ones are kept.
    thresholds_ : array of shape (k,) or None
        For an indicator, a half.
    graph_ : operator of shape (n, n)
    n_iter_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from labelspan.semi_supervised import KMeansLaplacian
    >>> X, y = load_wine(return_X_y=True)
    >>> known = np.arange(178) % 10 == 0
    >>> found = KMeansLaplacian().fit_predict(scale(X), np.where(known, y, -1))
    >>> bool((found == y)[~known].mean() > 0.9)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **SolvingClassifier._constraints,
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
        return joined(type(self).__name__, graph)

    def _solve(self, data: Any, labels: Labels, graph: Operator, solves: Solves) -> Array:
        rows = coordinates(type(self).__name__, data)[0].rows
        green = GreenFunction(graph, solves)
        quotients, directions = psd_basis(metric_form(rows, green), RANK_TOLERANCE)
        count = self._count(quotients.size, labels)
        directions = directions[:, :count] / np.sqrt(quotients[:count])
        self.embedding_ = green.matmat(rows.matmat(directions))
        self.eigenvalues_ = quotients[:count]
        known = np.flatnonzero(labels.labelled)
        nearest = known[nearest_row(self.embedding_, self.embedding_[known])]
        return np.where(labels.labelled[:, None], labels.values, labels.values[nearest])

    def _count(self, most: int, labels: Labels) -> int:
        owner = type(self).__name__
        if most == 0:
            raise InvalidInput(f"{owner}: all rows of X are equal; there is no direction to find.")
        if self.n_components is None:
            if labels.names.size < 2:
                raise InvalidLabels(
                    f"{owner}: y has one class, {labels.names[0]}, and n_components=None takes one "
                    "less than there are; label rows of another class, or give n_components."
                )
            return min(most, labels.names.size - 1)
        if self.n_components > most:
            raise InvalidParameter(
                f"{owner}: n_components={self.n_components} is too large; at most {most} can be "
                f"had, for X has {most} independent direction(s)."
            )
        return self.n_components

    def _thresholds(self, scores: Array, labels: Labels) -> Array:
        return np.full(scores.shape[1], 0.5)
