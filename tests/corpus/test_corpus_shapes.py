"""Files as people have them, each read without options, and written back where possible."""

import csv
import gzip
import io
import json
import sqlite3
import tracemalloc

import pytest
from _support.samples import table
from _support.tagged import as_lines, as_table, library, packed, read, rows, write_all

from labelspan.corpus import CorpusReader, edit_corpus, read_corpus
from labelspan.corpus.sources import unpacked_bytes
from labelspan.errors import InvalidFile, InvalidInput, LabelspanError

ITEMS = rows(60)
TAGS = [item["tags"] for item in ITEMS]
TEXTS = [item["body"] for item in ITEMS]
URIS = [[f"http://x.org/{tag}" for tag in own] for own in TAGS]
CLASSES = ["awful", *(["good", "bad", "fair"][n % 3] for n in range(1, 60))]
NUMBERS = ["7", *(str(n % 3) for n in range(1, 60))]
ABOUT = {"README.md": "About.", "LICENSE": "Free.", "LICENSE.txt": "Free."}


def column(*values):
    return [values[n % len(values)] for n in range(60)]


def lines(*columns):
    """Return columns without a header, separated by tabs."""
    return "\n".join("\t".join(row) for row in zip(*columns, strict=True))


ZOTERO = {
    "Key": [f"K{n:03}" for n in range(60)],
    "Item Type": column("journalArticle", "book"),
    "Author": column("Ann; Bob", "Ann"),
    "Title": [f"On {n}" for n in range(60)],
    "Abstract Note": TEXTS,
    "Manual Tags": ["; ".join(own) for own in TAGS],
    "Automatic Tags": column("Humans; Adult", "", "Humans"),
}


def pairs(text, labels, mark):
    """Return a file of text and a file of labels per item."""
    files = dict(ABOUT)
    for n, item in enumerate(ITEMS):
        how = {"n": f"n{n}", "half": "ab"[n % 2]}
        files[text.format(**how)] = item["body"]
        files[labels.format(**how)] = mark.join(item["tags"]) + "\n"
    return files


def issue(n):
    labels = [{"name": tag, "color": "f00"} for tag in TAGS[n]]
    made = {"number": n, "title": f"Issue {n}", "labels": labels, "user": {"login": "ann", "id": 3}}
    made |= {"body": TEXTS[n]} if n % 3 else {}
    events = [{"event": "labeled", "label": {"name": "other"}, "body": "x"}, {"event": "closed"}]
    return {"issue": made, "events": events[: n % 3], **({"milestone": "v1"} if n % 2 else {})}


def posts():
    made = ['<?xml version="1.0" encoding="utf-8"?>', "<posts>"]
    for n, item in enumerate(ITEMS):
        tags = "".join(f"&lt;{tag}&gt;" for tag in item["tags"])
        made.append(
            f'<row Id="{n}" PostTypeId="1" Body="&lt;p&gt;{item["body"]}&lt;/p&gt;" '
            f'Title="Question &amp;amp; {n}" Tags="{tags}" />'
        )
        made.append(f'<row Id="{1000 + n}" PostTypeId="2" ParentId="{n}" Body="an answer" />')
    return "\n".join([*made, "</posts>"])


def note(n, style):
    tags = {
        "inline": f"[{', '.join(TAGS[n])}]",
        "quoted": json.dumps(TAGS[n]),
        "block": "".join(f"\n  - {tag}" for tag in TAGS[n]),
        "flush": "".join(f"\n- '{tag}'" for tag in TAGS[n]),
        "commas": ", ".join(TAGS[n]),
    }[style]
    head = f'title: "Note {n}: a title"   # a comment\ndate: 2020-01-02\ntags: {tags}\ndraft: no'
    return f"---\n{head}\n---\n\n{TEXTS[n]}\n"


def notes(style):
    return {f"{n % 2}/note{n}.md": note(n, style) for n in range(60)}


def parts(kind, suffix=""):
    """Return three tables of one corpus; columns may come in another order."""
    cut = [ITEMS[:20], ITEMS[20:23], [dict(reversed(item.items())) for item in ITEMS[23:]]]
    write = {"jsonl": as_lines, "csv": as_table, "tsv": lambda own: as_table(own, "\t", ",")}[kind]
    pack = gzip.compress if suffix else bytes
    return {f"part-{n}.{kind}{suffix}": pack(write(own).encode()) for n, own in enumerate(cut)}


TAGGED = ("uris", "text", "labels", None)
TITLED = ("title + body", "tags", "id")
# The name of the file to read, "" for the folder; its files; format, text, labels and ids; and the
# labels of the items.
SHAPES = {
    "uris.tsv": ("a.tsv", lines(TEXTS, ["\t".join(f"<{u}>" for u in o) for o in URIS]), TAGGED),
    "uris": ("a", lines(TEXTS, ["\t".join(own) for own in URIS]), TAGGED),
    "uris.txt": ("a.txt", lines(TEXTS, [" ".join(f"<{u}>" for u in o) for o in URIS]), TAGGED),
    "labels.tsv": ("a.tsv", lines(TEXTS, ["\t".join(own) for own in TAGS]), TAGGED),
    "class.tsv": ("a.tsv", lines(TEXTS, CLASSES), ("tsv", "column 1", "column 2", None)),
    "class.txt": ("a.txt", lines(CLASSES, TEXTS), ("tsv", "column 2", "column 1", None)),
    "number": ("a", lines(TEXTS, NUMBERS), ("tsv", "column 1", "column 2", None)),
    "number.tsv": ("a.tsv", lines(NUMBERS, TEXTS), ("tsv", "column 2", "column 1", None)),
    "issues": (
        "",
        {**{f"{n}.json": json.dumps(issue(n), indent=1) for n in range(60)}, "README.md": "About."},
        ("json", "issue.title + issue.body", "issue.labels.name", "issue.number"),
    ),
    "records": (
        "",
        {f"{n}.json": json.dumps(issue(n)["issue"]) for n in range(60)},
        ("json", "title + body", "labels.name", "number"),
    ),
    "posts": ("Posts.xml", posts(), ("posts", "Title + Body", "Tags", "Id")),
    "dump": (
        "",
        {"Posts.xml": posts(), "Users.xml": '<users><row Id="1" /></users>'},
        ("posts", "Title + Body", "Tags", "Id"),
    ),
    "zotero": (
        "a.csv",
        table(ZOTERO),
        ("csv", "Title + Abstract Note", "Manual Tags + Automatic Tags", "Key"),
    ),
    **{
        f"markdown {style}": ("", notes(style), ("markdown", "title + text", "tags", "path"))
        for style in ("inline", "quoted", "block", "flush", "commas")
    },
    **{
        f"{text} {labels}": ("", pairs(text, labels, mark), ("folder", "text", "labels", "path"))
        for text, labels, mark in [
            ("{n}.txt", "{n}.key", "\n"),
            ("text/{n}.txt", "labels/{n}.txt", "; "),
            ("en/text/{half}/{n}.txt", "en/labels/{half}/{n}.txt", ","),
            ("{n}/text.txt", "{n}/tags.txt", "\n"),
            ("{half}/{n}/{n}.md", "{half}/{n}/keywords.txt", "; "),
            ("docs/{n}.txt", "indexers/one/{n}.key", "\n"),
        ]
    },
    "jsonl parts": ("", parts("jsonl"), ("jsonl", *TITLED)),
    "csv parts": ("", {**parts("csv", ".gz"), **ABOUT, "a.csv": ""}, ("csv", *TITLED)),
    "tsv tar": ("w:gz", parts("tsv"), ("tsv", *TITLED)),
    "jsonl zip": ("zip", parts("jsonl", ".gz"), ("jsonl", *TITLED)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_read_without_options(tmp_path, shape):
    name, files, (format, text, labels, ids) = SHAPES[shape]
    if name in ("w:gz", "zip"):
        path = packed(tmp_path / "a", files, name)
    else:
        path = write_all(tmp_path, files if isinstance(files, dict) else {name: files}) / name
    found = read(path, heads=(1 << 23, 2000))
    assert found.reading["format"] == format
    assert " + ".join(found.reading["text"]) == text
    assert " + ".join(found.reading["labels"]) == labels
    assert found.reading["ids"] == ids
    by_text = {
        "uris": dict(zip(TEXTS, URIS, strict=True)),
        "class": {text: [own] for text, own in zip(TEXTS, CLASSES, strict=True)},
        "number": {text: [own] for text, own in zip(TEXTS, NUMBERS, strict=True)},
    }.get(shape.partition(".")[0], dict(zip(TEXTS, TAGS, strict=True)))
    assert len(found) == 60
    for text, own in zip(found.texts, found.labels, strict=True):
        body = text.split("\n\n")[-1]
        wanted = TAGS[int(body.split()[-1])] if body.startswith("Issue ") else by_text[body]
        assert [label for label in own if label not in ("Humans", "Adult")] == wanted
    left_out = sum(name in ABOUT for name in files) if isinstance(files, dict) else 0
    said = [note for note in found.notes if note.startswith(f"{left_out} other file(s) left out: ")]
    assert len(said) == bool(left_out)


def test_zotero_and_back(tmp_path):
    path = write_all(tmp_path, {"a.csv": table(ZOTERO)}) / "a.csv"
    edit = edit_corpus(path, {"K000": {TAGS[0][0]: False, "Adult": False, "new": True}})
    made = next(csv.DictReader(io.StringIO(edit.content.decode())))
    assert made["Manual Tags"] == "; ".join([*TAGS[0][1:], "new"])
    assert made["Automatic Tags"] == "Humans"
    assert (edit.n_items, edit.n_added, edit.n_removed) == (1, 1, 2)
    assert edit.content.decode().splitlines()[2:] == path.read_text().splitlines()[2:]


@pytest.mark.parametrize("style", ["inline", "quoted", "block", "flush", "commas"])
def test_markdown_and_back(tmp_path, style):
    folder = write_all(tmp_path / "notes", {**notes(style), "0/plain.md": "No fields here."})
    found = read_corpus(folder)
    labels = dict(zip(found.ids, found.labels, strict=True))
    assert labels["0/plain.md"] is None
    changes = {"1/note3.md": {TAGS[3][0]: False, "a: b": True}, "0/plain.md": {"game": True}}
    edit = edit_corpus(folder, changes, texts={"0/plain.md": "Another text."})
    assert (edit.n_items, edit.n_added, edit.n_removed) == (2, 2, 1)
    assert edit.changed == ("0/plain.md",)
    edit.write(tmp_path / "copy")
    copy = read_corpus(tmp_path / "copy")
    new = {"1/note3.md": [*TAGS[3][1:], "a: b"], "0/plain.md": ["game"]}
    assert dict(zip(copy.ids, copy.labels, strict=True)) == {**labels, **new}
    old, new = ((tmp_path / name / "1/note3.md").read_text() for name in ("notes", "copy"))
    assert old.partition("tags:")[0] == new.partition("tags:")[0]
    assert old.partition("draft")[2] == new.partition("draft")[2]
    with pytest.raises(InvalidInput, match="is not replaced"):
        edit.write(tmp_path / "copy")


def test_a_library_of_calibre_and_back(tmp_path):
    path = library(tmp_path / "metadata.db", ITEMS)
    found = read(path)
    assert [sorted(own) for own in found.labels] == TAGS
    assert found.texts[0] == f"Book 1\n\n{TEXTS[0]}"
    assert found.metadata[0] == {"title": "Book 1", "authors": "Doe, Ann"}
    (tmp_path / "book.epub").write_bytes(b"PK")
    assert read_corpus(tmp_path).labels == found.labels
    content = path.read_bytes()
    edit = edit_corpus(path, {"1": {TAGS[0][0]: False, "new": True}, "99": {"new": True}})
    edit.write(tmp_path / "copy.db")
    made = read_corpus(tmp_path / "copy.db")
    assert set(made.labels[0]) == {*TAGS[0][1:], "new"}
    assert made.labels[1:] == found.labels[1:]
    assert edit.missing == ("99",)
    base = sqlite3.connect(tmp_path / "copy.db")
    assert base.execute("select book from metadata_dirtied").fetchall() == [(1,)]
    assert base.execute("pragma integrity_check").fetchall() == [("ok",)]
    base.close()
    assert path.read_bytes() == content
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(LabelspanError):
        read_corpus(path)
    base = sqlite3.connect(tmp_path / "a.db")
    base.execute("create table notes (text)")
    base.commit()
    base.close()
    with pytest.raises(InvalidInput, match="holds no items"):
        read_corpus(tmp_path / "a.db")


def test_values_of_yaml_stay_text(tmp_path):
    head = "tags: [a, 'b, c', \"d\"]\nmore: {x: 1, y: on}\nday: 2020-01-02\nat:\n  place: &x here"
    head += "\nnote: >\n  two\n  lines"
    write_all(tmp_path, {f"{n}.md": f"---\n{head}\n---\ntext\n" for n in range(3)})
    found = read_corpus(tmp_path)
    assert found.labels[0] == ["a", "b, c", "d"]
    assert found.metadata[0] == {
        "more.x": "1",
        "more.y": "on",
        "day": "2020-01-02",
        "at.place": "here",
        "note": "two lines",
    }


@pytest.mark.parametrize(
    "content",
    [
        "<a><b>text</b></a>",
        "<posts><row Id='1'",
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aa">]><posts><row Title="&a;"/></posts>',
    ],
)
def test_other_xml_is_refused(tmp_path, content):
    (tmp_path / "a.xml").write_text(content)
    with pytest.raises(
        InvalidFile, match=r"element <a>, which is unknown|not XML|the XML entity 'a'"
    ):
        read_corpus(tmp_path / "a.xml")


# --- names and contents of fields -------------------------------------------------------------

COLOURS = column("red; green", "green; blue", "blue")


@pytest.mark.parametrize(
    ("columns", "labels", "others"),
    [
        ({"Class Index": column("1", "2", "3")}, ("Class Index",), ()),
        ({"label": column("0", "1")}, ("label",), ()),
        ({"target": column("4", "0")}, ("target",), ()),
        ({"polarity": column("0", "4")}, ("polarity",), ()),
        # Names of classes come before their numbers.
        ({"label": column("0", "1"), "label_text": column("-", "+")}, ("label_text",), ("label",)),
        (["author", "tags"], ("tags",), ()),
        (["Item Type", "keywords", "type"], ("keywords",), ()),
        (["tags", "keywords", "categories"], ("tags",), ("categories", "keywords")),
        (["publisher", "fine_label", "coarse_label"], ("fine_label",), ("coarse_label",)),
        (["user", "post_tags"], ("post_tags",), ()),
        (["Automatic Tags", "Manual Tags"], ("Manual Tags", "Automatic Tags"), ()),
        (["country", "art"], ("art",), ("country",)),
        (["Subjects", "language"], ("Subjects",), ()),
    ],
)
def test_names_decide_before_statistics(tmp_path, columns, labels, others):
    cells = dict.fromkeys(columns, COLOURS) if isinstance(columns, list) else columns
    texts = {"Title": column("One", "Two", "Three", "Four"), "Description": TEXTS}
    write_all(tmp_path, {"a.csv": table({"id": range(60), **cells, **texts})})
    found = read_corpus(tmp_path / "a.csv")
    assert found.reading["text"] == ("Title", "Description")
    assert (found.reading["labels"], found.reading["other_labels"]) == (labels, others)
    assert found.labels[0] == cells[labels[0]][0].split("; ")


def test_fields_are_recognised_by_their_content(tmp_path):
    kinds = ["red wine", "white wine", "beer"]
    made = {
        "nummer": [f"K{n:03}" for n in range(60)],
        "wann": [f"March {n % 28 + 1}, 2020" for n in range(60)],
        "land": column("Finland", "France"),
        "art": column(*(", ".join(kinds[: n + 1]) for n in range(3))),
        "wortlaut": [f"A sentence that says something about the number {n}." for n in range(60)],
        "seite": [f"http://example.org/{n}/with/a/long/path/that/is/not/a/text" for n in range(60)],
    }
    write_all(tmp_path, {"a.csv": table(made)})
    found = read_corpus(tmp_path / "a.csv")
    assert (found.reading["text"], found.reading["labels"]) == (("wortlaut",), ("art",))
    assert (found.reading["ids"], found.reading["other_labels"]) == ("nummer", ("land",))
    assert set(found.reading["metadata"]) == {"wann", "land", "seite"}
    assert found.labels[2] == kinds
    assert found.reading["guessed"]["labels"] == "content"


@pytest.mark.parametrize("name", ["title", "Headline", "post_title", "name"])
def test_a_title_is_part_of_the_text_and_columns_without_names_are_left_out(tmp_path, name):
    titles = [f"Title {n}" for n in range(60)]
    made = {"id": range(60), name: titles, "text": TEXTS, "tags": COLOURS, "year": column("1999")}
    head, *rest = table(made).splitlines()
    wide = [head + "," * 328, *(line + ",x" * 328 for line in rest)]
    path = write_all(tmp_path, {"a.csv": "\n".join(wide)}) / "a.csv"
    found = read(path)
    assert found.texts[3] == f"Title 3\n\n{TEXTS[3]}"
    assert found.reading["metadata"] == (name, "year")
    assert "328 column(s) without a name left out" in found.notes


# --- folders of tables ------------------------------------------------------------------------


def test_errors_name_the_file(tmp_path):
    folder = write_all(tmp_path / "all", parts("jsonl"))
    item = ITEMS[3]
    for content, options, message in [
        (b"\n{broken\n", {}, r"all, part-3\.jsonl, line 2: this is not JSON"),
        (as_lines([item]), {"ids": "id"}, r"line 1: another item has the id 'item3'"),
        (as_lines([{**item, "body": [3]}]), {}, r"part-3\.jsonl, line 1: 'body' must be a text"),
        (b'{"id": "\xff"}\n', {}, r"all, part-3\.jsonl, line 1: this is not UTF-8"),
    ]:
        write_all(folder, {"part-3.jsonl": content})
        with pytest.raises(LabelspanError, match=message):
            read_corpus(folder, **options)
        if not options:
            with pytest.raises(LabelspanError, match=message):
                list(CorpusReader(folder, head=2000))
    lacking = [{key: item[key] for key in item if key != "body"} for item in ITEMS]
    more = {"part-1.csv": as_table(lacking), "part-2.csv": as_table(ITEMS)}
    folder = write_all(tmp_path / "tables", {"part-0.csv": as_table(ITEMS), **more})
    message = r"tables, part-1\.csv has no field 'body', which is in other.*, but 'id', .*--text"
    for head in (1 << 23, 2000):
        with pytest.raises(InvalidFile, match=message):
            list(CorpusReader(folder, head=head, ids=""))
    empty = write_all(tmp_path / "none", {"0.csv": "", "1.csv": "other,header\n"})
    with pytest.raises(InvalidInput, match="none holds no items"):
        read_corpus(empty)


@pytest.mark.parametrize("kind", ["txt", "jsonl"])
def test_the_fingerprint_sees_files_and_indexes_are_not_read(tmp_path, kind):
    files = {f"{n}.jsonl": as_lines([item]) for n, item in enumerate(ITEMS)}
    if kind == "txt":
        files = {f"{n}.txt": text for n, text in enumerate(TEXTS)}
        # A file of this name that has nothing to do with an index.
        files["manifest.json.txt"] = ""
    folder = write_all(tmp_path, files)
    before, wanted = CorpusReader(folder).fingerprint, read(folder)
    assert unpacked_bytes(folder) == sum(path.stat().st_size for path in folder.iterdir())
    for one, manifest in (("a", "manifest.json"), ("deep/b", "unfinished/plan.json")):
        about = json.dumps({"format": "labelspan-index", "version": 4})
        others = ("lock", "notes.txt", "0.jsonl", "generation/words.json")
        write_all(folder / one, {manifest: about, **dict.fromkeys(others, "{}")})
    assert CorpusReader(folder).fingerprint == before
    assert read(folder).texts == wanted.texts
    seen = [before]
    for content in ("{}", '{"text": "longer"}'):
        write_all(folder, {f"new.{kind}": content})
        seen.append(CorpusReader(folder).fingerprint)
    (folder / f"new.{kind}").rename(folder / f"other.{kind}")
    seen.append(CorpusReader(folder).fingerprint)
    assert len({one["files"] for one in seen}) == 4


# --- hostile files ----------------------------------------------------------------------------


def test_the_first_record_may_be_larger_than_what_is_looked_at(tmp_path):
    long = {"id": "long", "text": "word " * 2_000_000, "tags": ["long"]}
    made = [json.dumps(long), *(json.dumps(item) for item in rows(10))]
    (tmp_path / "a.jsonl").write_text("\n".join(made))
    (tmp_path / "a.json").write_text(f"[{','.join(made)}]")
    for name in ("a.jsonl", "a.json"):
        for source in (tmp_path / name, io.BytesIO((tmp_path / name).read_bytes())):
            reader = CorpusReader(source, text="text")
            assert [len(reader.head), reader.complete] == [1, False]
            assert [record.id for record in reader.items(1)] == [item["id"] for item in rows(10)]


def test_a_line_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("labelspan.corpus.sources.LONGEST", 1 << 22)
    (tmp_path / "a.txt").write_text("a" * (1 << 23))
    with pytest.raises(InvalidFile, match="line 1 has more than"):
        read_corpus(tmp_path / "a.txt")


def test_memory_does_not_grow_with_a_file_of_one_line(tmp_path):
    made = [{**item, "body": 90 * f"{item['body']} "} for item in rows(48)]
    content = json.dumps(made)[1:-1]
    (tmp_path / "a.json").write_text(f"[{','.join([content] * 80)}]")
    size = (tmp_path / "a.json").stat().st_size
    tracemalloc.start()
    try:
        reader = CorpusReader(tmp_path / "a.json", head=1 << 16, ids="")
        count = sum(1 for _ in reader.items())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 80 * 48
    # The sample of the beginning, and little else.
    assert peak < size / 2


def test_a_view_of_a_database_is_read(tmp_path):
    base = sqlite3.connect(tmp_path / "a.db")
    base.execute("create table notes (id, body, tags)")
    base.executemany(
        "insert into notes values (?, ?, ?)",
        [(item["id"], item["body"], "; ".join(item["tags"])) for item in ITEMS],
    )
    base.execute("""create view "se""en" as select * from notes""")
    base.execute("create view broken as select * from gone")
    base.commit()
    base.close()
    assert (
        read_corpus(tmp_path / "a.db", table='se"en').labels
        == read_corpus(tmp_path / "a.db", table="notes").labels
    )


def test_a_place_of_a_sparse_row_that_no_attribute_has(tmp_path):
    head = "@relation r\n@attribute text string\n@attribute b {0,1}\n@data\n"
    (tmp_path / "a.arff").write_text(f"{head}{{0 one, 1 1}}\n{{7 1}}\n", encoding="utf-8")
    with pytest.raises(InvalidFile, match="line 6: column 7 in a file of 2 attributes"):
        read_corpus(tmp_path / "a.arff")
