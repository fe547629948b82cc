"""Items from and to data frames of pandas and polars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from ..errors import InvalidParameter, MissingData
from .results import Item

__all__ = ["frame_of", "read_frame"]


def read_frame(
    frame: Any,
    *,
    text: str | Sequence[str],
    labels: str | None,
    id: str | None,
    separator: str | None,
) -> dict[str, Any]:
    """Read what a fit takes from the columns of a data frame; missing labels are unknown."""
    names = [str(name) for name in frame.columns]
    fields = [text] if isinstance(text, str) else list(text)
    for name in (*fields, *filter(None, (labels, id))):
        if name not in names:
            raise InvalidParameter(
                f"from_frame: there is no column {name!r}; the columns are {', '.join(names)}."
            )
    columns = {name: frame[name].to_list() for name in names}
    count = len(columns[fields[0]])
    parts = [["" if _missing(one) else str(one) for one in columns[name]] for name in fields]
    others = [name for name in names if name not in {*fields, labels, id}]
    return {
        "texts": ["\n".join(filter(None, row)) for row in zip(*parts, strict=True)],
        "labels": None if labels is None else [_labels(one, separator) for one in columns[labels]],
        "ids": None if id is None else [str(one) for one in columns[id]],
        "metadata": [
            {name: _plain(columns[name][n]) for name in others if not _missing(columns[name][n])}
            for n in range(count)
        ],
    }


def _missing(value: Any) -> bool:
    # NaN and pandas' missing time are not equal to themselves.
    return value is None or (not isinstance(value, str | Iterable) and bool(value != value))  # noqa: PLR0124


def _labels(value: Any, separator: str | None) -> list[str] | None:
    if _missing(value):
        return None
    if isinstance(value, str):
        parts = [value] if separator is None else value.split(separator)
        return [part.strip() for part in parts if part.strip()]
    return [str(one) for one in value] if isinstance(value, Iterable) else [str(value)]


def _plain(value: Any) -> Any:
    """Return a value that JSON has: numbers and texts as they are, dates as text."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, str | int | bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def frame_of(items: Iterable[Item], library: str) -> Any:
    """Return items as a data frame: id, text, labels and metadata."""
    if library not in ("pandas", "polars"):
        raise InvalidParameter(
            f"to_frame: library must be 'pandas' or 'polars', but {library!r} was given."
        )
    try:
        module = import_module(library)
    except ImportError as error:
        raise MissingData(
            f"to_frame needs {library}, which is not installed; pip install {library}."
        ) from error
    rows = [
        {
            "id": item.id,
            "text": item.text,
            "labels": None if item.labels is None else list(item.labels),
            **{
                (f"metadata_{name}" if name in ("id", "text", "labels") else name): value
                for name, value in item.metadata.items()
            },
        }
        for item in items
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return module.DataFrame({name: [row.get(name) for row in rows] for name in names})
