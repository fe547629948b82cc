"""Fits whose labels stay sparse or in files, because there are too many to be dense."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .._typing import Array
from ..labels import Labels
from ..labels.factor import equalizing_weights, stack_weights
from ..labels.label_factor import whitening
from ..operators import Operator, Scaled, as_operator
from ..operators.array_backend import like
from ..operators.label_columns import canonical_csr, label_square, seen_by
from ..operators.memory import refuse_too_large
from ..operators.paired_rows import PairedRows, paired
from ..solvers import AlphaCurve, Solution
from ..solvers.alpha import held_out, held_out_in_passes
from ..solvers.many_labels import ManyLabels, krylov_bytes
from ._base import squared_norm
from ._options import accept, dimensions_for, lengths_of, seed_of

__all__ = ["fit_many_labels", "fit_stack", "label_operator", "refuse_large_space"]


def label_operator(labels: Labels, dtype: Any, *, center: bool) -> tuple[Operator, Array]:
    """Return the labels as an operator, centred where asked, and their means."""
    in_files = isinstance(labels.values, Operator)
    operator = as_operator(labels.values if in_files else canonical_csr(labels.values, dtype))
    if not center:
        return operator, np.zeros(operator.shape[1])
    return operator.centered()


def refuse_large_space(
    model: Any, X: Operator, labels: int, count: int, blocks: int, *, in_files: bool = False
) -> None:
    """Raise an error before a fit whose Krylov space would not fit into memory."""
    narrow = "" if X.dtype == np.float32 else "give X in float32, "
    rows, columns = X.shape
    # What is kept of a block of the space has a row per feature and label, or a row per row of X.
    long = columns + labels if in_files else rows
    refuse_too_large(
        type(model).__name__,
        krylov_bytes(long, columns, labels, count, X.dtype.itemsize, blocks),
        f"a space of {count} components over {X.shape[0]} rows, {X.shape[1]} features and "
        f"{labels} labels",
        f"{narrow}lower n_components, or fit on fewer rows",
    )


def _solved(
    model: Any, X: Operator, factor: Operator | PairedRows, count: int, solver: ManyLabels
) -> Solution:
    in_files = isinstance(factor, PairedRows)
    labels = factor.width if isinstance(factor, PairedRows) else factor.shape[1]
    refuse_large_space(model, X, labels, count, solver.max_iter, in_files=in_files)
    return accept(model, solver.solve(X, factor, count), count)


def _solver(
    model: Any, alpha: float, share: float | None = None, norm: float | None = None
) -> ManyLabels:
    options = {} if model.max_iter is None else {"max_iter": model.max_iter}
    return ManyLabels(alpha, share, norm, model.tol, seed=seed_of(model), **options)


def _penalty(
    model: Any, X: Operator, labels: Labels, raw: Operator | None = None
) -> tuple[float, AlphaCurve | None]:
    """Return alpha as a number, and the curve that it was chosen from where it is "auto".

    ``raw`` is X before it was centred, for labels in files.
    """
    if model.alpha != "auto":
        return float(model.alpha), None
    rows = None if raw is None else paired(raw, labels.values)
    if rows is not None:
        curve = held_out_in_passes(rows, intercept=model.center)
        return curve.alpha, curve
    curve = held_out(X, labels.values, intercept=model.center)
    return curve.alpha, curve


def fit_many_labels(model: Any, ready: Any, most: int) -> None:
    """Fit a method with a label factor; ``ready`` has the factor as an operator."""
    rows, factor = ready.rows, ready.factor  # X, H
    values, label_means = label_operator(ready.labels, rows.dtype, center=model.center)  # Y
    k = values.shape[1]
    asked = isinstance(model.n_components, numbers.Integral)
    count = most if asked else min(most, dimensions_for(k, rows.shape[0]))
    alpha, curve = _penalty(model, rows, ready.labels, ready.features.operator)
    both = paired(rows, factor)
    # CCA's labels are whitened, and its label side needs Y'Y, whose size it has checked.
    square = values.gram() if type(model).__name__ == "CCA" else None
    if both is not None and square is not None:
        both = PairedRows(rows, values, mix=whitening(square))
    solution = _solved(model, rows, factor if both is None else both, count, _solver(model, alpha))
    if both is None:
        images = seen_by(rows.matmat(rows.place(solution.weights)), values)  # W'X'Y
    elif both.changed:
        # The factor is not the labels: one more pass finds W'X'Y.
        images = PairedRows(rows, values).both(solution.weights)[1].T
    else:
        assert solution.images is not None
        images = solution.images
        if both.mix is not None and square is not None:
            images = images @ (both.mix.T @ square)  # from W'X'Y T
    roots = lengths_of(model, solution)
    weights = solution.weights * like(roots, solution.weights)
    signs = model._publish(ready.features, weights, ready.means, solution.eigenvalues, solution)
    model._publish_labels(
        ready.features,
        ready.labels,
        (signs / roots)[:, None] * images,
        label_means,
        square,
    )
    model.alpha_, model.alpha_curve_ = alpha, curve


def fit_stack(
    model: Any, features: Any, centered: tuple[Operator, Array], labels: Labels, beta: float
) -> None:
    """Fit MLSI; ``centered`` is X and its means."""
    X, means = centered
    values, label_means = label_operator(labels, X.dtype, center=model.center)  # Y
    count = model._components(X.shape, values.shape[1], beta)
    alpha, curve = _penalty(model, X, labels, features.operator)
    weights_of_labels = np.ones(values.shape[1])
    square = label_square(values)
    if model.label_weight == "balanced":
        squares = values.column_squares()
        weights_of_labels = equalizing_weights(squares / values.shape[0])
        square = float(squares @ np.square(weights_of_labels))
    stack = stack_weights(
        x_square=squared_norm(model, X),
        y_square=square,
        beta=beta,
        alpha=alpha,
        form="ridge",
        balance="fitted",
    )
    scale = stack.scale * weights_of_labels
    scaled: Operator | PairedRows | None = paired(X, values, scale)
    if scaled is None:
        scaled = Scaled(values, columns=scale)
    assert stack.regression is not None
    solver = _solver(model, alpha, stack.share, stack.regression.norm)
    solution = _solved(model, X, scaled, count, solver)
    signs = model._publish_space(features, solution, means, scale)
    images = model._fitted_images(solution, scale)
    model._publish_labels(features, labels, model._loadings(signs, images), label_means)
    model.alpha_, model.alpha_curve_, model.beta_ = alpha, curve, beta
