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
``-``, objects, and texts of several lines (``|`` and ``>``). Everything else stays text.
"""

from __future__ import annotations

import json
import re
from textwrap import dedent
from typing import Any

__all__ = ["has_front_matter", "split_front_matter", "with_labels"]

_FENCE = "---"
_KEY = re.compile(
    r"""(?P<key>"[^"]*"|'[^']*'|[^\s#:"'\[\]{}&*!|>%@`-][^:#]*?)\s*:(?:\s+(?P<value>.*))?$"""
)
_PLAIN = re.compile(r"[^\s\[\]{},#&*!|>'\"%@`:-][^\[\]{},#:]*")
_LISTED = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^,]+)")
_DASH = re.compile(r"\s*-(\s|$)")


def has_front_matter(start: bytes) -> bool:
    """Tell by its first bytes whether a file begins with fields."""
    return start.removeprefix(b"\xef\xbb\xbf").startswith(b"---")


def split_front_matter(text: str) -> tuple[dict[str, Any], str, int]:
    """Return the fields of a file, its text, and the line at which the fields end; 0 if none."""
    lines = text.lstrip("\ufeff").split("\n")
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() in (_FENCE, "...")), 0)
    if lines[0].rstrip() != _FENCE or not end:
        # A line across the page, not a beginning of fields.
        return {}, text, 0
    return _fields(lines[1:end]), "\n".join(lines[end + 1 :]).strip(), end


def _entries(lines: list[str]) -> list[tuple[str, str, int, int]]:
    """Return the key of each field, what is behind it, and its first line and its end.

    Lines that are indented or begin with - go on.
    """
    found: list[tuple[str, str, int, int]] = []
    for at, line in enumerate(lines):
        match = _KEY.match(line.rstrip())
        if match is not None:
            found.append((_scalar(match["key"]), _bare(match["value"] or ""), at, at + 1))
        elif found and (line[:1] in " \t" or _DASH.match(line)) and line.strip():
            found[-1] = (*found[-1][:3], at + 1)
    return found


def _fields(lines: list[str]) -> dict[str, Any]:
    return {
        key: _value(value, lines[start + 1 : stop]) for key, value, start, stop in _entries(lines)
    }


def _value(value: str, block: list[str]) -> Any:
    """Return the value of a field that begins in a line and goes on in a block of others."""
    if re.fullmatch(r"[|>][-+\d]*", value):
        joint = "\n" if value[0] == "|" else " "
        return joint.join(one.strip() for one in block).strip()
    rest = [one for one in block if one.strip() and not one.lstrip().startswith("#")]
    if value:
        value = " ".join([value, *(_bare(one) for one in rest)])
        if (value[0], value[-1]) != ("[", "]"):
            return _scalar(value)
        items = _LISTED.findall(value[1:-1])
    elif not rest:
        return None
    elif not _DASH.match(rest[0]):
        return _fields(dedent("\n".join(rest)).split("\n"))
    else:
        items = [_bare(one.strip()[1:]) for one in rest if _DASH.match(one)]
    return [item for one in items if (item := _scalar(one.strip()))]


def _scalar(value: str) -> str:
    """Return a text without its quotation marks."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    try:
        return str(json.loads(value)) if value[:1] == '"' else value
    except ValueError:
        return value


def _bare(value: str) -> str:
    """Take off a comment behind a value."""
    value = value.strip()
    return value if value[:1] in ('"', "'") and value[-1] in "\"'" else value.partition(" #")[0]


def with_labels(text: str, field: str, labels: list[str]) -> str:
    """Return a file with other labels in a field, written as they were; all else stays."""
    fields, _, end = split_front_matter(text)
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
    for key, _, first, last in _entries(lines[1:end]):
        if key == field:
            start, stop, head = first + 1, last + 1, lines[first + 1].partition(":")[0]
    dashes = [line for line in lines[start + 1 : stop] if _DASH.match(line)]
    value = "" if start == stop else lines[start].partition(":")[2].strip()
    if dashes:
        lead = dashes[0].partition("-")[0]
        new = [lines[start], *(f"{lead}- {one}{ending}" for one in written)]
    elif isinstance(fields.get(field), str) and value[:1] not in "[\"'" and "," in value:
        new = [f"{head}: {', '.join(labels)}{ending}"]
    else:
        new = [f"{head}: [{', '.join(written)}]{ending}"]
    return mark + "\n".join([*lines[:start], *new, *lines[stop:]])
