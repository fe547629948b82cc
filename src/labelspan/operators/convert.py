"""Conversion of arrays, sparse matrices, tensors and data frames; types are checked only here."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._install import install_command
from .._typing import Array
from ..errors import InvalidInput
from .array_backend import is_tensor, on_host
from .digits import digits_to_lose
from .operator import Operator
from .sparse import host_operator

__all__ = [
    "as_operator",
    "check_device",
    "column_names",
    "dense_block",
    "operator_or_none",
    "project",
    "sparse_table",
]

# Up to this many multiplications, a projection is one product without threads and blocks.
_SMALL = 1 << 26


def as_operator(X: Any, *, device: Any = None) -> Operator:
    """Wrap data as an :class:`Operator`; an operator is returned unchanged.

    Takes a two-dimensional array, any scipy sparse matrix or array, or a torch tensor,
    which stays on its device. Floats keep their type; integers and booleans become
    float64. The data is not copied if its layout can be used, and is never changed.

    Parameters
    ----------
    X : array, sparse matrix, tensor or Operator of shape (n, d)
        The data.
    device : str, torch device or None, default=None
        Where to move the data, for example "cuda"; needs torch. None leaves it where it is. Data
        that would take more than half of the free memory of a CUDA device stays on the host and
        is moved in blocks, once for each product.

    Returns
    -------
    Operator
        Of dense or of sparse data, on the host or on a device.

    See Also
    --------
    Operator : The methods that it has.

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
        operator = X
    elif is_tensor(X):
        operator = _on_devices().tensor_operator(X)
    else:
        operator = host_operator(X)
    if device is None or operator.device == device:
        return operator
    moved: Operator = _on_devices().to_device(operator, device)
    return moved


def operator_or_none(X: Any) -> Operator | None:
    """Return an operator or a tensor as an operator; None for data that scikit-learn validates."""
    return as_operator(X) if isinstance(X, Operator) or is_tensor(X) else None


def project(X: Any, means: Any, components: Any) -> Array:
    """Return ``(X - means) components'`` for rows of any type, on their device."""
    if isinstance(components, np.ndarray) and not isinstance(X, Operator) and not is_tensor(X):
        entries = X.nnz if sparse.issparse(X) else X.size
        weights = components.T.astype(X.dtype, copy=False)
        if entries * components.shape[0] <= _SMALL and not sparse.issparse(X):
            return np.asarray((X - means).astype(X.dtype, copy=False) @ weights)
        if entries * components.shape[0] <= _SMALL:
            images, along = X @ weights, means.astype(X.dtype, copy=False) @ weights
            out = images - along
            if np.abs(along).max() <= digits_to_lose(X.dtype) * np.abs(out).max():
                return np.asarray(out)
    rows, offset = as_operator(X), on_host(means)
    return (rows.shifted(offset) if offset.any() else rows).matmat(components.T)


def check_device(device: Any) -> None:
    """Raise an error if torch is missing or cannot use a device."""
    _on_devices().check_device(device)


def _on_devices() -> Any:
    try:
        from . import tensor  # noqa: PLC0415
    except ImportError:
        raise InvalidInput(f"device= needs torch; {install_command('gpu')}.") from None
    return tensor


def dense_block(values: Any, what: str) -> Array:
    """Convert labels or another thin block to a dense array."""
    if is_tensor(values):
        values = on_host(values.to_dense())
    if sparse.issparse(values):
        return np.asarray(values.toarray())
    array = np.asarray(values)
    if array.dtype.kind == "O":
        # pandas marks a missing entry with an object that is not equal to itself.
        missing = [type(item).__name__ == "NAType" for item in array.flat]
        array = array.copy()
        array[np.reshape(missing, array.shape)] = None
    if array.ndim > 2:
        raise InvalidInput(f"{what} must have one or two dimensions, but has shape {array.shape}.")
    return array


def column_names(values: Any) -> Array | None:
    """Return the column names of a data frame, or None for anything else."""
    columns = getattr(values, "columns", None)
    return None if columns is None else np.asarray(columns)


def sparse_table(values: Any) -> bool:
    """Return whether values are sparse numbers with rows and columns."""
    return bool(sparse.issparse(values)) and values.ndim == 2 and values.dtype.kind in "fiub"
