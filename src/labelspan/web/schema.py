"""Types of requests and answers, which pydantic checks and describes, and answers as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

from annotated_types import MaxLen
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, with_config
from pydantic.json_schema import GenerateJsonSchema
from starlette.responses import Response

# Pydantic needs this one before Python 3.12.
from typing_extensions import TypedDict

from .._texts import computed_fields, json_text

__all__ = [
    "WHOLE",
    "Body",
    "Count",
    "MaxLen",
    "Schema",
    "Unit",
    "adapter",
    "as_json",
    "body",
    "json_schema",
    "json_schemas",
]

Schema: TypeAlias = dict[str, Any]


def _integral(given: Any) -> Any:
    return int(given) if isinstance(given, float) and given.is_integer() else given


# In JSON, 2.0 is an integer. It comes after limits, so that these are described.
WHOLE = BeforeValidator(_integral)
Count = Annotated[int, Field(ge=0), WHOLE]
Unit = Annotated[float, Field(ge=0, le=1)]


@with_config(ConfigDict(extra="forbid", strict=True))
class Body(TypedDict):
    """A JSON object that is sent: it has no other keys, and no other types."""


def body(**schema: Any) -> Callable[[Any], Any]:
    """Add what is said about several keys together, as JSON Schema, to a class of bodies."""
    return with_config(ConfigDict(extra="forbid", strict=True, json_schema_extra=schema))


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what checks values of a type."""
    return TypeAdapter(kind)


def json_schemas(
    kinds: Mapping[Any, Any], mode: Literal["validation", "serialization"]
) -> dict[Any, Any]:
    """Return the JSON Schema of each type, by the key that it is given under.

    Under "$defs" are those of nested types. In ``Annotated``, a text is the description.

    Examples
    --------
    >>> from labelspan.web.schema import Count, json_schemas
    >>> json_schemas({"n": Count}, "validation")
    {'n': {'type': 'integer', 'minimum': 0}, '$defs': {}}
    """
    made, rest = TypeAdapter.json_schemas(
        [(key, mode, adapter(kind)) for key, kind in kinds.items()],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Described,
    )
    schemas = {key: schema for (key, _), schema in made.items()}
    return {**schemas, "$defs": rest.get("$defs", {})}


def json_schema(kind: Any, mode: Literal["validation", "serialization"]) -> Schema:
    """Return the JSON Schema of a type by itself."""
    return adapter(kind).json_schema(mode=mode, schema_generator=_Described)


class _Described(GenerateJsonSchema):
    """JSON Schema with descriptions of fields, with properties, and without titles."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(name).removesuffix("Data")

    def typed_dict_schema(self, schema: Any) -> Schema:
        made = super().typed_dict_schema(schema)
        made.pop("title", None)
        for name, hint in get_type_hints(schema["cls"], include_extras=True).items():
            for text in _texts(hint):
                made["properties"][name]["description"] = text
        return made

    def dataclass_schema(self, schema: Any) -> Schema:
        made = super().dataclass_schema(schema)
        made.pop("title", None)
        # The documentation of a class is for readers of Python.
        made["description"] = (schema["cls"].__doc__ or "").partition("\n")[0]
        for name in computed_fields(schema["cls"]):
            kind = get_type_hints(vars(schema["cls"])[name].fget)["return"]
            made["properties"][name] = TypeAdapter(kind).json_schema()
            made["required"].append(name)
        return made


def _texts(hint: Any) -> Iterator[str]:
    """Yield texts in ``Annotated``, also in ``NotRequired``."""
    if not isinstance(hint, type):
        yield from (one for one in getattr(hint, "__metadata__", ()) if isinstance(one, str))
        if not hasattr(hint, "__metadata__"):
            yield from (text for one in get_args(hint)[:1] for text in _texts(one))


def as_json(
    content: Mapping[str, Any], status: int = 200, kind: str = "application/json"
) -> Response:
    """Return an answer as JSON."""
    return Response(json_text(content).encode(), status, media_type=kind)
