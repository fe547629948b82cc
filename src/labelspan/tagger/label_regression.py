"""Ridge regression of many labels on features, with leave-one-out scores of the rows.

The regression is solved in terms of the rows: ``(X X' + 11' + alpha I) C = Y`` and ``B = X'C``,
where the ones are a constant feature, whose weights are the intercepts. The score of row i
from the model that was fitted without row i is ``y_i - c_i / g_i``, where ``g_i`` is the diagonal
of the inverse. Small data is factorised. Otherwise the systems are solved by conjugate gradients,
all labels of a block at once, preconditioned by the leading eigenvectors; the diagonal is that of
these eigenvectors plus a diagonal matrix, scaled to the trace of the true one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .._typing import Array
from ..operators import as_operator
from ..operators.row_data import row_squares

__all__ = ["LabelRegression", "WeightPruner"]

# Maximum size of a matrix that is factorised.
_DIRECT = 1500
# Dimensions of the preconditioner: minimum, maximum, and rows and labels per dimension. With
# many labels, fewer steps save more time than its computation takes.
_LEADING, _MOST_LEADING, _ROWS_EACH, _LABELS_EACH = 32, 256, 100, 3
_PASSES = 2
# Number of random sign vectors for the trace of the inverse.
_PROBES = 4
_TOLERANCE = 5e-2
_STEPS = 40
# Converged columns are dropped if fewer than this fraction remain.
_ACTIVE = 0.75
# Entries of an array of labels by rows or features: 128 MiB in float32.
_ENTRIES = 1 << 25
# Maximum number of weights that are all stored; larger models store this fraction for each label.
_WHOLE = 4_000_000
_KEPT, _FEWEST_KEPT = 0.05, 1000


class LabelRegression:
    """Regression of about ``labels`` labels on some rows; solves for any labels of these rows.

    A matrix with a side of at most ``direct`` is factorised.
    """

    def __init__(
        self,
        features: Any,
        alpha: float,
        seed: int = 0,
        direct: int = _DIRECT,
        labels: int = 0,
    ) -> None:
        self._labels = labels
        rows = features if sparse.issparse(features) else np.asarray(features, dtype=np.float32)
        self._X: Any = rows
        self.alpha = alpha
        self._seed = seed
        self._inverse: Array | None = None
        n, d = rows.shape
        self._small_rows = n <= d + 1
        if min(n, d + 1) <= direct:
            gram = self._small_gram()
            gram[np.diag_indices_from(gram)] += alpha
            self._inverse = _inverse(gram)

    def _small_gram(self) -> Array:
        """Compute the products of rows, or those of features with the constant last."""
        X = self._X
        both: Any = X @ X.T if self._small_rows else X.T @ X
        gram = (both.toarray() if sparse.issparse(both) else both).astype(np.float64)
        if self._small_rows:
            return np.asarray(gram + 1.0)
        sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
        return np.block([[gram, sums[:, None]], [sums[None], np.array([[float(X.shape[0])]])]])

    @cached_property
    def _rows(self) -> Any:
        return as_operator(self._X)

    @cached_property
    def _columns(self) -> Any:
        # Stored by rows too: sums for each thread would need more memory.
        return as_operator(self._X.T.tocsr()) if sparse.issparse(self._X) else None

    def predict(self, weights: Array) -> Array:
        """Multiply the rows with weights, whose last row has the intercepts."""
        return np.asarray(self._rows.matmat(weights[:-1]) + weights[-1])

    def weights_of(self, coefficients: Array) -> Array:
        """Return weights of features, followed by intercepts, from coefficients of rows."""
        columns = self._columns
        found = self._X.T @ coefficients if columns is None else columns.matmat(coefficients)
        made = np.empty((found.shape[0] + 1, found.shape[1]), dtype=np.float32)
        made[:-1] = found
        made[-1] = coefficients.sum(axis=0, dtype=np.float64)
        return made

    def _gram(self, block: Array) -> Array:
        columns = self._columns
        found = self._X.T @ block if columns is None else columns.matmat(block)
        product = np.asarray(self._rows.matmat(found))
        product += block.sum(axis=0, dtype=np.float64)
        return product

    def solve(self, targets: Array, start: Array | None = None) -> Array:
        """Return the coefficients of the rows for a few labels.

        ``start`` are approximate coefficients, with which the preconditioner, which is slow to
        compute, is not needed.
        """
        wanted = np.asarray(targets, dtype=np.float32)
        if self._inverse is None:
            return self._iterate(wanted, start)
        if self._small_rows:
            return np.asarray(self._inverse @ wanted, dtype=np.float32)
        weights = self._inverse @ self.weights_of(wanted).astype(np.float64)
        return np.asarray((wanted - self.predict(weights)) / self.alpha, dtype=np.float32)

    def blocks(self, targets: sparse.csr_matrix) -> Iterator[tuple[slice, Array, Array]]:
        """Yield blocks of labels: slice, weights (d + 1, b), and leave-one-out scores (n, b)."""
        columns = targets.tocsc()
        size = max(8, _ENTRIES // max(self._X.shape))
        for first in range(0, targets.shape[1], size):
            own = slice(first, min(first + size, targets.shape[1]))
            wanted = columns[:, own].toarray().astype(np.float32)
            found = self.solve(wanted)
            yield own, self.weights_of(found), wanted - found / self.diagonal[:, None]

    @cached_property
    def diagonal(self) -> Array:
        """Diagonal of ``(X X' + 11' + alpha I)^-1``; estimated for large data."""
        if self._inverse is not None and self._small_rows:
            return np.diag(self._inverse).astype(np.float32)
        if self._inverse is not None:
            wide = self._X.toarray() if sparse.issparse(self._X) else self._X
            wide = np.hstack([wide, np.ones((len(wide), 1))])
            return self._within(
                (1.0 - np.einsum("ij,ij->i", wide @ self._inverse, wide)) / self.alpha
            )
        basis, squares = self._leading
        image = np.square(basis, dtype=np.float64) @ squares
        rest = 1.0 / (np.maximum(self._squares - image, 0.0) + self.alpha)
        core = np.diag(1.0 / squares) + basis.T @ (rest[:, None] * basis)
        inside = np.einsum("ij,ji->i", basis, linalg.solve(core, basis.T, assume_a="pos"))
        found = rest - rest**2 * inside
        signs = np.random.default_rng(self._seed).choice(
            np.array([-1.0, 1.0], np.float32), (found.size, _PROBES)
        )
        trace = float((signs * self._iterate(signs, None)).sum(dtype=np.float64)) / _PROBES
        return self._within(found * (trace / float(found.sum())))

    def _within(self, diagonal: Array) -> Array:
        """Limit the diagonal of the inverse to the possible range for rows of this length."""
        least = 1.0 / (self._squares + self.alpha)
        return np.clip(diagonal, least, 1.0 / self.alpha).astype(np.float32)

    @cached_property
    def _squares(self) -> Array:
        return row_squares(self._X) + 1.0

    @cached_property
    def _leading(self) -> tuple[Array, Array]:
        """Leading eigenvectors of the products of rows, by subspace iteration."""
        n = self._X.shape[0]
        worth = min(n // _ROWS_EACH, self._labels // _LABELS_EACH)
        rank = min(n, _MOST_LEADING, max(_LEADING, worth))
        rng = np.random.default_rng(self._seed)
        basis = rng.standard_normal((n, rank + 8), dtype=np.float32)
        for _ in range(_PASSES):
            basis = linalg.qr(self._gram(basis), mode="economic", check_finite=False)[0]
        image = self._gram(basis)
        values, axes = linalg.eigh((basis.T @ image).astype(np.float64))
        chosen = axes[:, ::-1][:, :rank].astype(np.float32)
        return np.ascontiguousarray(basis @ chosen), np.maximum(values[::-1][:rank], 1e-6)

    def _iterate(self, wanted: Array, start: Array | None) -> Array:
        """Solve by preconditioned conjugate gradients, for all columns side by side."""
        found = np.zeros_like(wanted) if start is None else np.asarray(start, dtype=np.float32)
        answer = found = found.copy()
        rest = wanted.copy()
        if start is not None:
            rest -= self._gram(found) + self.alpha * found
        bound = _TOLERANCE * np.maximum(np.linalg.norm(wanted, axis=0), 1e-30)
        if start is not None:
            # One changed item of many is a small residual, which must be learned as well.
            bound = np.minimum(bound, _TOLERANCE * np.linalg.norm(rest, axis=0))
        basis, shrink = np.zeros((len(wanted), 0), np.float32), np.zeros(0, np.float32)
        if start is None:
            basis, squares = self._leading
            shrink = ((squares[-1] + self.alpha) / (squares + self.alpha) - 1).astype(np.float32)
        active = np.arange(wanted.shape[1])
        direction, product = np.zeros_like(rest), np.ones(active.size, dtype=np.float32)
        for _ in range(_STEPS):
            still = np.linalg.norm(rest, axis=0) > bound
            if not still.any():
                break
            if still.mean() < _ACTIVE:
                answer[:, active] = found
                active, bound, product = active[still], bound[still], product[still]
                found, rest, direction = found[:, still], rest[:, still], direction[:, still]
            steepest = rest + basis @ (shrink[:, None] * (basis.T @ rest))
            newer = np.einsum("ij,ij->j", rest, steepest)
            direction *= newer / np.where(product > 0, product, 1.0)
            direction += steepest
            product = newer
            image = self._gram(direction)
            image += self.alpha * direction
            length = np.einsum("ij,ij->j", direction, image)
            step = product / np.where(length > 0, length, 1.0)
            found += step * direction
            rest -= step * image
        answer[:, active] = found
        return answer


class WeightPruner:
    """Select the weights of each label that matter most for the scores of rows.

    A weight counts by its size times the root mean square of its feature. The mean contribution of
    the others goes into the intercept of the label: otherwise the scores of all texts would be
    shifted, and more labels chosen than with all weights.
    """

    def __init__(self, features: Any, labels: int) -> None:
        width = features.shape[1]
        self._most = width
        if width * labels > _WHOLE:
            self._most = min(width, max(_FEWEST_KEPT, int(_KEPT * width), _WHOLE // labels))
        if self._most < width:
            squares = features.multiply(features) if sparse.issparse(features) else features**2
            self._spread = np.sqrt(np.asarray(squares.mean(axis=0), dtype=np.float64).ravel())
            self._mean = np.asarray(features.mean(axis=0), dtype=np.float64).ravel()

    def __call__(self, weights: Array) -> tuple[sparse.csr_matrix, Array]:
        """Return weights (k, d) and intercepts (k,) of weights (d + 1, k), the last intercepts."""
        own, intercept = np.ascontiguousarray(weights[:-1].T), weights[-1].astype(np.float32)
        k, d = own.shape
        if self._most >= d:
            return sparse.csr_matrix(own), intercept
        matter = np.abs(own) * self._spread.astype(own.dtype)
        columns = np.argpartition(-matter, self._most, axis=1)[:, : self._most]
        columns.sort(axis=1)
        data = np.take_along_axis(own, columns, axis=1)
        starts = np.arange(0, (k + 1) * self._most, self._most)
        kept = sparse.csr_matrix(
            (data.ravel(), columns.ravel().astype(np.int32), starts), shape=(k, d)
        )
        return kept, (intercept + own @ self._mean - kept @ self._mean).astype(np.float32)


def _inverse(matrix: Array) -> Array:
    """Invert a symmetric positive definite matrix, in place."""
    factor, lower = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    half, info = linalg.lapack.dpotri(factor, lower=lower, overwrite_c=True)
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return np.asarray(np.tril(half) + np.tril(half, -1).T)
