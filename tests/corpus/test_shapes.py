"""Exports of many programs: each is read right, or refused, or said not to be sure."""

import pytest
from _support.shapes import NOTES, PEOPLE, ROWS, cycle, some, table, verdict
from _support.shapes_fifth import FIFTH
from _support.shapes_first import FIRST
from _support.shapes_fourth import FOURTH
from _support.shapes_second import SECOND
from _support.shapes_sixth import SIXTH
from _support.shapes_third import THIRD
from _support.tagged import write_all

from labelspan.corpus import read_corpus
from labelspan.errors import InvalidFile, InvalidParameter

SHAPES = {**FIRST, **SECOND, **THIRD, **FOURTH, **FIFTH, **SIXTH}
# Where a person has to say what is meant, and is told so.
ASKED = {
    "requests of citizens": "refused",
    "Semantic Scholar": "said",
    "coded segments of MAXQDA": "said",
    "Label Studio, short": "said",
    "Europeana": "said",
    "Lens": "said",
    "ReliefWeb": "said",
    "New York Times": "said",
    "emotions": "said",
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


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("TI- On rivers\nAU- Lee, Ann\nPY- {n}\n", "begin as those of records, as 'TI-'"),
        ("--TI-- On rivers\n--AU-- Lee\n--YP-- {n}\n", "begin as those of records, as '--TI--'"),
        ("Author: Ann\nDate: {n} May\nWe met by the river.\n", "begin as those of records"),
        ("<{n}>\nTitle\n  On rivers\nYear\n  2001\n", "some of its lines are indented"),
        ("We met by the river {n}.\n* * *\n", "8 lines are only '* * *'"),
        ("There was a river and the\nbridge of stone, over which\nall had to go {n}.\n", "go on"),
    ],
)
def test_a_line_of_a_record_is_not_taken_for_a_text(tmp_path, line, why):
    path = tmp_path / "a.txt"
    path.write_text("".join(line.format(n=n) for n in range(8)))
    with pytest.raises(InvalidFile, match="not sure that each line is a text") as error:
        read_corpus(path)
    assert why in str(error.value)
    assert "give --format lines if each is" in str(error.value)
    assert len(read_corpus(path, format="lines")) == 8 * line.count("\n")


@pytest.mark.parametrize(
    "line", ["We met by the river {n}.\n", "cheap rivers {n}\n", "We met.\n\n", "Ann: yes, {n}!\n"]
)
def test_a_text_per_line_needs_no_option(tmp_path, line):
    path = tmp_path / "a.txt"
    path.write_text("".join(line.format(n=n) for n in range(40)))
    assert len(read_corpus(path)) == 40


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"player_name": [f"{one} {one[0]}" for one in PEOPLE]}, "no field looks like a text"),
        ({"name": [f"{one} Oh{'abcd'[n % 4] * n}" for n, one in enumerate(PEOPLE)]}, "text: name"),
        ({"name": cycle("Oulu", "Turin", "Kobe")}, "no field looks like a text"),
        ({"comment": some(NOTES, 20)}, "not sure which field is the text: comment"),
    ],
)
def test_people_places_and_rare_remarks_are_not_surely_the_text(tmp_path, columns, why):
    (tmp_path / "a.csv").write_text(table({**columns, "votes": [str(n) for n in ROWS]}))
    with pytest.raises(InvalidParameter, match=why):
        read_corpus(tmp_path / "a.csv")


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
