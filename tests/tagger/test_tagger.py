"""The tagger: learned, asked, changed and stored."""

from dataclasses import replace

import numpy as np
import pytest
from _support.topics import corpus
from _support.units import generated
from scipy import sparse
from sklearn.preprocessing import normalize

from labelspan.errors import InvalidFile
from labelspan.tagger import NEVER, Tagger, learning
from labelspan.tagger.label_regression import FeatureRows, LabelledRows
from labelspan.tagger.learning import leading_directions, learn_tagger
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


def same_settings(tagger, rows, features, targets, labels=LABELS):
    """Build a tagger of some items with the settings of another."""
    return replace(tagger, labels=labels, rows=rows, features=features, targets=targets)


def test_chosen_labels_of_new_texts_are_right():
    features, tagger = learned(150)
    texts, labels, _, _ = corpus(60, seed=7)
    chosen = tagger.probabilities(features.of_texts(texts)) >= tagger.thresholds
    truth = indicator(labels).toarray() > 0
    assert 2 * (chosen & truth).sum() / (chosen.sum() + truth.sum()) > 0.85
    assert abs(tagger.probabilities(features.of_texts(texts)).sum() / truth.sum() - 1) < 0.15


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_an_item_is_predicted_as_by_a_tagger_without_it(dense, scaled):
    _, tagger = learned(dense=dense)
    tagger = replace(tagger, scaled=scaled)
    own = tagger.places(np.arange(90))
    found = tagger.probabilities(tagger.features, own)
    for item in (0, 17, 64):
        others = np.arange(90) != item
        separate = same_settings(
            tagger, tagger.rows[others], tagger.features[others], tagger.targets[others]
        )
        row = tagger.features[[item]]
        np.testing.assert_allclose(found[item], separate.probabilities(row)[0], atol=1e-4)
        one = tagger.without(np.array([item]))
        np.testing.assert_allclose(one.chances[0], -np.sort(-found[item]), atol=1e-5)
        shares = tagger.contributions(row, 1, item)
        np.testing.assert_allclose(shares, separate.contributions(row, 1), atol=1e-4)
    chances = np.take_along_axis(found, tagger.left_out.columns, axis=1)
    np.testing.assert_allclose(chances, tagger.left_out.chances, atol=1e-5)
    np.testing.assert_allclose(found[tagger.targets.nonzero()], tagger.left_out.own, atol=1e-5)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_changes_give_the_tagger_of_the_present_items(dense, scaled):
    features, tagger = learned(dense=dense, rows=np.arange(0, 180, 2))
    tagger = replace(tagger, scaled=scaled)
    labels = (*LABELS, "new")
    texts = ["a new farm", "another farm", "farm and chess"]
    given = features.of_texts(texts)
    given = given.toarray() if dense else given
    lists = [["game"], ["sound"], ["new", "game"], ["new"], ["new"], ["new", "game"]]
    rows = np.array([0, 4, 6, 7, 181, 300])
    before = tagger.left_out.own.copy()
    changed = tagger.updated(labels, rows, indicator(lists, labels), given, removed=[178, 2, 2])
    assert changed.labels == labels
    every = sorted({*range(0, 180, 2), 7, 181, 300} - {178, 2})
    assert changed.rows.tolist() == every
    table = {int(row): own for row, own in zip(rows, indicator(lists, labels), strict=True)}
    old = sparse.hstack([tagger.targets, sparse.csr_matrix((90, 1))]).tocsr()
    new = dict(zip([7, 181, 300], given, strict=True))
    X = [new[row] if row in new else tagger.features[row // 2] for row in every]
    Y = [table[row] if row in table else old[row // 2] for row in every]
    X = np.vstack(X) if dense else sparse.csr_matrix(sparse.vstack(X))
    Y = sparse.csr_matrix(sparse.vstack(Y), dtype=np.float32)
    fresh = same_settings(changed, np.array(every), X, Y, labels)
    np.testing.assert_allclose(changed.left_out.own, fresh.left_out.own, atol=1e-5)
    np.testing.assert_allclose(changed.left_out.chances, fresh.left_out.chances, atol=1e-5)
    np.testing.assert_array_equal(changed.support, fresh.support)
    np.testing.assert_array_equal(changed.record.right, fresh.record.right)
    asked = features.of_texts(["chess", "farm"])
    asked = asked.toarray() if dense else asked
    np.testing.assert_allclose(changed.probabilities(asked), fresh.probabilities(asked), atol=1e-5)
    # And back.
    again = changed.updated(
        labels,
        np.array([0, 2, 4, 6, 178]),
        old[[0, 1, 2, 3, 89]],
        tagger.features[[1, 89]],
        removed=[7, 181, 300],
    )
    np.testing.assert_allclose(again.left_out.own, before, atol=1e-5)


def test_a_label_that_no_other_item_has_is_not_predicted():
    features, tagger = learned()
    labels = (*LABELS, "once")
    changed = tagger.updated(labels, np.array([5]), indicator([["once"]], labels))
    assert changed.without(np.array([5])).own.tolist() == [0.0]
    assert changed.thresholds[3] == NEVER
    both = changed.updated(labels, np.array([9]), indicator([["once"]], labels))
    assert both.thresholds[3] == np.float32(tagger.decision.threshold)
    np.testing.assert_array_equal(both.thresholds[:3], tagger.thresholds)
    gone = changed.updated(labels, np.array([5]), indicator([["game"]], labels))
    asked = features.of_texts(["chess and dice", ""])
    assert gone.probabilities(asked)[:, 3].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scaled", [False, True])
def test_all_items_may_go(scaled):
    features, tagger = learned()
    tagger = replace(tagger, scaled=scaled)
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
    assert honest.left_out.own.mean() < 0.75


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_what_is_stored_answers_the_same(dense, scaled):
    features, tagger = learned(dense=dense)
    tagger = replace(tagger, scaled=scaled)
    again = Tagger.from_arrays(LABELS, tagger.arrays())
    asked = features.of_texts(["chess and dice", "song", ""])
    np.testing.assert_array_equal(again.probabilities(asked), tagger.probabilities(asked))
    np.testing.assert_array_equal(again.thresholds, tagger.thresholds)
    np.testing.assert_array_equal(again.left_out.own, tagger.left_out.own)


def test_items_with_votes_of_their_neighbours_are_right():
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


@pytest.mark.parametrize("rare", [False, True])
def test_features_are_scaled_if_rare_ones_decide(rare):
    rng = np.random.default_rng(0)
    # Labels follow words that three items have, or that 24 have; all items have 10 of 60 others.
    topics = rng.permutation(240) % (80 if rare else 10)
    words = sparse.csr_matrix((np.ones(240, np.float32), (np.arange(240), topics)))
    noise = np.argsort(rng.random((240, 60)), axis=1) < 10
    X = sparse.csr_matrix(sparse.hstack([words, noise * (1 if rare else 0.2)]), dtype=np.float32)
    Y = sparse.csr_matrix((np.ones(240, np.float32), (np.arange(240), topics // 8)))
    names = [str(n) for n in range(Y.shape[1])]
    assert learn_tagger(names, Y, X, np.arange(240)).scaled == rare


def test_products_that_are_not_of_items_are_refused():
    features, tagger = learned()
    arrays = tagger.arrays()
    for wrong in (np.nan, -1e6):
        gram = arrays["gram"].copy()
        gram[0, 0] = wrong
        with pytest.raises(InvalidFile, match="damaged"):
            Tagger.from_arrays(LABELS, {**arrays, "gram": gram}).scores(features.of_texts(["a"]))


@pytest.mark.parametrize("dense", [False, True])
def test_what_is_known_already_changes_no_digit(dense):
    """Neither all items that were predicted before, nor what changed labels share with others."""
    some, few = np.arange(3), np.array([5])
    answers = []
    for ahead in (False, True):
        tagger = learned(dense=dense)[1]
        if ahead:
            tagger.leave_out()
        changed = tagger.updated(LABELS, few, indicator([["sound"]]))
        answers += [
            one.probabilities(one.features[some], own)
            for one in (tagger, changed)
            for own in (some, None)
        ]
        assert changed.items is tagger.items
    for first, second in zip(answers[:4], answers[4:], strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("seed", range(5))
def test_columns_in_small_units_are_learned_from(seed):
    """With penalties for similar units only, the quality was up to 15% below the best."""
    X, Y, words = generated(seed, "tall")
    X, Y = sparse.csr_matrix(X, dtype=np.float32), sparse.csr_matrix(Y > 0, dtype=np.float32)
    X = sparse.csr_matrix(normalize(X))
    rows = LabelledRows(FeatureRows(X, leading_directions(X)), Y)
    every = learning._ScoredRows(rows, X, Y, np.arange(X.shape[0]))

    def quality(alphas):
        return learning._settings(X, [every], np.random.default_rng(0), alphas)[2]

    fine = [0.1**power for power in range(1, 9) if 0.1**power > 1e-6 * X.shape[0]]
    assert quality(learning._ALPHAS) >= 0.99 * quality((1.0, 3.0, *fine)), words


def test_words_need_no_smaller_penalties():
    X = sparse.random_array((300, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    assert learning._lower_penalties(X, 0.1, learning._mean_square(X)) == []
    X[:, [3]] = 300 * X[:, [3]]
    assert len(learning._lower_penalties(X, 0.1, learning._mean_square(X))) > 1


def test_what_is_forgotten_is_computed_again():
    tagger = learned()[1]
    before, other = tagger.leave_out(), tagger.items
    expected = tagger.probabilities(tagger.features[:4], np.arange(4))
    tagger.forget()
    assert tagger.items is not other
    np.testing.assert_array_equal(tagger.items.gram, other.gram)
    np.testing.assert_array_equal(tagger.probabilities(tagger.features[:4], np.arange(4)), expected)
    np.testing.assert_array_equal(tagger.leave_out().chances, before.chances)
