"""Folders and archives of tables: read as one table, in memory and as a stream."""

import bz2
import gzip
import json
import tarfile
import zipfile
from itertools import pairwise

import pytest
from _support.tagged import as_lines, as_table, rows

from labelspan.corpus import CorpusReader, read_corpus
from labelspan.corpus.sources import unpacked_bytes
from labelspan.errors import InvalidFile, InvalidInput, LabelspanError

# How a part is written, and the name of its file.
WRITERS = {
    "jsonl": as_lines,
    "csv": as_table,
    "tsv": lambda items: as_table(items, "\t", ","),
}


def parts(items, sizes=(20, 3, 25)):
    ends = [sum(sizes[:n]) for n in range(len(sizes) + 1)]
    return [items[start:end] for start, end in pairwise(ends)]


def write_parts(folder, kind, items=None, suffix=""):
    """Write three files whose names do not come in the order in which they are made."""
    folder.mkdir(exist_ok=True)
    names = [f"part-{n}.{kind}{suffix}" for n in range(3)]
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[suffix]
    for name, own in sorted(zip(names, parts(items or rows()), strict=True), reverse=True):
        (folder / name).write_bytes(pack(WRITERS[kind](own).encode()))
    return folder


def content(found):
    return (list(found.texts), list(found.labels), list(found.ids), list(found.metadata))


def streamed(stream, skip=0):
    found = list(stream.items(skip))
    return tuple(
        [getattr(item, name) for item in found] for name in ("text", "labels", "id", "metadata")
    )


def check(folder, one, head=1 << 23, **options):
    """Compare a folder, in memory and as a stream, with the same items in one file."""
    wanted = read_corpus(one, **options)
    found = read_corpus(folder, **options)
    assert content(found) == content(wanted)
    stream = CorpusReader(folder, head=head, **options)
    assert streamed(stream) == content(wanted)
    # From the middle of the first file, its end, and the other files.
    for skip in (5, 20, 21, 23, 40):
        assert streamed(stream, skip) == tuple(values[skip:] for values in content(wanted))
    for reading in (found.reading, stream.reading):
        assert (reading.format, reading.text, reading.labels, reading.ids, reading.metadata) == (
            wanted.reading.format,
            wanted.reading.text,
            wanted.reading.labels,
            wanted.reading.ids,
            wanted.reading.metadata,
        )
    return stream


@pytest.mark.parametrize(
    ("kind", "suffix", "head"),
    [("jsonl", "", 2000), ("csv", ".gz", 1 << 23), ("tsv", ".bz2", 2000), ("csv", "", 2000)],
)
def test_tables_are_read_as_one(tmp_path, kind, suffix, head):
    folder = write_parts(tmp_path / "all", kind, suffix=suffix)
    (tmp_path / f"one.{kind}").write_text(WRITERS[kind](rows()))
    stream = check(folder, tmp_path / f"one.{kind}", head)
    check(folder, tmp_path / f"one.{kind}", head, format=kind, ids="")
    wanted = f"3 files, one after the other, from 'part-0.{kind}{suffix}' to"
    assert any(note.startswith(wanted) for note in stream.head.notes)
    assert (stream.head.notes[-1] == "guessed from the beginning of the file") == (head == 2000)


@pytest.mark.parametrize("mode", ["w:gz", "zip"])
def test_tables_in_an_archive(tmp_path, mode):
    folder = write_parts(tmp_path / "all", "jsonl", suffix=".gz")
    (tmp_path / "one.jsonl").write_text(as_lines(rows()))
    path = tmp_path / "packed"
    if mode == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in folder.iterdir():
                archive.write(file, file.name)
    else:
        with tarfile.open(path, mode) as archive:
            archive.add(folder, "all")
    check(path, tmp_path / "one.jsonl")


def test_empty_files_folders_and_texts_about_tables(tmp_path):
    folder = tmp_path / "all"
    (folder / "sub").mkdir(parents=True)
    first, second, third = parts(rows())
    (folder / "0.csv").write_text("")
    (folder / "1.csv").write_text("other,header\n")
    (folder / "2.csv").write_text(as_table(first))
    (folder / "3.csv").write_text("\n\n")
    (folder / "README.md").write_text("About these tables.")
    (folder / "sub" / "4.csv").write_bytes(as_table(second).encode("utf-16"))
    # Columns may come in another order.
    (folder / "sub" / "5.csv").write_text(as_table([dict(reversed(own.items())) for own in third]))
    (tmp_path / "one.csv").write_text(as_table(rows()))
    check(folder, tmp_path / "one.csv", head=3000)
    for number in (2, 3):
        (folder / f"{number}.csv").unlink()
    (folder / "sub" / "4.csv").unlink()
    (folder / "sub" / "5.csv").write_text("")
    for read in (read_corpus, CorpusReader):
        with pytest.raises(InvalidInput, match="all holds no items"):
            read(folder)


@pytest.mark.parametrize(("kind", "field"), [("csv", "body"), ("tsv", "tags")])
def test_a_missing_column_names_the_file_at_once(tmp_path, kind, field):
    items = [dict(item, extra=1) for item in rows()]
    folder = write_parts(tmp_path / "all", kind, items)
    lines = [{key: item[key] for key in item if key != field} for item in items[20:23]]
    (folder / f"part-1.{kind}").write_text(as_cells(lines, "\t" if kind == "tsv" else ","))
    match = rf"all, part-1\.{kind} has no field '{field}', which is in other.*, but 'id', .*--text"
    for head in (1 << 23, 2000):
        with pytest.raises(InvalidFile, match=match):
            CorpusReader(folder, head=head)


def as_cells(items, delimiter=","):
    lines = [list(items[0]), *([str(cell) for cell in item.values()] for item in items)]
    return "".join(delimiter.join(f'"{cell}"' for cell in line) + "\n" for line in lines)


def test_errors_name_the_file(tmp_path):
    folder = write_parts(tmp_path / "all", "jsonl")
    with (folder / "part-2.jsonl").open("a") as file:
        file.write("{broken\n")
    for read in (read_corpus, lambda path: list(CorpusReader(path, head=2000))):
        with pytest.raises(InvalidFile, match=r"all, part-2\.jsonl, line 26: this is not JSON"):
            read(folder)
    write_parts(folder, "jsonl")
    again = rows()[3]
    (folder / "part-3.jsonl").write_text(json.dumps(again) + "\n")
    with pytest.raises(LabelspanError, match=r"part-3\.jsonl, line 1: the id 'item3' is also in"):
        read_corpus(folder, ids="id")
    (folder / "part-3.jsonl").write_text(json.dumps({**again, "body": 3}) + "\n")
    with pytest.raises(InvalidFile, match=r"all, part-3\.jsonl, line 1: 'body' must be a text"):
        list(CorpusReader(folder, head=2000))
    (folder / "part-3.jsonl").write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(InvalidFile, match=r"all, part-3\.jsonl, line 1: this is not UTF-8"):
        list(CorpusReader(folder, head=2000))
    (tmp_path / "values").mkdir()
    (tmp_path / "values" / "a.json").write_text(json.dumps(rows()))
    assert len(read_corpus(tmp_path / "values")) == 48


def test_the_fingerprint_sees_changed_and_added_files(tmp_path):
    folder = write_parts(tmp_path / "all", "jsonl")
    seen = [CorpusReader(folder).fingerprint]
    assert CorpusReader(folder).fingerprint == seen[0]
    (folder / "part-3.jsonl").write_text(as_lines([dict(rows()[0], id="new")]))
    seen.append(CorpusReader(folder).fingerprint)
    (folder / "part-3.jsonl").write_text(as_lines([dict(rows()[1], id="other")]))
    seen.append(CorpusReader(folder).fingerprint)
    (folder / "part-3.jsonl").rename(folder / "a.jsonl")
    seen.append(CorpusReader(folder).fingerprint)
    assert len({one["files"] for one in seen}) == 4
    assert unpacked_bytes(folder) == sum(path.stat().st_size for path in folder.iterdir())
