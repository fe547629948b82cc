"""Semi-supervised learning by a Sylvester equation, the SMSE of wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .._params import Boolean, Constraint, Real
from .._typing import Array
from ..graph import Laplacian
from ..labels import Labels
from ..operators import Operator
from .graph_systems import Solves, SolvingClassifier, reached
from .label_correlation import label_laplacian

__all__ = ["SMSE"]


class SMSE(SolvingClassifier):
    """Semi-supervised multi-label learning by a Sylvester equation, the SMSE of wang2010.

    By Chen, Song, Wang and Zhang (SDM 2008). One graph joins the rows, another the labels::

        min sum_labelled |f_i - y_i|^2 + mu tr F'LF + nu tr F H F'

        (J + mu L) F + nu F H = J Y,      J = diag(labelled)

    L is the Laplacian of the rows' graph and H that of the labels' cosine correlation over
    the labelled rows. In the eigenvectors of H there is one system each,
    ``(J + mu L + nu h_j I) f = J Y q_j``, solved by conjugate gradients. The original text
    was not at hand: its own label similarity and its mu and nu may differ. Rows that no
    label reaches have scores of zero.

    Special cases: ``nu=0`` takes each label on its own; with ``nu=0``, a falling mu brings
    the labelled rows to Y and the others to :class:`HarmonicFunction`.

    Parameters
    ----------
    mu : float, default=0.1
        How much smoothness over the rows counts.
    nu : float, default=0.01
        How much smoothness over the labels counts.
    normalized : bool, default=False
        Take the normalised Laplacians of both graphs, ``I - D^-1/2 W D^-1/2``; each row then
        needs a neighbour.
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
    >>> from labelspan.semi_supervised import SMSE
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    >>> Y = np.array([[1, 1], [-1, -1], [1, 1], [0, 1], [-1, -1], [0, 0]])
    >>> SMSE(n_neighbors=3).fit_predict(X, Y)[[1, 4]]
    array([[1, 1],
           [0, 0]])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **SolvingClassifier._constraints,
        "mu": Real(0.0),
        "nu": Real(0.0),
        "normalized": Boolean(),
    }

    def __init__(
        self,
        *,
        mu: float = 0.1,
        nu: float = 0.01,
        normalized: bool = False,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.mu = mu
        self.nu = nu
        self.normalized = normalized
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, data: Any, labels: Labels, graph: Operator, solves: Solves) -> Array:
        near = reached(type(self).__name__, graph, labels)
        laplacian = Laplacian(graph, normalized=self.normalized)
        held = labels.labelled.astype(np.float64)
        shifts, turn = np.linalg.eigh(label_laplacian(labels, normalized=self.normalized))

        def apply(block: Array) -> Array:
            return np.asarray(held[:, None] * block + self.mu * laplacian.matmat(block))

        diagonal = held + self.mu * (1.0 if self.normalized else laplacian.degrees)
        # Unlabelled rows of labels.values are zero: J Y is the block itself.
        found = solves.shifted(
            apply, labels.values @ turn, diagonal, self.nu * np.maximum(shifts, 0.0)
        )
        return np.where(near[:, None], found @ turn.T, 0.0)
