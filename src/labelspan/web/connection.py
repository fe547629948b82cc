"""HTTP connections: timeouts, a limit on their number, and answers to malformed requests.

Why this subclasses uvicorn's ``H11Protocol``: ``uvicorn.Config`` documents that ``http`` may be
a protocol class, and nothing else that is public can do what is needed here. Middleware runs only
after all headers of a request have come, so it sees neither a client that sends its headers byte
by byte, nor one that does not read its answer, nor a body in very small chunks, nor bytes that
are not HTTP. ``limit_concurrency`` refuses new clients while idle ones keep their place. The
methods of ``asyncio.Protocol``, ``on_response_complete`` and ``send_400_response`` are extended;
one private method is overridden, ``_unsupported_upgrade_warning``, which only logs. A test
lists every name of uvicorn and h11 that this module relies on, and fails when one of them changes.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from itertools import count
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .http_errors import Refused
from .middleware import refusing, with_headers
from .parameters import MOST_CHUNKS
from .render import refused_response

__all__ = [
    "MOST_CONNECTIONS",
    "SECONDS_FOR_HEADERS",
    "SECONDS_TO_TAKE",
    "Connection",
]

MOST_CONNECTIONS = 1024
SECONDS_FOR_HEADERS = 10.0
# Numbers tell which connection has waited longest; clocks of some event loops have equal times.
_TURNS = count(1)
SECONDS_TO_TAKE = 20.0  # for each part of an answer


class _Parser(h11.Connection):
    """A parser of requests that stops at a body in too many chunks."""

    too_many_chunks = False
    _chunks = 0

    def next_event(self) -> Any:
        """Return the next event; raise an error after ``MOST_CHUNKS`` chunks of one body."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = 0
        elif isinstance(event, h11.Data) and event.chunk_start:
            self._chunks += 1
            if self._chunks > MOST_CHUNKS:
                self.too_many_chunks = True
                raise h11.RemoteProtocolError(f"more than {MOST_CHUNKS} chunks")
        return event


class Connection(H11Protocol):
    """A connection that is closed when its client stops sending requests or reading answers.

    When there are more connections than uvicorn's ``limit_concurrency``, the one whose client
    has kept the server waiting the longest is closed to make room. If all of them are being
    answered, the new connection gets a 503 response.
    """

    _asking: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _since = 0
    _half_closed = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        size = self.config.h11_max_incomplete_event_size
        assert size is not None  # configure() sets it
        self.conn: h11.Connection = _Parser(h11.SERVER, size)
        # uvicorn's own limit would refuse new clients while idle ones keep their connections.
        self._most, self.limit_concurrency = self.limit_concurrency, None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first request, and make room for the connection."""
        super().connection_made(transport)
        self._since = next(_TURNS)
        self._wait_to_be_asked()
        if self._most is not None and len(self.connections) > self._most:
            self._make_room(self._most)

    def data_received(self, data: bytes) -> None:
        """Restart the timeout for headers, unless the request is being answered."""
        super().data_received(data)
        self._wait_to_be_asked()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Keep the connection open while a complete request is being answered.

        A client may close its sending side after its last request and still read the answer.
        """
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            return None  # asyncio closes the connection
        self._half_closed = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timeouts."""
        super().connection_lost(exc)
        self._stop_waiting_to_be_asked()
        self._stop_waiting_to_be_taken()

    def pause_writing(self) -> None:
        """Start the timeout for reading, because the write buffer is full."""
        super().pause_writing()
        self._wait_to_be_taken()

    def resume_writing(self) -> None:
        """Stop the timeout for reading, because the client has read most of the buffer."""
        super().resume_writing()
        self._stop_waiting_to_be_taken()

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the client to read this answer."""
        self._since = next(_TURNS)
        super().on_response_complete()
        if self._half_closed and self.cycle.response_complete:
            self.transport.close()
        self._wait_to_be_taken()

    # --- timeout for requests -------------------------------------------------------------

    def _wait_to_be_asked(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting_to_be_asked()
        elif self._asking is None and not self.transport.is_closing():
            self._asking = self.loop.call_later(SECONDS_FOR_HEADERS, self._give_up)

    def _stop_waiting_to_be_asked(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def _give_up(self) -> None:
        self._asking = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    # --- timeout for reading answers--------------------------------------------------------

    def _wait_to_be_taken(self) -> None:
        size = self.transport.get_write_buffer_size()
        if size and self._taking is None:
            now = (self.cycle, size)
            self._taking = self.loop.call_later(SECONDS_TO_TAKE, self._look_what_is_left, now)

    def _stop_waiting_to_be_taken(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _look_what_is_left(self, before: tuple[Any, int]) -> None:
        self._taking = None
        cycle, size = before
        if cycle is self.cycle and self.transport.get_write_buffer_size() >= size:
            # close() would wait until the client has read the rest.
            self.transport.abort()
        else:
            self._wait_to_be_taken()

    # --- room ---------------------------------------------------------------------------

    @property
    def _waits(self) -> bool:
        """Whether the server waits for the client: for a request, a body, or room to write."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def _make_room(self, most: int) -> None:
        others = [
            one
            for one in self.connections
            if isinstance(one, Connection) and one is not self and not one.transport.is_closing()
        ]
        if len(others) < most:
            return
        waiting = [one for one in others if one._waits]
        if waiting:
            min(waiting, key=lambda one: one._since).transport.abort()
        else:
            headers = {"retry-after": "1", "connection": "close"}
            self.app = refusing(Refused(503, "Too many connections at once; try again.", headers))

    # --- malformed requests --------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Send an error for a request that cannot be parsed, unless an answer has begun; close."""
        if self.cycle is not None:
            # Tell the application that no one reads its answer any more.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            error = Refused(400, "This is not a valid HTTP request.")
            if isinstance(self.conn, _Parser) and self.conn.too_many_chunks:
                error = Refused(413, f"A body may have at most {MOST_CHUNKS:,} chunks.")
            response = refused_response(error, json_wanted=True)
            headers = [*with_headers(response.raw_headers), (b"connection", b"close")]
            reason = HTTPStatus(error.status).phrase.encode()
            start = h11.Response(status_code=error.status, headers=headers, reason=reason)
            for event in (start, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._wait_to_be_taken()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: connections are never upgraded."""
