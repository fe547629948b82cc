"""Passages of texts with words of a query, and words that two texts share."""

import pytest

from labelspan.index import Item
from labelspan.index.passages import QueryWords, SharedWords, passage
from labelspan.text import Vocabulary, WordSearch, WordSegment


def item(text, name="a"):
    return Item(name, text, None, {})


def words_of(query, text):
    vocabulary = Vocabulary("en")
    vocabulary.number([text])
    return QueryWords(vocabulary, query)


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("edit photo", "Editing photos, photographs", ["Editing", "photos"]),
        ("the photo", "the PHOTO of the day", ["PHOTO"]),
        ("the", "the PHOTO of the day", ["the", "the"]),
        ('"free music" -radio', "radio: music that is free", ["music", "free"]),
        ("photo*", "photographs and a photo", ["photographs", "photo"]),
        ("zzz", "nothing of it", []),
        ("photo", "a_photo photo_a Photo's tele-photo \u017fphoto", ["Photo", "photo"]),
        ("_photo [x", "_photo [x] photo", ["_photo", "x"]),
        ("sun", "\u017fun Sun", ["\u017fun", "Sun"]),
        ("国語", "日本の国語", ["国", "語"]),
        ("die", "Dying trees die of drought", ["Dying", "die"]),
        ("running", "Runs, runner, ran and rung", ["Runs"]),
        ("sky", "Skies and skis", ["Skies"]),
    ],
)
def test_words_are_found_in_any_form(query, text, found):
    assert [word for _, word in words_of(query, text).places(text)] == found


def test_a_passage_is_of_the_rest_of_the_text():
    whole = passage(item("A title\n\nand the rest of it"))
    assert (whole.title, whole.text, whole.words) == ("A title", "and the rest of it", ())
    assert passage(item("only a title")).text == ""
    assert passage(item("", "name")).title == "name"
    long = "word " * 100
    cut = passage(item(long))
    assert cut.title.endswith("…")
    assert cut.text.endswith(" …")
    assert len(cut.text) <= 203


def test_a_passage_has_the_most_words_that_are_searched_for():
    text = "title\n" + "filler " * 60 + "the chess of a player " + "filler " * 60
    wanted = words_of("chess players", text)
    found = passage(item(text), wanted)
    assert found.text.startswith("… ")
    assert "chess of a player" in found.text
    assert found.words == ("chess", "player")
    near = passage(item("title\nchess is here " + "filler " * 60), wanted)
    assert near.text.startswith("chess is here"), "what is near the beginning is shown from there"


def test_shared_words_are_the_rarest_first():
    vocabulary = Vocabulary("en")
    block = vocabulary.number(["chess player", "chess", "song", "chess unheard players", "songs"])
    words = WordSearch(vocabulary, [WordSegment.build(block)])
    shared = SharedWords(words, "chess the player unheard")
    found = shared.of("Players of the chess: Unheard songs", 5)
    assert found == ["Unheard", "Players", "chess"]
    assert SharedWords(words, "chess").of("music") == []
    assert SharedWords(words, "chess player song").of("chess player song", 2) == ["player", "song"]
