"""Exports of many programs: each is read right, or refused, or said not to be sure."""

import pytest
from _support.shapes import verdict
from _support.shapes_first import FIRST
from _support.shapes_second import SECOND
from _support.tagged import write_all

from labelspan.corpus import read_corpus

SHAPES = {**FIRST, **SECOND}
# Where a person has to say what is meant, and is told so.
ASKED = {
    "requests of citizens": "refused",
    "Semantic Scholar": "said",
    "coded segments of MAXQDA": "said",
}


def written(folder, files):
    """Write the files of a shape; return the only one, or their folder."""
    if callable(files):
        files(folder)
    else:
        write_all(folder, files)
    there = list(folder.iterdir())
    return there[0] if len(there) == 1 else folder


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_read_right(tmp_path, shape):
    found, why = verdict(written(tmp_path, SHAPES[shape].files), SHAPES[shape])
    assert found == ASKED.get(shape, "right"), why


def test_text_that_was_read_twice_is_said_with_the_remedy(tmp_path):
    texts = [f"It\u2019s a \u201ccafé\u201d number {n}" for n in range(20)]
    twice = [one.encode().decode("cp1252", "surrogateescape") for one in texts]
    rows = [f'{{"id": {n}, "text": "{one}", "tags": ["a"]}}' for n, one in enumerate(twice)]
    content = "\n".join(rows).encode("utf-8", "surrogatepass")
    # The last byte of the second quotation mark is none of cp1252.
    (tmp_path / "a.jsonl").write_bytes(content.replace(b"\xed\xb2\x9d", b"\xc2\x9d"))
    found = read_corpus(tmp_path / "a.jsonl")
    assert "in 20 item(s) (--encoding utf-8-twice reads it as it was)" in " ".join(found.notes)
    again = read_corpus(tmp_path / "a.jsonl", encoding="utf-8-twice")
    assert again.texts == texts
    assert not any("cp1252" in note for note in again.notes)


def test_each_file_of_a_folder_has_its_separator_and_that_is_said(tmp_path):
    write_all(tmp_path, FIRST["BibTeX with two separators"].files)
    notes = read_corpus(tmp_path).notes
    assert "two.bib: labels are separated by ',' (guessed), not separated by ';' (guessed)" in notes
