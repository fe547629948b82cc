"""Formats, encodings, labels, folders and archives of a corpus, and what cannot be read.

What is read in memory is compared with the same items read one by one.
"""

import bz2
import codecs
import gzip
import io
import json
import lzma

import pytest
from _support.tagged import as_lines, as_table, formats, packed, read, rows, write_all
from hypothesis import given, settings
from hypothesis import strategies as st

from labelspan.corpus import CorpusReader, read_corpus
from labelspan.errors import (
    InvalidFile,
    InvalidInput,
    InvalidParameter,
    LabelspanError,
    MissingData,
)


def streamed(content, **options):
    return read_corpus(
        io.BytesIO(content.encode() if isinstance(content, str) else content), **options
    )


def as_file(tmp_path, name, content):
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return tmp_path / name


TABLE = "id,title,tags\nx1,Schön und gut,a; b\nx2,Zweites Stück,b\n"
TEXTS = ["Schön und gut", "Zweites Stück"]


def test_every_format_gives_the_same_corpus(tmp_path):
    expected = rows()
    names = formats(tmp_path)
    for suffix, pack in ((".gz", gzip), (".bz2", bz2), (".xz", lzma)):
        content = pack.compress((tmp_path / "a.csv").read_bytes())
        as_file(tmp_path, f"packed.csv{suffix}", content)
        names.append(f"packed.csv{suffix}")
        with pytest.raises(InvalidFile, match=r"is damaged: .*; get it again"):
            streamed(content[:-9])
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        pass
    else:
        parquet.write_table(arrow.Table.from_pylist(expected), tmp_path / "a.parquet")
        names.append("a.parquet")
        for content in ((tmp_path / "a.parquet").read_bytes()[:-30], b"text"):
            with pytest.raises(InvalidFile, match="damaged or not a parquet file"):
                CorpusReader(as_file(tmp_path, "b.parquet", content))
    for name in names:
        found = read(tmp_path / name)
        assert list(found.ids) == [item["id"] for item in expected], name
        assert found.texts[3] == f"Item 3\n\n{expected[3]['body']}"
        assert found.labels == [item["tags"] for item in expected], name
        assert found.metadata[4]["title"] == "Item 4"
        assert str(found.metadata[4]["year"]) == "2001"
        assert found.reading["text"] == ("title", "body")
        assert found.reading["guessed"] == {"text": "name", "labels": "name", "ids": "name"}


# --- encodings ---


@pytest.mark.parametrize(
    ("content", "used"),
    [
        (codecs.BOM_UTF8 + TABLE.encode(), "utf-8"),
        (TABLE.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + TABLE.encode("utf-16-be"), "utf-16"),
        (TABLE.encode("utf-32"), "utf-32"),
        (TABLE.replace("\n", "\r\n").encode(), "utf-8"),
        (TABLE.replace("\n", "\r").encode(), "utf-8"),
    ],
)
def test_byte_order_marks_and_line_ends(tmp_path, content, used):
    found = read(as_file(tmp_path, "a.csv", content))
    assert (found.texts, found.labels) == (TEXTS, [["a", "b"], ["b"]])
    assert (list(found.ids), found.reading["encoding"]) == (["x1", "x2"], used)
    first = CorpusReader(tmp_path / "a.csv").report().lines()[0]
    assert (": csv in utf-16, 2 items" in first) == (used == "utf-16")


def test_other_encodings_are_refused_and_the_option_helps(tmp_path):
    for encoding in ("cp1252", "utf-16-le", "utf-16-be"):
        path = as_file(tmp_path, "a.csv", TABLE.encode(encoding))
        message = f"line 2: this is not UTF-8 .*{encoding}" if encoding == "cp1252" else encoding
        with pytest.raises(InvalidFile, match=message) as error:
            read_corpus(path)
        assert "\n" not in str(error.value)
        assert read(path, encoding=encoding).texts[:2] == TEXTS
    with pytest.raises(InvalidFile, match=r"line 2: this is not ascii.*give its encoding"):
        streamed(TABLE, encoding="ascii")
    with pytest.raises(InvalidFile, match=r"mac-roman reads '.*Schön und gut"):
        streamed(TABLE.encode("mac-roman"), encoding="ascii")
    # What was tried is not proposed again, nor what cannot be read.
    with pytest.raises(InvalidFile, match="mac-roman reads") as error:
        streamed("id,text\n1,\x81\n".encode("latin-1"), encoding="cp1252")
    assert "cp1252 reads" not in str(error.value)
    for name in ("klingon", "base64", "\0"):
        with pytest.raises(InvalidParameter, match="encoding must be one that Python knows"):
            streamed(TABLE, encoding=name)
    assert streamed(codecs.BOM_UTF8 + TABLE.encode(), encoding="utf-8").ids == ["x1", "x2"]


@pytest.mark.parametrize(
    ("name", "encoding"), [("a.jsonl", "utf-16"), ("a.csv", "utf-16-le"), ("a.jsonl", "utf-32-be")]
)
def test_wide_encodings(tmp_path, name, encoding):
    items = rows()
    for item in items:
        # Characters with the bytes of line ends and of quotation marks.
        item["body"] += '\u0a0a \u010a \u2222 \u0a22\n"quoted", and \U0001f600'
    text = as_lines(items) if name == "a.jsonl" else as_table(items)
    read(as_file(tmp_path, name, text.encode(encoding)), encoding=encoding, heads=(1500, 2550))
    # A half of a surrogate pair, in the beginning and after it.
    content = text.encode("utf-16-le")
    for place in (1000, 5000):
        path = as_file(tmp_path, name, content[:place] + b"\x00\xdc" + content[place:])
        with pytest.raises(InvalidFile, match="not utf-16-le"):
            list(CorpusReader(path, head=3000, encoding="utf-16-le"))


# --- tables ---


def test_stray_headers_ragged_lines_and_empty_lines(tmp_path):
    lines = [f"x{n},Item number {n},game" for n in range(200)]
    head = "id,title,tags"
    content = "\n".join(
        [head, *lines, "y1,One cell less", "", head, "y2,Two,a,b,c", "y3,Three,a,,", head]
    )
    found = read(as_file(tmp_path, "a.csv", content))
    assert list(found.ids) == [*(f"x{n}" for n in range(200)), "y1", "y3"]
    assert found.labels[-2:] == [None, ["a"]]
    assert "2 line(s) (204, 207) repeat(s) the header; left out" in found.notes
    assert "1 line(s) (205) with more cells than columns; left out" in found.notes
    assert "1 line(s) (202) with fewer cells than columns; the others are empty" in found.notes


def test_quoting_is_seen_in_tsv(tmp_path):
    quoted = 'title\ttags\n"A ""quoted"" title"\tx\n"Two\nlines"\ty\nplain\tx\n'
    found = read(as_file(tmp_path, "q.tsv", quoted))
    assert found.texts == ['A "quoted" title', "Two\nlines", "plain"]
    plain = 'title\ttags\n"Half a quotation\tx\nThe " other half"\ty\n"Whole" and more\tx\n'
    found = read(as_file(tmp_path, "p.tsv", plain))
    assert found.texts == ['"Half a quotation', 'The " other half"', '"Whole" and more']
    assert "quotation marks are part of the text (guessed)" in found.notes


def test_names_for_uris(tmp_path):
    lines = ['"Half" a text\t<http://x/1> <http://x/2>', "Another\t<http://x/1>", "None\t"]
    path = as_file(tmp_path, "a.tsv", "\n".join([*lines, *lines[:2] * 9]))
    found = read(path)
    assert found.texts[:2] == ['"Half" a text', "Another"]
    assert found.labels[:3] == [["http://x/1", "http://x/2"], ["http://x/1"], None]
    assert any("--vocabulary FILE" in hint for hint in CorpusReader(path).report().hints)
    found = read(path, vocabulary=as_file(tmp_path, "n.tsv", "<http://x/1>\tbooks\nhttp://x/3\tm"))
    assert found.labels[0] == ["books", "http://x/2"]
    assert "1 label(s) are not in the vocabulary: 'http://x/2'" in found.notes
    # Also packed, and the other way round.
    turned = as_file(tmp_path, "names.gz", gzip.compress(b"books\thttp://x/1\n"))
    assert read(path, vocabulary=turned).labels[1] == ["books"]
    with pytest.raises(InvalidInput, match="is a folder; give a file of names"):
        read_corpus(path, vocabulary=tmp_path)


# --- JSON ---


def test_fields_may_be_missing_and_nested():
    lines = [
        {"title": "One", "labels": [{"name": "bug", "color": "red"}, {"name": "ui"}]},
        {"title": "Two", "body": "More", "labels": [], "user": {"login": "me", "id": 3}},
        {"body": "Only a body", "labels": [{"name": "bug"}]},
    ]
    content = "\n".join(map(json.dumps, lines))
    found = streamed(content)
    assert found.texts == ["One", "Two\n\nMore", "Only a body"]
    assert found.labels == [["bug", "ui"], None, ["bug"]]
    assert found.reading["labels"] == ("labels.name",)
    assert found.metadata[1]["user.login"] == "me"
    assert streamed(content, labels="labels").labels == found.labels
    assert streamed(content, labels="labels.color").labels[0] == ["red"]
    with pytest.raises(InvalidParameter, match=r"no field 'user'; .*there are .*'user.login'"):
        streamed(content, text="user")
    with pytest.raises(InvalidParameter, match=r"'titel'; did you mean 'title'\? there are"):
        streamed(content, text="titel")


def test_json_around_the_list_of_items():
    items = [{"text": "a", "tags": ["x"]}, {"text": "b"}]
    assert streamed(json.dumps({"total": 2, "items": items}), format="json").texts == ["a", "b"]
    assert streamed(json.dumps(items[0], indent=1), format="json").labels == [["x"]]
    assert streamed(as_lines(items), format="json").labels == [["x"], None]
    # Under the name of JSON lines, too.
    for indent in (1, None):
        assert streamed(json.dumps(items, indent=indent)).labels == [["x"], None]


# --- labels and options ---


def labels_of(values, **options):
    return streamed(as_lines([{"text": "x", "labels": value} for value in values]), **options)


@pytest.mark.parametrize(
    ("values", "lists", "how"),
    [
        ([["a", "b"], []], [["a", "b"], None], "lists"),
        (["a; b", "b", ""], [["a", "b"], ["b"], None], "separated by ';' (guessed)"),
        (["a|b", "c|d", "e; f"], [["a", "b"], ["c", "d"], ["e; f"]], "separated by '|'"),
        (["a, b", None], [["a", "b"], None], "separated by ','"),
        (["spam", "ham"], [["spam"], ["ham"]], "one label per item"),
        (["['a', 'b']", "[]", ""], [["a", "b"], None, None], "lists written as text"),
        (['["a, c"]', "['b']"], [["a, c"], ["b"]], "lists written as text"),
        (["['a' 'b']", "('a', 'b')"], [["a", "b"], ["a", "b"]], "lists written as text"),
        (["{'b', 'a'}", "[a, b c]"], [["a", "b"], ["a", "b c"]], "lists written as text"),
        (["['broken, b]"], [["broken", "b"]], "lists written as text"),
        (["<c#><asp.net>"], [["c#", "asp.net"]], "words in angle brackets"),
        (["<http://x/1> <x:2>"], [["http://x/1", "x:2"]], "words in angle brackets"),
        ([3, 4, None], [["3"], ["4"], None], "lists"),
        ([[1, "b", "b", " "], None], [["1", "b"], None], "lists"),
    ],
)
def test_labels_as_lists_and_strings(values, lists, how):
    found = labels_of(values)
    assert found.labels == lists
    assert how in found.reading["label_style"]
    assert found.n_labelled == sum(map(bool, lists))


def test_a_few_commas_are_inside_names():
    names = ["Queen", "Rush", "Yes", "Heart"] * 4
    bands = ["Crosby, Stills & Nash", "Blood, Sweat & Tears", "Emerson, Lake & Palmer"]
    content = as_lines([{"text": "x", "labels": one} for one in (*names, *bands)])
    assert streamed(content).labels[-3:] == [[one] for one in bands]
    hints = CorpusReader(io.BytesIO(content.encode())).report().hints
    assert any("splits labels such as 'Crosby, Stills" in one for one in hints)
    # In lists, parts are in other values, too.
    assert labels_of([*names, "Queen, Rush", "Yes, Heart", "Rush, Dio"]).labels[-1] == [
        "Rush",
        "Dio",
    ]


def test_numbers_of_labels_are_no_labels():
    rows = [{"title": f"A title {n}", "n_tags": n % 4, "kind": "abc"[n % 3]} for n in range(12)]
    assert streamed(as_lines(rows)).reading["labels"] == ("kind",)


def test_a_few_numbers_are_texts_and_a_comment_on_one_item_is_none():
    rows = [{"title": f"A film {n}", "genre": "abc"[n % 3], "money": n} for n in range(200)]
    rows[7]["title"], rows[8]["title"] = 1776, 7.5
    rows[0]["_comment"] = "Data of the office of films, with thanks"
    found = streamed(as_lines(rows))
    assert found.reading["text"] == ("title",)
    assert found.texts[6:9] == ["A film 6", "1776", "7.5"]


def test_dates_and_user_names_are_no_texts():
    for date in ("{}/11/99", "2015/01/{:02d} 10:00:00", "{}.11.1999 10:00"):
        rows = [{"show": date.format(n), "topic": "abc"[n % 3]} for n in range(1, 13)]
        with pytest.raises(InvalidParameter, match="no field looks like a text"):
            streamed(as_lines(rows))
    rows = [{"screen_name": f"name{n}", "text": f"a long enough text {n}"} for n in range(12)]
    assert streamed(as_lines(rows)).reading["text"] == ("text",)


def test_options_say_how_a_corpus_is_read(tmp_path):
    assert labels_of(["a, b", "c"], separator="").labels == [["a, b"], ["c"]]
    assert labels_of(["a/b"], separator="/").labels == [["a", "b"]]
    assert labels_of([[], ["a"], None], empty="none").labels == [[], ["a"], []]
    assert labels_of([["a"]], labels="").labels == [None]
    lists = [["a", "b"], ["a", "c"], ["a", "b"], ["d"], []]
    found = labels_of(lists, min_count=2)
    assert found.labels == [["a", "b"], ["a"], ["a", "b"], None, None]
    assert "2 rare label(s) left out" in found.notes
    assert labels_of(lists, min_count=2, empty="none").labels[3:] == [[], []]
    path = as_file(tmp_path, "a.jsonl", as_lines(rows()))
    found = read(path, text=["body"], labels="tags", ids="", empty="none")
    assert (found.texts[0], found.ids[:3]) == (rows()[0]["body"], ["0", "1", "2"])
    stream = CorpusReader(path, head=2000)
    assert not stream.report().complete
    assert "items in its beginning" in stream.report().lines()[0]


def test_duplicate_ids_are_reported_with_their_line(tmp_path):
    items = [{"key": "x", "text": "a"}, {"key": "y", "text": "b"}, {"key": "x", "text": "c"}]
    path = as_file(tmp_path, "a.jsonl", as_lines(items))
    with pytest.raises(InvalidFile, match=r"line 3: another item has the id 'x'"):
        read_corpus(path, ids="key")
    # A guess does not insist.
    found = read_corpus(path)
    assert (found.ids, found.numbered) == (["0", "1", "2"], True)


# --- folders and archives ---

DOCUMENTS = {
    "train/1.txt": "First text",
    "train/1.tsv": "<http://x/1>\tbooks\n<http://x/2>\tmaps\n",
    "train/2.txt": "Second text",
    "test/3.txt": "Third text",
    "test/3.tsv": "<http://x/2>\tmaps\n",
    "README.pdf": "x",
    ".hidden.txt": "x",
}


@pytest.mark.parametrize("form", ["folder", "w", "w:xz", "zip", "stream"])
def test_texts_with_files_of_labels(tmp_path, form):
    path = tmp_path / "docs"
    if form == "folder":
        found = read(write_all(path, DOCUMENTS))
    else:
        packed(path, DOCUMENTS, "w:gz" if form == "stream" else form)
        found = streamed(path.read_bytes()) if form == "stream" else read(path)
    labels = dict(zip(found.ids, found.labels, strict=True))
    assert labels == {"1": ["books", "maps"], "2": None, "3": ["maps"]}
    assert [table["folder"] for table in found.metadata] == ["test", "train", "train"]
    assert "labels from files with the name of the text; ids from the files' names" in found.notes
    assert "1 text(s) have no file of labels" in found.notes
    assert "1 other file(s) left out: .pdf 1" in found.notes


def test_a_folder_of_texts_in_folders(tmp_path):
    names = {"/".join([*item["tags"], f"{n}.txt"]): item for n, item in enumerate(rows(8))}
    files = {name: item["body"] for name, item in names.items()}
    more = {"top.md": "no folder", "README": "about", "picture.png": "PNG", ".hidden": "x"}
    folder = write_all(tmp_path / "letters", {**files, **more})
    found = read(folder)
    assert dict(zip(found.ids, found.labels, strict=True)) == {
        **{name: item["tags"] for name, item in names.items()},
        "top.md": None,
    }
    assert "2 other file(s) left out: README 1, .png 1" in found.notes
    (folder / "bad.txt").write_bytes(b"caf\xe9 noir")
    with pytest.raises(InvalidFile, match=r"bad\.txt, line 1: this is not UTF-8.*--encoding"):
        read_corpus(folder)


# --- what cannot be read ---


@pytest.mark.parametrize(
    ("content", "options", "error", "message"),
    [
        ("", {}, InvalidInput, "standard input holds no items"),
        ("text,labels\n", {}, InvalidInput, "holds no items"),
        ('{"a": 1}', {}, InvalidParameter, "no field looks like a text.*there are 'a'"),
        ('{"text": "x"}', {"text": "body"}, InvalidParameter, "no field 'body'; there are 'text'"),
        ('{"text": true}', {}, InvalidFile, "item 1: 'text' must be a text, but is True"),
        ('{"text": "x"}\n{"text"', {}, InvalidFile, "line 2: this is not JSON"),
        ('{"text": "x", "tags": {"a": "1"}}', {"labels": "tags"}, InvalidParameter, "'tags.a'"),
        ('{"text": "x", "tags": [[1]]}', {}, InvalidFile, "item 1: 'tags' must be a list of"),
        ("text,tags\na,b,c\n", {}, InvalidFile, "line 2: more cells than the 2 columns"),
        (
            '{"title": ["a", "b"], "tags": ["x", "y"]}',
            {"format": "json"},
            InvalidInput,
            "a list for each",
        ),
        ("<xml>\n<records>", {}, InvalidFile, "is EndNote's XML; export it as RIS or BibTeX"),
        ("PMID- 7\nTI  - a", {}, InvalidFile, "is PubMed's text; save it as XML"),
        ("FN ISI Export\n", {}, InvalidFile, "is Web of Science's text; export BibTeX or RIS"),
        ("no reference", {"format": "ris"}, InvalidFile, "no line begins with 'TY  - '"),
        (
            "no entry",
            {"format": "bibtex"},
            InvalidFile,
            "is not BibTeX: 'no entry'",
        ),
        ('[{"text": "x"}, 3]', {}, InvalidFile, "item 2: an object is needed"),
        ('[{"text": "x"}, null]', {}, InvalidFile, "item 2: an object is needed"),
        ('[{"text": "x"}', {}, InvalidFile, "is not JSON"),
        ('[{"text": "x"} {}]', {}, InvalidFile, "is not JSON"),
        ("3", {"format": "json"}, InvalidFile, "a list of objects is needed, but is 3"),
        ("x", {"format": "docx"}, InvalidParameter, "format must be one of jsonl, json"),
        ("x", {"empty": "maybe"}, InvalidParameter, "empty must be 'unknown' or 'none'"),
        (
            "text,tags\na,b",
            {"min_count": 0},
            InvalidParameter,
            "min_count must be at least 1, but is 0",
        ),
        ('{"id": 1, "text": "x"}\n{"id": "", "text": "x"}', {"ids": "id"}, InvalidFile, "is empty"),
        (b"PK\x03\x04 and more", {}, InvalidFile, "is damaged: File is not a zip file; get it"),
        (b"%PDF-1.7", {}, InvalidFile, "a PDF document; convert it to text"),
        (bytes(range(1, 32)) * 9, {}, InvalidInput, "is not a text file .*labelspan reads csv"),
    ],
)
def test_corpora_that_cannot_be_read(content, options, error, message):
    with pytest.raises(error, match=message):
        streamed(content, **options)


def test_files_and_folders_that_cannot_be_read(tmp_path):
    with pytest.raises(MissingData, match="There is no file"):
        read_corpus(tmp_path / "x.csv", format="folder")
    for files, options, message in [
        ({}, {"format": "csv"}, "is a folder, and cannot be read as csv"),
        ({}, {}, "holds no items"),
        ({"x.png": ""}, {}, r"no text files .*, but x\.png; labelspan reads"),
        ({"b.csv": TABLE}, {"format": "folder"}, r"no text files .*, but b\.csv; leave --format"),
        ({"a.csv": TABLE, "b.jsonl": ""}, {}, r"tables of several formats, as a\.csv and b\.jsonl"),
        ({"text/1.txt": "x", "labels/2.txt": "y"}, {}, "'labels' seems to hold labels, but none"),
    ]:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        with pytest.raises(InvalidInput, match=message):
            read_corpus(write_all(folder, files), **options)
    with pytest.raises(InvalidInput, match="is a file, not a folder"):
        read_corpus(as_file(tmp_path, "a.csv", TABLE), format="folder")
    for mode in ("w", "zip"):
        assert read(packed(tmp_path / "one", {"corpus.csv": TABLE}, mode)).texts == TEXTS
        content = bytearray(packed(tmp_path / "all", DOCUMENTS, mode).read_bytes())
        content[content.index(b"train/1.txt") + 12] ^= 0xFF
        with pytest.raises(InvalidFile, match=r"is damaged: .*; get it again"):
            streamed(bytes(content[:1000] if mode == "w" else content))
    sheet = packed(tmp_path / "sheet", {"[Content_Types].xml": ""}, "zip", top="")
    with pytest.raises(InvalidFile, match=r"is an office document or a book, .*save it as text"):
        read_corpus(sheet)


SEEDS = [
    TABLE.encode(),
    TABLE.encode("utf-16"),
    b'{"text": "a", "tags": ["x", {"y": 1}]}\n{"text": null}',
    b'[{"text": "a"}, {"text": ["b"]}]',
    b"text\t<http://x/1>\nmore\t<http://x/2>\n",
    gzip.compress(TABLE.encode(), mtime=0),
    packed(io.BytesIO(), DOCUMENTS, "w").getvalue()[:4096],
    b'a,b\n"c,d\n',
]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.one_of(st.sampled_from(SEEDS), st.binary(max_size=200)),
    edits=st.lists(st.tuples(st.integers(0, 4095), st.binary(max_size=3)), max_size=6),
    format=st.sampled_from([None, None, "jsonl", "json", "csv", "tsv", "uris", "lines"]),
    encoding=st.sampled_from([None, None, None, "latin-1", "utf-16", "utf-7", "idna", "punycode"]),
)
def test_malformed_bytes_are_read_or_raise_an_error(seed, edits, format, encoding):
    content = bytearray(seed)
    for place, patch in edits:
        content[place % (len(content) + 1) : place % (len(content) + 1) + 1] = patch
    try:
        found = streamed(bytes(content), format=format, encoding=encoding)
    except LabelspanError as error:
        said = str(error)
        assert "\n" not in said
        assert said.endswith(".")
        assert len(said) < 1000
        return
    assert len(found.texts) == len(found.labels) == len(found.metadata) == len(set(found.ids))
    for text in found.texts:
        text.encode()
