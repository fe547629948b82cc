"""Reading corpora of one's own: formats, fields, labels, and what cannot be read."""

import io
import json

import pytest
from _support.tagged import as_lines, formats, rows

from labelspan.corpus import read_corpus
from labelspan.errors import InvalidFile, InvalidInput, InvalidParameter, MissingData


def test_every_format_gives_the_same_corpus(tmp_path):
    expected = rows()
    for name in formats(tmp_path):
        found = read_corpus(tmp_path / name)
        assert list(found.ids) == [item["id"] for item in expected], name
        assert found.texts[3] == f"Item 3\n\n{expected[3]['body']}"
        assert found.labels == [item["tags"] for item in expected], name
        assert found.metadata[4]["title"] == "Item 4"
        assert str(found.metadata[4]["year"]) == "2001"
        assert found.notes[1] == "text from 'title' and 'body' (guessed)"


def test_a_folder_of_texts(tmp_path):
    for number, item in enumerate(rows(8)):
        path = tmp_path.joinpath("letters", *item["tags"], f"{number}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(item["body"])
    (tmp_path / "letters" / "top.md").write_text("no folder, no label")
    (tmp_path / "letters" / "README").write_text("about the letters")
    (tmp_path / "letters" / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "letters" / ".hidden").write_text("x")
    found = read_corpus(tmp_path / "letters")
    assert len(found) == 9
    by_id = dict(zip(found.ids, found.labels, strict=True))
    assert by_id["/".join([*rows(8)[2]["tags"], "2.txt"])] == rows(8)[2]["tags"]
    assert by_id["top.md"] is None
    assert "2 other file(s) left out" in found.notes
    (tmp_path / "letters" / "bad.txt").write_bytes(b"caf\xe9 noir")
    with pytest.raises(InvalidFile, match=r"bad\.txt, line 1: this is not UTF-8.*--encoding"):
        read_corpus(tmp_path / "letters")


def labels_of(values, **options):
    lines = "".join(json.dumps({"text": "x", "labels": value}) + "\n" for value in values)
    return read_corpus(io.BytesIO(lines.encode()), **options)


@pytest.mark.parametrize(
    ("values", "lists", "how"),
    [
        ([["a", "b"], []], [["a", "b"], None], "labels are lists"),
        (["a; b", "b", ""], [["a", "b"], ["b"], None], "separated by ';' (guessed)"),
        (["a|b", "c|d", "e; f"], [["a", "b"], ["c", "d"], ["e; f"]], "separated by '|'"),
        (["a, b", None], [["a", "b"], None], "separated by ','"),
        (["spam", "ham"], [["spam"], ["ham"]], "each item has one label"),
        (["['a', 'b']", "[]", ""], [["a", "b"], None, None], "lists written as text"),
        (['["a"]', "['b']"], [["a"], ["b"]], "lists written as text"),
        ([3, 4, None], [["3"], ["4"], None], "labels are lists"),
        ([[1, "b", "b", " "], None], [["1", "b"], None], "labels are lists"),
    ],
)
def test_labels_as_lists_and_strings(values, lists, how):
    found = labels_of(values)
    assert found.labels == lists
    assert how in found.notes[-1]
    assert f"{sum(map(bool, lists))} of {len(values)} items have labels" in found.notes[-1]


def test_options_say_how_labels_are_read():
    assert labels_of(["a, b", "c"], separator="").labels == [["a, b"], ["c"]]
    assert labels_of(["a/b"], separator="/").labels == [["a", "b"]]
    assert labels_of([[], ["a"], None], empty="none").labels == [[], ["a"], []]
    assert labels_of([["a"]], labels="").labels == [None]


@pytest.mark.parametrize(
    ("content", "options", "error", "message"),
    [
        ("", {}, InvalidInput, "standard input holds no items"),
        ("text,labels\n", {}, InvalidInput, "holds no items"),
        ('{"a": 1}', {}, InvalidParameter, "no field looks like a text.*there are 'a'"),
        ('{"text": "x"}', {"text": "body"}, InvalidParameter, "no field 'body'; there are 'text'"),
        ('{"text": "x"}', {"labels": "tags"}, InvalidParameter, "there is no field 'tags'"),
        ('{"text": 3}', {}, InvalidFile, "line 1: 'text' must be a text, but is 3"),
        ('{"text": "x"}\n{"text"', {}, InvalidFile, "line 2: this is not JSON"),
        ('{"text": "x", "tags": {"a": 1}}', {"labels": "tags"}, InvalidParameter, "'tags.a'"),
        ('{"text": "x", "tags": [[1]]}', {}, InvalidFile, "line 1: 'tags' must be a list of"),
        ('{"text": "x", "tags": "[a"}\n', {"labels": "tags"}, None, ""),
        ("text,tags\na,b,c\n", {}, InvalidFile, "line 2: more cells than the 2 columns"),
        ("text,text\na,b\n", {"format": "csv"}, InvalidFile, "two columns have the same name"),
        ('[{"text": "x"}, 3]', {}, InvalidFile, "item 2: an object is needed"),
        ('[{"text": "x"}', {}, InvalidFile, "is not JSON"),
        ("x", {"format": "xml"}, InvalidParameter, "format must be one of jsonl, json"),
        ("x", {"empty": "maybe"}, InvalidParameter, "empty must be 'unknown' or 'none'"),
        ('{"id": 1, "text": "x"}\n{"id": "", "text": "x"}', {"ids": "id"}, InvalidFile, "is empty"),
    ],
)
def test_corpora_that_cannot_be_read(content, options, error, message):
    stream = io.BytesIO(content.encode())
    if error is None:
        assert read_corpus(stream, **options).labels == [["[a"]]
        return
    with pytest.raises(error, match=message):
        read_corpus(stream, **options)


def test_missing_files_and_folders(tmp_path):
    for format in (None, "csv", "folder"):
        with pytest.raises(MissingData, match="There is no file"):
            read_corpus(tmp_path / "x.csv", format=format)
    with pytest.raises(InvalidInput, match="is a folder, and cannot be read as csv"):
        read_corpus(tmp_path, format="csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="holds no items"):
        read_corpus(tmp_path / "empty")


def test_duplicate_ids_are_reported_with_their_lines(tmp_path):
    items = [{"key": "x", "text": "a"}, {"key": "y", "text": "b"}, {"key": "x", "text": "c"}]
    (tmp_path / "a.jsonl").write_text(as_lines(items))
    with pytest.raises(InvalidFile, match=r"line 3: the id 'x' is also in line 1"):
        read_corpus(tmp_path / "a.jsonl", ids="key")
    # A guess does not insist.
    found = read_corpus(tmp_path / "a.jsonl")
    assert (found.ids, found.numbered) == (["0", "1", "2"], True)
