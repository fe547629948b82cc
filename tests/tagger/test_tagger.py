"""The tagger: learned, asked, changed and stored."""

import numpy as np
import pytest
from _support.topics import corpus
from scipy import sparse

from labelspan.tagger import NEVER, Tagger
from labelspan.tagger.decision import emphasised
from labelspan.tagger.label_regression import LabelRegression
from labelspan.tagger.learning import learn_tagger
from labelspan.text import TAGS, FeatureCounts, Vocabulary

LABELS = ("game", "image", "sound")


def indicator(lists, labels=LABELS):
    dense = [[label in own for label in labels] for own in lists]
    return sparse.csr_matrix(np.array(dense, dtype=np.float32).reshape(len(lists), len(labels)))


def data(count=90, seed=1, dense=False):
    texts, labels, _, _ = corpus(count, seed=seed)
    vocabulary = Vocabulary("en")
    counts = FeatureCounts(vocabulary, TAGS)
    block = vocabulary.number(texts)
    counts.add(block)
    features = counts.choose()
    X = features.transform(block)
    return features, (X.toarray() if dense else X), indicator(labels)


def learned(count=90, dense=False, rows=None):
    features, X, Y = data(count, dense=dense)
    return features, learn_tagger(LABELS, Y, X, np.arange(count) if rows is None else rows)


def solved(tagger):
    """Weights of a regression that is learned again from the items of a tagger."""
    regression = LabelRegression(tagger.features, tagger.alpha)
    return next(iter(regression.blocks(emphasised(tagger.targets))))[1]


def test_chosen_labels_of_new_texts_are_right():
    features, tagger = learned(150)
    texts, labels, _, _ = corpus(60, seed=7)
    chosen = tagger.probabilities(features.of_texts(texts)) >= tagger.thresholds
    truth = indicator(labels).toarray() > 0
    assert 2 * (chosen & truth).sum() / (chosen.sum() + truth.sum()) > 0.85
    asked = features.of_texts(["chess on the radio"])
    totals = [tagger.contributions(asked, column).sum() for column in range(3)]
    np.testing.assert_allclose(totals + tagger.intercept, tagger.regression(asked)[0], atol=1e-5)


@pytest.mark.parametrize("dense", [False, True])
def test_an_item_is_predicted_as_by_a_model_without_it(dense):
    _, tagger = learned(dense=dense)
    own = tagger.places(np.arange(90))
    found = tagger.scores(tagger.features, own)
    wanted = emphasised(tagger.targets).toarray()
    for item in (0, 17, 64):
        others = np.arange(90) != item
        regression = LabelRegression(tagger.features[others], tagger.alpha)
        weights = regression.weights_of(regression.solve(wanted[others]))
        row = tagger.features[[item]]
        alone = np.asarray(row @ weights[:-1] + weights[-1])
        alone += tagger.decision.weight * tagger.voters.votes(row, own[[item]]).toarray()
        np.testing.assert_allclose(found[item], np.asarray(alone).ravel(), atol=2e-3)
    # The same is kept for all items.
    chances = tagger.decision.probability(found)
    np.testing.assert_allclose(
        np.take_along_axis(chances, tagger.left_out.columns, axis=1),
        tagger.left_out.chances,
        atol=5e-3,
    )
    np.testing.assert_allclose(chances[tagger.targets.nonzero()], tagger.left_out.own, atol=5e-3)


@pytest.mark.parametrize("dense", [False, True])
def test_changes_are_learned_as_by_a_new_fit(dense):
    features, tagger = learned(dense=dense, rows=np.arange(0, 180, 2))
    labels = (*LABELS, "new")
    before = tagger.weights.toarray()
    texts = ["a new farm", "another farm", "farm and chess"]
    given = features.of_texts(texts)
    given = given.toarray() if dense else given
    lists = [["game"], ["sound"], ["new", "game"], ["new"], ["new"], ["new", "game"]]
    rows = np.array([0, 4, 6, 7, 181, 300])
    changed = tagger.updated(labels, rows, indicator(lists, labels), given, removed=[178, 2, 2])
    assert changed.labels == labels
    assert changed.rows.tolist() == sorted({*range(0, 180, 2), 7, 181, 300} - {178, 2})
    np.testing.assert_array_equal(
        changed.targets[changed.places(rows)].toarray(), indicator(lists, labels).toarray()
    )
    touched = [0, 1, 2, 3]
    expected = solved(changed)
    np.testing.assert_allclose(
        changed.weights.toarray()[touched], expected[:-1].T[touched], atol=1e-4
    )
    assert np.abs(before - changed.weights.toarray()[:3]).max() > 1e-3
    assert changed.record.support.tolist() == changed.targets.sum(axis=0).A1.tolist()
    # And the items that were there are as they were.
    stay = np.setdiff1d(tagger.rows, [178, 2, 0, 4, 6])
    one, other = tagger.places(stay), changed.places(stay)
    np.testing.assert_array_equal(tagger.left_out.chances[one], changed.left_out.chances[other])
    kept = [np.isin(np.repeat(t.rows, np.diff(t.targets.indptr)), stay) for t in (tagger, changed)]
    np.testing.assert_array_equal(tagger.left_out.own[kept[0]], changed.left_out.own[kept[1]])
    held = tagger.features[one], changed.features[other]
    assert abs(held[0] - held[1]).max() == 0
    # The changed ones are predicted again.
    own = changed.places(rows)
    chances = changed.probabilities(changed.features[own], own)
    np.testing.assert_array_equal(changed.left_out.chances[own], -np.sort(-chances, axis=1)[:, :3])


def test_all_items_may_go():
    features, tagger = learned()
    empty = tagger.updated(LABELS, np.zeros(0, int), sparse.csr_matrix((0, 3)), removed=range(90))
    assert empty.rows.size == 0
    assert (empty.thresholds == NEVER).all()
    assert empty.best(features.of_texts(["chess"]), 2)[0].shape == (1, 2)
    again = Tagger.from_arrays(LABELS, empty.arrays())
    assert again.rows.size == 0


def test_folds_are_used_for_features_that_have_seen_the_labels():
    *_, Y = data()
    rng = np.random.default_rng(0)
    # These features are the labels: only folds tell that they are worth nothing.
    seen = np.hstack([Y.toarray(), rng.standard_normal((90, 3))]).astype(np.float32)
    noise = rng.standard_normal((90, 6)).astype(np.float32)
    parts = np.array_split(rng.permutation(90), 3)
    folds = [
        (np.sort(held), noise[np.setdiff1d(np.arange(90), held)], noise[np.sort(held)])
        for held in parts
    ]
    hopeful = learn_tagger(LABELS, Y, seen, np.arange(90))
    honest = learn_tagger(LABELS, Y, seen, np.arange(90), folds=folds)
    assert hopeful.left_out.own.mean() > 0.9
    assert honest.left_out.own.mean() < 0.6


@pytest.mark.parametrize("dense", [False, True])
def test_what_is_stored_answers_the_same(dense):
    features, tagger = learned(dense=dense)
    again = Tagger.from_arrays(LABELS, tagger.arrays())
    asked = features.of_texts(["chess and dice", "song", ""])
    np.testing.assert_array_equal(again.probabilities(asked), tagger.probabilities(asked))
    np.testing.assert_array_equal(again.thresholds, tagger.thresholds)
    np.testing.assert_array_equal(again.left_out.own, tagger.left_out.own)


@pytest.mark.parametrize("voting", [1 << 20, 60])
def test_the_weight_of_the_votes_may_come_from_a_sample(voting, monkeypatch):
    monkeypatch.setattr("labelspan.tagger.learning._VOTING", voting)
    rng = np.random.default_rng(0)
    # Each topic has two words; whether both are there says nothing that a regression could add.
    topics = rng.integers(40, size=400)
    dense = np.zeros((400, 80), dtype=np.float32)
    dense[np.arange(400), 2 * topics + rng.integers(2, size=400)] = 1.0
    dense[np.arange(400), 2 * topics] = 1.0
    X = sparse.csr_matrix(dense)
    Y = sparse.csr_matrix((np.ones(400, np.float32), (np.arange(400), topics)), (400, 40))
    tagger = learn_tagger([str(n) for n in range(40)], Y, X, np.arange(400))
    best = tagger.left_out.columns[:, 0]
    assert (best == topics).mean() > 0.95
