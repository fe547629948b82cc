"""Requests: the only module that reads, checks and limits input."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException

from ..errors import InvalidFile, LabelspanError, MissingData, Replaced
from .schema import Schema, json_schema

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
    "RefusalData",
    "Refused",
    "as_refused",
    "read_all",
    "read_json_body",
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
# Six that may be repeated 16 times, and the others.
_MOST_FIELDS = 128
SECONDS_FOR_A_BODY = 10.0

Value = str | tuple[str, ...] | int
Pairs = Sequence[tuple[str, str]]


# --- refusals -------------------------------------------------------------------------------

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
        return Refused(400, str(error))
    return Refused(500, "An error occurred in the server; see its output.")


def refusal(refused: Refused) -> RefusalData:
    """Return the content of an error, for JSON and for the page."""
    name = HTTPStatus(refused.status).phrase
    return {"error": {"status": refused.status, "name": name, "message": refused.message}}


def too_large(longest: int) -> Refused:
    """Refuse a body, and what follows on its connection."""
    # What follows on this connection is the rest of the body.
    return Refused(413, f"A body may have at most {longest:,} bytes.", {"connection": "close"})


# --- parameters -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A named input of a page: its kind, its limits, and its description.

    ``largest`` is the maximum number of characters of a text, or of each of several texts, or
    the largest integer; ``most`` is the maximum number of texts; ``pattern`` is a regular
    expression that a text must match.
    """

    name: str
    kind: Literal["text", "texts", "whole"]
    about: str
    default: Value | None = None
    largest: int = LONGEST_NAME
    smallest: int = 0
    most: int = 16
    pattern: str = ""

    @property
    def required(self) -> bool:
        """Return whether a request without it is refused."""
        return self.default is None

    def read(self, given: list[str]) -> Value:
        """Convert and check the values that came under this name."""
        if self.kind == "texts":
            if len(given) > self.most:
                raise Refused(400, f"{self.name}: at most {self.most} can be given at once.")
            return tuple(self._text(one) for one in given)
        if len(given) > 1:
            raise Refused(400, f"{self.name}: give it once, not {len(given)} times.")
        if self.kind == "text":
            return self._text(given[0])
        return self._whole(given[0])

    def _text(self, given: str) -> str:
        if len(given) > self.largest:
            raise Refused(
                400,
                f"{self.name}: at most {self.largest:,} characters can be given, "
                f"but {len(given):,} came.",
            )
        if self.pattern and not re.fullmatch(self.pattern, given, re.ASCII):
            raise Refused(400, f"{self.name}: this is not valid. {self.about}")
        return given

    def _whole(self, given: str) -> int:
        # int() also accepts other digits, signs and underscores.
        plain = given.isascii() and given.isdigit() and len(given) < 10
        if not plain or not self.smallest <= int(given) <= self.largest:
            wanted = f"a whole number from {self.smallest} to {self.largest} is needed."
            raise Refused(400, f"{self.name}: {wanted}")
        return int(given)


def text_input(name: str, about: str, default: str | None = "", **limits: Any) -> Parameter:
    """Return a parameter that is a text."""
    return Parameter(name, "text", about, default, **limits)


def texts_input(name: str, about: str, pattern: str = "") -> Parameter:
    """Return a parameter that may be given several times."""
    return Parameter(name, "texts", about, (), pattern=pattern)


def whole_input(name: str, about: str, default: int, largest: int, smallest: int = 0) -> Parameter:
    """Return a parameter that is a whole number."""
    return Parameter(name, "whole", about, default, largest, smallest)


def read_parameters(known: Sequence[Parameter], pairs: Pairs) -> dict[str, Any]:
    """Return the values of a page's parameters; unknown, missing or too large ones are refused.

    Examples
    --------
    >>> from labelspan.web.requests import Parameter, read_parameters
    >>> known = [Parameter("q", "text", "The text."), Parameter("k", "whole", "Number.", 10)]
    >>> read_parameters(known, [("q", "chess")])
    {'q': 'chess', 'k': 10}
    """
    by_name: Mapping[str, Parameter] = {one.name: one for one in known}
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if name not in by_name:
            names = ", ".join(by_name) or "none"
            raise Refused(400, f"There is no parameter {name[:50]!r} here; there are: {names}.")
        given.setdefault(name, []).append(value)
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


_TYPES: dict[str, Any] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}


async def read_json_body(request: Request, kind: Any) -> dict[str, Any]:
    """Return the body of a request, an object of a type, a TypedDict; anything else is refused."""
    body = await read_all(request.receive, longest=LONGEST_JSON)
    content_type = request.headers.get("content-type", "")
    media, _, rest = content_type.lower().replace(" ", "").replace('"', "").partition(";")
    if media != "application/json" or rest not in ("", "charset=utf-8", "charset=utf8"):
        raise Refused(415, "A body must be application/json in UTF-8.")
    try:
        content = json.loads(body.decode())
    except (ValueError, RecursionError):
        raise Refused(400, "The body cannot be read as JSON in UTF-8.") from None
    _check(content, json_schema(kind), "")
    return dict(content)


def _check(value: Any, schema: Schema, where: str) -> None:
    name = where or "The body"
    if "anyOf" in schema:
        if value is not None:
            _check(value, schema["anyOf"][0], where)
        return
    if "enum" in schema:
        if value not in schema["enum"]:
            choices = ", ".join(map(repr, schema["enum"]))
            raise Refused(400, f"{name}: choose one of {choices}.")
        return
    wanted = schema["type"]
    if not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean"):
        raise Refused(400, f"{name}: this must be of JSON type {wanted}.")
    if wanted == "string":
        _check_text(value, schema, name)
    elif wanted == "array":
        _check_size(len(value), schema.get("maxItems"), name, "entries")
        for number, one in enumerate(value):
            _check(one, schema["items"], f"{where}[{number}]")
    elif "properties" in schema:
        _check_object(value, schema, where)
    else:
        least, most = schema.get("minimum", value), schema.get("maximum", value)
        if wanted != "object" and not least <= value <= most:
            raise Refused(400, f"{name}: this must be a number from {least} to {most}.")


def _check_object(value: dict[str, Any], schema: Schema, where: str) -> None:
    name, known = where or "The body", schema["properties"]
    for key in value.keys() - known.keys():
        raise Refused(400, f"{name}: there is no {key!r:.50} here; there are: {', '.join(known)}.")
    for key in schema["required"]:
        if key not in value:
            raise Refused(400, f"{name}: {key!r} is missing.")
    for key, one in value.items():
        _check(one, known[key], f"{where}.{key}".lstrip("."))


def _check_text(value: str, schema: Schema, name: str) -> None:
    _check_size(len(value), schema.get("maxLength"), name, "characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Refused(400, f"{name}: unpaired surrogates are not valid text.") from None


def _check_size(size: int, most: int | None, name: str, what: str) -> None:
    if most is not None and size > most:
        raise Refused(400, f"{name}: at most {most:,} {what} can be given, but {size:,} came.")
