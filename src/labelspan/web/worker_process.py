"""A process that serves an index for the one that started it."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO

import uvicorn
from threadpoolctl import threadpool_limits

from .app import make_app
from .server import configure
from .shared_audit import SharedAudit
from .snapshot import Served
from .workers import DRAW, DRAWN, READY

__all__ = ["main"]


def main() -> None:
    """Serve as a worker, as the first argument of the command says."""
    options = json.loads(sys.argv[1])
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    # Standard output is for the process that started this one.
    said = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    served = Served(
        options["folder"],
        mapped=True,
        compare_with=options["compare_with"],
        shared_audit=SharedAudit(options["audit"]),
    )
    served.may_draw.clear()
    listening = socket.socket(fileno=options["descriptor"])
    server = _Worker(
        configure(make_app(served, hosts=options["hosts"]), most=options["most"]),
        _saying(said, READY),
    )
    served.drawn = _saying(said, DRAWN)

    def obey() -> None:
        for line in sys.stdin:
            if line.strip() == DRAW:
                served.may_draw.set()
        server.should_exit = True
        # What waits for leave to draw must end as well.
        served.may_draw.set()

    threading.Thread(target=obey, name="obey", daemon=True).start()
    with listening, threadpool_limits(1):
        server.run(sockets=[listening])


def _saying(where: IO[str], what: str) -> Callable[[], None]:
    """Return a function that writes a line, if somebody still reads it."""

    def say() -> None:
        with suppress(OSError):
            where.write(f"{what}\n")
            where.flush()

    return say


class _Worker(uvicorn.Server):
    """A server that tells when it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as usual, then tell."""
        await super().startup(sockets)
        if self.started:
            self._tell()
