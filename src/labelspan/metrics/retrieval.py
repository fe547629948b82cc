"""Retrieval: whether the nearest items share labels with the query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot

from .._params import Boolean, Constraint, Integer, OneOf, check_params
from ..errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from .metric_inputs import Array, read_label_table, read_vectors

__all__ = ["RetrievalScores", "ranked_at_k", "retrieval_at_k"]

# The most entries of a block of queries against all items: 16 MB in float64.
_BLOCK = 2_000_000

_CHOICES: dict[str, Constraint] = {
    "k": Integer(1),
    "metric": OneOf(("cosine", "dot", "euclidean")),
    "exclude_self": Boolean(),
}


@dataclass(frozen=True)
class RetrievalScores:
    """Hold means over the queries that have labels.

    Attributes
    ----------
    precision, ndcg, jaccard : float
        The metrics that :func:`retrieval_at_k` defines.
    n_queries : int
        The number of queries with labels.
    left_out : int
        The number of queries without labels.
    unmatched : int
        The number of queries with labels that no item has; all three metrics are 0 for them.

    See Also
    --------
    retrieval_at_k : Compute them from vectors.
    ranked_at_k : Compute them from ranked lists.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.metrics import retrieval_at_k
    >>> Z, Y = np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 0.0]]), np.array([[1], [1], [0]])
    >>> found = retrieval_at_k(Z, Y, Z, Y, k=1, exclude_self=True)
    >>> found.precision, found.n_queries, found.left_out
    (1.0, 2, 1)
    """

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
    metric: Literal["cosine", "dot", "euclidean"] = "cosine",
    exclude_self: bool = False,
) -> RetrievalScores:
    r"""Compute precision, nDCG and label Jaccard of the ``k`` nearest items of each query.

    Queries without labels are left out and counted. Items at equal distance are ranked in their
    own order. Queries are processed in blocks: the matrix of queries and items in memory has at
    most two million entries, or one row.

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
    metric : {"cosine", "dot", "euclidean"}, default="cosine"
        The nearest item has the largest cosine or inner product, or the smallest distance. A
        vector of zeros has cosine 0 with all others.
    exclude_self : bool, default=False
        Whether queries and items are the same rows, so that item i is left out for query i.

    Returns
    -------
    RetrievalScores
        The means over queries, and how many queries were left out.

    See Also
    --------
    ranked_at_k : Compute the same metrics from ranked lists.

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
    check_params(owner, {"k": k, "metric": metric, "exclude_self": exclude_self}, _CHOICES)
    queries = read_vectors(query_vectors, "query_vectors", owner)
    items = read_vectors(item_vectors, "item_vectors", owner)
    if queries.shape[1] != items.shape[1]:
        raise Mismatch(
            f"{owner}: query_vectors and item_vectors must have the same number of columns, "
            f"but have {queries.shape[1]} and {items.shape[1]}."
        )
    labels = _QueryLabels(query_labels, item_labels, owner, exclude_self=exclude_self)
    labels.require("query_vectors", queries.shape[0], "query_labels")
    labels.require("item_vectors", items.shape[0], "item_labels")
    labels.require_depth(k)
    if metric == "cosine":
        queries, items = normalize(queries), normalize(items)

    def nearest(rows: Array) -> Array:
        if metric == "euclidean":
            near = -euclidean_distances(queries[rows], items, squared=True)
        else:
            near = np.asarray(safe_sparse_dot(queries[rows], items.T, dense_output=True))
        if exclude_self:
            near[np.arange(rows.size), rows] = -np.inf
        return _largest(near, k)

    return labels.measure(nearest, k)


def ranked_at_k(
    ranked: Any,
    query_labels: Any,
    item_labels: Any,
    k: int = 10,
    *,
    exclude_self: bool = False,
) -> RetrievalScores:
    """Compute precision, nDCG and label Jaccard of ranked lists of items.

    The metrics are those of :func:`retrieval_at_k`.

    Parameters
    ----------
    ranked : array of int, of shape (n, k) or wider
        The numbers of the items for each query, from 0, best first; from similarities:
        ``np.argsort(-similarities, axis=1)``.
    query_labels, item_labels : arrays or sparse matrices of shape (n, q) and (N, q)
        The labels, 0 and 1.
    k : int, default=10
        The number of items of each list to evaluate.
    exclude_self : bool, default=False
        Whether queries and items are the same rows: item i then must not be in list i, and is
        not in the ideal list either.

    Returns
    -------
    RetrievalScores
        The means over queries, and how many queries were left out.

    See Also
    --------
    retrieval_at_k : Compute the same metrics from vectors.

    Examples
    --------
    >>> from labelspan.metrics import ranked_at_k
    >>> found = ranked_at_k([[2, 0]], [[1, 0]], [[1, 0], [1, 1], [0, 1]], k=2)
    >>> found.precision, found.jaccard, round(found.ndcg, 4)
    (0.5, 0.5, 0.4796)
    """
    owner = "ranked_at_k"
    check_params(
        owner,
        {"k": k, "exclude_self": exclude_self},
        {name: _CHOICES[name] for name in ("k", "exclude_self")},
    )
    lists = np.asarray(ranked)
    if lists.ndim != 2 or lists.dtype.kind not in "iu" or lists.shape[1] < k:
        raise InvalidInput(
            f"{owner}: ranked must be a two-dimensional array of integers with at least "
            f"k = {k} columns, but has shape {lists.shape} and type {lists.dtype}."
        )
    labels = _QueryLabels(query_labels, item_labels, owner, exclude_self=exclude_self)
    labels.require("ranked", lists.shape[0], "query_labels")
    labels.require_depth(k)
    lists = lists[:, :k]
    if lists.min() < 0 or lists.max() >= labels.n_items:
        raise InvalidInput(
            f"{owner}: ranked must hold item numbers from 0 to {labels.n_items - 1}, "
            f"but has {lists.min()} to {lists.max()}."
        )
    ordered = np.sort(lists, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise InvalidInput(f"{owner}: ranked names an item twice in one list; name each once.")
    if exclude_self and (lists == np.arange(lists.shape[0])[:, None]).any():
        raise Mismatch(
            f"{owner}: ranked has item i in list i, which exclude_self=True rules out; "
            "remove it from the list."
        )
    return labels.measure(lambda rows: lists[rows], k)


class _QueryLabels:
    """Labels of queries and items, with which lists of items are evaluated."""

    def __init__(
        self, query_labels: Any, item_labels: Any, owner: str, *, exclude_self: bool
    ) -> None:
        self._queries = read_label_table(query_labels, "query_labels", owner)
        self._items = read_label_table(item_labels, "item_labels", owner)
        self._owner, self._exclude_self = owner, exclude_self
        self.n_items = self._items.shape[0]
        if self._queries.shape[1] != self._items.shape[1]:
            raise Mismatch(
                f"{owner}: query_labels and item_labels must have the same labels as columns, "
                f"but have {self._queries.shape[1]} and {self._items.shape[1]}."
            )
        if exclude_self and self._queries.shape[0] != self.n_items:
            raise Mismatch(
                f"{owner}: exclude_self=True needs queries and items that are the same rows, "
                f"but there are {self._queries.shape[0]} queries and {self.n_items} items."
            )

    def require(self, what: str, count: int, side: str) -> None:
        """Raise :class:`Mismatch` if labels and what they belong to differ in length."""
        found = (self._queries if side == "query_labels" else self._items).shape[0]
        if count != found:
            raise Mismatch(
                f"{self._owner}: {side} must have a row for each row of {what}, "
                f"which has {count}, but has {found}."
            )

    def require_depth(self, k: int) -> None:
        """Raise :class:`InvalidParameter` if a query has fewer than ``k`` items to find."""
        most = self.n_items - self._exclude_self
        if k > most:
            raise InvalidParameter(
                f"{self._owner}: k must be at most the {most} items that a query can find, "
                f"but {k} was given."
            )

    def measure(self, nearest: Callable[[Array], Array], k: int) -> RetrievalScores:
        """Average over queries; ``nearest`` returns the k items, in order, of some of them."""
        sizes, item_sizes = (
            np.asarray(side.sum(axis=1, dtype=np.float64)).ravel()
            for side in (self._queries, self._items)
        )
        known = np.flatnonzero(sizes)
        if not known.size:
            raise InvalidLabels(f"{self._owner}: no query has a label; give at least one that has.")
        discount = 1 / np.log2(np.arange(2, k + 2))
        sums, unmatched = np.zeros(3), 0
        step = max(1, _BLOCK // self.n_items)
        for start in range(0, known.size, step):
            rows = known[start : start + step]
            shared = safe_sparse_dot(self._queries[rows], self._items.T, dense_output=True)
            gains = shared / (sizes[rows, None] + item_sizes - shared)
            if self._exclude_self:
                gains[np.arange(rows.size), rows] = 0.0
            found = np.take_along_axis(gains, nearest(rows), axis=1)
            best = np.sort(np.partition(gains, -k, axis=1)[:, -k:], axis=1)[:, ::-1]
            ideal = best @ discount
            matched = ideal > 0
            ndcg = (found @ discount)[matched] / ideal[matched]
            sums += (found > 0).mean(axis=1).sum(), ndcg.sum(), found.mean(axis=1).sum()
            unmatched += int((~matched).sum())
        precision, ndcg_mean, jaccard = (float(one) for one in sums / known.size)
        left_out = sizes.size - known.size
        return RetrievalScores(precision, ndcg_mean, jaccard, known.size, left_out, unmatched)


def _largest(values: Array, k: int) -> Array:
    """Return the columns of the ``k`` largest of each row, largest first, ties from the left."""
    cut = np.partition(values, -k, axis=1)[:, -k, None]
    chosen = values > cut
    ties = values == cut
    room = k - chosen.sum(axis=1, keepdims=True)
    chosen |= ties & (ties.cumsum(axis=1) <= room)
    places = np.nonzero(chosen)[1].reshape(-1, k)
    order = np.argsort(-np.take_along_axis(values, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)
