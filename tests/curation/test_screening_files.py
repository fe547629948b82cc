"""Decisions as csv and RIS, written and read again."""

import pytest

from labelspan.curation.screening_files import ScreenedItem, read_decisions, to_csv, to_ris
from labelspan.errors import InvalidInput

MADE = [
    ScreenedItem("7", 'A "trial", of; two', "yes", "", "=look\nagain", "anna", "2026-01-01", 1),
    ScreenedItem("x y", "Ünïcode title", "no", "animals only", "", "ben", "2026-01-02", 2),
    ScreenedItem("-3", "Third", "skip", text="An abstract\nof two lines"),
]


@pytest.mark.parametrize("write", [to_csv, to_ris])
def test_what_is_written_is_read(write):
    found = read_decisions(write(MADE))
    assert [(one.item, one.answer, one.reason) for one in found] == [
        (one.item, one.answer, one.reason) for one in MADE
    ]
    assert [one.title for one in found] == [one.title for one in MADE]


def test_a_spreadsheet_computes_nothing():
    assert ",'=look" not in to_csv(MADE)
    assert "\"'=look" in to_csv(MADE)
    assert to_ris(MADE).count("ER  - ") == 3
    assert "N1  - Reason: animals only" in to_ris(MADE)


def test_files_of_other_programs_are_read():
    found = read_decisions("record_id;title;included\n1;One;1\n2;Two;0\n3;Three;\n")
    assert [(one.item, one.answer) for one in found] == [("1", "yes"), ("2", "no")]
    found = read_decisions("\ufeffTitle\tDecision\nOne\tExcluded\n")
    assert [(one.item, one.title, one.answer) for one in found] == [("", "One", "no")]
    text = to_csv([MADE[0]._replace(undone=True), MADE[1]])
    assert [one.item for one in read_decisions(text)] == ["x y"]


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "TY  - JOUR\nTI  - One\nER  - \n"])
def test_a_file_without_decisions_is_refused(content):
    with pytest.raises(InvalidInput, match="none were found"):
        read_decisions(content)
