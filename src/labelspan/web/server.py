"""Run the explorer with uvicorn on one socket."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from os import PathLike
from typing import Any

import uvicorn
from threadpoolctl import threadpool_limits

from ..errors import InvalidParameter
from .app import make_app
from .connection import MOST_CONNECTIONS, Connection
from .middleware import LOOPBACK, Guard
from .parameters import LONGEST_ADDRESS
from .snapshot import Served
from .workers import Workers, check_workers, sockets_for

__all__ = ["serve"]

_SECONDS_BETWEEN_REQUESTS = 5
_SECONDS_TO_END = 3
_WAITING = 1024
# Two for each connection, because new ones are accepted before old ones are closed.
_MOST_FILES = 4 * MOST_CONNECTIONS


def serve(
    folder: str | PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    allow_hosts: Iterable[str] = (),
    edit: bool = False,
    workers: int = 1,
    compare_with: str | PathLike[str] | None = None,
    started: Callable[[str, Served], Any] | None = None,
) -> None:
    """Serve the index in a folder until the process is stopped.

    Parameters
    ----------
    folder : path
        The index.
    host : str, default="127.0.0.1"
        The address to listen on. Any other than the default can be reached from the network.
    port : int, default=8000
        0 takes a free one.
    allow_hosts : iterable of str, default=()
        Further names that are allowed in the Host header.
    edit : bool, default=False
        Whether labels may be changed, from ``served.editing.address(address)``. The index is
        then opened for writing, so that no other process can write to it.
    workers : int, default=1
        Number of processes that answer, each on one core. They share a memory-mapped index; one
        that ends is started again. Only without ``edit``, and not on Windows.
    compare_with : path or None, default=None
        Another index, for example of the same items by another method, whose results are shown
        next to those of this one.
    started : callable or None, default=None
        Called with the address of the explorer and the index before the first request.

    See Also
    --------
    make_app : The application, for a server of your own.

    Examples
    --------
    >>> from labelspan.web import serve
    >>> serve("papers.labelspan", port=0)  # doctest: +SKIP
    """
    check_workers(workers, edit=edit)
    listening = _listen(host, port)
    try:
        served = Served(folder, edit=edit, mapped=workers > 1, compare_with=compare_with)
    except BaseException:
        listening.close()
        raise
    address = _address(host, listening.getsockname()[1])
    hosts = LOOPBACK | {host.strip("[]").lower()} | {name.lower() for name in allow_hosts}
    if workers > 1:
        options = {
            "folder": str(folder),
            "compare_with": None if compare_with is None else str(compare_with),
            "hosts": sorted(hosts),
            "most": _room(),
        }
        _serve_by(workers, listening, served, options, lambda: started and started(address, served))
        return
    config = configure(make_app(served, hosts=hosts), most=_room())
    server = uvicorn.Server(config)
    # Requests run in parallel threads, so a matrix product uses one. Signals are captured before
    # the address is announced: Ctrl-C while the event loop starts would otherwise leave its
    # coroutine unawaited, with a warning of Python.
    with listening, threadpool_limits(1), server.capture_signals():
        if started is not None:
            started(address, served)
        server.run(sockets=[listening])


def _serve_by(
    count: int,
    listening: socket.socket,
    served: Served,
    options: dict[str, Any],
    started: Callable[[], Any],
) -> None:
    """Serve by several processes; this one only looks after them."""
    sockets: list[socket.socket] = []
    try:
        sockets = sockets_for(listening, count)
        Workers(sockets, options).run(started)
    finally:
        served.close()
        for one in (listening, *sockets):
            one.close()


def configure(app: Guard, *, most: int = MOST_CONNECTIONS) -> uvicorn.Config:
    """Return the configuration of uvicorn, with at most ``most`` connections."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=most,
        timeout_keep_alive=_SECONDS_BETWEEN_REQUESTS,
        h11_max_incomplete_event_size=2 * LONGEST_ADDRESS,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        backlog=_WAITING,
    )


def _room() -> int:
    """Return the limit of connections; raise the limit of open files if it is too small."""
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return MOST_CONNECTIONS
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    wanted = _MOST_FILES if most == resource.RLIM_INFINITY else min(_MOST_FILES, most)
    if now < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            now = wanted
    return min(MOST_CONNECTIONS, max(16, now // 4))


def is_loopback(host: str) -> bool:
    """Return whether an address can only be reached from this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    name = host.strip("[]")
    try:
        family, kind, *_, where = socket.getaddrinfo(
            name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(where)
            # From now on a browser waits for an answer.
            listening.listen(_WAITING)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise InvalidParameter(
            f"serve: {name}, port {port}, cannot be listened on: {error.strerror or error}; "
            "choose another by --port, or --port 0 for one that is free."
        ) from error
    return listening


def _address(host: str, port: int) -> str:
    name = host.strip("[]")
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"
