"""Labels that are predicted for items without them, kept with the index."""

import numpy as np
import pytest
from _support.topics import corpus

from labelspan import MLSI, SemanticIndex
from labelspan.index.tagging import ItemTagger
from labelspan.tagger.decision import emphasised
from labelspan.tagger.label_regression import LabelRegression


def fitted(count=90):
    texts, labels, ids, _ = corpus(count, seed=1)
    return SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)


def predicted(index, ids, **options):
    return ItemTagger(index.model, index.store, index.tagger).without_item(ids, **options)


def as_pairs(tags):
    return [(tag.label, pytest.approx(tag.probability, abs=1e-6)) for tag in tags]


def test_tags_are_those_of_models_without_the_item():
    index = fitted()
    tagger = index.tagger
    targets = emphasised(tagger.targets)
    scores = np.hstack(
        [found for _, _, found in LabelRegression(tagger.features, tagger.alpha).blocks(targets)]
    )
    votes = tagger.voters.votes(tagger.features, np.arange(len(index)))
    scores = scores + tagger.decision.weight * votes.toarray()
    order = np.argsort(-scores, axis=1, kind="stable")
    chances = tagger.decision.probability(scores)
    for row, tags in enumerate(predicted(index, index.ids)):
        assert [tag.label for tag in tags] == [tagger.labels[j] for j in order[row]]
        np.testing.assert_allclose(
            [tag.probability for tag in tags], chances[row][order[row]], atol=1e-3
        )
    # So are the chances of the labels that items have.
    rows = np.repeat(np.arange(len(index)), np.diff(tagger.targets.indptr))
    np.testing.assert_allclose(
        tagger.left_out.own, chances[rows, tagger.targets.indices], atol=1e-3
    )


def test_left_out_tags_are_kept_in_the_folder(tmp_path):
    index = fitted()
    before = predicted(index, index.ids)
    index.add(["crop dice radio volume"], [["game"]], ["late"])
    index.save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index") as read:
        assert [as_pairs(tags) for tags in predicted(read, read.ids[:90])] == [
            as_pairs(tags) for tags in before
        ]


def test_items_without_labels_are_predicted():
    texts, labels, ids, _ = corpus(90, seed=1)
    labels[3] = None
    index = SemanticIndex(estimator=MLSI(5)).fit(texts, labels, ids)
    expected = index.tag(items=ids[3])
    assert as_pairs(predicted(index, [ids[3]])[0]) == as_pairs(expected)
