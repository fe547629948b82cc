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
    threshold_by_share,
)

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


@pytest.mark.parametrize("seed", SEEDS)
def test_principal_angles_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((12, 5)), rng.standard_normal((12, 3))
    B[:, 0] = A @ [1, 2, 3, 4, 5]
    np.testing.assert_allclose(principal_angles(A, B), linalg.subspace_angles(A, B), atol=1e-7)
    np.testing.assert_allclose(principal_angles(A, B)[-1], 0, atol=1e-14)


# --- bad input ---

GOOD = np.array([[1, 0], [0, 1], [1, 1]])

BAD = [
    (f1_scores, ([1, 0, 1], GOOD), InvalidInput, r"f1_scores: Y must be a two-dim.*shape \(3,\)"),
    (f1_scores, (GOOD, GOOD * 0.5), InvalidLabels, "predictions must .* has 0.5; write 1 for"),
    (f1_scores, (GOOD, GOOD[:2]), Mismatch, r"predictions must have .*\(3, 2\), but .*\(2, 2\)"),
    (f1_scores, (GOOD * 0, GOOD), InvalidLabels, "f1_scores: no row of Y has a label; give"),
    (f1_scores, (GOOD[:0], GOOD[:0]), InvalidInput, r"Y must be .* but has shape \(0, 2\)"),
    (f1_scores, (GOOD - 1, GOOD), InvalidLabels, "Y must .* has -1; leave out rows whose"),
    (mean_auc, (np.where(GOOD, np.nan, 0), GOOD), InvalidLabels, "Y must .* has nan; leave out"),
    (mean_auc, (GOOD, GOOD * np.nan), InvalidInput, "mean_auc: scores must be finite, but has"),
    (mean_auc, (GOOD[2:], GOOD[2:]), InvalidLabels, "every label of Y is present in all rows or"),
    (average_precision, ([[1], [1, 0]], GOOD), InvalidInput, "Y must be .*, but list was given"),
    (threshold_by_share, (GOOD, 1.5), InvalidParameter, "share must be a number from 0 to 1, or"),
    (threshold_by_share, (GOOD, [0.1] * 3), InvalidParameter, "one for each of the 2 labels, but"),
    (
        principal_angles,
        (GOOD, GOOD * 0),
        InvalidInput,
        "B holds only zeros and does not span a space",
    ),
    (principal_angles, (GOOD * np.nan, GOOD), InvalidInput, "principal_angles: A must be finite"),
]


@pytest.mark.parametrize(("measure", "given", "error", "sentence"), BAD)
def test_bad_input_raises_an_error(measure, given, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        measure(*given)
    assert str(caught.value).startswith(f"{measure.__name__}: ")
    assert "\n" not in str(caught.value)


def test_data_frames_are_read_and_their_missing_entries_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 0, 1], "b": [False, True, True]})
    assert f1_scores(frame, GOOD).macro == 1.0
    for missing in (None, np.nan, pd.NA):
        frame = pd.DataFrame({"a": [1, missing, 1], "b": [0, 1, 1]}, dtype=object)
        with pytest.raises(InvalidLabels, match=r"only 0 and 1.*rows whose labels are unknown\."):
            f1_scores(frame, GOOD)
