"""Fields at the beginning of Markdown files, in the part of YAML that is used there.

A file begins with a line ``---``, and the fields end at the next one::

    ---
    title: "Chess: a game"
    tags: [game, board]
    authors:
      - Ann
      - Bob
    ---

Read are texts with or without quotation marks, lists in brackets and of lines that begin with
``-``, objects, and texts of several lines (``|`` and ``>``). Numbers, dates and truth values stay
text. Anchors, tags of types and objects in braces are an error.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidFile

__all__ = ["has_front_matter", "split_front_matter", "with_labels"]

_FENCE = "---"
_KEY = re.compile(
    r"""(?P<key>"[^"]*"|'[^']*'|[^\s#:"'\[\]{}&*!|>%@`-][^:#]*?)\s*:(?:\s+(?P<value>.*))?$"""
)
_PLAIN = re.compile(r"[^\s\[\]{},#&*!|>'\"%@`:-][^\[\]{},#:]*")
_LISTED = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^\[\]{},\"']*)\s*(,|$)")
_DASH = re.compile(r"\s*-(\s|$)")


def has_front_matter(start: bytes) -> bool:
    """Tell by its first bytes whether a file begins with fields."""
    return start.removeprefix(b"\xef\xbb\xbf").startswith(b"---")


def split_front_matter(text: str, name: str) -> tuple[dict[str, Any], str, int]:
    """Return the fields of a file, its text, and the line at which the fields end; 0 if none."""
    lines = text.lstrip("\ufeff").split("\n")
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() in (_FENCE, "...")), 0)
    if lines[0].rstrip() != _FENCE or not end:
        # A line across the page, not a beginning of fields.
        return {}, text, 0
    try:
        fields = _fields(lines[1:end])
    except _NotReadError as error:
        bad = str(error).strip()
        number = next(n for n, line in enumerate(lines, 1) if line.strip() == bad)
        raise InvalidFile(
            f"{name}, line {number}: {bad!r:.60} is not in the part of YAML that is read: texts, "
            "lists in [] or with -, and objects of one level."
        ) from None
    return fields, "\n".join(lines[end + 1 :]).strip(), end


class _NotReadError(Exception):
    """A line that is not in the part of YAML that is read."""


@dataclass
class _Field:
    """A field: its key, what is behind it, and its lines, of which ``stop`` is the end."""

    key: str
    value: str
    start: int
    stop: int


def _entries(lines: list[str]) -> list[_Field]:
    """Return the fields in some lines; lines that are indented or begin with - go on."""
    found: list[_Field] = []
    for at, line in enumerate(lines):
        match = _KEY.match(line.rstrip())
        if match is not None:
            key = _scalar(match["key"], line)
            found.append(_Field(key, _bare(match["value"] or ""), at, at + 1))
        elif found and (line[:1] in " \t" or _DASH.match(line)) and line.strip():
            found[-1].stop = at + 1
        elif line.strip() and not line.startswith("#"):
            raise _NotReadError(line)
    return found


def _fields(lines: list[str]) -> dict[str, Any]:
    return {
        one.key: _value(one.value, lines[one.start], lines[one.start + 1 : one.stop])
        for one in _entries(lines)
    }


def _value(value: str, line: str, block: list[str]) -> Any:
    """Return the value of a field that begins in a line and goes on in a block of others."""
    if re.fullmatch(r"[|>][-+\d]*", value):
        joint = "\n" if value[0] == "|" else " "
        return joint.join(one.strip() for one in block).strip()
    rest = [one for one in block if one.strip() and not one.lstrip().startswith("#")]
    if value:
        value = " ".join([value, *(_bare(one.strip()) for one in rest)])
        if value[0] in "{&*!%@`|>":
            raise _NotReadError(line)
        return _listed(value, line) if value[0] == "[" else _scalar(value, line)
    if not rest:
        return None
    indent = _indent(rest[0])
    if not _DASH.match(rest[0]):
        return _fields([one[indent:] for one in rest])
    return [item for one in rest if (item := _item(one, indent))]


def _item(line: str, indent: int) -> str:
    """Return an item of a list of lines."""
    value = _bare(line.strip()[1:].strip())
    strange = value[:1] in tuple("{[&*!|>-") or (value[:1] not in "\"'" and _KEY.match(value))
    if _indent(line) != indent or not _DASH.match(line) or strange:
        raise _NotReadError(line)
    return _scalar(value, line)


def _listed(value: str, line: str) -> list[str]:
    """Return the items of a list in brackets."""
    inner, found, at = value[1:-1].strip(), [], 0
    while at < len(inner):
        match = _LISTED.match(inner, at)
        if match is None:
            raise _NotReadError(line)
        found.append(_scalar(match[1].strip(), line))
        at = match.end()
    if not value.endswith("]"):
        raise _NotReadError(line)
    return [one for one in found if one]


def _scalar(value: str, line: str) -> str:
    """Return a text without its quotation marks."""
    if value[:1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            raise _NotReadError(line) from None
    if value[:1] != "'":
        return value
    if len(value) < 2 or value[-1] != "'":
        raise _NotReadError(line)
    return value[1:-1].replace("''", "'")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _bare(value: str) -> str:
    """Take off a comment behind a value."""
    quoted = value[:1] in "\"'" and value.rstrip()[-1:] in "\"'"
    return value.strip() if quoted else value.partition(" #")[0].strip()


def with_labels(text: str, field: str, labels: list[str], name: str) -> str:
    """Return a file with other labels in a field, written as they were; all else stays."""
    fields, _, end = split_front_matter(text, name)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = text.removeprefix(mark).split("\n")
    ending = "\r" if lines[0].endswith("\r") else ""
    written = [
        json.dumps(one, ensure_ascii=False) if not _PLAIN.fullmatch(one) else one for one in labels
    ]
    start, stop, head = end, end, field
    if not end:
        lines = [f"{_FENCE}{ending}", f"{_FENCE}{ending}", *lines]
        start = stop = 1
    for own in _entries(lines[1:end]):
        if own.key == field:
            start, stop, head = own.start + 1, own.stop + 1, lines[own.start + 1].partition(":")[0]
    dashes = [line for line in lines[start + 1 : stop] if _DASH.match(line)]
    value = "" if start == stop else lines[start].partition(":")[2].strip()
    if dashes:
        lead = dashes[0][: _indent(dashes[0])]
        new = [lines[start], *(f"{lead}- {one}{ending}" for one in written)]
    elif isinstance(fields.get(field), str) and value[:1] not in "[\"'" and "," in value:
        new = [f"{head}: {', '.join(labels)}{ending}"]
    else:
        new = [f"{head}: [{', '.join(written)}]{ending}"]
    return mark + "\n".join([*lines[:start], *new, *lines[stop:]])
