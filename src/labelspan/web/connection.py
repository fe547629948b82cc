"""A connection: how long it may dawdle, how many there may be, and what is no HTTP at all."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .http_errors import Refused
from .middleware import refusing, with_headers
from .render import refused_response

__all__ = ["MOST_CONNECTIONS", "SECONDS_FOR_HEADERS", "SECONDS_TO_TAKE", "Connection"]

MOST_CONNECTIONS = 1024
SECONDS_FOR_HEADERS = 10.0
SECONDS_TO_TAKE = 20.0  # for each part of an answer


class Connection(H11Protocol):
    """A connection that is left when its client neither asks, nor sends, nor takes.

    Beyond uvicorn's ``limit_concurrency``, the connection whose client has been waited for
    the longest makes room for a new one; where all are being answered, the new one is told.
    """

    _asking: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _since = 0.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # uvicorn would refuse in other words than ours, and let the idle crowd out the others.
        self._most, self.limit_concurrency = self.limit_concurrency, None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, if there is room."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._wait_to_be_asked()
        if self._most is not None and len(self.connections) > self._most:
            self._make_room(self._most)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request, unless it has begun to be answered."""
        super().data_received(data)
        self._wait_to_be_asked()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._stop_waiting_to_be_asked()
        self._stop_waiting_to_be_taken()

    def pause_writing(self) -> None:
        """Wait for the client to take what was sent."""
        super().pause_writing()
        self._wait_to_be_taken()

    def resume_writing(self) -> None:
        """Go on: it has taken most of it."""
        super().resume_writing()
        self._stop_waiting_to_be_taken()

    def on_response_complete(self) -> None:
        """Wait for the next request, and for this answer to be taken."""
        self._since = self.loop.time()
        super().on_response_complete()
        self._wait_to_be_taken()

    # --- waiting to be asked ------------------------------------------------------------

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

    # --- waiting to be taken ------------------------------------------------------------

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
            # To close would be to wait until the rest is taken.
            self.transport.abort()
        else:
            self._wait_to_be_taken()

    # --- room ---------------------------------------------------------------------------

    @property
    def _waits(self) -> bool:
        """Whether it is the client's turn: to ask, to send a body, or to take an answer."""
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

    # --- what is no HTTP ----------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, unless an answer has begun, and close."""
        if self.cycle is not None:
            # Whoever answers finds that nobody listens.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            words = "This is no HTTP request that can be read."
            response = refused_response(Refused(400, words), json_wanted=True)
            headers = [*with_headers(response.raw_headers), (b"connection", b"close")]
            start = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (start, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._wait_to_be_taken()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing is upgraded here, and nobody need be told what to install for it."""
