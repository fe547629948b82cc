"""Check the inputs of metrics: indicators, scores and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_array

from ..errors import InvalidInput, InvalidLabels, Mismatch

__all__ = [
    "Array",
    "read_indicator",
    "read_label_table",
    "read_numbers",
    "read_predictions",
    "read_scores",
    "read_vectors",
]

Array = NDArray[Any]


def read_indicator(values: Any, what: str, owner: str) -> Array:
    """Return an indicator as a dense array of booleans."""
    return np.asarray(_dense(read_label_table(values, what, owner)) != 0)


def read_label_table(values: Any, what: str, owner: str) -> Any:
    """Return an indicator in float32, dense or CSR as given."""
    table = _table(values, what, owner)
    rule = f"{owner}: {what} must contain only 0 and 1, but has"
    unknown = "omit rows whose labels are unknown"
    if table.dtype.kind not in "fiub":
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidLabels(f"{rule} entries that are not numbers; {unknown}.") from None
    if isinstance(table, np.ndarray):
        entries = table
    else:
        table = table.copy()
        table.sum_duplicates()
        entries = table.data
    strange = entries[(entries != 0) & (entries != 1)]
    if strange.size:
        found = strange[0]
        words = "write 1 for each label of a row and 0 for all others"
        remedy = unknown if found == -1 or np.isnan(found) else words
        raise InvalidLabels(f"{rule} {found}; {remedy}.")
    return table.astype(np.float32)


def read_scores(values: Any, truth: Array, owner: str) -> Array:
    """Return finite, dense numbers in the shape of the labels."""
    return _of_shape(read_numbers(values, "scores", owner), truth, "scores", owner)


def read_predictions(values: Any, truth: Array, owner: str) -> Array:
    """Return predicted labels as booleans, in the shape of the true ones."""
    said = read_indicator(values, "predictions", owner)
    return _of_shape(said, truth, "predictions", owner)


def read_numbers(values: Any, what: str, owner: str) -> Array:
    """Return finite numbers as a dense array."""
    return _dense(read_vectors(values, what, owner))


def read_vectors(values: Any, what: str, owner: str) -> Any:
    """Return finite numbers in float64 or float32, dense or CSR as given."""
    table = _table(values, what, owner, dtype=[np.float64, np.float32])
    try:
        assert_all_finite(table)
    except ValueError:
        raise InvalidInput(
            f"{owner}: {what} must be finite, but has NaN or infinity; omit or impute such rows."
        ) from None
    return table


def _table(values: Any, what: str, owner: str, dtype: Any = None) -> Any:
    expected = f"{owner}: {what} must be a two-dimensional array or sparse matrix of numbers"
    try:
        table = check_array(
            values,
            accept_sparse="csr",
            dtype=dtype,
            ensure_all_finite=False,
            ensure_2d=False,
            allow_nd=True,
            ensure_min_samples=0,
            ensure_min_features=0,
        )
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{expected}, but {type(values).__name__} was given, which cannot be converted to one."
        ) from None
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidInput(f"{expected}, at least one by one, but has shape {table.shape}.")
    return table


def _dense(table: Any) -> Array:
    return table if isinstance(table, np.ndarray) else np.asarray(table.toarray())


def _of_shape(values: Array, truth: Array, what: str, owner: str) -> Array:
    if values.shape != truth.shape:
        raise Mismatch(
            f"{owner}: {what} must have the shape of Y, {truth.shape}, but has shape "
            f"{values.shape}."
        )
    return values
