"""The explorer before there is an index: a page that takes a file, and then the index of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .access import Access, Given
from .app import guarded, make_app
from .file_fit import FileFit
from .pages import Page
from .render import as_page, templates
from .requests import (
    LONGEST_NAME,
    LONGEST_UPLOAD,
    Refused,
    read_pairs,
    read_parameters,
    read_parts,
    text_input,
)
from .schema import Body, MaxLen, as_json
from .snapshot import Served

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["StartApp"]

_STATE = "/start.json"
_FILE = (text_input("name", "Name of the file.", None, largest=255),)
_FIELDS = Annotated[list[Annotated[str, MaxLen(LONGEST_NAME)]], MaxLen(100)]


class ReadBody(Body):
    """Options by which the file is read, as those of `labelspan fit`.

    Those given before for the same file stay; what was never given is guessed.
    """

    text: NotRequired[_FIELDS]
    labels: NotRequired[Annotated[_FIELDS, "an empty list reads no labels"]]
    separator: NotRequired[Annotated[str | None, MaxLen(20)]]
    encoding: NotRequired[Annotated[str, MaxLen(20)]]


class NoBody(Body):
    """A request without parameters."""


class StartApp:
    """An ASGI application that becomes the explorer of the index that it fits.

    ``opened(edit, corpus, access)`` opens that index; with ``edit``, labels may be changed then by
    whoever may use this page. ``settings`` are further ones of ``make_app``.
    """

    def __init__(
        self,
        folder: Path,
        opened: Callable[..., Served],
        *,
        edit: bool,
        hosts: Iterable[str],
        **settings: Any,
    ) -> None:
        self.access, self._hosts, self._settings = Access(), list(hosts), settings
        self._open, self._edit = opened, edit
        self._served: Served | None = None
        self._asked: dict[str, Any] = {}
        self.fit = FileFit(folder, self._opened)
        self._page = Page("start", "/", "Start", lambda snapshot, asked: {})
        templates()

        def post(path: str, kind: Any, work: Callable[[Given], None]) -> Route:
            def answer(given: Given) -> dict[str, Any]:
                work(given)
                return self._state()

            return self.access.post(path, kind, answer)

        self._start: ASGIApp = guarded(
            [
                self.access.route("/"),
                self.access.get("/", self._show),
                self.access.get(_STATE, lambda given: as_json(self._state())),
                Route("/start/file", self._receive, methods=["POST"]),
                post("/start/read.json", ReadBody, self._read),
                post("/start/fit.json", NoBody, lambda given: self.fit.fit()),
                post("/start/cancel.json", NoBody, lambda given: self.fit.cancel()),
            ],
            self._hosts,
            self._lifespan,
        )
        self._app: ASGIApp = self._start

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: by the page, or by the explorer once there is one."""
        # This application began, so it ends, too; its page asks whether the index is there.
        own = scope["type"] == "lifespan" or scope["path"] == _STATE
        app = self._start if own else self._app
        await app(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await run_sync(self.fit.close)
            if self._served is not None:
                self._served.close()

    def _opened(self, report: dict[str, Any], file: Path) -> None:
        """Show the index from now on."""
        corpus = file if not report.get("why_not_writable", True) else None
        edit = self._edit and bool(report.get("n_labelled"))
        served = self._open(edit=edit, corpus=corpus, access=self.access)
        self._served = served
        self._app = make_app(served, hosts=self._hosts, **self._settings)
        served.start()

    # --- addresses ------------------------------------------------------------------------

    def _show(self, given: Given) -> Response:
        content = {"longest": LONGEST_UPLOAD, "edit": self._edit}
        return as_page(self._page, content, {}, json_link="", menu=())

    def _state(self) -> dict[str, Any]:
        return {**self.fit.state(), "secret": self.access.form_secret}

    async def _receive(self, request: Request) -> Response:
        self.access.check_writing(request)
        if request.headers.get("content-type") != "application/octet-stream":
            raise Refused(415, "A file must be sent as application/octet-stream.")
        self._asked = {}
        name = read_parameters(_FILE, read_pairs(request.scope["query_string"]))["name"]
        await self.fit.receive(name, read_parts(request.receive, longest=LONGEST_UPLOAD))
        return as_json(self._state())

    def _read(self, given: Given) -> None:
        asked = {**self._asked, **{key: given[key] for key in given}}
        options = [f"--text={name}" for name in asked.get("text", ())]
        if "labels" in asked:
            options += [f"--labels={name}" for name in asked["labels"] or ("",)]
        for key in ("separator", "encoding"):
            if asked.get(key) is not None:
                options.append(f"--{key}={asked[key]}")
        self.fit.read(options)
        self._asked = asked
