"""The multi-label correlated Green's function, the MCGF of wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .._params import Constraint, Real
from .._typing import Array
from ..labels import Labels
from ..operators import Operator
from .graph_systems import Solves, SolvingClassifier
from .green import GreenFunction, joined
from .label_correlation import correlation

__all__ = ["MCGF"]


class MCGF(SolvingClassifier):
    """Multi-label correlated Green's function, the MCGF of wang2010.

    By Wang, Huang and Ding (ICCV 2009); the original text was not at hand, and this is its
    idea as we read it. Labels are propagated by the graph's Green's function, the
    pseudo-inverse of its Laplacian without the zero mode, and coupled by their correlation::

        F = L^+ Y_c (I + mu C)

    Y_c holds a labelled row's labels less the labels' means, and zeros for unlabelled rows:
    its columns sum to zero and lie in the range of L. C is the labels' cosine correlation
    over the labelled rows, with ones on its diagonal. Labels are cut by share, in place of
    the paper's adaptive decision boundary. L^+ is applied by conjugate gradients.

    A graph that falls into parts is joined by weak links between all rows, with a warning:
    the pseudo-inverse would forget how the parts differ.

    Special cases: with ``mu=0``, the Green's function of each label on its own; the ranking
    of rows is the same for every mu where labels do not go together, as for classes.

    Parameters
    ----------
    mu : float, default=0.1
        How much the scores of correlated labels count.
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
    >>> from labelspan.semi_supervised import MCGF
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    >>> Y = np.array([[1, 1], [-1, -1], [1, 1], [0, 1], [-1, -1], [0, 0]])
    >>> MCGF(n_neighbors=3).fit_predict(X, Y)[[1, 4]]
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

    def _prepare(self, graph: Operator) -> Operator:
        return joined(type(self).__name__, graph)

    def _solve(self, data: Any, labels: Labels, graph: Operator, solves: Solves) -> Array:
        spread = np.where(labels.labelled[:, None], labels.values - labels.means(), 0.0)
        scores = GreenFunction(graph, solves).matmat(spread)
        return np.asarray(scores + self.mu * (scores @ correlation(labels)))
