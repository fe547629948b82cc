"""The thin-factor methods share everything but their factor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .._params import Choice, Constraint, Real
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from ..labels import Factor, Labels, block_rank, square_rank
from ..operators import Operator, Product, VStack
from ..operators.array_backend import inner, sum_of_squares
from ..operators.row_graph import incidence
from ..solvers import Solution, Solver, Statistics, solve_statistics
from ..solvers.penalties import L1, L2
from .base import Features
from .constraints import SHARED
from .labelled import LabelledEstimator
from .overflow import refuse_overflow
from .space import Limit
from .streaming import Stream
from .whole import whole

__all__ = ["Prepared", "ThinEstimator"]

# An eigenvalue below this share of the labels' squares may be made of rounding alone.
_FAINT = 1e-16


@dataclass(frozen=True)
class Prepared:
    """X and y of a fit, read: the labelled rows, centred, and the factor."""

    features: Features
    rows: Operator
    means: Array
    labels: Labels
    factor: Array


class ThinEstimator(LabelledEstimator):
    """Base of OPLS, CCA, LDA and HSL: ``X'HH'X w = lambda (X'X + alpha I) w``."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **SHARED,
        "alpha": Real(0.0),
        "penalty": Choice(("l2", "l1")),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 0.0,
        penalty: str = "l2",
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

    @abstractmethod
    def _make_factor(self, labels: Labels) -> Array:
        """H, from labels of labelled rows."""

    def _stream_block(self, labels: Labels) -> Array:
        """Row by row, what H is made of; the labels themselves come last."""
        return labels.values

    @abstractmethod
    def _stream_map(self, sums: Array, square: Array) -> Array:
        """T with ``H = block @ T``, from the block's column sums and products."""

    @whole
    @refuse_overflow
    def fit(self, X: Any, y: Any, *, graph: Any = None, mu: float = 0.0) -> Self:
        """Learn the space from features and labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : vector of classes, or array or sparse matrix of shape (n, k)
            Rows whose labels are all unknown (-1 or NaN) are left out, but for the graph.
        graph : array or sparse matrix of shape (n, n) or None, default=None
            Weights between rows, labelled or not. ``mu X'LX`` with its Laplacian L joins the
            metric, so that rows with an edge are drawn together.
        mu : float, default=0.0
            The graph's strength; 0 is the plain method.

        Returns
        -------
        self
        """
        self._check_params()
        self._check_penalty()
        ready = self._prepare(X, y)
        edges = _graph_rows(type(self).__name__, ready.features.operator, graph, mu)
        count = self._count(self._limit(ready.rows.shape, block_rank(ready.factor)))
        penalty = L1(self.alpha) if self.penalty == "l1" else L2(self.alpha)
        rows, factor = ready.rows, ready.factor
        if edges is not None:
            # Below the labelled rows stand the graph's edges, which no label asks anything of:
            # X'X becomes X'X + mu X'LX, and X'H stays.
            rows = VStack([rows, edges])
            factor = np.concatenate([factor, np.zeros((edges.shape[0], factor.shape[1]))])
        solution = self._solve(rows, Factor(labels=factor), count, penalty)
        h_square = sum_of_squares(ready.factor)
        if solution.eigenvalues[0] <= _FAINT * h_square:
            cross = ready.rows.cross(ready.factor)
            self._refuse_rounding(cross, ready.rows.sum_of_squares(), h_square)
        self._end_stream()
        dtype = ready.features.dtype
        signs = self._publish(
            ready.means,
            solution,
            solution.weights,
            dtype=dtype,
            kernel_map=ready.features.kernel_map,
            home=ready.features.operator,
        )
        self.classes_ = ready.labels.names
        values, label_means = self._label_values(ready.labels)
        images = signs[:, None] * _regressed(
            solution, inner(solution.weights, ready.rows.cross(values))
        )
        square = values.T @ values
        self._set_loadings(images, square, label_means, dtype, ready.features.operator)
        return self

    def _prepare(self, X: Any, y: Any) -> Prepared:
        """Everything up to the problem itself."""
        features = self._open(X)
        labels = self._read_labels(y, features.operator.shape[0])
        rows, labels = _labelled_rows(features.operator, labels)
        self._refuse_one_class(labels)
        rows, means = self._center(rows, features.kernel_map)
        return Prepared(features, rows, means, labels, self._make_factor(labels))

    def _check_penalty(self) -> None:
        owner = type(self).__name__
        if self.penalty == "l1" and self.alpha == 0:
            raise InvalidParameter(
                f"{owner}: penalty='l1' needs alpha above 0, but alpha=0 was given."
            )
        if self.penalty == "l1" and not self._linear:
            raise Mismatch(
                f"{owner}: penalty='l1' makes weights on features sparse, and "
                f"kernel={self.kernel!r} has none; use kernel='linear' or penalty='l2'."
            )

    def _limit(self, shape: tuple[int, int], rank: int) -> Limit:
        rows, columns = shape
        limits = [
            (rank, f"the labels span {rank} directions" + (" once centred" if self.center else "")),
            (columns, f"X has {columns} feature(s)"),
            (rows - self.center, f"X has {rows} labelled sample(s)"),
        ]
        count, reason = min(limits, key=lambda pair: pair[0])
        return Limit(count, reason, default=count)

    def _refuse_one_class(self, labels: Labels) -> None:
        if labels.kind == "classes" and labels.names.size < 2:
            raise InvalidLabels(
                f"{type(self).__name__}: y has one class, {labels.names[0]}; "
                "at least two are needed."
            )

    def _refuse_rounding(self, cross: Array, x_square: float, h_square: float) -> None:
        """Refuse X'H that is nothing but the rounding of its sums."""
        if sum_of_squares(cross) <= (64 * np.finfo(np.float64).eps) ** 2 * x_square * h_square:
            raise InvalidInput(
                f"{type(self).__name__}: X says nothing about y, every eigenvalue is zero up to "
                "rounding; check that X varies with y."
            )

    def _set_loadings(
        self,
        images: Array,
        square: Array,
        means: Array,
        dtype: Any,
        home: Operator | None = None,
    ) -> None:
        """From ``V'Y`` and ``Y'Y``, about the labels' means."""
        self._set_label_map(images, means, dtype, home)

    # --- streaming --------------------------------------------------------------------

    def _why_no_stream(self) -> str | None:
        if self.penalty == "l1":
            return (
                f"{type(self).__name__}: partial_fit cannot take penalty='l1', "
                "which needs all rows at once; use fit."
            )
        return super()._why_no_stream()

    def _stream_rows(self, operator: Operator, labels: Labels) -> tuple[Operator, Array]:
        index = np.flatnonzero(labels.labelled)
        if index.size < operator.shape[0]:
            operator, labels = operator.rows(index), labels.rows(index)
        return operator, self._stream_block(labels)

    def _solve_stream(self, stream: Stream, statistics: Statistics) -> None:
        gram, cross, square = statistics.about(center=self.center)
        sums = statistics.n * statistics.b_mean
        to_factor = self._stream_map(sums, square)
        rank = square_rank(to_factor.T @ square @ to_factor)
        count = self._count(self._limit((statistics.n, gram.shape[0]), rank))
        seen = cross @ to_factor
        solution = solve_statistics(
            gram, seen, Factor(), alpha=self.alpha, count=count, rows=statistics.n
        )
        self._solving.accept(solution, count)
        h_square = float(np.trace(to_factor.T @ square @ to_factor))
        self._refuse_rounding(seen, float(np.trace(gram)), h_square)
        means = statistics.x_mean * self.center
        signs = self._publish(means, solution, solution.weights, dtype=stream.dtype)
        self.classes_ = stream.names
        labels = slice(-stream.names.size, None)
        images = (solution.weights * signs).T @ cross[:, labels]
        label_means = statistics.b_mean[labels] * self.center
        self._set_loadings(images, square[labels, labels], label_means, stream.dtype)


def _regressed(solution: Solution, images: Array) -> Array:
    """The regression of the labels on the space, from ``W'X'Y``."""
    if solution.metric is None:
        return images
    return np.asarray(np.linalg.pinv(solution.metric, rcond=1e-12, hermitian=True) @ images)


def _labelled_rows(X: Operator, labels: Labels) -> tuple[Operator, Labels]:
    labelled = labels.labelled
    if labelled.all():
        return X, labels
    index = np.flatnonzero(labelled)
    if index.size < 2:
        raise InvalidLabels(
            "y has labels for one row alone, and at least two are needed; "
            "MLSI can learn from rows without labels."
        )
    return X.rows(index), labels.rows(index)


def _graph_rows(owner: str, X: Operator, graph: Any, mu: float) -> Operator | None:
    """``sqrt(mu) E X`` for the graph's edges E; None where there is nothing to add."""
    if not Real(0.0).accepts(mu):
        raise InvalidParameter(f"{owner}: mu must be a number of at least 0, but {mu!r} was given.")
    if graph is None:
        if mu > 0:
            raise InvalidParameter(f"{owner}: mu={mu} needs a graph; give graph= beside it.")
        return None
    edges = incidence(graph, X.shape[0], mu, X.dtype)
    return Product(edges, X) if mu > 0 else None
