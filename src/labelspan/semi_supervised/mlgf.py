"""The multi-label Gaussian harmonic function, the MLGF of wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .._params import Constraint, Real
from .._typing import Array
from ..graph import degrees
from ..labels import Labels
from ..operators import Operator
from .graph_systems import Solves, SolvingClassifier, reached
from .harmonic import clamped
from .label_correlation import label_laplacian

__all__ = ["MLGF"]


class MLGF(SolvingClassifier):
    """Multi-label Gaussian harmonic function, the MLGF of wang2010.

    By Zha, Mei, Wang, Wang and Hua (ICME 2008); the original text was not at hand, and this
    is its idea as we read it: harmonic scores that are smooth over the labels too. With the
    labelled rows held, it minimises::

        tr F'LF + m tr F L_C F'      so that      L_uu F_u + m F_u L_C = W_ul Y_l

    L_C is the Laplacian of the labels' cosine correlation over the labelled rows, and
    ``m = mu * mean degree of W / mean degree of C``: mu has no unit, and a multiple of W
    gives the same scores. In the eigenvectors of L_C there is one shifted system each.
    Rows that no label reaches have the labels' shares among the labelled rows for scores.

    Special cases: ``mu=0`` is :class:`HarmonicFunction`, and so is every mu for classes,
    whose correlation is zero.

    Parameters
    ----------
    mu : float, default=0.1
        How much smoothness over the labels counts beside that over the rows.
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
    classes_ : array of shape (k,)
    scores_ : array of shape (n, k)
        F.
    transduction_ : array of shape (n,) or (n, k)
        The labels of every row of ``fit``, or its class; known ones are kept.
    thresholds_ : array of shape (k,) or None
        For an indicator: above it, a row gets the label. As large a share of the unlabelled
        rows lies above as carries the label among the labelled ones.
    graph_ : operator of shape (n, n)
    n_iter_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.semi_supervised import MLGF
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    >>> Y = np.array([[1, 1], [-1, -1], [1, 1], [0, 1], [-1, -1], [0, 0]])
    >>> MLGF(n_neighbors=3).fit_predict(X, Y)[[1, 4]]
    array([[1, 1],
           [0, 0]])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **SolvingClassifier._constraints,
        "mu": Real(0.0),
    }

    def __init__(
        self,
        *,
        mu: float = 0.1,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.mu = mu
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, data: Any, labels: Labels, graph: Operator, solves: Solves) -> Array:
        near = reached(type(self).__name__, graph, labels)
        coupling = label_laplacian(labels)
        mean = float(np.trace(coupling)) / coupling.shape[0]
        if mean > 0:
            coupling = self.mu * float(degrees(graph).mean()) / mean * coupling
        return clamped(graph, labels, near, coupling, solves)
