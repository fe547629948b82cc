"""The grammar of ARFF: attributes, and rows that are dense or sparse."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import InvalidFile
from .lines import TRUTH, malformed

__all__ = ["Attribute", "Header", "as_label", "read_header", "read_rows"]

_NUMERIC = ("numeric", "real", "integer")
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True)
class Attribute:
    """A column: its name, and the numbers of its values where these are listed."""

    name: str
    codes: dict[str, float] | None = None

    def read(self, value: str) -> float:
        """Convert a value to a number, or raise ``ValueError``."""
        if value == "?":
            return float("nan")
        if self.codes is None:
            return float(value)
        if value not in self.codes:
            raise ValueError(value)
        return self.codes[value]

    @property
    def default(self) -> float:
        """What a sparse row means that leaves the attribute out: the first listed value."""
        return 0.0 if self.codes is None else next(iter(self.codes.values()))


@dataclass(frozen=True)
class Header:
    """What stands before ``@data``."""

    relation: str
    attributes: list[Attribute]


def read_header(path: Path, lines: Iterator[tuple[int, str]]) -> Header:
    """Read up to ``@data``."""
    relation = ""
    attributes: dict[str, Attribute] = {}
    for number, line in _content(lines):
        keyword, *rest = line.split(None, 1)
        match keyword.lower():
            case "@relation":
                relation = _plain("".join(rest))
            case "@attribute":
                attribute = _attribute(path, number, "".join(rest))
                if attribute.name in attributes:
                    raise malformed(path, number, f"{attribute.name!r:.40} is declared twice")
                attributes[attribute.name] = attribute
            case "@data":
                if not attributes:
                    raise malformed(path, number, "@data comes before any @attribute")
                return Header(relation, list(attributes.values()))
            case _:
                raise malformed(path, number, f"{line!r:.40} does not belong in an ARFF header")
    raise InvalidFile(f"{path} has no @data; it is not an ARFF file, or only a part of one.")


def as_label(path: Path, attribute: Attribute) -> Attribute:
    """Return the attribute read as a label: present or absent."""
    values = ["0", "1", "0.0", "1.0"] if attribute.codes is None else list(attribute.codes)
    truth = {value: TRUTH.get(value.lower().removesuffix(".0"), -1) for value in values}
    if min(truth.values()) < 0:
        raise InvalidFile(
            f"{path}: the label {attribute.name!r} has the values {', '.join(values):.60}, "
            "where 0 and 1 are needed."
        )
    return replace(attribute, codes={value: float(code) for value, code in truth.items()})


def read_rows(path: Path, lines: Iterator[tuple[int, str]], attributes: list[Attribute]) -> Any:
    """All columns: an array, or compressed rows if the file is sparse. NaN is not known."""
    data, indices, indptr = array("d"), array("q"), array("q", [0])
    kind = None
    for number, line in _content(lines):
        if kind is None:
            kind = line[0] == "{"
            if kind:
                _check_defaults(path, number, attributes)
        if kind is not (line[0] == "{"):
            raise malformed(path, number, "dense and sparse rows do not go together")
        try:
            row = _sparse_row(line) if kind else dict(enumerate(_split(line)))
        except ValueError as error:
            raise malformed(path, number, str(error)) from None
        if (max(row, default=0) >= len(attributes)) if kind else (len(row) != len(attributes)):
            found = f"place {max(row)}" if kind else f"{len(row)} values"
            raise malformed(path, number, f"{found} in a file of {len(attributes)} attributes")
        for column, value in row.items():
            try:
                data.append(attributes[column].read(value))
            except ValueError:
                what = f"{value!r:.40} is not a value of {attributes[column].name!r}"
                raise malformed(path, number, what) from None
        indices.extend(row)
        indptr.append(len(data))
    shape = (len(indptr) - 1, len(attributes))
    if not kind:
        return np.array(data).reshape(shape)
    parts = (np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32))
    block = sparse.csr_array((np.array(data), *parts), shape=shape)
    block.sort_indices()
    block.eliminate_zeros()
    return block


def _content(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines that are neither empty nor comments."""
    for number, raw in lines:
        line = raw.strip()
        if line and not line.startswith("%"):
            yield number, line


def _attribute(path: Path, number: int, text: str) -> Attribute:
    try:
        name, kind = _word(text)
        if kind.lower() in _NUMERIC:
            return Attribute(name)
        if not (kind.startswith("{") and kind.endswith("}")):
            raise ValueError(f"attribute {name!r} is of type {kind!r:.20}, which has no numbers")
        values = _split(kind[1:-1])
    except ValueError as error:
        raise malformed(path, number, str(error)) from None
    try:
        return Attribute(name, {value: float(value) for value in values})
    except ValueError:
        return Attribute(name, {value: float(place) for place, value in enumerate(values)})


def _check_defaults(path: Path, number: int, attributes: list[Attribute]) -> None:
    for attribute in attributes:
        if attribute.default != 0:
            what = f"sparse rows leave out the first value of {attribute.name!r}, which is not 0"
            raise malformed(path, number, f"{what}; write the file densely")


def _sparse_row(line: str) -> dict[int, str]:
    if not line.endswith("}"):
        raise ValueError("this row does not end with a brace")
    row: dict[int, str] = {}
    for entry in _split(line[1:-1]) if line[1:-1].strip() else ():
        place, *value = entry.split(None, 1) if entry else [""]
        if not (place.isascii() and place.isdigit() and value):
            raise ValueError(f"{entry!r:.40} is not an index and a value")
        if int(place) in row:
            raise ValueError(f"place {place} is named twice")
        row[int(place)] = _plain(value[0])
    return row


def _word(text: str) -> tuple[str, str]:
    """Split off the first word, which may be quoted."""
    if text[:1] in ("'", '"'):
        end = _closing(text, 0)
        return _plain(text[: end + 1]), text[end + 1 :].strip()
    words = text.replace("{", " {", 1).split(None, 1)
    if len(words) < 2:
        raise ValueError("this @attribute has no name or no type")
    return words[0], words[1]


def _split(text: str) -> list[str]:
    """Values between commas; quoted ones may hold commas."""
    if "'" not in text and '"' not in text:
        return [value.strip() for value in text.split(",")]
    values, start, at = [], 0, 0
    while at < len(text):
        # A quotation mark inside a word is a letter like any other.
        if text[at] in "'\"" and (at == start or text[at - 1].isspace()):
            at = _closing(text, at)
        elif text[at] == ",":
            values.append(text[start:at])
            start = at + 1
        at += 1
    return [_plain(value.strip()) for value in [*values, text[start:]]]


def _closing(text: str, start: int) -> int:
    """Where the quotation that opens at ``start`` ends."""
    at = start + 1
    while at < len(text) and text[at] != text[start]:
        at += 2 if text[at] == "\\" else 1
    if at >= len(text):
        raise ValueError("a quotation mark is not closed")
    return at


def _plain(word: str) -> str:
    """Remove the quotation marks of a word."""
    if len(word) > 1 and word[0] in "'\"" and word[-1] == word[0]:
        return _ESCAPE.sub(r"\1", word[1:-1])
    return word
