"""Ridge regression of many labels on features, with the scores that rows have when left out.

The regression is solved in terms of the rows: ``(X X' + alpha I) C = Y`` and ``B = X'C``. The
score of row i from the model that was fitted without row i is ``y_i - c_i / g_i``, where ``g_i``
is the diagonal of ``(X X' + alpha I)^-1``. Small data is factorised. Otherwise the systems are
solved by conjugate gradients, all labels of a block at once, preconditioned by the leading
singular vectors of X, and the diagonal is estimated from random signs (Hutchinson).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd, row_norms, safe_sparse_dot

from .._typing import Array
from ..operators import Operator, as_operator
from ..solvers.leave_one_out import choose_alpha

__all__ = ["LabelRidge", "WeightPruner", "penalty", "with_constant"]

# The side of a matrix that is factorised.
_DIRECT = 4000
# Dimensions of the preconditioner, random vectors for the diagonal of the inverse.
_LEADING = 60
_PROBES = 64
_TOLERANCE = 3e-3
_STEPS = 40
# Entries of an array of labels by rows or features: 64 MiB in float32.
_ENTRIES = 1 << 24
# The labels from which the penalty is chosen.
_LABELS_FOR_PENALTY = 500


def with_constant(features: Any) -> Any:
    """Append a column of ones, whose weight is the intercept; float32, sparse rows as CSR."""
    if sparse.issparse(features):
        ones = sparse.csr_matrix(np.ones((features.shape[0], 1), dtype=np.float32))
        return sparse.hstack([features.astype(np.float32), ones], format="csr")
    rows = np.asarray(features, dtype=np.float32)
    return np.hstack([rows, np.ones((len(rows), 1), dtype=np.float32)])


def penalty(features: Any, labels: sparse.csr_matrix) -> float:
    """Choose alpha by the leave-one-out error, from the most frequent labels."""
    counts = np.asarray(labels.sum(axis=0)).ravel()
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_LABELS_FOR_PENALTY])
    wanted = labels[:, frequent].toarray().astype(np.float64)
    found = choose_alpha(as_operator(features), wanted, intercept=False).alpha
    # Rows of texts have length 1, and that of the constant is 1: stay where LOO can be trusted.
    scale = float(row_norms(features, squared=True).mean()) / 2
    return float(np.clip(found, 0.05 * scale, 20 * scale))


class LabelRidge:
    """Regression of labels on some rows with a penalty; solves for any labels of these rows.

    Parameters
    ----------
    features : array or CSR matrix of shape (n, d)
        With the constant column.
    alpha : float
        The penalty, positive.
    seed : int, default=0
        Of the random vectors, where the data is large.
    direct : int, default=4000
        The largest side of a matrix that is factorised.
    """

    def __init__(self, features: Any, alpha: float, seed: int = 0, direct: int = _DIRECT) -> None:
        self._X = features
        self._products = _Products(features)
        self.alpha = alpha
        n, d = features.shape
        self._seed = seed
        self._small_rows = n <= d
        self._inverse: Array | None = None
        if min(n, d) <= direct:
            side = features if self._small_rows else features.T
            gram = safe_sparse_dot(side, side.T, dense_output=True)
            gram = np.asarray(gram, dtype=np.float64)
            gram[np.diag_indices_from(gram)] += alpha
            self._inverse = _inverse(gram)

    def solve(self, labels: sparse.csr_matrix) -> Array:
        """Return the coefficients of the rows, ``(X X' + alpha I)^-1 Y``, for a few labels."""
        wanted = labels.toarray() if sparse.issparse(labels) else np.asarray(labels)
        if self._inverse is None:
            return self._iterate(wanted.astype(np.float32))
        if self._small_rows:
            return np.asarray(self._inverse @ wanted, dtype=np.float32)
        weights = self._inverse @ safe_sparse_dot(self._X.T, wanted, dense_output=True)
        fit = safe_sparse_dot(self._X, weights, dense_output=True)
        return np.asarray((wanted - fit) / self.alpha, dtype=np.float32)

    def blocks(self, labels: sparse.csr_matrix) -> Iterator[tuple[slice, Array, Array]]:
        """Yield blocks of labels: which, their weights (d, b), and left-out scores (n, b)."""
        for own, wanted, found in self._coefficients(labels):
            yield own, self._products.rmatmat(found), wanted - found / self.diagonal[:, None]

    def weights(self, labels: Any) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of labels: which, and their weights (d, b)."""
        for own, _, found in self._coefficients(labels):
            yield own, self._products.rmatmat(found)

    def _coefficients(self, labels: Any) -> Iterator[tuple[slice, Array, Array]]:
        columns = labels.tocsc()
        size = max(8, _ENTRIES // max(self._X.shape))
        for start in range(0, labels.shape[1], size):
            own = slice(start, min(start + size, labels.shape[1]))
            wanted = columns[:, own].toarray().astype(np.float32)
            yield own, wanted, self.solve(wanted)

    @cached_property
    def diagonal(self) -> Array:
        """Diagonal of ``(X X' + alpha I)^-1``; estimated where the data is large."""
        if self._inverse is None:
            rng = np.random.default_rng(self._seed)
            signs = rng.choice(np.array([-1.0, 1.0], np.float32), (self._X.shape[0], _PROBES))
            return self._within((signs * self._iterate(signs)).mean(axis=1))
        if self._small_rows:
            return np.diag(self._inverse).astype(np.float32)
        image = safe_sparse_dot(self._X, self._inverse, dense_output=True)
        wide = self._X.toarray() if sparse.issparse(self._X) else self._X
        leverage = np.einsum("ij,ij->i", image, wide)
        return self._within((1.0 - leverage) / self.alpha)

    def _within(self, diagonal: Array) -> Array:
        """Limit the diagonal of the inverse to what a row of its length can have."""
        least = 1.0 / (row_norms(self._X, squared=True) + self.alpha)
        return np.clip(diagonal, least, 1.0 / self.alpha).astype(np.float32)

    @cached_property
    def _leading(self) -> tuple[Array, Array]:
        rank = min(_LEADING, min(self._X.shape) - 1)
        basis, s, _ = randomized_svd(self._X, rank, n_iter=2, random_state=self._seed)
        squares = np.square(s.astype(np.float64))
        shrink = (squares[-1] + self.alpha) / (squares + self.alpha) - 1.0
        return np.ascontiguousarray(basis, np.float32), shrink.astype(np.float32)

    def _precondition(self, rest: Array) -> Array:
        basis, shrink = self._leading
        return np.asarray(rest + basis @ (shrink[:, None] * (basis.T @ rest)))

    def _iterate(self, wanted: Array) -> Array:
        """Solve by preconditioned conjugate gradients, one for each column, side by side."""
        found = np.zeros_like(wanted)
        rest = wanted.copy()
        bound = _TOLERANCE * np.maximum(np.linalg.norm(wanted, axis=0), 1e-30)
        steepest = self._precondition(rest)
        direction = steepest.copy()
        product = np.einsum("ij,ij->j", rest, steepest)
        for _ in range(_STEPS):
            image = self._products.matmat(self._products.rmatmat(direction))
            image += self.alpha * direction
            length = np.einsum("ij,ij->j", direction, image)
            step = (product / np.where(length > 0, length, 1.0)).astype(np.float32)
            found += step * direction
            rest -= step * image
            if (np.linalg.norm(rest, axis=0) <= bound).all():
                break
            steepest = self._precondition(rest)
            newer = np.einsum("ij,ij->j", rest, steepest)
            direction *= (newer / np.where(product > 0, product, 1.0)).astype(np.float32)
            direction += steepest
            product = newer
        return found


class _Products:
    """Products of features and their transpose with blocks of labels, on all threads.

    Sparse features are kept as rows and as columns: sums of a block for each thread would take
    more memory than these, for hundreds of labels.
    """

    def __init__(self, features: Any) -> None:
        self._X = features

    @cached_property
    def _rows(self) -> Operator:
        return as_operator(self._X)

    @cached_property
    def _columns(self) -> Operator:
        return as_operator(self._X.T.tocsr())

    def matmat(self, block: Array) -> Array:
        """Return ``X @ block``."""
        return self._rows.matmat(block) if sparse.issparse(self._X) else self._X @ block

    def rmatmat(self, block: Array) -> Array:
        """Return ``X.T @ block``."""
        return self._columns.matmat(block) if sparse.issparse(self._X) else self._X.T @ block


class WeightPruner:
    """Keeps of each label the weights that matter most for the scores of some rows.

    A weight counts by its size times the root mean square of its feature. What the others add to
    the mean score of a label goes into its intercept: without it the scores of all texts would be
    shifted, and more labels chosen than with all weights.

    Parameters
    ----------
    features : array or CSR matrix of shape (n, d)
    most : int
        Number of weights to keep of each label.
    """

    def __init__(self, features: Any, most: int) -> None:
        self._most = most
        if most < features.shape[1]:
            squares = features.multiply(features) if sparse.issparse(features) else features**2
            self._spread = np.sqrt(np.asarray(squares.mean(axis=0), dtype=np.float64).ravel())
            self._mean = np.asarray(features.mean(axis=0), dtype=np.float64).ravel()

    def __call__(self, weights: Array) -> tuple[sparse.csc_matrix, Array]:
        """Return weights (d, k) of which few are left, and intercepts (k,).

        ``weights`` has d + 1 rows, the last with the intercepts.
        """
        own, intercept = weights[:-1], weights[-1].astype(np.float32)
        d, k = own.shape
        if self._most >= d:
            return sparse.csc_matrix(own.astype(np.float32)), intercept
        matter = np.abs(own) * self._spread.astype(own.dtype)[:, None]
        rows = np.argpartition(-matter, self._most, axis=0)[: self._most]
        rows.sort(axis=0)
        data = np.take_along_axis(own, rows, axis=0)
        places = np.arange(0, (k + 1) * self._most, self._most)
        kept = sparse.csc_matrix(
            (data.T.ravel().astype(np.float32), rows.T.ravel(), places), shape=(d, k)
        )
        return kept, (intercept + self._mean @ own - kept.T @ self._mean).astype(np.float32)


def _inverse(matrix: Array) -> Array:
    """Invert a symmetric positive definite matrix, in place."""
    factor, lower = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    half, info = linalg.lapack.dpotri(factor, lower=lower, overwrite_c=True)
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return np.asarray(np.tril(half) + np.tril(half, -1).T)
