"""Texts as they are shown: the beginning of a long one, rows as CSV, answers as JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["as_dict", "computed_fields", "csv_text", "json_text", "shortened"]


def shortened(text: str, most: int) -> str:
    """Return the beginning of a long text, with an ellipsis.

    Examples
    --------
    >>> from labelspan._texts import shortened
    >>> shortened("a long name", 8), shortened("a name", 8)
    ('a long…', 'a name')
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def csv_text(rows: Iterable[Sequence[Any]], *, end: str = "\n") -> str:
    """Return rows as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator=end).writerows(rows)
    return out.getvalue()


def json_text(content: Any, indent: int | None = None) -> str:
    """Return JSON: results with their properties, and null for numbers that it lacks.

    Numbers in results have four digits.

    Examples
    --------
    >>> from labelspan._texts import json_text
    >>> from labelspan.index import Tag
    >>> json_text([Tag("game", 0.70001, 0.5), float("nan")])
    '[{"label": "game", "probability": 0.7, "threshold": 0.5, "chosen": true}, null]'
    """
    encode = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, check_circular=False, default=as_dict, indent=indent
    ).encode
    try:
        return encode(content)
    except ValueError:
        return encode(_finite(content))


def computed_fields(kind: Any) -> list[str]:
    """Return the names of the properties of a dataclass, which JSON shows as well."""
    return [name for name, value in vars(kind).items() if isinstance(value, property)]


def as_dict(result: Any) -> dict[str, Any]:
    """Return a result with its properties as JSON shows it."""
    if not is_dataclass(result):
        raise TypeError(f"{type(result).__name__} is not written as JSON.")
    names = [*(field.name for field in fields(result)), *computed_fields(type(result))]
    values = {name: getattr(result, name) for name in names}
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if is_dataclass(content):
        return _finite(as_dict(content))
    return None if isinstance(content, float) and not math.isfinite(content) else content
