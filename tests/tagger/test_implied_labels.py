"""Broader labels that labels imply: which ones, and what follows for predictions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from labelspan.corpus import Concept, LabelVocabulary
from labelspan.tagger.implied_labels import ImpliedLabels
from labelspan.tagger.learning import learn_tagger

LEVELS = ("a", "a/b", "a/b/c", "d::e", "d", "f")
WORDS = LabelVocabulary({name: Concept(name, (), above) for name, above in {
    "sites": (), "graves": ("sites",), "mounds": ("graves", "earthworks"), "earthworks": ("sites",),
}.items()})  # fmt: skip


def targets(rows, labels):
    return sparse.csr_matrix([[float(one in own) for one in labels] for own in rows])


def pairs(labels, rows, vocabulary=None):
    found = ImpliedLabels.of(labels, targets(rows, labels), vocabulary)
    assert sum(part.stop - part.start for part in found.groups) == found.narrower.size
    return {(labels[a], labels[b]) for a, b in zip(found.narrower, found.broader, strict=True)}


def test_names_and_vocabularies_say_what_is_broader():
    rows = [["a", "a/b", "a/b/c"], ["a", "a/b"], ["d", "d::e"], ["f"]]
    assert pairs(LEVELS, rows) == {("a/b", "a"), ("a/b/c", "a"), ("a/b/c", "a/b"), ("d::e", "d")}
    names = ("mounds", "graves", "sites")
    rows = [["mounds", "graves", "sites"], ["graves", "sites"]]
    assert pairs(names, rows) == set()
    wanted = {("mounds", "graves"), ("mounds", "sites"), ("graves", "sites")}
    assert pairs(names, rows, WORDS) == wanted


def test_only_what_the_items_have_is_implied():
    rows = [["a", "a/b"]] * 19 + [["a/b"]]
    assert pairs(LEVELS, rows) == {("a/b", "a")}
    assert pairs(LEVELS, [*rows, ["a/b"]]) == set()
    # A label that no item has neither implies anything nor is implied.
    assert pairs(LEVELS, [["a/b"], ["f"]]) == set()
    assert pairs((), []) == set()


def test_a_circle_of_broader_labels_ends():
    circle = {"0": Concept("one", (), ("two",)), "1": Concept("two", (), ("one",))}
    labels, rows = ("one", "two"), [["one", "two"]] * 3
    found = ImpliedLabels.of(labels, targets(rows, labels), LabelVocabulary(circle))
    scores = np.array([[0.2, 0.7]], dtype=np.float32)
    found.raise_scores(scores, np.array([0.5, 0.5], dtype=np.float32))
    assert (scores > 0.69).all()


def tree_of_items(seed, count=240):
    """Features and labels with three levels; broader labels are on every item they belong to."""
    rng = np.random.default_rng(seed)
    below = ("", "/s", "/t", "/s/u", "/s/v")
    labels = tuple(f"{top}{one}" for top in "pqr" for one in below)
    leaves = rng.choice([one for one in labels if len(one) > 1], (count, 2))
    own = [{one[:n] for one in pair for n in range(1, len(one) + 1, 2)} for pair in leaves]
    Y = targets(own, labels)
    mixing = rng.standard_normal((len(labels), 30))
    X = (Y @ mixing + 2.5 * rng.standard_normal((count, 30))).astype(np.float32)
    return labels, X, Y


@pytest.mark.parametrize("seed", range(4))
def test_a_label_is_never_predicted_without_what_it_implies(seed):
    labels, X, Y = tree_of_items(seed)
    tagger = learn_tagger(labels, Y[:160], X[:160], np.arange(160))
    plain = replace(tagger)
    vars(plain)["implied"] = ImpliedLabels.of(labels, Y[:0], None)
    low, high = tagger.implied.narrower, tagger.implied.broader
    assert low.size == sum(name.count("/") for name in labels)

    def violations(found):
        chosen = found >= tagger.thresholds
        return int((found[:, low] > found[:, high]).sum()), int(
            (chosen[:, low] & ~chosen[:, high]).sum()
        )

    for features, own in ((X[160:], None), (X[:160], np.arange(160))):
        found, before = tagger.probabilities(features, own), plain.probabilities(features, own)
        assert min(violations(before)) > 0
        assert violations(found) == (0, 0)
        # Nothing else changes: labels without narrower ones, and scores never fall.
        leaves = np.setdiff1d(np.arange(len(labels)), high)
        assert (found[:, leaves] == before[:, leaves]).all()
        assert (found >= before).all()
        # A short list that has a label has what it implies.
        for k in (1, 2, 3, 5):
            listed = [set(row) for row in tagger.best(features, k, own)[0].tolist()]
            assert all(
                b in one for one in listed for a, b in zip(low, high, strict=True) if a in one
            )
    chances = tagger.left_out.chances
    rows = np.arange(160)[:, None]
    assert (
        chances == tagger.probabilities(X[:160], np.arange(160))[rows, tagger.left_out.columns]
    ).all()


@pytest.mark.parametrize("chance", [0.0, 0.2, 0.50001, 0.9])
def test_scores_of_limits_are_just_enough(chance):
    labels, X, Y = tree_of_items(1)
    decision = learn_tagger(labels, Y, X, np.arange(240)).decision
    limits = np.full(3, chance, dtype=np.float32)
    found = decision.scores_of(limits)
    assert (decision.probability(found) >= limits).all()
    assert chance == 0 or (decision.probability(found - np.float32(1e-5)) < limits).all()
    assert np.isinf(decision.scores_of(np.array([1.0], dtype=np.float32))).all()
