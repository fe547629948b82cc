"""The fit of methods that are defined by a label factor H: OPLS, CCA, LDA and HSL.

They solve ``X'HH'X w = lambda (X'X + alpha I) w``, with H made of the labels.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .._params import Real
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from ..labels import Factor, Labels
from ..labels.factor import block_rank
from ..labels.reading import indicator_on_device
from ..operators import Operator, Product, VStack
from ..operators.array_backend import column_norms, host, inner, like, sum_of_squares
from ..operators.label_columns import seen_by
from ..operators.row_graph import incidence
from ..solvers import L1, L2, AlphaCurve, LeastSquares, Problem, Solution
from ..solvers.rank_choice import choose_rank, degrees_of_freedom
from ._options import choose_penalty, dimensions_for, solve, stream_penalty
from ._streams import Stream, rows_of
from .base import (
    Features,
    all_or_nothing,
    centre,
    centred_labels,
    labelled_rows,
    refuse_overflow,
)

__all__ = [
    "FactorFit",
    "fit_by_factor",
    "fit_factor_stream",
    "refuse_least_squares",
    "state_factor",
]

M = TypeVar("M")

# An eigenvalue below this fraction of |H|^2 may consist of rounding only.
_FAINT = 1e-16


@dataclass(frozen=True)
class FactorFit:
    """What a fit has read and chosen: its problem, and what is published of the solution.

    X and H may be few rows that stand for ``n``.
    """

    features: Features
    labels: Labels | Stream
    X: Operator
    means: Array
    H: Any
    Y: Any
    label_means: Array
    n: int
    rank: int
    alpha: float
    curve: AlphaCurve | None
    problem: Problem


@all_or_nothing
@refuse_overflow
def fit_by_factor(self: M, X: Any, y: Any, *, graph: Any = None, mu: float = 0.0) -> M:
    """Learn the embedding from features and labels.

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
    model: Any = self
    stated = state_factor(model, X, y, graph=graph, mu=mu)
    _finish(model, stated)
    return self


def fit_factor_stream(model: Any, stream: Stream) -> None:
    """Fit a method by its factor, to what a stream has seen."""
    seen = stream.seen(type(model).__name__)
    rows, block = rows_of(model, seen)  # X, B
    H = model._stream_factor(block, seen.n * seen.b_mean)
    Y = block[:, -stream.names.size :]
    rank = block_rank(H)
    count = _count(model, (seen.n, rows.shape[1]), rank)
    alpha, curve = stream_penalty(model, rows, Y, seen.n)
    problem = Problem(rows, Factor(labels=H), count, L2(alpha))
    label_means = seen.b_mean[-stream.names.size :] * model.center
    features, means = Features(None, stream.dtype), seen.x_mean * model.center
    _finish(
        model,
        FactorFit(
            features, stream, rows, means, H, Y, label_means, seen.n, rank, alpha, curve, problem
        ),
    )


def state_factor(model: Any, X: Any, y: Any, *, graph: Any = None, mu: float = 0.0) -> FactorFit:
    """Read X and y, keep the labelled rows, centre them, make H and choose alpha."""
    owner = type(model).__name__
    model._check_params()
    _check_penalty(model)
    plain = graph is None and model.penalty == "l2" and model.solver == "auto"
    features = model._read_features(X)
    edges = _graph_rows(owner, features.operator, graph, mu)
    labels = None
    if plain and model._factor_is_labels:
        labels = indicator_on_device(y, features.operator, owner)
    if labels is None:
        labels = model._read_labels(y, features.operator.shape[0], keep_sparse=plain)
    rows, labels = labelled_rows(owner, features.operator, labels)
    rows, means = centre(model, rows)
    Y, label_means = centred_labels(model, labels, rows.dtype)
    H = Y if model._factor_is_labels else model.label_factor(labels)
    rank = Y.shape[1] if labels.many else block_rank(H)
    count = _count(model, rows.shape, rank)
    if labels.many and not isinstance(model.n_components, numbers.Integral):
        count = min(count, dimensions_for(rank, rows.shape[0]))
    alpha, curve = choose_penalty(model, rows, labels if labels.many else Y, features.operator)
    penalty = L1(alpha) if model.penalty == "l1" else L2(alpha)
    problem = Problem(rows, Factor(labels=H), count, penalty)
    if edges is not None:
        # Rows with H = 0: X'X becomes X'X + mu X'LX.
        factor = Factor(labels=np.concatenate([H, np.zeros((edges.shape[0], H.shape[1]))]))
        problem = replace(problem, X=VStack([rows, edges]), factor=factor)
    return FactorFit(
        features, labels, rows, means, H, Y, label_means, rows.shape[0], rank, alpha, curve, problem
    )


def _finish(model: Any, stated: FactorFit) -> None:
    """Solve, and set the fitted attributes."""
    H, X, features = stated.H, stated.X, stated.features
    solution = solve(model, stated.problem)  # W, lambda
    if not isinstance(H, Operator):
        _refuse_rounding(model, solution, X, H)
        solution = _with_rank(model, solution, stated)
    lengths = np.ones(solution.eigenvalues.size)
    if model.scale:
        lengths = np.sqrt(np.where(solution.eigenvalues > 0, solution.eigenvalues, 1.0))
    weights = solution.weights * like(lengths, solution.weights)
    signs = model._publish(features, weights, stated.means, solution.eigenvalues, solution)
    model.alpha_, model.alpha_curve_ = stated.alpha, stated.curve
    images = _images(solution, X, H, stated.Y)
    loadings = np.asarray((signs / lengths)[:, None] * images)
    model._publish_labels(features, stated.labels, loadings, stated.label_means)
    model._publish_pairs(features, stated.Y, signs[:, None] * images)


def _images(solution: Solution, X: Operator, H: Any, labels: Any) -> Array:
    """Return the regression of labels on the space, from ``W'X'Y``."""
    images = solution.images if labels is H else None
    if images is None:
        W = solution.weights
        if not isinstance(labels, Operator):
            images = inner(W, X.cross(labels))
        elif labels.one_pass:
            images = np.ascontiguousarray(host(X.joint_products(W, labels)[1]).T)
        else:
            images = seen_by(X.matmat(X.place(W)), labels)
    if solution.metric is None:
        return images
    return np.asarray(np.linalg.pinv(solution.metric, rcond=1e-12, hermitian=True) @ images)


def _with_rank(model: Any, solution: Solution, stated: FactorFit) -> Solution:
    """Keep the leading directions with the smallest estimated error where n_components="auto"."""
    if model.n_components != "auto":
        return solution
    if solution.metric is not None:
        raise Mismatch(
            f"{type(model).__name__}: n_components='auto' chooses from eigenvalues, which "
            f"solver={solution.solver!r} does not have; use solver='auto' and penalty='l2', or "
            "give a number."
        )
    rank = choose_rank(
        solution.eigenvalues,
        total=sum_of_squares(stated.H),
        rows=stated.n - model.center,
        labels=stated.rank,
        freedom=degrees_of_freedom(stated.X, stated.alpha),
        kept=1.0 - stated.alpha * np.square(column_norms(solution.weights)),
    ).rank
    weights, values = solution.weights[:, :rank], solution.eigenvalues[:rank]
    return replace(solution, weights=weights, eigenvalues=values, images=None)


def _count(model: Any, shape: tuple[int, int], rank: int) -> int:
    rows, columns = shape
    limits = [
        (rank, f"the labels span {rank} directions" + (" once centred" if model.center else "")),
        (rows - model.center, f"X has {rows} labelled sample(s)"),
    ]
    # Penalised least squares has a direction for each target, however few the features.
    targets = model.solver == "least-squares" or isinstance(model.solver, LeastSquares)
    if model.penalty != "l1" and not (targets and model.alpha != 0):
        limits.insert(1, (columns, f"X has {columns} feature(s)"))
    most, reason = min(limits, key=lambda pair: pair[0])
    return int(model._count(most, reason, default=most))


def _check_penalty(model: Any) -> None:
    """Raise an error for a penalty that does not go with alpha."""
    owner = type(model).__name__
    if model.penalty == "l1" and model.alpha == "auto":
        raise InvalidParameter(
            f"{owner}: penalty='l1' needs a number for alpha, but alpha='auto' was given, "
            "which chooses the 2-norm penalty."
        )
    if model.penalty == "l1" and model.alpha == 0:
        raise InvalidParameter(f"{owner}: penalty='l1' needs alpha above 0, but alpha=0 was given.")


def _refuse_rounding(model: Any, solution: Solution, X: Operator, H: Array) -> None:
    """Raise where X'H consists only of the rounding of its sums."""
    square = sum_of_squares(H)
    if solution.eigenvalues[0] > _FAINT * square:
        return
    least = (64 * np.finfo(np.float64).eps) ** 2 * X.sum_of_squares() * square
    if sum_of_squares(X.cross(H)) <= least:
        raise InvalidInput(
            f"{type(model).__name__}: X does not explain y, because every eigenvalue is zero "
            "up to rounding; check that X varies with y."
        )


def refuse_least_squares(model: Any) -> None:
    """Raise where the directions are not those of the eigenproblem."""
    if model.solver_ == "least-squares":
        raise Mismatch(
            f"{type(model).__name__}: transform with labels= needs the directions of the "
            "eigenproblem, and solver='least-squares' has others; use solver='auto' and "
            "penalty='l2', or leave labels out."
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
