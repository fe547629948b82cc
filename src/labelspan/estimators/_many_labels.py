"""Labels that stay sparse or in files, because there are too many to be dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..labels import Labels
from ..operators import Operator, Product, Scaled, as_operator
from ..operators.label_columns import canonical_csr, seen_by
from ..operators.memory import refuse_too_large
from ..operators.paired_rows import PairedRows, paired
from ..operators.row_blocks import RowBlocks
from ..solvers import AlphaCurve, Problem, Solution
from ..solvers.alpha import held_out, held_out_in_passes
from ..solvers.many_labels import ManyLabels, krylov_bytes
from ._options import accept, seed_of

__all__ = [
    "choose_penalty_of_many",
    "images_of_many",
    "label_operator",
    "scaled_labels",
    "solve_many",
]


def label_operator(labels: Labels, dtype: Any, *, center: bool) -> tuple[Operator, Array]:
    """Return the labels as an operator, centred where asked, and their means."""
    in_files = isinstance(labels.values, Operator)
    operator = as_operator(labels.values if in_files else canonical_csr(labels.values, dtype))
    if not center:
        return operator, np.zeros(operator.shape[1])
    return operator.centered()


def choose_penalty_of_many(
    model: Any, X: Operator, labels: Labels, raw: Operator
) -> tuple[float, AlphaCurve | None]:
    """Return alpha as a number, and the curve that it was chosen from where it is "auto".

    ``raw`` is X before it was centred, for labels in files.
    """
    if model.alpha != "auto":
        return float(model.alpha), None
    rows = paired(raw, labels.values)
    if rows is not None:
        curve = held_out_in_passes(rows, intercept=model.center)
    else:
        curve = held_out(X, labels.values, intercept=model.center)
    return curve.alpha, curve


def scaled_labels(X: Operator, labels: Operator, scale: Array) -> Any:
    """Return the labels, each times a number, as :func:`solve_many` takes them."""
    return paired(X, labels, scale) or Scaled(labels, columns=scale)


def images_of_many(X: Operator, weights: Array, labels: Operator) -> Array:
    """Return ``W'X'Y``."""
    pair = paired(X, labels)
    if pair is not None:
        return np.asarray(pair.both(weights)[1].T)
    return seen_by(X.matmat(X.place(weights)), labels)


def _paired(X: Operator, labels: Any) -> Operator | PairedRows:
    """Pair rows in files with those of X, also where a small matrix combines the labels."""
    if isinstance(labels, Product) and isinstance(labels.left, RowBlocks):
        return PairedRows(X, labels.left, mix=labels.right.toarray())
    return labels if isinstance(labels, PairedRows) else paired(X, labels) or labels


def solve_many(model: Any, problem: Problem) -> Solution:
    """Solve a problem whose labels are an operator."""
    X, factor, count = problem.X, problem.factor, problem.n_components
    labels: Any = _paired(X, factor.labels)
    options = {"tol": model.tol, "seed": seed_of(model)}
    if model.max_iter is not None:
        options["max_iter"] = model.max_iter
    if factor.regression is None:
        solver = ManyLabels(problem.metric_alpha, **options)
    else:
        alpha, norm = factor.regression.alpha, factor.regression.norm
        solver = ManyLabels(alpha, factor.share, norm, **options)
    in_files = isinstance(labels, PairedRows)
    k = labels.width if in_files else labels.shape[1]
    rows, columns = X.shape
    narrow = "" if X.dtype == np.float32 else "give X in float32, "
    # What is kept of a block of the space has a row per feature and label, or a row per row of X.
    long = columns + k if in_files else rows
    refuse_too_large(
        type(model).__name__,
        krylov_bytes(long, columns, k, count, X.dtype.itemsize, solver.max_iter),
        f"a space of {count} components over {rows} rows, {columns} features and {k} labels",
        f"{narrow}lower n_components, or fit on fewer rows",
    )
    return accept(model, solver.solve(X, labels, count), count)
