"""Partial least squares: singular directions of X'Y, and discriminant analysis by regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from .._params import Boolean, Constraint, Either, Integer, Null
from .._typing import Array
from ..labels.factor import block_rank
from ..operators import Operator, Scaled
from ..operators.array_backend import host
from ..operators.machine import refuse_too_large
from ..operators.operator import seen_by
from ..solvers import Solution
from ..solvers.pls_components import (
    PLSComponents,
    cross_directions,
    pls_components,
)
from ._streams import Stream
from .base import (
    SHARED,
    LabelledEmbedding,
    TrainingRows,
    accept,
    all_or_nothing,
    described,
    dimensions_for,
    refuse_overflow,
    seed_of,
    stream_rows,
    training_rows,
)

__all__ = ["PLSDA", "PLSSVD"]

M = TypeVar("M")


@dataclass(frozen=True)
class _Sides:
    """Rows, and the divisors of the columns of X and Y."""

    rows: TrainingRows
    x_scale: Any = 1.0
    y_scale: Any = 1.0


@all_or_nothing
@refuse_overflow
def _fit(self: M, X: Any, y: Any) -> M:
    """Learn the embedding from features and labels.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    y : vector of classes, or array or sparse matrix of shape (n, k)
        Rows whose labels are all unknown (-1 or NaN) are left out.

    Returns
    -------
    self
        The fitted estimator.
    """
    model: Any = self
    model._check_params()
    model._learn(_sides(model, training_rows(model, X, y)))
    return self


@described
class PLSSVD(LabelledEmbedding):
    r"""Partial least squares by one SVD: the leading singular directions of X'Y.

    The directions of features and of labels that covary most, for centred X and Y:

    .. math:: X'Y = U \Sigma V', \qquad Z = X U_m

    There is no whitening and no regularization, so it is fast and stable, even with more features
    than rows; :class:`OPLS` divides by the covariance of the features and predicts labels better.

    Special cases: it equals scikit-learn's ``PLSSVD`` (which does not support sparse data) up to
    signs, and is supervised PCA with linear kernels on features and labels, which maximises the
    Hilbert-Schmidt independence criterion (HSIC).

    Parameters
    ----------
    n_components : int or None, default=None
        None keeps every direction of X'Y: at most the smaller number of features or labels.
        With sparse labels of more than 16 million entries it keeps a third of the labels, at
        least 100 and at most 500.
    {center}
    standardize : bool, default=False
        Whether to divide the columns of X and of Y by their standard deviations, as
        ``scale=True`` does in scikit-learn.
    max_iter : int or None, default=None
        Maximum number of blocks of the SVD if X'Y is too large to be formed; None means 100.
    random_state : int, RandomState or None, default=0
        Seed of the starting block of such an SVD.

    Attributes
    ----------
    components_ : array of shape (m, d)
        Directions of the features, of unit length without ``standardize``.
    label_weights_ : array of shape (k, m)
        Directions of the labels: embedded labels are ``(Y - label_means_) @ label_weights_``.
    eigenvalues_ : array of shape (m,)
        Squared singular values of X'Y.
    mean_ : array of shape (d,)
    {labels}
    n_components_ : int
        Number of components.
    n_iter_ : array of shape (m,)
        Number of blocks of the SVD per component; 1 for a direct one.
    {features, solver_}

    See Also
    --------
    PLSDA : PLS regression, whose components are computed one after another.
    OPLS : The same with whitened features.

    References
    ----------
    .. [1] Wegelin. A survey of partial least squares (PLS) methods, with emphasis on the
       two-block case. Technical report 371, University of Washington, 2000.
    .. [2] Barshan, Ghodsi, Azimifar and Zolghadri Jahromi. Supervised principal component
       analysis. Pattern Recognition 44(7), 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from labelspan import PLSSVD
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> PLSSVD(2).fit(X, Y).components_.round(2)
    array([[ 0.06,  0.94,  0.35],
           [-0.01, -0.35,  0.94]])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": SHARED["n_components"],
        "center": Boolean(),
        "standardize": Boolean(),
        "max_iter": Either((Integer(1), Null())),
        "random_state": SHARED["random_state"],
    }

    label_weights_: Array

    def __init__(
        self,
        n_components: int | None = None,
        *,
        center: bool = True,
        standardize: bool = False,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.standardize = standardize
        self.max_iter = max_iter
        self.random_state = random_state

    fit = _fit

    def _learn(self, sides: _Sides) -> None:
        rows = sides.rows
        X, Y = rows.X, rows.Y
        k = Y.shape[1]
        wanted = dimensions_for(k, rows.n) if isinstance(Y, Operator) else k
        count = _count(self, rows, wanted, k)
        most = 100 if self.max_iter is None else self.max_iter
        found = cross_directions(X, Y, count, max_iter=most, seed=seed_of(self))  # U, V
        image = X.matmat(X.place(found.left))  # X U
        square = host(image.T @ image)
        seen = seen_by(image, Y)  # U'X'Y
        status = "Solved directly."
        if found.n_iter > 1:
            status = f"The SVD of X'Y took {found.n_iter} blocks."
        if not found.converged:
            status = "the SVD of X'Y stopped early; raise max_iter."
        solution = Solution(
            found.left,
            np.square(found.values),
            "svd",
            converged=found.converged,
            status=status,
            n_iter=found.n_iter,
        )
        accept(self, solution, count)
        loadings = np.linalg.pinv(square, rcond=1e-12, hermitian=True) @ seen
        weights = (found.left.T / sides.x_scale).T
        signs = self._publish(rows, weights, solution.eigenvalues, solution)
        self._publish_labels(rows, signs[:, None] * loadings * sides.y_scale)
        # One number per component, as in scikit-learn's estimators of two sides.
        self.n_iter_ = np.full(self.n_components_, self.n_iter_)
        label_weights = ((found.right * signs).T / sides.y_scale).T
        self.label_weights_ = label_weights.astype(rows.dtype)

    def transform(self, X: Any, y: Any = None) -> Array:
        """Map rows to the embedding.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : ignored
            Accepted for compatibility with scikit-learn's ``PLSSVD``, which takes both sides at
            once; embedded labels are ``(Y - label_means_) @ label_weights_``.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``.
        """
        return super().transform(X)

    def _why_no_stream(self) -> str | None:
        return None

    def _fit_stream(self, stream: Stream) -> None:
        self._learn(_sides(self, stream_rows(self, stream)))


@described
class PLSDA(LabelledEmbedding):
    r"""PLS discriminant analysis: PLS regression on labels, with VIP scores.

    Components are computed one after another (NIPALS). Each is the direction w in which the
    deflated features covary most with the labels; its score is then removed from the features, so
    that scores are orthogonal:

    .. math:: t = X_a w, \qquad X_{a+1} = X_a - t t'X_a / t't

    X is never deflated in memory: a sparse X stays sparse, and each component costs two
    products with one column. The number of components acts as regularization.

    Special cases: it equals scikit-learn's ``PLSRegression`` with ``scale`` as ``standardize``,
    for one-hot classes (PLS-DA), multi-label indicators and real targets;
    :meth:`label_scores` is its prediction. The first component is that of :class:`PLSSVD`,
    and with all components it is least squares.

    Parameters
    ----------
    n_components : int or None, default=None
        None uses the rank of the labels.
    {center}
    standardize : bool, default=False
        Whether to divide the columns of X and of Y by their standard deviations, as
        ``scale=True`` does in scikit-learn. Usual for measurements in different units.

    Attributes
    ----------
    components_ : array of shape (m, d)
        Rotations: ``transform(X) = (X - mean_) @ components_.T``.
    vip_ : array of shape (d,)
        Variable importance in projection. The mean of their squares is 1; features above 1 matter
        more than average.
    weights_ : array of shape (d, m)
        Unit directions w of the deflated features.
    eigenvalues_ : array of shape (m,)
        Sum of squares of the labels that each component explains, in the order of the components;
        not necessarily decreasing.
    mean_ : array of shape (d,)
    {labels}
    n_components_ : int
        Number of components.
    n_iter_ : int
        1, because every component is computed directly.
    {features, solver_}

    See Also
    --------
    PLSSVD : All directions from one SVD.
    OPLS : The directions from which least squares predicts the labels best.

    Notes
    -----
    With W the unit directions, t the scores and q the label loadings,

    .. math:: \mathrm{VIP}_j = \sqrt{d \sum_a s_a w_{ja}^2 / \sum_a s_a}, \qquad
              s_a = q_a'q_a \, t_a't_a

    References
    ----------
    .. [1] Wold, Sjostrom and Eriksson. PLS-regression: a basic tool of chemometrics.
       Chemometrics and Intelligent Laboratory Systems 58(2), 2001.
    .. [2] Barker and Rayens. Partial least squares for discrimination. Journal of
       Chemometrics 17(3), 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from labelspan import PLSDA
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = PLSDA(2, standardize=True).fit(X, y)
    >>> model.feature_names_in_[model.vip_.argsort()[::-1][:3]].tolist()
    ['alcohol', 'proline', 'color_intensity']
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": SHARED["n_components"],
        "center": Boolean(),
        "standardize": Boolean(),
    }

    vip_: Array
    weights_: Array

    def __init__(
        self,
        n_components: int | None = None,
        *,
        center: bool = True,
        standardize: bool = False,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.standardize = standardize

    fit = _fit

    def _learn(self, sides: _Sides) -> None:
        rows = sides.rows
        X, Y = rows.X, rows.Y
        d, k = X.shape[1], Y.shape[1]
        refuse_too_large(
            "PLSDA",
            16.0 * d * k,
            f"X'Y with {d} features and {k} labels",
            "use PLSSVD, which does not form it, or keep fewer labels",
        )
        rank = dimensions_for(k, rows.n) if isinstance(Y, Operator) else block_rank(Y)
        count = _count(self, rows, rank, None if rank else 0)
        found = pls_components(X, Y, count)
        solution = Solution(found.rotations, found.explained, "nipals")
        accept(self, solution, count)
        weights = (found.rotations.T / sides.x_scale).T
        signs = self._publish(rows, weights, solution.eigenvalues, solution)
        self._publish_labels(rows, (found.label_loadings * signs).T * sides.y_scale)
        dtype = rows.dtype
        self.weights_ = (found.weights * signs).astype(dtype)
        self.vip_ = _importance(found).astype(dtype)

    # Components of a feature in large units need all digits of the rows.
    _exact_stream: ClassVar[bool] = True

    def _why_no_stream(self) -> str | None:
        return None

    def _fit_stream(self, stream: Stream) -> None:
        self._learn(_sides(self, stream_rows(self, stream)))


def _importance(found: PLSComponents) -> Array:
    """Return the importance of each feature in the projection (VIP)."""
    share = found.explained / found.explained.sum()
    return np.asarray(np.sqrt(found.weights.shape[0] * (np.square(found.weights) @ share)))


def _sides(model: Any, rows: TrainingRows) -> _Sides:
    """Divide both sides by their standard deviations if the estimator standardizes."""
    if not model.standardize:
        return _Sides(rows)
    Y = rows.Y
    many = isinstance(Y, Operator)
    squares = Y.column_squares() if many else np.square(Y).sum(axis=0)
    x_scale = _deviations(rows.X.column_squares(), rows.means, rows.n)
    y_scale = _deviations(squares, rows.label_means, rows.n)
    values = Scaled(Y, columns=1.0 / y_scale) if many else Y / y_scale
    scaled = replace(rows, X=Scaled(rows.X, columns=1.0 / x_scale), Y=values)
    return _Sides(scaled, x_scale, y_scale)


def _deviations(squares: Array, means: Array, rows: int) -> Array:
    """Return standard deviations as in scikit-learn's PLS; 1 for a constant column."""
    deviations = np.sqrt(np.maximum(squares, 0.0) / max(rows - 1, 1))
    rounding = 8 * float(np.finfo(np.float64).eps) * np.abs(means)
    return np.where(deviations > rounding, deviations, 1.0)


def _count(model: Any, rows: TrainingRows, wanted: int, most: int | None = None) -> int:
    """Return the number of components; ``most`` is the limit from the labels, or None."""
    n, columns = rows.n, rows.X.shape[1]
    limits = [(columns, f"X has {columns} feature(s)")]
    if most is not None:
        limits.append((most, f"y has {most} label(s)" if most else "the labels do not vary"))
    limits.append((n - model.center, f"X has {n} labelled sample(s)"))
    least, reason = min(limits, key=lambda pair: pair[0])
    return int(model._count(least, reason, default=wanted))
