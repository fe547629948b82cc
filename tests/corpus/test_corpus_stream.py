"""Corpora that are read item by item: the same items as in memory, in bounded memory."""

import io
import json
import tarfile
import zipfile

import pytest
from _support.tagged import as_lines, as_table, formats, rows

from labelspan.corpus import CorpusReader, read_corpus
from labelspan.errors import InvalidFile


def same(path, whole=None, **options):
    stream = CorpusReader(path, **options)
    options.pop("head", None)
    wanted = read_corpus(path, **options) if whole is None else whole
    found = list(stream)
    assert [item.text for item in found] == list(wanted.texts)
    assert [item.labels for item in found] == list(wanted.labels)
    assert [item.id for item in found] == list(wanted.ids)
    assert [item.metadata for item in found] == list(wanted.metadata)
    assert list(stream.items(skip=len(found) - 2)) == found[-2:]
    return stream


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.jsonl", 1 << 23),
        ("a.jsonl.gz", 3000),
        ("b.csv", 3000),
        ("a.tsv", 1 << 23),
        ("c.csv", 1 << 23),
        ("a.json", 3000),
    ],
)
def test_items_are_those_in_memory(tmp_path, name, head):
    formats(tmp_path)
    stream = same(tmp_path / name, head=head)
    assert stream.reading.labels == ("tags",)
    assert (stream.head.notes[-1] == "guessed from the beginning of the file") == (head == 3000)


@pytest.mark.parametrize("empty", ["unknown", "none"])
def test_options_of_reading(tmp_path, empty):
    items = rows()
    items[30]["tags"] = []
    path, names = tmp_path / "a.jsonl", tmp_path / "names"
    path.write_text(as_lines(items))
    names.write_text("game\tPlay\nimage\tPicture\n")
    same(path, text=["body"], labels="tags", ids="id", empty=empty, vocabulary=names, head=2000)
    same(path, labels="")
    numbered = CorpusReader(path, ids="")
    assert [item.id for item in numbered][:3] == ["0", "1", "2"]
    assert numbered.reading.ids is None


def test_cells_with_line_breaks_at_the_cut(tmp_path):
    items = rows()
    for item in items:
        item["body"] = f'{item["body"]}\n"quoted", and\nmore'
    path = tmp_path / "a.csv"
    path.write_text(as_table(items))
    for head in range(2500, 2700, 50):
        same(path, head=head)


@pytest.mark.parametrize(
    ("name", "encoding", "mark"),
    [
        ("a.jsonl", "utf-16", False),
        ("a.csv", "utf-16-le", True),
        ("a.csv", "utf-32", False),
        ("a.jsonl", "utf-32-be", False),
    ],
)
def test_wide_encodings(tmp_path, name, encoding, mark):
    items = rows()
    for item in items:
        # Characters with the bytes of line ends and of quotation marks.
        item["body"] += '\u0a0a \u010a \u2222 \u0a22\n"quoted", and \U0001f600'
    text = as_lines(items) if name == "a.jsonl" else as_table(items)
    (tmp_path / name).write_bytes((("\ufeff" if mark else "") + text).encode(encoding))
    stream = same(tmp_path / name, head=3000, encoding=encoding)
    assert stream.head.notes[-1] == "guessed from the beginning of the file"
    if mark or encoding in ("utf-16", "utf-32"):
        same(tmp_path / name, head=3000)


def test_wide_encodings_that_are_unknown_or_damaged(tmp_path):
    content = as_lines(rows()).encode("utf-16-le")
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InvalidFile, match=r"without a byte order mark.*utf-16-le"):
        CorpusReader(tmp_path / "a.jsonl", head=3000)
    # A half of a surrogate pair, in the beginning and after it.
    for place in (1000, 5000):
        (tmp_path / "b.jsonl").write_bytes(content[:place] + b"\x00\xdc" + content[place:])
        with pytest.raises(InvalidFile, match="not utf-16-le"):
            list(CorpusReader(tmp_path / "b.jsonl", head=3000, encoding="utf-16-le"))


@pytest.mark.parametrize("name", ["texts", "tables"])
def test_indexes_in_a_folder_are_not_read(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    for number, item in enumerate(rows()):
        if name == "texts":
            (folder / f"{number}.txt").write_text(item["body"])
        else:
            (folder / f"{number}.jsonl").write_text(as_lines([item]))
    # A file of this name that has nothing to do with an index.
    (folder / "manifest.json.txt" if name == "texts" else folder / "more.jsonl").write_text("")
    before, wanted = CorpusReader(folder).fingerprint, read_corpus(folder)
    found = list(CorpusReader(folder))
    for one, manifest in (("a", "manifest.json"), ("deep/b", "unfinished/plan.json")):
        path = folder / one / manifest
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"format": "labelspan-index", "version": 4}))
        for file in ("lock", "notes.txt", "0.jsonl", "generation/words.json"):
            (folder / one / file).parent.mkdir(exist_ok=True)
            (folder / one / file).write_text("{}")
    assert CorpusReader(folder).fingerprint == before
    assert list(CorpusReader(folder)) == found
    assert list(read_corpus(folder).texts) == list(wanted.texts)


@pytest.mark.parametrize("head", [300, 1 << 20])
def test_parquet(tmp_path, head):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    parquet.write_table(arrow.Table.from_pylist(rows()), tmp_path / "a.parquet")
    same(tmp_path / "a.parquet", head=head)
    assert len(list(CorpusReader(tmp_path / "a.parquet", head=head).items(40))) == 8
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-30])
    with pytest.raises(InvalidFile, match="damaged or not a parquet file"):
        CorpusReader(tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_text("text")
    with pytest.raises(InvalidFile, match="damaged or not a parquet file"):
        CorpusReader(tmp_path / "c.parquet")


@pytest.mark.parametrize(("head", "labels"), [(30, "folders"), (1 << 20, "files")])
def test_folders(tmp_path, head, labels):
    for number in range(12):
        folder = tmp_path / ("chess" if number % 2 else "go") if labels == "folders" else tmp_path
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text(f"text {number} about a game")
        if labels == "files":
            (folder / f"{number}.tsv").write_text("<u:g>\tgame\n")
    same(tmp_path, head=head)
    stream = CorpusReader(tmp_path, head=head)
    assert [item.id for item in stream.items(10)] == [item.id for item in stream][10:]
    before = stream.fingerprint
    (tmp_path / "more.txt").write_text("one more")
    assert CorpusReader(tmp_path).fingerprint != before


def packed(path, files, mode):
    if mode == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("mode", ["w:xz", "zip"])
def test_archives(tmp_path, mode):
    files = {}
    for number, item in enumerate(rows()):
        # Files of labels come before and after their texts.
        names = [f"all/{number % 3}/{number}.txt", f"all/{number % 3}/{number}.tsv"]
        content = [item["body"].encode(), "\n".join(item["tags"]).encode()]
        files.update(list(zip(names, content, strict=True))[:: 1 if number % 2 else -1])
    files |= {"all/.hidden.txt": b"x", "all/picture.png": b"x"}
    path = packed(tmp_path / "texts", files, mode)
    for head in (1 << 23, 1000):
        stream = same(path, head=head)
        assert stream.reading.format == "folder"
    # The items stay readable, and know where they are.
    assert len(list(stream)) == len(list(stream)) == 48
    whole = packed(tmp_path / "one", {"data/a.jsonl": as_lines(rows()).encode()}, mode)
    for head in (1 << 23, 1000):
        assert same(whole, head=head).reading.labels == ("tags",)
