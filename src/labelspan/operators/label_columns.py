"""Products with labels, which are a dense block or, where they are many, an operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._typing import Array
from .array_backend import host, inner, like, sum_of_squares
from .operator import Operator

__all__ = ["image_of", "label_blocks", "label_cross", "label_square", "seen_by"]

# Numbers in a block of label columns that is dense for a moment: 64 MiB.
_ENTRIES = 1 << 23


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
    rows, columns = labels.shape
    width = max(1, _ENTRIES // max(1, rows))
    for start in range(0, columns, width):
        stop = min(start + width, columns)
        unit = np.zeros((columns, stop - start), dtype=labels.dtype)
        unit[np.arange(start, stop), np.arange(stop - start)] = 1
        yield slice(start, stop), labels.matmat(unit)


def label_cross(X: Operator, labels: Any) -> Array:
    """Return ``X.T @ L`` in float64; only where it has a moderate number of entries."""
    if not isinstance(labels, Operator):
        return X.cross(labels)
    out = np.empty((X.shape[1], labels.shape[1]))
    for part, block in label_blocks(labels):
        out[:, part] = X.cross(block)
    return out
