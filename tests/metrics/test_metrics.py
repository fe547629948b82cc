"""Metrics: closed forms, brute force, scikit-learn where it has the measure, invariances."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn import metrics as sk

from labelspan.errors import InvalidInput, InvalidLabels, InvalidParameter, Mismatch
from labelspan.metrics import (
    average_precision,
    f1_scores,
    mean_auc,
    principal_angles,
    retrieval_at_k,
    threshold_by_share,
)
from labelspan.metrics.retrieval import LabelGains

SEEDS = range(2)
BY_LABEL = [mean_auc, average_precision]
HARD = [f1_scores]


def problem(seed, rows=40, labels=5, ties=False):
    """Labels of which the last is empty, a row without labels and one with all, and scores."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((rows, labels)) < 0.35).astype(int)
    Y[0], Y[1] = 0, 1
    Y[:, -1] = 0
    scores = rng.standard_normal((rows, labels)) + Y
    return Y, np.round(scores) if ties else scores


def first(result):
    return result.macro if hasattr(result, "macro") else result.value


# --- label by label ---


@pytest.mark.parametrize("seed", SEEDS)
def test_f1_is_that_of_scikit_learn(seed):
    Y, scores = problem(seed)
    said = (scores > 0.5).astype(int)
    found = f1_scores(Y, said)
    per_label = sk.f1_score(Y, said, average=None, zero_division=0)
    np.testing.assert_allclose(found.per_label[:-1], per_label[:-1])
    assert np.isnan(found.per_label[-1])
    assert found.left_out == 1
    assert found.macro == pytest.approx(sk.f1_score(Y[:, :-1], said[:, :-1], average="macro"))
    assert found.micro == pytest.approx(sk.f1_score(Y, said, average="micro"))
    everywhere = sk.f1_score(Y, said, average="macro", zero_division=0)
    assert np.nan_to_num(found.per_label).mean() == pytest.approx(everywhere)
    single = f1_scores(Y[:, :1], said[:, :1])
    assert single.macro == single.micro == pytest.approx(sk.f1_score(Y[:, 0], said[:, 0]))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_auc_and_average_precision_are_those_of_scikit_learn(seed, ties):
    Y, scores = problem(seed, ties=ties)
    for measure, reference in (
        (mean_auc, sk.roc_auc_score),
        (average_precision, sk.average_precision_score),
    ):
        found = measure(Y, scores)
        expected = [reference(Y[:, j], scores[:, j]) for j in range(4)]
        np.testing.assert_allclose(found.per_label[:-1], expected)
        assert np.isnan(found.per_label[-1])
        assert found.value == pytest.approx(np.mean(expected))
        assert found.left_out == 1


# --- what must not matter ---


@pytest.mark.parametrize(
    ("measure", "kind"),
    zip([*BY_LABEL, *HARD], [sparse.csr_array, sparse.csc_matrix, sparse.coo_array], strict=True),
)
def test_sparse_labels_are_dense_labels_and_stay_as_they_are(measure, kind):
    Y, scores = problem(3)
    given = (scores > 0.5).astype(int) if measure in HARD else scores
    held, before = kind(Y), (Y.copy(), given.copy())
    assert first(measure(held, given)) == first(measure(Y, given))
    assert first(measure(Y.astype(bool), kind(given))) == first(measure(Y, given))
    np.testing.assert_array_equal(held.toarray(), before[0])
    np.testing.assert_array_equal(Y, before[0])
    np.testing.assert_array_equal(given, before[1])


# --- thresholds ---


@pytest.mark.parametrize("seed", SEEDS)
def test_a_threshold_leaves_the_share_above(seed):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((101, 4)) * [1, 10, 100, 1e-8]
    shares = np.array([0.0, 0.13, 0.5, 1.0])
    above = (scores > threshold_by_share(scores, shares)).sum(axis=0)
    np.testing.assert_array_equal(above, [0, 13, 50, 101])
    assert ((scores - threshold_by_share(scores, shares) > 0).sum(axis=0) == above).all()
    # Of any number of rows it is the share to within one row.
    for rows in (2, 7, 60):
        said = scores[:rows] > threshold_by_share(scores[:rows], 0.3)
        assert (np.abs(said.sum(axis=0) - 0.3 * rows) < 1).all()
    narrow = scores.astype(np.float32)
    assert threshold_by_share(narrow, 1.0).dtype == np.float32
    assert (narrow > threshold_by_share(narrow, 1.0)).all()


# --- subspaces ---


@pytest.mark.parametrize("angles", [[0.3], [1.2, 0.4, 1e-9], [np.pi / 2, 0.0]])
def test_principal_angles_of_a_construction_are_found(angles):
    rng = np.random.default_rng(0)
    p = len(angles)
    basis = linalg.qr(rng.standard_normal((9, 9)))[0]
    one = basis[:, :p]
    two = one * np.cos(angles) + basis[:, p : 2 * p] * np.sin(angles)
    mixed = [side @ rng.standard_normal((p, p)) for side in (one, two)]
    np.testing.assert_allclose(principal_angles(*mixed), angles, atol=1e-13)
    np.testing.assert_allclose(principal_angles(*mixed[::-1]), angles, atol=1e-13)
    # Columns that depend on others change nothing.
    doubled = np.column_stack([mixed[0], mixed[0] @ rng.standard_normal((p, 2)), np.zeros(9)])
    np.testing.assert_allclose(principal_angles(doubled, mixed[1]), angles, atol=1e-13)
    narrow = principal_angles(doubled.astype(np.float32), mixed[1].astype(np.float32))
    np.testing.assert_allclose(narrow, angles, atol=1e-5)


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


def test_lists_are_compared_with_those_of_other_queries():
    _, labels, _, item_labels = corpus(0)
    gains = LabelGains.of(labels, item_labels, 4)
    lists = np.random.default_rng(0).integers(0, len(item_labels), (len(labels), 4))
    every = np.array([gains.ndcg(np.tile(one, (len(labels), 1))) for one in lists])
    expected = [every[q, q] - np.nanmean(np.delete(every[q], q)) for q in range(len(labels))]
    np.testing.assert_allclose(gains.above_others(lists), expected)


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


# --- bad input ---

GOOD = np.array([[1, 0], [0, 1], [1, 1]])

BAD = [
    (f1_scores, ([1, 0, 1], GOOD), InvalidInput, r"f1_scores: Y must be a two-dim.*shape \(3,\)"),
    (f1_scores, (GOOD, GOOD * 0.5), InvalidLabels, "predictions must .* has 0.5; write 1 for"),
    (f1_scores, (GOOD, GOOD[:2]), Mismatch, r"predictions must have .*\(3, 2\), but .*\(2, 2\)"),
    (f1_scores, (GOOD * 0, GOOD), InvalidLabels, "f1_scores: no row of Y has a label; pass"),
    (f1_scores, (GOOD[:0], GOOD[:0]), InvalidInput, r"Y must be .* but has shape \(0, 2\)"),
    (f1_scores, (GOOD - 1, GOOD), InvalidLabels, "Y must .* has -1; omit rows whose"),
    (mean_auc, (np.where(GOOD, np.nan, 0), GOOD), InvalidLabels, "Y must .* has nan; omit"),
    (mean_auc, (GOOD, GOOD * np.nan), InvalidInput, "mean_auc: scores must be finite, but has"),
    (mean_auc, (GOOD[2:], GOOD[2:]), InvalidLabels, "every label of Y is present in all rows or"),
    (average_precision, ([[1], [1, 0]], GOOD), InvalidInput, "Y must be .*, but list was given"),
    (threshold_by_share, (GOOD, 1.5), InvalidParameter, "share must be a number from 0 to 1, or"),
    (threshold_by_share, (GOOD, [0.1] * 3), InvalidParameter, "one for each of the 2 labels, but"),
    (
        principal_angles,
        (GOOD, GOOD * 0),
        InvalidInput,
        "B contains only zeros and does not span a space",
    ),
    (principal_angles, (GOOD * np.nan, GOOD), InvalidInput, "principal_angles: A must be finite"),
]


@pytest.mark.parametrize(("measure", "given", "error", "sentence"), BAD)
def test_bad_input_raises_an_error(measure, given, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        measure(*given)
    assert str(caught.value).startswith(f"{measure.__name__}: ")
    assert "\n" not in str(caught.value)


RETRIEVAL = [
    ({"k": 0}, InvalidParameter, "k must be a whole number of at least 1, but 0 was given"),
    ({"k": 4}, InvalidParameter, "k must be at most the 3 items that a query can find, but 4"),
    ({"query_labels": GOOD * 0}, InvalidLabels, "no query has a label; pass at least one"),
    ({"query_labels": GOOD[:2]}, Mismatch, "query_labels must have a row for each row of"),
    ({"item_labels": GOOD[:, :1]}, Mismatch, "must have the same labels as columns, but have 2"),
    ({"item_labels": GOOD + 1}, InvalidLabels, "item_labels must contain only 0 and 1, but has 2"),
    ({"metric": "l1"}, InvalidParameter, "metric must be one of 'cosine', 'euclidean'"),
    ({"item_vectors": GOOD[:2]}, Mismatch, "item_labels must have a row for each row of item_v"),
    ({"query_vectors": GOOD * np.nan}, InvalidInput, "query_vectors must be finite"),
]


@pytest.mark.parametrize(("change", "error", "sentence"), RETRIEVAL)
def test_retrieval_refuses(change, error, sentence):
    given = {"query_labels": GOOD, "item_labels": GOOD, "k": 2}
    given |= {"query_vectors": GOOD, "item_vectors": GOOD}
    with pytest.raises(error, match=sentence) as caught:
        retrieval_at_k(**given | change)
    assert str(caught.value).startswith("retrieval_at_k: ")


def test_data_frames_are_read_and_their_missing_entries_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 0, 1], "b": [False, True, True]})
    assert f1_scores(frame, GOOD).macro == 1.0
    for missing in (None, np.nan, pd.NA):
        frame = pd.DataFrame({"a": [1, missing, 1], "b": [0, 1, 1]}, dtype=object)
        with pytest.raises(InvalidLabels, match=r"only 0 and 1.*rows whose labels are unknown\."):
            f1_scores(frame, GOOD)
