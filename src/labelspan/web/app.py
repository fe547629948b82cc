"""The explorer as an ASGI application."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import cache, partial
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import ASGIApp

from ..display.map_data import MapPoints
from .api import api_routes
from .edit_routes import edit_routes
from .item_list import DOWNLOADS, Download
from .mcp_server import VERSIONS, Assistants
from .middleware import LOOPBACK, Guard
from .openapi import describe
from .pages import DATA, PAGES, Page
from .render import as_page, templates
from .requests import LONGEST_JSON, Refused, read_all, read_pairs, read_parameters
from .schema import as_json
from .snapshot import Served

__all__ = ["guarded", "make_app"]

POINTS, SKETCH = "/map/points.bin", "/map/sketch.bin"

# Requests that are answered at the same time, by threads.
_THREADS = 16
_FORM = "application/x-www-form-urlencoded"
# With the header nosniff, a script of another type does not run; the tables of the machine vary.
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Handler = Callable[[Request], Awaitable[Response]]


def make_app(
    served: Served,
    *,
    hosts: Iterable[str] = LOOPBACK,
    watch: bool = True,
    token: str = "",
    images: bool = False,
    origins: Iterable[str] = (),
) -> ASGIApp:
    """Make the explorer of an index.

    Parameters
    ----------
    served : Served
        The index. It is closed when the application ends.
    hosts : iterable of str, default=LOOPBACK
        Allowed names in the Host header.
    watch : bool, default=True
        Whether to draw the map and to look for changes of the index in the background.
    token : str, default=""
        What other programs must send to use ``/api/1/``; empty refuses them.
    images : bool, default=False
        Whether the page of an item shows the images that it links to, from other servers.
    origins : iterable of str, default=()
        Origins of other pages, or of browser extensions, whose scripts may use ``/api/1/``.

    Returns
    -------
    callable
        The ASGI application.

    See Also
    --------
    serve : Run it.

    Examples
    --------
    >>> import tempfile
    >>> from starlette.testclient import TestClient
    >>> from labelspan import SemanticIndex
    >>> from labelspan.web import Served, make_app
    >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
    >>> labels = [["game"], ["game", "net"], ["image"], ["image"]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = SemanticIndex().fit(texts, labels).save(folder)
    ...     with TestClient(make_app(Served(folder)), base_url="http://localhost") as client:
    ...         answer = client.get("/search.json", params={"q": "chess"}).json()
    >>> [hit["labels"] for hit in answer["hits"]]
    [['game'], ['game', 'net']]
    """

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = _THREADS
        if watch:
            served.start()
        try:
            yield
        finally:
            served.close()

    templates()
    routes: list[BaseRoute] = []
    as_html = partial(as_page, editing=served.editing is not None, images=images)
    for page in PAGES:
        methods = ["GET", "POST"] if page.posts else ["GET"]
        for path, render in ((page.path, as_html), (page.json_path, _page_as_json)):
            routes.append(Route(path, _answering(served, page, render), methods=methods))
    for page in DATA:
        routes.append(Route(page.path, _answering(served, page, _page_as_json)))
    for download in DOWNLOADS:
        routes.append(Route(download.path, _sending(served, download)))
    if served.editing is not None:
        routes += edit_routes(served.editing, served.renew)
    routes += api_routes(served, token)
    routes.append(Route("/mcp", _assistants(served), methods=["POST"]))
    routes.append(Route(POINTS, _points(served)))
    routes.append(Route(SKETCH, _sketch(served)))
    description = cache(describe)

    async def openapi(request: Request) -> Response:
        return as_json(await run_in_threadpool(description))

    routes.append(Route("/openapi.json", openapi))
    allowed = list(origins)
    app: ASGIApp = guarded(routes, hosts, lifespan, allowed)
    if allowed:
        # The guard refuses them outside of the interface, and says so.
        sent = ["authorization", "content-type"]
        methods = ["GET", "POST", "DELETE"]
        app = CORSMiddleware(app, allowed, allow_methods=methods, allow_headers=sent)
    return app


def guarded(
    routes: Sequence[BaseRoute],
    hosts: Iterable[str],
    lifespan: Any,
    origins: Iterable[str] = (),
) -> Guard:
    """Make an application of routes and of the files that pages need."""
    for ending, kind in _KINDS.items():
        mimetypes.add_type(kind, ending)
    folders = StaticFiles(packages=[("labelspan.web", "static"), ("labelspan.display", "static")])
    # No redirects: /search/ does not exist.
    router = Router([*routes, Mount("/static", folders)], redirect_slashes=False, lifespan=lifespan)
    return Guard(GZipMiddleware(router, minimum_size=1000, compresslevel=6), hosts, origins)


def _answering(served: Served, page: Page, render: Callable[[Page, Any, Any], Response]) -> Handler:
    def work(asked: dict[str, Any]) -> Response:
        with served.lease() as snapshot:
            return render(page, page.answer(snapshot, asked), asked)

    async def answer(request: Request) -> Response:
        pairs = list(read_pairs(request.scope["query_string"]))
        if request.method == "POST":
            if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
                raise Refused(415, f"A body must be {_FORM}.")
            pairs += read_pairs(await read_all(request.receive), "The form")
        asked = read_parameters(page.parameters, pairs)
        return await run_in_threadpool(work, asked)

    return answer


def _sending(served: Served, download: Download) -> Handler:
    def begin(asked: dict[str, Any]) -> Response:
        # The index stays open until all is sent, or the client goes away.
        with ExitStack() as stack:
            snapshot = stack.enter_context(served.held())
            parts = download.parts(snapshot, asked)
            headers = {"content-disposition": f'attachment; filename="{download.file}"'}
            made = _each(parts, stack.pop_all())
            return StreamingResponse(made, headers=headers, media_type=download.kind)

    async def send(request: Request) -> Response:
        asked = read_parameters(download.parameters, read_pairs(request.scope["query_string"]))
        return await run_in_threadpool(begin, asked)

    return send


async def _each(parts: Iterator[bytes], held: ExitStack) -> AsyncIterator[bytes]:
    """Yield parts as they are made by threads."""
    with held:
        while (part := await run_in_threadpool(next, parts, None)) is not None:
            yield part


def _assistants(served: Served) -> Handler:
    """Answer messages of the Model Context Protocol, each in a request (streamable HTTP)."""

    async def answer(request: Request) -> Response:
        if request.headers.get("mcp-protocol-version", VERSIONS[0]) not in VERSIONS:
            raise Refused(400, f"MCP-Protocol-Version: choose one of {', '.join(VERSIONS)}.")
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != "application/json":
            raise Refused(415, "A message must be application/json.")
        body = await read_all(request.receive, longest=LONGEST_JSON)
        with served.held() as snapshot:
            made = Assistants(snapshot.name, lambda: served)
            content = await run_in_threadpool(made.answer, body)
        if content is None:
            return Response(status_code=202)
        return as_json(content, 400 if content.get("id") is None else 200)

    return answer


def _page_as_json(page: Page, content: Any, asked: Any) -> Response:
    return as_json(content)


def _sketch(served: Served) -> Handler:
    """Send places of points while the map is drawn: x and y in turn, as in its positions."""

    async def sketch(request: Request) -> Response:
        with served.held() as snapshot:
            data = snapshot.map_sketch if snapshot.map_state == "drawing" else b""
        headers = {"cache-control": "no-store"}
        return Response(data, headers=headers, media_type="application/octet-stream")

    return sketch


def _points(served: Served) -> Handler:
    def current() -> tuple[MapPoints | None, str]:
        with served.lease() as snapshot:
            return snapshot.current_map(), snapshot.map_state

    async def points(request: Request) -> Response:
        drawn, state = await run_in_threadpool(current)
        if drawn is None and state == "failed":
            raise Refused(500, "The map could not be drawn; see the output of the server.")
        if drawn is None:
            raise Refused(503, "The map is being drawn; try again.", {"retry-after": "2"})
        packed = "gzip" in request.headers.get("accept-encoding", "")
        response = Response(
            drawn.packed if packed else drawn.points,
            headers={"etag": drawn.etag, "vary": "accept-encoding"},
            media_type="application/octet-stream",
        )
        if drawn.etag in request.headers.get("if-none-match", ""):
            return NotModifiedResponse(response.headers)
        if packed:
            response.headers["content-encoding"] = "gzip"
        return response

    return points
