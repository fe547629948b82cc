"""Methods that are defined by a label factor H: OPLS, CCA, LDA and HSL.

They solve ``X'HH'X w = lambda (X'X + alpha I) w``, with H made of the labels, by one fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import ClassifierTags

from .._params import Constraint, OneOf
from .._typing import Array
from ..errors import InvalidInput, Mismatch, warn_caller
from ..labels import Labels, cca_factor, hsl_factor, lda_factor, opls_factor
from ..labels.factor import HypergraphLaplacian, inverse_power, label_basis, refuse_several
from ..labels.reading import Kind
from ..operators import Operator, Product, as_operator
from ..operators.array_backend import (
    host,
    inner,
    like,
    on_host,
    sum_of_squares,
)
from ..operators.digits import block_rank, whitening
from ..operators.machine import refuse_too_large
from ..solvers import Problem, Solution, Solver, SolverChoice
from ..solvers import choose_solver as choose_for_problem
from ._streams import Stream, why_no_stream
from .base import LabelledEmbedding, placed_by_labels, transform_with_labels
from .class_posterior import accuracy, class_scores, discriminants, predict_proba
from .options import METHOD_OPTIONS, described
from .solving import choose_penalty, dimensions_for, threads_for
from .thresholds import label_thresholds
from .training import TrainingRows, fitting, stream_rows, training_rows

__all__ = ["CCA", "HSL", "LDA", "OPLS", "choose_solver", "fit_by_factor"]

M = TypeVar("M")

# An eigenvalue below this fraction of |H|^2 may be only rounding.
_FAINT = 1e-16


# --- the fit ------------------------------------------------------------------------------


@fitting
def fit_by_factor(self: M, X: Any, y: Any) -> M:
    """Learn the embedding from features and labels.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    y : vector of classes, or array or sparse matrix of shape (n, k)
        Rows whose labels are all unknown (-1 or NaN) are ignored.

    Returns
    -------
    self
        The fitted estimator.

    See Also
    --------
    labelspan.estimators.LabelledEmbedding : The base class of a method with this fit.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from labelspan import OPLS
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> OPLS(alpha=0.0).fit(X, Y).eigenvalues_.astype(int)
    array([3271,   11,    1])
    """
    rows, H = prepare_factor(self, X, y)
    fit_factor(self, rows, H)
    return self


def prepare_factor(model: Any, X: Any, y: Any) -> tuple[TrainingRows, Operator]:
    """Read the labelled rows, and make H of their labels."""
    model._check_params()
    plain = model.solver == "auto"
    on_device = plain and model._factor_is_labels
    rows = training_rows(model, X, y, keep_sparse=plain, on_device=on_device)
    with threads_for(rows.X):
        if model._factor_is_labels:
            return rows, rows.Y
        return rows, as_operator(model.label_factor(rows.labels))


def fit_factor(
    model: Any,
    rows: TrainingRows,
    H: Operator,
    penalised: Callable[[Problem], Problem] = lambda problem: problem,
) -> None:
    """Choose alpha, solve the problem of H, and set the fitted attributes.

    ``penalised`` adds other penalties to the problem.
    """
    with threads_for(rows.X):
        count = _count(model, rows, _rank(model, H))
        alpha, curve = choose_penalty(model, rows)
        problem = Problem(
            rows.X,
            H,
            count,
            alpha,
            leverage=model._has_thresholds(rows),
            decomposition=rows.decomposition,
        )
        problem = penalised(problem)
        solution = model._solve(problem)  # W, lambda
        _refuse_rounding(model, solution, rows.X, H)
        lengths = solution.lengths if model.scale else np.ones(solution.eigenvalues.size)
        weights = solution.weights * like(lengths, solution.weights)
        signs = model._set_fitted(rows, weights, solution.eigenvalues, solution)
        model.alpha_, model.alpha_curve_ = alpha, curve
        images = _images(model, solution, rows, H)
        model._set_label_map(rows, np.asarray((signs / lengths)[:, None] * images))
        scatter = np.eye(signs.size) if solution.metric is None else solution.metric
        model._set_more(rows, H, signs[:, None] * images, signs[:, None] * scatter * signs)
        if model._has_thresholds(rows):
            own = None
            if solution.metric is None:
                own = _label_coordinates(solution, problem, lengths * signs)
            model.label_thresholds_ = label_thresholds(model, rows, own, alpha, solution.leverage)


def _fit_stream(model: Any, stream: Stream) -> None:
    """Fit a method by its factor, to the rows of a stream."""
    rows = stream_rows(model, stream)
    block, k = rows.Y.to_block(), stream.names.size
    H = as_operator(model._stream_factor(block, rows.n * stream.seen(type(model).__name__).b_mean))
    label_means = rows.label_means[-k:]
    fit_factor(model, replace(rows, Y=as_operator(block[:, -k:]), label_means=label_means), H)


def _label_coordinates(
    solution: Solution, problem: Problem, lengths: Array
) -> Callable[[Array, Array], Array]:
    """Return a function that gives the coordinates of rows' labels, from H and ``W'X'H``."""
    X, H, seen = problem.X, cast(Operator, problem.labels), solution.images
    if seen is None:
        seen = _seen_by(X.matmat(X.to_device(solution.weights)), H)
    values = np.where(solution.eigenvalues > 0, solution.eigenvalues, np.inf)
    directions = host(seen).T * (lengths / values)

    def coordinates(rows: Array, _: Array) -> Array:
        return host(H.rows(rows).matmat(H.to_device(directions)))

    return coordinates


def _rank(model: Any, H: Operator) -> int:
    if not H.dense:
        return H.shape[1]
    block = H.to_block()
    return block.shape[1] * bool(block.any()) if model._factor_is_basis else block_rank(block)


def _images(model: Any, solution: Solution, rows: TrainingRows, H: Operator) -> Array:
    """Return the regression of the labels on the embedding, from ``W'X'Y``."""
    X, labels = rows.X, rows.Y
    images = solution.images
    if images is not None and model._factor_is_basis and H.dense:
        images = images @ inner(H.to_block(), labels.to_block())  # Y = H H'Y
    elif images is None or labels is not H:
        W = solution.weights
        if labels.dense:
            images = inner(W, X.cross(labels.to_block()))
        else:
            images = _seen_by(X.matmat(X.to_device(W)), labels)
    if solution.metric is None:
        return images
    root = whitening(solution.metric)
    return np.asarray(root @ (root.T @ images))


def _count(model: Any, trained: TrainingRows, rank: int) -> int:
    rows, columns = trained.n, trained.X.shape[1]
    limits = [
        (rank, f"the labels span {rank} directions" + (" once centred" if model.center else "")),
        (columns, f"X has {columns} feature(s)"),
        (rows - model.center, f"X has {rows} labelled sample(s)"),
    ]
    most, reason = min(limits, key=lambda pair: pair[0])
    sparse = trained.raw is not None and trained.labels.sparse
    few = sparse or model.n_components == "auto"
    return int(model._count(most, reason, default=dimensions_for(rank, rows) if few else most))


def _refuse_rounding(model: Any, solution: Solution, X: Operator, H: Operator) -> None:
    """Raise an error if X'H is only rounding."""
    square = H.sum_of_squares() if H.dense else 0.0
    if not H.dense or solution.eigenvalues[0] > _FAINT * square:
        return
    least = (64 * np.finfo(np.float64).eps) ** 2 * X.sum_of_squares() * square
    if sum_of_squares(X.cross(H.to_block())) <= least:
        raise InvalidInput(
            f"{type(model).__name__}: X does not explain y, because every eigenvalue is zero "
            "up to rounding; check that X varies with y."
        )


def _refuse_least_squares(model: Any) -> None:
    """Raise an error if the directions are not those of the eigenproblem."""
    if model.solver_ == "least-squares":
        raise Mismatch(
            f"{type(model).__name__}: transform with labels= needs the directions of the "
            "eigenproblem, which LeastSquares does not compute; use solver='auto', or leave "
            "labels out."
        )


def choose_solver(estimator: Any, X: Any, y: Any = None) -> SolverChoice:
    r"""Return which solver ``solver="auto"`` uses for an estimator and data, and why.

    The choice depends only on the method, alpha and the shape, never on the machine. The
    estimator is not changed, and the eigenproblem

    .. math:: X^\top S X w = \lambda (X^\top X + \alpha I) w

    is not solved; but ``alpha="auto"`` is chosen from the data.

    Parameters
    ----------
    estimator : estimator
        For example ``MLSI(100)``; fitted or not.
    X : array, sparse matrix or operator of shape (n, d)
        The features.
    y : array or sparse matrix of shape (n,) or (n, k), default=None
        The labels; None for estimators without labels.

    Returns
    -------
    SolverChoice
        The name of the solver, ``solver``, and the ``reason``.

    See Also
    --------
    labelspan.solvers.choose_solver : The same for a problem.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan import CCA, MLSI, choose_solver
    >>> X = np.random.default_rng(0).standard_normal((300, 20))
    >>> Y = X[:, :3] > 0
    >>> choose_solver(MLSI(5), X, Y)
    SolverChoice(solver='exact', reason='the smaller side, 20, is short: one decomposition')
    >>> choose_solver(CCA(), X, Y).solver
    'exact'
    """
    if "solver" not in getattr(estimator, "get_params", dict)():
        name = type(estimator).__name__
        raise Mismatch(f"{name} has no parameter solver.")
    asked = clone(estimator).set_params(solver="auto")
    vars(asked)["_solve"] = _stop
    try:
        asked.fit(X, y)
    except _FoundProblem as stopped:
        return choose_for_problem(stopped.args[0])
    raise Mismatch(f"{type(estimator).__name__} does not use the solvers of labelspan.")


class _FoundProblem(Exception):
    """A fit stopped with its problem, before it was solved."""


def _stop(problem: Problem) -> Solution:
    raise _FoundProblem(problem)


# --- the methods --------------------------------------------------------------------------


@described
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
        labels of more than 33 million entries it is "auto".
        {rank}
    {alpha}
    scale : {"eigenvalue"} or None, default="eigenvalue"
        {scale}
    {center, solver}

    Attributes
    ----------
    {space, labels, alpha_, counts, features, solver_}

    See Also
    --------
    CCA : Every label counts equally.
    MLSI : Keeps the features as well.

    Notes
    -----
    .. math:: X^\top Y Y^\top X w = \lambda (X^\top X + \alpha I) w

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
        scale: str | None = "eigenvalue",
        center: bool = True,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.scale = scale
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    fit = fit_by_factor
    _fit_stream = _fit_stream
    _why_no_stream = why_no_stream

    def label_factor(self, labels: Labels) -> Any:
        """Return H, which is Y, for labels of labelled rows."""
        return opls_factor(labels, center=self.center)

    def _stream_factor(self, block: Array, sums: Array) -> Array:
        return block

    transform = transform_with_labels

    def _label_moves(self) -> Array:
        _refuse_least_squares(self)
        # The eigenvectors U of H'X G: H U are the coordinates of H, as X G U are those of fitted
        # rows.
        directions = on_host(self.label_loadings_).T
        return directions if self.scale else directions / self.eigenvalues_


@described
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
        {rank}
    {alpha}
    scale : {"eigenvalue"} or None, default=None
        {scale}
    {center, solver}

    Attributes
    ----------
    correlations_ : array of shape (m,)
        The canonical correlations, with ``alpha=0``.
    label_weights_ : array of shape (k, m)
        Directions of the labels, one for each component; see :meth:`transform_labels`.
    {space, labels, alpha_}
    n_components_ : int
        Number of components.
    n_iter_ : array of shape (m,)
        Number of iterations per component; 1 for a direct solver.
    {features, solver_}

    See Also
    --------
    OPLS : Labels count by their variance.
    LDA : The case of one class per row.
    sklearn.cross_decomposition.CCA : By deflation, for dense data.

    Notes
    -----
    .. math:: X^\top Y (Y^\top Y)^{+} Y^\top X w = \lambda (X^\top X + \alpha I) w

    The eigenvalues are the squared canonical correlations if :math:`\alpha = 0`.

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

    _factor_is_basis: ClassVar[bool] = True
    # Targets that are nearly equal need all digits of the rows.
    _exact_stream: ClassVar[bool] = True

    fit = fit_by_factor
    _fit_stream = _fit_stream
    _why_no_stream = why_no_stream

    def label_factor(self, labels: Labels) -> Any:
        """Return H, an orthonormal basis of the labels of labelled rows."""
        if labels.sparse:
            k = labels.values.shape[1]
            refuse_too_large(
                "CCA",
                40.0 * k**2,
                f"whitening {k} labels",
                "use OPLS, which does not whiten them, or keep fewer labels",
            )
        return cca_factor(labels, center=self.center)  # Y (Y'Y)^-1/2

    def _stream_factor(self, block: Array, sums: Array) -> Array:
        return label_basis(block)

    def _set_more(self, rows: TrainingRows, H: Operator, images: Array, scatter: Array) -> None:
        # One number per component, as in scikit-learn's CCA.
        self.n_iter_ = np.full(self.n_components_, self.n_iter_)
        self.correlations_ = np.sqrt(np.clip(self.eigenvalues_, 0.0, None))
        # H H' projects on the columns of Y, so the label side of a pair is the regression of
        # the feature side on the labels, at unit length.
        weights = _on_labels(H, rows.Y, images.T)
        scale = np.where(self.correlations_ > 0, self.correlations_, 1.0)
        self.label_weights_ = (weights / scale).astype(rows.dtype)

    def transform(self, X: Any, y: Any = None, labels: Any = None) -> Array:
        """Map rows to the canonical variates of the features.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : ignored
            Accepted for compatibility with scikit-learn's CCA, which takes both sides
            at once; see :meth:`transform_labels` for the labels.
        labels : labels of the form that was given to ``fit``, or None, default=None
            Known labels of the rows, for the items of a collection; -1 or NaN marks unknown
            entries, which add nothing. The result combines the fitted labels with the known ones.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``, and with labels
            ``+ transform_labels(labels) / correlations_``, without the division if
            ``scale="eigenvalue"``.
        """
        return transform_with_labels(self, X, labels)

    def _label_moves(self) -> Array:
        _refuse_least_squares(self)
        directions = on_host(self.label_weights_)
        if self.scale:
            return directions
        return directions / np.where(self.correlations_ > 0, self.correlations_, 1.0)

    def transform_labels(self, y: Any) -> Array:
        """Project labels onto the canonical variates of the labels.

        Parameters
        ----------
        y : labels of the kind that was given to :meth:`fit`
            Unknown entries are replaced by the mean of the label.

        Returns
        -------
        Z : array of shape (n, m)
            Column j has the correlation ``correlations_[j]`` with column j of :meth:`transform`.
        """
        fitted = self._fitted()
        rows = y.shape[0] if len(getattr(y, "shape", ())) else len(y)
        places = np.zeros((rows, fitted.n_components_), fitted.label_weights_.dtype)
        return placed_by_labels(fitted, places, y, fitted.label_weights_)


@described
class LDA(ClassifierMixin, LabelledEmbedding):
    r"""Linear discriminant analysis for dense and sparse data (sun2009, section 2.2).

    Solves ``S_b w = lambda (S_t + alpha I) w`` with the scatter between classes and the
    total scatter: one-hot labels, each column divided by the square root of its class
    size. An eigenvalue of 1 means a direction without scatter within classes.

    Special cases: it equals :class:`CCA` on classes. It spans the same space as
    scikit-learn's ``LinearDiscriminantAnalysis``, which does not support sparse data.

    A row has one label or none. For multi-label data use :class:`CCA`, :class:`OPLS` or
    :class:`HSL`. It is a classifier: :meth:`predict` chooses the class with the largest posterior
    probability, for normal distributions with a common covariance in the embedding.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps every direction: the number of classes minus one.
        {rank}
    {alpha}
    scale : {"eigenvalue"} or None, default=None
        {scale}
    {center, solver}

    Attributes
    ----------
    {space, labels, alpha_, counts, features, solver_}
    discriminants_, discriminant_offsets_ : arrays of shape (m, k) and (k,)
        Map from the embedding to the log posteriors of the classes, up to a constant.

    See Also
    --------
    CCA : The same for multi-label data.
    DLE : With a graph over the rows.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The same for dense data.

    Notes
    -----
    .. math:: S_b w = \lambda (S_t + \alpha I) w

    with the scatter between classes and the total scatter.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from labelspan import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LDA().fit(X, y)
    >>> model.score(X, y), model.predict_proba(X[70:71]).round(2).tolist()
    (0.98, [[0.0, 0.3, 0.7]])
    """

    discriminants_: Array
    discriminant_offsets_: Array

    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator")

    fit = fit_by_factor
    _fit_stream = _fit_stream
    _why_no_stream = why_no_stream
    score = accuracy

    def _has_thresholds(self, rows: TrainingRows) -> bool:
        return False

    def _thresholds(self) -> Array:
        return np.zeros(self.classes_.size)

    def _read_labels(self, y: Any, n_rows: int, **options: Any) -> Labels:
        if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
            warn_caller(
                "A column-vector y was passed when a 1d array was expected; pass y.ravel().",
                DataConversionWarning,
            )
        return super()._read_labels(y, n_rows, **options)

    def _set_more(self, rows: TrainingRows, H: Operator, images: Array, scatter: Array) -> None:
        counts = rows.n * rows.label_means
        if not self.center:  # the sums of one-hot columns are their squared lengths
            counts = rows.Y.column_squares()
        slopes, offsets = discriminants(scatter, scatter @ images, counts, rows.n)
        lengths = np.sqrt(self.eigenvalues_) if self.scale else np.ones(self.n_components_)
        self.discriminants_ = slopes / lengths[:, None]
        self.discriminant_offsets_ = offsets

    _class_scores = class_scores
    predict_proba = predict_proba

    def predict(self, X: Any) -> Array:
        """Return the class with the largest posterior probability.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        y : array of shape (n,) or (n, k)
            Entries of ``classes_``; if ``y`` of ``fit`` was an indicator, a row of it.
        """
        fitted = self._fitted()
        best = fitted._class_scores(X).argmax(axis=1)
        if fitted.label_kind_ == "classes":
            return np.asarray(fitted.classes_[best])
        return np.asarray(np.eye(fitted.classes_.size, dtype=np.int64)[best])

    def label_factor(self, labels: Labels) -> Any:
        """Return H, the labels of labelled rows divided by the square roots of their sizes."""
        return lda_factor(_single_labels(labels), center=self.center)  # Y D^-1/2

    def _stream_block(self, labels: Labels) -> Array:
        return _single_labels(labels).values

    def _stream_factor(self, block: Array, sums: Array) -> Array:
        return block * inverse_power(sums, 0.5)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def _on_labels(H: Operator, Y: Operator, images: Array) -> Array:
    """Return ``T T'images``, where ``Y T``, like H, is an orthonormal basis of the columns of Y."""
    if isinstance(H, Product):
        root = H.right.toarray()
        return np.asarray(root @ (root.T @ images))
    inside = inner(H.to_block(), Y.to_block())  # Y = H inside
    lengths = np.linalg.norm(inside, axis=0)[:, None]
    lengths[lengths == 0] = 1.0
    basis, triangle = np.linalg.qr(inside.T / lengths)
    along = solve_triangular(triangle, basis.T @ (images / lengths))
    return np.asarray(basis @ solve_triangular(triangle, along, trans="T") / lengths)


def _single_labels(labels: Labels) -> Labels:
    if labels.kind != "classes":
        refuse_several(labels)
    return labels


@described
class HSL(LabelledEmbedding):
    r"""Hypergraph spectral learning: labels as hyperedges (sun2009, Eq. 5).

    Solves ``X'S X w = lambda (X'X + alpha I) w`` with ``S = I - L``, L a normalised
    Laplacian of the hypergraph whose vertices are the rows and whose hyperedges are the
    labels. Rows that share labels move closer together, especially rows with few labels and
    labels with few rows. X and H are centred.

    With D_e the labels' sizes and D_v the rows' degrees, ``S = H H'`` and

    - ``"clique"``: ``H = diag(Y D_e 1)^-1/2 Y``;
    - ``"star"``: ``H = diag(P 1)^-1/2 P diag(1'P)^-1/2`` with ``P = Y D_e^-1``;
    - ``"zhou"``: ``H = D_v^-1/2 Y D_e^-1/2``.

    Special cases: on classes, star and Zhou's Laplacian give :class:`LDA`.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps every direction of the factor.
        {rank}
    laplacian : {"clique", "star", "zhou"}, default="clique"
        Laplacian of the hypergraph.
    {alpha}
    scale : {"eigenvalue"} or None, default="eigenvalue"
        {scale}
    {solver}

    Attributes
    ----------
    {space, labels, alpha_, counts, features, solver_}

    See Also
    --------
    CCA : Directions that correlate with the labels.
    LDA : The case of one class per row.

    Notes
    -----
    .. math:: X^\top S X w = \lambda (X^\top X + \alpha I) w, \qquad S = I - L ,

    with L a normalised Laplacian of the hypergraph of the labels.

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
        scale: str | None = "eigenvalue",
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.laplacian = laplacian

    fit = fit_by_factor
    _fit_stream = _fit_stream

    def label_factor(self, labels: Labels) -> Any:
        """Return H with ``H H' = I - L``, for the Laplacian L of the labels of labelled rows."""
        return hsl_factor(labels, laplacian=cast(HypergraphLaplacian, self.laplacian))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # It takes no targets: folds of classes are stratified.
        tags.estimator_type = "classifier"
        tags.classifier_tags = tags.classifier_tags or ClassifierTags(multi_label=True)
        return tags

    def _why_no_stream(self) -> str | None:
        if self.laplacian != "zhou":
            return (
                f"HSL: partial_fit does not support laplacian={self.laplacian!r}, which weights "
                "rows by label sizes that are known only at the end; use laplacian='zhou', or fit."
            )
        return why_no_stream(self)

    def _stream_block(self, labels: Labels) -> Array:
        degree = inverse_power(labels.values.sum(axis=1), 0.5)
        return np.concatenate([degree[:, None] * labels.values, labels.values], axis=1)

    def _stream_factor(self, block: Array, sums: Array) -> Array:
        count = sums.size // 2
        return block[:, :count] * inverse_power(sums[count:], 0.5)


def _seen_by(block: Array, labels: Operator) -> Array:
    """Return ``block.T @ L`` on the host in float64."""
    return np.ascontiguousarray(host(labels.rmatmat(labels.to_device(block))).T)
