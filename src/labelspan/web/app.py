"""The explorer as an ASGI application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ..errors import InvalidFile, LabelspanError, MissingData
from .api import api_routes
from .assets import load_assets
from .downloads import DOWNLOADS, Download
from .edit_routes import edit_routes
from .http_errors import Refused, as_refused
from .middleware import LOOPBACK, Guard, read_all, wants_json
from .openapi import POINTS, describe
from .pages import DATA, PAGES, Page
from .parameters import read_address, read_body, read_parameters
from .points import MapPoints
from .render import as_json, as_page, refused_response, templates
from .review_routes import review_routes
from .snapshot import Served

__all__ = ["make_app"]

_log = logging.getLogger("labelspan.web")

# One matrix product answers the searches of all threads that wait at the same time.
_THREADS = 16

Handler = Callable[[Request], Awaitable[Response]]


def make_app(
    served: Served,
    *,
    hosts: Iterable[str] = LOOPBACK,
    watch: bool = True,
    token: str = "",
) -> Guard:
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

    Returns
    -------
    Guard
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
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="answer")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if watch:
            served.start()
        try:
            yield
        finally:
            pool.shutdown()
            served.close()

    templates()
    routes: list[Route] = []
    as_html = partial(as_page, editing=served.editing is not None)
    for page in PAGES:
        methods = ["GET", "POST"] if page.posts else ["GET"]
        for path, render in ((page.path, as_html), (page.json_path, _page_as_json)):
            routes.append(Route(path, _answering(served, pool, page, render), methods=methods))
    for page in DATA:
        routes.append(Route(page.path, _answering(served, pool, page, _page_as_json)))
    for download in DOWNLOADS:
        routes.append(Route(download.path, _sending(served, pool, download)))
    if served.editing is not None:
        routes += review_routes(served.editing, pool)
        routes += edit_routes(served.editing, pool, served.renew)
    routes += api_routes(served, pool, token)
    routes.append(Route(POINTS, _points(served, pool)))
    description = describe()

    async def openapi(request: Request) -> Response:
        return as_json(description)

    routes.append(Route("/openapi.json", openapi))
    for address, asset in load_assets().items():
        routes.append(Route(address, _fixed(asset.body, asset.kind, asset.etag)))
    inside = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            HTTPException: _not_found,
            Refused: _refused,
            LabelspanError: _refused,
            Exception: _refused,
        },
    )
    # No redirects: /search/ does not exist.
    inside.router.redirect_slashes = False
    return Guard(inside, hosts)


def _answering(
    served: Served,
    pool: ThreadPoolExecutor,
    page: Page,
    render: Callable[[Page, Any, Any], Response],
) -> Handler:
    def work(asked: dict[str, Any]) -> Response:
        with served.lease() as snapshot:
            return render(page, page.answer(snapshot, asked), asked)

    async def answer(request: Request) -> Response:
        pairs = list(read_address(request.scope["query_string"]))
        if request.method == "POST":
            kind = request.headers.get("content-type", "")
            pairs += read_body(kind, await read_all(request.receive))
        asked = read_parameters(page.parameters, pairs)
        return await asyncio.get_running_loop().run_in_executor(pool, work, asked)

    return answer


def _sending(served: Served, pool: ThreadPoolExecutor, download: Download) -> Handler:
    def begin(asked: dict[str, Any]) -> Response:
        # The index stays open until all is sent, or the client goes away.
        with ExitStack() as stack:
            snapshot = stack.enter_context(served.held())
            parts = download.parts(snapshot, asked)
            headers = {"content-disposition": f'attachment; filename="{download.file}"'}
            made = _each(parts, pool, stack.pop_all())
            return StreamingResponse(made, headers=headers, media_type=download.kind)

    async def send(request: Request) -> Response:
        asked = read_parameters(download.parameters, read_address(request.scope["query_string"]))
        return await asyncio.get_running_loop().run_in_executor(pool, begin, asked)

    return send


async def _each(
    parts: Iterator[bytes], pool: ThreadPoolExecutor, held: ExitStack
) -> AsyncIterator[bytes]:
    """Yield parts as they are made by threads of a pool."""
    loop = asyncio.get_running_loop()
    with held:
        while (part := await loop.run_in_executor(pool, next, parts, None)) is not None:
            yield part


def _page_as_json(page: Page, content: Any, asked: Any) -> Response:
    return as_json(content)


def _points(served: Served, pool: ThreadPoolExecutor) -> Handler:
    def current() -> tuple[MapPoints | None, str]:
        with served.lease() as snapshot:
            return snapshot.current_map(), snapshot.map_state

    async def points(request: Request) -> Response:
        drawn, state = await asyncio.get_running_loop().run_in_executor(pool, current)
        if drawn is None and state == "failed":
            raise Refused(500, "The map could not be drawn; see the output of the server.")
        if drawn is None:
            raise Refused(503, "The map is being drawn; try again.", {"retry-after": "2"})
        kind = "application/octet-stream"
        vary = {"vary": "accept-encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            packed = vary | {"content-encoding": "gzip"}
            return _sent(request, drawn.packed, kind, drawn.etag, packed)
        return _sent(request, drawn.points, kind, drawn.etag, vary)

    return points


def _fixed(body: bytes, kind: str, etag: str) -> Handler:
    async def fixed(request: Request) -> Response:
        return _sent(request, body, kind, etag)

    return fixed


def _sent(
    request: Request, body: bytes, kind: str, etag: str, more: Mapping[str, str] | None = None
) -> Response:
    """Return a body, or 304 if the client has it already."""
    known = request.headers.get("if-none-match", "").replace("W/", "").split(",")
    headers = {"etag": etag, **(more or {})}
    if etag in {one.strip() for one in known}:
        headers.pop("content-encoding", None)
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=kind)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "There is no such page.", 405: "This address does not support that method."}
    message = words.get(error.status_code, str(error.detail))
    headers = dict(error.headers or {})
    return _as_response(request, Refused(error.status_code, message, headers))


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, InvalidFile | MissingData):
        _log.warning("%s", error)
    return _as_response(request, as_refused(error))


def _as_response(request: Request, refused: Refused) -> Response:
    return refused_response(refused, json_wanted=wants_json(request.scope))
