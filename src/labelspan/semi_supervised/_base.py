"""What all baselines share: reading labels, and turning scores into classes or labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._params import Constraint, Either, Integer, Null, OneOf, Real, check_params
from .._typing import Array
from ..errors import InvalidLabels, Mismatch
from ..estimators._base import all_or_nothing
from ..graph import AFFINITIES, Affinity, AffinityGraph
from ..labels import Kind, Labels, read_labels
from ..metrics import threshold_by_share
from ..operators import Operator
from ..operators.row_graph import read_graph
from .out_of_sample import Outside

__all__ = ["Baseline", "GraphClassifier"]


class Baseline(ClassifierMixin, BaseEstimator):
    """A classifier whose answer is a score for every label of every row.

    A row of classes gets the class with the highest score; the most frequent class where all
    scores are equal, as where nothing is known of a row. With an indicator, each label goes
    to the rows whose score lies above its threshold; see ``thresholds_``.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels' names.
    thresholds_ : array of shape (k,) or None
        With an indicator, above which score a label is given; chosen on the labelled rows.

    Examples
    --------
    >>> from labelspan.semi_supervised import MLLS, Baseline
    >>> issubclass(MLLS, Baseline)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    classes_: Array
    thresholds_: Array | None

    def _check_params(self) -> None:
        given = {name: getattr(self, name) for name in self._constraints}
        check_params(type(self).__name__, given, self._constraints)

    def _validate(self, X: Any, *, reset: bool) -> Any:
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=2 if reset else 1,
        )

    def _read_labels(self, y: Any, n_rows: int) -> Labels:
        owner = type(self).__name__
        labels = read_labels(y, n_rows, owner)
        if labels.kind == "targets":
            raise InvalidLabels(
                f"{owner} takes classes or a 0/1 indicator, but y holds numbers of another kind. "
                "Unknown label type: continuous."
            )
        if labels.unknown is not None and labels.unknown[labels.labelled].any():
            raise InvalidLabels(
                f"{owner}: y has rows with single unknown entries, and rows must be labelled or "
                "wholly unknown; mark the whole rows."
            )
        return labels

    def _keep_labels(self, scores: Array, labels: Labels) -> None:
        """Learn from the scores of the fitted rows how to decide."""
        self.classes_ = labels.names
        self._kind: Kind = labels.kind
        self._majority = int(labels.values.sum(axis=0).argmax())
        self.thresholds_ = None if labels.kind == "classes" else self._thresholds(scores, labels)

    def _thresholds(self, scores: Array, labels: Labels) -> Array:
        """As large a share above as carry the label among the labelled rows."""
        open_rows = ~labels.labelled
        judged = scores[open_rows] if open_rows.any() else scores
        return threshold_by_share(judged, labels.means())

    def _decide(self, scores: Array) -> Array:
        """Classes, or a 0/1 indicator, from scores."""
        if self._kind != "classes":
            return np.asarray(scores > self.thresholds_, dtype=np.int64)
        best = scores.argmax(axis=1)
        best[scores.max(axis=1) == scores.min(axis=1)] = self._majority
        return np.asarray(self.classes_[best])

    def label_scores(self, X: Any) -> Array:
        """Score every label for every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        scores : array of shape (n, k)
            One column for each entry of ``classes_``.
        """
        check_is_fitted(self)
        return self._new_scores(self._validate(X, reset=False))

    def _new_scores(self, data: Any) -> Array:
        raise NotImplementedError(type(self).__name__)

    def predict(self, X: Any) -> Array:
        """The class of each row, or its 0/1 indicator where ``y`` was one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        y : array of shape (n,) or (n, k)
        """
        return self._decide(self.label_scores(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


class GraphClassifier(Baseline):
    """A baseline that spreads labels over a graph of all rows, labelled or not.

    ``fit`` scores the rows it is given. New rows get the mean of the scores of fitted rows,
    weighted by the affinity that made the graph.

    Attributes
    ----------
    scores_ : array of shape (n, k)
        Of the rows of ``fit``.
    transduction_ : array of shape (n,) or (n, k)
        Their labels; known ones are kept.
    graph_ : Operator
        Of shape (n, n).

    Examples
    --------
    >>> from labelspan.semi_supervised import GraphClassifier, HarmonicFunction
    >>> issubclass(HarmonicFunction, GraphClassifier)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "affinity": OneOf(AFFINITIES),
        "n_neighbors": Integer(1),
        "gamma": Either((Real(0.0), Null())),
    }

    affinity: str
    n_neighbors: int
    gamma: float | None

    scores_: Array
    transduction_: Array
    graph_: Operator

    @all_or_nothing
    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:
        """Score every label for every row of X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            All rows, those to be classified too.
        y : array or sparse matrix of shape (n,) or (n, k)
            Classes, or a 0/1 indicator. -1 or NaN mean unknown; rows are labelled or wholly
            unknown.
        graph : array, sparse matrix, operator or None, default=None
            Weights between all rows, in place of those that ``affinity`` would make.

        Returns
        -------
        self
        """
        self._check_params()
        data = self._validate(X, reset=True)
        labels = self._read_labels(y, data.shape[0])
        made = self._graph(data, graph)
        weights = self._prepare(made.graph)
        scores = self._propagate(data, labels, weights)
        self._outside = self._affinity_to(data, made.gamma)
        self.graph_, self.scores_ = weights, scores
        self._keep_labels(scores, labels)
        self.transduction_ = self._complete(self._decide(scores), labels)
        return self

    def fit_predict(self, X: Any, y: Any, graph: Any = None) -> Array:
        """Learn from all rows and give the labels of all: the known ones stay.

        Parameters
        ----------
        X, y, graph
            As in :meth:`fit`.

        Returns
        -------
        y : array of shape (n,) or (n, k)
            ``transduction_``.
        """
        return self.fit(X, y, graph).transduction_

    def _propagate(self, data: Any, labels: Labels, graph: Operator) -> Array:
        """The method itself: the scores of all rows."""
        raise NotImplementedError(type(self).__name__)

    def _prepare(self, graph: Operator) -> Operator:
        """The graph that the method works on."""
        return graph

    def _graph(self, data: Any, graph: Any) -> AffinityGraph:
        if graph is not None:
            return AffinityGraph(read_graph(graph, data.shape[0]), None)
        affinity = Affinity(self.affinity, self.n_neighbors, self.gamma)
        return affinity(type(self).__name__, data)

    def _affinity_to(self, data: Any, gamma: float | None) -> Outside | None:
        """The way to new rows; None where the graph was given, and says nothing of them."""
        if gamma is None:
            return None
        return Outside(data, None if self.affinity == "rbf" else self.n_neighbors, gamma)

    def _complete(self, found: Array, labels: Labels) -> Array:
        """What was found, with known labels in their place."""
        labelled = labels.labelled
        if labels.kind == "classes":
            known = labels.names[labels.values.argmax(axis=1)]
            return np.where(labelled, known, found)
        return np.where(labelled[:, None], labels.values.astype(np.int64), found)

    def _new_scores(self, data: Any) -> Array:
        if self._outside is None:
            raise Mismatch(
                f"{type(self).__name__}: graph was given to fit, and new rows cannot be compared "
                "with the fitted ones without an affinity; put all rows into fit and read "
                "transduction_ or scores_, or fit without graph=."
            )
        return self._outside.mean(data, self.scores_)
