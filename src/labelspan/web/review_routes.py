"""Pages of an explorer that was started for editing: the entrance, history, corrected file."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import lzma
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..corpus import CorpusEdit, edit_corpus
from ..curation.decisions import as_lines, as_table
from .editing import ENTRANCE, Editing
from .http_errors import Refused
from .pages import Page
from .parameters import Parameter, read_address, read_parameters
from .render import as_page

__all__ = ["review_routes"]

Handler = Callable[[Request], Awaitable[Response]]
_TOKEN = (Parameter("token", "text", "The secret that was printed.", None, 100),)
_EXPORTS = {
    "/review/decisions.csv": (as_table, "text/csv; charset=utf-8"),
    "/review/decisions.jsonl": (as_lines, "application/jsonl; charset=utf-8"),
}
_MOST_LINES = 1000
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


def _nothing(snapshot: Any, asked: Any) -> dict[str, Any]:
    return {}


_HISTORY = Page(
    "history",
    "/history",
    "History",
    "All changes of labels.",
    _nothing,
    (
        Parameter("item", "text", "Only changes of this item.", ""),
        Parameter("label", "text", "Only changes of this label.", ""),
    ),
)
_CHANGES = Page("changes", "/changes", "Corrected file", "What the decisions change.", _nothing)


def review_routes(editing: Editing, pool: ThreadPoolExecutor) -> list[Route]:
    """Return the addresses; all but the entrance need the cookie that it sets."""
    review = editing.review

    async def enter(request: Request) -> Response:
        token = read_parameters(_TOKEN, read_address(request.scope["query_string"]))["token"]
        response = RedirectResponse("/review", 303)
        response.set_cookie(
            editing.cookie, editing.admit(token), path="/", httponly=True, samesite="strict"
        )
        return response

    def guarded(make: Callable[[dict[str, Any]], Response], page: Page | None = None) -> Handler:
        async def answer(request: Request) -> Response:
            editing.check(request)
            known = () if page is None else page.parameters
            asked = read_parameters(known, read_address(request.scope["query_string"]))
            return await asyncio.get_running_loop().run_in_executor(pool, make, asked)

        return answer

    def export(path: str) -> Handler:
        write, kind = _EXPORTS[path]
        name = path.rpartition("/")[2]
        return guarded(lambda _: _file(name, kind, write(review.decisions()).encode()))

    def history(asked: dict[str, Any]) -> Response:
        return as_page(_HISTORY, {}, asked, editing=True, json_link="")

    def corrected() -> CorpusEdit:
        if editing.corpus is None:
            raise Refused(404, "Start `labelspan serve --edit` with --corpus FILE for this.")
        changes = review.changes()
        texts = {item.id: item.text for item in review.index.items() if item.id in changes}
        like = review.index.corpus_fields
        return edit_corpus(editing.corpus, changes, texts=texts, like=like)

    def changes(asked: dict[str, Any]) -> Response:
        content: dict[str, Any] = {"file": None, "edit": None, "lines": [], "more": 0}
        if editing.corpus is not None:
            edit = corrected()
            lines = _differences(editing.corpus, edit)
            content = {
                "file": editing.corpus.name,
                "edit": edit,
                "lines": lines[:_MOST_LINES],
                "more": max(0, len(lines) - _MOST_LINES),
            }
        return as_page(_CHANGES, content, asked, editing=True, json_link="")

    def send(asked: dict[str, Any]) -> Response:
        edit = corrected()
        assert editing.corpus is not None
        if edit.source is not None:
            raise Refused(404, "A folder is corrected by `labelspan review --apply`.")
        # A packed file is sent unpacked.
        name = re.sub(r"\.(gz|bz2|xz)$", "", editing.corpus.name, flags=re.IGNORECASE)
        return _file(name, "application/octet-stream", edit.content)

    return [
        Route(ENTRANCE, enter),
        Route(_HISTORY.path, guarded(history, _HISTORY)),
        Route(_CHANGES.path, guarded(changes)),
        Route("/changes/file", guarded(send)),
        *(Route(path, export(path)) for path in _EXPORTS),
    ]


def _differences(corpus: Path, edit: CorpusEdit) -> list[tuple[str, str]]:
    """Return the lines that change, before and after; none of a file that is not text."""
    found: list[tuple[str, str]] = []
    for name, content in edit.files.items():
        path = corpus / name if name else corpus
        with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            before = file.read()
        try:
            old, new = (text.decode("utf-8-sig").splitlines() for text in (before, content))
        except UnicodeDecodeError:
            continue
        if len(old) == len(new):
            # Labels change within their lines.
            found += [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
        else:
            steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            found += [
                ("\n".join(old[a:b]), "\n".join(new[c:d]))
                for step, a, b, c, d in steps
                if step != "equal"
            ]
    return found


def _file(name: str, kind: str, body: bytes) -> Response:
    plain = "".join(one if one.isalnum() or one in "._-" else "_" for one in name)
    ascii_name = plain.encode("ascii", "replace").decode().replace("?", "_")
    headers = {"content-disposition": f'attachment; filename="{ascii_name}"'}
    return Response(body, headers=headers, media_type=kind)
