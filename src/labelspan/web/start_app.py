"""The explorer before there is an index: a page that takes a file, and then the index of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from ..index.folder import keep_file
from ..models import cached_models
from .access import Access, Token
from .app import guarded, make_app, make_routes
from .endpoint import Endpoint, Given
from .file_fit import FileFit
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
    model: NotRequired[Annotated[str | None, MaxLen(LONGEST_NAME), "a model on this machine"]]


class NoBody(Body):
    """A request without parameters."""


class StartApp:
    """An ASGI application that becomes the explorer of the index that it fits.

    ``opened(edit, access)`` opens that index; with ``edit``, labels may be changed then by
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
        templates()

        def as_html(
            page: Endpoint, content: Any, asked: Given, /, *, editing: bool = False
        ) -> Response:
            return as_page(page, content, asked, menu=())

        routes = make_routes(_START, self, self.access, Token(""), as_html)
        routes.append(self.access.route("/"))
        self._start: ASGIApp = guarded(routes, self._hosts, self._lifespan)
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

    def _opened(self, file: Path) -> None:
        """Keep the file with the index, and show this from now on."""
        keep_file(self.fit.out, file)
        served = self._open(edit=self._edit, access=self.access)
        self._served = served
        self._app = make_app(served, hosts=self._hosts, **self._settings)
        served.start()

    # --- addresses ------------------------------------------------------------------------

    def show(self, given: Given) -> dict[str, Any]:
        """Show where a file is dropped."""
        return {"longest": LONGEST_UPLOAD, "models": cached_models()}

    def state(self, given: Given) -> dict[str, Any]:
        """Return what is being done, and what was found."""
        return {**self.fit.state(), "secret": self.access.form_secret}

    async def receive(self, request: Request) -> Response:
        """Take a file, and begin to read it."""
        if request.headers.get("content-type") != "application/octet-stream":
            raise Refused(415, "A file must be sent as application/octet-stream.")
        self._asked = {}
        name = read_parameters(_FILE, read_pairs(request.scope["query_string"]))["name"]
        await self.fit.receive(name, read_parts(request.receive, longest=LONGEST_UPLOAD))
        return as_json(self.state({}))

    def read(self, given: Given) -> dict[str, Any]:
        """Read the file again, with other options."""
        asked = {**self._asked, **{key: given[key] for key in given}}
        options = [f"--text={name}" for name in asked.get("text", ())]
        if "labels" in asked:
            options += [f"--labels={name}" for name in asked["labels"] or ("",)]
        for key in ("separator", "encoding", "model"):
            if asked.get(key) is not None:
                options.append(f"--{key}={asked[key]}")
        if any("\0" in one for one in options):
            raise Refused(400, "A name or a separator cannot have the character NUL.")
        self.fit.read(options)
        self._asked = asked
        return self.state({})

    def begin(self, given: Given) -> dict[str, Any]:
        """Fit an index on the file."""
        self.fit.fit()
        return self.state({})

    def cancel(self, given: Given) -> dict[str, Any]:
        """Stop what is being done."""
        self.fit.cancel()
        return self.state({})


def _post(name: str, answer: Any, body: Any) -> Endpoint:
    path = f"/start/{name}.json"
    return Endpoint(name, path, answer, (), "POST", body, "served", access="edit", writes=True)


# The addresses before there is an index, for who may edit; there is no other use of this server.
_START = (
    Endpoint("start", "/", StartApp.show, takes="served", access="edit", title="Start", shown=True),
    Endpoint("state", _STATE, StartApp.state, takes="served", access="edit"),
    Endpoint(
        "file",
        "/start/file",
        StartApp.receive,
        method="POST",
        access="edit",
        writes=True,
        respond=StartApp.receive,
    ),
    _post("read", StartApp.read, ReadBody),
    _post("fit", StartApp.begin, NoBody),
    _post("cancel", StartApp.cancel, NoBody),
)
