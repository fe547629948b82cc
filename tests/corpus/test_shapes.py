"""Exports of many programs: each is read right, or refused, or said not to be sure."""

import pytest
from _support.shapes import verdict
from _support.shapes_first import FIRST
from _support.tagged import write_all

LATER = ["workbook with merged groups", "BibTeX with two separators", "a row for each code"]
SHAPES = {name: shape for name, shape in FIRST.items() if name not in LATER}


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
    assert verdict(written(tmp_path, SHAPES[shape].files), SHAPES[shape]) == ("right", "")
