"""What is regressed of the labels, and features and fitted labels as one operator."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..labels import Factor
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    add_product,
    concatenate,
    host,
    inner,
    scale_columns,
    sum_of_squares,
)
from ..operators.operator import Composite
from .block_krylov import TruncatedSVD
from .regression import Regressed

__all__ = ["WithLabels", "fitted_square", "level_of", "targets_of"]

# Squares below this have lost digits or are zero, because the numbers are too small.
_UNDERFLOW = 1e-290
# Above this share of the penalty, the difference from it has too few digits.
_CANCELLED = 0.9


class WithLabels(Composite):
    """``[c X, c' X B]``: features, and labels regressed on them with coefficients B.

    ``fitted`` is ``X B``, which is used if it has fewer rows than B; None if the rows of X are
    read in passes.
    """

    def __init__(
        self, X: Operator, fit: Regressed, fitted: Array | None, share: float, level: float
    ) -> None:
        super().__init__((X.shape[0], X.shape[1] + fit.agreement.shape[1]), [X])
        self.base, self.one_pass = X, X.one_pass
        self._fitted = fitted if X.shape[0] < X.shape[1] else None
        dense = fit.slopes.dense
        self._slopes = as_operator(X.place(fit.slopes.formed())) if dense else fit.slopes
        self._share, self._level = share, level

    def combined(self, block: Array) -> Array:
        """Return the coefficients of X for coefficients of both parts."""
        side = self.base.shape[1]
        out: Array = self._share * block[:side]
        out += self._level * self.place(self._slopes.matmat(block[side:]))
        return out

    def _apart(self, back: Array) -> Array:
        along = self.place(self._level * inner(self._slopes.formed(), back))
        return concatenate([self._share * back, along], axis=0)

    def _matmat(self, block: Array) -> Array:
        if self._fitted is None:
            return self.base.matmat(self.combined(block))
        side = self.base.shape[1]
        out = self.base.matmat(self._share * block[:side])
        add_product(out, self._fitted, self._level * block[side:])
        return out

    def _rmatmat(self, block: Array) -> Array:
        back = self.base.rmatmat(block)
        if self._fitted is None:
            return self._apart(back)
        along = self.place(self._level * inner(self._fitted, block))
        return concatenate([self._share * back, along], axis=0)

    def normal(self, block: Array) -> Array:
        if self._fitted is not None:
            return super().normal(block)
        return self._apart(self.base.normal(self.combined(self.place(block))))

    def column_squares(self) -> Array:
        slopes = self._slopes.formed()
        fitted = np.diag(inner(slopes, self.base.normal(slopes)))
        own = self._share**2 * host(self.base.column_squares())
        return np.concatenate([own, self._level**2 * fitted])

    def weights(self, svd: TruncatedSVD) -> Array:
        """Return W with ``X W`` the left singular vectors."""
        return scale_columns(self.combined(svd.right), 1 / np.sqrt(svd.values))


def targets_of(X: Operator, factor: Factor, axes: Array | None = None) -> Array:
    """Return the labels, or combinations of them, as a block next to X."""
    labels = factor.labels
    assert labels is not None
    if axes is None and labels.dense:
        return X.place(labels.formed())
    return X.place(labels.matmat(np.eye(labels.shape[1]) if axes is None else axes))


def level_of(factor: Factor, square: float, fit: Regressed) -> float:
    """Return the scale of fitted labels, from their squared norm."""
    assert factor.regression is not None
    if factor.regression.norm is not None and not square > _UNDERFLOW and fit.agreement.any():
        raise FloatingPointError("the fitted labels are too small compared with the labels")
    return factor.regression.rescale(float(np.sqrt(square)))


def fitted_square(X: Operator, fit: Regressed, alpha: float) -> float:
    """Return the squared norm of the fitted labels, for a solved regression from its equation."""
    if fit.to_come is None and fit.slopes.dense:
        whole, penalty = float(np.trace(fit.agreement)), alpha * fit.slopes.sum_of_squares()
        if penalty < _CANCELLED * whole:
            return whole - penalty
    if X.one_pass:
        slopes = fit.slopes.formed()
        return float(np.trace(inner(slopes, X.normal(slopes))))
    return float(sum_of_squares(fit.fitted(X)))
