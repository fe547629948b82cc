"""Data frames as input, and results as tables in a notebook."""

import re

import pytest

from labelspan import SemanticIndex
from labelspan.errors import InvalidInput, InvalidParameter, LabelspanWarning

COLUMNS = {
    "name": ["a", "b", "c", "d"],
    "title": ["Chess game", "Chess online", "Edit photos", "Crop <photos>"],
    "body": ["for two", None, "and films", "and pictures"],
    "tags": [["game"], ["game", "net"], None, ["image"]],
    "year": [2001, None, 2003, 2005],
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_fitted(library):
    module = pytest.importorskip(library)
    frame = module.DataFrame(COLUMNS)
    index = SemanticIndex.from_frame(frame, text=["title", "body"], labels="tags", id="name")
    assert index.ids == ["a", "b", "c", "d"]
    assert index.item("a").text == "Chess game\nfor two"
    assert index.item("b").text == "Chess online"
    assert index.item("b").labels == ("game", "net")
    assert index.item("c").labels is None
    assert [index.item(name).metadata.get("year") for name in "abcd"] == [2001, None, 2003, 2005]
    assert frame["title"].to_list() == COLUMNS["title"]


def test_results_are_tables_in_a_notebook():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidParameter, match="no column 'txt'; the columns are name, title"):
        SemanticIndex.from_frame(pandas.DataFrame(COLUMNS), text="txt")
    index = SemanticIndex.from_frame(pandas.DataFrame(COLUMNS), text="title", labels="tags")
    page = index.search("photos", 2)._repr_html_()
    assert page.count("<tr>") == 2
    assert "Crop &lt;photos&gt;" in page
    for table in (index.tag("chess", 1), *index.search(["chess", "photos"], 1)):
        assert table._repr_html_().count("<tr>") == 1


@pytest.mark.parametrize("separator", [";", "|", ","])
def test_strings_that_look_like_several_labels_are_said(separator):
    """Each string was one label, silently."""
    pandas = pytest.importorskip("pandas")
    tags = [f"game{separator} net", f"net{separator} game", "image", "image"]
    frame = pandas.DataFrame({"title": COLUMNS["title"], "tags": tags})
    message = f"2 of 4 labels contain .*give separator='{re.escape(separator)}'"
    with pytest.warns(LabelspanWarning, match=message):
        SemanticIndex.from_frame(frame, text="title", labels="tags")
    index = SemanticIndex.from_frame(frame, text="title", labels="tags", separator=separator)
    assert index.item("0").labels == ("game", "net")


def test_a_hit_is_printed_in_two_lines():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**COLUMNS, "body": ["word " * 500] * 4})
    index = SemanticIndex.from_frame(frame, text=["title", "body"], labels="tags", id="name")
    lines = str(index.search("chess", 1)[0]).splitlines()
    assert [len(line) < 110 for line in lines] == [True, True]
    assert lines[1].strip() == ", ".join(index.search("chess", 1)[0].labels)


@pytest.mark.parametrize("wrong", [object(), {"above": 3}, {"from": "soon"}])
def test_a_wrong_filter_shows_a_right_one(wrong):
    pandas = pytest.importorskip("pandas")
    index = SemanticIndex.from_frame(pandas.DataFrame(COLUMNS), text="title", labels="tags")
    for given in ({"metadata": {"year": wrong}}, {"year": 2001}):
        with pytest.raises(InvalidInput, match=r"for example filter=\{"):
            index.search("chess", filter=given)
