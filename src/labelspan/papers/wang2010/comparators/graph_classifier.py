"""Base classes: reading labels, and turning scores into classes or labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ...._params import Constraint, Either, Integer, Null, OneOf, Real, check_params
from ...._typing import Array
from ....errors import InvalidInput, InvalidLabels, Mismatch
from ....estimators.options import described
from ....estimators.training import all_or_nothing
from ....graph.affinity import AFFINITIES, graph_over_rows
from ....labels import Labels, read_labels
from ....labels.reading import Kind
from ....metrics import threshold_by_share
from ....operators import Operator
from ....operators.sparse import canonical
from .out_of_sample import NewRowAffinity

__all__ = ["GraphClassifier", "ScoreClassifier", "documented"]

C = TypeVar("C", bound=type)
# Parameters and attributes that methods have in common.
_DESCRIPTIONS = {
    "graph": """\
affinity : {"nearest_neighbors", "rbf", "precomputed"}, default="nearest_neighbors"
    How to build the graph if ``fit`` gets none: nearest neighbours with Gaussian weights,
    or all pairs with Gaussian weights, up to 5,000 rows. "precomputed" requires a graph.
n_neighbors : int, default=10
    Number of neighbours, for ``affinity="nearest_neighbors"``.
gamma : float or None, default=None
    Width of the Gaussian, ``exp(-gamma |x_i - x_j|^2)``; None is half the inverse of the
    median squared distance.""",
    "solve": """\
tol : float, default=1e-8
    Relative residual at which conjugate gradients stop.
max_iter : int, default=1000
    Maximum number of iterations of a solve.""",
    "labels": """\
classes_ : array of shape (k,)
    Names of the classes or labels.
scores_ : array of shape (n, k)
    Scores of the rows of ``fit``, as above.
transduction_ : array of shape (n,) or (n, k)
    Classes, or labels, of all rows of ``fit``; known ones are unchanged.
thresholds_ : array of shape (k,) or None
    For an indicator: score above which a row gets the label, chosen so that the label has
    the same frequency among the unlabelled rows as among the labelled ones.""",
    "fitted": """\
graph_ : operator of shape (n, n)
    The graph.
n_iter_ : int
    Number of iterations of conjugate gradients, over all solves.
n_features_in_ : int
    Number of features.""",
}


def documented(kind: C) -> C:
    """Complete the docstring of a method: ``{graph, solve}`` stands for what they describe."""
    return described(kind, _DESCRIPTIONS)


class ScoreClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that scores every label of every row.

    For classes, a row gets the class with the highest score, or the most frequent class if all
    scores are equal because nothing is known about the row. For an indicator, each label goes to
    the rows with a score above its threshold; see ``thresholds_``.

    Attributes
    ----------
    classes_ : array of shape (k,)
        Names of the classes or labels.
    thresholds_ : array of shape (k,) or None
        For an indicator: score above which a row gets the label.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    classes_: Array
    thresholds_: Array | None

    def _check_params(self) -> None:
        given = {name: getattr(self, name) for name in self._constraints}
        check_params(type(self).__name__, given, self._constraints)

    def _validate(self, X: Any, *, reset: bool) -> Any:
        try:
            data = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_min_samples=2 if reset else 1,
            )
        except ValueError as error:
            raise InvalidInput(f"{type(self).__name__}: {error}") from None
        return canonical(data)

    def _read_labels(self, y: Any, n_rows: int) -> Labels:
        owner = type(self).__name__
        labels = read_labels(y, n_rows, owner, semi_supervised=True)
        if labels.kind == "targets":
            raise InvalidLabels(
                f"{owner}: y must contain classes or a 0/1 indicator, but has other numbers; bin "
                "them into classes. Unknown label type: continuous."
            )
        if labels.unknown is not None and labels.unknown[labels.labelled].any():
            raise InvalidLabels(
                f"{owner}: y has rows with some unknown entries, but a row must be labelled or "
                "unknown as a whole; mark all entries of these rows as unknown."
            )
        return labels

    def _keep_labels(self, scores: Array, labels: Labels) -> None:
        """Store the names of the labels, and choose thresholds on the scores of the fitted rows."""
        self.classes_ = labels.names
        self._kind: Kind = labels.kind
        self._majority = int(labels.values.sum(axis=0).argmax())
        self.thresholds_ = None if labels.kind == "classes" else self._thresholds(scores, labels)

    def _thresholds(self, scores: Array, labels: Labels) -> Array:
        """Choose thresholds that preserve the frequency of each label among the labelled rows."""
        open_rows = ~labels.labelled
        judged = scores[open_rows] if open_rows.any() else scores
        return threshold_by_share(judged, labels.means())

    def _decide(self, scores: Array) -> Array:
        """Turn scores into classes, or a 0/1 indicator."""
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
            Rows to score.

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
        """Predict the class of each row, or its 0/1 indicator if ``y`` was one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Rows to classify.

        Returns
        -------
        y : array of shape (n,) or (n, k)
            Classes, or a 0/1 indicator.
        """
        return self._decide(self.label_scores(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


class GraphClassifier(ScoreClassifier):
    """A classifier that propagates labels over a graph of all rows, labelled or not.

    ``fit`` scores the given rows. New rows get the mean of the scores of fitted rows, weighted
    by the affinity that defines the graph. A subclass implements ``_propagate``.

    Attributes
    ----------
    scores_ : array of shape (n, k)
        Scores of the rows of ``fit``.
    transduction_ : array of shape (n,) or (n, k)
        Their labels; known ones are unchanged.
    graph_ : operator of shape (n, n)
        The graph.
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
            All rows, including those to be classified.
        y : array or sparse matrix of shape (n,) or (n, k)
            Classes, or a 0/1 indicator. -1 or NaN mean unknown; a row is labelled or unknown as
            a whole.
        graph : array, sparse matrix, operator or None, default=None
            Weights between all rows, used instead of ``affinity``.

        Returns
        -------
        self : GraphClassifier
            The fitted classifier.
        """
        self._check_params()
        data = self._validate(X, reset=True)
        labels = self._read_labels(y, data.shape[0])
        made, gamma = graph_over_rows(self, data, graph)
        weights = self._prepare(made)
        scores = self._propagate(data, labels, weights)
        self._new_rows = self._affinity_to(data, gamma)
        self.graph_, self.scores_ = weights, scores
        self._keep_labels(scores, labels)
        self.transduction_ = self._complete(self._decide(scores), labels)
        return self

    def fit_predict(self, X: Any, y: Any, graph: Any = None) -> Array:
        """Fit on all rows and return labels for all of them; known labels are unchanged.

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
        """Return the scores of all rows: the method itself."""
        raise NotImplementedError(type(self).__name__)

    def _prepare(self, graph: Operator) -> Operator:
        """Return the graph that the method works on."""
        return graph

    def _affinity_to(self, data: Any, gamma: float | None) -> NewRowAffinity | None:
        """Return the affinity to new rows; None if a graph was given."""
        if gamma is None:
            return None
        return NewRowAffinity(data, None if self.affinity == "rbf" else self.n_neighbors, gamma)

    def _complete(self, found: Array, labels: Labels) -> Array:
        """Replace predicted labels by known ones."""
        labelled = labels.labelled
        if labels.kind == "classes":
            known = labels.names[labels.values.argmax(axis=1)]
            return np.where(labelled, known, found)
        return np.where(labelled[:, None], labels.values.astype(np.int64), found)

    def _new_scores(self, data: Any) -> Array:
        if self._new_rows is None:
            raise Mismatch(
                f"{type(self).__name__}: new rows have no affinity to the fitted ones because fit "
                "was given a graph; pass all rows to fit and read transduction_ or scores_, or fit "
                "without graph=."
            )
        return self._new_rows.mean(data, self.scores_)
