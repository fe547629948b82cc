"""Hypergraph spectral learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np

from .._params import Constraint, OneOf
from .._typing import Array
from ..labels import Labels, hsl_factor, inverse_power
from ..labels.label_factor import HypergraphLaplacian
from ..labels.reading import Kind
from ..solvers import Solver
from ._factor_fit import fit_by_factor, fit_factor_stream
from ._options import METHOD_OPTIONS
from ._streams import why_no_stream
from .base import LabelledEmbedding

__all__ = ["HSL"]


class HSL(LabelledEmbedding):
    r"""Hypergraph spectral learning: labels as hyperedges (sun2009, Eq. 5).

    Solves ``X'S X w = lambda (X'X + alpha I) w`` with ``S = I - L``, L a normalised
    Laplacian of the hypergraph whose vertices are the rows and whose hyperedges are the
    labels. Rows that share labels move closer together, more so where a row has few labels
    and a label few rows. X and H are centred.

    With D_e the labels' sizes and D_v the rows' degrees, ``S = H H'`` and

    - ``"clique"``: ``H = diag(Y D_e 1)^-1/2 Y``;
    - ``"star"``: ``H = diag(P 1)^-1/2 P diag(1'P)^-1/2`` with ``P = Y D_e^-1``;
    - ``"zhou"``: ``H = D_v^-1/2 Y D_e^-1/2``.

    Special cases: on classes, star and Zhou's Laplacian give :class:`LDA`.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps every direction of the factor.
        "auto" keeps as many as reduced-rank regression with an adaptive nuclear norm penalty
        would [1]_, by generalized cross-validation.
    laplacian : {"clique", "star", "zhou"}, default="clique"
        Laplacian of the hypergraph.
    alpha : float or "auto", default="auto"
        Regularization strength, added to the diagonal of ``X'X``; 0 is the classical method.
        "auto" chooses the strength with which ridge regression of the labels on the features
        predicts best: by the exact leave-one-out error where X has up to 1,000 rows or columns,
        by held-out rows where both are more, by generalized cross-validation in a stream.
    penalty : {"l2", "l1"}, default="l2"
        "l1" gives sparse loadings and needs ``solver="least-squares"`` and a number for alpha.
    scale : {"eigenvalue"} or None, default="eigenvalue"
        "eigenvalue" gives ``sqrt(lambda_j) w_j'x``, so that better directions are longer, which
        suits nearest neighbours; None gives ``w_j'x``, with ``W'(X'X + alpha I)W = I``.
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
    CCA : Directions that correlate with the labels.
    LDA : The case of one class per row.

    Notes
    -----
    .. math:: X^\top S X w = \lambda (X^\top X + \alpha I) w, \qquad S = I - L ,

    with L a normalised Laplacian of the hypergraph of the labels.

    References
    ----------
    .. [1] Chen, Dong and Chan. Reduced rank regression via adaptive nuclear norm
       penalization. Biometrika 100(4), 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelspan import HSL
    >>> X, Y = make_multilabel_classification(100, n_features=10, random_state=0)
    >>> HSL(3, laplacian="star", alpha=1.0).fit_transform(X, Y).shape
    (100, 3)
    """

    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator")
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **METHOD_OPTIONS,
        "laplacian": OneOf(("clique", "star", "zhou")),
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        laplacian: str = "clique",
        alpha: float | str = "auto",
        penalty: str = "l2",
        scale: str | None = "eigenvalue",
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.penalty = penalty
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.laplacian = laplacian

    fit = fit_by_factor
    _fit_stream = fit_factor_stream

    def label_factor(self, labels: Labels) -> Any:
        """Return H with ``H H' = I - L``, for the Laplacian L of the hypergraph.

        Parameters
        ----------
        labels : Labels
            The labels of the labelled rows.

        Returns
        -------
        H : array of shape (n, k)
            The factor.
        """
        return hsl_factor(labels, laplacian=cast(HypergraphLaplacian, self.laplacian))

    def _why_no_stream(self) -> str | None:
        if self.laplacian != "zhou":
            return (
                f"HSL: partial_fit cannot take laplacian={self.laplacian!r}, which weights rows by "
                "label sizes that are known only at the end; use laplacian='zhou', or fit."
            )
        return why_no_stream(self)

    def _stream_block(self, labels: Labels) -> Array:
        degree = inverse_power(labels.values.sum(axis=1), 0.5)
        return np.concatenate([degree[:, None] * labels.values, labels.values], axis=1)

    def _stream_factor(self, block: Array, sums: Array) -> Array:
        count = sums.size // 2
        return block[:, :count] * inverse_power(sums[count:], 0.5)
