"""Classification by the nearest labelled row, in the space of DLE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from .._params import Constraint
from .._typing import Array
from ..errors import InvalidInput
from ..estimators._base import all_or_nothing
from ..estimators._labelled import LabelledEmbedding
from ..estimators.dle import DLE, embed, why_no_batches
from ..graph.neighbors import nearest_neighbors
from ..labels import Labels
from ..labels.reading import Kind
from ..operators import Operator

__all__ = ["DLEClassifier"]


class DLEClassifier(ClassifierMixin, LabelledEmbedding):
    """Classification by the nearest labelled row in the space of :class:`DLE` (wang2010, Table 1).

    For multi-label data each label is predicted separately: a row gets the label of the nearest
    row for which it is known. ``fit_predict`` is the use in the paper, where the rows to
    classify are part of the fit.

    Special cases: with ``projection="printed"`` and as many components as features, the space
    is a rotation of the features, and this is the 1-nearest-neighbour classifier.

    Parameters
    ----------
    n_components : int or None, default=None
        None keeps every direction: at most one less than there are labels.
    alpha : float or "auto", default="auto"
        Regularization strength, added to the diagonal of S_w. "auto" adds to the diagonals of S_w
        and of A the mean of their eigenvalues. 0 is the paper.
    affinity : {"nearest_neighbors", "rbf", "precomputed"}, default="nearest_neighbors"
        The graph where none is given to ``fit``.
    n_neighbors : int, default=10
        For "nearest_neighbors".
    gamma : float or None, default=None
        The width of the Gaussian, ``exp(-gamma |x_i - x_j|^2)``; None takes half the inverse
        of the median squared distance.
    label_weight : "auto" or float, default=0.0
        Weight of the similarity of labels, relative to the graph. "auto" is the paper's choice;
        see :class:`DLE`.
    projection : {"printed", "whitened", "smooth"}, default="printed"
        Which of three maps is used; see :class:`DLE`.

    Attributes
    ----------
    components_, eigenvalues_, mean_, classes_, label_loadings_, label_means_
        As in :class:`DLE`, and its others.

    See Also
    --------
    DLE : The space by itself.
    labelspan.semi_supervised.HarmonicFunction : Only the graph and the labels.

    References
    ----------
    .. [1] Wang, H., Huang, H., & Ding, C. (2010). Discriminant Laplacian embedding. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from labelspan import DLEClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> known = np.arange(178) % 10 == 0
    >>> found = DLEClassifier().fit_predict(scale(X), np.where(known, y, -1))
    >>> bool((found == y)[~known].mean() > 0.8)
    True
    """

    _takes: ClassVar[tuple[Kind, ...]] = DLE._takes
    _constraints: ClassVar[Mapping[str, Constraint]] = DLE._constraints
    _sparse_formats: ClassVar[tuple[str, ...]] = DLE._sparse_formats
    _takes_operators: ClassVar[bool] = False
    center = True

    label_weight_: float
    graph_: Operator

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float | str = "auto",
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
        label_weight: Literal["auto"] | float = 0.0,
        projection: Literal["printed", "whitened", "smooth"] = "printed",
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.label_weight = label_weight
        self.projection = projection

    @all_or_nothing
    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:  # type: ignore[override]
        """Fit as :meth:`DLE.fit` does, and keep the labelled rows in the space.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : array or sparse matrix of shape (n,) or (n, k)
            Classes, or a 0/1 indicator. -1 or NaN mean unknown.
        graph : array, sparse matrix, operator or None, default=None
            Weights between all rows, in place of those that ``affinity`` would make.

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
        # transform may hand back a data frame where set_output asked for one.
        return self._nearest(np.asarray(self.transform(X)))

    def fit_predict(self, X: Any, y: Any, graph: Any = None) -> Array:
        """Fit on all rows and return the labels of all; known ones are kept.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : array or sparse matrix of shape (n,) or (n, k)
            Classes, or a 0/1 indicator. -1 or NaN mean unknown.
        graph : array, sparse matrix, operator or None, default=None
            Weights between all rows, in place of those that ``affinity`` would make.

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
        labels, latent = embed(self, X, y, graph)
        labelled = np.flatnonzero(labels.labelled)
        self._labels, self._places = labels.rows(labelled), latent[labelled]
        return labels, latent

    def _why_no_stream(self) -> str | None:
        return why_no_batches(self)

    def _names(self, labels: Labels) -> Array:
        return np.asarray(self.classes_[labels.values.argmax(axis=1)])

    def _nearest(self, latent: Array) -> Array:
        labels = self._labels
        if labels.kind == "classes" or labels.unknown is None:
            row = nearest_neighbors(self._places, 1, latent)[0][:, 0]
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
            row = nearest_neighbors(self._places[known], 1, latent)[0][:, 0]
            out[:, column] = labels.values[known, column][row]
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
