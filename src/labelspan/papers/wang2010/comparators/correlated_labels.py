"""Graph classifiers that use correlations of labels: MCGF and MLGF of wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...._params import Constraint, Real
from ...._typing import Array
from ....graph.affinity import degrees
from ....labels import Labels
from ....operators import Operator
from .graph_classifier import GraphClassifier, documented
from .graph_systems import SOLVER_CONSTRAINTS, SystemSolver, reached
from .green import GreenFunction, connected_graph
from .harmonic import clamped
from .label_correlation import correlation, label_laplacian

__all__ = ["MCGF", "MLGF"]


@documented
class MCGF(GraphClassifier):
    """Multi-label correlated Green's function, called MCGF in wang2010.

    By Wang, Huang and Ding (ICCV 2009); the original text was not available, and this is our
    reading of its idea. Labels are propagated by the graph's Green's function, the
    pseudo-inverse of its Laplacian without the zero mode, and coupled by their correlation::

        F = L^+ Y_c (I + mu C)

    Y_c holds the centred labels of labelled rows, and zeros for unlabelled rows: its columns
    sum to zero and lie in the range of L. C is the cosine correlation of the labels over the
    labelled rows, with ones on its diagonal. Thresholds preserve the frequency of each label,
    instead of the adaptive decision boundary of the paper. L^+ is applied by conjugate gradients.

    If the graph is not connected, weak links between all rows are added, with a warning: the
    pseudo-inverse would ignore how the components differ.

    Special cases: with ``mu=0``, the Green's function of each label separately; the ranking of
    rows is the same for every mu if labels do not occur together, as for classes.

    Parameters
    ----------
    mu : float, default=0.1
        Weight of the scores of correlated labels.
    {graph, solve}

    Attributes
    ----------
    {labels, fitted}

    See Also
    --------
    MLGF : Without the correlation of labels.

    References
    ----------
    .. [1] Wang, H., Huang, H., & Ding, C. (2009). Image annotation using multi-label
           correlated Green's function. ICCV.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.papers.wang2010.comparators import MCGF
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    >>> Y = np.array([[1, 1], [-1, -1], [1, 1], [0, 1], [-1, -1], [0, 0]])
    >>> MCGF(n_neighbors=3).fit_predict(X, Y)[[1, 4]]
    array([[1, 1],
           [0, 0]])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **GraphClassifier._constraints,
        **SOLVER_CONSTRAINTS,
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
        return connected_graph(type(self).__name__, graph)

    def _propagate(self, data: Any, labels: Labels, graph: Operator) -> Array:
        solve = SystemSolver(type(self).__name__, self.tol, self.max_iter)
        spread = np.where(labels.labelled[:, None], labels.values - labels.means(), 0.0)
        scores = GreenFunction(graph, solve).matmat(spread)
        self.n_iter_ = solve.n_iter
        return np.asarray(scores + self.mu * (scores @ correlation(labels)))


@documented
class MLGF(GraphClassifier):
    """Multi-label Gaussian harmonic function, called MLGF in wang2010.

    By Zha, Mei, Wang, Wang and Hua (ICME 2008); the original text was not available, and
    this is our reading of its idea: harmonic scores that are smooth over the labels too. With
    the labelled rows fixed, it minimises::

        tr F'LF + m tr F L_C F'      so that      L_uu F_u + m F_u L_C = W_ul Y_l

    L_C is the Laplacian of the cosine correlation of the labels over the labelled rows, and
    ``m = mu * mean degree of W / mean degree of C``: mu has no unit, and a multiple of W
    gives the same scores. In the basis of eigenvectors of L_C there is one shifted system for each.
    Rows that no label reaches get the means of the labels over the labelled rows as scores.

    Special cases: ``mu=0`` is :class:`HarmonicFunction`, and so is every mu for classes,
    whose correlation is zero.

    Parameters
    ----------
    mu : float, default=0.1
        Weight of smoothness over the labels, relative to smoothness over the rows.
    {graph, solve}

    Attributes
    ----------
    {labels, fitted}

    See Also
    --------
    SMSE : A graph over the labels as well.
    MCGF : Labels coupled by their correlation.

    References
    ----------
    .. [1] Zha, Z.-J., Mei, T., Wang, J., Wang, Z., & Hua, X.-S. (2009). Graph-based
           semi-supervised learning with multiple labels. Journal of Visual Communication and Image
           Representation.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.papers.wang2010.comparators import MLGF
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    >>> Y = np.array([[1, 1], [-1, -1], [1, 1], [0, 1], [-1, -1], [0, 0]])
    >>> MLGF(n_neighbors=3).fit_predict(X, Y)[[1, 4]]
    array([[1, 1],
           [0, 0]])
    """

    _constraints = MCGF._constraints
    # scikit-learn reads the parameters from the signature.
    __init__ = MCGF.__init__

    mu: float
    tol: float
    max_iter: int

    def _propagate(self, data: Any, labels: Labels, graph: Operator) -> Array:
        solve = SystemSolver(type(self).__name__, self.tol, self.max_iter)
        near = reached(type(self).__name__, graph, labels)
        coupling = label_laplacian(labels)
        mean = float(np.trace(coupling)) / coupling.shape[0]
        if mean > 0:
            coupling = self.mu * float(degrees(graph).mean()) / mean * coupling
        scores = clamped(graph, labels, near, coupling, solve)
        self.n_iter_ = solve.n_iter
        return scores
