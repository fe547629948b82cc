"""The fit of methods that are defined by a label factor H: OPLS, CCA, LDA and HSL.

They solve ``X'HH'X w = lambda (X'X + alpha I) w``, with H made of the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .._params import Constraint, OneOf, Real
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, InvalidParameter
from ..labels import Factor, Labels
from ..labels.factor import block_rank
from ..operators import Operator, Product, VStack
from ..operators.array_backend import inner, like, sum_of_squares
from ..operators.row_graph import incidence
from ..solvers import AlphaCurve, LeastSquares, Problem, Solution
from ..solvers.penalties import L1, L2
from ._base import Features, all_or_nothing, refuse_overflow
from ._labelled import centred_labels, labelled_rows, stream_penalty
from ._many_labels import fit_many_labels
from ._options import ALPHA, RANK, SCALE, SHARED, choose_penalty, lengths_of, solve
from ._partial_fit import Stream, rows_of, why_no_stream
from ._rank import rank_of_fit

__all__ = [
    "FACTOR_OPTIONS",
    "Prepared",
    "check_penalty",
    "fit_factor",
    "fit_factor_stream",
    "has_label_factor",
    "prepare",
    "why_no_factor_stream",
]

M = TypeVar("M")

FACTOR_OPTIONS: Mapping[str, Constraint] = {
    **SHARED,
    "n_components": RANK,
    "alpha": ALPHA,
    "penalty": OneOf(("l2", "l1")),
    "scale": SCALE,
}
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


def has_label_factor(estimator: Any) -> bool:
    """Tell whether an estimator is defined by a label factor H, as OPLS, CCA, LDA and HSL are."""
    return hasattr(type(estimator), "_make_factor")


@all_or_nothing
@refuse_overflow
def fit_factor(self: M, X: Any, y: Any, *, graph: Any = None, mu: float = 0.0) -> M:
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
    model: Any = self
    model._check_params()
    check_penalty(model)
    plain = graph is None and model.penalty == "l2" and model.solver == "auto"
    ready = prepare(model, X, y, keep_sparse=plain)
    if ready.labels.many:
        most = _count(model, ready.rows.shape, ready.labels.values.shape[1])
        fit_many_labels(model, ready, most)
        return self
    values, label_means = centred_labels(model, ready.labels)  # Y
    edges = _graph_rows(type(model).__name__, ready.features.operator, graph, mu)

    def penalty() -> tuple[float, AlphaCurve | None]:
        return choose_penalty(model, ready.rows, values)

    found = _solve(model, ready.rows, ready.factor, ready.rows.shape[0], penalty, edges=edges)
    images = found.solution.images  # W'X'H
    if images is not None:
        images = model._from_factor(images, ready.labels, ready.factor)  # W'X'Y
    if images is None:
        images = _regressed(found.solution, ready.rows, values)
    loadings = _publish(model, ready.features, found, ready.means, images)
    square = inner(values, values) if model._keeps_label_square else None
    model._publish_labels(ready.features, ready.labels, loadings, label_means, square)
    return self


def fit_factor_stream(model: Any, stream: Stream) -> None:
    """Fit a method by its factor, to what a stream has seen."""
    statistics = stream.labelled
    owner = type(model).__name__
    if statistics is None:
        raise InvalidLabels(f"{owner}: partial_fit has seen no row with labels; give it some.")
    rows, block = rows_of(model, statistics, model.alpha)  # X, B
    square = block.T @ block
    factor = block @ model._stream_map(statistics.n * statistics.b_mean, square)  # H
    labels = block[:, -stream.names.size :]  # Y

    def penalty() -> tuple[float, AlphaCurve | None]:
        return stream_penalty(model, rows, labels, statistics.n)

    found = _solve(model, rows, factor, statistics.n, penalty)
    features = Features(None, stream.dtype)
    images = _regressed(found.solution, rows, labels)
    loadings = _publish(model, features, found, statistics.x_mean * model.center, images)
    label_means = statistics.b_mean[-stream.names.size :] * model.center
    model._publish_labels(features, stream, loadings, label_means, labels.T @ labels)


def why_no_factor_stream(model: Any) -> str | None:
    """Say why all rows are needed at once; None where they are not."""
    if model.penalty == "l1":
        return (
            f"{type(model).__name__}: partial_fit cannot take penalty='l1', "
            "which needs all rows at once; use fit."
        )
    return why_no_stream(model)


@dataclass(frozen=True)
class _FactorFit:
    solution: Solution
    alpha: float
    curve: AlphaCurve | None


def _solve(
    model: Any,
    X: Operator,
    H: Array,
    n: int,
    penalty: Callable[[], tuple[float, AlphaCurve | None]],
    *,
    edges: Operator | None = None,
) -> _FactorFit:
    """Solve for the directions; n is the number of rows, of which X may be few that stand for all.

    ``edges`` are rows of a graph penalty: with H = 0 there, X'X becomes X'X + mu X'LX.
    """
    # In float64: a direction that float32 rounds to something would count.
    h_gram = inner(H, H, dtype=np.float64)  # H'H
    rank = block_rank(H)
    count = _count(model, (n, X.shape[1]), rank)
    alpha, curve = penalty()
    strength = L1(alpha) if model.penalty == "l1" else L2(alpha)
    rows, factor = X, H
    if edges is not None:
        rows = VStack([X, edges])
        factor = np.concatenate([H, np.zeros((edges.shape[0], H.shape[1]))])
    solution = solve(model, Problem(rows, Factor(labels=factor), count, strength))  # W, lambda
    square = float(np.trace(h_gram))
    if solution.eigenvalues[0] <= _FAINT * square:
        _refuse_rounding(model, X.cross(H), X.sum_of_squares(), square)
    solution = rank_of_fit(model, solution, X, H, shape=(n, rank), alpha=alpha)
    return _FactorFit(solution, alpha, curve)


def _regressed(solution: Solution, X: Operator, labels: Array) -> Array:
    """Return the regression of the labels on the space, from ``W'X'Y``."""
    images = inner(solution.weights, X.cross(labels))
    if solution.metric is None:
        return images
    return np.asarray(np.linalg.pinv(solution.metric, rcond=1e-12, hermitian=True) @ images)


def _publish(
    model: Any, features: Features, found: _FactorFit, means: Array, images: Array
) -> Array:
    """Set the fitted attributes; return the loadings of the labels."""
    solution = found.solution
    lengths = lengths_of(model, solution)
    weights = solution.weights * like(lengths, solution.weights)
    signs = model._publish(features, weights, means, solution.eigenvalues, solution)
    model.alpha_, model.alpha_curve_ = found.alpha, found.curve
    return np.asarray((signs / lengths)[:, None] * images)


def prepare(model: Any, X: Any, y: Any, *, keep_sparse: bool = False) -> Prepared:
    """Read X and y, keep the labelled rows, centre them and make H."""
    features = model._read_features(X)
    # On a device only where the fit is as plain as one that keeps labels sparse.
    on_device = keep_sparse and model._labels_on_device
    labels = model._labels_of(features.operator, y, keep_sparse=keep_sparse, on_device=on_device)
    rows, labels = labelled_rows(features.operator, labels)
    if labels.kind == "classes" and labels.names.size < 2:
        raise InvalidLabels(
            f"{type(model).__name__}: y has one class, {labels.names[0]}; at least two are needed."
        )
    rows, means = model._center(rows)
    return Prepared(features, rows, means, labels, model._make_factor(labels))


def check_penalty(model: Any) -> None:
    """Raise an error for a penalty that does not go with alpha."""
    owner = type(model).__name__
    if model.penalty != "l1":
        return
    if model.alpha == "auto":
        raise InvalidParameter(
            f"{owner}: penalty='l1' needs a number for alpha, but alpha='auto' was given, "
            "which chooses the 2-norm penalty."
        )
    if model.alpha == 0:
        raise InvalidParameter(f"{owner}: penalty='l1' needs alpha above 0, but alpha=0 was given.")


def _count(model: Any, shape: tuple[int, int], rank: int) -> int:
    rows, columns = shape
    limits = [
        (rank, f"the labels span {rank} directions" + (" once centred" if model.center else "")),
    ]
    # Penalised least squares has a direction for each target, however few the features.
    targets = model.solver == "least-squares" or isinstance(model.solver, LeastSquares)
    if model.penalty != "l1" and not (targets and model.alpha != 0):
        limits.append((columns, f"X has {columns} feature(s)"))
    limits += [
        (rows - model.center, f"X has {rows} labelled sample(s)"),
    ]
    most, reason = min(limits, key=lambda pair: pair[0])
    return int(model._count(most, reason, default=most))


def _refuse_rounding(model: Any, cross: Array, x_square: float, h_square: float) -> None:
    """Raise where X'H consists only of the rounding of its sums."""
    if sum_of_squares(cross) <= (64 * np.finfo(np.float64).eps) ** 2 * x_square * h_square:
        raise InvalidInput(
            f"{type(model).__name__}: X says nothing about y, because every eigenvalue is zero "
            "up to rounding; check that X varies with y."
        )


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
