"""Votes of the labelled items that share most words with a text."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..operators.threads import map_threads

__all__ = ["NEIGHBOURS", "Voters"]

# How many items vote.
NEIGHBOURS = 20
# Entries of a block of similarities, of which each thread has one.
_ENTRIES = 1 << 21


class Voters:
    """Labelled items with features and labels, of which the nearest vote.

    Parameters
    ----------
    features : array or CSR matrix of shape (n, d)
        Compared by their cosine.
    labels : CSR matrix of shape (n, k)
        0 and 1.
    """

    def __init__(self, features: Any, labels: sparse.csr_matrix) -> None:
        self.features = features
        self.labels = labels

    @cached_property
    def _columns(self) -> Any:
        """Unit rows, transposed, in the form in which products with a few rows are fast."""
        units = _unit(self.features)
        return units.T.tocsr() if sparse.issparse(units) else units.T

    def nearest(self, features: Any, own: Array | None = None) -> tuple[Array, Array]:
        """Find the nearest items for each row, with their cosines, best first.

        ``own`` are the numbers of the rows among the items, which do not vote for themselves.
        Where fewer items share a feature, the last cosines are 0.
        """
        units = _unit(features)
        n = self.labels.shape[0]
        most = min(NEIGHBOURS, n)
        found = np.zeros((units.shape[0], most), dtype=np.intp)
        cosines = np.zeros((units.shape[0], most), dtype=np.float32)
        step = max(1, _ENTRIES // max(1, n))
        columns = self._columns

        def search(start: int) -> None:
            near = _cosines(units[start : start + step], columns)
            for row in range(near.shape[0]):
                if sparse.issparse(near):
                    part = slice(near.indptr[row], near.indptr[row + 1])
                    items, values = near.indices[part], near.data[part]
                else:
                    items = np.flatnonzero(near[row] > 0)
                    values = near[row][items]
                if own is not None:
                    others = items != own[start + row]
                    items, values = items[others], values[others]
                if values.size > most:
                    best = np.argpartition(-values, most - 1)[:most]
                    items, values = items[best], values[best]
                order = np.lexsort((items, -values))
                order = order[values[order] > 0]
                found[start + row, : order.size] = items[order]
                cosines[start + row, : order.size] = values[order]

        map_threads(search, range(0, units.shape[0], step), blas=True)
        return found, cosines

    def votes(self, features: Any, own: Array | None = None) -> sparse.csr_matrix:
        """Return for each row and label the share of the votes, weighted by the cosines."""
        return self.count(*self.nearest(features, own))

    def count(self, items: Array, cosines: Array) -> sparse.csr_matrix:
        """Count the votes of given neighbours."""
        if not items.shape[1]:
            return sparse.csr_matrix((len(items), self.labels.shape[1]), dtype=np.float32)
        total = cosines.sum(axis=1, keepdims=True)
        weights = cosines / np.where(total > 0, total, 1.0)
        places = np.arange(0, weights.size + 1, weights.shape[1])
        shape = (len(items), self.labels.shape[0])
        choice = sparse.csr_matrix((weights.ravel(), items.ravel(), places), shape=shape)
        return sparse.csr_matrix(choice @ self.labels)


def _cosines(block: Any, columns: Any) -> Any:
    """Compute the cosines of unit rows with all items."""
    if block.shape[0] == 1 and sparse.issparse(block):
        # Sparse products first count what they will find, which takes as long again.
        return (columns[block.indices].T @ block.data)[None]
    return block @ columns


def _unit(rows: Any) -> Any:
    """Scale rows to length 1; rows of zeros stay zero. As scikit-learn's ``normalize``."""
    if not sparse.issparse(rows):
        rows = np.asarray(rows)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return rows / np.where(lengths > 0, lengths, 1)[:, None]
    rows = sparse.csr_matrix(rows)
    squares = np.bincount(
        np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)),
        np.square(rows.data, dtype=np.float64),
        rows.shape[0],
    )
    lengths = np.repeat(np.sqrt(squares), np.diff(rows.indptr)).astype(rows.dtype)
    scaled = rows.data / np.where(lengths > 0, lengths, 1)
    return sparse.csr_matrix((scaled, rows.indices, rows.indptr), shape=rows.shape)
