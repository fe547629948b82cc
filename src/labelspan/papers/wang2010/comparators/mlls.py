"""Least squares with a shared subspace, called MLLS in wang2010."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ...._params import Constraint, Either, Integer, Null, Real
from ...._typing import Array
from ....errors import InvalidParameter
from ....estimators._graph_methods import coordinates
from ....estimators.training import all_or_nothing
from ....operators import as_operator
from ....solvers.small_dense import LEAST_EIGENVALUE, psd_basis
from .graph_classifier import ScoreClassifier

__all__ = ["MLLS"]


class MLLS(ScoreClassifier):
    """Multi-label least squares with a shared subspace, called MLLS in wang2010.

    By Ji, Tang, Yu and Ye (KDD 2008). Label l is predicted by ``u_l'x``; the part of u_l
    outside a subspace, spanned by the r orthonormal rows of Theta, is penalised more::

        min |XU - Y|^2 / n + alpha |U - Theta'V|^2 + beta |U|^2

    over U (d x k), V and Theta. Given Theta, ``V = Theta U`` and
    ``(M - alpha Theta'Theta) U = X'Y / n`` with ``M = X'X / n + (alpha + beta) I``; it remains
    to maximise::

        tr (Theta S_1 Theta')^-1 (Theta S_2 Theta')

    with ``S_1 = I - alpha M^-1`` and ``S_2 = M^-1 X'Y Y'X M^-1 / n^2``, which the leading
    eigenvectors of ``S_1^-1 S_2`` span. X and Y (0 and 1) are centred; rows without labels
    are left out. The solution is exact for any shape; for d > n it is computed in the row space
    of X.

    Special cases: ``alpha=0`` is ridge regression with the penalty ``beta n``. So is every
    alpha once r reaches the rank of X'Y, at most k: Theta then contains the whole ridge solution,
    and its penalty has no effect. As alpha grows, U is confined to Theta.

    Parameters
    ----------
    n_components : int or None, default=None
        The number of shared dimensions, r. None is half the rank of X'Y, rounded up.
    alpha : float, default=1.0
        Regularization strength outside the subspace, in units of the mean square of the
        features.
    beta : float, default=0.1
        Regularization strength of all of U, in the same units.

    Attributes
    ----------
    coef_ : array of shape (k, d)
        U'.
    intercept_ : array of shape (k,)
        Constant term of each label.
    components_ : array of shape (r, d)
        Theta.
    classes_ : array of shape (k,)
        Names of the classes or labels.
    thresholds_ : array of shape (k,) or None
        For an indicator: score above which a row gets the label, chosen so that each label keeps
        its share of the labelled rows of ``fit``.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    labelspan.OPLS : A subspace shared by all labels, without label-specific parts.

    References
    ----------
    .. [1] Ji, S., Tang, L., Yu, S., & Ye, J. (2008). Extracting shared subspace for multi-label
           classification. KDD.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.papers.wang2010.comparators import MLLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 5))
    >>> Y = (X @ rng.standard_normal((5, 4)) > 0).astype(int)
    >>> model = MLLS(n_components=2).fit(X, Y)
    >>> model.components_.shape, bool((model.predict(X) == Y).mean() > 0.8)
    ((2, 5), True)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": Either((Integer(1), Null())),
        "alpha": Real(0.0),
        "beta": Real(0.0),
    }

    coef_: Array
    intercept_: Array
    components_: Array

    def __init__(
        self, *, n_components: int | None = None, alpha: float = 1.0, beta: float = 0.1
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.beta = beta

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the subspace and the weights of the labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            One of n and d must be at most 4,096.
        y : array or sparse matrix of shape (n,) or (n, k)
            Classes, or a 0/1 indicator. -1 or NaN mean unknown; a row is labelled or unknown as
            a whole.

        Returns
        -------
        self : MLLS
            The fitted classifier.
        """
        self._check_params()
        data = self._validate(X, reset=True)
        labels = self._read_labels(y, data.shape[0])
        known = np.flatnonzero(labels.labelled)
        data, labels = data[known], labels.rows(known)
        inside, means = coordinates(type(self).__name__, data)
        label_means = labels.means()
        rows = inside.rows.shape[0]
        squares, axes = psd_basis(inside.rows.gram() / rows)
        cross = axes.T @ inside.rows.cross(labels.values - label_means) / rows
        shared = _Shared(squares, cross, self.alpha, self.beta)
        theta = shared.subspace(self._count(shared.rank))
        self.components_ = inside.to_features(axes @ theta).T
        self.coef_ = inside.to_features(axes @ shared.slopes(theta)).T
        self.intercept_ = label_means - self.coef_ @ means
        self._keep_labels(self._new_scores(data), labels)
        return self

    def _count(self, rank: int) -> int:
        if self.n_components is None:
            return (rank + 1) // 2
        if self.n_components > rank:
            raise InvalidParameter(
                f"MLLS: n_components={self.n_components} is too large; X'Y has rank {rank}, so "
                f"use at most {rank}, which is ridge regression, or fewer."
            )
        return self.n_components

    def _new_scores(self, data: Any) -> Array:
        return np.asarray(as_operator(data).matmat(self.coef_.T) + self.intercept_)


@dataclass(frozen=True)
class _Shared:
    """The problem along the eigenvectors of ``X'X / n``, where M and S_1 are diagonal."""

    squares: Array
    cross: Array
    alpha: float
    beta: float

    @property
    def _tight(self) -> Array:
        return (self.squares + self.alpha + self.beta)[:, None]

    @property
    def _loose(self) -> Array:
        return (self.squares + self.beta)[:, None]

    @property
    def _whitened(self) -> tuple[Array, Array]:
        # S_1^-1/2 S_2 S_1^-1/2 = T T' with T = X'Y / (n (tight loose)^1/2).
        thin = self.cross / np.sqrt(self._tight * self._loose)
        left, lengths, _ = np.linalg.svd(thin, full_matrices=False)
        return left, lengths

    @property
    def rank(self) -> int:
        lengths = self._whitened[1]
        if lengths.size == 0 or not lengths[0] > 0:
            return 0
        return int((lengths**2 > LEAST_EIGENVALUE * lengths[0] ** 2).sum())

    def subspace(self, count: int) -> Array:
        """Return Theta', with orthonormal columns."""
        leading = self._whitened[0][:, :count] * np.sqrt(self._tight / self._loose)
        return np.asarray(np.linalg.qr(leading)[0])

    def slopes(self, theta: Array) -> Array:
        """Return ``(M - alpha Theta'Theta)^-1 X'Y / n``, by Woodbury's identity."""
        plain = self.cross / self._tight
        inner = np.eye(theta.shape[1]) - self.alpha * theta.T @ (theta / self._tight)
        inside = np.linalg.solve(inner, theta.T @ plain)
        return np.asarray(plain + self.alpha * (theta / self._tight) @ inside)
