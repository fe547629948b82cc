"""Who may change something in the explorer.

A secret in the address that ``labelspan serve`` prints becomes a cookie, which scripts cannot read
and other sites cannot send. A request that changes something must also hold a second secret, and
must come from a page of this server.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from .requests import (
    Parameter,
    Refused,
    read_json_body,
    read_pairs,
    read_parameters,
    text_input,
)
from .schema import as_json

__all__ = ["SECRET_HEADER", "Access", "Given"]

Given = dict[str, Any]

SECRET_HEADER = "x-labelspan-secret"
_ENTRANCE = "/enter"
_LOCKED = "For this page, open the address that `labelspan serve` printed, which holds a secret."
_TOKEN = (text_input("token", "The secret that was printed.", None, largest=100),)


class Access:
    """The secrets of a running server."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(32)
        self.form_secret = secrets.token_urlsafe(32)
        # Cookies do not distinguish ports: servers of one machine need different names.
        self._cookie = f"labelspan-{hashlib.sha256(self._token.encode()).hexdigest()[:12]}"

    def address(self, base: str) -> str:
        """Return the address that lets a browser in; ``base`` ends in a slash."""
        return f"{base.rstrip('/')}{_ENTRANCE}?token={self._token}"

    def route(self, then: str) -> Route:
        """Return the entrance, which sets the cookie and leads to a page."""

        async def enter(request: Request) -> Response:
            given = read_parameters(_TOKEN, read_pairs(request.scope["query_string"]))
            if not _same(given["token"], self._token):
                raise Refused(403, _LOCKED)
            response = RedirectResponse(then, 303)
            response.set_cookie(
                self._cookie, self._session, path="/", httponly=True, samesite="strict"
            )
            return response

        return Route(_ENTRANCE, enter)

    def check(self, request: Request) -> None:
        """Refuse a request without the cookie."""
        if not _same(request.cookies.get(self._cookie, ""), self._session):
            raise Refused(403, _LOCKED)

    def check_writing(self, request: Request) -> None:
        """Refuse a request that does not come from a page of this server, or lacks its secret."""
        self.check(request)
        site = request.headers.getlist("sec-fetch-site")
        origins = request.headers.getlist("origin")
        # A browser sends one of them with every form; other programs can send Origin.
        fits = all(one == "same-origin" for one in site) and all(
            _place(one) == request.headers.get("host", "").lower() for one in origins
        )
        if not fits or not (site or origins):
            raise Refused(403, "This can only be asked for by a page of this server.")
        if not _same(request.headers.get(SECRET_HEADER, ""), self.form_secret):
            raise Refused(403, "This form is from an earlier start of the server; load it again.")

    # --- addresses ----------------------------------------------------------------------

    def post(self, path: str, kind: Any, work: Callable[[Given], Any]) -> Route:
        """Return an address that takes a body of a type, and changes something."""

        async def answer(request: Request) -> Response:
            self.check_writing(request)
            given = await read_json_body(request, kind)
            return as_json(await run_in_threadpool(work, given))

        return Route(path, answer, methods=["POST"])

    def get(
        self, path: str, work: Callable[[Given], Response], known: tuple[Parameter, ...] = ()
    ) -> Route:
        """Return an address that only those who may edit can read."""

        async def answer(request: Request) -> Response:
            self.check(request)
            given = read_parameters(known, read_pairs(request.scope["query_string"]))
            response = await run_in_threadpool(work, given)
            response.headers["cache-control"] = "no-store"
            return response

        return Route(path, answer)


def _place(origin: str) -> str:
    """Return host and port of an Origin header; an empty text for ``null``."""
    try:
        return urlsplit(origin).netloc.lower() or "null"
    except ValueError:
        return "null"


def _same(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode())
