"""Functions that compare rows, dense or sparse: lengths, products, and removal of large means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidInput
from .dense import Dense
from .digits import digits_to_lose
from .sparse import Sparse, canonical, host_operator

__all__ = [
    "as_rows",
    "check_rows",
    "far_means",
    "group_sums",
    "less_means",
    "pair_products",
    "pair_squares",
    "product",
    "row_squares",
    "translated",
    "transposed",
    "unit_rows",
]

# Number of entries gathered at a time when rows are compared in pairs.
_GATHERED = 1 << 20


def as_rows(X: Any, like: Any = None) -> Any:
    """Return an array of floats, or a canonical CSR matrix, of the kind of ``like`` if given."""
    sparse_rows = sparse.issparse(X if like is None else like)
    if not sparse_rows:
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    else:
        X = canonical(X.tocsr() if sparse.issparse(X) else sparse.csr_array(X))
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def check_rows(X: Any, owner: str) -> Any:
    """Return the user's rows as in `as_rows`; raise an error if they are not finite numbers."""
    try:
        rows = as_rows(X)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{owner}: X cannot be used: {error}") from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidInput(
            f"{owner}: X must have two dimensions and at least one row and column, but has shape "
            f"{rows.shape}."
        )
    if not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
        raise InvalidInput(f"{owner}: X has NaN or infinite entries; remove or impute them.")
    return rows


def far_means(rows: Any, *, far: float = digits_to_lose(np.float64)) -> Array | None:
    """Return the means to subtract before rows are multiplied with each other; None if not far.

    A product of rows is rounded to the size of the squared norms. The mean is far if its squared
    norm is more than ``far`` times those about it; of sparse matrices, which stay sparse, only
    columns with an entry in nearly every row then have a mean that is not 0.
    """
    operator = host_operator(rows)
    means = operator.column_means()
    total = operator.sum_of_squares()
    if not np.isfinite(total) or operator.shape[0] * float(means @ means) * (1 + 1 / far) < total:
        return None
    if isinstance(operator, Dense):
        return means
    return np.where(operator.columns_far_from_zero(means), means, 0.0)


def less_means(rows: Any, means: Array) -> Any:
    """Return rows minus the result of :func:`far_means`, in their own type."""
    if not sparse.issparse(rows):
        return (rows - means).astype(rows.dtype, copy=False)
    return Sparse(rows).moved(means, means != 0).csr


def translated(rows: Any, *others: Any, far: float = digits_to_lose(np.float64)) -> tuple[Any, ...]:
    """Shift rows, and others with them, if their mean would cost digits in distances."""
    means = far_means(rows, far=far)
    if means is None:
        return (rows, *others)
    return tuple(less_means(each, means) for each in (rows, *others))


def unit_rows(X: Any) -> Any:
    """Scale rows to length 1, in their own type; rows of zeros stay zero."""
    rows = as_rows(X)
    if not sparse.issparse(rows):
        # Squares of very small and very large numbers under- or overflow.
        largest = np.abs(rows).max(axis=1, initial=0.0)
        scaled = rows / np.where(largest > 0, largest, 1.0).astype(rows.dtype)[:, None]
        lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64))
        return scaled / np.where(lengths > 0, lengths, 1.0).astype(rows.dtype)[:, None]
    if not rows.nnz:
        return rows
    counts = np.diff(rows.indptr)
    largest = abs(rows).max(axis=1).toarray().ravel()
    data = rows.data / np.repeat(np.where(largest > 0, largest, 1), counts).astype(rows.dtype)
    lengths = np.sqrt(_sums_of_rows(np.square(data, dtype=np.float64), rows.indptr))
    data = data / np.repeat(np.where(lengths > 0, lengths, 1), counts).astype(rows.dtype)
    return type(rows)((data, rows.indices, rows.indptr), shape=rows.shape)


def _sums_of_rows(data: Array, indptr: Array) -> Array:
    rows = indptr.size - 1
    return np.bincount(np.repeat(np.arange(rows), np.diff(indptr)), data, rows)


def row_squares(X: Any) -> Array:
    """Compute the squared length of each row, in float64."""
    if sparse.issparse(X):
        rows = canonical(X.tocsr())
        return _sums_of_rows(np.square(rows.data, dtype=np.float64), rows.indptr)
    X = np.asarray(X)
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def transposed(X: Any) -> Any:
    """Return the transpose, in the layout that makes `product` with a few rows fast."""
    return X.T.tocsr() if sparse.issparse(X) else np.asarray(X).T


def product(rows: Any, columns: Any) -> Array:
    """Multiply a few rows with many columns; the result is an array."""
    if sparse.issparse(rows) and sparse.issparse(columns) and rows.shape[0] == 1:
        # Sparse products first count their entries, which takes as long again.
        return np.asarray(columns[rows.indices].T @ rows.data)[None]
    both = rows @ columns
    return both.toarray() if sparse.issparse(both) else np.asarray(both)


def pair_products(left: Any, i: Array, right: Any, j: Array) -> Array:
    """Compute ``left[i] . right[j]`` for each pair, in float64, independently of others."""
    return _by_pairs(left, i, right, j, lambda a, b: a * b)


def pair_squares(left: Any, i: Array, right: Any, j: Array) -> Array:
    """Compute ``|left[i] - right[j]|^2`` for each pair, in float64."""
    return _by_pairs(left, i, right, j, lambda a, b: (a - b) * (a - b))


def _by_pairs(left: Any, i: Array, right: Any, j: Array, combine: Any) -> Array:
    found = np.empty(i.size)
    wide = left.nnz // max(1, left.shape[0]) if sparse.issparse(left) else left.shape[1]
    step = max(1, _GATHERED // max(1, wide))
    for start in range(0, i.size, step):
        part = slice(start, start + step)
        a, b = left[i[part]], right[j[part]]
        kind = sparse.csr_array if sparse.issparse(a) else np.asarray
        found[part] = combine(kind(a, dtype=np.float64), kind(b, dtype=np.float64)).sum(axis=1)
    return found


def group_sums(X: Any, group: Array, count: int) -> Array:
    """Add up the rows of each group, in float64."""
    ones = np.ones(group.size)
    member = sparse.csr_array((ones, (group, np.arange(group.size))), shape=(count, group.size))
    return product(member, X.tocsr() if sparse.issparse(X) else np.asarray(X))
