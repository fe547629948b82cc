"""Discriminant Laplacian embedding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from .._params import Constraint, Either, OneOf, Real
from .._typing import Array
from ..errors import InvalidLabels
from ..graph import Laplacian
from ..graph.affinity import graph_over_rows, metric_form
from ..labels import Labels
from ..labels.factor import class_scatter
from ..labels.reading import Kind
from ..operators import Operator, as_operator
from ..operators.digits import rank_tolerance
from ..solvers.decomposition import factorise
from ..solvers.small_dense import LEAST_EIGENVALUE, inverse_root
from ._graph_methods import (
    GRAPH_OPTIONS,
    Coordinates,
    coordinates,
    warn_unclear,
)
from .base import LabelledEmbedding
from .class_posterior import accuracy, class_scores, discriminants, predict_proba
from .options import described
from .thresholds import label_thresholds
from .training import (
    TrainingRows,
    centred_labels,
    few_threads,
    fitting,
    refuse_large_squares,
)

__all__ = ["DLE"]

# Differences of class means are treated as zero below this multiple of the rounding errors of their
# inputs.
_ROUNDINGS = 64
# Singular values of X, in columns of equal length, below which A has lost a direction; next to a
# penalty also the relative lengths of columns, because it leaves nothing of shorter ones. And those
# below which products of the inverse roots lose all digits.
_SHORTEST, _GRADED = 1e-5, 2e-8
# Directions of X whose squared length is below this fraction of the longest do not count in a mean.
_NEGLIGIBLE = 1e-8


@described
class DLE(ClassifierMixin, LabelledEmbedding):
    r"""Discriminant Laplacian embedding: features, a graph over the rows, and labels (wang2010).

    Solves ``A^-1/2 S_w^-1/2 S_b S_w^-1/2 A^-1/2 u = lambda u`` with pseudo-inverse roots.
    ``A = X'(D - W)X`` sums over all rows, so rows without labels count too; the scatters between
    and within classes are computed from the labelled rows, and a row counts once for each of its
    labels. The similarity of rows by their labels (Eq. 16-19), which the paper adds to W, is in
    :func:`labelspan.papers.wang2010.with_label_graph`.

    Up to 40,000 rows, neighbours are found by comparing all pairs of rows; beyond that most of
    them are found, by an approximate search. See :func:`labelspan.graph.neighbor_graph` for other
    graphs.

    Special cases: with a graph that makes A a multiple of the identity, the ``whitened`` space
    is that of :class:`LDA`; with one that makes A a multiple of S_w, such as a graph within classes
    of equal size, the ``printed`` space is. After :class:`KernelFeatures` in a pipeline it is DLE
    with that kernel.

    Parameters
    ----------
    n_components : int or None, default=None
        None keeps every direction: at most the number of labels minus one.
    alpha : float or "mean", default="mean"
        Regularization strength, added to the diagonal of S_w. "mean" adds to the diagonals of S_w
        and of A the mean of their eigenvalues over the directions of X: with few labelled rows
        the estimate of S_w is poor, and with many features that of A. 0 as in the paper.
    {graph}
    projection : {"printed", "whitened", "smooth"}, default="printed"
        The paper projects with U (Eq. 3), though its derivation gives
        ``S_w^-1/2 A^-1/2 U``; "whitened" is the latter. U already holds both inverse roots
        once, and if A and S_w are similar it is close to the discriminants; "whitened"
        applies them again, and amplifies directions with little scatter. "smooth" is between
        the two: ``F = A^-1/2 U``, the map of the text before Eq. 7, for which smoothness on the
        graph is measured.

    Attributes
    ----------
    {space, labels}
    alpha_ : float
        Number added to the diagonal of S_w.
    graph_alpha_ : float
        Number added to the diagonal of A: 0 unless ``alpha="mean"``.
    gamma_ : float or None
        The width of the Gaussian that was used; None if a graph was passed to ``fit``.
    graph_ : operator of shape (n, n)
        The graph.
    discriminants_, discriminant_offsets_ : arrays of shape (m, k) and (k,)
        For classes, the map from the embedding to their log posteriors, up to a constant.
    n_components_ : int
        Number of components.
    {features}

    See Also
    --------
    LPP : The graph without the labels.
    LDA : The labels without the graph.

    Notes
    -----
    With the Laplacian :math:`L = D - W` of the graph and :math:`A = X^\top L X`, the columns of U
    are the leading eigenvectors of

    .. math:: A^{-1/2} S_w^{-1/2} S_b S_w^{-1/2} A^{-1/2} u = \lambda u .

    The paper itself is ``DLE(alpha=0, affinity="rbf")`` for classes, for up to 5,000 rows, and
    :class:`labelspan.papers.wang2010.DLEClassifier`.

    References
    ----------
    .. [1] Wang, H., Huang, H., & Ding, C. (2010). Discriminant Laplacian embedding. AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from labelspan import DLE
    >>> X, y = load_iris(return_X_y=True)
    >>> y[np.arange(150) % 10 > 0] = -1  # a label for one row in ten
    >>> DLE().fit(X, y).transform(X).shape
    (150, 2)
    """

    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator")
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **GRAPH_OPTIONS,
        "alpha": Either((Real(0.0), OneOf(("mean",)))),
        "projection": OneOf(("printed", "whitened", "smooth")),
    }
    alpha_: float
    graph_alpha_: float
    gamma_: float | None
    graph_: Operator
    discriminants_: Array
    discriminant_offsets_: Array

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float | str = "mean",
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
        projection: Literal["printed", "whitened", "smooth"] = "printed",
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.projection = projection

    @fitting
    @few_threads
    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:
        """Learn the embedding from features, labels and a graph.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            One of n and d must be at most 4,096.
        y : array or sparse matrix of shape (n,) or (n, k)
            Classes, or a 0/1 indicator. -1 or NaN mean unknown; a row of unknowns is
            unlabelled.
        graph : array, sparse matrix, operator or None, default=None
            Weights between all rows, instead of those that ``affinity`` defines. An asymmetric
            graph is symmetrised, with a warning.

        Returns
        -------
        DLE
            The fitted estimator.
        """
        owner = type(self).__name__
        self._check_params()
        data = self._validate(X, reset=True, least=2, select_rows=True)
        refuse_large_squares(as_operator(data))
        labels = self._read_labels(y, data.shape[0], semi_supervised=True)
        _refuse_few(owner, labels)
        place, means = coordinates(owner, data)
        graph, gamma = graph_over_rows(self, data, graph)  # W_X
        parts = _parts(owner, place, labels, graph, self.alpha)
        # S_b = B B' is thin: the eigenvectors U are the left singular vectors of A^-1/2 S_w^-1/2 B.
        left, lengths, _ = np.linalg.svd(
            parts.smooth @ (parts.tight @ parts.between), full_matrices=False
        )
        useful = int((lengths**2 > LEAST_EIGENVALUE * lengths[0] ** 2).sum()) if lengths[0] else 0
        count = self._count(useful, _limit_reason(useful, labels), default=useful)
        directions = left[:, :count]  # U
        if self.projection != "printed":
            directions = parts.smooth @ directions  # F = A^-1/2 U
        if self.projection == "whitened":
            directions = parts.tight @ directions  # S_w^-1/2 A^-1/2 U
        rows = TrainingRows(None, data.dtype, data.shape[0], place.rows, means, labels)
        signs = self._set_fitted(rows, place.to_features(directions), lengths[:count] ** 2)
        self.graph_, self.gamma_ = graph, gamma
        self.alpha_, self.graph_alpha_ = parts.alpha, parts.graph_alpha
        latent = place.rows.matmat(directions) * signs
        loadings, label_means = _regress_labels(self, latent, labels)
        self._set_label_map(replace(rows, label_means=label_means), loadings)
        if self.label_kind_ == "classes":
            known = latent[labels.labelled].astype(np.float64)
            counts = labels.values.sum(axis=0)
            self.discriminants_, self.discriminant_offsets_ = discriminants(
                known.T @ known, known.T @ labels.values[labels.labelled], counts, known.shape[0]
            )
        else:
            given = TrainingRows(
                None, data.dtype, data.shape[0], as_operator(data).shifted(means), means, labels
            )
            self.label_thresholds_ = label_thresholds(self, given, None)
        return self

    score = accuracy
    _class_scores = class_scores
    predict_proba = predict_proba


@dataclass(frozen=True)
class _Parts:
    """The matrices of the eigenproblem, and the numbers added to their diagonals."""

    between: Array  # B
    tight: Array  # S_w^-1/2
    alpha: float
    smooth: Array  # A^-1/2
    graph_alpha: float


def _parts(owner: str, place: Coordinates, labels: Labels, graph: Operator, alpha: Any) -> _Parts:
    rows = place.rows
    labelled = np.flatnonzero(labels.labelled)
    known, values = rows.rows(labelled), labels.values[labelled]
    scatter = class_scatter(known, values)
    laplacian = Laplacian(graph)
    smoothness = metric_form(rows, laplacian)  # A
    summed = float(values.sum(axis=1).max()) * known.column_squares()
    rounding = _ROUNDINGS * float(np.finfo(np.float64).eps)
    apart = np.square(scatter.between).sum(axis=0) > rounding**2 * summed.sum()
    mean = alpha == "mean"
    # Means over the directions of X: neither a constant or repeated column nor the digits that a
    # kernel matrix has lost change them.
    gram = rows.gram()
    squares = np.linalg.eigvalsh(gram)
    size = max(1, int((squares > _NEGLIGIBLE * squares[-1]).sum()))
    graph_alpha = float(np.trace(smoothness)) / size if mean else 0.0
    alpha = float(np.trace(scatter.within)) / size if mean else float(alpha)
    lengths = np.sqrt(float(laplacian.degrees.max()) * np.diag(gram))
    smooth, short = inverse_root(smoothness, graph_alpha, lengths)
    present = lengths[lengths > 0]
    unlike = present.size and present.min() < (_GRADED if alpha == 0 else _SHORTEST) * present.max()
    if unlike or (short and factorise(rows, None).shortest < _SHORTEST):
        warn_unclear(owner)
    tight, _ = inverse_root(scatter.within, alpha, np.sqrt(summed))
    return _Parts(scatter.between * apart, tight, alpha, smooth, graph_alpha)


def _refuse_few(owner: str, labels: Labels) -> None:
    present = int((labels.values.sum(axis=0) > 0).sum())
    if present < 2:
        found = f"one class, {labels.names[0]}" if labels.kind == "classes" else "one label"
        raise InvalidLabels(f"{owner}: y has {found}; at least two are needed.")
    if int(labels.labelled.sum()) < 2:
        raise InvalidLabels(f"{owner}: y has labels for only one row; label at least two.")


def _regress_labels(model: Any, latent: Array, labels: Labels) -> tuple[Array, Array]:
    """Regress the labels on the embedding, over the labelled rows."""
    labelled = np.flatnonzero(labels.labelled)
    Y, means = centred_labels(model, labels.rows(labelled))
    here = latent[labelled].astype(np.float64)
    center = here.mean(axis=0)
    lengths = np.linalg.norm(here - center, axis=0)
    lengths[lengths == 0] = 1.0
    unit = (here - center) / lengths
    found = np.linalg.lstsq(unit, Y.to_block(), rcond=rank_tolerance(np.float64, unit.shape))[0]
    loadings = found / lengths[:, None]
    return loadings, means - center @ loadings


def _limit_reason(useful: int, labels: Labels) -> str:
    if useful == 0:
        return (
            "no class has two different labelled rows, all classes have the same mean, or the "
            "graph does not connect any different rows"
        )
    present = int((labels.values.sum(axis=0) > 0).sum())
    return f"{present} labels are in use, and the labelled rows give {useful} directions"
