"""Lists of items as files to download: a table, and lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._texts import csv_text, json_text
from ..answers.common import Given
from ..answers.lists import Mask, rows
from ..index import SemanticIndex
from ..index.metadata_fields import metadata_text
from .endpoint import File

__all__ = ["send_lines", "send_table"]

_COLUMNS = ("id", "title", "text", "score", "labels")
# What a spreadsheet takes for the beginning of a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def send_table(index: SemanticIndex, given: Given, mask: Mask) -> File:
    """Send all items of a list as a table."""
    parts = rows(index, given, mask)
    # A title of the metadata is the title; other keys do not repeat the name of a column.
    keys = [key for key in index.fields() if key != "title"]

    def texts() -> Iterator[bytes]:
        yield _csv([[*_COLUMNS, *(f"meta.{key}" if key in _COLUMNS else key for key in keys)]])
        for part in parts:
            yield _csv(
                [
                    [
                        row["id"],
                        row["metadata"].get("title") or row["title"],
                        row["text"],
                        row["score"],
                        "|".join(row["labels"] or ()),
                        *(row["metadata"].get(key, "") for key in keys),
                    ]
                    for row in part
                ]
            )

    return File("items.csv", texts())


def _csv(table: list[list[Any]]) -> bytes:
    return csv_text(([_cell(value) for value in row] for row in table), end="\r\n").encode()


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
