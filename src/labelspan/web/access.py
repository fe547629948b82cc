"""Who may ask for what: people who edit, and programs with a token.

A secret in the address that ``labelspan serve`` prints becomes a cookie, which scripts cannot read
and other sites cannot send. A request that changes something must also hold a second secret, and
must come from a page of this server.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..errors import InvalidFile, MissingData
from .requests import Refused, read_pairs, read_parameters, text_input

__all__ = ["SECRET_HEADER", "Access", "Token", "read_token"]

SECRET_HEADER = "x-labelspan-secret"
_ENTRANCE = "/enter"
_LOCKED = "For this page, open the address that `labelspan serve` printed, which holds a secret."
_SHORTEST_TOKEN = 16
_LONGEST_TOKEN_FILE = 10_000
_TOKEN = (text_input("token", "The secret that was printed.", None, largest=100),)


class Access:
    """The secrets of a running server."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(32)
        self.form_secret = secrets.token_urlsafe(32)
        # Cookies do not distinguish ports: servers of one machine need different names.
        self.cookie = f"labelspan-{hashlib.sha256(self._token.encode()).hexdigest()[:12]}"

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
                self.cookie, self._session, path="/", httponly=True, samesite="strict"
            )
            return response

        return Route(_ENTRANCE, enter)

    def entered(self, request: Request) -> bool:
        """Return whether a request has the cookie."""
        return _same(request.cookies.get(self.cookie, ""), self._session)

    def check(self, request: Request) -> None:
        """Refuse a request without the cookie."""
        if not self.entered(request):
            raise Refused(403, _LOCKED)

    def check_writing(self, request: Request) -> None:
        """Refuse a request that does not come from a page of this server, or lacks its secret."""
        self.check(request)
        site = request.headers.getlist("sec-fetch-site")
        origins = request.headers.getlist("origin")
        # A browser sends one of them with every form; other programs can send Origin. The scheme is
        # compared by the browser where it sends both, so that a proxy may speak https for us.
        own = {f"{one}://{request.headers.get('host', '')}".lower() for one in _schemes(request)}
        fits = all(one == "same-origin" for one in site) and all(
            one.lower() in own for one in origins
        )
        if not fits or not (site or origins):
            raise Refused(403, "This can only be asked for by a page of this server.")
        if not _same(request.headers.get(SECRET_HEADER, ""), self.form_secret):
            raise Refused(403, "This form is from an earlier start of the server; load it again.")


class Token:
    """What other programs must send; an empty one lets nobody in."""

    def __init__(self, token: str) -> None:
        self._token = token

    def check(self, request: Request) -> None:
        """Refuse a request without the token."""
        if not self._token:
            raise Refused(403, "Start `labelspan serve` with --token-file to let programs in.")
        given = request.headers.getlist("authorization")
        scheme, _, sent = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if scheme.lower() != "bearer" or not _same(sent.strip(), self._token):
            raise Refused(
                401,
                "Send the token of this server: `Authorization: Bearer TOKEN`.",
                {"www-authenticate": "Bearer"},
            )


def read_token(path: str | os.PathLike[str]) -> str:
    """Read the token that programs must send from a file."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LONGEST_TOKEN_FILE + 1)
    except FileNotFoundError:
        raise MissingData(f"There is no file {str(path)!r}; give --token-file a file.") from None
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}.") from error
    token = content.decode("ascii", "replace").strip()
    fits = _SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN_FILE
    if not fits or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidFile(
            f"{path} must hold one token of {_SHORTEST_TOKEN} ASCII characters or more without "
            "spaces, for example from: openssl rand -hex 24."
        )
    return token


def _schemes(request: Request) -> tuple[str, ...]:
    """Return what the address of the page may begin with."""
    return ("http", "https") if "sec-fetch-site" in request.headers else (request.url.scheme,)


def _same(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode())
