"""Linear discriminant analysis."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from ..labels import Labels, inverse_power, lda_factor
from ..labels.label_factor import refuse_several
from ..labels.reading import Kind
from ..operators import Operator
from ..solvers import Solver
from ._factor_fit import fit_by_factor, fit_factor_stream
from ._streams import why_no_stream
from .base import LabelledEmbedding

__all__ = ["LDA"]


class LDA(LabelledEmbedding):
    r"""Linear discriminant analysis for dense and sparse data (sun2009, section 2.2).

    Solves ``S_b w = lambda (S_t + alpha I) w`` with the scatter between classes and the
    total scatter: one-hot labels, each column divided by the square root of its class
    size. An eigenvalue of 1 means a direction without scatter within classes.

    Special cases: it equals :class:`CCA` on classes. Its space is that of scikit-learn's
    ``LinearDiscriminantAnalysis``, which does not support sparse data.

    A row has one label or none. For multi-label data use :class:`CCA`, :class:`OPLS` or
    :class:`HSL`.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps every direction: one less than there are classes.
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
    components_ : array of shape (m, d)
    eigenvalues_ : array of shape (m,)
    mean_ : array of shape (d,)
    classes_ : array of shape (k,)
        The classes.
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
    CCA : The same for multi-label data.
    DLE : With a graph over the rows.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : A classifier, for dense data.

    Notes
    -----
    .. math:: S_b w = \lambda (S_t + \alpha I) w

    with the scatter between classes and the total scatter.

    References
    ----------
    .. [1] Chen, Dong and Chan. Reduced rank regression via adaptive nuclear norm
       penalization. Biometrika 100(4), 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from labelspan import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LDA().fit_transform(X, y).shape
    (150, 2)
    """

    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator")

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
        """Return H, the labels over the square roots of their sizes.

        Parameters
        ----------
        labels : Labels
            The labels of the labelled rows.

        Returns
        -------
        H : array of shape (n, k)
            The factor.
        """
        # Of labels in files, the rows are checked when they are first read.
        single = labels if isinstance(labels.values, Operator) else _single_labels(labels)
        return lda_factor(single, center=self.center)  # Y D^-1/2

    def _stream_block(self, labels: Labels) -> Array:
        return _single_labels(labels).values

    def _stream_factor(self, block: Array, sums: Array) -> Array:
        return block * inverse_power(sums, 0.5)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def _single_labels(labels: Labels) -> Labels:
    if labels.kind != "classes":
        refuse_several(labels.values)
    return labels
