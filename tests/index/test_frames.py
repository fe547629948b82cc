"""Data frames as input, and results as tables in a notebook."""

import pytest

from labelspan import SemanticIndex
from labelspan.errors import InvalidParameter

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
