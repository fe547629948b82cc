"""Answers as JSON, and JSON Schema derived from their types, which are their only description."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

__all__ = ["Characters", "Count", "Entries", "Schema", "Unit", "json_schema", "json_text"]

Schema: TypeAlias = dict[str, Any]


class Bounds(NamedTuple):
    """The range of a number."""

    minimum: int
    maximum: int | None = None


class Characters(NamedTuple):
    """The maximum number of characters of a text."""

    maxLength: int  # noqa: N815 - as JSON Schema calls it


class Entries(NamedTuple):
    """The maximum number of entries of a list."""

    maxItems: int  # noqa: N815 - as JSON Schema calls it


Count = Annotated[int, Bounds(0)]
Unit = Annotated[float, Bounds(0, 1)]

_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number"}


def json_schema(kind: Any, components: dict[str, Schema] | None = None) -> Schema:
    """Return the JSON Schema of a type.

    It is ``str``, ``bool``, ``int``, ``float``, a ``TypedDict``, a dataclass with its properties, a
    ``Literal``, or a list, a dict with str keys or an optional value of these. In ``Annotated``, a
    str is the description and ``Bounds`` are the range. ``components`` receives the schemas of
    nested types, which are then referred to by name.

    Examples
    --------
    >>> from typing import Annotated
    >>> from labelspan.web.schema import Count, json_schema
    >>> json_schema(Annotated[Count, "number of items"])
    {'type': 'integer', 'minimum': 0, 'description': 'number of items'}
    """
    if is_dataclass(kind) or is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        for name in _computed_fields(kind) if is_dataclass(kind) else ():
            hints[name] = get_type_hints(vars(kind)[name].fget)["return"]
        return {
            "type": "object",
            "properties": {name: _nested(one, components) for name, one in hints.items()},
            "required": [name for name, one in hints.items() if get_origin(one) is not NotRequired],
            "additionalProperties": False,
        }
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is NotRequired:
        return json_schema(arguments[0], components)
    if origin is Annotated:
        schema = _nested(arguments[0], components)
        for extra in arguments[1:]:
            found = {"description": extra} if isinstance(extra, str) else extra._asdict()
            schema |= {name: value for name, value in found.items() if value is not None}
        return schema
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple):
        return {"type": "array", "items": _nested(arguments[0], components)}
    if origin is dict and arguments == (str, Any):
        return {"type": "object"}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": _nested(arguments[1], components)}
    if origin in (Union, UnionType) and len(arguments) == 2 and arguments[1] is NoneType:
        return {"anyOf": [_nested(arguments[0], components), {"type": "null"}]}
    raise TypeError(f"json_schema: {kind!r} has no JSON Schema here; use the types listed above.")


def _computed_fields(kind: Any) -> list[str]:
    """Return the names of the properties of a dataclass, which JSON shows as well."""
    return [name for name, value in vars(kind).items() if isinstance(value, property)]


def _nested(kind: Any, components: dict[str, Schema] | None) -> Schema:
    if components is None or not (is_typeddict(kind) or is_dataclass(kind)):
        return json_schema(kind, components)
    name = kind.__name__.removesuffix("Data")
    components[name] = json_schema(kind, components)
    return {"$ref": f"#/components/schemas/{name}"}


def json_text(content: Mapping[str, Any]) -> str:
    """Return JSON; numbers that it lacks, such as infinity, become null."""
    try:
        return _dumped(content)
    except ValueError:
        return _dumped(_finite(content))


def _as_dict(result: Any) -> dict[str, Any]:
    """Return a result of the index with its properties; its numbers have four digits."""
    names = [*(field.name for field in fields(result)), *_computed_fields(type(result))]
    values = {name: getattr(result, name) for name in names}
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}


_dumped = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, default=_as_dict
).encode


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
