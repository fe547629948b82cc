"""The shapes of what twins give, as JSON Schema."""

from __future__ import annotations

from typing import Any

__all__ = [
    "NUMBER",
    "SCHEMAS",
    "TEXT",
    "TRUTH",
    "UNIT",
    "WHOLE",
    "Schema",
    "list_of",
    "named",
    "or_null",
    "table",
]

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
UNIT: Schema = {"type": "number", "minimum": 0, "maximum": 1}


def list_of(schema: Schema) -> Schema:
    """A list of one shape."""
    return {"type": "array", "items": schema}


def or_null(schema: Schema) -> Schema:
    """A shape, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def table(**fields: Schema) -> Schema:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def named(name: str) -> Schema:
    """One of ``SCHEMAS``."""
    return {"$ref": f"#/components/schemas/{name}"}


_END = table(words=list_of(TEXT), labels=list_of(TEXT))

SCHEMAS: dict[str, Schema] = {
    "Counted": table(label=TEXT, count=WHOLE),
    "Near": table(label=TEXT, score=UNIT, count=WHOLE),
    "Tag": table(label=TEXT, probability=UNIT, threshold=UNIT, chosen=TRUTH),
    "Hit": table(
        id=TEXT,
        score=UNIT,
        snippet=TEXT,
        labels=or_null(list_of(TEXT)),
        predicted=list_of(named("Tag")),
    ),
    "Word": table(word=TEXT, share=NUMBER, shared=TRUTH),
    "AxisShare": table(
        axis=WHOLE,
        share=NUMBER,
        end={"enum": ["high", "low"]},
        words=list_of(TEXT),
        labels=list_of(TEXT),
    ),
    "Expected": table(label=TEXT, probability=UNIT),
    "Axis": table(number=WHOLE, eigenvalue=NUMBER, high=_END, low=_END),
    "Region": table(name=TEXT, x=NUMBER, y=NUMBER, count=WHOLE),
}
