"""Semi-supervised learning by a Sylvester equation, called SMSE in wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...._params import Boolean, Constraint, Real
from ...._typing import Array
from ....graph import Laplacian
from ....labels import Labels
from ....operators import Operator
from .graph_classifier import GraphClassifier, documented
from .graph_systems import SOLVER_CONSTRAINTS, SystemSolver, reached
from .label_correlation import label_laplacian

__all__ = ["SMSE"]


@documented
class SMSE(GraphClassifier):
    """Semi-supervised multi-label learning by a Sylvester equation, called SMSE in wang2010.

    By Chen, Song, Wang and Zhang (SDM 2008). One graph connects the rows, another the labels::

        min sum_labelled |f_i - y_i|^2 + mu tr F'LF + nu tr F H F'

        (J + mu L) F + nu F H = J Y,      J = diag(labelled)

    L is the Laplacian of the rows' graph and H that of the labels' cosine correlation over
    the labelled rows. In the basis of eigenvectors of H there is one system for each,
    ``(J + mu L + nu h_j I) f = J Y q_j``, solved by conjugate gradients. The original text
    was not available: its label similarity and its mu and nu may differ. Rows that no label
    reaches have scores of zero.

    Special cases: ``nu=0`` treats each label separately; with ``nu=0`` and mu to 0, the
    labelled rows tend to Y and the others to :class:`HarmonicFunction`.

    Parameters
    ----------
    mu : float, default=0.1
        Weight of smoothness over the rows.
    nu : float, default=0.01
        Weight of smoothness over the labels.
    normalized : bool, default=False
        Use the normalised Laplacians of both graphs, ``I - D^-1/2 W D^-1/2``; every row then
        needs a neighbour.
    {graph, solve}

    Attributes
    ----------
    {labels, fitted}

    See Also
    --------
    MLGF : Without the graph over the labels.

    References
    ----------
    .. [1] Chen, G., Song, Y., Wang, F., & Zhang, C. (2008). Semi-supervised multi-label
           learning by solving a Sylvester equation. SDM.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.papers.wang2010.comparators import SMSE
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    >>> Y = np.array([[1, 1], [-1, -1], [1, 1], [0, 1], [-1, -1], [0, 0]])
    >>> SMSE(n_neighbors=3).fit_predict(X, Y)[[1, 4]]
    array([[1, 1],
           [0, 0]])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **GraphClassifier._constraints,
        **SOLVER_CONSTRAINTS,
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

    def _propagate(self, data: Any, labels: Labels, graph: Operator) -> Array:
        solve = SystemSolver(type(self).__name__, self.tol, self.max_iter)
        near = reached(type(self).__name__, graph, labels)
        laplacian = Laplacian(graph, normalized=self.normalized)
        held = labels.labelled.astype(np.float64)
        shifts, turn = np.linalg.eigh(label_laplacian(labels, normalized=self.normalized))

        def apply(block: Array) -> Array:
            return np.asarray(held[:, None] * block + self.mu * laplacian.matmat(block))

        diagonal = held + self.mu * (1.0 if self.normalized else laplacian.degrees)
        # Unlabelled rows of labels.values are zero: J Y is the block itself.
        found = solve.shifted(
            apply, labels.values @ turn, diagonal, self.nu * np.maximum(shifts, 0.0)
        )
        self.n_iter_ = solve.n_iter
        return np.where(near[:, None], found @ turn.T, 0.0)
