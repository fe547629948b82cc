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

__all__ = ["rank_of_fit"]


def rank_of_fit(
    model: Any,
    solution: Solution,
    X: Operator,
    factor: Array,
    *,
    shape: tuple[int, int],
    alpha: float,
) -> Solution:
    """Keep the leading directions with the smallest estimated error where n_components="auto".

    ``shape`` is the number of rows, for which X may stand, and that of independent columns of the
    factor; ``alpha`` is the penalty used.
    """
    if model.n_components != "auto":
        return solution
    if solution.metric is not None:
        raise Mismatch(
            f"{type(model).__name__}: n_components='auto' chooses from eigenvalues, which "
            f"solver={solution.solver!r} does not have; use solver='auto' and penalty='l2', or "
            "give a number."
        )
    kept = 1.0 - alpha * np.square(column_norms(solution.weights))
    found = choose_rank(
        solution.eigenvalues,
        total=sum_of_squares(factor),
        rows=shape[0] - model.center,
        labels=shape[1],
        freedom=degrees_of_freedom(X, alpha),
        kept=kept,
    )
    return replace(
        solution,
        weights=solution.weights[:, : found.rank],
        eigenvalues=solution.eigenvalues[: found.rank],
        images=None,
    )
