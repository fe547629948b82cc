"""Products with labels, which are a dense block or, where they are many, an operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from .array_backend import host, inner, like, sum_of_squares
from .operator import Operator
from .row_data import canonical

__all__ = [
    "canonical_csr",
    "image_of",
    "is_sparse",
    "label_blocks",
    "label_cross",
    "label_square",
    "scaled_block",
    "seen_by",
    "sparse_table",
]


def is_sparse(values: Any) -> bool:
    """Return whether values are a sparse matrix or array of scipy."""
    return bool(sparse.issparse(values))


def sparse_table(values: Any) -> bool:
    """Return whether values are sparse numbers with rows and columns."""
    return is_sparse(values) and values.ndim == 2 and values.dtype.kind in "fiub"


def canonical_csr(values: Any, dtype: Any = np.float64) -> Any:
    """Return sparse values as a CSR array with one entry per place; the argument stays as it is."""
    return canonical(sparse.csr_array(values).astype(dtype))


def scaled_block(block: Any, rows: Array | None = None, columns: Array | None = None) -> Any:
    """Return ``diag(rows) block diag(columns)``, sparse where the block is."""
    if is_sparse(block):
        if rows is not None:
            block = sparse.diags_array(rows) @ block
        return block if columns is None else sparse.csr_array(block @ sparse.diags_array(columns))
    if rows is not None:
        block = rows[:, None] * block
    return block if columns is None else block * columns


def image_of(labels: Any, small: Array) -> Array:
    """Return ``L @ small``, a block with one row per row of the labels."""
    if isinstance(labels, Operator):
        return labels.matmat(small)
    found: Array = labels @ like(small, labels)
    return found


def seen_by(block: Any, labels: Any) -> Array:
    """Return ``block.T @ L`` on the host in float64."""
    if isinstance(labels, Operator):
        return np.ascontiguousarray(host(labels.rmatmat(block)).T)
    return inner(block, labels)


def label_square(labels: Any) -> float:
    """Return the squared Frobenius norm."""
    return labels.sum_of_squares() if isinstance(labels, Operator) else sum_of_squares(labels)


def label_blocks(labels: Any) -> Iterator[tuple[slice, Array]]:
    """Yield the columns of the labels as dense blocks, one where they are dense already."""
    if not isinstance(labels, Operator):
        yield slice(0, labels.shape[1]), labels
        return
    yield from labels.column_blocks()


def label_cross(X: Operator, labels: Any) -> Array:
    """Return ``X.T @ L`` in float64; only where it has a moderate number of entries."""
    if not isinstance(labels, Operator):
        return X.cross(labels)
    out = np.empty((X.shape[1], labels.shape[1]))
    for part, block in label_blocks(labels):
        out[:, part] = X.cross(block)
    return out
