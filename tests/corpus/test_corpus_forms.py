"""Corpora as people have them: encodings, tables, nested fields, folders and archives."""

import bz2
import codecs
import gzip
import io
import json
import lzma
import tarfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelspan.corpus import read_corpus
from labelspan.errors import (
    InvalidFile,
    InvalidInput,
    InvalidParameter,
    LabelspanError,
    MissingData,
)


def read(content, name=None, **options):
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    if name is not None:
        stream.name = name
    return read_corpus(stream, **options)


def as_file(tmp_path, name, content):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


TABLE = "id,title,tags\nx1,Schön und gut,a; b\nx2,Zweites Stück,b\n"
TEXTS = ["Schön und gut", "Zweites Stück"]


# --- encodings and packing ---


@pytest.mark.parametrize(
    ("content", "used"),
    [
        (TABLE.encode(), "utf-8"),
        (codecs.BOM_UTF8 + TABLE.encode(), "utf-8"),
        (TABLE.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + TABLE.encode("utf-16-be"), "utf-16"),
        (TABLE.encode("utf-32"), "utf-32"),
        (TABLE.replace("\n", "\r\n").encode(), "utf-8"),
        (TABLE.replace("\n", "\r").encode(), "utf-8"),
    ],
)
def test_byte_order_marks_and_line_ends(tmp_path, content, used):
    found = read_corpus(as_file(tmp_path, "a.csv", content))
    assert found.texts == TEXTS
    assert found.labels == [["a", "b"], ["b"]]
    assert list(found.ids) == ["x1", "x2"]
    assert found.reading.encoding == used
    assert (" in utf-16" in found.notes[0]) == (used == "utf-16")


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (TABLE.encode("latin-1"), "cp1252"),
        (TABLE.encode("latin-1") + b"x3,\x81,a\n", "latin-1"),
        (TABLE.encode("utf-16-le"), "utf-16-le"),
        (TABLE.encode("utf-16-be"), "utf-16-be"),
    ],
)
def test_other_encodings_are_named_and_the_option_helps(tmp_path, content, hint):
    path = as_file(tmp_path, "a.csv", content)
    with pytest.raises(
        InvalidFile, match=rf"give encoding='{hint}' \(--encoding {hint}\)"
    ) as error:
        read_corpus(path)
    assert "\n" not in str(error.value)
    assert read_corpus(path, encoding=hint).texts[:2] == TEXTS


def test_an_encoding_that_is_wrong_or_unknown():
    with pytest.raises(InvalidFile, match=r"line 2: this is not ascii.*give another encoding"):
        read(TABLE, encoding="ascii")
    for name in ("klingon", "base64", "\0"):
        with pytest.raises(InvalidParameter, match="encoding must be one that Python knows"):
            read(TABLE, encoding=name)
    assert read(codecs.BOM_UTF8 + TABLE.encode(), encoding="utf-8").ids == ["x1", "x2"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files_are_opened(tmp_path, pack):
    suffix = {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}[pack]
    found = read_corpus(as_file(tmp_path, f"a.csv{suffix}", pack(TABLE.encode())))
    assert (found.texts, found.reading.format, found.reading.guessed) == (
        TEXTS,
        "csv",
        {"text": "name", "labels": "name", "ids": "name"},
    )
    with pytest.raises(InvalidFile, match=r"is damaged: .*; get it again"):
        read_corpus(as_file(tmp_path, "b.gz", pack(TABLE.encode())[:-9]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 and more", "is damaged: File is not a zip file; get it again"),
        (b"%PDF-1.7", "a PDF document; convert it to text"),
        (bytes(range(1, 32)) * 9, "is not a text file; labelspan reads jsonl"),
    ],
)
def test_what_is_not_text_is_named(content, message):
    with pytest.raises((InvalidFile, InvalidInput), match=message):
        read(content)


# --- tables ---


def test_stray_headers_ragged_lines_and_empty_lines(tmp_path):
    lines = [f"x{n},Item number {n},game" for n in range(200)]
    head = "id,title,tags"
    content = "\n".join(
        [head, *lines, "y1,One cell less", "", head, "y2,Two,a,b,c", "y3,Three,a,,", head]
    )
    found = read_corpus(as_file(tmp_path, "a.csv", content))
    assert list(found.ids) == [*(f"x{n}" for n in range(200)), "y1", "y3"]
    assert found.labels[-2:] == [None, ["a"]]
    assert "2 line(s) (204, 207) repeat(s) the header; left out" in found.notes
    assert "1 line(s) (205) with more cells than columns; left out" in found.notes
    assert "1 line(s) (202) with fewer cells than columns; the others are empty" in found.notes


def test_quoting_is_seen_in_tsv(tmp_path):
    quoted = 'title\ttags\n"A ""quoted"" title"\tx\n"Two\nlines"\ty\nplain\tx\n'
    found = read_corpus(as_file(tmp_path, "q.tsv", quoted))
    assert found.texts == ['A "quoted" title', "Two\nlines", "plain"]
    plain = 'title\ttags\n"Half a quotation\tx\nThe " other half"\ty\n"Whole" and more\tx\n'
    found = read_corpus(as_file(tmp_path, "p.tsv", plain))
    assert found.texts == ['"Half a quotation', 'The " other half"', '"Whole" and more']
    assert "quotation marks are part of the text (guessed)" in found.notes


def test_the_library_form_of_texts_and_uris(tmp_path):
    lines = [
        '"Half" a text, and more\t<http://x/1> <http://x/2>',
        "Another\t<http://x/1>",
        "None\t",
    ]
    path = as_file(
        tmp_path, "a.tsv.gz", gzip.compress("\n".join([*lines, *lines[:2] * 9]).encode())
    )
    found = read_corpus(path)
    assert found.reading.format == "uris"
    assert found.texts[:2] == ['"Half" a text, and more', "Another"]
    assert found.labels[:3] == [["http://x/1", "http://x/2"], ["http://x/1"], None]
    assert any("--vocabulary FILE" in note for note in found.notes)
    names = as_file(tmp_path, "names.tsv", "<http://x/1>\tbooks\nhttp://x/3\tmaps\n")
    found = read_corpus(path, vocabulary=names)
    assert found.labels[0] == ["books", "http://x/2"]
    assert "1 label(s) are not in the vocabulary: 'http://x/2'" in found.notes
    # Also packed, and the other way round.
    turned = as_file(tmp_path, "names.gz", gzip.compress(b"books\thttp://x/1\n"))
    assert read_corpus(path, vocabulary=turned).labels[1] == ["books"]
    with pytest.raises(InvalidInput, match="is a folder; give a file of names"):
        read_corpus(path, vocabulary=tmp_path)
    bad = as_file(tmp_path, "bad.tsv", "<http://x/1> books\n")
    with pytest.raises(InvalidFile, match="line 1: a vocabulary needs a URI or code, a tab"):
        read_corpus(path, vocabulary=bad)
    with pytest.raises(MissingData, match="There is no file"):
        read_corpus(path, vocabulary=tmp_path / "none.tsv")


# --- JSON ---


def test_fields_may_be_missing_and_nested():
    lines = [
        {"title": "One", "labels": [{"name": "bug", "color": "red"}, {"name": "ui"}]},
        {"title": "Two", "body": "More", "labels": [], "user": {"login": "me", "id": 3}},
        {"body": "Only a body", "labels": [{"name": "bug"}]},
    ]
    content = "\n".join(map(json.dumps, lines))
    found = read(content)
    assert found.texts == ["One", "Two\n\nMore", "Only a body"]
    assert found.labels == [["bug", "ui"], None, ["bug"]]
    assert found.reading.labels == ("labels.name",)
    assert found.metadata[1]["user.login"] == "me"
    assert read(content, labels="labels").labels == found.labels
    assert read(content, labels="labels.color").labels[0] == ["red"]
    with pytest.raises(InvalidParameter, match=r"no field 'user'; .*there are .*'user.login'"):
        read(content, text="user")
    with pytest.raises(InvalidParameter, match=r"'titel'; did you mean 'title'\? there are"):
        read(content, text="titel")


def test_json_around_the_list_of_items():
    items = [{"text": "a", "tags": ["x"]}, {"text": "b"}]
    assert read(json.dumps({"total": 2, "items": items}), format="json").texts == ["a", "b"]
    assert read(json.dumps(items[0], indent=1), format="json").labels == [["x"]]
    # Under the name of JSON lines, too.
    for indent in (1, None):
        found = read(json.dumps(items, indent=indent), format=None)
        assert found.labels == [["x"], None]
    with pytest.raises(InvalidFile, match="a list of objects is needed, but is 3"):
        read("3", format="json")


# --- which field is what ---


def items_of(count, **fields):
    return "\n".join(
        json.dumps({name: make(number) for name, make in fields.items()}) for number in range(count)
    )


def test_fields_are_recognised_by_their_content():
    kinds = ["red wine", "white wine", "beer"]
    found = read(
        items_of(
            60,
            nummer=lambda n: f"K{n:03}",
            wann=lambda n: f"March {n % 28 + 1}, 2020",
            land=lambda n: ["Finland", "France"][n % 2],
            art=lambda n: ", ".join(kinds[: n % 3 + 1]),
            wortlaut=lambda n: f"A sentence that says something about the number {n}, and ends.",
            seite=lambda n: f"http://example.org/{n}/with/a/very/long/path/that/is/not/a/text",
        )
    )
    assert found.reading.text == ("wortlaut",)
    assert found.reading.labels == ("art",)
    assert found.reading.ids == "nummer"
    assert found.reading.other_labels == ("land",)
    assert set(found.reading.metadata) == {"wann", "land", "seite"}
    assert found.labels[2] == kinds
    assert "labels from 'art' (guessed by content); others may be 'land'" in found.notes


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ("['c#', 'asp.net']", ["c#", "asp.net"]),
        ('["a, b", "c"]', ["a, b", "c"]),
        ("['a' 'b']", ["a", "b"]),
        ("('a', 'b')", ["a", "b"]),
        ("{'b', 'a'}", ["a", "b"]),
        ("[a, b c]", ["a", "b c"]),
        ("['broken, b]", ["broken", "b"]),
        ("<c#><asp.net>", ["c#", "asp.net"]),
        ("<http://x/1> <http://x/2>", ["http://x/1", "http://x/2"]),
        ("[]", None),
    ],
)
def test_lists_as_strings(value, labels):
    assert read(json.dumps({"text": "x", "tags": value})).labels == [labels]


def test_rare_labels_are_left_out():
    lists = [["a", "b"], ["a", "c"], ["a", "b"], ["d"], []]
    content = "\n".join(json.dumps({"text": "x", "tags": labels}) for labels in lists)
    found = read(content, min_count=2)
    assert found.labels == [["a", "b"], ["a"], ["a", "b"], None, None]
    assert "2 rare label(s) left out" in found.notes
    assert read(content, min_count=2, empty="none").labels[3:] == [[], []]
    with pytest.raises(InvalidParameter, match="min_count must be at least 1, but is 0"):
        read(content, min_count=0)


# --- folders and archives ---

DOCUMENTS = {
    "train/1.txt": "First text",
    "train/1.tsv": "<http://x/1>\tbooks\n<http://x/2>\tmaps\n",
    "train/2.txt": "Second text",
    "test/3.txt": "Third text",
    "test/3.tsv": "<http://x/2>\tmaps\n",
    "README.pdf": "x",
}


def write_all(folder, files):
    for name, content in files.items():
        as_file(folder, name, content)
    return folder


def as_tar(files, mode="w:gz", top="all/"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(top + name)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
    return out.getvalue()


def as_zip(files, top="all/"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir(top)
        for name, content in files.items():
            archive.writestr(top + name, content)
    return out.getvalue()


@pytest.mark.parametrize("form", ["folder", "tar.gz", "zip", "stream"])
def test_texts_with_files_of_labels(tmp_path, form):
    if form == "folder":
        found = read_corpus(write_all(tmp_path / "docs", DOCUMENTS))
    elif form == "stream":
        found = read(as_tar(DOCUMENTS))
    else:
        content = as_zip(DOCUMENTS)
        if form != "zip":
            content = as_tar(DOCUMENTS, "w" if form == "tar" else "w:gz")
        found = read_corpus(as_file(tmp_path, f"a.{form}", content))
    assert dict(zip(found.ids, found.labels, strict=True)) == {
        "1": ["books", "maps"],
        "2": None,
        "3": ["maps"],
    }
    assert [table["folder"] for table in found.metadata] == ["test", "train", "train"]
    assert "labels from files with the name of the text; ids from the files' names" in found.notes
    assert "1 text(s) have no file of labels" in found.notes
    assert "1 other file(s) left out" in found.notes


def test_archives_and_folders_without_texts(tmp_path):
    one = as_tar({"corpus.csv": TABLE})
    assert read(one).texts == TEXTS
    tables = write_all(tmp_path / "a", {"corpus.csv": TABLE, "b.csv": TABLE})
    with pytest.raises(InvalidInput, match=r"no text files .*, but b\.csv; leave --format out"):
        read_corpus(tables, format="folder")
    with pytest.raises(InvalidInput, match=r"no text files .*, but x\.png; labelspan reads"):
        read_corpus(write_all(tmp_path / "b", {"x.png": ""}))
    with pytest.raises(InvalidFile, match=r"is damaged: .*; get it again"):
        read(as_tar(DOCUMENTS, "w")[:1000])
    assert read(as_zip({"corpus.csv": TABLE})).texts == TEXTS
    with pytest.raises(InvalidFile, match="is a spreadsheet or a document; save it as csv"):
        read(as_zip({"[Content_Types].xml": "", "xl/sheet.xml": ""}, top=""))
    broken = bytearray(as_zip(DOCUMENTS))
    broken[broken.index(b"all/train/1.txt") + 16] ^= 0xFF
    with pytest.raises(InvalidFile, match=r"is damaged: .*; get it again"):
        read(bytes(broken))
    with pytest.raises(InvalidInput, match="is a file, not a folder"):
        read_corpus(as_file(tmp_path, "a.csv", TABLE), format="folder")


# --- malformed content ---

SEEDS = [
    TABLE.encode(),
    TABLE.encode("utf-16"),
    b'{"text": "a", "tags": ["x", {"y": 1}]}\n{"text": null}',
    b'[{"text": "a"}, {"text": ["b"]}]',
    b"text\t<http://x/1>\nmore\t<http://x/2>\n",
    gzip.compress(TABLE.encode(), mtime=0),
    as_tar(DOCUMENTS, "w")[:4096],
    b'a,b\n"c,d\n',
]


def read_or_error(content, **options):
    try:
        return read(content, **options), ""
    except LabelspanError as error:
        return None, str(error)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.sampled_from(SEEDS),
    edits=st.lists(st.tuples(st.integers(0, 4095), st.binary(max_size=3)), max_size=6),
    format=st.sampled_from([None, None, "jsonl", "json", "csv", "tsv", "uris", "lines"]),
    encoding=st.sampled_from([None, None, None, "latin-1", "utf-16", "utf-7", "idna", "punycode"]),
)
def test_malformed_bytes_are_read_or_raise_an_error(seed, edits, format, encoding):
    content = bytearray(seed)
    for place, patch in edits:
        content[place % (len(content) + 1) : place % (len(content) + 1) + 1] = patch
    found, said = read_or_error(bytes(content), format=format, encoding=encoding)
    if found is None:
        assert "\n" not in said
        assert said.endswith(".")
        assert len(said) < 1000
    else:
        assert len(found.texts) == len(found.labels) == len(found.ids) == len(found.metadata)
        for text in found.texts:
            text.encode()


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(content):
    found, said = read_or_error(content)
    if found is None:
        assert said.endswith(".")
    else:
        assert len(found.texts) == len(set(found.ids))
