"""Votes, and the decision from scores to labels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from labelspan.tagger import Decision, LabelRecord, LeftOutTags, Voters
from labelspan.tagger.decision import HeldOutScores, emphasis, make_comparable


@pytest.mark.parametrize("dense", [False, True])
def test_votes_are_those_of_the_nearest_items(dense):
    rng = np.random.default_rng(0)
    X = sparse.random(90, 40, 0.2, "csr", np.float32, rng)
    Y = sparse.csr_matrix((rng.random((90, 6)) < 0.3).astype(np.float32))
    rows = X.toarray() if dense else X
    found = Voters(rows).votes(Y, rows, np.arange(90)).toarray()
    units = normalize(X).toarray()
    cosines = units @ units.T
    np.fill_diagonal(cosines, -1)
    for row in range(90):
        near = np.argsort(-cosines[row], kind="stable")[:20]
        weights = np.maximum(cosines[row, near], 0) ** 3
        expected = weights @ Y.toarray()[near] / max(weights.sum(), 1e-12)
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_frequent_features_do_not_decide_who_votes():
    rng = np.random.default_rng(0)
    topics = rng.integers(300, size=1200)
    dense = np.zeros((1200, 301), dtype=np.float32)
    dense[np.arange(1200), topics] = 0.2
    dense[:, 300] = rng.random(1200)
    targets = sparse.csr_matrix((np.ones(1200, np.float32), (np.arange(1200), topics)))
    found = Voters(sparse.csr_matrix(dense)).votes(targets, sparse.csr_matrix(dense[:50]))
    assert (found.toarray()[np.arange(50), topics[:50]] > 0.999).all()


def candidates(n=3000, k=12, seed=0):
    """Scores that know the chance of each label, and truth drawn with that chance."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.3, 2.5, (n, k)).ravel()
    truth = rng.random(n * k) < chance
    columns = np.tile(np.arange(k), n)
    return HeldOutScores(np.sqrt(chance).astype(np.float32), truth, np.ones(n * k), columns), chance


def test_probabilities_are_the_chances_and_choose_as_many_labels_as_are_true():
    found, chance = candidates(seed=1)
    decision = Decision.choose(found, 0.0, np.zeros(12))
    guess = decision.probability(found.scores)
    assert np.abs(guess - chance).mean() < 0.02
    assert (np.diff(guess[np.argsort(found.scores)]) >= 0).all()

    def f1(chosen):
        return 2 * (chosen & found.truth).sum() / (chosen.sum() + found.truth.sum())

    chosen = guess >= decision.threshold
    assert abs(chosen.sum() / found.truth.sum() - 1) < 0.03
    cuts = np.quantile(found.scores, np.linspace(0.5, 0.999, 100))
    assert f1(chosen) > 0.95 * max(f1(found.scores >= cut) for cut in cuts)


def test_a_rare_label_is_chosen_from_a_threshold_towards_its_best_expected_f1():
    found, chance = candidates(seed=3)
    # The chances of the first label are a tenth of the others'.
    rare = found.columns == 0
    chance = np.where(rare, chance / 10, chance)
    truth = np.random.default_rng(1).random(chance.size) < chance
    found = found._replace(scores=np.sqrt(chance), truth=truth)
    expected = np.bincount(found.columns[truth], minlength=13)
    decision = Decision.choose(found, 0.0, expected)
    # One without any pair has the common threshold.
    assert decision.own[12] == pytest.approx(decision.threshold)
    guess = decision.probability(found.scores)
    usual = expected.sum() / 12
    for column in (0, 5):
        own = np.sort(guess[found.columns == column])[::-1]
        sizes = np.arange(1, own.size + 1) + expected[column]
        f1 = 2 * np.cumsum(own) / sizes
        best = np.argmax(f1)
        share = usual / (usual + sizes[best])
        wanted = (1 - share) * decision.threshold + share * f1[best] / 2
        assert decision.own[column] == pytest.approx(wanted, rel=1e-3)
    assert decision.own[0] < 0.7 * decision.own[1:12].min()


def test_a_sample_of_the_pairs_gives_the_same_probabilities():
    found, chance = candidates(20_000, seed=2)
    rng = np.random.default_rng(0)
    # As for many labels: all true pairs and the best others, and a tenth of the rest.
    sure = found.truth | (found.scores > 0.5)
    some = sure | (rng.random(sure.size) < 0.1)
    weights = np.where(sure, 1.0, 10.0)
    some_pairs = HeldOutScores(*(values[some] for values in found))
    sample = some_pairs._replace(weights=weights[some])
    guess = Decision.choose(sample, 0.0, np.zeros(12)).probability(found.scores)
    assert abs(guess.sum() / chance.sum() - 1) < 0.03
    low = chance < 0.02
    assert abs(guess[low].mean() - chance[low].mean()) < 0.002
    plain = Decision.choose(some_pairs, 0.0, np.zeros(12))
    assert plain.probability(found.scores).sum() > 1.3 * chance.sum()


def test_decisions_on_labelled_items_are_counted():
    labels = sparse.csr_matrix(np.array([[1, 0, 0], [0, 1, 1.0]], dtype=np.float32))
    found = LeftOutTags(
        np.array([[0, 2], [0, 1]]), np.array([[0.9, 0.6], [0.8, 0.1]]), np.array([0.9, 0.1, 0.05])
    )
    record = LabelRecord.of(found, np.array([0.5, 0.5, 0.5]), labels)
    assert record.chosen.tolist() == [2, 0, 1]
    assert record.right.tolist() == [1, 0, 0]
    assert record.support.tolist() == [1, 1, 1]


def test_labels_of_different_frequency_are_made_comparable():
    support = np.array([200, 40, 1, 0])
    ones = lambda: (np.ones((2, 4), np.float32), np.ones((2, 4), np.float32))  # noqa: E731
    lead, rest = terms = ones()
    make_comparable(terms, support)
    assert (np.diff(lead[0, :3]) > 0).all()
    assert (np.diff(rest[0, :3]) > 0).all()
    assert np.isneginf(lead[:, 3]).all()
    np.testing.assert_allclose(lead[0, :3], emphasis(support[:3])[0])
    # An item does not count for itself: the factors are those of the other items.
    own = sparse.csr_matrix(np.array([[1, 0, 1, 0], [0, 1, 0, 0]], dtype=np.float32))
    lead, rest = terms = ones()
    make_comparable(terms, support, own)
    for row, others in enumerate(([199, 40, 0, 0], [200, 39, 1, 0])):
        expected = ones()
        make_comparable(expected, np.array(others))
        np.testing.assert_allclose(lead[row], expected[0][0], rtol=1e-6)
        known = np.isfinite(lead[row])
        np.testing.assert_allclose(rest[row, known], expected[1][0, known], rtol=1e-6)
