"""Nearest rows of a table of unit vectors, by their cosine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import Array

__all__ = ["nearest_rows"]

# Rows compared at once, and columns of which first only the largest is looked at.
_ROWS, _GROUP = 1024, 32
# Above this number of rows, a row is compared with those of the clusters near its own. These
# numbers keep most neighbours.
_EXACT = 100_000
_CLUSTER, _NEAR_CLUSTERS = 1000, 12
_CENTRES_FROM = 20
# Equal values that are all kept take memory: a block with more than this many per row and
# neighbour is searched as a whole, that many rows at a time.
_TIES, _TIED = 64, 64

Progress = Callable[[int, int], None]


def nearest_rows(table: Array, k: int, progress: Progress | None = None) -> Array:
    """Return for each row the numbers of the ``k`` nearest other rows, the nearest first.

    Parameters
    ----------
    table : array of shape (n, m)
        Rows of length 1, in float32; more than ``k`` of them. Above 100,000 rows, a few
        neighbours are missed.
    k : int
        Number of neighbours.
    progress : function or None, default=None
        Called with the number of rows done, and of all.

    Returns
    -------
    array of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.display.nearest_rows import nearest_rows
    >>> turns = np.array([0.0, 0.1, 0.3, 1.0])
    >>> table = np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)
    >>> nearest_rows(table, 2).tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1]]
    """
    count = len(table)
    found = np.empty((count, k), dtype=np.int32)
    if count <= _EXACT:
        everything = np.arange(count)
        for start in range(0, count, _ROWS):
            rows = everything[start : start + _ROWS]
            found[rows] = _best(table, rows, everything, k)
            if progress is not None:
                progress(rows[-1] + 1, count)
        return found
    done = 0
    for rows, others in _clusters(table, k):
        for start in range(0, rows.size, _ROWS):
            part = rows[start : start + _ROWS]
            found[part] = _best(table, part, others, k)
            done += part.size
            if progress is not None:
                progress(done, count)
    return found


def _best(table: Array, rows: Array, others: Array, k: int) -> Array:
    """Return the nearest of ``others``, which are sorted and hold the rows themselves."""
    groups = max(-(-others.size // _GROUP), k)
    scores = np.full((rows.size, groups * _GROUP), -4.0, dtype=np.float32)
    # All rows in their order need no copy.
    among = table if others.size == len(table) else table[others]
    np.matmul(table[rows], among.T, out=scores[:, : others.size])
    scores[np.arange(rows.size), np.searchsorted(others, rows)] = -3.0
    # The k-th largest of the maxima of groups is at most the k-th largest of all values.
    tops = scores.reshape(rows.size, _GROUP, groups).max(axis=1)
    least = np.partition(tops, groups - k, axis=1)[:, groups - k]
    left = np.flatnonzero(scores >= least[:, None])
    if left.size > _TIES * k * rows.size:
        some = np.concatenate(
            [_first_largest(scores[at : at + _TIED], k) for at in range(0, rows.size, _TIED)]
        )
        order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
        return np.asarray(others[np.take_along_axis(some, order, axis=1)])
    own, columns = np.divmod(left, scores.shape[1])
    order = np.lexsort((columns, -scores.ravel()[left], own))
    first = np.searchsorted(own, np.arange(rows.size))
    return np.asarray(others[columns[order][first[:, None] + np.arange(k)]])


def _first_largest(scores: Array, k: int) -> Array:
    """Return the columns of the ``k`` largest of each row, in order; of equal ones the first.

    A partition by itself chooses among equal values as the processor likes.
    """
    least = np.partition(scores, scores.shape[1] - k, axis=1)[:, -k, None]
    larger, equal = scores > least, scores == least
    room = k - larger.sum(axis=1, dtype=np.int32, keepdims=True)
    larger |= equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= room)
    return np.nonzero(larger)[1].reshape(len(scores), k)


def _clusters(table: Array, k: int) -> list[tuple[Array, Array]]:
    """Return clusters of rows, each with the rows of the clusters near it."""
    from sklearn.cluster import KMeans  # noqa: PLC0415 - it is slow to import

    rng = np.random.RandomState(0)
    number = max(len(table) // _CLUSTER, 2 * _NEAR_CLUSTERS)
    chosen = np.sort(rng.choice(len(table), min(len(table), _CENTRES_FROM * number), replace=False))
    means = KMeans(number, n_init=1, max_iter=10, init="random", random_state=rng)
    centres = means.fit(table[chosen]).cluster_centers_.astype(np.float32)
    half = np.square(centres).sum(axis=1) / 2
    own = np.concatenate(
        [
            np.argmax(table[start : start + _ROWS] @ centres.T - half, axis=1)
            for start in range(0, len(table), _ROWS)
        ]
    )
    members = [np.flatnonzero(own == cluster) for cluster in range(number)]
    near = np.argsort(-(centres @ centres.T - half), axis=1, kind="stable")
    found = []
    for cluster, rows in enumerate(members):
        if rows.size:
            order = near[cluster]
            sizes = np.cumsum([members[other].size for other in order])
            # As many clusters as are needed for k neighbours, the own one among them.
            most = max(_NEAR_CLUSTERS, int(np.searchsorted(sizes, k + 1)) + 1)
            others = np.unique(np.concatenate([rows, *(members[other] for other in order[:most])]))
            # If the own cluster is not among the nearest to itself, it adds its rows.
            found.append((rows, others))
    return found
