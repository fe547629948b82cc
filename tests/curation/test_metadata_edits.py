"""Saved searches, and merged values of the metadata: stored, undone, kept after a refit."""

import pytest

from labelspan import MLSI, SemanticIndex
from labelspan.curation import MetadataEdits, SavedSearches, Teacher, value_groups
from labelspan.curation.metadata_edits import value_counts
from labelspan.errors import InvalidInput, Mismatch

CAST = ["Ann Smith, Bo Li", "Smith Ann, Bo Li", "Bo Li, Cy Ray", "Ann Smith, Cy Ray, Smith Ann"]


@pytest.fixture
def index(tmp_path):
    texts = [f"{word} number {n}" for n, word in enumerate(["chess", "photo"] * 8)]
    tables = [{"cast": CAST[n % 4], "by": ["Zoe", "Zoé"][n % 2], "year": n} for n in range(16)]
    made = SemanticIndex(estimator=MLSI(4)).fit(texts, [["a"], ["b"]] * 8, metadata=tables)
    made.save(tmp_path / "index")
    with SemanticIndex.load(tmp_path / "index", write=True) as index:
        yield index


def test_values_with_the_same_words_or_nearly_the_same_spelling_are_groups(index):
    counts = value_counts(index, "cast")
    assert counts == {"Ann Smith": 8, "Smith Ann": 8, "Bo Li": 12, "Cy Ray": 8}
    assert value_groups(counts) == [{"Ann Smith": 8, "Smith Ann": 8}]
    assert value_groups(counts, "spelling") == []
    assert value_groups({"Ana Smith": 1, "Anna Smith": 2, " ": 9}) == []
    near = {"Anna Smit": 1, "Anna Smith": 2, "a": 3, "b": 1}
    assert value_groups(near, "spelling") == [{"Anna Smith": 2, "Anna Smit": 1}]
    assert value_counts(index) == {"a": 8, "b": 8}
    for field in ("year", "nothing"):
        with pytest.raises(InvalidInput, match="not a field of texts; there are: by, cast"):
            value_counts(index, field)


def test_merged_values_are_counted_once_and_undone_where_nothing_else_changed(index):
    edits = MetadataEdits(index)
    made = edits.replace("cast", {"Smith Ann": "Ann Smith", "Bo Li": "Bo Li"}, who="anna")
    assert (made.n_items, made.who, made.said) == (8, "anna", "Change cast of 8 items.")
    assert index.item("3").metadata["cast"] == "Ann Smith, Cy Ray"
    assert value_counts(index, "cast") == {"Ann Smith": 12, "Bo Li": 12, "Cy Ray": 8}
    assert len(index.browse("", {"metadata": {"cast": "Ann Smith"}})) == 12
    assert edits.replace("cast", {"Smith Ann": "Ann Smith"}) is None
    # What was changed since stays as it is now.
    edits.replace("cast", {"Cy Ray": "Cyrus Ray"})
    with SemanticIndex.load(index.path, verify=True) as other:
        assert other.item("3").metadata["cast"] == "Ann Smith, Cyrus Ray"
    undone = index.undo(made.number)
    assert (undone.restored, undone.kept) == (4, {2: 4})
    assert index.item("3").metadata["cast"] == "Ann Smith, Cyrus Ray"
    assert index.item("1").metadata == {"cast": CAST[1], "by": "Zoé", "year": 1}
    assert [one.undone for one in index.history()] == [False, False, True]
    with pytest.raises(InvalidInput, match="undone before"):
        index.undo(made.number)
    with pytest.raises(InvalidInput, match="cannot be replaced by an empty one"):
        edits.replace("by", {"Zoé": " "})


def test_searches_and_changes_stay_when_the_index_is_fitted_again(index):
    searches, edits = SavedSearches(index), MetadataEdits(index)
    searches.save("  old   films ", "q=film&label=a")
    searches.save("Other", "q=other")
    edits.replace("by", {"Zoé": "Zoe"})
    searches.save("old films", "q=films")
    searches.save("Other", "")
    searches.save("Other", "")
    labels = [["a"], ["b"], ["c"]] * 3
    again = SemanticIndex(estimator=MLSI(2)).fit(["chess", "photo", "song"] * 3, labels)
    path = index.path
    index.close()
    again.save(path)
    again = SemanticIndex.load(path, write=True)
    assert SavedSearches(again).all() == {"old films": "q=films"}
    assert "Change by of 8 items." in [one.said for one in again.history()]
    assert Teacher.lessons(again) == []
    for name in ("", " ", "x" * 101):
        with pytest.raises(InvalidInput, match="1 to 100 characters"):
            SavedSearches(again).save(name, "q=x")
    again.close()
    with SemanticIndex.load(path) as reading, pytest.raises(Mismatch, match="write=True"):
        SavedSearches(reading).save("name", "q=x")
