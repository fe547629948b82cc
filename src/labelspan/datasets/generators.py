"""Synthetic multi-label data of known structure, of any size."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from .._params import Constraint, Either, Integer, Null, Real, check_params
from ..errors import InvalidParameter
from .dataset import DataSet

__all__ = ["make_tagged_vectors"]

Random = int | np.random.Generator | None
# Numbers sampled at a time.
_BLOCK = 1 << 22
# Ranks count from here: the most frequent label is not far above the second.
_HEAD = 5.0
_COUNT = Integer(1)
_VECTORS: dict[str, Constraint] = {
    "n": _COUNT,
    "d": _COUNT,
    "labels": _COUNT,
    "rank": Either((_COUNT, Null())),
    "labels_per_row": Real(1),
    "nuisance": Integer(0),
    "noise": Real(0),
}


def make_tagged_vectors(
    n: int = 1000,
    d: int = 64,
    labels: int = 20,
    *,
    rank: int | None = None,
    labels_per_row: float = 2.5,
    nuisance: int = 0,
    noise: float = 0.5,
    random_state: Random = None,
) -> DataSet:
    """Generate dense vectors, similar to sentence embeddings, with labels as directions.

    A vector is the sum of the directions of its labels, each of length one, of ``nuisance``
    directions that are independent of the labels, and of noise.

    Parameters
    ----------
    n, d, labels : int, default=1000, 64 and 20
        Number of vectors, of features, and of labels.
    rank : int or None, default=None
        The dimension of the space that the directions of the labels span; None for the largest
        possible.
    labels_per_row : float, default=2.5
        The mean number of labels, at least one; the frequency of a label is about inversely
        proportional to its rank. Labels are sampled with replacement and duplicates dropped, so
        that the mean is somewhat lower.
    nuisance : int, default=0
        Number of further directions, orthogonal to those of the labels, along which rows vary
        with a standard deviation of 2.
    noise : float, default=0.5
        The expected length of the isotropic noise.
    random_state : int, Generator or None, default=None
        Seed or generator of random numbers.

    Returns
    -------
    DataSet
        X in float32, Y in CSR format. The mean of X given Y is ``offset + Y @ directions``, which
        are in ``extra``.

    See Also
    --------
    load_debtags : Load a corpus of texts with tags.

    Examples
    --------
    >>> from labelspan.datasets import make_tagged_vectors
    >>> make_tagged_vectors(100, 16, 8, rank=3, random_state=0)
    <DataSet tagged_vectors: 100 rows, 16 features, 8 labels>
    """
    check_params("make_tagged_vectors", locals(), _VECTORS)
    inner = min(labels, d) if rank is None else rank
    if inner + nuisance > d or inner > labels:
        raise InvalidParameter(
            f"make_tagged_vectors: rank={inner} must be at most labels={labels}, and with "
            f"nuisance={nuisance} at most d={d}; choose fewer."
        )
    rng = np.random.default_rng(random_state)
    basis = np.linalg.qr(rng.standard_normal((d, inner + nuisance)))[0].T
    directions = rng.standard_normal((labels, inner)) @ basis[:inner]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    offset = rng.standard_normal(d) / np.sqrt(d)
    Y = _draw_labels(rng, n, labels, labels_per_row)
    X = np.empty((n, d), dtype=np.float32)
    step = max(1, _BLOCK // d)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        rows = X[part].shape[0]
        X[part] = offset + Y[part] @ directions
        X[part] += 2 * rng.standard_normal((rows, nuisance)) @ basis[inner:]
        X[part] += noise / np.sqrt(d) * rng.standard_normal((rows, d), dtype=np.float32)
    return DataSet(
        "tagged_vectors",
        X,
        Y,
        source="sampled by make_tagged_vectors",
        extra=MappingProxyType({"directions": directions, "offset": offset}),
    )


def _draw_labels(rng: np.random.Generator, n: int, labels: int, mean: float) -> Any:
    """Sample at least one label per row; return 0 and 1 in CSR format."""
    rows = np.repeat(np.arange(n), 1 + rng.poisson(mean - 1, n))
    weights = 1.0 / (_HEAD + np.arange(labels))
    ends = np.cumsum(weights / weights.sum())
    ranks = np.minimum(np.searchsorted(ends, rng.random(rows.size)), labels - 1)
    keys = np.unique(rows * labels + ranks)
    indptr = np.searchsorted(keys, labels * np.arange(n + 1)).astype(np.int32)
    columns = (keys % labels).astype(np.int32)
    return sparse.csr_array((np.ones(keys.size, dtype=np.uint8), columns, indptr), (n, labels))
