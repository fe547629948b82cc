"""The map of an adapter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Array
from ..estimators.mlsi import MLSI, common_labels
from ..estimators.training import TrainingRows, squared_norm
from ..labels import Labels
from ..operators import Operator
from ..operators.array_backend import host, on_host
from ..operators.operator import Composite
from ..solvers import Problem, Solution

__all__ = ["LabelMap", "WithoutDirection"]


class WithoutDirection(Composite):
    """``X - X u u'``: rows without their part along a direction u of unit length."""

    def __init__(self, base: Operator, direction: Array) -> None:
        super().__init__(base.shape, [base])
        self.base, self.direction = base, direction
        self.one_pass = base.one_pass
        self._column = base.place(direction[:, None])

    def _rest(self, block: Array) -> Array:
        rest: Array = block - self._column @ (self._column.T @ block)
        return rest

    def _matmat(self, block: Array) -> Array:
        return self.base.matmat(self._rest(block))

    def _rmatmat(self, block: Array) -> Array:
        return self._rest(self.base.rmatmat(block))

    def normal(self, block: Array) -> Array:
        return self._rest(self.base.normal(self._rest(self.place(block))))

    def _rest_of_products(self, products: Array) -> Array:
        return products - np.outer(self.direction, self.direction @ products)

    def gram(self) -> Array:
        return self._rest_of_products(self._rest_of_products(self.base.gram()).T)

    def cross(self, block: Array) -> Array:
        return self._rest_of_products(self.base.cross(block))

    def moments(self, block: Array) -> tuple[Array, Array]:
        gram, products = self.base.moments(block)
        return (
            self._rest_of_products(self._rest_of_products(gram).T),
            self._rest_of_products(products),
        )

    def column_means(self) -> Array:
        means: Array = self._rest_of_products(self.base.column_means()[:, None])[:, 0]
        return means

    def sum_of_squares(self) -> float:
        along = host(self.base.matmat(self._column)).astype(np.float64)
        return max(0.0, self.base.sum_of_squares() - float(np.square(along).sum()))

    def column_squares(self) -> Array:
        along = self.base.matmat(self._column)
        length = float(np.square(host(along).astype(np.float64)).sum())
        product = self.base.cross(along)[:, 0]
        change = self.direction * (length * self.direction - 2 * product)
        squares: Array = np.maximum(self.base.column_squares() + change, 0.0)
        return squares

    def column_counts(self) -> Array:
        return self.base.column_counts()

    def rows(self, index: Array) -> Operator:
        return WithoutDirection(self.base.rows(index), self.direction)

    def wide_rows(self, part: slice) -> Array:
        rows = self.base.wide_rows(part)
        return rows - np.outer(rows @ self.direction, self.direction)


class LabelMap(MLSI):
    """An MLSI of labels that were read, with at most ``most`` axes, in the units of the vectors.

    With ``without_mean`` its axes are orthogonal to the mean of the rows.
    """

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
            rows = replace(rows, X=WithoutDirection(rows.X, means / np.linalg.norm(means)))
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
