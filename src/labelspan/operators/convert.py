"""The one place that looks at the type of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InvalidInput
from .base import Array, Operator
from .dense import Dense
from .sparse import Sparse

__all__ = ["as_operator", "column_names", "dense_block"]


def as_operator(X: Any) -> Operator:
    """Wrap data as an :class:`Operator`; an operator comes back as it is.

    Takes a two-dimensional array, or any scipy sparse matrix or array. Floats keep
    their width; integers and booleans become float64. The data is not copied where
    its layout can be used, and never changed.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.operators import as_operator
    >>> X = as_operator(np.arange(6.0).reshape(3, 2))
    >>> X.rmatmat(np.ones((3, 1)))
    array([[6.],
           [9.]])
    """
    if isinstance(X, Operator):
        return X
    if sparse.issparse(X) and X.ndim == 2 and X.dtype.kind in "fiub":
        return Sparse(X if _is_float(X.dtype) else X.astype(np.float64))
    array = X if sparse.issparse(X) else np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InvalidInput(
            "X must be a two-dimensional array or sparse matrix of numbers, "
            f"but {type(X).__name__} of shape {array.shape} and type {array.dtype} was given."
        )
    return Dense(array if _is_float(array.dtype) else array.astype(np.float64))


def dense_block(values: Any, what: str) -> Array:
    """A thin n x k block as a dense array, from an array or a sparse matrix."""
    if sparse.issparse(values):
        return np.asarray(values.toarray())
    array = np.asarray(values)
    if array.dtype.kind == "O":
        # pandas writes a missing entry as an object that compares with nothing.
        missing = [type(item).__name__ == "NAType" for item in array.flat]
        array = array.copy()
        array[np.reshape(missing, array.shape)] = None
    if array.ndim > 2:
        raise InvalidInput(f"{what} must have one or two dimensions, but has shape {array.shape}.")
    return array


def column_names(values: Any) -> Array | None:
    """The column names of a data frame; None for anything else."""
    columns = getattr(values, "columns", None)
    return None if columns is None else np.asarray(columns)


def _is_float(dtype: Any) -> bool:
    return dtype in (np.float32, np.float64)
