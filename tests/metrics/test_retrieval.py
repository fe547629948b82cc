"""Retrieval measures: brute force, by hand, invariances, and what is refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as sk

from labelspan.errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from labelspan.metrics import retrieval as module
from labelspan.metrics import retrieval_at_k

SEEDS = range(2)
GOOD = np.array([[1, 0], [0, 1], [1, 1]])


# --- retrieval ---


def corpus(seed, queries=23, items=31, labels=6):
    rng = np.random.default_rng(seed)
    vectors = [rng.standard_normal((n, 4)) for n in (queries, items)]
    for side in vectors:
        side[rng.random(side.shape) < 0.3] = 0.0
    tags = [(rng.random((n, labels)) < 0.3).astype(int) for n in (queries, items)]
    tags[0][3] = 0
    tags[0][:, -1] = tags[1][:, -1] = 0
    # This query's only label is on no item.
    tags[0][4] = np.eye(labels, dtype=int)[-1]
    return vectors[0], tags[0], vectors[1], tags[1]


def nearness(one, two, metric):
    if metric == "euclidean":
        return -np.linalg.norm(one - two)
    length = np.linalg.norm(one) * np.linalg.norm(two)
    return one @ two / (length or 1.0)


def brute_force(lists, query_labels, item_labels, k, left=()):
    """Precision, nDCG (scikit-learn's) and Jaccard, query by query, from ranked lists."""
    rows = []
    for query, (order, own) in enumerate(zip(lists, query_labels, strict=True)):
        if not own.any():
            continue
        pool = [item for item in range(len(item_labels)) if (query, item) not in left]
        gain = {i: (own & item_labels[i]).sum() / (own | item_labels[i]).sum() for i in pool}
        found = [gain[item] for item in order[:k]]
        place = {item: -rank for rank, item in enumerate(order)}
        scores = [place.get(item, -len(pool) - 1.0) for item in pool]
        ndcg = sk.ndcg_score([[gain[item] for item in pool]], [scores], k=k, ignore_ties=True)
        rows.append((np.mean(np.array(found) > 0), ndcg, np.mean(found)))
    return np.mean(rows, axis=0)


def three(found):
    return found.precision, found.ndcg, found.jaccard


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("seed", SEEDS)
def test_retrieval_by_brute_force(seed, metric):
    queries, query_labels, items, item_labels = given = corpus(seed)
    near = np.array([[nearness(q, i, metric) for i in items] for q in queries])
    lists = np.argsort(-near, axis=1, kind="stable")
    for k in (1, 5, 31):
        found = retrieval_at_k(*given, k=k, metric=metric)
        expected = brute_force(lists, query_labels, item_labels, k)
        np.testing.assert_allclose(three(found), expected)
        assert found.n_queries == query_labels.any(axis=1).sum()
        assert found.left_out == 23 - found.n_queries > 0
        shared = query_labels @ item_labels.T
        assert found.unmatched == (~shared.any(axis=1)).sum() - found.left_out > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_query_does_not_find_itself(seed):
    _, _, items, labels = corpus(seed)
    near = np.array([[nearness(q, i, "cosine") for i in items] for q in items])
    np.fill_diagonal(near, -2)
    lists = np.argsort(-near, axis=1, kind="stable")[:, :-1]
    left = {(row, row) for row in range(31)}
    found = retrieval_at_k(items, labels, items, labels, k=5, exclude_self=True)
    np.testing.assert_allclose(three(found), brute_force(lists, labels, labels, 5, left))
    assert retrieval_at_k(items, labels, items, labels, k=5).jaccard > found.jaccard


@pytest.mark.parametrize(
    ("metric", "kind"), [("cosine", sparse.csr_array), ("euclidean", sparse.csc_matrix)]
)
def test_sparse_vectors_and_labels_are_dense_ones(metric, kind):
    given = corpus(0)
    expected = three(retrieval_at_k(*given, k=4, metric=metric))
    for pattern in ((1, 1, 1, 1), (1, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0), (0, 0, 0, 1)):
        held = [kind(part) if yes else part for part, yes in zip(given, pattern, strict=True)]
        found = retrieval_at_k(*held, k=4, metric=metric)
        np.testing.assert_allclose(three(found), expected)
        for one, two in zip(held, corpus(0), strict=True):
            np.testing.assert_array_equal(one.toarray() if sparse.issparse(one) else one, two)


def test_blocks_change_nothing(monkeypatch):
    given = corpus(1)
    whole = retrieval_at_k(*given, k=4)
    for block in (100, 31, 5):
        monkeypatch.setattr(module, "_BLOCK", block)
        np.testing.assert_allclose(three(retrieval_at_k(*given, k=4)), three(whole))


# --- bad input ---

RETRIEVAL = [
    ({"k": 0}, InvalidParameter, "k must be a whole number of at least 1, but 0 was given"),
    ({"k": 4}, InvalidParameter, "k must be at most the 3 items that a query can find, but 4"),
    ({"query_labels": GOOD * 0}, InvalidLabels, "no query has a label; give at least one"),
    ({"query_labels": GOOD[:2]}, Mismatch, "query_labels must have a row for each row of"),
    ({"item_labels": GOOD[:, :1]}, Mismatch, "must have the same labels as columns, but have 2"),
    ({"item_labels": GOOD + 1}, InvalidLabels, "item_labels must hold only 0 and 1, but has 2"),
]
VECTORS = [
    ({"metric": "l1"}, InvalidParameter, "metric must be one of 'cosine', 'euclidean'"),
    ({"item_vectors": GOOD[:2]}, Mismatch, "item_labels must have a row for each row of item_v"),
    ({"query_vectors": GOOD * np.nan}, InvalidInput, "query_vectors must be finite"),
]


@pytest.mark.parametrize(("change", "error", "sentence"), RETRIEVAL + VECTORS)
def test_bad_input_raises_an_error(change, error, sentence):
    given = {"query_labels": GOOD, "item_labels": GOOD, "k": 2}
    given |= {"query_vectors": GOOD, "item_vectors": GOOD}
    with pytest.raises(error, match=sentence) as caught:
        retrieval_at_k(**given | change)
    assert str(caught.value).startswith("retrieval_at_k: ")
