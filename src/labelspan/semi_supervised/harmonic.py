"""Gaussian fields and harmonic functions, the HF of wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._params import Boolean, Constraint
from .._typing import Array
from ..graph import Laplacian
from ..labels import Labels
from ..operators import Operator
from .graph_systems import Solves, SolvingClassifier, reached

__all__ = ["HarmonicFunction", "clamped"]

# A class with a smaller share of the scores of unlabelled rows has none of them.
_NO_MASS = 1e-6


def _for_classes(model: HarmonicFunction) -> bool:
    return getattr(model, "_kind", "classes") == "classes"


def _probabilities(self: HarmonicFunction, X: Any) -> Array:
    """Scores of classes as probabilities; not there for an indicator.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)

    Returns
    -------
    probabilities : array of shape (n, k)
    """
    weighted = np.clip(self.label_scores(X), 0.0, 1.0) * self.class_weight_
    return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))


class HarmonicFunction(SolvingClassifier):
    """Harmonic functions on the graph, the HF of wang2010.

    By Zhu, Ghahramani and Lafferty (ICML 2003). The labelled rows keep their labels, and
    each other row has the mean of its neighbours' scores:

        L_uu F_u = W_ul Y_l,      L = D - W

    solved by conjugate gradients. It minimises ``tr F'LF``; the scores lie between 0 and 1,
    and those of a row sum to 1 where the labels do. Rows that no label reaches have the
    labels' shares among the labelled rows for scores.

    Special cases: run to its end, scikit-learn's ``LabelPropagation`` is the same. It is
    :class:`MLGF` with ``mu=0``.

    Parameters
    ----------
    class_mass : bool, default=False
        For classes: compare ``q_k f_ik / sum_i f_ik`` in place of ``f_ik``, where q_k is the
        share of class k among the labelled rows, as it is, without smoothing, and the sum is
        over the unlabelled rows; not done where a class has nothing there. ``scores_`` stay F.
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
        The class of every row of ``fit``, or its labels; known ones are kept.
    class_weight_ : array of shape (k,)
        What scores are multiplied by before classes are compared; ones without class mass.
    thresholds_ : array of shape (k,) or None
        For an indicator: above it, a row gets the label. As large a share of the unlabelled
        rows lies above as carries the label among the labelled ones.
    graph_ : operator of shape (n, n)
    n_iter_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.semi_supervised import HarmonicFunction
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> model = HarmonicFunction().fit(np.zeros((5, 1)), [0, -1, -1, -1, 1], graph=path)
    >>> model.scores_[:, 1].round(6)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **SolvingClassifier._constraints,
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

    def _solve(self, data: Any, labels: Labels, graph: Operator, solves: Solves) -> Array:
        near = reached(type(self).__name__, graph, labels)
        scores = clamped(graph, labels, near, None, solves)
        self.class_weight_ = np.ones(scores.shape[1])
        if self.class_mass and labels.kind == "classes" and not labels.labelled.all():
            mass = scores[~labels.labelled].sum(axis=0)
            if mass.min() > _NO_MASS * mass.sum():
                self.class_weight_ = labels.means() / mass
        return scores

    def _decide(self, scores: Array) -> Array:
        return super()._decide(scores * self.class_weight_)

    # Scores of an indicator are cut by share, and say no yes or no by themselves.
    predict_proba = available_if(_for_classes)(_probabilities)


def clamped(
    graph: Operator,
    labels: Labels,
    near: Array,
    label_graph: Array | None,
    solves: Solves,
) -> Array:
    """Scores with the labelled rows held: ``L_uu F_u + F_u M = W_ul Y_l``.

    ``near`` tells the rows that labels reach; the others get the labels' means.
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

    # Counted from the means: what an iteration leaves open stays there, and not at zero, and
    # scores of classes sum to 1 at any tolerance. The centred labels are zero elsewhere, so
    # that all of W may be multiplied.
    pull = graph.matmat(np.where(labels.labelled[:, None], labels.values - means, 0.0))[free]
    diagonal = laplacian.degrees[free]
    if label_graph is None:
        scores[free] += solves(apply, pull, diagonal)
    else:
        # In the eigenvectors of M the labels part, each with a shift of its own.
        shifts, turn = np.linalg.eigh(label_graph)
        right = (pull - means @ label_graph) @ turn
        found = solves.shifted(apply, right, diagonal, np.maximum(shifts, 0.0))
        scores[free] += found @ turn.T
    return scores
