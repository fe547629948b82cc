"""Whole tables as files, sent while they are read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..index.metadata_fields import metadata_text
from .item_list import download
from .label_table import report_rows
from .pages import PAGES
from .parameters import Parameter
from .review_page import finding_cells
from .snapshot import Snapshot

__all__ = ["DOWNLOADS", "Download"]

_COLUMNS = ["id", "title", "text", "score", "labels"]
# What a spreadsheet takes for the beginning of a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Download:
    """A file: its address, name, media type, parameters, and a function that yields its parts."""

    path: str
    file: str
    kind: str
    parameters: tuple[Parameter, ...]
    parts: Callable[[Snapshot, Mapping[str, Any]], Iterator[bytes]]


def _csv(rows: Sequence[Sequence[Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    """Return what a spreadsheet shows as it is: text that it would compute gets a quote before."""
    if not isinstance(value, str):
        return value
    value = value.replace("\0", "\ufffd")
    return f"'{value}" if value.startswith(_FORMULAS) else value


def _search_csv(snapshot: Snapshot, asked: Mapping[str, Any]) -> Iterator[bytes]:
    parts, keys = download(snapshot, asked), list(snapshot.index.fields())
    # A title of the metadata is the title; other keys do not repeat the name of a column.
    own = [key for key in keys if key != "title"]

    def texts() -> Iterator[bytes]:
        yield _csv([[*_COLUMNS, *(f"meta.{key}" if key in _COLUMNS else key for key in own)]])
        for rows in parts:
            yield _csv(
                [
                    [
                        row["id"],
                        row["metadata"].get("title") or row["title"],
                        row["text"],
                        "" if row["score"] is None else row["score"],
                        "|".join(row["labels"] or ()),
                        *(_value(row["metadata"].get(key, "")) for key in own),
                    ]
                    for row in rows
                ]
            )

    return texts()


def _value(value: Any) -> Any:
    return value if type(value) in (int, float) else metadata_text(value)


def _search_lines(snapshot: Snapshot, asked: Mapping[str, Any]) -> Iterator[bytes]:
    parts = download(snapshot, asked)
    return ("".join(f"{_json(row)}\n" for row in rows).encode() for rows in parts)


def _json(row: Mapping[str, Any]) -> str:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False)
    except ValueError:
        # JSON has no infinity.
        finite = {
            key: None if isinstance(value, float) and value - value != 0 else value
            for key, value in row["metadata"].items()
        }
        return json.dumps({**row, "metadata": finite}, ensure_ascii=False)


def _report_csv(snapshot: Snapshot, asked: Mapping[str, Any]) -> Iterator[bytes]:
    found = report_rows(snapshot, asked)
    names = ["label", "support", "chosen", "precision", "recall", "f1", "threshold"]
    rows = [[getattr(row, name) for name in names] for row in found]
    return iter([_csv([names, *rows])])


def _review_csv(snapshot: Snapshot, asked: Mapping[str, Any]) -> Iterator[bytes]:
    return iter([_csv(finding_cells(snapshot, asked))])


def _without(name: str, *others: str) -> tuple[Parameter, ...]:
    page = next(one for one in PAGES if one.name == name)
    return tuple(one for one in page.parameters if one.name not in {"page", *others})


_CSV, _LINES = "text/csv; charset=utf-8", "application/jsonl; charset=utf-8"
DOWNLOADS = (
    Download("/search.csv", "items.csv", _CSV, _without("search", "show", "open"), _search_csv),
    Download(
        "/search.jsonl", "items.jsonl", _LINES, _without("search", "show", "open"), _search_lines
    ),
    Download("/report.csv", "labels.csv", _CSV, _without("report"), _report_csv),
    Download("/review.csv", "findings.csv", _CSV, _without("review"), _review_csv),
)
