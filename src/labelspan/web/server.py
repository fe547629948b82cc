"""Running the explorer with uvicorn, on one socket of this machine."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

import uvicorn
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import InvalidParameter
from .app import make_app
from .asked import LONGEST_ADDRESS
from .guard import LOOPBACK
from .snapshot import Served

__all__ = ["serve"]

_SECONDS_FOR_HEADERS = 10.0
_SECONDS_TO_END = 3
_WAITING = 1024


class Patient(H11Protocol):
    """A connection that waits for the headers of a request only so long."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request, unless it has begun to be answered."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(_SECONDS_FOR_HEADERS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def serve(
    folder: str | PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    allow_hosts: Iterable[str] = (),
    started: Callable[[str, Served], Any] | None = None,
) -> None:
    """Serve the index in a folder until the process is told to stop.

    Parameters
    ----------
    folder : path
        The index.
    host : str, default="127.0.0.1"
        The address to listen on; others than those of this machine reach the network.
    port : int, default=8000
        0 takes one that is free.
    allow_hosts : iterable of str, default=()
        Further names that a Host header may have.
    started : callable or None, default=None
        Told the explorer's address, and the index, before the first request.
    """
    listening = _listen(host, port)
    try:
        served = Served(folder)
    except BaseException:
        listening.close()
        raise
    address = _address(host, listening.getsockname()[1])
    hosts = LOOPBACK | {host.strip("[]").lower()} | {name.lower() for name in allow_hosts}
    config = uvicorn.Config(
        make_app(served, hosts=hosts),
        http=Patient,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=2 * LONGEST_ADDRESS,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        backlog=_WAITING,
    )
    with listening, threadpool_limits(1):
        # Threads answer beside each other; those inside one product would be in their way.
        if started is not None:
            started(address, served)
        uvicorn.Server(config).run(sockets=[listening])


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
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
            # From now on a browser waits rather than being turned away.
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
