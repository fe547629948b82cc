"""Real files in the forms that people have, compared with what other parsers read."""

import csv
import gzip
import io
import json
import os
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from labelspan.corpus import read_corpus

FOLDER = Path(os.environ.get("LABELSPAN_DATA", "")) / "corpora"
pytestmark = pytest.mark.skipif(
    not (FOLDER / "cacm.jsonl.gz").is_file(),
    reason="set LABELSPAN_DATA to the folder that holds corpora/",
)


def unpacked(name):
    return gzip.decompress((FOLDER / name).read_bytes()).decode("utf-8-sig")


def test_cacm_has_optional_fields():
    items = [json.loads(line) for line in unpacked("cacm.jsonl.gz").splitlines()]
    found = read_corpus(FOLDER / "cacm.jsonl.gz")
    assert len(found) == len(items) == 3204
    assert list(found.ids) == [item["id"] for item in items]
    assert found.n_labelled == 1424
    assert [labels or [] for labels in found.labels] == [item["categories"] or [] for item in items]
    assert found.reading["text"] == ("title", "abstract")
    assert found.texts[1000].startswith(items[1000]["title"])
    often = read_corpus(FOLDER / "cacm.jsonl.gz", min_count=3)
    assert len(often.label_names) == 168


def test_tables_are_what_csv_and_pandas_read():
    rows = list(csv.DictReader(io.StringIO(unpacked("netflix_titles.csv.gz"), newline="")))
    # There is a byte order mark, and stray headers.
    rows = [row for row in rows if row["show_id"] != "show_id"]
    found = read_corpus(FOLDER / "netflix_titles.csv.gz")
    assert list(found.ids) == [row["show_id"] for row in rows]
    assert found.labels == [row["listed_in"].split(", ") for row in rows]
    assert found.texts == [f"{row['title']}\n\n{row['description']}" for row in rows]
    assert [table["cast"] for table in found.metadata] == [row["cast"] for row in rows]
    assert any("2 line(s) (8813, 8814) repeat(s) the header" in note for note in found.notes)
    assert found.reading["guessed"] == {"text": "name", "labels": "content", "ids": "name"}
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(FOLDER / "stackoverflow.tsv.gz", sep="\t")
    assert frame["title"].tolist() == list(read_corpus(FOLDER / "stackoverflow.tsv.gz").texts)


@pytest.mark.parametrize(("part", "items", "labels"), [("train", 15212, 1179), ("test", 537, 321)])
def test_makupalat_has_texts_and_uris(part, items, labels):
    lines = unpacked(f"makupalat-{part}.tsv.gz").splitlines()
    found = read_corpus(FOLDER / f"makupalat-{part}.tsv.gz")
    assert found.reading["format"] == "uris"
    assert (len(found), len(found.label_names)) == (len(lines), labels) == (items, labels)
    for line, text, own in zip(lines, found.texts, found.labels, strict=True):
        expected, _, uris = line.partition("\t")
        assert text == expected
        assert own == list(dict.fromkeys(uri.strip("<>") for uri in uris.split()))


def test_kirjastonhoitaja_has_files_of_labels(tmp_path):
    with tarfile.open(FOLDER / "kirjastonhoitaja.tar.gz") as archive:
        files = {
            member.name: archive.extractfile(member).read().decode()
            for member in archive
            if member.isfile()
        }
        archive.extractall(tmp_path, filter="data")
    packed = read_corpus(FOLDER / "kirjastonhoitaja.tar.gz")
    assert len(packed) == 2937
    parts = Counter(table["folder"] for table in packed.metadata)
    assert parts == {"train": 2625, "test": 312}
    names = {}
    for name, own, table in zip(packed.ids, packed.labels, packed.metadata, strict=True):
        stem = f"kirjastonhoitaja/{table['folder']}/{name}"
        pairs = [line.split("\t") for line in files[f"{stem}.tsv"].splitlines()]
        assert own == list(dict.fromkeys(label for _, label in pairs))
        names.update({label: uri for uri, label in pairs})
    assert set(packed.label_names) == set(names)
    folder = read_corpus(tmp_path / "kirjastonhoitaja")
    assert folder.labels == packed.labels
    assert folder.texts == packed.texts
    train = read_corpus(tmp_path / "kirjastonhoitaja" / "train")
    assert (len(train), len(train.label_names)) == (2625, 3955)
