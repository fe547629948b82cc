"""Orthonormalised partial least squares."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..labels import Labels, opls_factor
from ._labelled import LabelledEmbedding

__all__ = ["OPLS"]


class OPLS(LabelledEmbedding):
    """Orthonormalised partial least squares (sun2009, Eq. 4).

    Solves ``X'Y Y'X w = lambda (X'X + alpha I) w`` for centred X and Y: the directions
    from which least squares predicts the labels best. Labels count by their size, so
    frequent labels, or targets with a large variance, weigh more than in :class:`CCA`.

    Special cases: with all components, :meth:`label_scores` is the prediction of ridge
    regression with the same ``alpha``. With ``alpha=0`` it is reduced-rank regression.

    Parameters
    ----------
    n_components : int or None, default=None
        None keeps every direction that the labels have: k, or k - 1 for classes.
    alpha : float, default=0.0
        The penalty's strength.
    penalty : {"l2", "l1"}, default="l2"
        The 1-norm gives sparse loadings, through ``solver="least-squares"`` alone.
    center : bool, default=True
        Whether to take off the columns' means; a sparse X stays sparse.
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed", or a function
        of two rows. Anything but "linear" is solved in the dual, exactly, up to 5,000 rows.
    gamma, degree, coef0 : float
        Parameters of the kernel, as in scikit-learn's ``KernelPCA``.
    kernel_params : dict or None, default=None
        For a kernel of one's own.
    landmarks : int or None, default=None
        The number of rows that stand for all in the kernel (Nystroem), for more rows than
        the exact dual takes.
    solver : str or solver, default="auto"
        "two-stage" (exact, the default), "eigen", "gram" or "least-squares".
    tol, max_iter : float and int or None, default=None
        For solvers that iterate; None leaves the choice to the solver.
    random_state : int, RandomState or None, default=0
        For solvers that draw random numbers.

    Attributes
    ----------
    components_ : array of shape (m, d)
    eigenvalues_ : array of shape (m,)
    mean_ : array of shape (d,)
    classes_ : array of shape (k,)
        The labels' names.
    label_loadings_ : array of shape (m, k)
    label_means_ : array of shape (k,)
    dual_coef_, X_fit_ : arrays of shape (n, m) and (n, d)
        With a kernel, instead of ``components_`` and ``mean_``.
    n_components_, n_iter_, n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X is a data frame.
    solver_, status_ : str
        What ran, and how it went.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from labelspan import OPLS
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> OPLS(2).fit_transform(X, Y).shape
    (20, 2)
    """

    def _make_factor(self, labels: Labels) -> Array:
        return opls_factor(labels, center=self.center)  # Y

    def _stream_map(self, sums: Array, square: Array) -> Array:
        return np.eye(square.shape[0])
