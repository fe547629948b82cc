"""Which fields of a corpus are its text, its labels and its ids, and how labels are written."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidFile, InvalidParameter
from .corpus_names import HEADINGS, IDS, LABELS, TEXTS
from .corpus_rows import Rows

__all__ = ["Asked", "Fields", "choose_fields", "field_notes", "label_reader", "plain"]

_SEPARATORS = (";", "|", ",")


@dataclass(frozen=True)
class Asked:
    """The fields that a person named; nothing where they are to be guessed."""

    text: tuple[str, ...]
    labels: str | None
    ids: str | None
    labelled: bool


@dataclass(frozen=True)
class Fields:
    """The fields that were named or guessed, and those left as metadata."""

    text: tuple[str, ...]
    labels: str | None
    ids: str | None
    metadata: tuple[str, ...]


def choose_fields(rows: Rows, asked: Asked) -> Fields:
    """See that the fields named are there, and guess the others."""
    there = rows.fields()
    for name in (*asked.text, asked.labels, asked.ids):
        if name is not None and name not in there:
            raise InvalidParameter(
                f"{rows.name}: there is no field {name!r}; there are {_listed(there)}."
            )
    labels = asked.labels or (_guess_labels(rows, there) if asked.labelled else None)
    text = asked.text or _guess_text(rows, [name for name in there if name != labels])
    ids = asked.ids or _guess_ids(rows, [name for name in there if name not in (*text, labels)])
    taken = {labels, ids, *(() if len(text) > 1 else text)}
    taken |= {name for name in text if name.lower() not in HEADINGS}
    metadata = tuple(
        name
        for name in there
        if name not in taken and all(_is_plain(item.get(name)) for item in rows.items)
    )
    return Fields(tuple(text), labels, ids, metadata)


def field_notes(rows: Rows, asked: Asked, fields: Fields) -> Iterator[str]:
    """Describe in words which fields were used for what."""
    if rows.kind == "lines":
        yield "a text a line; items are numbered"
        return
    if rows.kind == "folder":
        yield "ids are paths, and labels the names of the folders on the way"
        return
    yield f"text from {_listed(fields.text, ' and ')}{'' if asked.text else ' (guessed)'}"
    if fields.labels:
        yield f"labels from {fields.labels!r}{'' if asked.labels else ' (guessed)'}"
    elif asked.labelled:
        yield "no field looks like labels"
    if fields.ids:
        yield f"ids from {fields.ids!r}{'' if asked.ids else ' (guessed)'}"
    else:
        yield "items are numbered because no field looks like ids"
    if fields.metadata:
        yield f"metadata: {', '.join(fields.metadata)}"


def _guess_text(rows: Rows, there: list[str]) -> tuple[str, ...]:
    main = _first(there, TEXTS)
    headings = [name for name in there if name.lower() in HEADINGS]
    if main is not None:
        return (*(name for name in headings if name != main), main)
    if headings:
        return tuple(headings)
    lengths = {}
    for name in there:
        values = [item.get(name) for item in rows.items]
        if all(value is None or isinstance(value, str) for value in values):
            lengths[name] = sum(len(value) for value in values if value) / len(values)
    longest = max(lengths, key=lambda name: lengths[name], default=None)
    # Shorter ones are names, dates or codes.
    if longest is None or lengths[longest] < 20:
        raise InvalidParameter(
            f"{rows.name}: no field looks like a text; name it by text (--text); there are "
            f"{_listed(there)}."
        )
    return (longest,)


def _guess_labels(rows: Rows, there: list[str]) -> str | None:
    known = _first(there, LABELS)
    if known is not None:
        return known
    for name in there:
        values = [item.get(name) for item in rows.items]
        if any(values) and all(_is_names(value) for value in values if value is not None):
            return name
    return None


def _guess_ids(rows: Rows, there: list[str]) -> str | None:
    for name in IDS:
        found = _first(there, (name,))
        if found is None:
            continue
        values = [item.get(found) for item in rows.items]
        whole = all(isinstance(value, str | int) and str(value).strip() for value in values)
        if whole and len(set(map(str, values))) == len(values):
            return found
    return None


def label_reader(
    rows: Rows, key: str | None, separator: str | None
) -> tuple[Callable[[int], list[str] | None], str]:
    """Return a function from the number of an item to its labels, and how labels are written."""
    if key is None:
        return (lambda number: None), ""
    values = [item.get(key) for item in rows.items]
    texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
    bracketed = bool(texts) and all(text[0] == "[" and text[-1] == "]" for text in texts)
    how = "labels are lists"
    if texts and bracketed:
        how = "labels are lists written as text"
    elif texts:
        if separator is None:
            counts = {mark: sum(mark in text for text in texts) for mark in _SEPARATORS}
            separator = max(counts, key=lambda mark: counts[mark]) if any(counts.values()) else ""
            how = f"labels are separated by {separator!r} (guessed)"
        else:
            how = f"labels are separated by {separator!r}"
        how = how if separator else "each item has one label"

    def read(number: int) -> list[str] | None:
        value: Any = values[number]
        if isinstance(value, str):
            value = _bracketed(rows, number, value) if bracketed else _split(value, separator)
        elif isinstance(value, int | float) and not _missing(value):
            # A column with gaps has its whole numbers as floats.
            value = [int(value) if value == int(value) else str(value)]
        if _missing(value):
            return None
        if not _is_names(value):
            raise InvalidFile(
                f"{rows.where(number)}: {key!r} must be a list of labels or a string, but is "
                f"{value!r:.60}."
            )
        names = (str(name).strip() for name in value)
        return [name for name in dict.fromkeys(names) if name]

    return read, how


def _split(text: str, separator: str | None) -> list[str]:
    return text.split(separator) if separator else [text]


def _bracketed(rows: Rows, number: int, text: str) -> Any:
    """Parse a list that was written as JSON, or as Python prints one."""
    if not text.strip():
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    raise InvalidFile(f"{rows.where(number)}: {text!r:.60} is not a list of labels.")


def plain(value: Any) -> Any:
    """Return a value as an index stores it."""
    if _missing(value):
        return None
    return value if isinstance(value, str | bool | int | float) else str(value)


def _is_plain(value: Any) -> bool:
    """Whether a value can be metadata; dates and the like can, as text."""
    return not isinstance(value, dict | list | tuple | bytes)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str | int) for one in value)


def _first(there: Iterable[str], names: Iterable[str]) -> str | None:
    """Return the first known name among the fields, ignoring case."""
    lower = {name.lower(): name for name in there}
    return next((lower[name] for name in names if name in lower), None)


def _listed(names: Iterable[str], last: str = ", ") -> str:
    quoted = [repr(name) for name in names]
    if len(quoted) > 20:
        quoted = [*quoted[:20], "..."]
    return last.join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)
