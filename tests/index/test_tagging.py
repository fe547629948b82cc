"""Votes, the decision from scores to labels, and features of texts."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from labelspan.index.tagging import (
    NEVER,
    Candidates,
    collect,
    decide,
    emphasised,
    records,
    thresholds,
)
from labelspan.index.voters import Voters, _unit


@pytest.mark.parametrize("dense", [False, True])
def test_votes_are_those_of_the_nearest_items(dense):
    rng = np.random.default_rng(0)
    X = sparse.random(90, 40, 0.2, "csr", np.float32, rng)
    Y = sparse.csr_matrix((rng.random((90, 6)) < 0.3).astype(np.float32))
    rows = X.toarray() if dense else X
    found = Voters(rows, Y).votes(rows, np.arange(90)).toarray()
    units = normalize(X).toarray()
    cosines = units @ units.T
    np.fill_diagonal(cosines, -1)
    for row in range(90):
        near = np.argsort(-cosines[row], kind="stable")[:20]
        weights = np.maximum(cosines[row, near], 0)
        expected = weights @ Y.toarray()[near] / max(weights.sum(), 1e-12)
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_voters_are_the_same_in_blocks_on_threads(kind, monkeypatch):
    rng = np.random.default_rng(0)
    rows = kind(rng.random((90, 40), dtype=np.float32) * (rng.random((90, 40)) < 0.2))
    voters = Voters(rows, sparse.csr_matrix((90, 3), dtype=np.float32))
    items, cosines = voters.nearest(rows, np.arange(90))
    monkeypatch.setattr("labelspan.index.voters._ENTRIES", 7 * 90)
    monkeypatch.setattr("labelspan.operators.threads.n_threads", lambda: 3)
    found = voters.nearest(rows, np.arange(90))
    np.testing.assert_array_equal(found[0], items)
    np.testing.assert_allclose(found[1], cosines, rtol=1e-6)


def test_neighbours_of_one_row_are_those_among_many():
    rng = np.random.default_rng(0)
    rows = sparse.random_array((200, 50), density=0.1, format="csr", dtype=np.float32, rng=rng)
    voters = Voters(sparse.csr_matrix(rows), sparse.csr_matrix(np.ones((200, 1))))
    items, cosines = voters.nearest(voters.features, np.arange(200))
    for row in range(200):
        one, near = voters.nearest(voters.features[[row]], np.array([row]))
        np.testing.assert_allclose(near[0], cosines[row], atol=1e-6)
        clear = np.diff(cosines[row], prepend=2, append=-1)
        clear = (clear[:-1] < -1e-5) & (clear[1:] < -1e-5) & (cosines[row] > 0)
        assert one[0][clear].tolist() == items[row][clear].tolist()


def candidates(n=3000, k=12, seed=0):
    """Scores that know the chance of each label, and truth drawn with that chance."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.3, 2.5, (n, k))
    truth = rng.random((n, k)) < chance
    rows, columns = np.indices((n, k)).reshape(2, -1)
    scores = np.sqrt(chance).ravel().astype(np.float32)
    zeros = np.zeros(scores.size, np.float32)
    return Candidates(rows, columns, scores, zeros, truth.ravel(), int(truth.sum())), chance


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_the_chances(seed):
    found, chance = candidates(seed=seed)
    guess = decide(found).probability(found.regression)
    assert np.abs(guess - chance.ravel()).mean() < 0.02
    assert (np.diff(guess[np.argsort(found.regression)]) >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_about_as_many_labels_are_chosen_as_are_true(seed):
    found, _ = candidates(seed=seed)
    decision = decide(found)
    chosen = decision.probability(found.regression) >= decision.threshold
    assert abs(chosen.sum() / found.total - 1) < 0.03
    f1 = 2 * (chosen & found.truth).sum() / (chosen.sum() + found.total)
    cuts = np.quantile(found.regression, np.linspace(0.5, 0.999, 100))
    assert f1 > 0.95 * max(
        2
        * ((found.regression >= c) & found.truth).sum()
        / ((found.regression >= c).sum() + found.total)
        for c in cuts
    )


def test_votes_get_a_weight_only_if_they_help():
    found, _ = candidates()
    noise = np.random.default_rng(1).random(found.truth.size).astype(np.float32)
    useless = Candidates(
        *(found.rows, found.columns, found.regression, noise, found.truth), found.total
    )
    assert decide(useless).weight == 0
    weak = found.regression + np.random.default_rng(2).normal(0, 0.3, noise.size).astype(np.float32)
    helped = Candidates(found.rows, found.columns, weak, found.regression, found.truth, found.total)
    assert decide(helped).weight > 0.2


def test_a_label_that_is_always_wrong_is_never_chosen():
    found, _ = candidates()
    truth = found.truth & (found.columns != 3)
    found = Candidates(
        found.rows, found.columns, found.regression, found.votes, truth, int(truth.sum())
    )
    decision = decide(found)
    support = np.bincount(found.columns[truth], minlength=12)
    limits = thresholds(records(found, decision, 12, support), found, decision)
    assert limits[3] == NEVER
    assert (np.delete(limits, 3) == np.float32(decision.threshold)).all()


def test_rare_labels_have_larger_targets():
    rng = np.random.default_rng(0)
    labels = sparse.csr_matrix((rng.random((400, 4)) < [0.5, 0.1, 0.02, 0.0]).astype(np.float32))
    found = emphasised(labels)
    assert ((found > 0) != (labels > 0)).nnz == 0
    sizes = found.max(axis=0).toarray().ravel()
    counts = np.asarray(labels.sum(axis=0)).ravel()
    np.testing.assert_allclose(sizes[:3], ((counts[:3] + 3) / 403) ** -0.1, rtol=1e-5)
    assert (np.diff(sizes[:3]) > 0).all()
    assert (labels.data == 1).all()


def test_candidates_are_the_best_the_voted_and_the_true(monkeypatch):
    monkeypatch.setattr("labelspan.index.tagging._CANDIDATES", 2)
    scores = np.arange(24, dtype=np.float32).reshape(3, 8)
    votes = sparse.csr_matrix(([0.5], ([0], [1])), (3, 8))
    labels = sparse.csr_matrix((np.ones(2), ([0, 2], [0, 7])), (3, 8))
    found = collect([(slice(0, 4), scores[:, :4]), (slice(4, 8), scores[:, 4:])], votes, labels)
    pairs = list(zip(found.rows.tolist(), found.columns.tolist(), strict=True))
    assert pairs == [(0, 0), (0, 1), (0, 6), (0, 7), (1, 6), (1, 7), (2, 6), (2, 7)]
    assert found.regression.tolist() == [scores[pair] for pair in pairs]
    assert found.votes.tolist() == [0, 0.5, 0, 0, 0, 0, 0, 0]
    assert np.flatnonzero(found.truth).tolist() == [0, 7]


@pytest.mark.parametrize("dense", [False, True])
def test_units_of_voters_are_those_of_scikit_learn(dense):
    rows = sparse.random(30, 12, 0.3, "csr", np.float32, np.random.default_rng(0))
    rows = sparse.vstack([rows, sparse.csr_matrix((1, 12), dtype=np.float32)], format="csr")
    found, wanted = _unit(rows.toarray() if dense else rows), normalize(rows)
    found = found if dense else found.toarray()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted.toarray(), rtol=1e-6)
