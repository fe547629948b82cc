"""Votes, and the decision from scores to labels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from labelspan.tagger import NEVER, Decision, LabelRecord, Voters
from labelspan.tagger.decision import Candidates, emphasised


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


def test_frequent_features_do_not_decide_who_votes():
    rng = np.random.default_rng(0)
    topics = rng.integers(300, size=1200)
    dense = np.zeros((1200, 301), dtype=np.float32)
    dense[np.arange(1200), topics] = 0.2
    dense[:, 300] = rng.random(1200)
    targets = sparse.csr_matrix((np.ones(1200, np.float32), (np.arange(1200), topics)))
    found = Voters(sparse.csr_matrix(dense), targets).votes(sparse.csr_matrix(dense[:50]))
    assert (found.toarray()[np.arange(50), topics[:50]] > 0.999).all()


def candidates(n=3000, k=12, seed=0):
    """Scores that know the chance of each label, and truth drawn with that chance."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.3, 2.5, (n, k))
    truth = rng.random((n, k)) < chance
    rows, columns = np.indices((n, k)).reshape(2, -1)
    scores = np.sqrt(chance).ravel().astype(np.float32)
    zeros = np.zeros(scores.size, np.float32)
    return Candidates(rows, columns, scores, zeros, truth.ravel()), chance


def test_probabilities_are_the_chances_and_choose_as_many_labels_as_are_true():
    found, chance = candidates(seed=1)
    decision = Decision.choose(found)
    guess = decision.probability(found.regression)
    assert np.abs(guess - chance.ravel()).mean() < 0.02
    assert (np.diff(guess[np.argsort(found.regression)]) >= 0).all()

    def f1(chosen):
        return 2 * (chosen & found.truth).sum() / (chosen.sum() + found.truth.sum())

    chosen = guess >= decision.threshold
    assert abs(chosen.sum() / found.truth.sum() - 1) < 0.03
    cuts = np.quantile(found.regression, np.linspace(0.5, 0.999, 100))
    assert f1(chosen) > 0.95 * max(f1(found.regression >= cut) for cut in cuts)


def test_votes_get_a_weight_only_if_they_help():
    found, _ = candidates()
    noise = np.random.default_rng(1).random(found.truth.size).astype(np.float32)
    assert Decision.choose(found._replace(votes=noise)).weight == 0
    weak = found.regression + np.random.default_rng(2).normal(0, 0.3, noise.size).astype(np.float32)
    helped = found._replace(regression=weak, votes=found.regression)
    assert Decision.choose(helped).weight > 0.2


def test_a_label_that_is_always_wrong_is_never_chosen():
    found, _ = candidates()
    truth = found.truth & (found.columns != 3)
    found = found._replace(truth=truth)
    decision = Decision.choose(found)
    support = np.bincount(found.columns[truth], minlength=12)
    limits = LabelRecord.of(found, decision, support).thresholds(found, decision)
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
