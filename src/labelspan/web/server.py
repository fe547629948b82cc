"""Run the explorer with uvicorn."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Callable, Iterable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import h11
import uvicorn
from starlette.types import ASGIApp
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import InvalidParameter, Locked
from .access import read_token
from .app import make_app
from .middleware import LOOPBACK
from .requests import LONGEST_ADDRESS
from .snapshot import Served
from .start_app import StartApp

__all__ = ["serve"]

_SECONDS_BETWEEN_REQUESTS = 5
_SECONDS_FOR_HEADERS = 10.0
_SECONDS_TO_END = 3
_WAITING = 1024
# Well below the 1,024 open files that a process may usually have.
MOST_CONNECTIONS = 512


def serve(
    folder: str | PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    allow_hosts: Iterable[str] = (),
    edit: bool = True,
    who: str = "",
    token_file: str | PathLike[str] | None = None,
    allow_origins: Iterable[str] = (),
    corpus: str | PathLike[str] | None = None,
    images: bool = False,
    start: bool = False,
    started: Callable[[str, Served | StartApp], Any] | None = None,
) -> None:
    """Serve the index in a folder until the process is stopped.

    Parameters
    ----------
    folder : path
        The index.
    host : str, default="127.0.0.1"
        The address to listen on. Any other than the default can be reached from the network.
    port : int, default=8000
        0 chooses a free port.
    allow_hosts : iterable of str, default=()
        Further names that are allowed in the Host header.
    edit : bool, default=True
        Whether labels may be changed, from ``served.editing.access.address(address)``. The index is
        then opened for writing, so that no other process can write to it; if another one does so
        already, it is only read.
    who : str, default=""
        Who changes labels, for the history.
    token_file : path or None, default=None
        A file with the token that other programs must send to use ``/api/1/``; None refuses them.
    allow_origins : iterable of str, default=()
        Origins of pages and of browser extensions whose scripts may use ``/api/1/``, such as
        "https://example.org".
    corpus : path or None, default=None
        The file that the index was fitted on, to download a corrected copy of it; by default the
        one that the index knows.
    images : bool, default=False
        Whether the page of an item shows the images that it links to. They are loaded from other
        servers, which learn of it.
    start : bool, default=False
        Whether to serve a page that fits an index on a file, if the folder has none. Only for
        this machine.
    started : callable or None, default=None
        Called with the address, and the index or the page for a file, before the first request.

    See Also
    --------
    make_app : The application, for a server of your own.

    Examples
    --------
    >>> from labelspan.web import serve
    >>> serve("papers.labelspan", port=0)  # doctest: +SKIP
    """
    token = "" if token_file is None else read_token(token_file)
    hosts = LOOPBACK | {host.strip("[]").lower()} | {name.lower() for name in allow_hosts}
    origins = [_origin(one) for one in allow_origins]
    given: dict[str, Any] = {"hosts": sorted(hosts), "images": images, "origins": origins}
    opened = partial(Served, folder, who=who)
    start = start and is_loopback(host)
    with _listen(host, port) as listening:
        address = _address(host, listening.getsockname()[1])
        if start and not (Path(folder) / "manifest.json").exists():
            page = StartApp(Path(folder), opened, edit=edit, token=token, **given)
            _serve_here(page, listening, started and partial(started, address, page))
            return
        try:
            served = opened(edit=edit, corpus=corpus)
        except Locked:
            served = opened()
        with served:
            app = make_app(served, token=token, **given)
            _serve_here(app, listening, started and partial(started, address, served))


def _serve_here(
    app: ASGIApp | StartApp, listening: socket.socket, started: Callable[[], Any] | None
) -> None:
    """Serve by this process."""
    server = uvicorn.Server(configure(app))
    # Requests run in parallel threads, so a matrix product uses one. Signals are captured before
    # the address is announced: Ctrl-C while the event loop starts would otherwise leave its
    # coroutine unawaited, with a warning of Python.
    with threadpool_limits(1), server.capture_signals():
        if started is not None:
            started()
        server.run(sockets=[listening])


class _Connection(H11Protocol):
    """A connection that is closed if the headers of a request do not end in time.

    No setting of uvicorn does that: ``timeout_keep_alive`` begins after a first request, and
    ``limit_concurrency`` refuses newcomers instead of those that wait.

    If there are as many connections as may be, a new one takes the place of that which waits
    longest without a request, so that slow clients do not keep others out.
    """

    def __init__(self, *args: Any, header_seconds: float, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._header_seconds = header_seconds
        self._late: asyncio.TimerHandle | None = None
        self._begun = 0.0

    @property
    def _waits(self) -> bool:
        """Whether there is no request: none was begun, or its headers have not ended."""
        return self.conn.their_state is h11.IDLE and not self.transport.is_closing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        others = [one for one in self.connections if isinstance(one, _Connection) and one._waits]
        if len(self.connections) >= MOST_CONNECTIONS - 1 and others:
            min(others, key=lambda one: one._begun).leave()
        super().connection_made(transport)
        self._begun = self.loop.time()
        self._late = self.loop.call_later(self._header_seconds, self.leave)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._waits and self._late is not None:
            self._late.cancel()
            self._late = None
        elif self._waits and self._late is None:
            self._begun = self.loop.time()
            self._late = self.loop.call_later(self._header_seconds, self.leave)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def leave(self) -> None:
        """Close the connection, unless a request is being answered."""
        if self._waits:
            self.connections.discard(self)
            self.transport.close()


def configure(
    app: ASGIApp | StartApp, *, header_seconds: float = _SECONDS_FOR_HEADERS
) -> uvicorn.Config:
    """Return the configuration of uvicorn for an application."""
    return uvicorn.Config(
        app,
        http=partial(_Connection, header_seconds=header_seconds),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=_SECONDS_BETWEEN_REQUESTS,
        h11_max_incomplete_event_size=2 * LONGEST_ADDRESS,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        backlog=_WAITING,
    )


def _origin(given: str) -> str:
    """Return an origin as browsers send it; raise an error if it is none."""
    found = urlsplit(given.strip())
    if not found.scheme or not found.netloc or found.path.strip("/") or found.query:
        raise InvalidParameter(
            f"serve: an origin is a scheme and a host, like https://example.org or "
            f"moz-extension://ID, but {given!r} was given; see --allow-origin."
        )
    return f"{found.scheme}://{found.netloc}".lower()


def is_loopback(host: str) -> bool:
    """Return whether an address can only be reached from this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    try:
        # From now on a browser waits for an answer.
        return socket.create_server((name, port), family=family, backlog=_WAITING)
    except OSError as error:
        reason = str(error.strerror or error).partition(" (")[0]
        raise InvalidParameter(
            f"serve: {name}, port {port}, cannot be listened on: {reason}; "
            "choose another by --port, or --port 0 for one that is free."
        ) from error


def _address(host: str, port: int) -> str:
    name = host.strip("[]")
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"
