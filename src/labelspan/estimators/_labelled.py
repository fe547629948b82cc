"""The base class of estimators that learn from labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .._axis_ends import Ends, ends
from .._params import Constraint, OneOf, Real
from .._typing import Array
from ..errors import (
    InvalidInput,
    InvalidLabels,
    InvalidParameter,
    Mismatch,
    UncertainPenalty,
    warn_caller,
)
from ..labels import Factor, Labels, read_labels
from ..labels.factor import block_rank, square_rank
from ..labels.reading import Kind, indicator_on_device
from ..operators import Operator, Product, VStack
from ..operators.array_backend import (
    as_block,
    inner,
    like,
    on_host,
    sum_of_squares,
)
from ..operators.row_graph import incidence
from ..solvers import (
    AlphaCurve,
    LeastSquares,
    Problem,
    Solution,
    Solver,
    Statistics,
    solve_statistics,
)
from ..solvers.leave_one_out import generalized_cross_validation
from ..solvers.penalties import L1, L2
from . import _partial_fit
from ._base import BaseEmbedding, Features, all_or_nothing, learned, refuse_overflow
from ._many_labels import fit_factor
from ._options import ALPHA, RANK, SCALE, SHARED, accept, choose_penalty, solve
from ._partial_fit import Stream, add_batch, align_labels, when_streaming, why_no_stream
from ._rank import freedom_of_gram, keep_chosen_rank, rank_of_fit

__all__ = ["LabelledEmbedding", "Prepared", "has_label_factor", "labelled_rows"]

# An eigenvalue below this fraction of |H|^2 may consist of rounding only.
_FAINT = 1e-16


@dataclass(frozen=True)
class Prepared:
    """X and y of a fit as they are solved: the labelled rows, centred, and the factor H."""

    features: Features
    rows: Operator
    means: Array
    labels: Labels
    factor: Any


class LabelledEmbedding(BaseEmbedding):
    """A space that is learned from labels and can score them.

    A method that is defined by its label factor H (OPLS, CCA, LDA, HSL) gives
    ``_make_factor`` and, for ``partial_fit``, ``_stream_map``; ``fit`` then solves
    ``X'HH'X w = lambda (X'X + alpha I) w``. MLSI and DLE have a ``fit`` of their own.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **SHARED,
        "n_components": RANK,
        "alpha": ALPHA,
        "penalty": OneOf(("l2", "l1")),
        "scale": SCALE,
    }
    _needs_labels: ClassVar[bool] = True
    _takes: ClassVar[tuple[Kind, ...]] = ("classes", "indicator", "targets")
    # Whether labels may stay in files.
    _label_files: ClassVar[bool] = False
    # Whether H can be made of labels on the device of X.
    _labels_on_device: ClassVar[bool] = False
    # Whether ``_publish_labels`` needs Y'Y.
    _keeps_label_square: ClassVar[bool] = False
    # Parameters that the sums of a stream depend on.
    _summed_with: ClassVar[tuple[str, ...]] = ()

    alpha: float | str
    penalty: str
    scale: str | None

    alpha_: float = learned()
    alpha_curve_: AlphaCurve | None = learned()

    classes_: Array = learned()
    label_loadings_: Array = learned()
    label_means_: Array = learned()

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        alpha: float | str = "auto",
        penalty: str = "l2",
        scale: str | None = "eigenvalue",
        center: bool = True,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        landmarks: int | None = None,
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
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # --- what a method with a label factor adds ---------------------------------------

    def _make_factor(self, labels: Labels) -> Any:
        """Return H, from the labels of labelled rows; an operator where they are sparse."""
        raise NotImplementedError(type(self).__name__)

    def _from_factor(self, images: Array, labels: Labels, factor: Array) -> Any:
        """Return ``W'X'Y`` from ``W'X'H``, where Y is H times a small matrix; otherwise None."""
        return None

    def _stream_block(self, labels: Labels) -> Array:
        """Return, row by row, what H is made from; the last columns are the labels."""
        return labels.values

    def _stream_map(self, sums: Array, square: Array) -> Array:
        """Return T with ``H = block @ T``, from the column sums and products of the block."""
        raise NotImplementedError(type(self).__name__)

    # --- labels -----------------------------------------------------------------------

    def _read_labels(
        self,
        y: Any,
        n_rows: int,
        *,
        part: bool = False,
        targets: bool = False,
        keep_sparse: bool = False,
    ) -> Labels:
        owner = type(self).__name__
        labels = read_labels(y, n_rows, owner, part=part, targets=targets, keep_sparse=keep_sparse)
        if labels.kind not in self._takes:
            raise InvalidLabels(
                f"{owner} takes classes or a 0/1 indicator, but y holds continuous targets; "
                "use OPLS, CCA or MLSI for those."
            )
        return labels

    def _labels_of(self, X: Operator, y: Any, *, keep_sparse: bool, on_device: bool) -> Labels:
        """Read the labels of the rows of X; ``on_device`` holds 0 and 1 on its device."""
        found = indicator_on_device(y, X, type(self).__name__) if on_device else None
        return self._read_labels(y, X.shape[0], keep_sparse=keep_sparse) if found is None else found

    def _label_means(self, labels: Labels) -> Array:
        return labels.means() if self.center else np.zeros(labels.values.shape[1])

    def _label_values(self, labels: Labels) -> tuple[Array, Array]:
        """Return Y, centred where X is, with unknown entries at zero; and its means."""
        values = labels.centred if self.center else labels.values
        if labels.unknown is not None and not self.center:
            values = np.where(labels.unknown, 0.0, values)
        return values, self._label_means(labels)

    def _publish_labels(
        self,
        features: Features,
        names: Array,
        loadings: Array,
        means: Array,
        square: Array | None = None,
    ) -> None:
        """Set the map from the space to labels; ``square`` is Y'Y of centred labels."""
        self.classes_ = names
        self.label_loadings_ = features.place(loadings)
        self.label_means_ = features.place(means)

    @refuse_overflow
    def label_scores(self, X: Any) -> Array:
        """Score every label for every row, from the learned space.

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
        # transform returns a data frame where set_output asked for one.
        latent = as_block(self.transform(X))
        return latent @ like(fitted.label_loadings_, latent) + like(fitted.label_means_, latent)

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

    # --- fit, for methods with a label factor -----------------------------------------

    @all_or_nothing
    @refuse_overflow
    def fit(self, X: Any, y: Any, *, graph: Any = None, mu: float = 0.0) -> Self:
        """Learn the space from features and labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : vector of classes, or array or sparse matrix of shape (n, k)
            Rows whose labels are all unknown (-1 or NaN) are used only for the graph.
        graph : array or sparse matrix of shape (n, n) or None, default=None
            Weights between rows, labelled or not. ``mu X'LX`` with its Laplacian L is added to
            the metric, which moves rows that share an edge closer together.
        mu : float, default=0.0
            Weight of the graph; 0 is the plain method.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_params()
        self._check_penalty()
        ready = self._prepare(X, y, keep_sparse=graph is None and self._keeps_sparse)
        if ready.labels.many:
            fit_factor(self, ready)
            return self
        rows, factor = ready.rows, ready.factor  # X, H
        edges = _graph_rows(type(self).__name__, ready.features.operator, graph, mu)
        if edges is not None:
            # The edges stand below the labelled rows with H = 0: X'X becomes X'X + mu X'LX,
            # and X'H is unchanged.
            rows = VStack([rows, edges])
            factor = np.concatenate([factor, np.zeros((edges.shape[0], factor.shape[1]))])
        # In float64: a direction that float32 rounds to something would count.
        h_gram = inner(ready.factor, ready.factor, dtype=np.float64)  # H'H
        rank = block_rank(ready.factor)
        count = self._factor_count(ready.rows.shape, rank)
        alpha, curve = self._choose_penalty(ready)
        penalty = L1(alpha) if self.penalty == "l1" else L2(alpha)
        solution = solve(self, Problem(rows, Factor(labels=factor), count, penalty))  # W, lambda
        h_square = float(np.trace(h_gram))
        if solution.eigenvalues[0] <= _FAINT * h_square:
            cross = ready.rows.cross(ready.factor)  # X'H
            self._refuse_rounding(cross, ready.rows.sum_of_squares(), h_square)
        solution = rank_of_fit(self, solution, ready.rows, ready.factor, rank=rank, alpha=alpha)
        images = solution.images  # W'X'H
        if images is not None:
            images = self._from_factor(images, ready.labels, ready.factor)  # W'X'Y
        if images is None:
            values = self._label_values(ready.labels)[0]  # Y
            images = _regressed(solution, inner(solution.weights, ready.rows.cross(values)))
        roots = self._roots(solution)
        weights = solution.weights * like(roots, solution.weights)
        signs = self._publish(ready.features, weights, ready.means, solution.eigenvalues, solution)
        self._publish_labels(
            ready.features,
            ready.labels.names,
            (signs / roots)[:, None] * images,
            self._label_means(ready.labels),
            self._label_square(ready.labels) if self._keeps_label_square else None,
        )
        self.alpha_, self.alpha_curve_ = alpha, curve
        return self

    def _choose_penalty(self, ready: Prepared) -> tuple[float, AlphaCurve | None]:
        # Only a penalty that is chosen needs the labels about their means.
        if self.alpha != "auto":
            return float(self.alpha), None
        return choose_penalty(self, ready.rows, self._label_values(ready.labels)[0])

    def _label_square(self, labels: Labels) -> Array:
        values = self._label_values(labels)[0]
        return inner(values, values)

    def _roots(self, solution: Solution) -> Array:
        """Return the lengths of the directions: sqrt(lambda) where they are scaled."""
        values = solution.eigenvalues
        return np.sqrt(np.where(values > 0, values, 1.0)) if self.scale else np.ones(values.size)

    @property
    def _keeps_sparse(self) -> bool:
        """Whether many labels may stay sparse."""
        return self._linear and self.penalty == "l2" and self.solver == "auto"

    def _prepare(self, X: Any, y: Any, *, keep_sparse: bool = False) -> Prepared:
        """Read X and y, keep the labelled rows, centre them and make H."""
        features = self._read_features(X)
        keep_sparse = keep_sparse and (self._label_files or not isinstance(y, Operator))
        # On a device only where the fit is as plain as one that keeps labels sparse.
        on_device = keep_sparse and self._labels_on_device
        labels = self._labels_of(features.operator, y, keep_sparse=keep_sparse, on_device=on_device)
        rows, labels = labelled_rows(features.operator, labels)
        if labels.kind == "classes" and labels.names.size < 2:
            raise InvalidLabels(
                f"{type(self).__name__}: y has one class, {labels.names[0]}; "
                "at least two are needed."
            )
        rows, means = self._center(rows, features.kernel_map)
        return Prepared(features, rows, means, labels, self._make_factor(labels))

    def _check_penalty(self) -> None:
        owner = type(self).__name__
        if self.penalty == "l1" and self.alpha == "auto":
            raise InvalidParameter(
                f"{owner}: penalty='l1' needs a number for alpha, but alpha='auto' was given, "
                "which chooses the 2-norm penalty; loadings_path shows what each number selects."
            )
        if self.penalty == "l1" and self.alpha == 0:
            raise InvalidParameter(
                f"{owner}: penalty='l1' needs alpha above 0, but alpha=0 was given."
            )
        if self.penalty == "l1" and not self._linear:
            raise Mismatch(
                f"{owner}: penalty='l1' makes weights on features sparse, which "
                f"kernel={self.kernel!r} does not have; use kernel='linear' or penalty='l2'."
            )

    def _factor_count(self, shape: tuple[int, int], rank: int) -> int:
        rows, columns = shape
        limits = [
            (rank, f"the labels span {rank} directions" + (" once centred" if self.center else "")),
        ]
        # Penalised least squares has a direction for each target, however few the features.
        targets = self.solver == "least-squares" or isinstance(self.solver, LeastSquares)
        if self.penalty != "l1" and not (targets and self.alpha != 0):
            limits.append((columns, f"X has {columns} feature(s)"))
        limits += [
            (rows - self.center, f"X has {rows} labelled sample(s)"),
        ]
        most, reason = min(limits, key=lambda pair: pair[0])
        return self._count(most, reason, default=most)

    def _refuse_rounding(self, cross: Array, x_square: float, h_square: float) -> None:
        """Raise where X'H consists only of the rounding of its sums."""
        if sum_of_squares(cross) <= (64 * np.finfo(np.float64).eps) ** 2 * x_square * h_square:
            raise InvalidInput(
                f"{type(self).__name__}: X says nothing about y, because every eigenvalue is zero "
                "up to rounding; check that X varies with y."
            )

    # --- partial_fit ------------------------------------------------------------------

    @when_streaming
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from one more batch of rows.

        Any split and any order of the rows gives the same result, which for a given ``alpha``
        is that of :meth:`fit` on all of them. ``alpha="auto"`` chooses by generalized
        cross-validation, because the rows are gone; with fewer rows than columns give a number.
        The space is computed when it is first used, with the parameters of that moment.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            At most 4,096 columns.
        y : as in :meth:`fit`
            Whole rows may be unknown; single entries may not.
        classes : sequence or None, default=None
            In the first call, the names of all labels that later batches may have. None uses
            those of the first batch; a new label later raises an error.

        Returns
        -------
        self
            The fitted estimator.
        """
        return add_batch(self, X, y, classes)  # type: ignore[no-any-return]

    merge = when_streaming(_partial_fit.merge)

    def _why_no_stream(self) -> str | None:
        if self.penalty == "l1":
            return (
                f"{type(self).__name__}: partial_fit cannot take penalty='l1', "
                "which needs all rows at once; use fit."
            )
        return why_no_stream(self)

    def _open_stream(self, operator: Operator, y: Any, classes: Any) -> Stream:
        labels = self._read_labels(y, operator.shape[0], part=True)
        names = labels.names
        if classes is not None:
            names = np.asarray(classes)
            if labels.kind != "classes" and names.size != labels.names.size:
                raise InvalidLabels(
                    f"{type(self).__name__}: classes names {names.size} labels, "
                    f"but y has {labels.names.size} columns."
                )
            if labels.kind == "classes":
                names = np.unique(names)
        return Stream.opened(self, names, labels.kind, operator.dtype, self._summed_with)

    def _batch(self, X: Operator, y: Any, stream: Stream) -> tuple[Operator, Array, Array | None]:
        """Return the rows that count, the block whose products with X are summed, and the numbers
        of the labelled rows; None where all are.
        """
        labels = self._batch_labels(X, y, stream)
        index = np.flatnonzero(labels.labelled)
        if index.size < X.shape[0]:
            X, labels = X.rows(index), labels.rows(index)
        return X, self._stream_block(labels), None

    def _batch_labels(self, X: Operator, y: Any, stream: Stream) -> Labels:
        targets = stream.kind == "targets"
        labels = self._read_labels(y, X.shape[0], part=True, targets=targets)
        return align_labels(labels, stream, type(self).__name__)

    @refuse_overflow
    def _fit_statistics(self, stream: Stream, statistics: Statistics) -> None:
        """Set what ``fit`` sets, from the sums of a stream."""
        gram, cross, square = statistics.about(center=self.center)  # X'X, X'B, B'B
        to_factor = self._stream_map(statistics.n * statistics.b_mean, square)  # T, H = B T
        hh = to_factor.T @ square @ to_factor  # H'H
        rank = square_rank(hh)
        count = self._factor_count((statistics.n, gram.shape[0]), rank)
        seen = cross @ to_factor  # X'H
        labels = slice(-stream.names.size, None)
        alpha, curve = self._stream_penalty(
            gram, cross[:, labels], square[labels, labels], statistics.n
        )
        solution = solve_statistics(
            gram, seen, Factor(), alpha=alpha, count=count, rows=statistics.n
        )
        self._refuse_rounding(seen, float(np.trace(gram)), float(np.trace(hh)))
        accept(self, solution, count)
        if self.n_components == "auto":
            solution = keep_chosen_rank(
                self,
                solution,
                alpha=alpha,
                total=float(np.trace(hh)),
                shape=(statistics.n - self.center, rank),
                freedom=freedom_of_gram(gram, alpha, statistics.n),
            )
        features = Features(None, stream.dtype)
        means = statistics.x_mean * self.center
        roots = self._roots(solution)
        weights = solution.weights * roots
        signs = self._publish(features, weights, means, solution.eigenvalues, solution)
        images = (solution.weights * (signs / roots)).T @ cross[:, labels]  # W'X'Y
        label_means = statistics.b_mean[labels] * self.center
        self._publish_labels(features, stream.names, images, label_means, square[labels, labels])
        self.alpha_, self.alpha_curve_ = alpha, curve

    def _stream_penalty(
        self, gram: Array, cross: Array, square: Array, rows: int
    ) -> tuple[float, AlphaCurve | None]:
        """Return alpha as a number, by generalized cross-validation where it is "auto"."""
        if self.alpha != "auto":
            return float(self.alpha), None
        curve = generalized_cross_validation(
            gram, cross, float(np.trace(square)), rows=rows, intercept=self.center
        )
        if rows - self.center <= gram.shape[0] and curve.alpha <= curve.alphas[0]:
            warn_caller(
                f"{type(self).__name__}: alpha='auto' in a stream of {rows} rows and "
                f"{gram.shape[0]} columns chose the smallest penalty that it tries, which means "
                "little with so few rows; give alpha a number, more rows, or use fit.",
                UncertainPenalty,
            )
        return curve.alpha, curve


def has_label_factor(estimator: Any) -> bool:
    """Tell whether an estimator is defined by a label factor H, as OPLS, CCA, LDA and HSL are."""
    if not isinstance(estimator, LabelledEmbedding):
        return False
    return type(estimator)._make_factor is not LabelledEmbedding._make_factor


def _regressed(solution: Solution, images: Array) -> Array:
    """Return the regression of the labels on the space, from ``W'X'Y``."""
    if solution.metric is None:
        return images
    return np.asarray(np.linalg.pinv(solution.metric, rcond=1e-12, hermitian=True) @ images)


def labelled_rows(X: Operator, labels: Labels) -> tuple[Operator, Labels]:
    """Keep the rows with a known label."""
    labelled = labels.labelled
    if labelled.all():
        return X, labels
    index = np.flatnonzero(labelled)
    if index.size < 2:
        raise InvalidLabels(
            "y has labels for only one row, and at least two are needed; "
            "MLSI can learn from rows without labels."
        )
    return X.rows(index), labels.rows(index)


def _graph_rows(owner: str, X: Operator, graph: Any, mu: float) -> Operator | None:
    """Return ``sqrt(mu) E X`` for the edges E of the graph; None where there is nothing to add."""
    if not Real(0.0).accepts(mu):
        raise InvalidParameter(f"{owner}: mu must be a number of at least 0, but {mu!r} was given.")
    if graph is None:
        if mu > 0:
            raise InvalidParameter(f"{owner}: mu={mu} needs a graph; give graph= as well.")
        return None
    edges = incidence(graph, X.shape[0], mu, X.dtype)
    return Product(edges, X) if mu > 0 else None
