"""Regression of any number of labels on features, with exact leave-one-out scores.

Rows x have coordinates ``z = V'x`` along a few leading directions V, orthonormal, and a remainder.
A ridge regression on the coordinates and a constant explains the labels: ``B = (Z'Z + a I)^-1 Z'Y``
with residuals ``E = Y - Z B``. What it leaves is explained by the similarity of the remainders,
``k(x, x') = x'W(I - VV')x'``. The two terms of the score of a row are

    z B    and    k(x, X) E

W is the identity, or scales each feature by its length, the root of the sum of its squares over the
labelled rows: what a rare feature says then counts as much as what a frequent one says. Only the
rows that are asked about are multiplied by it, so that it costs nothing for the labelled ones.

One decomposition, of a matrix of the size of the directions, serves all labels; labels are sparse
and stay so. The score of a row by the model without this row has a closed form, because removing a
row changes B by a multiple of one vector, and E with it. It is exact for given directions, which do
not depend on the labels.

The penalty and the weight of the second term are chosen by these scores. With more directions tags
become those of a ridge regression on all features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from .._typing import Array
from ..errors import InvalidFile
from ..operators import Operator, as_operator
from ..operators.joined import JoinedRows

__all__ = [
    "Directions",
    "FeatureRows",
    "LabelRegression",
    "LabelledRows",
    "RowView",
    "add_sparse",
    "column_sizes",
    "labels_of",
    "select_columns",
    "turned",
]

# Number of rows, or of vectors, for which a few passes over the features of all labelled rows are
# cheaper than the coordinates of these.
_FEW_ROWS = 64
# The weights of all features take as long as the scores of this fraction of as many rows as there
# are labels, and are not stored above this number of entries (64 MiB for each term).
_WEIGHTS_COST, _WEIGHTS_ENTRIES = 1 / 8, 1 << 24
# Entries of a block of labels, and of the sums over the rows with a label that are kept dense,
# which are those of features that about a _FILLED-th of the labels have, or more.
_ENTRIES, _SUM_ENTRIES, _FILLED = 1 << 22, 1 << 25, 8
# Rows, and components of directions, that are multiplied at a time, so that they stay in the cache.
_ROWS, _AT_ONCE = 1 << 14, 1 << 21


class Directions(NamedTuple):
    """Orthonormal directions: some features, increasing, and the components of these (c, r)."""

    columns: Array
    axes: Array

    def coordinates(self, features: Any) -> Array:
        """Return the coordinates (n, r) of rows along the directions."""
        axes, features = self.axes, select_columns(features, self.columns)
        if isinstance(features, JoinedRows):
            cut = features.words.shape[1]
            words = Directions(np.arange(cut, dtype=np.int32), axes[:cut])
            block = axes[cut:].astype(np.float32, copy=False)
            return words.coordinates(features.words) + features.block @ block
        if sparse.issparse(features) and features.nnz < features.shape[1]:
            # Few features: the directions are stored in a file.
            used = np.unique(features.indices)
            axes, features = axes[used], select_columns(features, used)
        return np.asarray(features @ axes.astype(np.float32, copy=False), dtype=np.float32)


def select_columns(features: Any, columns: Array) -> Any:
    """Select some columns, in increasing order; of a dense block next to words, all."""
    if isinstance(features, JoinedRows):
        inside = columns[columns < features.words.shape[1]]
        return JoinedRows(select_columns(features.words, inside), features.block)
    if columns.size == features.shape[1] or not sparse.issparse(features):
        return features if columns.size == features.shape[1] else features[:, columns]
    rows = sparse.csr_matrix(features)
    place = np.full(features.shape[1], -1, dtype=np.int32)
    place[columns] = np.arange(columns.size)
    inside = (found := place[rows.indices]) >= 0
    starts = np.concatenate([[0], np.cumsum(inside)])[rows.indptr]
    shape = (rows.shape[0], columns.size)
    return sparse.csr_matrix((rows.data[inside], found[inside], starts), shape=shape)


def turned(features: Any) -> Any:
    """Return the transpose, in the layout in which products are fast."""
    return features.T.tocsr() if sparse.issparse(features) else features.T


def column_sizes(rows: Any) -> tuple[Array, Array]:
    """Return the sums of squares of columns, and numbers of rows that have them."""
    if isinstance(rows, JoinedRows):
        parts = zip(column_sizes(rows.words), column_sizes(rows.block), strict=True)
        squares, counts = (np.concatenate(pair) for pair in parts)
        return squares, counts
    d = rows.shape[1]
    if not sparse.issparse(rows):
        return np.einsum("ij,ij->j", rows, rows, dtype=np.float64), (rows != 0).sum(axis=0)
    squares = np.bincount(rows.indices, np.square(rows.data, dtype=np.float64), d)
    return squares.astype(np.float64), np.bincount(rows.indices, minlength=d)


def _products_of_rows(first: Any, second: Any) -> Array:
    """Return the inner product of each row with the one of the same number."""
    if isinstance(first, JoinedRows):
        blocks = np.einsum("ij,ij->i", first.block, second.block)
        return np.asarray(_products_of_rows(first.words, second.words) + blocks)
    return np.asarray(sparse.csr_matrix(first).multiply(second).sum(axis=1)).ravel()


class _LabelSums:
    """For each feature its sum over the rows with each label (d, k).

    Those of features that most labels have are dense: a sparse product counts and sorts what it
    yields, which takes ten times as long.
    """

    def __init__(self, across: Any, labels: sparse.csr_matrix) -> None:
        self._sparse = sparse.issparse(across)
        if not self._sparse:
            self._sums = np.asarray(across @ labels)
            return
        sizes, k = np.diff(across.indptr), max(1, labels.shape[1])
        per_row = labels.nnz / max(1, labels.shape[0])
        many = max(k / (_FILLED * max(per_row, 1e-9)), 1)
        most = min(int(np.count_nonzero(sizes >= many)), _SUM_ENTRIES // k)
        order = np.argsort(-sizes, kind="stable")
        self._often, self._seldom = np.sort(order[:most]), np.sort(order[most:])
        self._dense = np.empty((most, k), dtype=np.float32)
        step = max(1, _ENTRIES // k)
        for start in range(0, most, step):
            part = across[self._often[start : start + step]]
            (part @ labels).toarray(out=self._dense[start : start + step])
        self._rest = across[self._seldom] @ labels

    def times(self, rows: Any) -> Array:
        """Return the products (m, k) of rows with the sums."""
        if not self._sparse:
            return np.asarray(rows @ self._sums)
        found = np.asarray(select_columns(rows, self._often) @ self._dense)
        add_sparse(found, select_columns(rows, self._seldom) @ self._rest)
        return found


@dataclass(frozen=True)
class FeatureRows:
    """Features (n, d) of rows, and directions of features: what follows from them, without labels.

    ``known_gram`` are the products of the coordinates, if they are known. A few rows are then
    scored without the coordinates of all rows, which would take most of the time.
    """

    features: Any
    directions: Directions
    known_gram: Array | None = None

    def coordinates(self, features: Any) -> Array:
        """Return the coordinates of some rows along the directions, and a constant."""
        found = self.directions.coordinates(features)
        return np.hstack([found, np.ones((len(found), 1), dtype=np.float32)])

    @cached_property
    def own(self) -> Array:
        """Coordinates of the rows."""
        (n, d), (columns, axes) = self.features.shape, self._precise
        found = np.ones((n, axes.shape[1] + 1), dtype=np.float32)
        rows, step = self._operator, max(1, _AT_ONCE // max(1, d))
        for start in range(0, axes.shape[1], step):
            part = slice(start, min(start + step, axes.shape[1]))
            block = np.zeros((d, part.stop - start), dtype=rows.dtype)
            block[columns] = axes[:, part]
            found[:, part] = rows.matmat(block)
        return found

    @property
    def _operator(self) -> Operator:
        """The features as an operator, whose products are fast."""
        features = self.features
        return features.operator if isinstance(features, JoinedRows) else as_operator(features)

    @cached_property
    def gram(self) -> Array:
        """Products of the coordinates."""
        return np.asarray(self.own.T @ self.own) if self.known_gram is None else self.known_gram

    def solve(self, alpha: float, right: Array) -> Array:
        """Solve with the products of the coordinates and a penalty."""
        if alpha not in self._factors:
            gram = np.asarray(self.gram, dtype=np.float64)
            try:
                self._factors[alpha] = linalg.cho_factor(gram + alpha * np.eye(len(gram)))
            except linalg.LinAlgError as error:
                raise InvalidFile(
                    "The products of the tagger's items cannot be those of any items; the index "
                    "is damaged."
                ) from error
        return np.asarray(linalg.cho_solve(self._factors[alpha], right.astype(np.float64)))

    @cached_property
    def _factors(self) -> dict[float, tuple[Array, bool]]:
        return {}

    @cached_property
    def _sizes(self) -> tuple[Array, Array]:
        """Sums of squares of the features, and numbers of rows that have them."""
        return column_sizes(self.features)

    def scaled(self, features: Any, own: Array | None = None) -> Any:
        """Divide features by their lengths over the other rows; ``own`` as in `RowView`."""
        squares, counts = self._sizes
        if isinstance(features, JoinedRows):
            cut = features.words.shape[1]
            words = self._scaled(features.words, own, squares[:cut], counts[:cut])
            block = np.square(features.block, dtype=np.float64)
            others = squares[cut:] - (block if own is None else block * (own >= 0)[:, None])
            others = np.where(others > 0, others, np.inf)
            return JoinedRows(words, (features.block / np.sqrt(others)).astype(np.float32))
        return self._scaled(features, own, squares, counts)

    def _scaled(
        self, features: Any, own: Array | None, squares: Array, counts: Array
    ) -> sparse.csr_matrix:
        rows = sparse.csr_matrix(features)
        squares, counts = squares[rows.indices], counts[rows.indices]
        if own is not None:
            inside = np.repeat(own >= 0, np.diff(rows.indptr))
            squares, counts = squares - inside * np.square(rows.data, dtype=float), counts - inside
        # Features of texts are those of two rows or more: new texts have no others.
        squares[(counts < 2) | (squares <= 0)] = np.inf
        data = (rows.data / np.sqrt(squares)).astype(np.float32)
        return sparse.csr_matrix((data, rows.indices, rows.indptr), rows.shape)

    @cached_property
    def turned(self) -> Any:
        """The transposed features."""
        return turned(self.features)

    @cached_property
    def coordinate_sums(self) -> Array:
        """For each feature the sum of the coordinates of the rows that have it."""
        (n, d), own, rows = self.features.shape, self.own, self._operator
        found = np.zeros((d, own.shape[1]), dtype=np.float32)
        step = max(1, _AT_ONCE // max(1, d, min(n, _ROWS)))
        for first in range(0, n, _ROWS):
            some = slice(first, min(first + _ROWS, n))
            there = rows if n <= _ROWS else rows.rows(np.arange(first, some.stop))
            for start in range(0, own.shape[1], step):
                part = slice(start, start + step)
                found[:, part] += there.rmatmat(own[some, part])
        return found

    @cached_property
    def _precise(self) -> Directions:
        """The directions in single precision; to convert them takes ten times a product."""
        return self.directions._replace(axes=self.directions.axes.astype(np.float32))

    def sums(self, values: Array) -> Array:
        """Return the products (m, r + 1) of values (n, m) with the coordinates of all rows."""
        found = self._precise.coordinates((self.features.T @ values).T)
        # The sum of many numbers needs more digits than they have.
        return np.hstack([found, values.sum(axis=0, dtype=np.float64)[:, None]])

    def images(self, weights: Array) -> Array:
        """Return the products (n, m) of the coordinates of all rows with weights (r + 1, m)."""
        weights = weights.astype(np.float32)
        return np.asarray(self.features @ self.feature_weights(weights) + weights[-1])

    def feature_weights(self, weights: Array) -> Array:
        """Return weights (d, ...) of the features from those of the coordinates (r + 1, ...)."""
        own = self._precise.axes @ weights[:-1].astype(np.float32)
        if len(own) == self.features.shape[1]:
            return own
        found = np.zeros((self.features.shape[1], *weights.shape[1:]), dtype=np.float32)
        found[self.directions.columns] = own
        return found


@dataclass(frozen=True)
class LabelledRows:
    """Rows with features, and their labels (n, k), 0 and 1."""

    items: FeatureRows
    labels: sparse.csr_matrix

    @cached_property
    def cross(self) -> Array:
        """Products of the coordinates with the labels."""
        return np.asarray(self.labels.T @ self.items.own, dtype=np.float32).T

    @cached_property
    def support(self) -> Array:
        """Number of rows of each label."""
        return np.bincount(self.labels.indices, minlength=self.labels.shape[1])

    @cached_property
    def _label_sums(self) -> tuple[_LabelSums, ...]:
        across = self.items.turned
        joined = isinstance(self.items.features, JoinedRows)
        parts = (across.words, across.block) if joined else (across,)
        return tuple(_LabelSums(one, self.labels) for one in parts)

    def view(self, features: Any, own: Array | None = None, scaled: bool = False) -> RowView:
        """Compute what is needed to score some rows; ``own`` as in `RowView`.

        ``scaled`` says whether features are scaled in the similarity of the remainders.
        """
        items = self.items
        # Which products are made depends on the rows, not on what is known already, because others
        # differ in their last digits.
        few = features.shape[0] <= _FEW_ROWS
        inside = not few and own is not None and bool((own >= 0).all())
        coordinates = items.own[own] if inside else items.coordinates(features)
        asked, along = features, coordinates[:, :-1]
        if scaled:
            asked = items.scaled(features, own)
            along = items.directions.coordinates(asked)
        remainders = _products_of_rows(asked, features)
        remainders = remainders - np.einsum("ij,ij->i", coordinates[:, :-1], along)
        near, label_sums = None, None
        if few:
            dense = asked if isinstance(asked, np.ndarray) else asked.toarray()
            near = np.asarray(items.features @ dense.T, dtype=np.float32)
            sums = items.sums(near)
        else:
            parts = (asked.words, asked.block) if isinstance(asked, JoinedRows) else (asked,)
            pairs = zip(self._label_sums, parts, strict=True)
            label_sums = sum(sums.times(own_part) for sums, own_part in pairs)
            sums = np.asarray(asked @ items.coordinate_sums, dtype=np.float32)
        outside = sums if own is None else sums - along @ items.gram[:-1].astype(np.float32)
        return RowView(coordinates, along, remainders, sums, outside, near, label_sums, own)


class RowView(NamedTuple):
    """Rows to be scored: coordinates, and sums over the labelled rows by the products with them.

    ``along`` are the coordinates of the rows with scaled features, without the constant,
    ``remainders`` the similarities of rows to themselves, ``sums`` the sums of the coordinates,
    and ``outside`` those weighted by the similarities of the remainders, if ``own`` is given. A few
    rows have the products ``near`` (n, m) themselves, many the sums of the labels. ``own`` are the
    numbers of the rows among the labelled rows, -1 for others; None if none is.
    """

    coordinates: Array
    along: Array
    remainders: Array
    sums: Array
    outside: Array
    near: Array | None
    label_sums: Any
    own: Array | None


class LabelRegression:
    """Regression of the labels of rows with the penalty ``alpha``.

    A score has two terms, which the caller adds: that of the leading directions, and that of the
    remainders. For rows that are among the labelled ones they are by the model without the row.
    """

    def __init__(self, rows: LabelledRows, alpha: float) -> None:
        self.rows, self.alpha = rows, alpha
        # Number of rows that were scored by their features.
        self._scored = 0

    @cached_property
    def _inverse(self) -> Array:
        return self._solve(np.eye(len(self.rows.items.gram))).astype(np.float32)

    def _solve(self, right: Array) -> Array:
        return self.rows.items.solve(self.alpha, right)

    @cached_property
    def _weights(self) -> Array:
        """Weights of the coordinates (r + 1, k)."""
        return self._solve(self.rows.cross).astype(np.float32)

    def terms(self, *views: RowView) -> list[Array]:
        """Compute the first term of the scores of every label, and the second for each view."""
        view, factors, labels = views[0], self._factors(views), self.rows.labels
        if view.near is not None:
            weights = self._solve(np.vstack([one.weights for one in factors]).T)
            images = self.rows.items.images(weights)
            images[:, view.near.shape[1] :] += np.hstack([np.asarray(one.near) for one in views])
            terms = np.split(np.asarray(labels.T @ images).T, len(factors))
        else:
            terms = [one.weights @ self._weights for one in factors]
            for found, own in zip(terms[1:], views, strict=True):
                np.add(found, own.label_sums, out=found)
        if view.own is not None:
            known = labels_of(labels, view.own)
            for found, one in zip(terms, factors, strict=True):
                add_sparse(found, sparse.diags_array(-one.truth) @ known)
        return terms

    def _factors(self, views: Sequence[RowView]) -> list[_Factors]:
        """Return the factors of the first term of the scores, and of the second for each view."""
        coordinates, own = views[0].coordinates, views[0].own
        lead = _Factors(coordinates.copy(), np.zeros(len(coordinates), dtype=np.float32))
        rests = [_Factors(-view.sums, lead.truth.copy()) for view in views]
        for rest, view in zip(rests, views, strict=True):
            rest.weights[:, :-1] -= self.alpha * view.along
        if own is not None:
            known = np.flatnonzero(own >= 0)
            mine = coordinates[known]
            few = len(own) <= _FEW_ROWS
            image = self._solve(mine.T).astype(np.float32).T if few else mine @ self._inverse
            left = 1 - np.einsum("ij,ij->i", image, mine)
            lead.weights[known] /= left[:, None]
            lead.truth[known] = (1 - left) / left
            for rest, view in zip(rests, views, strict=True):
                shared = np.einsum("ij,ij->i", view.outside[known], image)
                more = (view.remainders[known] - shared) / left
                rest.weights[known] += mine * more[:, None]
                rest.truth[known] = more
        return [lead, *rests]

    def terms_of_new(self, features: Any, scaled: bool = False) -> list[Array]:
        """Compute both terms of the scores of rows that are not among the labelled ones.

        They are sums over features. The weights of these are computed once more rows were scored
        than they cost.
        """
        self._scored += features.shape[0]
        count = self.rows.labels.shape[1]
        few = self._scored <= _WEIGHTS_COST * count
        if few or features.shape[1] * count > _WEIGHTS_ENTRIES:
            return self.terms(self.rows.view(features, None, scaled))
        lead, rest, constant = self._all_weights
        asked = self.rows.items.scaled(features) if scaled else features
        return [np.asarray(features @ lead + constant), np.asarray(asked @ rest)]

    @cached_property
    def _all_weights(self) -> tuple[Array, Array, Array]:
        """The weights of all features for both terms of every label, and the intercepts."""
        labels = self.rows.labels.tocsc()
        (rows, k), d = labels.shape, self.rows.items.features.shape[1]
        lead, rest = (np.empty((d, k), dtype=np.float32) for _ in range(2))
        constant = np.empty(k, dtype=np.float32)
        step = max(1, _ENTRIES // max(1, rows, d))
        for start in range(0, k, step):
            part = slice(start, start + step)
            found = self._feature_weights(labels[:, part].toarray())
            lead[:, part], rest[:, part], constant[part] = found
        return lead, rest, constant

    def feature_weights(self, column: int, without: int = -1) -> tuple[Array, Array, float]:
        """Return the weights of features (d,) for both terms of a label, and the intercept.

        Those for the second term are of features as `view` scales them. ``without`` is the number
        of a labelled row; the weights are those of the model without it.
        """
        labels = self.rows.labels[:, [column]].toarray()
        lead, rest, constant = self._feature_weights(labels, without)
        return lead[:, 0], rest[:, 0], float(constant[0])

    def _feature_weights(self, labels: Array, without: int = -1) -> tuple[Array, Array, Array]:
        """Do the same for several labels (n, m)."""
        rows = self.rows.items
        weights = self._solve(rows.sums(labels).T)
        if without >= 0:
            one = rows.coordinates(rows.features[[without]])[0].astype(np.float64)
            image = self._solve(one)
            gap = (labels[without] - one @ weights) / (1 - one @ image)
            weights -= np.outer(image, gap)
        lead = rows.feature_weights(weights)
        constant = weights[-1].astype(np.float32)
        residuals = labels - (rows.features @ lead + constant)
        if without >= 0:
            residuals[without] = 0.0
        # The penalty balances the residuals along the directions.
        return lead, rows.features.T @ residuals - self.alpha * lead, constant


class _Factors(NamedTuple):
    """A term of the scores: its factors for coordinates and, negated, for labels."""

    weights: Array
    truth: Array


def labels_of(labels: sparse.csr_matrix, own: Array) -> sparse.csr_matrix:
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
