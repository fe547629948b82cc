"""Numbers in prose that come from a record: a file in ``results/records``, or a table of a page.

Behind a number stands a comment that readers do not see, ``.609<!-- adapters: debtags -->``: the
file ``results/records/adapters.json``, and the keys that lead to the number. Or the page, heading,
row and column of a table that a script writes, ``.866<!-- benchmarks.md: Kernels; rbf; AUC -->``;
where a section has several tables, the first cell of the table as well. A row is named by its first
cell, or by several (``netflix + labelspan``); of several rows (``a & b``) the mean is taken.
The number shown is that of the record, rounded to as many digits as it has.

Tables that readers of the raw text should be able to read have no such comments: they stand between
``<!-- table: NAME -->`` and ``<!-- end of table -->``, and are made from ``results/tables.toml``.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from .pages import DOCS, ROOT

RESULTS = ROOT / "results"

MARK = re.compile(
    r"(?P<number>[-+]?\d[\d,]*(?:\.\d+)?|[-+]?\.\d+)(?P<after>\*{0,2})"
    r"<!--\s+(?P<where>[\w/-]+(?:\.md)?):\s+(?P<keys>[^>]+?)\s+-->"
)
RECORDS = RESULTS / "records"
_BLOCK = re.compile(r"(<!-- table: (?P<name>[\w -]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_NUMBER = re.compile(r"\{(?P<where>[\w/-]+(?:\.md)?): (?P<keys>[^}]+)\}")


def marked_pages() -> list[str]:
    """Pages that have such numbers."""
    paths = [ROOT / "README.md", *DOCS.rglob("*.md"), *RESULTS.rglob("*.md")]
    return sorted(
        path.relative_to(ROOT).as_posix()
        for path in paths
        if "generated" not in path.parts and _has_numbers(path.read_text(encoding="utf-8"))
    )


def _has_numbers(text: str) -> bool:
    names = _told()
    return bool(MARK.search(text)) or any(m["name"] in names for m in _BLOCK.finditer(text))


def tables() -> dict[str, str]:
    """Tables of ``results/tables.toml`` in Markdown, with the versions that were measured."""
    return {name: _table(**table) for name, table in _told().items()}


def _told() -> dict[str, Any]:
    path = RESULTS / "tables.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _table(head: list[str], rows: list[list[str]], like: str = ".000") -> str:
    """Write a table, with numbers in the form of one of them."""
    versions: set[str] = set()

    def number(mark: re.Match[str]) -> str:
        versions.update(_versions(mark["where"], mark["keys"].partition(";")[0].strip()))
        return shown_as(like, recorded(mark["where"], mark["keys"]))

    lines = [head, ["---"] * len(head)]
    lines += [[_NUMBER.sub(number, cell) for cell in row] for row in rows]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("|  |", "| |")
    *others, last = sorted(versions)
    said = f"versions {', '.join(others)} and {last}" if others else f"version {last}"
    return f"{text}\nMeasured with {said}.\n"


def recorded(where: str, keys: str) -> float:
    """Look a number up; KeyError says what is missing."""
    keys = " ".join(keys.split())  # a page may break its lines anywhere
    if where.endswith(".md"):
        heading, rows, *others = (key.strip() for key in keys.split(";"))
        found = [_cell(RESULTS / where, heading, row, *others) for row in rows.split(" & ")]
        return sum(found) / len(found)
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
    made = tables()
    wrong += [
        f"the table {block['name']} is not that of results/tables.toml"
        for block in _BLOCK.finditer(text)
        if block["name"] in made and block[0] != f"{block[1]}\n{made[block['name']]}\n{block[3]}"
    ]
    return wrong


def corrected(text: str) -> str:
    """Write the numbers of the records into a page."""

    def put(mark: re.Match[str]) -> str:
        number = shown_as(mark["number"], recorded(mark["where"], mark["keys"]))
        return number + mark[0][len(mark["number"]) :]

    def put_table(block: re.Match[str]) -> str:
        table = made.get(block["name"])
        return block[0] if table is None else f"{block[1]}\n{table}\n{block[3]}"

    made = tables()
    return _BLOCK.sub(put_table, MARK.sub(put, text))


# A decimal in prose that is not a version, a parameter or code.
_DECIMAL = re.compile(r"(?<![\w.,/])[-+]?\d*\.\d+(?![\w.]*[\w/])(?!\*{0,2}<!-- )")


def unmarked_numbers(text: str) -> list[str]:
    """Decimals of a page that name no record; tables that a script writes are not searched."""
    text = re.sub(r"```.*?```|<!-- table: .*?<!-- end of table -->", "", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    return _DECIMAL.findall(re.sub(r"\d+\.\d+\.\d+|Python 3\.\d+", "", text))


def missing_versions(text: str) -> list[str]:
    """Versions that the records of a section were measured with, and the section does not name."""
    missing = []
    for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        for where, keys in {(mark["where"], mark["keys"]) for mark in MARK.finditer(section)}:
            versions = _versions(where, keys.partition(";")[0].strip())
            if not versions:
                missing.append(f"{where}: {keys} has no version")
            missing += [f"{where}: {one}" for one in versions if one not in section]
    return sorted(set(missing))


def _versions(where: str, heading: str) -> set[str]:
    if not where.endswith(".md"):
        return {json.loads((RECORDS / f"{where}.json").read_text(encoding="utf-8"))["version"]}
    text = (RESULTS / where).read_text(encoding="utf-8")
    section = re.split(rf"^[#*]+ ?{re.escape(heading)}\**$", text, maxsplit=1, flags=re.MULTILINE)[
        -1
    ]
    own = re.split(r"^#{1,6} ", section, maxsplit=1, flags=re.MULTILINE)[0]
    said = re.compile(r"(?:[Vv]ersion|labelspan) (\d+\.\d+\.\d+)")
    return set(said.findall(heading) or said.findall(own) or said.findall(text))


def _cell(page: Path, heading: str, row: str, column: str, table: str | None = None) -> float:
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next((i for i, line in enumerate(lines) if line.strip("#* ") == heading), None)
    if start is None:
        raise KeyError(f"no heading {heading!r}")
    head: list[str] = []
    for line in lines[start + 1 :]:
        if re.match(r"#{1,6} ", line):
            break
        if not line.startswith("|"):
            head = []
            continue
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", line.strip()[1:-1])
        cells = [cell.strip() for cell in plain.split("|")]
        if not head:
            head = cells
        elif row in (cells[0], " + ".join(cells[: row.count(" + ") + 1])) and column in head:
            if table not in (None, head[0]):
                continue
            found = re.search(
                r"[-+]?(?:\d[\d,]*)?\.?\d+(?:[eE][+-]?\d+)?", cells[head.index(column)]
            )
            if found:
                return float(found[0].replace(",", ""))
    raise KeyError(f"no row {row!r} with a column {column!r} under {heading!r}")
