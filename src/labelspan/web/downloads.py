"""The items of a list as a file, sent while they are read."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..index.metadata_fields import metadata_text
from .answer_parts import rounded
from .item_list import browse
from .pages import SELECTION, SORT
from .render import json_text
from .snapshot import Snapshot

__all__ = ["DOWNLOADS", "Download"]

_ITEMS_AT_ONCE = 500
_COLUMNS = ["id", "title", "text", "score", "labels"]
# What a spreadsheet takes for the beginning of a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")

Asked = Mapping[str, Any]


@dataclass(frozen=True)
class Download:
    """A file: its address, name, media type, and a function that yields its parts."""

    path: str
    file: str
    kind: str
    parts: Callable[[Snapshot, Asked], Iterator[bytes]]
    parameters = (*SELECTION, SORT)


def _found(snapshot: Snapshot, asked: Asked) -> Iterator[list[dict[str, Any]]]:
    """Yield all items that match, a few hundred at once; a wrong request is refused at once."""
    found = browse(snapshot, asked)
    return (
        [
            {
                "id": hit.id,
                "title": hit.title,
                "text": hit.text,
                "score": rounded(hit.score) if found.scored else None,
                "labels": None if hit.labels is None else list(hit.labels),
                "metadata": hit.metadata,
            }
            for hit in hits
            if not hit.weak
        ]
        for hits in found.blocks(_ITEMS_AT_ONCE)
    )


def _table(snapshot: Snapshot, asked: Asked) -> Iterator[bytes]:
    parts, keys = _found(snapshot, asked), list(snapshot.index.fields())
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
                        row["score"],
                        "|".join(row["labels"] or ()),
                        *(row["metadata"].get(key, "") for key in own),
                    ]
                    for row in rows
                ]
            )

    return texts()


def _csv(rows: Sequence[Sequence[Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    """Return what a spreadsheet shows as it is: text that it would compute gets a quote before."""
    if value is None or type(value) in (int, float):
        return value
    text = metadata_text(value).replace("\0", "\ufffd")
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _lines(snapshot: Snapshot, asked: Asked) -> Iterator[bytes]:
    parts = _found(snapshot, asked)
    return ("".join(f"{json_text(row)}\n" for row in rows).encode() for rows in parts)


DOWNLOADS = (
    Download("/search.csv", "items.csv", "text/csv; charset=utf-8", _table),
    Download("/search.jsonl", "items.jsonl", "application/jsonl; charset=utf-8", _lines),
)
