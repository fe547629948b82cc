"""How a request is refused: a status and a sentence, as a page or as JSON."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from ..errors import InvalidFile, LabelspanError, MissingData

__all__ = ["Refused", "as_refused", "refusal"]


class Refused(Exception):
    """A request that gets no answer: the HTTP status, why, and further headers."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


def as_refused(error: Exception) -> Refused:
    """What a client may know of an error: all of ours, nothing of the others."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, InvalidFile | MissingData):
        # Their sentences name files of this machine.
        return Refused(503, "The index cannot be read now; see what the server printed.")
    if isinstance(error, LabelspanError):
        return Refused(400, str(error))
    return Refused(500, "The server failed at this; see what it printed.")


def refusal(refused: Refused) -> dict[str, Any]:
    """A refusal as JSON, and as what its page shows."""
    try:
        name = HTTPStatus(refused.status).phrase
    except ValueError:
        name = "Error"
    return {"error": {"status": refused.status, "name": name, "message": refused.message}}
