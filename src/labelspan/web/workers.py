"""Several processes that serve one index.

The first process opens the sockets, starts the others and waits: for a signal, which ends all of
them, or for one that ended by itself, which is started again. A worker reads from its standard
input, which ends with the process that started it, and writes one line when it is ready and one
when it has drawn the map. The map is drawn by one of them; the others read what it has stored. So
is the audit of labels, in a file without a name that all have open.
"""

from __future__ import annotations

import json
import logging
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any

from ..errors import InvalidParameter, LabelspanError

__all__ = ["DRAW", "DRAWN", "READY", "Workers", "check_workers", "sockets_for"]

_log = logging.getLogger("labelspan.web")

_COMMAND = "from labelspan.web.worker_process import main; main()"
READY, DRAWN, DRAW = "ready", "drawn", "draw"
_SECONDS_TO_END = 15
MOST_WORKERS = 64


def check_workers(workers: Any, *, edit: bool) -> None:
    """Raise an error for a number of processes that cannot serve."""
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise InvalidParameter(
            f"serve: workers must be a whole number from 1 to {MOST_WORKERS}, but {workers!r} was "
            "given."
        )
    if workers > 1 and edit:
        raise InvalidParameter(
            "serve: labels can only be changed by one process; omit --workers, or --edit."
        )
    if workers > 1 and sys.platform == "win32":
        raise InvalidParameter("serve: several workers need Linux or macOS; omit --workers.")


def sockets_for(listening: socket.socket, workers: int) -> list[socket.socket]:
    """Return a listening socket for each worker, at the address of one that is then closed.

    On Linux each has its own, among which the system divides new connections; elsewhere they share
    one.
    """
    if sys.platform != "linux":
        return [listening] * workers
    where, backlog = listening.getsockname(), socket.SOMAXCONN
    # The address was free; from now on only sockets of this user can share it.
    listening.close()
    made: list[socket.socket] = []
    try:
        for _ in range(workers):
            one = socket.socket(listening.family, listening.type)
            made.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind(where)
            one.listen(backlog)
    except OSError:
        for one in made:
            one.close()
        raise
    return made


class Workers:
    """Processes that serve an index, each on one of the sockets, until a signal comes.

    Parameters
    ----------
    sockets : list of sockets
        One for each process.
    options : dict
        What each is told: ``folder``, ``compare_with`` (another index or None), ``hosts`` (allowed
        names in the Host header) and ``most`` (connections of each process).
    """

    def __init__(self, sockets: Sequence[socket.socket], options: dict[str, Any]) -> None:
        self._sockets, self._options = sockets, options
        self._running: dict[int, subprocess.Popen[str]] = {}
        # Here they keep the audit of the labels, which one of them computes.
        self._audit = tempfile.TemporaryFile()  # noqa: SIM115 - closed by run
        # What happened: a number of a worker with what it said, None when it has ended; or a
        # signal. A handler of a signal may put into this kind of queue.
        self._events: queue.SimpleQueue[tuple[int, str | None]] = queue.SimpleQueue()
        self._ready: set[int] = set()
        self._drawn = False

    def run(self, started: Callable[[], Any]) -> None:
        """Start all, call ``started`` when they are ready, and wait for SIGINT or SIGTERM."""
        before = {
            number: signal.signal(number, self._signalled)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            for number in range(len(self._sockets)):
                self._start(number)
            self._follow(started)
        finally:
            self._stop()
            self._audit.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signalled(self, number: int, frame: Any) -> None:
        self._events.put((-1, ""))

    def _follow(self, started: Callable[[], Any]) -> None:
        while True:
            number, said = self._events.get()
            if number < 0:
                return
            if said == READY:
                waiting = len(self._ready) < len(self._sockets)
                self._ready.add(number)
                if self._drawn or number == 0:
                    self._tell_to_draw(number)
                if waiting and len(self._ready) == len(self._sockets):
                    started()
            elif said == DRAWN and not self._drawn:
                self._drawn = True
                for other in self._ready - {number}:
                    self._tell_to_draw(other)
            elif said is None:
                status = self._ended(number)
                if number not in self._ready:
                    raise LabelspanError(
                        f"serve: a worker could not be started (exit status {status})."
                    )
                _log.warning("A worker ended (exit status %s) and is started again.", status)
                self._start(number)

    def _ended(self, number: int) -> int:
        process = self._running.pop(number)
        _close(process)
        return process.wait()

    def _tell_to_draw(self, number: int) -> None:
        process = self._running.get(number)
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                process.stdin.write(f"{DRAW}\n")
                process.stdin.flush()

    def _start(self, number: int) -> None:
        descriptor, audit = self._sockets[number].fileno(), self._audit.fileno()
        options = self._options | {"descriptor": descriptor, "audit": audit}
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[descriptor, audit],
            # Ctrl-C reaches only the first process, which ends the others.
            start_new_session=True,
        )
        self._running[number] = process
        assert process.stdout is not None
        listener = threading.Thread(target=self._listen, args=(number, process.stdout), daemon=True)
        listener.start()

    def _listen(self, number: int, said: IO[str]) -> None:
        with said:
            for line in said:
                self._events.put((number, line.strip()))
        self._events.put((number, None))

    def _stop(self) -> None:
        for number, process in self._running.items():
            if number not in self._ready:
                # It may still be reading the index.
                process.terminate()
            _close(process)
        for process in self._running.values():
            try:
                process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _close(process: subprocess.Popen[str]) -> None:
    """Close the input of a worker, which ends it."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
