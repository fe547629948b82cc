"""Gaussian fields and harmonic functions, called HF in wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...._params import Boolean, Constraint
from ...._typing import Array
from ....graph import Laplacian
from ....labels import Labels
from ....operators import Operator
from .graph_classifier import GraphClassifier, documented
from .graph_systems import SOLVER_CONSTRAINTS, SystemSolver, reached

__all__ = ["HarmonicFunction", "clamped"]

# Fraction of the scores of unlabelled rows below which a class counts as absent.
_NO_MASS = 1e-6


def _for_classes(model: HarmonicFunction) -> bool:
    return getattr(model, "_kind", "classes") == "classes"


def _probabilities(self: HarmonicFunction, X: Any) -> Array:
    """Return class probabilities; not available for an indicator.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows to classify.

    Returns
    -------
    probabilities : array of shape (n, k)
        One column per class.
    """
    weighted = np.clip(self.label_scores(X), 0.0, 1.0) * self.class_weight_
    return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))


@documented
class HarmonicFunction(GraphClassifier):
    """Harmonic functions on a graph, called HF in wang2010.

    By Zhu, Ghahramani and Lafferty (ICML 2003). The labelled rows keep their labels, and
    the score of every other row is the mean of the scores of its neighbours:

        L_uu F_u = W_ul Y_l,      L = D - W

    solved by conjugate gradients. It minimises ``tr F'LF``; the scores lie between 0 and 1,
    and those of a row sum to 1 if the labels do. Rows that no label reaches get the means of
    the labels over the labelled rows as scores.

    Special cases: run to full convergence, scikit-learn's ``LabelPropagation`` is the same.
    It is :class:`MLGF` with ``mu=0``.

    Parameters
    ----------
    class_mass : bool, default=False
        For classes: compare ``q_k f_ik / sum_i f_ik`` instead of ``f_ik``, where q_k is the
        frequency of class k among the labelled rows, without smoothing, and the sum is over the
        unlabelled rows; skipped if a class has no mass there. ``scores_`` stay F.
    {graph, solve}

    Attributes
    ----------
    class_weight_ : array of shape (k,)
        Factors of the scores when classes are compared; ones without class mass.
    {labels, fitted}

    See Also
    --------
    LocalGlobalConsistency : Propagation that may change known labels.
    labelspan.papers.wang2010.DLEClassifier : Uses the features as well.

    References
    ----------
    .. [1] Zhu, X., Ghahramani, Z., & Lafferty, J. (2003). Semi-supervised learning using
           Gaussian fields and harmonic functions. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.papers.wang2010.comparators import HarmonicFunction
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> model = HarmonicFunction().fit(np.zeros((5, 1)), [0, -1, -1, -1, 1], graph=path)
    >>> model.scores_[:, 1].round(6)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **GraphClassifier._constraints,
        **SOLVER_CONSTRAINTS,
        "class_mass": Boolean(),
    }

    class_weight_: Array

    def __init__(
        self,
        *,
        class_mass: bool = False,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.class_mass = class_mass
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter

    def _propagate(self, data: Any, labels: Labels, graph: Operator) -> Array:
        solve = SystemSolver(type(self).__name__, self.tol, self.max_iter)
        near = reached(type(self).__name__, graph, labels)
        scores = clamped(graph, labels, near, None, solve)
        self.n_iter_ = solve.n_iter
        self.class_weight_ = np.ones(scores.shape[1])
        if self.class_mass and labels.kind == "classes" and not labels.labelled.all():
            mass = scores[~labels.labelled].sum(axis=0)
            if mass.min() > _NO_MASS * mass.sum():
                self.class_weight_ = labels.means() / mass
        return scores

    def _decide(self, scores: Array) -> Array:
        return super()._decide(scores * self.class_weight_)

    # Scores of an indicator are compared with thresholds, and are not probabilities.
    predict_proba = available_if(_for_classes)(_probabilities)


def clamped(
    graph: Operator,
    labels: Labels,
    near: Array,
    label_graph: Array | None,
    solve: SystemSolver,
) -> Array:
    """Solve ``L_uu F_u + F_u M = W_ul Y_l`` for the scores, with the labelled rows fixed.

    ``near`` are the rows that labels reach; the others get the means of the labels.
    ``label_graph`` is M, symmetric, k x k; None is zero.
    """
    laplacian = Laplacian(graph)
    free = np.flatnonzero(near & ~labels.labelled)
    means = labels.means()
    scores = np.where(labels.labelled[:, None], labels.values, means)
    if free.size == 0:
        return scores

    def apply(block: Array) -> Array:
        full = np.zeros((graph.shape[0], block.shape[1]))
        full[free] = block
        return laplacian.matmat(full)[free]

    # Solved for the difference from the means: an unfinished iteration then stays close to
    # the means instead of zero, and scores of classes sum to 1 at any tolerance. The centred labels
    # are zero in unlabelled rows, so that all of W can be multiplied.
    pull = graph.matmat(np.where(labels.labelled[:, None], labels.values - means, 0.0))[free]
    diagonal = laplacian.degrees[free]
    if label_graph is None:
        scores[free] += solve(apply, pull, diagonal)
    else:
        # In the basis of eigenvectors of M the systems are separate, each with its own shift.
        shifts, turn = np.linalg.eigh(label_graph)
        right = (pull - means @ label_graph) @ turn
        found = solve.shifted(apply, right, diagonal, np.maximum(shifts, 0.0))
        scores[free] += found @ turn.T
    return scores
