"""``n_components="auto"`` of methods with a label factor: the rank chosen from the spectrum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import Mismatch
from ..operators import Operator
from ..operators.array_backend import column_norms, sum_of_squares
from ..solvers import Solution
from ..solvers.rank_choice import choose_rank, degrees_of_freedom

__all__ = ["freedom_of_gram", "keep_chosen_rank", "rank_of_fit"]


def rank_of_fit(
    model: Any, solution: Solution, X: Operator, factor: Array, *, rank: int, alpha: float
) -> Solution:
    """Keep the directions that a fit is worth where ``n_components="auto"``.

    ``rank`` is the number of independent columns of the factor; ``alpha`` is the penalty used.
    """
    if model.n_components != "auto":
        return solution
    if solution.metric is not None:
        raise Mismatch(
            f"{type(model).__name__}: n_components='auto' chooses from eigenvalues, which "
            f"solver={solution.solver!r} does not have; use solver='auto' and penalty='l2', or "
            "give a number."
        )
    return keep_chosen_rank(
        model,
        solution,
        alpha=alpha,
        total=sum_of_squares(factor),
        shape=(X.shape[0] - model.center, rank),
        freedom=degrees_of_freedom(X, alpha),
    )


def keep_chosen_rank(
    model: Any,
    solution: Solution,
    *,
    alpha: float,
    total: float,
    shape: tuple[int, int],
    freedom: float,
) -> Solution:
    """Keep the leading directions with the smallest estimated error; ``shape`` is n and k."""
    if model.n_components != "auto":
        return solution
    kept = 1.0 - alpha * np.square(column_norms(solution.weights))
    found = choose_rank(
        solution.eigenvalues,
        total=total,
        rows=shape[0],
        labels=shape[1],
        freedom=freedom,
        kept=kept,
    )
    return replace(
        solution,
        weights=solution.weights[:, : found.rank],
        eigenvalues=solution.eigenvalues[: found.rank],
        images=None,
    )


def freedom_of_gram(gram: Array, alpha: float, rows: int) -> float:
    """Return the trace of ``X (X'X + alpha I)^+ X'`` from ``X'X``."""
    values = np.maximum(np.linalg.eigvalsh((gram + gram.T) / 2), 0.0)
    alive = values > 1e-12 * values[-1]
    return float(min((values[alive] / (values[alive] + alpha)).sum(), rows))
