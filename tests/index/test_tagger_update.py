"""Tags of an index: learned from texts, brought up to date, explained, and kept in a folder."""

import pytest
from _support.topics import corpus

from labelspan import MLSI, SemanticIndex
from labelspan.errors import InvalidInput


def fitted(**options):
    texts, labels, ids, _ = corpus(90, seed=1)
    return SemanticIndex(estimator=MLSI(5), **options).fit(texts, labels, ids)


@pytest.fixture(scope="module")
def index():
    return fitted()


def test_added_items_vote_and_teach_new_labels():
    index = fitted()
    text = "crop dice radio volume"
    index.add([text] * 6, [["farm"]] * 6)
    found = index.tag(text, 1)[0]
    assert found.label == "farm"
    assert {row.label: row.support for row in index.label_report()}["farm"] == 6
    assert index.explain_tag("farm", text).votes[0].has_label


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
