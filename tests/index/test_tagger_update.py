"""Tags of an index: learned from texts, brought up to date, explained, and kept in a folder."""

import numpy as np
import pytest
from _support.topics import corpus

from labelspan import LSI, MLSI, SemanticIndex
from labelspan.errors import InvalidInput, Mismatch
from labelspan.tagger.decision import emphasised
from labelspan.tagger.label_regression import LabelRegression


def fitted(**options):
    texts, labels, ids, _ = corpus(90, seed=1)
    return SemanticIndex(estimator=MLSI(5), **options).fit(texts, labels, ids)


def weights(index):
    tagger = index.tagger
    return dict(zip(tagger.labels, tagger.weights.toarray(), strict=True))


@pytest.fixture(scope="module")
def index():
    return fitted()


@pytest.mark.parametrize("kind", ["text", "vectors"])
def test_relabelled_items_are_learned_as_by_a_new_fit(kind):
    texts, labels, ids, _ = corpus(90, seed=1)
    vectors = np.random.default_rng(0).standard_normal((90, 12)) if kind == "vectors" else None
    index = SemanticIndex(MLSI(5))
    index.fit(texts, labels, ids, vectors=vectors)
    before = weights(index)
    index.relabel(ids[:9], [["game"]] * 9)
    index.remove(ids[80:])
    index.relabel(ids[9], ["new"])
    tagger = index.tagger
    assert index.item(ids[0]).labels == ("game",)
    assert tagger.labels == ("game", "image", "sound", "new")
    ridge = LabelRegression(tagger.features, tagger.alpha)
    expected = dict(
        zip(
            tagger.labels,
            next(iter(ridge.blocks(emphasised(tagger.targets))))[1].T,
            strict=True,
        )
    )
    for label in tagger.labels:
        np.testing.assert_allclose(weights(index)[label], expected[label][:-1], atol=1e-5)
    assert np.abs(before["game"] - weights(index)["game"]).max() > 1e-3


def test_added_items_vote_and_teach_new_labels():
    index = fitted()
    text = "crop dice radio volume"
    index.add([text] * 6, [["farm"]] * 6)
    found = index.tag(text, 1)[0]
    assert found.label == "farm"
    assert {row.label: row.support for row in index.label_report()}["farm"] == 6
    assert index.explain_tag("farm", text).votes[0].has_label


def test_nothing_is_learned_when_no_label_changed(index):
    index = fitted()
    before = index.tagger
    index.add(["chess dice"], ids=["other"])
    assert index.tagger is before


def test_a_folder_keeps_the_tagger_and_what_changed_later(tmp_path):
    index = fitted()
    index.save(tmp_path / "index")
    query = ["chess and dice", "a song", ""]
    assert SemanticIndex.load(tmp_path / "index").tag(query) == index.tag(query)
    with SemanticIndex.load(tmp_path / "index", write=True) as writer:
        writer.remove("item3").relabel("item5", ["new"])
        writer.add(["paint"], [["new"]], ["late"]).relabel("late", ["new", "image"])
        expected = writer.tag(query, 9)
    with SemanticIndex.load(tmp_path / "index", write=True) as loaded:
        assert loaded.item("late").labels == ("image", "new")
        assert loaded.ids.index("item5") == writer_position(loaded)
        assert loaded.tag(query, 9) == expected
        loaded.save()
        assert loaded.tag(query, 9) == expected
    assert SemanticIndex.load(tmp_path / "index").tag(query, 9) == expected


def writer_position(index):
    return sorted(index.ids, key=lambda name: int(name.strip("itemla") or 999)).index("item5")


def test_an_explanation_names_words_and_items(index):
    text = "Chess and more chess with a melody"
    why = index.explain_tag("game", text, 3)
    tag = next(tag for tag in index.tag(text) if tag.label == "game")
    assert (why.probability, why.threshold) == (pytest.approx(tag.probability), tag.threshold)
    assert why.words[0].word == "chess"
    assert all(word.word in text.casefold() for word in why.words)
    assert len(why.votes) == 3
    own = index.explain_tag("game", items="item6")
    assert "item6" not in {vote.id for vote in own.votes}


def test_the_report_counts_items_and_decisions(index):
    report = {row.label: row for row in index.label_report()}
    assert {label: row.support for label, row in report.items()} == index.labels
    assert all(
        row.precision > 0.7 and row.recall > 0.7 and not row.never for row in report.values()
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda index: index.relabel(["item1", "item1"], [["a"], ["b"]]), "occurs twice"),
        (lambda index: index.relabel("item1", "game"), "labels"),
        (lambda index: index.relabel("nothing", ["a"]), "There is no item"),
        (lambda index: index.explain_tag("unheard", "chess"), "has not learned the label"),
        (lambda index: index.explain_tag("game", ["chess", "dice"]), "not several"),
    ],
)
def test_errors_say_what_to_do(index, call, message):
    with pytest.raises(InvalidInput, match=message):
        call(index)


def test_an_index_without_labels_has_no_report():
    index = SemanticIndex(estimator=LSI(2)).fit(["chess", "dice", "song"])
    with pytest.raises(Mismatch, match="without labels"):
        index.label_report()
