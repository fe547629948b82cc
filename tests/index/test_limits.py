"""Limits of the system and of the input: files, memory, seeds, ids, spellings."""

import errno
import unicodedata

import pytest
from _support.stored import answers_of
from _support.topics import corpus

from labelspan import SemanticIndex
from labelspan.errors import InvalidInput, TooManyFiles
from labelspan.index.searching import similar_labels


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (MemoryError(), MemoryError),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), MemoryError),
        (OSError(errno.EMFILE, "Too many open files"), TooManyFiles),
    ],
    ids=repr,
)
def test_too_little_memory_or_too_many_files_is_not_called_damage(
    folder, error, raised, monkeypatch
):
    before = answers_of(folder)

    def fails(*args, **options):
        raise error

    monkeypatch.setattr("labelspan._arrays.mmap.mmap", fails)
    with pytest.raises(raised):
        SemanticIndex.load(folder)
    monkeypatch.undo()
    assert answers_of(folder) == before


def test_a_name_that_is_too_long_is_refused():
    texts, labels, ids, _ = corpus(8)
    index = SemanticIndex().fit(texts, [*labels[:7], ["y" * 4000]], [*ids[:7], "x" * 4000])
    assert index.ids[7] == "x" * 4000
    assert "y" * 4000 in index.labels
    too_long = "has a name of 4,001 characters .*, and at most 4,000 are allowed"
    with pytest.raises(InvalidInput, match=rf"fit: ids\[7\] {too_long}"):
        SemanticIndex().fit(texts, labels, [*ids[:7], "x" * 4001])
    with pytest.raises(InvalidInput, match=rf"fit: labels\[7\] {too_long}"):
        SemanticIndex().fit(texts, [*labels[:7], ["y" * 4001]])
    with pytest.raises(InvalidInput, match=rf"add: ids\[0\] {too_long}"):
        index.add(["chess"], ids=["z" * 4001])
    assert len(index) == 8


# --- spellings ----------------------------------------------------------------------------

# The same word: composed, decomposed, in capitals, in full-width letters.
COMPOSED = "caf\u00e9"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


@pytest.fixture(scope="module")
def spelled():
    texts = [f"{COMPOSED} terrace", f"{DECOMPOSED} menu", "chess board", "chess player"]
    labels = [[f"tag {COMPOSED}"], [f"tag {DECOMPOSED}"], ["game"], ["game"]]
    return SemanticIndex().fit(texts, labels, [COMPOSED, DECOMPOSED, "c", "d"])


def test_spellings_of_a_word_meet(spelled):
    assert COMPOSED != DECOMPOSED
    # With another word: a query that is an id would find that item first.
    expected = spelled.search(f"nice {COMPOSED}")
    assert {hit.id for hit in expected} == {COMPOSED, DECOMPOSED}
    for query in (DECOMPOSED, COMPOSED.upper(), DECOMPOSED.upper(), "\uff43\uff41\uff46\u00e9"):
        assert spelled.search(f"nice {query}") == expected
        assert spelled.tag(query) == spelled.tag(COMPOSED)
    words = spelled.explain(DECOMPOSED, COMPOSED).words
    assert (words[0].word, words[0].shared) == (COMPOSED, True)


def test_spellings_of_a_label_meet(spelled):
    name = f"tag {COMPOSED}"
    assert spelled.labels == {"game": 2, name: 2}
    other = f"tag {DECOMPOSED}"
    assert spelled.search(labels=other) == spelled.search(labels=name) != []
    near = [similar_labels(spelled.store, one, 5) for one in (name, other)]
    assert near[0] == near[1]
    for field in ("labels", "without"):
        assert spelled.search("chess", filter={field: [other]}) == spelled.search(
            "chess", filter={field: [name]}
        )


def test_ids_stay_as_given(spelled, tmp_path):
    assert spelled.ids[:2] == [COMPOSED, DECOMPOSED]
    assert spelled.item(DECOMPOSED).text == f"{DECOMPOSED} menu"
    spelled.save(tmp_path / "i")
    with SemanticIndex.load(tmp_path / "i") as loaded:
        assert loaded.ids == spelled.ids
        assert loaded.search(DECOMPOSED) == spelled.search(DECOMPOSED)
        assert loaded.search(DECOMPOSED)[0].id == DECOMPOSED
