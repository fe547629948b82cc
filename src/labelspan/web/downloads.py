"""Lists of items as files to download: a table, and lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from .._texts import csv_text, json_text
from ..answers.common import Given
from ..answers.lists import Mask, RowData, rows
from ..index import SemanticIndex
from ..index.metadata_fields import metadata_text
from .endpoint import File
from .selection import SELECTION, SORT

__all__ = ["csv_bytes", "send_lines", "send_table", "table_rows"]

_COLUMNS = ("id", "title", "text", "score", "labels")
# What a spreadsheet takes for the beginning of a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
Row: TypeAlias = list[Any]


def send_table(index: SemanticIndex, given: Given, mask: Mask) -> File:
    """Send all items of a list as a table."""
    return File("items.csv", map(csv_bytes, _table(index, rows(index, given, mask), _COLUMNS)))


def table_rows(index: SemanticIndex) -> list[Row]:
    """Return all items as a table, after the row of the names."""
    columns = [name for name in _COLUMNS if name != "score"]
    usual = {one.name: one.default for one in (*SELECTION, SORT)}
    return [row for part in _table(index, rows(index, usual), columns) for row in part]


def _table(
    index: SemanticIndex, parts: Iterator[list[RowData]], columns: Sequence[str]
) -> Iterator[list[Row]]:
    # A title of the metadata is the title; other keys do not repeat the name of a column.
    keys = [key for key in index.fields() if key != "title"]
    yield [[*columns, *(f"meta.{key}" if key in _COLUMNS else key for key in keys)]]
    for part in parts:
        yield [
            [
                _cell(value)
                for value in (
                    *(_value(row, name) for name in columns),
                    *(row["metadata"].get(key, "") for key in keys),
                )
            ]
            for row in part
        ]


def _value(row: RowData, name: str) -> Any:
    if name == "title":
        return row["metadata"].get("title") or row["title"]
    return "|".join(row["labels"] or ()) if name == "labels" else row[name]  # type: ignore[literal-required]


def csv_bytes(table: list[Row]) -> bytes:
    """Return rows as CSV, as spreadsheets write it."""
    return csv_text(table, end="\r\n").encode()


def _cell(value: Any) -> Any:
    """Return a cell that a spreadsheet does not compute: what looks like a formula gets a quote."""
    if value is None or type(value) in (int, float):
        return value
    text = metadata_text(value).replace("\0", "\ufffd")
    return f"'{text}" if text.startswith(_FORMULAS) else text


def send_lines(index: SemanticIndex, given: Given, mask: Mask) -> File:
    """Send all items of a list as lines of JSON."""
    parts = rows(index, given, mask)
    lines = ("".join(f"{json_text(row)}\n" for row in part).encode() for part in parts)
    return File("items.jsonl", lines)
