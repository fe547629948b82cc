"""Files as people have them, each read without options, and written back where possible."""

import csv
import io
import json
import sqlite3
import tracemalloc

import pytest
from _support.tagged import read, rows, write_all

from labelspan.corpus import CorpusReader, edit_corpus, read_corpus
from labelspan.errors import InvalidFile, InvalidInput, LabelspanError

ITEMS = rows(60)
TAGS = [item["tags"] for item in ITEMS]
TEXTS = [item["body"] for item in ITEMS]


def by_id(found):
    return dict(zip(found.ids, found.labels, strict=True))


# --- labels behind tabs -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.tsv", "uris"), ("a.txt", "spaces"), ("a", "labels"), ("a", "uris"), ("a.tsv", "labels")],
)
def test_all_labels_behind_tabs_are_labels(tmp_path, name, form):
    uris = [[f"http://x.org/{tag}" for tag in own] for own in TAGS]
    joined = {
        "uris": ["\t".join(f"<{uri}>" for uri in own) for own in uris],
        "spaces": [" ".join(f"<{uri}>" for uri in own) for own in uris],
        "labels": ["\t".join(own) for own in TAGS],
    }[form]
    lines = [f"{text}\t{own}" for text, own in zip(TEXTS, joined, strict=True)]
    (tmp_path / name).write_text("\n".join(lines))
    found = read(tmp_path / name)
    assert found.texts == TEXTS
    assert found.labels == (TAGS if form == "labels" else uris)
    assert found.reading.format == "uris"


@pytest.mark.parametrize(
    ("name", "turned", "numeric"),
    [("a.tsv", False, False), ("a.txt", True, False), ("a", False, True), ("a.tsv", True, True)],
)
def test_a_text_and_a_class_without_header(tmp_path, name, turned, numeric):
    classes = [str(n % 3) if numeric else ["good", "bad", "fair"][n % 3] for n in range(60)]
    # The class of the first line comes nowhere else.
    classes[0] = "7" if numeric else "awful"
    pairs = [
        (f"Text {n}: {text}", own) for n, (text, own) in enumerate(zip(TEXTS, classes, strict=True))
    ]
    lines = ["\t".join(pair[::-1] if turned else pair) for pair in pairs]
    (tmp_path / name).write_text("\n".join(lines))
    found = read_corpus(tmp_path / name)
    assert found.texts == [text for text, _ in pairs]
    assert found.labels == [[own] for own in classes]


# --- tables -----------------------------------------------------------------------------------


def table(folder, columns, name="a.csv"):
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t" if name.endswith("tsv") else ",")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    (folder / name).write_text(out.getvalue())
    return folder / name


def column(*values):
    return [values[n % len(values)] for n in range(60)]


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
    found = read_corpus(table(tmp_path, {"id": range(60), **cells, **texts}))
    assert found.reading.text == ("Title", "Description")
    assert found.reading.labels == labels
    assert found.reading.other_labels == others
    assert found.labels[0] == cells[labels[0]][0].split("; ")


def test_columns_without_names_are_not_metadata(tmp_path):
    lines = [["text", "tags", "year", *[""] * 328]]
    lines += [
        [text, "; ".join(own), "1999", *["x"] * 328] for text, own in zip(TEXTS, TAGS, strict=True)
    ]
    (tmp_path / "a.csv").write_text("\n".join(",".join(line) for line in lines))
    found = read(tmp_path / "a.csv")
    assert found.reading.metadata == ("year",)
    assert "328 column(s) without a name left out" in found.notes


@pytest.mark.parametrize("name", ["title", "Headline", "post_title", "name"])
def test_a_title_is_part_of_the_text(tmp_path, name):
    columns = {"id": range(60), name: [f"Title {n}" for n in range(60)], "text": TEXTS}
    path = table(tmp_path, {**columns, "tags": column("a", "b")})
    assert read(path).texts[3] == f"Title 3\n\n{TEXTS[3]}"
    assert next(CorpusReader(path).items(3)).title == "Title 3"


ZOTERO = {
    "Key": [f"K{n:03}" for n in range(60)],
    "Item Type": column("journalArticle", "book"),
    "Author": column("Ann; Bob", "Ann"),
    "Title": [f"On {n}" for n in range(60)],
    "Abstract Note": TEXTS,
    "Manual Tags": ["; ".join(own) for own in TAGS],
    "Automatic Tags": column("Humans; Adult", "", "Humans"),
}


def test_an_export_of_zotero_and_back(tmp_path):
    path = table(tmp_path, ZOTERO)
    found = read(path)
    assert found.reading.text == ("Title", "Abstract Note")
    assert found.reading.ids == "Key"
    assert found.labels[0] == [*TAGS[0], "Humans", "Adult"]
    first = TAGS[0][0]
    edit = edit_corpus(path, {"K000": {first: False, "Adult": False, "new": True}})
    made = next(csv.DictReader(io.StringIO(edit.content.decode())))
    assert made["Manual Tags"] == "; ".join([*TAGS[0][1:], "new"])
    assert made["Automatic Tags"] == "Humans"
    assert (edit.n_items, edit.n_added, edit.n_removed) == (1, 1, 2)
    assert edit.content.decode().splitlines()[2:] == path.read_text().splitlines()[2:]


# --- folders ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("{n}.txt", "{n}.key"),
        ("text/{n}.txt", "labels/{n}.txt"),
        ("en/text/{half}/{n}.txt", "en/labels/{half}/{n}.txt"),
        ("{n}/text.txt", "{n}/tags.txt"),
        ("{half}/{n}/{n}.md", "{half}/{n}/keywords.txt"),
        ("docs/{n}.txt", "indexers/one/{n}.key"),
    ],
)
def test_texts_and_labels_in_files(tmp_path, text, labels):
    mark = ["\n", "; ", ","][len(text + labels) % 3]
    files = {"README.md": "About.", "LICENSE": "Free.", "LICENSE.txt": "Free."}
    for n, item in enumerate(ITEMS):
        how = {"n": f"n{n}", "half": "ab"[n % 2]}
        files[text.format(**how)] = item["body"]
        files[labels.format(**how)] = mark.join(item["tags"]) + "\n"
    found = read(write_all(tmp_path / "all", files))
    assert len(found) == 60
    assert {name.split("/")[-1]: own for name, own in by_id(found).items()} == {
        f"n{n}": own for n, own in enumerate(TAGS)
    }
    assert "3 other file(s) left out" in found.notes


def issue(n):
    item = ITEMS[n]
    made = {
        "number": n,
        "title": f"Issue {n}",
        "labels": [{"name": tag, "color": "f00"} for tag in item["tags"]],
    }
    made["user"] = {"login": "ann", "id": 3}
    if n % 3:
        made["body"] = item["body"]
    events = [{"event": "labeled", "label": {"name": "other"}, "body": "x"}, {"event": "closed"}]
    return {"issue": made, "events": events[: n % 3], **({"milestone": "v1"} if n % 2 else {})}


@pytest.mark.parametrize("part", ["issue", None])
def test_a_folder_of_json_records(tmp_path, part):
    files = {
        f"{n}.json": json.dumps(issue(n) if part else issue(n)["issue"], indent=1)
        for n in range(60)
    }
    found = read(write_all(tmp_path / "all", {**files, "README.md": "About."}))
    prefix = "issue." if part else ""
    assert found.reading.labels == (f"{prefix}labels.name",)
    assert found.reading.text == (f"{prefix}title", f"{prefix}body")
    assert found.reading.ids == f"{prefix}number"
    assert by_id(found) == {str(n): own for n, own in enumerate(TAGS)}
    assert found.texts[0] in {f"Issue {n}" for n in range(0, 60, 3)}


NOTE = """---
title: "Note {n}: a title"   # a comment
date: 2020-01-{n:02}
tags: {tags}
draft: false
---

{body}
"""


def notes(folder, style):
    files = {}
    for n, item in enumerate(ITEMS[:30]):
        tags = {
            "inline": f"[{', '.join(item['tags'])}]",
            "quoted": json.dumps(item["tags"]),
            "block": "".join(f"\n  - {tag}" for tag in item["tags"]),
            "flush": "".join(f"\n- '{tag}'" for tag in item["tags"]),
            "commas": ", ".join(item["tags"]),
        }[style]
        files[f"{n % 2}/note{n}.md"] = NOTE.format(n=n + 1, tags=tags, body=item["body"])
    files["0/plain.md"] = "No fields here."
    return write_all(folder, files)


@pytest.mark.parametrize("style", ["inline", "quoted", "block", "flush", "commas"])
def test_markdown_with_fields_and_back(tmp_path, style):
    folder = notes(tmp_path / "notes", style)
    found = read(folder)
    assert found.reading.format == "markdown"
    assert found.reading.text == ("title", "text")
    labels = by_id(found)
    assert labels["1/note3.md"] == TAGS[3]
    assert labels["0/plain.md"] is None
    assert found.texts[list(found.ids).index("1/note3.md")] == f"Note 4: a title\n\n{TEXTS[3]}"
    changes = {"1/note3.md": {TAGS[3][0]: False, "a: b": True}, "0/plain.md": {"game": True}}
    edit = edit_corpus(folder, changes, texts={"0/plain.md": "Another text."})
    assert (edit.n_items, edit.n_added, edit.n_removed) == (2, 2, 1)
    assert edit.changed == ("0/plain.md",)
    edit.write(tmp_path / "copy")
    made = by_id(read_corpus(tmp_path / "copy"))
    assert made == {**labels, "1/note3.md": [*TAGS[3][1:], "a: b"], "0/plain.md": ["game"]}
    old, new = ((tmp_path / name / "1/note3.md").read_text() for name in ("notes", "copy"))
    assert old.partition("tags:")[0] == new.partition("tags:")[0]
    assert old.partition("draft")[2] == new.partition("draft")[2]
    with pytest.raises(InvalidInput, match="is not replaced"):
        edit.write(tmp_path / "copy")


def test_other_yaml_stays_text(tmp_path):
    head = (
        "tags: [a, 'b, c', \"d\"]\nmore: {x: 1}\nat:\n  place: &x here\nnote: >\n  two\n  lines\n"
    )
    write_all(tmp_path, {f"{n}.md": f"---\n{head}---\ntext\n" for n in range(3)})
    found = read_corpus(tmp_path)
    assert found.labels[0] == ["a", "b, c", "d"]
    expected = {"more": "{x: 1}", "at.place": "&x here", "note": "two lines"}
    assert found.metadata[0] == expected


# --- StackExchange and Calibre ----------------------------------------------------------------


def test_questions_of_stackexchange(tmp_path):
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<posts>"]
    for n, item in enumerate(ITEMS):
        tags = "".join(f"&lt;{tag}&gt;" for tag in item["tags"])
        lines.append(
            f'  <row Id="{n}" PostTypeId="1" Score="3" Body="&lt;p&gt;{item["body"]} &amp;amp; more'
            f'&lt;/p&gt;" Title="Question {n}" Tags="{tags}" />'
        )
        lines.append(f'  <row Id="{1000 + n}" PostTypeId="2" ParentId="{n}" Body="an answer" />')
    (tmp_path / "Posts.xml").write_text("\n".join([*lines, "</posts>"]))
    found = read(tmp_path / "Posts.xml")
    assert found.labels == TAGS
    assert found.texts[1] == f"Question 1\n\n{TEXTS[1]} & more"
    assert (found.reading.ids, list(found.ids)[:2]) == ("Id", ["0", "1"])
    # Next to the other tables of a dump.
    (tmp_path / "Users.xml").write_text('<users><row Id="1" /></users>')
    assert read_corpus(tmp_path).labels == TAGS


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
    with pytest.raises(InvalidFile, match=r"not a dump of StackExchange|not XML|document type"):
        read_corpus(tmp_path / "a.xml")


def library(path):
    base = sqlite3.connect(path)
    base.executescript("""
        create table books (id integer primary key, title text, sort text);
        create table comments (id integer primary key, book integer, text text);
        create table tags (id integer primary key, name text collate nocase, unique (name));
        create table books_tags_link (id integer primary key, book integer, tag integer,
                                      unique (book, tag));
        create table authors (id integer primary key, name text);
        create table books_authors_link (id integer primary key, book integer, author integer);
        create table metadata_dirtied (id integer primary key, book integer, unique (book));
        create trigger books_update after update on books begin
            update books set sort = title_sort(new.title) where id = new.id; end;
        insert into authors values (1, 'Doe| Ann');
    """)
    for n, item in enumerate(ITEMS, 1):
        base.execute("insert into books values (?, ?, '')", (n, f"Book {n}"))
        if n % 4:
            base.execute(
                "insert into comments (book, text) values (?, ?)", (n, f"<p>{item['body']}</p>")
            )
        base.execute("insert into books_authors_link (book, author) values (?, 1)", (n,))
        for tag in item["tags"]:
            base.execute("insert or ignore into tags (name) values (?)", (tag,))
            base.execute(
                "insert into books_tags_link (book, tag) select ?, id from tags where name = ?",
                (n, tag),
            )
    base.commit()
    base.close()
    return path


def test_a_library_of_calibre_and_back(tmp_path):
    path = library(tmp_path / "metadata.db")
    found = read(path)
    assert [sorted(own) for own in found.labels] == TAGS
    assert found.texts[0] == f"Book 1\n\n{TEXTS[0]}"
    assert found.texts[3] == "Book 4"
    assert found.metadata[0] == {"title": "Book 1", "authors": "Doe, Ann"}
    before = path.read_bytes()
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
    assert path.read_bytes() == before
    # The folder of a library.
    (tmp_path / "copy.db").unlink()
    (tmp_path / "book.epub").write_bytes(b"PK")
    assert read_corpus(tmp_path).labels == found.labels


def test_other_databases_are_refused(tmp_path):
    base = sqlite3.connect(tmp_path / "a.db")
    base.execute("create table notes (text)")
    base.commit()
    base.close()
    with pytest.raises(
        InvalidFile, match=r"not Calibre's; export a table as csv\. labelspan reads"
    ):
        read_corpus(tmp_path / "a.db")
    content = library(tmp_path / "b.db").read_bytes()
    (tmp_path / "b.db").write_bytes(content[: len(content) // 2])
    with pytest.raises(LabelspanError):
        read_corpus(tmp_path / "b.db")


# --- hostile files ----------------------------------------------------------------------------


def test_the_first_record_may_be_larger_than_what_is_looked_at(tmp_path):
    long = {"id": "long", "text": "word " * 2_000_000, "tags": ["long"]}
    lines = [json.dumps(long), *(json.dumps(item) for item in rows(10))]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "a.json").write_text(f"[{','.join(lines)}]")
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
