"""Folders and archives of tables: read as one table, in memory and as a stream."""

import bz2
import gzip
import json

import pytest
from _support.tagged import as_lines, as_table, packed, read, rows, write_all

from labelspan.corpus import CorpusReader, read_corpus
from labelspan.corpus.sources import unpacked_bytes
from labelspan.errors import InvalidInput, LabelspanError

# How a part is written.
WRITERS = {"jsonl": as_lines, "csv": as_table, "tsv": lambda items: as_table(items, "\t", ",")}
PARTS = [rows()[:20], rows()[20:23], rows()[23:]]


def parts(kind, items=PARTS, suffix=""):
    """Return three files."""
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[suffix]
    return {
        f"part-{n}.{kind}{suffix}": pack(WRITERS[kind](own).encode()) for n, own in enumerate(items)
    }


def check(folder, **options):
    """Compare a folder with the same items in one file."""
    found = read(folder, heads=(1 << 23, 2000), **options)
    assert list(found.texts) == [f"{item['title']}\n\n{item['body']}" for item in rows()]
    assert list(found.labels) == [item["tags"] for item in rows()]
    assert [str(table["year"]) for table in found.metadata] == [str(one["year"]) for one in rows()]
    return found


@pytest.mark.parametrize(
    ("kind", "suffix", "mode"),
    [("jsonl", "", ""), ("csv", ".gz", "w:gz"), ("tsv", ".bz2", ""), ("jsonl", ".gz", "zip")],
)
def test_tables_are_read_as_one(tmp_path, kind, suffix, mode):
    files = parts(kind, suffix=suffix)
    path = packed(tmp_path / "a", files, mode) if mode else write_all(tmp_path / "a", files)
    check(path, format=kind, ids="")
    wanted = f"3 files, one after the other, from 'part-0.{kind}{suffix}' to"
    assert any(note.startswith(wanted) for note in check(path).notes)


def test_empty_files_folders_and_texts_about_tables(tmp_path):
    first, second, third = PARTS
    files = {
        "0.csv": "",
        "1.csv": "other,header\n",
        "2.csv": as_table(first),
        "3.csv": "\n\n",
        "README.md": "About these tables.",
        "sub/4.csv": as_table(second).encode("utf-16"),
        # Columns may come in another order.
        "sub/5.csv": as_table([dict(reversed(own.items())) for own in third]),
    }
    check(write_all(tmp_path / "all", files))
    with pytest.raises(InvalidInput, match="none holds no items"):
        read_corpus(
            write_all(tmp_path / "none", {name: files[name] for name in ("0.csv", "1.csv")})
        )


def test_errors_name_the_file(tmp_path):
    folder = write_all(tmp_path / "all", parts("jsonl"))
    item = rows()[3]
    for content, options, message in [
        (b"\n{broken\n", {}, r"all, part-3\.jsonl, line 2: this is not JSON"),
        (as_lines([item]), {"ids": "id"}, r"line 1: another item has the id 'item3'"),
        (as_lines([{**item, "body": 3}]), {}, r"all, part-3\.jsonl, line 1: 'body' must be a text"),
        (b'{"id": "\xff"}\n', {}, r"all, part-3\.jsonl, line 1: this is not UTF-8"),
    ]:
        write_all(folder, {"part-3.jsonl": content})
        with pytest.raises(LabelspanError, match=message):
            read_corpus(folder, **options)
        if not options:
            with pytest.raises(LabelspanError, match=message):
                list(CorpusReader(folder, head=2000))


def test_the_fingerprint_sees_changed_and_added_files(tmp_path):
    folder = write_all(tmp_path / "all", parts("jsonl"))
    seen = [CorpusReader(folder).fingerprint]
    assert CorpusReader(folder).fingerprint == seen[0]
    for name in ("new", "other"):
        write_all(folder, {"part-3.jsonl": as_lines([dict(rows()[0], id=name)])})
        seen.append(CorpusReader(folder).fingerprint)
    (folder / "part-3.jsonl").rename(folder / "a.jsonl")
    seen.append(CorpusReader(folder).fingerprint)
    assert len({one["files"] for one in seen}) == 4
    assert unpacked_bytes(folder) == sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.parametrize("kind", ["txt", "jsonl"])
def test_indexes_in_a_folder_are_not_read(tmp_path, kind):
    files = {f"{n}.jsonl": as_lines([item]) for n, item in enumerate(rows())}
    if kind == "txt":
        files = {f"{n}.txt": item["body"] for n, item in enumerate(rows())}
        # A file of this name that has nothing to do with an index.
        files["manifest.json.txt"] = ""
    folder = write_all(tmp_path, files)
    before, wanted = CorpusReader(folder).fingerprint, read(folder)
    for one, manifest in (("a", "manifest.json"), ("deep/b", "unfinished/plan.json")):
        about = json.dumps({"format": "labelspan-index", "version": 4})
        others = ("lock", "notes.txt", "0.jsonl", "generation/words.json")
        write_all(folder / one, {manifest: about, **dict.fromkeys(others, "{}")})
    assert CorpusReader(folder).fingerprint == before
    assert read(folder).texts == wanted.texts
