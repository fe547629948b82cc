"""The map of an adapter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from ..estimators.mlsi import MLSI, common_labels
from ..estimators.training import TrainingRows, squared_norm
from ..labels import Labels
from ..operators.array_backend import on_host
from ..operators.compositions import Without
from ..solvers import Problem, Solution

__all__ = ["LabelMap"]


class LabelMap(MLSI):
    """An MLSI of labels that were read, with at most ``most`` axes, in the units of the vectors.

    With ``without_mean`` its axes are orthogonal to the mean of the rows.
    """

    _one_unit: ClassVar[bool] = True

    def __init__(
        self,
        most: int,
        *,
        alpha: float,
        beta: float,
        solver: str = "exact",
        without_mean: bool = False,
    ) -> None:
        super().__init__(alpha=alpha, beta=beta, solver=solver)
        self.most = most
        self.without_mean = without_mean

    def _count(self, most: int, reason: str, default: int) -> int:
        return min(self.most, most)

    def _read_labels(self, y: Labels, n_rows: int, **options: Any) -> Labels:
        return y

    def _has_thresholds(self, rows: TrainingRows) -> bool:
        return False

    def _problem(self, rows: TrainingRows, scale: Array, alpha: float, beta: float) -> Problem:
        if self.without_mean:
            means = on_host(rows.means)
            rows = replace(rows, X=Without(rows.X, means[:, None] / np.linalg.norm(means)))
        return super()._problem(rows, scale, alpha, beta)

    def _publish_solved(self, stated: Any, solution: Solution) -> Array:
        signs = super()._publish_solved(stated, solution)
        means = on_host(stated.rows.label_means)
        self.label_means_ = stated.rows.place(means - common_labels(means))
        length = float(np.sqrt(squared_norm(self, stated.problem.X)))
        self.eigenvalues_ = self.eigenvalues_ * length**2
        self.components_ = self.components_ * length
        if self.label_directions_ is not None:
            self.label_directions_ = self.label_directions_ * length
        return signs


# Its messages are those of the adapter.
LabelMap.__name__ = "Adapter"
