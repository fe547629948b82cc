"""The family of maps between PCA and label directions, from moments only.

With ``B`` the ridge regression of labels on vectors, balanced as in MLSI, the map of a given beta b
has as its axes the leading directions of

    (1 - b) X X' + b (|X|^2 / |X B|^2) X B B'X'

so that b = 0 is PCA, and b = 1 keeps only the label directions. In the coordinates of the principal
axes, ``X = Q diag(s)^1/2 U'``, this is an eigenproblem of one small matrix. The axes are sorted:
the first m of them are the result for m dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from .._typing import Array
from ..estimators.mlsi import label_trust
from ..labels.factor import equalizing_weights
from ..solvers import Statistics
from ..solvers.alpha import AlphaCurve, leave_one_out, spectral_cross_validation

__all__ = ["AxisMap", "LabelSpectrum"]

# Eigenvalues below this fraction of the largest are rounding.
_FAINT = 1e-12
# With fewer rows per dimension than this, the mean leverage is a poor estimate of single ones.
_ROWS_PER_AXIS = 1.5
# Number of rows over which leave-one-out errors are averaged.
_ERROR_ROWS = 500


@dataclass(frozen=True)
class AxisMap:
    """Axes in decreasing order of importance."""

    weights: Array  # (r, m), from coordinates to the axes
    values: Array  # eigenvalues
    directions: Array  # (k, m), contribution of known labels, centred, to the embedding of a row


@dataclass(frozen=True)
class LabelSpectrum:
    """Principal axes of all rows, and the labels regressed on them."""

    mean: Array
    axes: Array  # U, (d, r)
    squares: Array  # s, squared lengths along them
    label_mean: Array
    weights: Array  # U'B, (r, k)
    scale: Array  # factor of each label, as in MLSI
    alpha: float
    # Largest weight of the labels that their number and their regression justify, as in MLSI.
    trusted: float

    @classmethod
    def of(
        cls,
        labelled: Statistics,
        unlabelled: Statistics | None,
        alpha: float | None,
        rows: Array,
        labels: Array,
    ) -> LabelSpectrum:
        """Decompose statistics; labels are regressed on labelled rows only.

        If alpha is None, it is chosen, from some of the labelled rows.
        """
        whole = labelled.features() if unlabelled is None else labelled.features().join(unlabelled)
        squares, axes = _spectrum(whole.xx)
        if unlabelled is None:
            own, basis = squares, axes
        else:
            own, basis = _spectrum(labelled.xx)
        cross = basis.T @ labelled.xb
        curve = _ridge_curve(labelled, (own, basis), cross, rows, labels)
        alpha = curve.alpha if alpha is None else alpha
        weights = cross / (own + alpha)[:, None]
        if basis is not axes:
            weights = axes.T @ (basis @ weights)
        trusted = label_trust(curve, labelled.n, labelled.n / whole.n)
        scale = equalizing_weights(labelled.bb / labelled.n)
        return cls(whole.x_mean, axes, squares, labelled.b_mean, weights, scale, alpha, trusted)

    def coordinates(self, rows: Array) -> Array:
        """Return the coordinates of rows along the principal axes, in the dtype of the rows."""
        axes, mean = self.axes.astype(rows.dtype), self.mean.astype(rows.dtype)
        return np.asarray((rows - mean) @ axes)

    def leading(self, count: int) -> LabelSpectrum:
        """Return the restriction to the first principal axes."""
        axes, squares = self.axes[:, :count], self.squares[:count]
        return replace(self, axes=axes, squares=squares, weights=self.weights[:count])

    @property
    def informative(self) -> bool:
        """Whether labels vary along any axis."""
        fitted = float(self.squares @ np.square(self.weights).sum(axis=1))
        return fitted > _FAINT * max(float(np.square(self.weights).sum()), 1e-300)

    def solve(
        self,
        beta: float,
        *,
        count: int | None = None,
        columns: Array | None = None,
        dtype: type = np.float64,
    ) -> AxisMap:
        """Return the axes for a beta: at most ``count``, of some columns of labels."""
        n_labels = self.weights.shape[1]
        scale = self.scale if columns is None else self.scale[columns]
        weights = scale * (self.weights if columns is None else self.weights[:, columns])
        roots = np.sqrt(self.squares)
        images = roots[:, None] * weights  # Q'X B
        square = float(np.square(images).sum())
        share = beta * float(self.squares.sum()) / square if square > 0 else 0.0
        if share == 0.0:  # PCA: the axes are the coordinates
            size = roots.size if count is None else min(count, roots.size)
            none: Array = np.zeros((n_labels, size), dtype)
            return AxisMap(np.eye(roots.size, size, dtype=dtype), self.squares[:size], none)
        small: Array = images.astype(dtype)
        matrix = dtype(share) * (small @ small.T)
        matrix.flat[:: roots.size + 1] += ((1 - beta) * self.squares).astype(dtype)
        values, vectors = _leading(matrix, roots.size if count is None else count)
        kept = values > max(_FAINT, 10 * float(np.finfo(dtype).eps)) * values[0]
        values, vectors = values[kept], vectors[:, kept]
        projected = small.T @ vectors  # labels x axes
        lengths = np.sqrt(values)
        # s^-1/2 v lambda^1/2 without the division by s, which may be rounding.
        found: Array = ((1 - beta) * roots).astype(dtype)[:, None] * vectors
        found += dtype(share) * (weights.astype(dtype) @ projected)
        found /= lengths
        directions = np.zeros((n_labels, values.size), dtype)
        own = share * scale[:, None] * projected / lengths
        directions[slice(None) if columns is None else columns] = own
        return AxisMap(found, values, directions)


def _ridge_curve(
    labelled: Statistics, spectrum: tuple[Array, Array], cross: Array, rows: Array, labels: Array
) -> AlphaCurve:
    """Return the (generalised) cross-validation error of each ridge penalty.

    Only moments are used if there are many more rows than dimensions, otherwise leave-one-out
    errors on some rows.
    """
    squares, axes = spectrum
    if squares.size == 0:
        return AlphaCurve(np.zeros(1), np.zeros(1), 0.0, 0.0)
    kept = squares > _FAINT * squares[0]
    if labelled.n > _ROWS_PER_AXIS * kept.sum():
        return spectral_cross_validation(
            squares[kept], cross[kept], float(labelled.bb.sum()), rows=labelled.n
        )
    rows, labels = rows[:_ERROR_ROWS], labels[:_ERROR_ROWS]
    roots = np.sqrt(squares[kept])
    left = ((rows - labelled.x_mean) @ axes[:, kept]) / roots
    return leave_one_out(
        squares[kept],
        left,
        labels.astype(np.float64),
        rows=labelled.n,
        coordinates=cross[kept] / roots[:, None],
        means=labelled.b_mean,
    )


def _leading(matrix: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a matrix, decreasing, and their vectors."""
    size = matrix.shape[0]
    if count > size // 2:  # computing all of them is faster
        values, vectors = linalg.eigh(matrix, driver="evd", overwrite_a=True, check_finite=False)
    else:
        part = (size - count, size - 1)
        values, vectors = linalg.eigh(
            matrix, subset_by_index=part, overwrite_a=True, check_finite=False
        )
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def _spectrum(gram: Array) -> tuple[Array, Array]:
    """Return the positive eigenvalues of a Gram matrix, decreasing, and their vectors."""
    values, axes = linalg.eigh(gram, driver="evd")
    values, axes = values[::-1], axes[:, ::-1]
    kept = values > 10 * np.finfo(np.float64).eps * gram.shape[0] * max(float(values[0]), 0.0)
    return values[kept], axes[:, kept]
