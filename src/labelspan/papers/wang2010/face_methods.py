"""Face recognition methods in wang2010: a projection, then the nearest image."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._params import Either, Integer, OneOf, check_params
from ..._typing import Array
from ...errors import InvalidInput
from ...estimators import LDA, LPP, LSI
from ...estimators.training import all_or_nothing
from ...labels import read_labels
from .label_graph import label_graph

__all__ = ["FacePCA", "eigenfaces", "fisherfaces", "laplacianfaces"]

_FOLDS = 5


class FacePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components, in the number that a face method needs.

    Parameters
    ----------
    keep : {"all", "classes", "search"} or int, default="all"
        "all": the rank of the images. "classes": n minus the number of classes, which makes the
        scatter within classes invertible (Belhumeur, Hespanha, Kriegman 1997). "search": the
        number with the best nearest-image accuracy in five folds of the training images. An int:
        this number.

    Attributes
    ----------
    pca_ : LSI
        The fitted components.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from labelspan.papers.wang2010.face_methods import FacePCA
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> FacePCA("classes").fit(X[:40], y[:40]).n_components_
    37
    """

    def __init__(self, keep: str | int = "all") -> None:
        self.keep = keep

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the components; ``y`` holds classes, needed for "classes" and "search"."""
        allowed = Either((OneOf(("all", "classes", "search")), Integer(1)))
        check_params("FacePCA", {"keep": self.keep}, {"keep": allowed})
        data = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        if self.keep in ("classes", "search") and y is None:
            raise InvalidInput(f"FacePCA: keep={self.keep!r} needs y; pass classes, or keep='all'.")
        centred = data - data.mean(axis=0)
        rank = int(np.linalg.matrix_rank(centred, rtol=1e-6))
        if rank == 0:
            raise InvalidInput("FacePCA: all images in X are equal; pass images that differ.")
        if self.keep == "all":
            count = rank
        elif self.keep == "classes":
            count = min(rank, data.shape[0] - np.unique(y).size)
            if count < 1:
                raise InvalidInput(
                    "FacePCA: keep='classes' needs a class with two images or more, "
                    "but every class in y has one."
                )
        elif self.keep == "search":
            count = _search(data, np.asarray(y), rank)
        else:
            count = int(self.keep)
        self.pca_ = LSI(count, center=True).fit(data)
        self.n_components_ = self._n_features_out = count
        return self

    def transform(self, X: Any) -> Array:
        """Map images to the components."""
        check_is_fitted(self)
        return np.asarray(self.pca_.transform(validate_data(self, X, reset=False)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _search(X: Array, y: Array, rank: int) -> int:
    """Find the smallest number of components with the fewest errors."""
    folds = min(_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    if folds < 2:
        return rank
    right = np.zeros(rank)
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        centred = X[train] - X[train].mean(axis=0)
        inside = min(rank, int(np.linalg.matrix_rank(centred, rtol=1e-6)))
        pca = LSI(inside, center=True).fit(X[train])
        known, asked = pca.transform(X[train]), pca.transform(X[test])
        # The squared distance in m components is that in m - 1 plus one more term.
        squares = np.zeros((len(test), len(train)))
        for m in range(inside):
            squares += (asked[:, m, None] - known[None, :, m]) ** 2
            right[m] += (y[train][squares.argmin(axis=1)] == y[test]).sum()
        right[inside:] += (y[train][squares.argmin(axis=1)] == y[test]).sum()
    return int(right.argmax()) + 1


def eigenfaces(n_components: int | None = None) -> Pipeline:
    """Create a pipeline of principal components and the nearest image (Turk and Pentland 1991).

    Parameters
    ----------
    n_components : int or None, default=None
        None chooses the number by cross-validation, as in wang2010.

    Returns
    -------
    Pipeline

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from labelspan.papers.wang2010.face_methods import eigenfaces
    >>> X, y = load_digits(return_X_y=True)
    >>> bool(eigenfaces(20).fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.9)
    True
    """
    return _pipeline(FacePCA("search" if n_components is None else n_components))


def fisherfaces() -> Pipeline:
    """Create a pipeline of principal components, linear discriminants and the nearest image.

    Belhumeur, Hespanha and Kriegman 1997.

    Returns
    -------
    Pipeline

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from labelspan.papers.wang2010.face_methods import fisherfaces
    >>> X, y = load_digits(return_X_y=True)
    >>> bool(fisherfaces().fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.8)
    True
    """
    return _pipeline(FacePCA("classes"), LDA(alpha=0.0))


def laplacianfaces() -> Pipeline:
    """Create a pipeline of principal components, LPP and the nearest image.

    He, Yan, Hu, Niyogi and Zhang 2005. The graph connects images of the same person, the variant
    that is compared with Fisherfaces.

    Returns
    -------
    Pipeline

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from labelspan.papers.wang2010.face_methods import laplacianfaces
    >>> X, y = load_digits(return_X_y=True)
    >>> bool(laplacianfaces().fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.8)
    True
    """
    return _pipeline(FacePCA("all"), ClassLPP())


class ClassLPP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """LPP with a graph that connects the rows of each class, one dimension less than classes.

    Attributes
    ----------
    lpp_ : LPP
        The fitted embedding.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the embedding to classes ``y``."""
        classes = read_labels(y, len(X), "ClassLPP").values
        self.lpp_ = LPP(max(1, classes.shape[1] - 1)).fit(X, graph=label_graph(classes))
        return self

    def transform(self, X: Any) -> Array:
        """Embed rows."""
        return self.lpp_.transform(X)


def _pipeline(*steps: Any) -> Pipeline:
    names = [type(step).__name__.lower() for step in steps]
    nearest = ("nearest", KNeighborsClassifier(n_neighbors=1))
    return Pipeline([*zip(names, steps, strict=True), nearest])
