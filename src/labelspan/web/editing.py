"""Who may change labels in the explorer, and the review that they change them by.

Only ``labelspan serve --edit`` makes one of these; without it the explorer has no address that
writes. A secret in the address that the command prints becomes a cookie, which scripts cannot
read and other sites cannot send. A form must also hold a second secret, and its request must come
from a page of this server.
"""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..curation import Review
from ..errors import Mismatch
from ..index import SemanticIndex
from .requests import Refused

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["ENTRANCE", "SECRET_HEADER", "Editing"]

ENTRANCE = "/review/enter"
SECRET_HEADER = "x-labelspan-secret"
_LOCKED = (
    "This page changes labels: open the address that `labelspan serve --edit` printed, which "
    "holds a secret."
)


class Editing:
    """The review of an index that is served for editing, and the secrets that protect it."""

    def __init__(self, index: SemanticIndex, who: str = "", corpus: Path | None = None) -> None:
        if not index.can_tag:
            raise Mismatch("edit: this index was fitted without labels.")
        self.review = Review(index)
        self.who = who
        self.corpus = corpus
        self._token = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(32)
        self.form_secret = secrets.token_urlsafe(32)
        # Cookies do not distinguish ports: servers of one machine need different names.
        self.cookie = f"labelspan-{hashlib.sha256(self._token.encode()).hexdigest()[:12]}"

    def address(self, base: str) -> str:
        """Return the address that lets a browser in; ``base`` ends in a slash."""
        return f"{base.rstrip('/')}{ENTRANCE}?token={self._token}"

    # --- who may ----------------------------------------------------------------------

    def admit(self, token: str) -> str:
        """Return the value of the cookie for whoever knows the token."""
        if not _same(token, self._token):
            raise Refused(403, _LOCKED)
        return self._session

    def check(self, request: Request) -> None:
        """Refuse a request without the cookie."""
        if not _same(request.cookies.get(self.cookie, ""), self._session):
            raise Refused(403, _LOCKED)

    def check_writing(self, request: Request) -> None:
        """Refuse a request that does not come from a page of this server."""
        self.check(request)
        site = request.headers.getlist("sec-fetch-site")
        origins = request.headers.getlist("origin")
        # A browser sends one of them with every form; other programs can send Origin.
        fits = all(one == "same-origin" for one in site) and all(
            _place(one) == request.headers.get("host", "").lower() for one in origins
        )
        if not fits or not (site or origins):
            raise Refused(403, "Labels can only be changed from a page of this server.")

    def check_form(self, given: str) -> None:
        """Refuse a form that does not hold its secret."""
        if not _same(given, self.form_secret):
            raise Refused(403, "This form is from an earlier start of the server; load it again.")


def _place(origin: str) -> str:
    """Return host and port of an Origin header; an empty text for ``null``."""
    try:
        return urlsplit(origin).netloc.lower() or "null"
    except ValueError:
        return "null"


def _same(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode())
