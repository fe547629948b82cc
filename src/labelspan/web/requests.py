"""Requests: the only module that reads, checks and limits input."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import parse_qsl

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError
from starlette.exceptions import HTTPException
from typing_extensions import TypedDict

from ..errors import (
    InvalidFile,
    LabelspanError,
    MissingData,
    NewLabels,
    NotFound,
    NotReady,
    Replaced,
)
from .schema import MaxLen, adapter

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Message

__all__ = [
    "LONGEST_ADDRESS",
    "LONGEST_BODY",
    "LONGEST_JSON",
    "LONGEST_NAME",
    "LONGEST_QUERY",
    "LONGEST_TEXT",
    "LONGEST_UPLOAD",
    "Parameter",
    "ProblemData",
    "Refused",
    "as_refused",
    "read_all",
    "read_arguments",
    "read_json_body",
    "read_object",
    "read_pairs",
    "read_parameters",
    "read_parts",
    "refusal",
    "text_input",
    "texts_input",
    "too_large",
    "whole_input",
]

LONGEST_QUERY = 1000  # characters of a search
LONGEST_NAME = 4000  # characters of an id or a label
# Bytes of path and query string: enough for a name and a search in any script, because a
# percent-encoded character has at most 12 bytes.
LONGEST_ADDRESS = 60 << 10
LONGEST_BODY = 1 << 18  # bytes
LONGEST_JSON = 1 << 23  # bytes of a body that changes items
LONGEST_UPLOAD = 1 << 30  # bytes of a file that is to be indexed
LONGEST_TEXT = 50_000  # characters of a text to tag
_MOST_TEXTS = 16
# Six that may be repeated 16 times, and the others.
_MOST_FIELDS = 128
SECONDS_FOR_A_BODY = 10.0

Value = str | tuple[str, ...] | int
Pairs = Sequence[tuple[str, str]]


# --- refusals -------------------------------------------------------------------------------

# The status of our own errors; of others it is 400.
_STATUS: dict[type[LabelspanError], int] = {NewLabels: 409, NotFound: 404, NotReady: 503}
# What the router says.
_ROUTED = {404: "There is no such page.", 405: "This address does not support that method."}


class Refused(Exception):
    """A request that is refused: the HTTP status, the reason, and further headers."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


class ProblemData(TypedDict):
    """What was wrong, as RFC 9457 describes it."""

    type: Literal["about:blank"]
    title: Annotated[str, "name of the status"]
    status: Annotated[int, Field(ge=400, le=599), "of HTTP"]
    detail: Annotated[str, "what was wrong, and what to do"]


def as_refused(error: Exception) -> Refused:
    """Convert an error to a message for clients: our own messages, but none of other packages."""
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
        known = (status for kind, status in _STATUS.items() if isinstance(error, kind))
        more = {"retry-after": "2"} if isinstance(error, NotReady) else {}
        return Refused(next(known, 400), str(error), more)
    return Refused(500, "An error occurred in the server; see its output.")


def refusal(refused: Refused) -> ProblemData:
    """Return the content of an error, for JSON and for the page."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(refused.status).phrase,
        "status": refused.status,
        "detail": refused.message,
    }


def too_large(longest: int) -> Refused:
    """Refuse a body, and what follows on its connection."""
    # What follows on this connection is the rest of the body.
    return Refused(413, f"A body may have at most {longest:,} bytes.", {"connection": "close"})


# --- parameters -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A named input of a page: the type that checks and describes it, and what it means.

    Without a default, a request that lacks it is refused; with an empty tuple, it may come several
    times.
    """

    name: str
    type: Any
    about: str
    default: Value | None = None
    in_path: bool = False

    @property
    def required(self) -> bool:
        """Return whether a request without it is refused."""
        return self.default is None

    @property
    def several(self) -> bool:
        """Return whether it may come several times."""
        return isinstance(self.default, tuple)

    def read(self, given: Any) -> Any:
        """Convert and check a value, or several."""
        try:
            return adapter(self.type).validate_python(given)
        except ValidationError as error:
            reason = error.errors(include_url=False, include_context=False)[0]["msg"]
            raise Refused(400, f"{self.name}: {reason:.200}. {self.about}") from None


def _whole(given: Any) -> Any:
    # int() also accepts other digits, signs and underscores.
    if not isinstance(given, str):
        return given
    digits = given.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise PydanticCustomError("whole", "Input should be a whole number")
    return int(given)


def text_input(
    name: str,
    about: str,
    default: str | None = "",
    *,
    largest: int = LONGEST_NAME,
    pattern: str | None = None,
) -> Parameter:
    """Return a text parameter with a maximum length, which may have to match a pattern."""
    return Parameter(name, _text(largest, pattern), about, default)


def texts_input(name: str, about: str, pattern: str | None = None) -> Parameter:
    """Return a parameter that may be given several times."""
    kind: Any = tuple[_text(LONGEST_NAME, pattern), ...]  # type: ignore[misc]
    return Parameter(name, Annotated[kind, MaxLen(_MOST_TEXTS)], about, ())


def whole_input(name: str, about: str, default: int, largest: int, smallest: int = 0) -> Parameter:
    """Return a parameter that is a whole number."""
    kind = Annotated[int, Field(ge=smallest, le=largest), BeforeValidator(_whole)]
    return Parameter(name, kind, about, default)


def _text(largest: int, pattern: str | None) -> Any:
    wanted = None if pattern is None else f"^(?:{pattern})$"
    return Annotated[str, Field(max_length=largest, pattern=wanted)]


def read_parameters(known: Sequence[Parameter], pairs: Pairs) -> dict[str, Any]:
    """Return the values of a page's parameters; unknown, missing or too large ones are refused.

    Examples
    --------
    >>> from labelspan.web.requests import read_parameters, text_input, whole_input
    >>> known = [text_input("q", "The text."), whole_input("k", "Number.", 10, 100)]
    >>> read_parameters(known, [("q", "chess")])
    {'q': 'chess', 'k': 10}
    """
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    by_name = {one.name: one for one in known}
    for name, values in given.items():
        if len(values) > 1 and name in by_name and not by_name[name].several:
            raise Refused(400, f"{name}: give it once, not {len(values)} times.")
    single = {
        name: values if name in by_name and by_name[name].several else values[0]
        for name, values in given.items()
    }
    return read_arguments(known, single)


def read_arguments(known: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of parameters by name; unknown, missing or wrong ones are refused."""
    by_name = {one.name: one for one in known}
    for name in given:
        if name not in by_name:
            names = ", ".join(by_name) or "none"
            raise Refused(400, f"There is no parameter {name[:50]!r} here; there are: {names}.")
    values: dict[str, Any] = {}
    for name, parameter in by_name.items():
        if name in given:
            values[name] = parameter.read(given[name])
        elif parameter.default is None:
            raise Refused(400, f"{name}: it is missing. {parameter.about}")
        else:
            values[name] = parameter.default
    return values


def read_pairs(data: bytes, what: str = "The address") -> Pairs:
    """Return the pairs in the query string of an address, or in a form."""
    try:
        return parse_qsl(
            data.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except UnicodeDecodeError:
        raise Refused(400, f"{what} must be percent-encoded UTF-8.") from None
    except ValueError:
        raise Refused(400, f"{what} has more than {_MOST_FIELDS} fields.") from None


# --- bodies ---------------------------------------------------------------------------------


async def read_all(
    receive: Callable[[], object],
    seconds: float = SECONDS_FOR_A_BODY,
    longest: int = LONGEST_BODY,
) -> bytes:
    """Read the body of a request, unless it is too large or too slow."""
    try:
        async with asyncio.timeout(seconds):
            return b"".join([part async for part in read_parts(receive, seconds, longest)])
    except TimeoutError:
        raise _too_slow(seconds) from None


async def read_parts(
    receive: Callable[[], object], seconds: float = SECONDS_FOR_A_BODY, longest: int = LONGEST_BODY
) -> AsyncIterator[bytes]:
    """Yield the parts of a body, unless it is too large; each must come in time."""
    size, more = 0, True
    while more:
        try:
            async with asyncio.timeout(seconds):
                message: Message = await receive()  # type: ignore[misc]
        except TimeoutError:
            raise _too_slow(seconds) from None
        if message["type"] == "http.disconnect":
            raise Refused(400, "The connection ended before the body did.")
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > longest:
            raise too_large(longest)
        yield part


def _too_slow(seconds: float) -> Refused:
    words = f"The body did not come within {seconds:g} seconds."
    return Refused(408, words, {"connection": "close"})


async def read_json_body(request: Request, kind: Any) -> dict[str, Any]:
    """Return the body of a request, an object of a type, a ``Body``; anything else is refused."""
    body = await read_all(request.receive, longest=LONGEST_JSON)
    content_type = request.headers.get("content-type", "")
    media, _, rest = content_type.lower().replace(" ", "").replace('"', "").partition(";")
    if media != "application/json" or rest not in ("", "charset=utf-8", "charset=utf8"):
        raise Refused(415, "A body must be application/json in UTF-8.")
    return read_object(body, kind)


def read_object(given: Any, kind: Any) -> dict[str, Any]:
    """Return an object of a type, a ``Body``, from JSON or a dict; anything else is refused."""
    try:
        check = adapter(kind)
        read = check.validate_json if isinstance(given, bytes) else check.validate_python
        return dict(read(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = "".join(
            f"[{part}]" if isinstance(part, int) else f".{part:.50}" for part in first["loc"]
        )
        raise Refused(400, f"{where.lstrip('.') or 'The body'}: {first['msg']:.200}.") from None
