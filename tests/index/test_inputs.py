"""SemanticIndex: labels, tags, and reading the space through them."""

import numpy as np
import pytest
from _support.topics import WORDS, corpus, fresh

from labelspan import MLSI, SemanticIndex
from labelspan.errors import InvalidParameter
from labelspan.index.searching import query_vectors


@pytest.fixture(scope="module")
def index():
    return fresh()


# --- labels and tags ---------------------------------------------------------------------


def test_tags_are_ranked_and_know_their_threshold(index):
    tags = index.tag("chess and music", 3)
    assert [tag.probability for tag in tags] == sorted((t.probability for t in tags), reverse=True)
    assert {tag.label for tag in tags} == set(WORDS)
    assert all(tag.chosen == (tag.probability >= tag.threshold) for tag in tags)
    assert tags[-1].label == "image"
    assert not tags[-1].chosen
    both = index.tag(["chess and music", ""], 2)
    assert [tag.label for tag in both[0]] == [tag.label for tag in tags[:2]]


def test_tags_hold_on_unseen_texts(index):
    texts, labels, _, _ = corpus(90, seed=5)
    found = [{tag.label for tag in tags if tag.chosen} for tags in index.tag(texts, 3)]
    agreeing = [set(own) == got for own, got in zip(labels, found, strict=True)]
    assert np.mean(agreeing) > 0.8


def test_probabilities_come_from_scores_of_unseen_items():
    rng = np.random.default_rng(0)
    words = [f"word{n}" for n in range(900)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(80)]
    labels = [["heads"] if toss else ["tails"] for toss in rng.random(80) < 0.5]
    index = SemanticIndex(estimator=MLSI(20, alpha=0.01)).fit(texts, labels)
    own = [
        next(tag.probability for tag in tags if [tag.label] == label)
        for tags, label in zip(index.tag(texts), labels, strict=True)
    ]
    # The space knows the tosses of its own items by heart, and nothing of any other's.
    assert np.mean(own) < 0.75


def test_similar_labels_share_items():
    texts, labels, ids, _ = corpus()
    labels = [[*own, "fun"] if "game" in own else own for own in labels]
    index = SemanticIndex(estimator=MLSI(8)).fit(texts, labels, ids)
    near = index.similar_labels("fun")
    assert near[0][0] == "game"
    assert near[0][1] == pytest.approx(1, abs=1e-6)
    assert all(0 < score <= 1 for _, score in near)


# --- reading the space -------------------------------------------------------------------


def test_shares_add_up_to_the_score(index):
    hit = index.search("crop a photo", 1)[0]
    why = index.explain("crop a photo", hit.id, n=8)
    assert why.score == pytest.approx(hit.score, abs=1e-6)
    shares = (
        query_vectors(index.model, index.store, "crop a photo", (), ())[0][0]
        * index.vectors([hit.id])[0]
    )
    assert sum(a.share for a in why.axes) == pytest.approx(shares[shares > 0].sum(), abs=1e-6)
    every = index.explain("crop a photo", hit.id, n=1000)
    # Words with a negative share are not shown; the rest cannot be less than the whole.
    assert sum(word.share for word in every.words) >= hit.score - 1e-6
    assert {word.word for word in every.words} <= {"crop", "a", "photo", "crop a", "a photo"}
    assert {w.word for w in every.words if w.shared} == {
        w.word for w in every.words if f" {w.word} " in f" {hit.text} "
    }
    assert {label.label for label in why.labels} == set(hit.labels)


def test_axes_have_words_and_labels_at_both_ends(index):
    axes = index.axes(2)
    assert [axis.number for axis in axes] == list(range(8))
    names = {entry.name for axis in axes[:4] for end in axis.labels for entry in end}
    assert names == set(WORDS)
    assert all(len(end) <= 2 for axis in axes for end in (*axis.words, *axis.labels))
    assert index.axes(2, [3]) == axes[3:4]
    with pytest.raises(InvalidParameter, match="numbers must be 0 to 7, but 8"):
        index.axes(numbers=[8])
