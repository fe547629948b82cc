"""The explorer as an ASGI application."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import cache, partial
from typing import Any, Protocol

from anyio.to_thread import current_default_thread_limiter
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from ..answers.collection import name_of
from .access import Access, Token
from .endpoint import JSON, Endpoint, File, Given
from .endpoints import ENDPOINTS
from .mcp_server import VERSIONS, Assistants
from .middleware import LOOPBACK, Guard
from .openapi import FORM, describe
from .render import as_page, templates
from .requests import (
    LONGEST_JSON,
    Refused,
    read_all,
    read_json_body,
    read_pairs,
    read_parameters,
)
from .schema import as_json
from .snapshot import Served

__all__ = ["guarded", "make_app", "make_routes"]

# Requests that are answered at the same time, by threads.
_THREADS = 16
# With the header nosniff, a script of another type does not run; the tables of the machine vary.
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Handler = Callable[[Request], Awaitable[Response]]
# Shows an answer to what was given.


class Render(Protocol):
    """Makes a response of an answer; ``editing`` says whether who asked may change labels."""

    def __call__(
        self, page: Endpoint, content: Any, asked: Given, /, *, editing: bool = False
    ) -> Response: ...


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
    may_edit = served.editing is not None
    known = [one for one in ENDPOINTS if may_edit or one.access != "edit"]
    access = None if served.editing is None else served.editing.access

    def collection() -> tuple[str, bool]:
        with served.held() as snapshot:
            return name_of(snapshot.index), snapshot.index.can_tag

    as_html = partial(as_page, images=images, collection=collection)
    routes: list[BaseRoute] = [*make_routes(known, served, access, Token(token), as_html)]
    routes.append(Route("/mcp", _assistants(served), methods=["POST"]))
    if access is not None:
        routes.append(access.route("/"))
    cookie = {} if access is None else {"cookie": access.cookie}
    description = cache(partial(describe, known, **cookie))

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


def make_routes(
    endpoints: Iterable[Endpoint],
    served: Any,
    access: Access | None,
    token: Token,
    as_html: Render,
) -> list[Route]:
    """Make routes of endpoints: who asks is checked, what is given is read, the answer is shown."""
    paths: dict[str, dict[str, tuple[Endpoint, Render]]] = {}
    for one in endpoints:
        at = paths.setdefault(one.path, {})
        at[one.method] = one, as_html if one.title else _as_json
        if one.title and not one.shown:
            paths.setdefault(one.json_path, {})[one.method] = one, _as_json
        if one.form:
            for path in (one.path, one.json_path):
                paths[path]["POST"] = paths[path]["GET"]

    def route(path: str, methods: dict[str, tuple[Endpoint, Render]]) -> Route:
        async def answer(request: Request) -> Response:
            # Starlette answers HEAD where it answers GET.
            endpoint, render = methods.get(request.method) or methods["GET"]
            _check(endpoint, request, served, access, token)
            if endpoint.respond is not None:
                return await endpoint.respond(served, request)
            given = await _given(endpoint, request)
            if endpoint.media != JSON:
                return await run_in_threadpool(_send, endpoint, served, given)

            # Those who only read get no controls to change labels.
            editing = access is not None and access.entered(request)

            def work() -> Response:
                return render(endpoint, endpoint.work(served, given), given, editing=editing)

            response = await run_in_threadpool(work)
            if endpoint.access == "edit":
                response.headers["cache-control"] = "no-store"
            return response

        return Route(path, answer, methods=list(methods))

    return [route(path, methods) for path, methods in paths.items()]


def _check(
    endpoint: Endpoint, request: Request, served: Any, access: Access | None, token: Token
) -> None:
    """Refuse a request of somebody who may not make it."""
    if endpoint.access == "token":
        token.check(request)
        if endpoint.writes and served.editing is None:
            raise Refused(403, "This index is served with --read-only: nothing can be changed.")
    elif endpoint.access == "edit":
        assert access is not None
        (access.check_writing if endpoint.writes else access.check)(request)


async def _given(endpoint: Endpoint, request: Request) -> Given:
    """Read the parameters or the body of a request."""
    if endpoint.body is not None:
        return await read_json_body(request, endpoint.body)
    pairs = [*read_pairs(request.scope["query_string"]), *request.path_params.items()]
    if endpoint.form and request.method == "POST":
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
            raise Refused(415, f"A body must be {FORM}.")
        pairs += read_pairs(await read_all(request.receive), "The form")
    return read_parameters(endpoint.parameters, pairs)


def _send(endpoint: Endpoint, served: Any, given: Given) -> Response:
    """Begin to send a file; the index stays open until all is sent, or the client goes away."""
    with ExitStack() as stack:
        file: File
        if endpoint.takes == "served":
            file = endpoint.answer(served, given)
        else:
            file = endpoint.of(stack.enter_context(served.held()), given)
        headers = {"content-disposition": f'attachment; filename="{file.name}"'}
        if endpoint.access == "edit":
            headers["cache-control"] = "no-store"
        parts = _each(file.parts, stack.pop_all())
        return StreamingResponse(parts, headers=headers, media_type=endpoint.media)


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
            made = Assistants(name_of(snapshot.index), lambda: served)
            content = await run_in_threadpool(made.answer, body)
        if content is None:
            return Response(status_code=202)
        return as_json(content, 400 if content.get("id") is None else 200)

    return answer


def _as_json(page: Endpoint, content: Any, asked: Given, /, *, editing: bool = False) -> Response:
    return as_json(content)
