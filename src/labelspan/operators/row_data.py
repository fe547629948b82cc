"""Rows that are compared with each other: canonical sparse matrices, and no large means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .dense import Dense
from .sparse import Sparse

__all__ = ["canonical", "translated"]

# Squared norms of the mean above this many times those about it take digits from distances.
_FAR = 1e3


def canonical(X: Any) -> Any:
    """Return sparse data with sorted indices and without duplicate entries; others as they are.

    Only products are the same with duplicates: norms, squares and maxima are not. The matrix of
    the caller is never changed.

    Examples
    --------
    >>> from scipy import sparse
    >>> from labelspan.operators.row_data import canonical
    >>> twice = sparse.csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 1))
    >>> canonical(twice).data
    array([3.])
    """
    if not sparse.issparse(X):
        return X
    matrix = X.tocsr() if X.format not in ("csr", "csc") else X
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def translated(rows: Any, *others: Any, far: float = _FAR) -> tuple[Any, ...]:
    """Translate rows, and others with them, where their mean takes digits from distances.

    A squared distance from inner products is rounded to the size of the squared norms. Where the
    squared norm of the mean is more than ``far`` times the squared norms about it, the mean is
    subtracted: from arrays entirely, in a copy; from sparse matrices only in columns with an entry
    in nearly every row, which stay sparse. Otherwise all come back as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators.row_data import translated
    >>> translated(np.array([[1e9], [1e9 + 1]]))[0].ravel()
    array([-0.5,  0.5])
    """
    operator = Sparse(rows) if sparse.issparse(rows) else Dense(np.asarray(rows))
    means = operator.column_means()
    total = operator.sum_of_squares()
    if not np.isfinite(total) or operator.shape[0] * float(means @ means) * (1 + 1 / far) < total:
        return (rows, *others)
    if isinstance(operator, Dense):
        return tuple((each - means).astype(each.dtype, copy=False) for each in (rows, *others))
    moved = operator.columns_far_from_zero(means)
    return tuple(Sparse(each).moved(means, moved).csr for each in (rows, *others))
