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
``-``, objects of one level, and texts of several lines (``|`` and ``>``). Numbers, dates and truth
values stay text. Anchors, tags of types and objects in braces are an error.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import InvalidFile

__all__ = ["has_front_matter", "split_front_matter", "with_labels"]

_FENCE = "---"
_KEY = re.compile(
    r"""(?P<key>"[^"]*"|'[^']*'|[^\s#:"'\[\]{}&*!|>%@`-][^:#]*?)\s*:(?:\s+(?P<value>.*))?$"""
)
_PLAIN = re.compile(r"[^\s\[\]{},#&*!|>'\"%@`:-][^\[\]{},#:]*")


def has_front_matter(start: bytes) -> bool:
    """Tell by its first bytes whether a file begins with fields."""
    return start.removeprefix(b"\xef\xbb\xbf").startswith(b"---")


def split_front_matter(text: str, name: str) -> tuple[dict[str, Any], str, tuple[int, int]]:
    """Return the fields of a file, its text, and the lines of its fields, first and end."""
    lines = text.lstrip("\ufeff").split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, text, (0, 0)
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in (_FENCE, "...")), None)
    if end is None:
        # A line across the page, not a beginning of fields.
        return {}, text, (0, 0)
    return _Reader(lines, end, name).fields(), "\n".join(lines[end + 1 :]).strip(), (1, end)


class _Reader:
    """Lines of fields that are read one by one."""

    def __init__(self, lines: list[str], end: int, name: str) -> None:
        self._lines, self._end, self._name, self._at = lines, end, name, 1

    def fields(self, indent: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self._next(indent)) is not None:
            match = _KEY.match(line[indent:].rstrip())
            if match is None or line[indent].isspace():
                raise self._error(line)
            key, value = self._scalar(match["key"], line), _bare(match["value"] or "")
            self._at += 1
            found[key] = self._value(value, line, indent) if value else self._block(indent)
        return found

    def _next(self, indent: int) -> str | None:
        """Return the next line with content, if it belongs to what is indented so far."""
        while self._at < self._end:
            line = self._lines[self._at]
            if line.strip() and not line.lstrip().startswith("#"):
                return line if _indent(line) >= indent else None
            self._at += 1
        return None

    def _value(self, value: str, line: str, indent: int) -> Any:
        if value[0] in "|>" and value.rstrip("+-0123456789") in ("|", ">"):
            return self._long(indent, "\n" if value[0] == "|" else " ")
        if value[0] == "[":
            # A list may go on in the next lines.
            while not value.endswith("]") and self._at < self._end:
                value += " " + _bare(self._lines[self._at].strip())
                self._at += 1
            return self._listed(value, line)
        if value[0] in "{&*!%@`":
            raise self._error(line)
        text = self._scalar(value, line)
        more = self._next(indent + 1)
        while more is not None and value[0] not in "\"'":
            # A text that goes on in the next line, indented.
            text += " " + more.strip()
            self._at += 1
            more = self._next(indent + 1)
        return text

    def _long(self, indent: int, joint: str) -> str:
        found = []
        while self._at < self._end:
            line = self._lines[self._at]
            if line.strip() and _indent(line) <= indent:
                break
            found.append(line.strip())
            self._at += 1
        return joint.join(found).strip()

    def _block(self, indent: int) -> Any:
        """Read a list of lines, or an object; nothing is null."""
        line = self._next(indent)
        if line is None:
            return None
        if line.lstrip().startswith("- ") or line.strip() == "-":
            return self._items(_indent(line))
        return self.fields(_indent(line)) if _indent(line) > indent else None

    def _items(self, indent: int) -> list[Any]:
        found = []
        while (line := self._next(indent)) is not None and _indent(line) == indent:
            if not (line.lstrip().startswith("- ") or line.strip() == "-"):
                break
            value = _bare(line.strip()[1:].strip())
            if value[:1] in ("{", "[", "&", "*", "!", "|", ">", "-") or (
                value[:1] not in "\"'" and _KEY.match(value)
            ):
                raise self._error(line)
            self._at += 1
            if value:
                found.append(self._scalar(value, line))
        return found

    def _listed(self, value: str, line: str) -> list[str]:
        inner, found, at = value[1:-1].strip(), [], 0
        if not value.endswith("]"):
            raise self._error(line)
        while at < len(inner):
            match = re.compile(
                r"\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^\[\]{},\"']*)\s*(,|$)"
            ).match(inner, at)
            if match is None:
                raise self._error(line)
            if match[1].strip():
                found.append(self._scalar(match[1].strip(), line))
            at = match.end()
        return found

    def _scalar(self, value: str, line: str) -> str:
        if value[:1] == '"':
            try:
                return str(json.loads(value))
            except ValueError as error:
                raise self._error(line) from error
        if value[:1] == "'":
            if len(value) < 2 or value[-1] != "'":
                raise self._error(line)
            return value[1:-1].replace("''", "'")
        return value

    def _error(self, line: str) -> InvalidFile:
        return InvalidFile(
            f"{self._name}, line {self._lines.index(line) + 1}: {line.strip()!r:.60} is not in the "
            "part of YAML that is read: texts, lists in [] or with -, and objects of one level."
        )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _bare(value: str) -> str:
    """Take off a comment behind a value."""
    if value[:1] in "\"'":
        return value.strip() if value.rstrip()[-1:] in "\"'" else value.partition(" #")[0].strip()
    return value.partition(" #")[0].strip()


def with_labels(text: str, field: str, labels: list[str], name: str) -> str:
    """Return a file with other labels in a field, written as they were; all else stays."""
    fields, _, (first, end) = split_front_matter(text, name)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = text.removeprefix(mark).split("\n")
    ending = "\r" if lines[0].endswith("\r") else ""
    written = [
        json.dumps(one, ensure_ascii=False) if not _PLAIN.fullmatch(one) else one for one in labels
    ]
    inline = f"{field}: [{', '.join(written)}]{ending}"
    if first == 0:
        return mark + "\n".join([f"{_FENCE}{ending}", inline, f"{_FENCE}{ending}", *lines])
    at = next(
        (
            n
            for n in range(first, end)
            if (m := _KEY.match(lines[n].rstrip())) and m["key"].strip("\"'") == field
        ),
        None,
    )
    if at is None:
        return mark + "\n".join([*lines[:end], inline, *lines[end:]])
    stop = at + 1
    while stop < end and (not lines[stop].strip() or lines[stop].startswith((" ", "- ", "\t"))):
        stop += 1
    head = lines[at].partition(":")[0]
    dashes = [line for line in lines[at + 1 : stop] if line.lstrip().startswith("-")]
    value = lines[at].partition(":")[2].strip()
    if dashes:
        lead = dashes[0][: _indent(dashes[0])]
        new = [lines[at], *(f"{lead}- {one}{ending}" for one in written)]
    elif isinstance(fields.get(field), str) and value[:1] not in "[\"'" and "," in value:
        new = [f"{head}: {', '.join(labels)}{ending}"]
    else:
        new = [f"{head}: [{', '.join(written)}]{ending}"]
    return mark + "\n".join([*lines[:at], *new, *lines[stop:]])
