"""Regression of any number of labels on features, with exact leave-one-out scores.

Rows x have coordinates ``z = V'x`` along a few leading directions V, orthonormal, and a remainder.
A ridge regression on the coordinates and a constant explains the labels: ``B = (Z'Z + a I)^-1 Z'Y``
with residuals ``E = Y - Z B``. What it leaves is explained by the similarity of the remainders,
``k(x, x') = x'x' - z'z'``. The two terms of the score of a row are

    z B    and    k(x, X) E

One decomposition, of a matrix of the size of the directions, serves all labels; labels are sparse
and stay so. The score of a row by the model without this row has a closed form, because removing a
row changes B by a multiple of one vector, and E with it. It is exact for given directions, which do
not depend on the labels.

The penalty and the weight of the second term are chosen by these scores. With more directions tags
become those of a ridge regression on all features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from .._typing import Array
from ..operators.row_data import row_squares

__all__ = [
    "Directions",
    "LabelRegression",
    "LabelledRows",
    "RowView",
    "add_sparse",
    "select_columns",
]

# Number of rows for which similarities to all labelled rows are cheaper than sums over these.
_FEW_ROWS = 64


class Directions(NamedTuple):
    """Orthonormal directions: some features, increasing, and the components of these (c, r)."""

    columns: Array
    axes: Array

    def coordinates(self, features: Any) -> Array:
        """Return the coordinates (n, r) of rows along the directions."""
        axes = self.axes
        if sparse.issparse(features):
            place = np.full(features.shape[1], -1, dtype=np.int32)
            place[self.columns] = np.arange(self.columns.size)
            features = select_columns(features, place)
            if features.nnz < features.shape[1]:
                # Few features: the directions are stored in a file.
                used, own = np.unique(features.indices, return_inverse=True)
                shape = (features.shape[0], used.size)
                features = sparse.csr_matrix((features.data, own, features.indptr), shape)
                axes = axes[used]
        elif self.columns.size < features.shape[1]:
            features = features[:, self.columns]
        return np.asarray(features @ axes.astype(np.float32), dtype=np.float32)

    def features(self, weights: Array, d: int) -> Array:
        """Return the weights of d features from those of the coordinates."""
        found = np.zeros(d)
        found[self.columns] = self.axes.astype(np.float32) @ weights
        return found


def select_columns(features: Any, place: Array) -> sparse.csr_matrix:
    """Select columns of sparse rows by their new numbers, -1 for those that are left out."""
    rows = sparse.csr_matrix(features)
    columns = place[rows.indices]
    inside = columns >= 0
    starts = np.concatenate([[0], np.cumsum(inside)])[rows.indptr]
    shape = (rows.shape[0], int(place.max(initial=-1)) + 1)
    return sparse.csr_matrix((rows.data[inside], columns[inside], starts), shape=shape)


@dataclass(frozen=True)
class LabelledRows:
    """Features (n, d) and labels (n, k), 0 and 1, of rows, and directions of features."""

    features: Any
    labels: sparse.csr_matrix
    directions: Directions

    def coordinates(self, features: Any) -> Array:
        """Return the coordinates of some rows along the directions, and a constant."""
        found = self.directions.coordinates(features)
        return np.hstack([found, np.ones((len(found), 1), dtype=np.float32)])

    @cached_property
    def own(self) -> Array:
        """Coordinates of the rows."""
        return self.coordinates(self.features)

    @cached_property
    def gram(self) -> Array:
        """Products of the coordinates."""
        return np.asarray(self.own.T @ self.own, dtype=np.float64)

    @cached_property
    def cross(self) -> Array:
        """Products of the coordinates with the labels."""
        return np.asarray(self.labels.T @ self.own, dtype=np.float32).T

    @cached_property
    def support(self) -> Array:
        """Number of rows of each label."""
        return np.bincount(self.labels.indices, minlength=self.labels.shape[1])

    @cached_property
    def remainders(self) -> Array:
        """Squared lengths of the remainders."""
        return np.asarray(row_squares(self.features) - row_squares(self.own[:, :-1]))

    @cached_property
    def _turned(self) -> Any:
        return self.features.T.tocsr() if sparse.issparse(self.features) else self.features.T

    @cached_property
    def _label_sums(self) -> Any:
        return self._turned @ self.labels

    @cached_property
    def _coordinate_sums(self) -> Array:
        return np.asarray(self._turned @ self.own, dtype=np.float32)

    def view(self, features: Any, own: Array | None = None) -> RowView:
        """Compute what is needed to score some rows; ``own`` as in `RowView`."""
        if features.shape[0] <= _FEW_ROWS:
            near = features @ self._turned
            label_sums, sums = near @ self.labels, near @ self.own
        else:
            label_sums = features @ self._label_sums
            sums = features @ self._coordinate_sums
        sums = np.asarray(sums, dtype=np.float32)
        inside = own is not None and bool((own >= 0).all())
        coordinates = self.own[own] if inside else self.coordinates(features)
        return RowView(coordinates, sums, label_sums, own)


class RowView(NamedTuple):
    """Rows to be scored: coordinates, and sums over the labelled rows by the products with them.

    ``sums`` are those of the coordinates, ``label_sums`` those of the labels. ``own`` are the
    numbers of the rows among the labelled rows, -1 for others; None if none is.
    """

    coordinates: Array
    sums: Array
    label_sums: Any
    own: Array | None


class LabelRegression:
    """Regression of the labels of rows with the penalty ``alpha``.

    A score has two terms, which the caller adds: that of the leading directions, and that of the
    remainders. For rows that are among the labelled ones they are by the model without the row.
    """

    def __init__(self, rows: LabelledRows, alpha: float) -> None:
        self.rows, self.alpha = rows, alpha

    @cached_property
    def _inverse(self) -> Array:
        gram = self.rows.gram
        factor = linalg.cho_factor(gram + self.alpha * np.eye(len(gram)))
        return np.asarray(linalg.cho_solve(factor, np.eye(len(gram))))

    @cached_property
    def _weights(self) -> Array:
        """Weights of the coordinates (r + 1, k)."""
        return np.asarray(self._inverse @ self.rows.cross, dtype=np.float32)

    def terms(self, view: RowView) -> tuple[Array, Array]:
        """Compute both terms of the scores of every label for some rows."""
        factors = self._factors(view)
        lead, rest = (one.weights @ self._weights for one in factors)
        if sparse.issparse(view.label_sums):
            add_sparse(rest, view.label_sums)
        else:
            rest += view.label_sums
        if view.own is not None:
            labels = _labels_of(self.rows.labels, view.own)
            for found, one in zip((lead, rest), factors, strict=True):
                add_sparse(found, sparse.diags_array(-one.truth) @ labels)
        return lead, rest

    def _factors(self, view: RowView) -> tuple[_Factors, _Factors]:
        """Return the factors of both terms of the scores."""
        coordinates = view.coordinates
        lead = _Factors(coordinates.copy(), np.zeros(len(coordinates), dtype=np.float32))
        rest = _Factors(-view.sums, lead.truth.copy())
        rest.weights[:, :-1] -= self.alpha * coordinates[:, :-1]
        if view.own is not None:
            known = np.flatnonzero(view.own >= 0)
            own, rows = coordinates[known], self.rows
            image = own @ self._inverse.astype(np.float32)
            left = 1 - np.einsum("ij,ij->i", image, own)
            outside = view.sums[known] - own[:, :-1] @ rows.gram[:-1].astype(np.float32)
            shared = np.einsum("ij,ij->i", outside, image)
            more = (rows.remainders[view.own[known]] - shared) / left
            lead.weights[known] /= left[:, None]
            lead.truth[known] = (1 - left) / left
            rest.weights[known] += own * more[:, None]
            rest.truth[known] = more
        return lead, rest

    def feature_weights(self, column: int, without: int = -1) -> tuple[Array, Array, float]:
        """Return the weights of features (d,) for both terms of a label, and the intercept.

        ``without`` is the number of a labelled row; the weights are those of the model without it.
        """
        rows = self.rows
        labels = rows.labels[:, [column]].toarray().ravel().astype(np.float64)
        weights = self._inverse @ (rows.own.T @ labels)
        if without >= 0:
            one = rows.own[without].astype(np.float64)
            image = self._inverse @ one
            weights -= image * (labels[without] - one @ weights) / (1 - one @ image)
        residuals = labels - rows.own @ weights
        if without >= 0:
            residuals[without] = 0.0
        lead = rows.directions.features(weights[:-1], rows.features.shape[1])
        # The penalty balances the residuals along the directions.
        rest = np.asarray(residuals @ rows.features).ravel() - self.alpha * lead
        return lead, rest, float(weights[-1])


class _Factors(NamedTuple):
    """A term of the scores: its factors for coordinates and, negated, for labels."""

    weights: Array
    truth: Array


def _labels_of(labels: sparse.csr_matrix, own: Array) -> sparse.csr_matrix:
    """Return the labels of rows by their numbers; none for -1."""
    known = np.flatnonzero(own >= 0)
    ones = np.ones(known.size, dtype=np.float32)
    shape = (own.size, labels.shape[0])
    return sparse.csr_matrix(sparse.csr_matrix((ones, (known, own[known])), shape) @ labels)


def add_sparse(found: Array, matrix: Any, factor: float = 1.0) -> None:
    """Add a multiple of a sparse matrix to an array, in place."""
    matrix = sparse.csr_matrix(matrix)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    # Products of sparse matrices have no entry twice.
    found[rows, matrix.indices] += factor * matrix.data
