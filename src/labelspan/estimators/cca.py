"""Canonical correlation analysis."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from ..labels import Labels, cca_factor
from ..labels.factor import orthonormal_columns, orthonormal_map
from ..labels.label_factor import whitening
from ..operators import Operator
from ..operators.array_backend import on_host
from ..operators.memory import refuse_too_large
from ..solvers import Solver
from ._factor_fit import fit_by_factor, fit_factor_stream, refuse_least_squares
from ._streams import why_no_stream
from .base import Features, LabelledEmbedding, placed_by_labels, refuse_overflow

__all__ = ["CCA"]


class CCA(LabelledEmbedding):
    r"""Canonical correlation analysis of features and labels (sun2009, Eq. 3).

    Solves ``X'Y (Y'Y)^+ Y'X w = lambda (X'X + alpha I) w`` for centred X and Y. Each
    component is the combination of features most correlated with some combination of
    labels; the correlations are the square roots of the eigenvalues. Labels count equally, whatever
    their frequency.

    Special cases: on classes it is :class:`LDA`. Labels may repeat or depend on each
    other: their common directions are counted once.

    With more features than rows and ``alpha=0`` every correlation is 1, which is not
    informative; use ``alpha`` above 0 there, as the default does.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps every direction: the rank of the centred labels.
        "auto" keeps as many as reduced-rank regression with an adaptive nuclear norm penalty
        would [1]_, by generalized cross-validation.
    alpha : float or "auto", default="auto"
        Regularization strength, added to the diagonal of ``X'X``; 0 is the classical method.
        "auto" chooses the strength with which ridge regression of the labels on the features
        predicts best: by the exact leave-one-out error where X has up to 1,000 rows or columns,
        by held-out rows where both are more, by generalized cross-validation in a stream.
    penalty : {"l2", "l1"}, default="l2"
        "l1" gives sparse loadings and needs ``solver="least-squares"`` and a number for alpha.
    scale : {"eigenvalue"} or None, default=None
        "eigenvalue" gives ``sqrt(lambda_j) w_j'x``, so that better directions are longer, which
        suits nearest neighbours; None gives ``w_j'x``, with ``W'(X'X + alpha I)W = I``.
    center : bool, default=True
        Whether to centre the columns; a sparse X stays sparse.
    solver : str or solver, default="auto"
        "exact", "krylov" (to a stated accuracy, for large data) or "least-squares".
    tol, max_iter : float and int or None, default=None
        Tolerance and maximum number of iterations, for iterative solvers; None uses the
        solver's own. Where both sides of X are above 4,096 and alpha is above 0, None stops where
        the eigenvalues still to come are estimated at 0.5% of those found; a small number, for
        example 1e-8, solves to full convergence.
    random_state : int, RandomState or None, default=0
        Seed of solvers that use random numbers.

    Attributes
    ----------
    correlations_ : array of shape (m,)
        The canonical correlations, with ``alpha=0``.
    label_weights_ : array of shape (k, m)
        Directions of the labels, one for each component; see :meth:`transform_labels`.
    components_ : array of shape (m, d)
    eigenvalues_ : array of shape (m,)
    mean_ : array of shape (d,)
    classes_ : array of shape (k,)
        Names of the labels.
    label_loadings_ : array of shape (m, k)
    label_means_ : array of shape (k,)
    alpha_, alpha_curve_ : float, AlphaCurve or None
        Regularization strength, and the prediction error for each one tried if it was "auto".
    n_components_ : int
        Number of components.
    n_iter_ : array of shape (m,)
        Number of iterations per component; 1 for a direct solver.
    n_features_in_, feature_names_in_ : int, array of shape (d,)
        Number of features, and their names if X is a data frame.
    solver_, status_ : str
        Name of the solver used, and its convergence message.

    See Also
    --------
    OPLS : Labels count by their variance.
    LDA : The case of one class per row.
    sklearn.cross_decomposition.CCA : By deflation, for dense data.

    Notes
    -----
    .. math:: X^\top Y (Y^\top Y)^{+} Y^\top X w = \lambda (X^\top X + \alpha I) w

    The eigenvalues are the squared canonical correlations where :math:`\alpha = 0`.

    References
    ----------
    .. [1] Chen, Dong and Chan. Reduced rank regression via adaptive nuclear norm
       penalization. Biometrika 100(4), 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from labelspan import CCA
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> CCA(alpha=0.0).fit(X, Y).correlations_.round(3)
    array([0.796, 0.201, 0.073])
    """

    correlations_: Array
    label_weights_: Array

    # Targets that nearly repeat each other need all digits of the rows.
    _exact_stream: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        alpha: float | str = "auto",
        penalty: str = "l2",
        scale: str | None = None,
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
        """Return H, an orthonormal basis of the labels.

        Parameters
        ----------
        labels : Labels
            The labels of the labelled rows.

        Returns
        -------
        H : array of shape (n, rank)
            The factor.
        """
        if labels.many:
            k = labels.values.shape[1]
            refuse_too_large(
                "CCA",
                40.0 * k**2,
                f"whitening {k} labels",
                "use OPLS, which does not whiten them, or keep fewer labels",
            )
        return cca_factor(labels, center=self.center)  # Y (Y'Y)^-1/2

    def _stream_factor(self, block: Array, sums: Array) -> Array:
        basis = orthonormal_columns(block)
        return basis if basis.shape[1] else np.zeros((block.shape[0], 1))

    def _publish_pairs(self, features: Features, Y: Any, images: Array) -> None:
        # One number per component, as in scikit-learn's CCA.
        self.n_iter_ = np.full(self.n_components_, self.n_iter_)
        self.correlations_ = np.sqrt(np.clip(self.eigenvalues_, 0.0, None))
        # H H' projects on the columns of Y, so the label side of a pair is the regression of
        # the feature side on the labels, at unit length.
        root = _label_map(Y)
        scale = np.where(self.correlations_ > 0, self.correlations_, 1.0)
        self.label_weights_ = (root @ (root.T @ images.T) / scale).astype(features.dtype)

    @refuse_overflow
    def transform(self, X: Any, y: Any = None, labels: Any = None) -> Array:
        """Map rows to the feature side of the pairs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : ignored
            Accepted for compatibility with scikit-learn's CCA, which takes both sides
            at once; the label side is :meth:`transform_labels`.
        labels : labels of the form that was given to ``fit``, or None, default=None
            Known labels of the rows, for the items of a collection; -1 or NaN marks unknown
            entries, which add nothing. The place is then that of the fitted labels and the known
            ones together. Not for ``penalty="l1"`` and ``solver="least-squares"``.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``, and with labels
            ``+ transform_labels(labels) / correlations_``, without the division where
            ``scale="eigenvalue"``.
        """
        fitted = self._fitted()
        rows = LabelledEmbedding.transform(fitted, X)
        if labels is None:
            return rows
        refuse_least_squares(fitted)
        directions = on_host(fitted.label_weights_)
        if not fitted.scale:
            directions = directions / np.where(fitted.correlations_ > 0, fitted.correlations_, 1.0)
        return placed_by_labels(fitted, rows, labels, directions)

    def transform_labels(self, y: Any) -> Array:
        """Map labels to the label side of the pairs.

        Parameters
        ----------
        y : labels of the kind that was given to :meth:`fit`
            Unknown entries count as the label's mean.

        Returns
        -------
        Z : array of shape (n, m)
            Its columns correlate with those of :meth:`transform` by ``correlations_``.
        """
        fitted = self._fitted()
        rows = y.shape[0] if len(getattr(y, "shape", ())) else len(y)
        places = np.zeros((rows, fitted.n_components_), fitted.label_weights_.dtype)
        return placed_by_labels(fitted, places, y, fitted.label_weights_)


def _label_map(Y: Any) -> Array:
    """Return T such that the columns of ``Y T`` are orthonormal and span those of Y."""
    return whitening(Y.gram(), 1e-13) if isinstance(Y, Operator) else orthonormal_map(Y)
