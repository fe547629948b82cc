"""Bodies of requests in JSON, checked by the schema of their type, which OpenAPI shows as well."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from .http_errors import Refused
from .middleware import read_all
from .parameters import LONGEST_JSON
from .schema import Schema, json_schema

__all__ = ["read_json_body"]

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
