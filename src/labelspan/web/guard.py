"""What every request passes first: hosts, sizes, numbers, and headers of every answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .asked import LONGEST_ADDRESS, LONGEST_BODY
from .refusals import Refused, as_refused
from .render import CONTENT_POLICY, policy_line, refused_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LOOPBACK", "Guard", "read_all", "wants_json"]

_log = logging.getLogger("labelspan.web")

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
MOST_AT_ONCE = 256
SECONDS_FOR_A_BODY = 10.0

_HEADERS = {
    "content-security-policy": policy_line(CONTENT_POLICY),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}


class Guard:
    """An application that refuses what should not reach the one inside it.

    Names of hosts other than ``hosts`` are refused: a page elsewhere whose name was made to
    point to this machine must not read what is served here.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], most: int = MOST_AT_ONCE) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._most = most
        self._now = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                _add_headers(message)
            await send(message)

        self._now += 1
        try:
            self._check(scope)
            await self._app(scope, receive, send_on)
        except Exception as error:
            refused = as_refused(error)
            if refused.status == 500:
                _log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            if not started:
                response = refused_response(refused, json_wanted=wants_json(scope))
                await response(scope, receive, send_on)
        finally:
            self._now -= 1

    def _check(self, scope: Scope) -> None:
        if self._now > self._most:
            raise Refused(503, "Too many requests at once; try again.", {"retry-after": "1"})
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) != 1 or _host_name(given[0]) not in self._hosts:
            raise Refused(
                400,
                "This server does not answer to that Host; see --allow-host of `labelspan serve`.",
            )
        length = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if length > LONGEST_ADDRESS:
            raise Refused(414, f"An address may have {LONGEST_ADDRESS:,} bytes, not {length:,}.")
        _check_length(scope)


def _check_length(scope: Scope) -> None:
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value) > LONGEST_BODY):
            raise _too_large()


def _too_large() -> Refused:
    # What follows on this connection would be the rest of the body.
    return Refused(413, f"A body may have {LONGEST_BODY:,} bytes.", {"connection": "close"})


def _host_name(header: bytes) -> str:
    """The name in a Host header, without its port and the brackets of IPv6."""
    text = header.decode("latin-1").strip().lower()
    if text.startswith("["):
        name, closed, port = text[1:].partition("]")
        fine = bool(closed) and (not port or (port[0] == ":" and port[1:].isdigit()))
    else:
        name, colon, port = text.partition(":")
        fine = not colon or port.isdigit()
    return name.removesuffix(".") if fine else ""


def wants_json(scope: Scope) -> bool:
    """Whether a refusal should be JSON: at a twin's address, or where JSON alone is accepted."""
    if scope["path"].endswith(".json"):
        return True
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return b"application/json" in accepted and b"text/html" not in accepted


def _add_headers(message: Message) -> None:
    there = {name for name, _ in message["headers"]}
    message["headers"] = [
        *message["headers"],
        *((n.encode(), v.encode()) for n, v in _HEADERS.items() if n.encode() not in there),
    ]


async def read_all(receive: Callable[[], object], seconds: float = SECONDS_FOR_A_BODY) -> bytes:
    """The body of a request, if it is not too large and not too slow."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message: Message = await receive()  # type: ignore[misc]
                if message["type"] == "http.disconnect":
                    raise Refused(400, "The connection ended before the body did.")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > LONGEST_BODY:
                    raise _too_large()
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Refused(
            408, f"The body did not come within {seconds:g} seconds.", {"connection": "close"}
        ) from None
