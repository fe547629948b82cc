"""Retrieval: whether the nearest items share labels with the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from .._params import Boolean, Integer, OneOf, check_params
from ..errors import InvalidLabels, InvalidParameter, Mismatch
from ..graph.neighbors import Metric, nearest_neighbors
from .metric_inputs import Array, read_label_table, read_vectors

__all__ = ["LabelGains", "retrieval_at_k"]

# Maximum number of entries in a block of queries and all items: 16 MB in float64.
_BLOCK = 2_000_000


@dataclass(frozen=True)
class RetrievalScores:
    """Means over the queries that have labels, and the number of queries."""

    precision: float
    ndcg: float
    jaccard: float
    n_queries: int
    left_out: int
    unmatched: int


def retrieval_at_k(
    query_vectors: Any,
    query_labels: Any,
    item_vectors: Any,
    item_labels: Any,
    k: int = 10,
    *,
    metric: Metric = "cosine",
    exclude_self: bool = False,
) -> RetrievalScores:
    r"""Compute precision, nDCG and label Jaccard of the ``k`` nearest items of each query.

    Queries without labels are skipped and counted. Items at equal distance are ranked in their
    original order. Queries are processed in blocks: the matrix of queries and items in memory has
    at most two million entries, or one row.

    Parameters
    ----------
    query_vectors : array or sparse matrix of shape (n, d)
        The vectors of the queries.
    query_labels : array or sparse matrix of shape (n, q)
        Their labels, 0 and 1.
    item_vectors : array or sparse matrix of shape (N, d)
        The vectors of the items.
    item_labels : array or sparse matrix of shape (N, q)
        Their labels, 0 and 1.
    k : int, default=10
        The number of nearest items to evaluate.
    metric : {"cosine", "euclidean"}, default="cosine"
        The nearest item has the largest cosine, or the smallest distance. A vector of zeros has
        cosine 0 with all others.
    exclude_self : bool, default=False
        Whether queries and items are the same rows, so that item i is left out for query i.

    Returns
    -------
    RetrievalScores
        With the means ``precision``, ``ndcg`` and ``jaccard`` over the ``n_queries`` queries that
        have labels; ``left_out``, the number of those that have none; and ``unmatched``, the
        number of those whose labels no item has, for which all three are 0.

    See Also
    --------
    labelspan.graph.neighbors.nearest_neighbors : The search by itself.

    Notes
    -----
    With :math:`J(q, i)`, the number of labels that query and item share divided by the number of
    labels that at least one of them has:

    - precision: the fraction of the k nearest items with at least one label of the query;
    - jaccard: the mean of :math:`J` over the k nearest items;
    - ndcg: DCG / IDCG, where DCG is the sum of :math:`J / \log_2(1 + r)` over the k nearest
      items with rank :math:`r = 1, 2, \ldots`, and IDCG is the same sum for the k items with the
      largest :math:`J`; 0 if IDCG is 0.

    References
    ----------
    K. Jarvelin, J. Kekalainen. Cumulated gain-based evaluation of IR techniques. ACM Transactions
    on Information Systems 20(4), 422-446, 2002.

    Examples
    --------
    >>> from labelspan.metrics import retrieval_at_k
    >>> items, labels = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [[1, 0], [1, 1], [0, 1]]
    >>> found = retrieval_at_k([[1.0, 0.05]], [[1, 0]], items, labels, k=2)
    >>> found.precision, found.jaccard, found.ndcg
    (1.0, 0.75, 1.0)
    """
    owner = "retrieval_at_k"
    check_params(
        owner,
        {"k": k, "metric": metric, "exclude_self": exclude_self},
        {
            "k": Integer(1),
            "metric": OneOf(("cosine", "euclidean")),
            "exclude_self": Boolean(),
        },
    )
    queries = read_vectors(query_vectors, "query_vectors", owner)
    items = read_vectors(item_vectors, "item_vectors", owner)
    wanted = read_label_table(query_labels, "query_labels", owner)
    tags = read_label_table(item_labels, "item_labels", owner)
    _require_fit(owner, queries, wanted, items, tags)
    available = items.shape[0] - exclude_self
    if exclude_self and queries.shape[0] != items.shape[0]:
        raise Mismatch(
            f"{owner}: exclude_self=True needs queries and items that are the same rows, "
            f"but there are {queries.shape[0]} queries and {items.shape[0]} items."
        )
    if k > available:
        raise InvalidParameter(
            f"{owner}: k must be at most the {available} items that a query can find, "
            f"but {k} was given."
        )
    known = np.flatnonzero(np.asarray(wanted.sum(axis=1)).ravel())
    if not known.size:
        raise InvalidLabels(f"{owner}: no query has a label; pass at least one that does.")
    ranked, _ = nearest_neighbors(
        items, k, queries[known], metric=metric, exclude=known if exclude_self else None
    )
    sums, unmatched = np.zeros(3), 0
    step = max(1, _BLOCK // items.shape[0])
    for start in range(0, known.size, step):
        rows = known[start : start + step]
        gains = LabelGains.of(wanted[rows], tags, k, exclude=rows if exclude_self else None)
        found = ranked[start : start + step]
        gained = np.take_along_axis(gains.table, found, axis=1)
        ndcg = gains.ndcg(found)
        sums += (gained > 0).mean(axis=1).sum(), np.nansum(ndcg), gained.mean(axis=1).sum()
        unmatched += int(np.isnan(ndcg).sum())
    precision, mean_ndcg, jaccard = (float(one) for one in sums / known.size)
    left_out = queries.shape[0] - known.size
    return RetrievalScores(precision, mean_ndcg, jaccard, known.size, left_out, unmatched)


@dataclass(frozen=True)
class LabelGains:
    """Overlap of the labels of queries and items, and the best possible DCG of a list."""

    table: Array  # (q, n), the Jaccard index of the labels of each query and item
    ideal: Array  # (q,), DCG of the items with the largest entries

    @classmethod
    def of(cls, queries: Any, items: Any, depth: int, exclude: Array | None = None) -> LabelGains:
        """Compare indicators of 0 and 1; ``exclude`` is an item to skip for each query."""
        sizes, item_sizes = (
            np.asarray(side.sum(axis=1, dtype=np.float64)).ravel() for side in (queries, items)
        )
        shared = safe_sparse_dot(queries, items.T, dense_output=True)
        table = shared / np.maximum(sizes[:, None] + item_sizes - shared, 1.0)
        if exclude is not None:
            table[np.arange(exclude.size), exclude] = 0.0
        depth = min(depth, table.shape[1])
        best = np.sort(np.partition(table, -depth, axis=1)[:, -depth:], axis=1)[:, ::-1]
        return cls(table, best @ _discount(depth))

    def ndcg(self, ranked: Array) -> Array:
        """Return the nDCG of a list of items for each query; NaN if none shares a label."""
        gained = np.take_along_axis(self.table, ranked, axis=1) @ _discount(ranked.shape[1])
        known = self.ideal > 0
        return np.where(known, gained / np.where(known, self.ideal, 1.0), np.nan)

    def above_others(self, ranked: Array) -> Array:
        """Return the nDCG of each list, less its mean nDCG for the labels of other queries."""
        own = self.ndcg(ranked)
        known = self.ideal > 0
        total = (self.table[known] / self.ideal[known, None]).sum(axis=0)
        others: Array = total[ranked] @ _discount(ranked.shape[1]) - own
        return own - others / max(int(known.sum()) - 1, 1)


def _discount(depth: int) -> Array:
    return 1.0 / np.log2(np.arange(2, depth + 2, dtype=np.float64))


def _require_fit(owner: str, queries: Any, wanted: Any, items: Any, tags: Any) -> None:
    """Raise an error if vectors and labels do not match."""
    if queries.shape[1] != items.shape[1]:
        raise Mismatch(
            f"{owner}: query_vectors and item_vectors must have the same number of columns, "
            f"but have {queries.shape[1]} and {items.shape[1]}."
        )
    if wanted.shape[1] != tags.shape[1]:
        raise Mismatch(
            f"{owner}: query_labels and item_labels must have the same labels as columns, "
            f"but have {wanted.shape[1]} and {tags.shape[1]}."
        )
    for side, vectors, labels in (("query", queries, wanted), ("item", items, tags)):
        if vectors.shape[0] != labels.shape[0]:
            raise Mismatch(
                f"{owner}: {side}_labels must have a row for each row of {side}_vectors, "
                f"which has {vectors.shape[0]}, but has {labels.shape[0]}."
            )
