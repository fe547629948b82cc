"""Local and global consistency, the CF of wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .._params import Constraint, Real
from .._typing import Array
from ..graph import degrees
from ..labels import Labels
from ..operators import Operator, Scaled
from .graph_systems import Solves, SolvingClassifier, reached

__all__ = ["LocalGlobalConsistency"]


class LocalGlobalConsistency(SolvingClassifier):
    """Learning with local and global consistency, the CF of wang2010.

    By Zhou, Bousquet, Lal, Weston and Schoelkopf (NIPS 2003, printed 2004). With
    ``S = D^-1/2 W D^-1/2`` the scores are::

        F = (1 - alpha) (I - alpha S)^-1 Y

    the limit of ``F <- alpha S F + (1 - alpha) Y``, found here by conjugate gradients, with
    Y zero for unlabelled rows. Rows that no label reaches have scores of zero.

    Special cases: ``alpha=0`` gives Y itself. Run to its end, scikit-learn's
    ``LabelSpreading`` is the same with each row's scores divided by their sum.

    Parameters
    ----------
    alpha : float, default=0.99
        How much the neighbours count, below 1.
    affinity : {"nearest_neighbors", "rbf", "precomputed"}, default="nearest_neighbors"
        The graph where none is given to ``fit``: nearest neighbours with Gaussian weights, or
        the full Gaussian, up to 5,000 rows. "precomputed" insists on a given one.
    n_neighbors : int, default=10
        For "nearest_neighbors".
    gamma : float or None, default=None
        The width of the Gaussian, ``exp(-gamma |x_i - x_j|^2)``; None takes half the inverse
        of the median squared distance.
    tol : float, default=1e-8
        The relative residual at which conjugate gradients stop. Scores fall with the distance
        from labels, and those below tol times the largest are rounding.
    max_iter : int, default=1000
        The most iterations of a solve.

    Attributes
    ----------
    classes_ : array of shape (k,)
    scores_ : array of shape (n, k)
        F.
    transduction_ : array of shape (n,) or (n, k)
        The class of every row of ``fit``, or its labels; known ones are kept.
    thresholds_ : array of shape (k,) or None
        For an indicator: above it, a row gets the label. As large a share of the unlabelled
        rows lies above as carries the label among the labelled ones.
    graph_ : operator of shape (n, n)
    n_iter_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from labelspan.semi_supervised import LocalGlobalConsistency
    >>> X, y = load_iris(return_X_y=True)
    >>> known = np.arange(150) % 10 == 0
    >>> found = LocalGlobalConsistency().fit_predict(X, np.where(known, y, -1))
    >>> bool((found == y)[~known].mean() > 0.9)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **SolvingClassifier._constraints,
        "alpha": Real(0.0, 0.999999),
    }

    def __init__(
        self,
        *,
        alpha: float = 0.99,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, data: Any, labels: Labels, graph: Operator, solves: Solves) -> Array:
        near = reached(type(self).__name__, graph, labels)
        sums = degrees(graph)
        root = np.where(sums > 0, 1.0 / np.sqrt(np.where(sums > 0, sums, 1.0)), 0.0)
        smooth = Scaled(graph, rows=root, columns=root)

        def apply(block: Array) -> Array:
            return np.asarray(block - self.alpha * smooth.matmat(block))

        scores = solves(apply, (1.0 - self.alpha) * labels.values, np.ones(sums.size))
        return np.where(near[:, None], scores, 0.0)
