"""Orthonormalised partial least squares."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from ..labels import Labels, opls_factor
from ..operators.array_backend import on_host
from ..solvers import Solver
from ._factor_fit import fit_by_factor, fit_factor_stream, refuse_least_squares
from ._streams import why_no_stream
from .base import LabelledEmbedding, placed_by_labels, refuse_overflow

__all__ = ["OPLS"]


class OPLS(LabelledEmbedding):
    r"""Orthonormalised partial least squares (sun2009, Eq. 4).

    Solves ``X'Y Y'X w = lambda (X'X + alpha I) w`` for centred X and Y: the directions
    from which least squares predicts the labels best. Labels count by their variance, so frequent
    labels, or targets with a large variance, have more weight than in :class:`CCA`.

    Special cases: with all components, :meth:`label_scores` is the prediction of ridge
    regression with the same ``alpha``. With ``alpha=0`` it is reduced-rank regression.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps every direction of the labels: k, or k - 1 for classes. With sparse
        labels of more than 33 million entries it keeps a third of the labels, at least 100 and
        at most 500.
        "auto" keeps as many as reduced-rank regression with an adaptive nuclear norm penalty
        would [1]_, by generalized cross-validation.
    alpha : float or "auto", default="auto"
        Regularization strength, added to the diagonal of ``X'X``; 0 is the classical method.
        "auto" chooses the value with which ridge regression of the labels on the features predicts
        best: by the exact leave-one-out error if X has up to 1,000 rows or columns, on held-out
        rows if both are larger, by generalized cross-validation in a stream.
    penalty : {"l2", "l1"}, default="l2"
        "l1" gives sparse loadings and needs ``solver="least-squares"`` and a number for alpha.
    scale : {"eigenvalue"} or None, default="eigenvalue"
        "eigenvalue" gives ``sqrt(lambda_j) w_j'x``, so that better directions are longer, which
        suits nearest neighbours; None gives ``w_j'x``, with ``W'(X'X + alpha I)W = I``.
    center : bool, default=True
        Whether to centre the columns; a sparse X stays sparse.
    solver : str or solver, default="auto"
        "exact", "krylov" (to a given accuracy, for large data) or "least-squares".
    tol, max_iter : float and int or None, default=None
        Tolerance and maximum number of iterations, for iterative solvers; None uses the
        solver's default. If both n and d are above 4,096 and alpha is above 0, None stops when the
        missing eigenvalues are estimated at 0.5% of those found; a small number, for example 1e-8,
        solves to full convergence.
    random_state : int, RandomState or None, default=0
        Seed of solvers that use random numbers.

    Attributes
    ----------
    components_ : array of shape (m, d)
    eigenvalues_ : array of shape (m,)
    mean_ : array of shape (d,)
    classes_ : array of shape (k,)
        Names of the labels.
    label_loadings_ : array of shape (m, k)
    label_means_ : array of shape (k,)
    alpha_, alpha_curve_ : float, AlphaCurve or None
        Regularization strength, and the prediction error for each one tried if it was "auto".
    n_components_, n_iter_ : int
        Number of components, and of iterations; 1 for a direct solver.
    n_features_in_, feature_names_in_ : int, array of shape (d,)
        Number of features, and their names if X is a data frame.
    solver_, status_ : str
        Name of the solver used, and its convergence message.

    See Also
    --------
    CCA : Every label counts equally.
    MLSI : Keeps the features as well.
    PLSSVD : Covariance instead of prediction.

    Notes
    -----
    .. math:: X^\top Y Y^\top X w = \lambda (X^\top X + \alpha I) w

    References
    ----------
    .. [1] Chen, Dong and Chan. Reduced rank regression via adaptive nuclear norm
       penalization. Biometrika 100(4), 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from labelspan import OPLS
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> OPLS(2).fit_transform(X, Y).shape
    (20, 2)
    """

    _factor_is_labels: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        alpha: float | str = "auto",
        penalty: str = "l2",
        scale: str | None = "eigenvalue",
        center: bool = True,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.penalty = penalty
        self.scale = scale
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    fit = fit_by_factor
    _fit_stream = fit_factor_stream
    _why_no_stream = why_no_stream

    def label_factor(self, labels: Labels) -> Any:
        """Return H, which is Y.

        Parameters
        ----------
        labels : Labels
            The labels of the labelled rows.

        Returns
        -------
        H : array of shape (n, k)
            The factor.
        """
        return opls_factor(labels, center=self.center)

    def _stream_factor(self, block: Array, sums: Array) -> Array:
        return block

    @refuse_overflow
    def transform(self, X: Any, labels: Any = None) -> Array:
        """Map rows to the embedding.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        labels : labels of the form that was given to ``fit``, or None, default=None
            Known labels of the rows, for the items of a collection; -1 or NaN marks unknown
            entries, which add nothing. The embedding then combines the fitted labels and the known
            ones. Not available for ``penalty="l1"`` and ``solver="least-squares"``.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``. With labels and ``scale="eigenvalue"``,
            ``+ (Y - label_means_) @ label_loadings_.T``.
        """
        fitted = self._fitted()
        rows = LabelledEmbedding.transform(fitted, X)
        if labels is None:
            return rows
        refuse_least_squares(fitted)
        # The eigenvectors U of H'X G: rows of H lie at H U where fitted rows lie at X G U.
        directions = on_host(fitted.label_loadings_).T
        if not fitted.scale:
            directions = directions / fitted.eigenvalues_
        return placed_by_labels(fitted, rows, labels, directions)
