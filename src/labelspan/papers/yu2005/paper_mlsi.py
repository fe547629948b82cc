"""MLSI in the forms of the paper: dense and exact, in the symbols of its equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._params import Boolean, Constraint, Either, Integer, Null, OneOf, Real, check_params
from ..._typing import Array
from ...errors import InvalidInput, InvalidParameter
from ...estimators import KernelFeatures
from ...estimators.kernel_features import FUNCTION, InstanceOf
from ...estimators.training import all_or_nothing, fixed_signs
from ...labels import read_labels
from ...labels.factor import equalizing_weights

__all__ = ["PaperMLSI"]

LABEL_KERNELS = ("linear", "poly", "rbf", "sigmoid", "cosine", "laplacian")


class PaperMLSI(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Multi-label informed latent semantic indexing, exactly as in yu2005.

    For data of the size of the paper, a few thousand rows or features; use :class:`labelspan.MLSI`
    for everything else. With its defaults this is Eq. 8, and after
    :class:`labelspan.KernelFeatures` its dual, Eq. 12 and Table 2.

    Parameters
    ----------
    n_components : int or None, default=None
        None keeps 100, or the rank if that is smaller.
    beta : float, default=0.5
        Weight of the labels, from 0 to 1; for the form "inverse" below 1.
    alpha : float, default=0.0
        Regularization strength: the gamma of the paper, on the balanced X, for the form "inverse";
        the penalty of the label regression for "ridge" and of the metric for "direct", both in the
        units of X.
    form : {"inverse", "direct", "ridge"}, default="inverse"
        - "inverse": Eq. 8, ``X'X w = lambda (X'C^-1 X + alpha I) w`` with
          ``C = (1 - beta) X X' + beta Y Y'`` on the range of X.
        - "direct": Eq. 4 with a ridge, ``X'C X w = lambda (X'X + alpha I) w``.
        - "ridge": the leading directions of C with Y replaced by its ridge regression on
          X. With ``alpha=0`` it is the form "inverse" with ``alpha=0``.
    scaling : {"labels", "fitted", "equalized"} or bool, default="labels"
        How the two sides are scaled: X and Y are divided by their norms ("labels", as in the paper,
        and True); the labels by the norm of the fitted labels ("fitted"); the same, after each
        label is divided by the root of its standard deviation ("equalized"); no scaling (False).
        The forms "inverse" and "direct", and a label kernel, treat the middle two as "labels".
    scale : {"eigenvalue"} or None, default="eigenvalue"
        "eigenvalue" gives ``sqrt(lambda_j) w_j'x``, None ``w_j'x``; the paper is printed both ways.
    center : bool, default=False
        Whether to centre the columns of X and Y.
    label_kernel : str or callable, default="linear"
        A kernel on the rows of Y (Table 2): "linear", "poly", "rbf", "sigmoid", "cosine",
        "laplacian", or a function of two rows.
    label_kernel_params : dict or None, default=None
        ``gamma``, ``degree`` and ``coef0`` of the label kernel, or the parameters of a kernel that
        is a function.

    Attributes
    ----------
    components_ : array of shape (m, d)
        One direction per row.
    eigenvalues_ : array of shape (m,)
        lambda, in decreasing order.
    mean_ : array of shape (d,)
        Column means that are subtracted; zeros without ``center``.
    classes_ : array of shape (k,)
        Names of the labels.
    label_loadings_ : array of shape (m, k)
        Linear map from the embedding to the labels.
    label_means_ : array of shape (k,)
        Offset of the label scores.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, if X is a data frame.

    See Also
    --------
    labelspan.MLSI : For data of any size.
    labelspan.KernelFeatures : A kernel on X.

    Notes
    -----
    .. math:: X^\top X w = \lambda (X^\top C^{-1} X + \gamma I) w, \qquad
              C = (1 - \beta) X X^\top + \beta Y Y^\top

    With more rows than features, C is singular, and its pseudo-inverse would lose the labels
    (:math:`X^\top C^{+} X = I / (1 - \beta)`): Y is projected onto the range of X instead, which
    has no effect if X has rank n.

    References
    ----------
    .. [1] Yu, K., Yu, S., & Tresp, V. (2005). Multi-label informed latent semantic indexing.
           SIGIR. https://doi.org/10.1145/1076034.1076080

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelspan.papers.yu2005 import PaperMLSI
    >>> X, Y = make_multilabel_classification(50, n_features=60, random_state=0)
    >>> PaperMLSI(3).fit(X, Y).eigenvalues_.round(3)
    array([0.485, 0.083, 0.069])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Either((Integer(1), Null())),
        "beta": Real(0.0, 1.0),
        "alpha": Real(0.0),
        "form": OneOf(("inverse", "direct", "ridge")),
        "scaling": Either((OneOf(("labels", "fitted", "equalized")), Boolean())),
        "scale": Either((OneOf(("eigenvalue",)), Null())),
        "center": Boolean(),
        "label_kernel": Either((OneOf(LABEL_KERNELS), FUNCTION)),
        "label_kernel_params": Either((InstanceOf(Mapping, "a dictionary"), Null())),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        beta: float = 0.5,
        alpha: float = 0.0,
        form: str = "inverse",
        scaling: str | bool = "labels",
        scale: str | None = "eigenvalue",
        center: bool = False,
        label_kernel: str | Callable[..., float] = "linear",
        label_kernel_params: Mapping[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.alpha = alpha
        self.form = form
        self.scaling = scaling
        self.scale = scale
        self.center = center
        self.label_kernel = label_kernel
        self.label_kernel_params = label_kernel_params

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the embedding from features and labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features; a sparse matrix is made dense.
        y : vector of classes, or array or sparse matrix of shape (n, k)
            -1 or NaN marks unknown entries, which add nothing.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check()
        X = self._rows(X, reset=True, ensure_min_samples=2)
        labels = read_labels(y, X.shape[0], "PaperMLSI")
        Y = labels.centred if self.center else labels.values
        weights = np.ones(Y.shape[1])
        if labels.unknown is not None:
            Y = np.where(labels.unknown, 0.0, Y)
        if self._regresses and self.scaling == "equalized":
            known = (~labels.unknown).sum(axis=0) if labels.unknown is not None else len(Y)
            weights = equalizing_weights(np.square(Y).sum(axis=0) / np.maximum(known, 1))
        mean = X.mean(axis=0) * self.center
        U, s, axes = _decomposed(X - mean, len(X) - self.center)  # X = U diag(s) axes
        L = Y * weights if self.label_kernel == "linear" else self._label_features(labels)
        # The solution lies in the range of X: directions are V = U A.
        share, seen = self._stack(s, U.T @ L, float(np.square(L).sum()))
        ridge = np.sqrt(np.square(s) + (self.alpha if self.form == "direct" else 0.0))
        root = np.c_[np.sqrt(share) * np.diag(s), seen] * (s / ridge)[:, None]
        A, singular, _ = np.linalg.svd(root, full_matrices=False)
        count = self._count(np.square(singular), len(L.T))
        A, values = A[:, :count], np.square(singular[:count])  # lambda
        W = axes.T @ (A / ridge[:, None])
        images = (A * (s / ridge)[:, None]).T @ (U.T @ Y)  # W'X'Y
        if self._regresses and self.scaling == "equalized" and self.beta > 0:
            # With all components, label scores are the prediction of ridge regression.
            images = A.T @ ((s**2 / (s**2 + self.alpha))[:, None] * (U.T @ Y))
        lengths = np.sqrt(values) if self.scale else np.ones(count)
        signs = fixed_signs(W)
        self.components_ = (W * (signs * lengths)).T
        self.eigenvalues_, self.n_components_ = values, count
        self.mean_ = mean
        self.classes_ = labels.names
        self.label_loadings_ = (signs / lengths)[:, None] * images
        self.label_means_ = labels.means() * self.center
        return self

    def transform(self, X: Any) -> Array:
        """Map rows to the embedding.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``.
        """
        check_is_fitted(self)
        return np.asarray((self._rows(X) - self.mean_) @ self.components_.T)

    def label_scores(self, X: Any) -> Array:
        """Score every label for every row, from the embedding.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        scores : array of shape (n, k)
            One column for each entry of ``classes_``.
        """
        return np.asarray(self.transform(X) @ self.label_loadings_ + self.label_means_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = tags.target_tags.multi_output = True
        return tags

    @property
    def _regresses(self) -> bool:
        """Whether labels are scaled by their fitted values: the ridge form, without a kernel."""
        return self.form == "ridge" and self.label_kernel == "linear"

    def _check(self) -> None:
        given = {name: getattr(self, name) for name in self._constraints}
        check_params("PaperMLSI", given, self._constraints)
        if self.form == "inverse" and self.beta == 1:
            raise InvalidParameter(
                "PaperMLSI: form='inverse' needs beta below 1, but beta=1 was given; use "
                "form='ridge'."
            )
        unknown = set(self.label_kernel_params or ()) - {"gamma", "degree", "coef0"}
        if unknown and not callable(self.label_kernel):
            raise InvalidParameter(
                "PaperMLSI: label_kernel_params may contain gamma, degree and coef0, "
                f"but has {', '.join(sorted(map(str, unknown)))}."
            )

    def _rows(self, X: Any, *, reset: bool = False, **options: Any) -> Array:
        try:
            data = validate_data(
                self, X, reset=reset, accept_sparse=("csr", "csc"), dtype=np.float64, **options
            )
        except ValueError as error:
            raise InvalidInput(f"PaperMLSI: {error}") from None
        return np.asarray(data.toarray() if hasattr(data, "toarray") else data)

    def _label_features(self, labels: Any) -> Array:
        """Return the coordinates of the labels under their kernel; zeros for unlabelled rows."""
        kernel, options = self.label_kernel, dict(self.label_kernel_params or {})
        if callable(kernel):
            kernel, options = partial(kernel, **options), {}
        index = np.flatnonzero(labels.labelled)
        known = KernelFeatures(kernel, **options).fit_transform(labels.values[index])
        out = np.zeros((len(labels.values), known.shape[1]))
        out[index] = known - known.mean(axis=0) * self.center
        return out

    def _stack(self, s: Array, cross: Array, y_square: float) -> tuple[float, Array]:
        """Return the weight of ``X X'``, and the labels in the basis of X."""
        a, b, alpha = 1.0 - self.beta, self.beta, self.alpha
        x_square = float(np.square(s).sum()) if self.scaling else 1.0
        L = cross / np.sqrt(y_square) if self.scaling and y_square > 0 else cross  # U'Y
        if self.form == "inverse":
            # X'C^-1 X + alpha I = t I - ..., by Woodbury: with B the minimum-norm regression,
            # Q = c^-2 (I / b + (alpha / c) B'B)^-1 and c = 1 + a alpha.
            c = 1.0 + a * alpha
            B = L / s[:, None] * np.sqrt(x_square)
            values, axes = np.linalg.eigh(B.T @ B)
            mixed = np.sqrt(b / (1.0 + b * (alpha / c) * np.maximum(values, 0.0))) / c
            return a / (c * x_square), L @ (axes * mixed) @ axes.T
        if self.form == "ridge":
            L = L * (s**2 / (s**2 + alpha))[:, None]
            length = np.linalg.norm(L)
            if self.scaling in ("fitted", "equalized") and self._regresses and length > 0:
                L = L / length
        return a / x_square, np.sqrt(b) * L

    def _count(self, values: Array, labels: int) -> int:
        most = int((values > 1e-14 * values[0]).sum()) if values[0] > 0 else 0
        if most == 0:
            raise InvalidInput("PaperMLSI: every eigenvalue is zero; check that X varies.")
        if self.n_components is None:
            return min(100, most)
        if self.n_components > most:
            raise InvalidParameter(
                f"PaperMLSI: n_components={self.n_components} is too large; {most} directions have "
                "an eigenvalue above zero."
            )
        return int(self.n_components)


def _decomposed(X: Array, most: int) -> tuple[Array, Array, Array]:
    """Return the thin SVD of X; its rank is determined in columns of equal length."""
    lengths = np.linalg.norm(X, axis=0)
    columns = lengths > 0
    if not columns.any():
        raise InvalidInput("PaperMLSI: X does not vary, so there is no direction to find.")
    U, s, _ = np.linalg.svd(X[:, columns] / lengths[columns], full_matrices=False)
    rank = min(most, int((s > max(X.shape) * np.finfo(np.float64).eps * s[0]).sum()))
    turn, s, axes = np.linalg.svd(U[:, :rank].T @ X, full_matrices=False)
    return U[:, :rank] @ turn, s, axes
