"""Checks of every request, and headers of every answer.

Starlette's ``TrustedHostMiddleware`` is not used, because it would accept a second Host header
(it looks at the first), refuse ``localhost.`` with its valid trailing dot, and answer in plain text
instead of a page or JSON that names ``--allow-host``; the Origin header needs the same check.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import InvalidFile, MissingData
from .render import CONTENT_POLICY, policy_line, refused_response
from .requests import (
    LONGEST_ADDRESS,
    LONGEST_BODY,
    LONGEST_JSON,
    LONGEST_UPLOAD,
    Refused,
    as_refused,
    too_large,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LOOPBACK", "Guard"]

_log = logging.getLogger("labelspan.web")

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::[0-9]+)?")
# An answer is sent in parts of this size, each after the client has read the one before.
_SENT_AT_ONCE = 1 << 16

# Where a body may be larger.
_LARGER = dict.fromkeys(("/edit/", "/api/", "/mcp"), LONGEST_JSON)
_LARGER["/start/file"] = LONGEST_UPLOAD

_HEADERS = [
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": policy_line(CONTENT_POLICY),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "cache-control": "no-cache",
    }.items()
]


class Guard:
    """An ASGI application that checks requests before it calls another.

    Host names other than ``hosts`` are refused, as a protection against DNS rebinding. Pages of
    ``origins`` may use the interface for programs, which needs a token.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(one.encode() for one in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            started = True
            await _send(message, send)

        # With this, the router raises an error for what it does not know.
        scope["app"] = self
        try:
            self._check(scope)
            await self._app(scope, receive, send_on)
        except Exception as error:
            refused = as_refused(error)
            if refused.status == 500:
                _log.error("%s %r failed", scope["method"], scope["path"], exc_info=error)
            elif isinstance(error, InvalidFile | MissingData):
                _log.warning("%s", error)
            if not started:
                response = refused_response(refused, json_wanted=wants_json(scope))
                await response(scope, receive, send_on)

    def _check(self, scope: Scope) -> None:
        if scope["http_version"] not in {"1.0", "1.1"}:
            raise Refused(505, "This server supports HTTP 1.0 and 1.1.", {"connection": "close"})
        given = _values(scope, b"host")
        if len(given) != 1 or _host_name(given[0]) not in self._hosts:
            raise Refused(
                400,
                "This server does not answer to that Host; see --allow-host of `labelspan serve`.",
            )
        allowed = self._origins if scope["path"].startswith("/api/") else frozenset()
        origins = [one for one in _values(scope, b"origin") if one not in allowed]
        if not all(_origin_name(one) in self._hosts for one in origins):
            raise Refused(403, "This server does not answer to pages of another origin.")
        length = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if length > LONGEST_ADDRESS:
            most = f"at most {LONGEST_ADDRESS:,} bytes"
            raise Refused(414, f"An address may have {most}, but this one has {length:,}.")
        self._check_length(scope)

    @staticmethod
    def _check_length(scope: Scope) -> None:
        lengths = _values(scope, b"content-length")
        if lengths and _values(scope, b"transfer-encoding"):
            # A proxy may use the other one, and see other requests than this server (smuggling).
            words = "A body has a Content-Length or comes in chunks, not both."
            raise Refused(400, words, {"connection": "close"})
        larger = (size for start, size in _LARGER.items() if scope["path"].startswith(start))
        longest = next(larger, LONGEST_BODY)
        for value in lengths:
            if not value.isdigit() or len(value) > 18 or int(value) > longest:
                raise too_large(longest)


async def _send(message: Message, send: Send) -> None:
    """Send headers with ours, and a body in parts."""
    if message["type"] == "http.response.start":
        own = {name for name, _ in message["headers"]}
        more = [pair for pair in _HEADERS if pair[0] not in own]
        message["headers"] = [*message["headers"], *more]
    body = message.get("body", b"")
    last = max(0, (len(body) - 1) // _SENT_AT_ONCE * _SENT_AT_ONCE)
    for start in range(0, last, _SENT_AT_ONCE):
        part = body[start : start + _SENT_AT_ONCE]
        await send({**message, "body": part, "more_body": True})
    await send({**message, "body": body[last:]} if last else message)


def _values(scope: Scope, header: bytes) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == header]


def _host_name(header: bytes) -> str:
    """Return the name in a Host header, without port and the brackets of IPv6."""
    found = _HOST.fullmatch(header.decode("latin-1").strip().lower())
    return "" if found is None else (found[1] or found[2] or "").removesuffix(".")


def _origin_name(header: bytes) -> str:
    """Return the host in an Origin header, or an empty text for ``null``."""
    scheme, _, rest = header.partition(b"://")
    return _host_name(rest) if scheme.lower() in (b"http", b"https") else ""


def wants_json(scope: Scope) -> bool:
    """Return whether errors are JSON: at a JSON endpoint, or if only JSON is accepted."""
    if scope["path"].endswith((".json", ".jsonl")) or scope["path"].startswith(("/api/", "/mcp")):
        return True
    accepted = b",".join(_values(scope, b"accept"))
    return b"application/json" in accepted and b"text/html" not in accepted
