"""Whole tables as files, sent while they are read."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from ..index.listing import metadata_text
from .findings import finding_cells
from .item_list import COLUMNS, download_rows
from .label_table import report_rows
from .pages import PAGES
from .parameters import Parameter
from .snapshot import Snapshot

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["DOWNLOADS", "Download", "PartsResponse"]


@dataclass(frozen=True)
class Download:
    """A file: its address, name, media type, parameters, and a function that yields its parts."""

    path: str
    file: str
    kind: str
    parameters: tuple[Parameter, ...]
    parts: Callable[[Snapshot, Mapping[str, Any]], Iterator[bytes]]


class PartsResponse(Response):
    """Send parts as they are made by threads of a pool; ``held`` is closed at the end."""

    def __init__(
        self, download: Download, parts: Iterator[bytes], pool: ThreadPoolExecutor, held: ExitStack
    ) -> None:
        name = f'attachment; filename="{download.file}"'
        super().__init__(headers={"content-disposition": name}, media_type=download.kind)
        del self.headers["content-length"]
        self._parts, self._pool, self._held = parts, pool, held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all parts, unless the client goes away."""
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            loop = asyncio.get_running_loop()
            while scope["method"] != "HEAD" and not gone.done():
                part = await loop.run_in_executor(self._pool, next, self._parts, None)
                if part is None:
                    break
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone
            self._held.close()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _csv(rows: Sequence[Sequence[Any]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode()


def _list_csv(snapshot: Snapshot, asked: Mapping[str, Any]) -> Iterator[bytes]:
    parts, keys = download_rows(snapshot, asked), list(snapshot.listing.values)

    def texts() -> Iterator[bytes]:
        yield _csv([[*COLUMNS, *keys]])
        for rows in parts:
            yield _csv(
                [
                    [
                        row["id"],
                        row["title"],
                        "" if row["score"] is None else row["score"],
                        "|".join(row["labels"] or ()),
                        *(metadata_text(row["metadata"].get(key, "")) for key in keys),
                    ]
                    for row in rows
                ]
            )

    return texts()


def _list_json(snapshot: Snapshot, asked: Mapping[str, Any]) -> Iterator[bytes]:
    parts = download_rows(snapshot, asked)

    def texts() -> Iterator[bytes]:
        before = '{"items": ['
        for rows in parts:
            yield (before + ",\n".join(map(_json, rows))).encode()
            before = ",\n"
        yield (before.rstrip(",\n") + "]}\n").encode()

    return texts()


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
    return iter([_csv([names, *([row[name] for name in names] for row in found)])])  # type: ignore[literal-required]


def _audit_csv(snapshot: Snapshot, asked: Mapping[str, Any]) -> Iterator[bytes]:
    return iter([_csv(finding_cells(snapshot, asked))])


def _without_page(name: str) -> tuple[Parameter, ...]:
    page = next(one for one in PAGES if one.name == name)
    return tuple(one for one in page.parameters if one.name != "page")


_CSV, _JSON = "text/csv; charset=utf-8", "application/json"
DOWNLOADS = (
    Download("/list.csv", "items.csv", _CSV, _without_page("list"), _list_csv),
    Download("/list/items.json", "items.json", _JSON, _without_page("list"), _list_json),
    Download("/report.csv", "labels.csv", _CSV, _without_page("report"), _report_csv),
    Download("/audit.csv", "audit.csv", _CSV, _without_page("audit"), _audit_csv),
)
