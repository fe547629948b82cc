"""Locality preserving projections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from .._params import Boolean, Constraint
from ..graph import Laplacian
from ..graph.affinity import graph_over_rows, metric_form
from ..operators import Operator, Scaled, as_operator
from ..solvers.decomposition import complete_basis
from ..solvers.limits import rounding
from ._graph_methods import GRAPH_OPTIONS, coordinates, warn_unclear
from .base import Embedding
from .options import described
from .training import TrainingRows, few_threads, fitting, refuse_large_squares

__all__ = ["LPP"]

# Default number of components.
_MOST = 100
# The method warns if the shortest direction is below this multiple of the rounding error.
_SHORT = 1e-5


@described
class LPP(Embedding):
    r"""Locality preserving projections (He and Niyogi 2003).

    Solves ``X'L X w = lambda (X'D X + alpha I) w`` for the smallest lambda: directions in which
    rows that share an edge are close. ``W'(X'D X + alpha I)W = I``.

    Special cases: with as many independent features as rows and no centring, it is the
    Laplacian eigenmap of the graph. With a graph that joins the rows of a class, the embedding is
    that of linear discriminant analysis for classes of equal size.

    Parameters
    ----------
    n_components : int or None, default=None
        None keeps every direction, at most 100.
    alpha : float, default=0.0
        Regularization strength.
    {center, graph}

    Attributes
    ----------
    components_ : array of shape (m, d)
    eigenvalues_ : array of shape (m,)
        In ascending order: how much rows that share an edge differ along each component, from 0 to
        2.
    mean_ : array of shape (d,)
    graph_ : operator of shape (n, n)
    n_components_ : int
        Number of components.
    {features}

    See Also
    --------
    DLE : With labels.
    labelspan.graph.neighbor_graph : Creates the graph.

    Notes
    -----
    .. math:: X^\top L X w = \lambda (X^\top D X + \alpha I) w

    for the smallest eigenvalues, with the Laplacian L and the degrees D of the graph.

    References
    ----------
    .. [1] He, X., & Niyogi, P. (2003). Locality preserving projections. NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from labelspan import LPP
    >>> X, _ = load_iris(return_X_y=True)
    >>> LPP(2).fit_transform(X).shape
    (150, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **GRAPH_OPTIONS,
        "center": Boolean(),
    }

    graph_: Operator

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 0.0,
        center: bool = True,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.center = center
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma

    @fitting
    @few_threads
    def fit(self, X: Any, y: Any = None, graph: Any = None) -> Self:
        """Learn the embedding from features and a graph.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            One of n and d must be at most 4,096.
        y : ignored
            The labels.
        graph : array, sparse matrix, operator or None, default=None
            Weights between the rows, instead of those that ``affinity`` defines.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_params()
        data = self._validate(X, reset=True, least=2, select_rows=True)
        refuse_large_squares(as_operator(data))
        weights, _ = graph_over_rows(self, data, graph)  # the graph's W
        place, means = coordinates(type(self).__name__, data, center=self.center)
        rows = place.rows  # X
        laplacian = Laplacian(weights)  # L
        root = np.sqrt(laplacian.degrees)  # D^1/2
        nothing = np.zeros((rows.shape[0], 0))
        # Centred, n rows span n - 1 directions; far from zero, rounding adds one more.
        # Without the penalty, which would drop short directions: they have the smallest
        # eigenvalues.
        basis = complete_basis(Scaled(rows, rows=root), nothing)  # X'DX
        basis = basis.leading(rows.shape[0] - bool(self.center))
        count = self._count(basis.rank, f"X has {basis.rank} independent direction(s)", _MOST)
        damped = np.sqrt(self.alpha / (basis.values[0] + self.alpha))
        shortest = max(min(basis.shortest, place.shortest), damped)
        if rounding(rows.dtype) > _SHORT * shortest:
            warn_unclear(type(self).__name__)
        white = basis.right.to_block() / np.sqrt(basis.values + self.alpha)
        # Project the rows first: X'LX would have lost the digits of short directions.
        along = as_operator(rows.matmat(white))
        values, vectors = np.linalg.eigh(metric_form(along, laplacian))
        components = place.to_features(white @ vectors[:, :count])
        eigenvalues = np.maximum(values[:count], 0.0)
        trained = TrainingRows(None, data.dtype, data.shape[0], rows, means)
        self._set_fitted(trained, components, eigenvalues)
        self.graph_ = weights
        return self
