"""Errors that are sent to a client: a status and a sentence, as a page or as JSON."""

from __future__ import annotations

from http import HTTPStatus
from typing import TypedDict

from starlette.exceptions import HTTPException

from ..errors import InvalidFile, LabelspanError, MissingData, Replaced

__all__ = ["ErrorData", "RefusalData", "Refused", "as_refused", "refusal"]


# What the router says.
_ROUTED = {404: "There is no such page.", 405: "This address does not support that method."}


class Refused(Exception):
    """A request that is refused: the HTTP status, the reason, and further headers."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


class ErrorData(TypedDict):
    """Status, name of the status, and a sentence."""

    status: int
    name: str
    message: str


class RefusalData(TypedDict):
    """The JSON of every error."""

    error: ErrorData


def as_refused(error: Exception) -> Refused:
    """Convert an error to what a client may know: our messages, but none of other packages."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, HTTPException):
        words = _ROUTED.get(error.status_code, error.detail)
        allowed = {"allow": "GET, HEAD"} if error.status_code == 405 else {}
        return Refused(error.status_code, words, {**allowed, **(error.headers or {})})
    if isinstance(error, Replaced):
        return Refused(
            409,
            "The index was replaced since this server opened it; nothing was changed. Start "
            "`labelspan serve` again.",
        )
    if isinstance(error, InvalidFile | MissingData):
        # Their messages name files of this machine.
        return Refused(503, "The index cannot be read now; see the output of the server.")
    if isinstance(error, LabelspanError):
        return Refused(400, str(error))
    return Refused(500, "An error occurred in the server; see its output.")


def refusal(refused: Refused) -> RefusalData:
    """Return the content of an error, for JSON and for the page."""
    name = HTTPStatus(refused.status).phrase
    return {"error": {"status": refused.status, "name": name, "message": refused.message}}
