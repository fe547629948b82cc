"""The paper's classifier, by the nearest labelled row, and its graph with similarity of labels."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..._params import Either, OneOf, Real, check_params
from ..._typing import Array
from ...errors import InvalidInput
from ...estimators import DLE
from ...estimators.training import all_or_nothing
from ...graph.affinity import degrees, graph_over_rows
from ...graph.neighbors import nearest_neighbors
from ...labels import Labels, read_labels
from ...operators import Operator
from ...operators.array_backend import as_block
from ...operators.row_data import check_rows
from ...operators.row_graph import read_graph
from .label_graph import label_graph
from .weighted_sum import WeightedSum

__all__ = ["DLEClassifier", "with_label_graph"]


def with_label_graph(
    graph: Any, X: Any, y: Any, weight: Literal["auto"] | float = "auto"
) -> Operator:
    """Add the similarity of rows by their labels to a graph: ``W_X + beta W_L`` (Eq. 16 to 19).

    Rows without labels use those of the nearest labelled row, which may be wrong.

    Parameters
    ----------
    graph : array, sparse matrix or operator of shape (n, n)
        W_X, for example of :func:`labelspan.graph.gaussian_graph`.
    X : array or sparse matrix of shape (n, d)
        The features.
    y : array or sparse matrix of shape (n,) or (n, k)
        Classes, or a 0/1 indicator; -1 or NaN mean unknown.
    weight : "auto" or float, default="auto"
        The beta. "auto" is the paper's choice for an indicator, both sums of weights equal,
        and 0 for classes.

    Returns
    -------
    graph : Operator
        Of shape (n, n); the ``weights`` of a sum are 1 and beta.

    See Also
    --------
    label_graph : The similarity of labels by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.graph import neighbor_graph
    >>> from labelspan.papers.wang2010 import with_label_graph
    >>> X, Y = np.array([[0.0], [1.0], [5.0]]), np.array([[1, 0], [0, 1], [0, 1]])
    >>> graph = with_label_graph(neighbor_graph(X, 1, weight="binary"), X, Y)
    >>> [round(weight, 6) for weight in graph.weights]
    [1.0, 2.0]
    """
    owner = "with_label_graph"
    check_params(owner, {"weight": weight}, {"weight": Either((OneOf(("auto",)), Real(0.0)))})
    data = check_rows(X, owner)
    labels = read_labels(y, data.shape[0], owner, semi_supervised=True)
    plain = read_graph(graph, data.shape[0])
    if weight == "auto" and labels.kind == "classes":
        return plain
    values, labelled = labels.values, labels.labelled
    if not labelled.all():
        known = np.flatnonzero(labelled)
        values = values.copy()
        nearest, _ = nearest_neighbors(data[known], 1, data[~labelled], search="auto")
        values[~labelled] = values[known[nearest[:, 0]]]
    added = label_graph(values)
    if weight != "auto":
        return WeightedSum([plain, added], [1.0, float(weight)])
    totals = [float(degrees(one).sum()) for one in (plain, added)]
    if totals[1] <= 0:
        raise InvalidInput(f"{owner}: no two rows have similar labels; pass a number as weight.")
    return WeightedSum([plain, added], [1.0, totals[0] / totals[1]])


class DLEClassifier(ClassifierMixin, BaseEstimator):
    """Nearest-neighbour classifier in the embedding of :class:`~labelspan.DLE` (wang2010, Table 1).

    For multi-label data each label is predicted separately: a row gets the label of the nearest
    row for which it is known. In the paper the rows to classify are part of the fit; this is
    ``fit_predict``.

    Special cases: with ``projection="printed"`` and as many components as features, the space
    is a rotation of the features, and this is the 1-nearest-neighbour classifier.

    Parameters
    ----------
    n_components, alpha, affinity, n_neighbors, gamma, projection : parameters
        As in :class:`~labelspan.DLE`.
    label_graph_weight : "auto" or float, default=0.0
        As in :func:`with_label_graph`; 0 adds nothing.

    Attributes
    ----------
    embedding_ : DLE
        The space.
    classes_ : array of shape (k,)
        Names of the labels.
    n_features_in_, feature_names_in_ : int, array of shape (d,)
        Number of features, and their names if X is a data frame.

    See Also
    --------
    labelspan.DLE : The space, which predicts classes by their posterior probabilities.
    HarmonicFunction : Only the graph and the labels.

    References
    ----------
    .. [1] Wang, H., Huang, H., & Ding, C. (2010). Discriminant Laplacian embedding. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from labelspan.papers.wang2010 import DLEClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> known = np.arange(178) % 10 == 0
    >>> found = DLEClassifier().fit_predict(scale(X), np.where(known, y, -1))
    >>> bool((found == y)[~known].mean() > 0.8)
    True
    """

    embedding_: DLE
    classes_: Array

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float | str = "mean",
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
        projection: Literal["printed", "whitened", "smooth"] = "printed",
        label_graph_weight: Literal["auto"] | float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.projection = projection
        self.label_graph_weight = label_graph_weight

    @all_or_nothing
    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:
        """Fit the embedding, and store the embedded labelled rows.

        Parameters
        ----------
        X, y, graph : arrays
            As in :meth:`labelspan.DLE.fit`; a vector of only -1 and 1 has these two classes, and
            NaN for unknown.

        Returns
        -------
        DLEClassifier
            The fitted classifier.
        """
        self._keep(X, y, graph)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the class of each row, or its 0/1 indicator if ``y`` was one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The rows to classify.

        Returns
        -------
        array of shape (n,) or (n, k)
            Classes, or a 0/1 indicator.
        """
        check_is_fitted(self)
        return self._nearest(self.embedding_.transform(X))

    @all_or_nothing
    def fit_predict(self, X: Any, y: Any, graph: Any = None) -> Array:
        """Fit on all rows and return labels for all of them; known labels are unchanged.

        Parameters
        ----------
        X, y, graph : arrays
            As in :meth:`fit`.

        Returns
        -------
        array of shape (n,) or (n, k)
            Classes, or a 0/1 indicator, of all rows.
        """
        labels, latent = self._keep(X, y, graph)
        found = self._nearest(latent)
        if labels.kind == "classes":
            return np.where(labels.labelled, self._names(labels), found)
        if labels.unknown is None:
            return labels.values.astype(np.int64)
        return np.where(labels.unknown, found, labels.values.astype(np.int64))

    def _keep(self, X: Any, y: Any, graph: Any) -> tuple[Labels, Array]:
        """Fit the embedding, and return the labels and the embedded rows."""
        options = self.get_params()
        weight = options.pop("label_graph_weight")
        embedding = DLE(**options)
        if weight != 0:
            embedding._check_params()
            rows = embedding._validate(X, reset=True, least=2, select_rows=True)
            graph, _ = graph_over_rows(embedding, rows, graph)  # W_X
            graph = with_label_graph(graph, rows, y, weight)  # W_X + beta W_L
        embedding.fit(X, y, graph)
        labels = embedding._read_labels(y, embedding.graph_.shape[0])
        latent = as_block(embedding.transform(X))
        labelled = np.flatnonzero(labels.labelled)
        self.embedding_, self.classes_ = embedding, embedding.classes_
        self.n_features_in_ = embedding.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(embedding, "feature_names_in_"):
            self.feature_names_in_ = embedding.feature_names_in_
        self._labels, self._embedded = labels.rows(labelled), latent[labelled]
        return labels, latent

    def _names(self, labels: Labels) -> Array:
        return np.asarray(self.classes_[labels.values.argmax(axis=1)])

    def _nearest(self, latent: Array) -> Array:
        labels = self._labels
        if labels.kind == "classes" or labels.unknown is None:
            row = nearest_neighbors(self._embedded, 1, latent)[0][:, 0]
            found = self._names(labels) if labels.kind == "classes" else labels.values.astype(int)
            return np.asarray(found[row])
        out = np.empty((latent.shape[0], self.classes_.size), dtype=np.int64)
        for column, unknown in enumerate(labels.unknown.T):
            known = np.flatnonzero(~unknown)
            if known.size == 0:
                raise InvalidInput(
                    f"{type(self).__name__}: label {self.classes_[column]} is unknown in all rows "
                    "of y; leave its column out."
                )
            row = nearest_neighbors(self._embedded[known], 1, latent)[0][:, 0]
            out[:, column] = labels.values[known, column][row]
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags
