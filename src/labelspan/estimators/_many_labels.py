"""Labels that stay sparse or in files, because there are too many to be dense."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Array
from ..labels import Labels
from ..operators import Operator, Product, as_operator
from ..operators.array_backend import host
from ..operators.label_columns import canonical_csr, seen_by
from ..operators.memory import refuse_too_large
from ..solvers import AlphaCurve, Krylov, Problem, Solution
from ..solvers.alpha import held_out
from ..solvers.krylov import krylov_bytes
from ._options import accept, seed_of

__all__ = [
    "choose_penalty_of_many",
    "images_of_many",
    "label_operator",
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
    in_files = isinstance(labels.values, Operator)
    curve = held_out(raw if in_files else X, labels.values, intercept=model.center)
    return curve.alpha, curve


def images_of_many(X: Operator, weights: Array, labels: Operator) -> Array:
    """Return ``W'X'Y``."""
    if labels.one_pass:
        return np.ascontiguousarray(host(X.joint_products(weights, labels)[1]).T)
    return seen_by(X.matmat(X.place(weights)), labels)


def solve_many(model: Any, problem: Problem) -> Solution:
    """Solve a problem whose labels are an operator."""
    X, factor, count = problem.X, problem.factor, problem.n_components
    labels = factor.labels
    if isinstance(labels, Product) and labels.left.one_pass:
        # Combinations of rows in files are taken after the pass over them.
        factor = replace(factor, labels=labels.left, mixing=labels.right.toarray())
        problem = replace(problem, factor=factor)
    k = factor.labels.shape[1] if factor.mixing is None else factor.mixing.shape[-1]
    rows, columns = X.shape
    narrow = "" if X.dtype == np.float32 else "give X in float32, "
    in_memory = 0 if factor.labels.one_pass else rows
    refuse_too_large(
        type(model).__name__,
        krylov_bytes(in_memory, columns, k, count, X.dtype.itemsize, model.max_iter),
        f"a space of {count} components over {rows} rows, {columns} features and {k} labels",
        f"{narrow}lower n_components, or fit on fewer rows",
    )
    solver = Krylov(model.tol, model.max_iter, seed_of(model))
    return accept(model, solver.solve(problem), count)
