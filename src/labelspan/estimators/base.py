"""Base classes of embeddings, linear maps learned from features and from labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._axis_ends import Ends, ends
from .._params import Constraint, check_params
from .._typing import Array
from ..errors import (
    InvalidInput,
    InvalidLabels,
    LabelspanWarning,
    Mismatch,
    warn_caller,
)
from ..labels import Labels, read_labels
from ..labels.reading import Kind
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    as_block,
    column_norms,
    host,
    like,
    on_host,
    scaled_transpose,
)
from ..operators.compositions import on_columns
from ..operators.convert import operator_or_none, project
from ..operators.sparse import canonical
from ..solvers import AlphaCurve, Problem, Solution, Solver
from ._streams import (
    add_batch,
    join_streams,
    labels_as_fitted,
    solve_stream,
    when_streaming,
)
from .options import METHOD_OPTIONS, described
from .solving import solve
from .training import (
    FITTED_WITH,
    TrainingRows,
    few_threads,
    fitting,
    fixed_signs,
    refuse_overflow,
    warn_of_large_means,
)

__all__ = [
    "Embedding",
    "LabelledEmbedding",
    "inverse_transform",
    "placed_by_labels",
    "transform_with_labels",
]


class Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear embedding, learned from features.

    See Also
    --------
    LabelledEmbedding : The base class of methods that learn from labels.

    Examples
    --------
    >>> from labelspan import LSI
    >>> from labelspan.estimators import Embedding
    >>> issubclass(LSI, Embedding)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}
    # Whether a stream stores an R factor for every alpha.
    _exact_stream: ClassVar[bool] = False
    # Whether the columns share one unit, as the dimensions of a model's vectors do.
    _one_unit: ClassVar[bool] = False

    # Defaults of options that a constructor does not have.
    n_components: Any
    center: bool = True
    solver: Any = "auto"
    random_state: int | np.random.RandomState | None = 0

    components_: Array
    mean_: Array
    eigenvalues_: Array
    n_components_: int
    n_iter_: int | Array
    solver_: str
    status_: str

    # --- input ------------------------------------------------------------------------

    def _check_params(self) -> None:
        # A third-party method may lack some options.
        given = {name: getattr(self, name) for name in self._constraints if hasattr(self, name)}
        check_params(type(self).__name__, given, {name: self._constraints[name] for name in given})

    def _validate(self, X: Any, *, reset: bool, least: int = 1, select_rows: bool = False) -> Any:
        """Return X as an array, a sparse matrix or an operator, with ``least`` rows or more.

        ``select_rows`` rejects operators and returns rows that can be selected by index.
        """
        owner = type(self).__name__
        operator = None if select_rows else operator_or_none(X)
        if operator is not None:
            rows, columns = operator.shape
            if rows < least:
                raise InvalidInput(f"{owner}: X has {rows} row(s); at least {least} are needed.")
            if reset:
                self.n_features_in_ = columns
                self.__dict__.pop("feature_names_in_", None)
            elif columns != self.n_features_in_:
                raise InvalidInput(
                    f"{owner}: X has {columns} features, but fit had {self.n_features_in_}."
                )
            if not np.isfinite(operator.sum_of_squares()):
                raise InvalidInput(f"{owner}: X contains NaN or infinity, or numbers too large.")
            return operator
        if type(X).__module__.startswith("dask"):
            warn_caller(
                f"{owner}: X is a collection of dask, which is now gathered into memory; to leave "
                "its rows on the workers, give row_blocks(client, X.to_delayed()) of "
                "labelspan.operators.cluster.",
                LabelspanWarning,
            )
        try:
            data = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=("csr",) if select_rows else ("csr", "csc", "coo"),
                dtype=[np.float64, np.float32],
                ensure_min_samples=least,
            )
        except ValueError as error:
            raise InvalidInput(f"{owner}: {_texts_in(X) or error}") from None
        except TypeError as error:
            # scikit-learn's checks expect its own error for objects that are not numbers.
            if getattr(getattr(X, "dtype", None), "kind", None) == "O":
                raise
            raise InvalidInput(
                f"{owner}: {error}; X was {type(X).__name__}, and must be a "
                "two-dimensional array, a sparse matrix or a data frame of numbers."
            ) from None
        # Other formats are only multiplied, and as_operator sums duplicates itself.
        return canonical(data) if select_rows else data

    def _read_features(self, X: Any) -> Operator:
        """Validate X of ``fit``."""
        return as_operator(self._validate(X, reset=True, least=2))

    def _count(self, most: int, reason: str, default: int) -> int:
        """Return the number of components to compute; ``reason`` says what limits it."""
        owner = type(self).__name__
        if most == 0:
            raise InvalidInput(f"{owner}: there is no direction to find, because {reason}.")
        if self.n_components is None or isinstance(self.n_components, str):
            return min(default, most)
        # A stream may have more later.
        if self.n_components > most and "_stream" not in vars(self):
            warn_caller(
                f"{owner}: n_components={self.n_components} exceeds the {most} available, "
                f"because {reason}; {most} are used.",
                LabelspanWarning,
            )
        return min(int(self.n_components), most)

    def _solve(self, problem: Problem) -> Solution:
        """Solve with the solver that the parameters select."""
        return solve(self, problem)

    # --- output -----------------------------------------------------------------------

    def _set_fitted(
        self,
        rows: TrainingRows,
        weights: Array,
        eigenvalues: Array,
        solution: Solution | None = None,
    ) -> Array:
        """Set the fitted attributes, with signs fixed; return the signs."""
        self._forget()
        weights = on_columns(rows.X, weights)
        signs = fixed_signs(weights)
        self.components_ = rows.to_device(scaled_transpose(weights, signs))
        # In float64: rounded to float32, a mean is off by more than columns far from zero vary.
        self.mean_ = rows.to_device(rows.means, np.float64)
        self.eigenvalues_ = eigenvalues
        self.n_components_ = eigenvalues.size
        if solution is not None:
            warn_of_large_means(self, rows, weights)
            self.solver_ = solution.solver
            self.status_ = solution.status
            self.n_iter_ = max(1, solution.n_iter)
        return signs

    def _forget(self) -> None:
        """Remove the attributes of an earlier fit or stream."""
        kept = {"n_features_in_", "feature_names_in_"}
        for name in vars(self).keys() - kept:
            if name.endswith("_") or name == "_stream":
                del self.__dict__[name]

    def _fitted(self) -> Self:
        """Return a snapshot of the fit, which later fits do not change."""
        fitted = object.__new__(type(self))
        # Parameters that were set since then count from the next fit on.
        fitted.__dict__ = {**self.__dict__, **self.__dict__.get(FITTED_WITH, {})}
        check_is_fitted(fitted)
        stream = vars(fitted).get("_stream")
        if stream is not None:
            stream.refuse_unless_solved(type(self).__name__)
        return fitted

    @refuse_overflow
    @few_threads
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
        fitted = self._fitted()
        rows = fitted._validate(X, reset=False)
        return project(rows, fitted.mean_, fitted.components_)

    def top_features(
        self, component: int, n: int = 10, *, names: Sequence[Any] | Array | None = None
    ) -> Ends:
        """Return the features at both ends of an axis.

        Parameters
        ----------
        component : int
            The axis, counted from 0.
        n : int, default=10
            Maximum number of features at each end.
        names : sequence or None, default=None
            Names of the features, for example a vectorizer's ``get_feature_names_out()``; None
            uses those of ``fit``, or the column numbers.

        Returns
        -------
        Ends
            With fields ``high`` and ``low``, lists of ``(name, weight)``.
        """
        fitted = self._fitted()
        components = on_host(fitted.components_)
        if names is None:
            names = getattr(fitted, "feature_names_in_", None)
        if names is None:
            names = np.arange(components.shape[1])
        return ends(type(self).__name__, components, names, component, n)

    # --- batches ----------------------------------------------------------------------

    @when_streaming
    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, solve: bool = True
    ) -> Self:
        """Update the model with a batch of rows.

        Any split and any order of the rows gives the same result, which is that of :meth:`fit` on
        all of them. ``alpha="auto"`` averages the leave-one-out error over at most 2,400 rows, the
        only ones that are stored; of more rows, their order decides which ones these are.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            At most 4,096 columns.
        y : as in :meth:`fit`
            Whole rows may be unknown; single entries may not.
        classes : sequence or None, default=None
            In the first call, the names of all labels that later batches may have. None uses
            those of the first batch; a new label later raises an error.
        solve : bool, default=True
            Whether to compute the embedding from all batches so far. False only adds the batch,
            which suits many small ones; :meth:`solve` then computes the embedding.

        Returns
        -------
        self
            The fitted estimator.
        """
        add_batch(self, X, y, classes)
        if solve:
            solve_stream(self, needed=False)
        return self

    @when_streaming
    @fitting
    def merge(self, other: Self) -> Self:
        """Add the batches of another model to this one, and solve; the other is unchanged.

        Parameters
        ----------
        other : estimator
            With the same class and parameters, after ``partial_fit``.

        Returns
        -------
        self
            The fitted estimator.
        """
        join_streams(self, other)
        solve_stream(self, needed=False)
        return self

    @when_streaming
    @fitting
    def solve(self) -> Self:
        """Compute the embedding from all batches so far, with the current parameters.

        Returns
        -------
        self
            The fitted estimator.
        """
        solve_stream(self)
        return self

    def _why_no_stream(self) -> str | None:
        """Return why all rows are needed at once; None if they are not."""
        return (
            f"{type(self).__name__}: partial_fit is not available, because all rows are needed "
            "at once; use fit."
        )

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _texts_in(X: Any) -> str:
    """Return what to do with X if it holds texts; an empty string if it does not."""
    # A column of a data frame may be an array of a type of its own.
    rows = X.to_numpy() if hasattr(X, "to_numpy") and getattr(X, "ndim", 2) == 1 else X
    several = isinstance(rows, list | tuple | np.ndarray) and len(rows) > 0
    if not several or np.ndim(rows) != 1 or not isinstance(rows[0], str):
        return ""
    return (
        "X holds texts, and must hold numbers; put scikit-learn's TfidfVectorizer before it, in a "
        "pipeline, or give the texts to SemanticIndex, which does both."
    )


def _has_no_targets(model: Any) -> bool:
    # scikit-learn's tools ask before the fit, when it is not known whether there are any.
    return bool(vars(model).get("label_kind_", "classes") != "targets")


@described
class LabelledEmbedding(Embedding):
    """Supervised embedding with label scores: the base class of a new method.

    A method is defined by its label factor H, an array with one row per row of X: a class with
    ``fit = fit_by_factor`` and a method ``label_factor(labels)`` that returns H. Options that its
    own constructor does not have keep their defaults.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        None keeps every direction of the factor.
        {rank}
    {alpha}
    scale : {"eigenvalue"} or None, default=None
        {scale}
    {center, solver}

    See Also
    --------
    fit_by_factor : The fit of OPLS, CCA, LDA and HSL.
    labelspan.labels.Labels : The argument of ``label_factor``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from labelspan import LDA
    >>> from labelspan.estimators import LabelledEmbedding, fit_by_factor
    >>> class Mine(LabelledEmbedding):
    ...     def __init__(self, n_components=None, *, alpha="auto"):
    ...         self.n_components = n_components
    ...         self.alpha = alpha
    ...
    ...     fit = fit_by_factor
    ...
    ...     def label_factor(self, labels):
    ...         return labels.centred / np.sqrt(labels.values.sum(axis=0))
    >>> X, y = load_iris(return_X_y=True)
    >>> np.allclose(Mine().fit(X, y).eigenvalues_, LDA().fit(X, y).eigenvalues_)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = METHOD_OPTIONS
    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator", "targets")
    # Whether the factor is the labels themselves or an orthonormal basis of them.
    _factor_is_labels: ClassVar[bool] = False
    _factor_is_basis: ClassVar[bool] = False

    # Defaults of options that a constructor does not have, with those of Embedding.
    alpha: float | str = "auto"
    scale: str | None = None

    alpha_: float
    alpha_curve_: AlphaCurve | None
    classes_: Array
    label_kind_: Kind
    label_ndim_: int
    label_loadings_: Array
    label_means_: Array
    label_thresholds_: Array

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        alpha: float | str = "auto",
        scale: str | None = None,
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

    def _read_labels(self, y: Any, n_rows: int, **options: Any) -> Labels:
        """Read labels of ``fit``; ``options`` as in :func:`~labelspan.labels.read_labels`."""
        owner = type(self).__name__
        labels = read_labels(y, n_rows, owner, **options)
        if labels.kind not in self._takes:
            raise InvalidLabels(
                f"{owner} takes classes or a 0/1 indicator, but y has continuous targets; "
                "use OPLS, CCA or MLSI for those."
            )
        return labels

    def _set_label_map(self, rows: TrainingRows, loadings: Array) -> None:
        """Set the map from the embedding to the labels."""
        self.classes_ = rows.labels.names
        self.label_kind_ = cast(Kind, rows.labels.kind)
        self.label_ndim_ = rows.labels.ndim
        self.label_loadings_ = rows.to_device(loadings)
        self.label_means_ = rows.to_device(rows.label_means)

    def _set_more(self, rows: TrainingRows, H: Operator, images: Array, scatter: Array) -> None:
        """Set additional attributes of a method, from Y and its regression on the directions.

        ``scatter`` is that of the embedded rows.
        """

    def _has_thresholds(self, rows: TrainingRows) -> bool:
        """Return whether :meth:`predict` needs thresholds, and the rows to choose them are here."""
        if rows.raw is None or rows.X.one_pass:
            return False
        return bool(rows.labels.kind == "indicator")

    def _stream_block(self, labels: Labels) -> Array:
        """Return the rows whose products a stream sums; the last columns are the labels."""
        return labels.values

    @refuse_overflow
    @few_threads
    def label_scores(self, X: Any) -> Array:
        """Score every label for every row, from the embedding.

        The scores are the least squares estimate of the labels from the components: close
        to 1 means yes, close to 0 means no. With all components of OPLS they are the
        prediction of ridge regression.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        scores : array of shape (n, k)
            One column for each entry of ``classes_``.
        """
        fitted = self._fitted()
        # transform returns a data frame if set_output requested one.
        latent = as_block(fitted.transform(X))
        return latent @ like(fitted.label_loadings_, latent) + like(fitted.label_means_, latent)

    def score(self, X: Any, y: Any) -> float:
        """Return the R2 of the label scores, weighted by variance.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : labels of the form that was given to ``fit``
            Rows with unknown entries (-1 or NaN) are ignored; rows of a class that was not seen in
            ``fit`` count as rows without a class.

        Returns
        -------
        score : float
            1 for a perfect prediction, 0 for predicting the means.
        """
        from sklearn.metrics import r2_score  # noqa: PLC0415 - slow to import

        fitted = self._fitted()
        scores = host(fitted.label_scores(X))
        labels = labels_as_fitted(fitted, y, scores.shape[0], new_classes=True)
        values = labels.operator.to_block()
        if labels.unknown is not None:
            known = ~labels.unknown.any(axis=1)
            scores, values = scores[known], values[known]
        return float(r2_score(values, scores, multioutput="variance_weighted"))

    def _class_scores(self, X: Any) -> Array:
        """Return the scores by which classes are compared."""
        return host(self.label_scores(X))

    @available_if(_has_no_targets)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Return the scores of the labels; not available for continuous targets.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        scores : array of shape (n, k), or (n,) for two classes
            For two classes, the score of the second minus that of the first; for an indicator, the
            scores minus ``label_thresholds_``: :meth:`predict` gives the labels above zero.
        """
        fitted = self._fitted()
        scores = fitted._class_scores(X)
        if fitted.label_kind_ == "indicator":
            return np.asarray(scores - fitted._thresholds())
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> Array:
        """Predict the labels, in the form in which they were given to ``fit``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        y : array of shape (n,) or (n, k)
            For a class vector, the class with the largest score; for an indicator, 1 where a score
            exceeds ``label_thresholds_``; for continuous targets, the scores themselves, a vector
            for a vector.
        """
        fitted = self._fitted()
        scores = fitted._class_scores(X)
        if fitted.label_kind_ == "classes":
            return np.asarray(fitted.classes_[scores.argmax(axis=1)])
        if fitted.label_kind_ == "targets":
            return scores[:, 0] if fitted.label_ndim_ == 1 else scores
        return np.asarray(scores > fitted._thresholds(), dtype=np.int64)

    def _thresholds(self) -> Array:
        if "label_thresholds_" not in vars(self):
            raise Mismatch(
                f"{type(self).__name__}: predict needs thresholds, which fit chooses on rows in "
                "memory; after partial_fit, and for rows in files or on a cluster, compare "
                "label_scores with thresholds of your own."
            )
        return self.label_thresholds_

    def top_labels(self, component: int, n: int = 10) -> Ends:
        """Return the labels at both ends of an axis.

        Parameters
        ----------
        component : int
            The axis, counted from 0.
        n : int, default=10
            Maximum number of labels at each end.

        Returns
        -------
        Ends
            With fields ``high`` and ``low``, lists of ``(name, weight)``.
        """
        fitted = self._fitted()
        table = on_host(fitted.label_loadings_)
        return ends(type(self).__name__, table, fitted.classes_, component, n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        # Before the fit it is not known; scores such as "roc_auc" ask for it after the fit.
        kind = vars(self).get("label_kind_")
        if kind == "targets":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        elif kind is not None:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_label=kind == "indicator")
        return tags


# --- methods of some estimators ----------------------------------------------------------


@refuse_overflow
def inverse_transform(self: Embedding, Z: Any) -> Array:
    """Map embedded points back to features.

    Of all features that :meth:`transform` maps to Z, these are the ones closest to the mean.

    Parameters
    ----------
    Z : array of shape (n, m)
        Embedded rows.

    Returns
    -------
    X : array of shape (n, d)
        The features.
    """
    fitted = self._fitted()
    components = on_host(fitted.components_)
    latent = as_block(Z)
    m = components.shape[0]
    if latent.ndim != 2 or latent.shape[1] != m:
        raise InvalidInput(
            f"{type(self).__name__}: inverse_transform takes embedded rows "
            f"with {m} columns, but an array of shape {tuple(latent.shape)} was given."
        )
    # The pseudoinverse by QR of the rows at unit length: products of the rows square the error.
    lengths = column_norms(components.T)
    lengths[lengths == 0] = 1.0
    basis, triangle = np.linalg.qr(components.T.astype(np.float64) / lengths)
    back = (solve_triangular(triangle, basis.T) / lengths[:, None]).astype(components.dtype)
    found: Array = latent @ like(back, latent) + like(on_host(fitted.mean_), latent)
    return found


@refuse_overflow
@few_threads
def transform_with_labels(self: Any, X: Any, labels: Any = None) -> Array:
    """Map rows to the embedding.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    labels : labels of the form that was given to ``fit``, or None, default=None
        Known labels of the rows, for the items of a collection; -1 or NaN marks unknown
        entries, which add nothing. Rows that are embedded with their labels are closer to the
        queries that should find them, which are embedded from features only.

    Returns
    -------
    Z : array of shape (n, m)
        ``(X - mean_) @ components_.T``. With labels, ``+ (Y - label_means_) @ D``: the fitted
        labels and the known ones together. D has a direction for each label, for OPLS
        ``label_loadings_.T`` with ``scale="eigenvalue"``, for others ``label_directions_``.
    """
    fitted = self._fitted()
    rows = Embedding.transform(fitted, X)
    if labels is None:
        return rows
    return placed_by_labels(fitted, rows, labels, fitted._label_moves())


def placed_by_labels(model: Any, places: Any, y: Any, directions: Array) -> Array:
    """Add the contribution of known labels to embedded rows, by one direction per label."""
    block = as_block(places)
    labels = labels_as_fitted(model, y, block.shape[0])
    ways, means = host(directions), host(model.label_means_)
    known = means if labels.unknown is None else ~labels.unknown * means
    added = labels.operator.matmat(ways) - known @ ways
    moved: Array = block + like(added, block)
    return moved
