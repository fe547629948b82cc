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
from ..solvers import Problem

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
        return super()._problem(self._less_mean(rows), scale, alpha, beta)

    def _less_mean(self, rows: TrainingRows) -> TrainingRows:
        if not self.without_mean:
            return rows
        means = on_host(rows.means)
        return replace(rows, X=Without(rows.X, means[:, None] / np.linalg.norm(means)))

    def _keep_common_labels(self, rows: TrainingRows) -> None:
        super()._keep_common_labels(rows)
        means = on_host(rows.label_means)
        self.label_means_ = rows.to_device(means - common_labels(means))
        length = float(np.sqrt(squared_norm(self, self._less_mean(rows).X)))
        self.eigenvalues_ = self.eigenvalues_ * length**2
        self.components_ = self.components_ * length
        if self.label_directions_ is not None:
            self.label_directions_ = self.label_directions_ * length


# Its messages are those of the adapter.
LabelMap.__name__ = "Adapter"
