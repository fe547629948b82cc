"""Numbers in prose that come from a record: a file in ``results/records``, or a table of a page.

Behind a number stands a comment that readers do not see, ``.609<!-- demo: MLSI ndcg -->``: the file
``results/records/demo.json``, and the keys that lead to the number. Or the page, heading, row and
column of a table that a script writes, ``.866<!-- benchmarks.md: Kernels; MLSI, rbf; AUC -->``;
where a section has several tables, the first cell of the table as well.
The number shown is that of the record, rounded to as many digits as it has.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from .pages import DOCS, ROOT

RESULTS = ROOT / "results"

MARK = re.compile(
    r"(?P<number>[-+]?\d[\d,]*(?:\.\d+)?|[-+]?\.\d+)(?P<after>\*{0,2})"
    r"<!-- (?P<where>[\w/-]+(?:\.md)?): (?P<keys>[^>]+?) -->"
)
RECORDS = RESULTS / "records"


def marked_pages() -> list[str]:
    """Pages that have such numbers."""
    paths = [ROOT / "README.md", *DOCS.rglob("*.md"), *RESULTS.rglob("*.md")]
    return sorted(
        path.relative_to(ROOT).as_posix()
        for path in paths
        if "generated" not in path.parts and MARK.search(path.read_text(encoding="utf-8"))
    )


def recorded(where: str, keys: str) -> float:
    """Look a number up; KeyError says what is missing."""
    if where.endswith(".md"):
        return _cell(RESULTS / where, *(key.strip() for key in keys.split(";")))
    found = json.loads((RECORDS / f"{where}.json").read_text(encoding="utf-8"))
    for key in keys.split():
        found = found[int(key)] if isinstance(found, list) else found[key]
    return float(found)


def shown_as(number: str, value: float) -> str:
    """Write a value in the form of a number on a page."""
    digits = len(number.partition(".")[2])
    text = f"{value:,.{digits}f}" if "," in number or "." not in number else f"{value:.{digits}f}"
    if number.lstrip("+-").startswith("."):
        text = text.replace("0.", ".", 1) if abs(value) < 1 else text
    return f"+{text}" if number.startswith("+") and value >= 0 else text


def wrong_numbers(text: str) -> list[str]:
    """Sentences about numbers that are not those of their record."""
    wrong = []
    for mark in MARK.finditer(text):
        place = f"{mark['where']}: {mark['keys']}"
        try:
            expected = shown_as(mark["number"], recorded(mark["where"], mark["keys"]))
        except (KeyError, IndexError, OSError) as error:
            wrong.append(f"{place}: {type(error).__name__}: {error}")
            continue
        if expected != mark["number"]:
            wrong.append(f"{place}: the page has {mark['number']}, the record {expected}")
    return wrong


def corrected(text: str) -> str:
    """Write the numbers of the records into a page."""

    def put(mark: re.Match[str]) -> str:
        number = shown_as(mark["number"], recorded(mark["where"], mark["keys"]))
        return number + mark[0][len(mark["number"]) :]

    return MARK.sub(put, text)


def _cell(page: Path, heading: str, row: str, column: str, table: str | None = None) -> float:
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next((i for i, line in enumerate(lines) if line.lstrip("# ") == heading), None)
    if start is None:
        raise KeyError(f"no heading {heading!r}")
    head: list[str] = []
    for line in lines[start + 1 :]:
        if re.match(r"#{1,6} ", line):
            break
        if not line.startswith("|"):
            head = []
            continue
        cells = [re.sub("[`*]", "", cell).strip() for cell in line.strip()[1:-1].split("|")]
        if not head:
            head = cells
        elif cells[0] == row and column in head and table in (None, head[0]):
            found = re.search(
                r"[-+]?(?:\d[\d,]*)?\.?\d+(?:[eE][+-]?\d+)?", cells[head.index(column)]
            )
            if found:
                return float(found[0].replace(",", ""))
    raise KeyError(f"no row {row!r} with a column {column!r} under {heading!r}")
