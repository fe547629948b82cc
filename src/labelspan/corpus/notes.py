"""Markdown notes: fields in YAML or TOML at the beginning, ``#tags`` in the text, and YAML files.

A note begins with a line ``---`` (YAML) or ``+++`` (TOML), and the fields end at the next one. All
values stay text: ``2020-01-02``, ``on`` and ``1.0`` are what was written. Notion and Logseq have
lines ``key: value`` and ``key:: value`` instead.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from typing import Any

import yaml

from ..errors import InvalidFile, InvalidInput
from .json_files import flat
from .label_values import INLINE
from .label_writing import LabelChange, rewritten
from .names import known_names, normal

__all__ = ["CODE", "inline_tags", "note_fields", "note_row", "note_with_labels", "split_note"]
__all__ += ["yaml_values"]

_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
# Properties below a title, as Notion exports them, or at the beginning, as Pelican, Nikola (behind
# dots) and Logseq have them.
_PROPERTIES = re.compile(
    r"(?:# [^\n]*\n\s*\n)?"
    r"(?P<notion>(?:(?:\.\. )?[^\W\d_][^:\n]{0,60}:(?:[^:\n][^\n]*)?\n)+)(?=\s*\n)"
    r"|(?P<logseq>(?:[\w-]{1,60}::(?: [^\n]*)?\n)+)"
)
_PROPERTY_FENCES = {"notion": ":", "logseq": "::"}
# Pages that are tags in Logseq: one, [[two words]], #three.
_PAGES = re.compile(r"#?\[\[([^\[\]]+)\]\]|#?([^\s,#\[\]][^,\[\]]*)")
# Between spaces or pictures: letters, digits, - _ and / between parts.
_PICTURES = r"\u200d\u203c\u2049\ufe0f\u2190-\u2bff\U0001f000-\U0001faff"
_TAG = re.compile(
    rf"(?:(?<=[\s{_PICTURES}])|^)#(?:\[\[([^\[\]\n]{{1,200}})\]\]|(\w[\w/-]{{0,199}}))"
    rf"(?=[\s.,;:!?){_PICTURES}]|$)",
    re.M,
)
# Code between fences or marks, or indented below an empty line, and elements of HTML.
CODE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?P<mark>`{1,3})[^`]+(?P=mark)"
    r"|(?:\A|(?<=\n\n))(?:(?: {4}|\t)(?![ \t]*(?:[-*+]|\d+[.)]) )[^\n]*(?:\n|\Z))+"
    r"|</?[a-z][\w-]*(?:\s[^<>\n]*)?/?>",
    re.M | re.S | re.I,
)
_COLOUR = re.compile(r"(?=.*\d)(?:[0-9a-f]{3}){1,2}|([0-9a-f])\1\1(?:\1\1\1)?", re.I)
_PLAIN = re.compile(r"[^\s\[\]{},#&*!|>'\"%@`:?-][^\[\]{},#:\n]*(?<!\s)")
# Aliases in one file: a few are shorthand, many make a short file grow without bound.
_MOST_ALIASES, _DEEPEST = 20, 50


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads YAML with all values but null as text."""

    yaml_implicit_resolvers: Mapping[str, Any] = {
        first: [one for one in own if one[0].endswith(":null")]
        for first, own in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def yaml_values(text: str) -> list[Any]:
    """Return the documents in a text of YAML; ValueError if it is not YAML."""
    try:
        aliases = depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            aliases += isinstance(event, yaml.AliasEvent)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if aliases > _MOST_ALIASES or depth > _DEEPEST:
                raise ValueError("it is nested too deeply, or has too many aliases")
        return [one for one in yaml.load_all(text, Loader=_Loader) if one is not None]
    except (yaml.YAMLError, RecursionError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise ValueError(f"{getattr(error, 'problem', None) or error}{where}") from error


def split_note(text: str) -> tuple[str, int, int]:
    """Return the fence of a note, "" without one, and where its fields begin and end."""
    start = len(text) - len(text.lstrip("\ufeff"))
    first = text.find("\n", start)
    fence = text[start:first].rstrip() if first > 0 else ""
    at = first + 1
    while fence in _FENCES and 0 < at < len(text):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)]
        if line.rstrip() in _FENCES[fence]:
            return fence, first + 1, at
        at = end + 1
    match = _PROPERTIES.match(text, start)
    kind = "" if match is None else match.lastgroup
    if (
        match is not None
        and kind
        and (kind == "logseq" or any(map(_names_labels, match[0].splitlines())))
    ):
        return _PROPERTY_FENCES[kind], match.start(kind), match.end(kind)
    # Without an end it is a line across the page.
    return "", start, start


def _names_labels(line: str) -> bool:
    return normal(line.partition(":")[0]) in known_names("labels")


def _page_name(page: re.Match[str]) -> str:
    return (page[1] or page[2]).strip()


def note_fields(text: str) -> tuple[dict[str, Any], str]:
    """Return the fields of a note and its text; ValueError if the fields are malformed."""
    fence, start, stop = split_note(text)
    head, body = text[start:stop], text[stop:]
    if not fence:
        return {}, body
    if fence in _PROPERTY_FENCES.values():
        # They may be below the title, which is part of the text.
        lines = [line.partition(fence) for line in head.splitlines()]
        fields: dict[str, Any] = {key.strip(" ."): value.strip() for key, _, value in lines}
        if fence == "::":
            for key in filter(_names_labels, fields):
                fields[key] = [_page_name(one) for one in _PAGES.finditer(fields[key])]
        return fields, text[:start] + body
    body = body.partition("\n")[2].strip()
    if fence == "+++":
        try:
            return _as_text(tomllib.loads(head)), body
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
    found = yaml_values(head)
    if not found:
        return {}, body
    if len(found) != 1 or not isinstance(found[0], dict):
        raise ValueError("fields are needed, as title: A title")
    return {str(key): value for key, value in found[0].items()}, body


def _as_text(value: Any) -> Any:
    """Convert TOML values to what YAML would give, except numbers."""
    if isinstance(value, dict):
        return {key: _as_text(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_text(one) for one in value]
    return value if isinstance(value, str | int | float) else str(value)


def inline_tags(body: str) -> list[str]:
    """Return the tags in the text of a note, as #game and #game/board; code has none."""
    if "#" not in body:
        return []
    body = CODE.sub(" ", body)
    found = (several or tag.strip("/") for several, tag in _TAG.findall(body))
    # A number is a reference, as in "see #12"; #ff0000 and #ccc are colours.
    return [tag for tag in dict.fromkeys(found) if not tag.isdigit() and not _COLOUR.fullmatch(tag)]


# --- other labels in a note -------------------------------------------------------------------


def note_with_labels(text: str, field: str, change: LabelChange) -> str:
    """Return a note with labels added and removed in one field; everything else stays."""
    if field == INLINE:
        return _without_inline(text, change.removed)
    fence, start, stop = split_note(text)
    ending = "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"
    if not fence:
        lines = ["---", f"{field}: [{', '.join(map(_quoted, change.added))}]", "---", ""]
        return text[:start] + ending.join(lines) + text[start:]
    head = text[start:stop]
    if fence in _PROPERTY_FENCES.values():
        name = rf"(?:\.\. )?{re.escape(field)}"
        match = re.search(rf"^{name}[ \t]*{fence}[ \t]*(.*?)[ \t\r]*$", head, re.M)
        if match is None:
            new = f"{head}{field}{fence} {', '.join(change.added)}{ending}"
        elif fence == "::":
            pages = list(_PAGES.finditer(match[1]))
            written = [one[0].strip() for one in pages]
            new = ", ".join(change.apply(written, change.added, [*map(_page_name, pages)]))
            new = head[: match.start(1)] + new + head[match.end(1) :]
        else:
            new = head[: match.start(1)] + rewritten(match[1], change) + head[match.end(1) :]
    elif fence == "+++":
        new = _toml_with_labels(head, field, change)
    else:
        new = _yaml_with_labels(head, field, change, ending)
    return text[:start] + new + text[stop:]


def _quoted(label: str, old: str = "") -> str:
    """Return a label as YAML, in the quotation marks of another one."""
    mark = old[:1] if old[:1] in ("'", '"') else ""
    if not mark and _PLAIN.fullmatch(label) and label.lower() not in ("null", "true", "false"):
        return label
    if mark == "'":
        return "'" + label.replace("'", "''") + "'"
    return '"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _yaml_with_labels(head: str, field: str, change: LabelChange, ending: str) -> str:
    # Marks count characters, in text whose lines end in \n or \r\n alike.
    node = yaml.compose(head, Loader=yaml.SafeLoader)
    keys = _keys(node)
    outer = next((one for one in keys if field.startswith(f"{one}.")), "")
    if field not in keys and not outer:
        return f"{head}{field}: [{', '.join(map(_quoted, change.added))}]{ending}"
    if field not in keys:
        # Inside another one, as taxonomy.tag.
        keys = {f"{outer}.{name}": pair for name, pair in _keys(keys[outer][1]).items()}
    if field not in keys:
        raise InvalidInput(f"Labels in objects of notes ({field}) are changed by hand.")
    key, value = keys[field]
    first, last = value.start_mark.index, value.end_mark.index
    if isinstance(value, yaml.SequenceNode):
        items = [(one, head[one.start_mark.index : one.end_mark.index]) for one in value.value]
        style = items[0][1] if items else ""
        new = [_quoted(one, style) for one in change.added]
        written = change.apply([raw for _, raw in items], new, [str(x.value) for x, _ in items])
        if value.flow_style:
            return head[:first] + f"[{', '.join(written)}]" + head[last:]
        return _block(head, items, change, [_quoted(one, style) for one in change.added], ending)
    if not isinstance(value, yaml.ScalarNode):
        raise InvalidFile(f"{field!r} is neither a list nor a text.")
    raw, mark = head[first:last].rstrip(), change.how.mark
    last = first + len(raw)
    plain = raw[:1] not in ("'", '"', "|", ">")
    fit = not any(mark in one or (plain and not _PLAIN.fullmatch(one)) for one in change.added)
    if mark and value.value and fit:
        text = rewritten(value.value, change)
        return head[:first] + (text if plain else _quoted(text, raw)) + head[last:]
    parts = value.value.split(mark) if mark else [value.value]
    kept = [one.strip() for one in parts if change.stays(one)]
    new = [_quoted(one, raw) for one in (*kept, *change.added)]
    lead = " " if head[key.end_mark.index : first].endswith(":") else ""
    return head[:first] + f"{lead}[{', '.join(new)}]" + head[last:]


def _keys(node: Any) -> dict[str, Any]:
    """Return the key and the value of each field of a mapping, by its name."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return {str(key.value): (key, value) for key, value in pairs}


def _block(head: str, items: list[Any], change: LabelChange, added: list[str], ending: str) -> str:
    """Return a Markdown list without some of its items, and with others appended."""
    lines = head.splitlines(keepends=True)
    rows = [one.start_mark.line for one, _ in items]
    lead = lines[rows[0]][: lines[rows[0]].index("-")]
    last = items[-1][0].end_mark.line
    last = last if last > rows[-1] else rows[-1] + 1
    gone: set[int] = set()
    for place, (one, _) in enumerate(items):
        if not change.stays(str(one.value)):
            gone.update(
                range(rows[place], rows[place + 1] if place + 1 < len(rows) else rows[-1] + 1)
            )
    new = [f"{lead}- {one}{ending}" for one in added]
    if len(gone) >= len(items) and not new and all(row in gone for row in rows):
        # A list without items is written in brackets.
        line = rows[0] - 1
        ends = lines[line][len(lines[line].rstrip("\r\n")) :]
        lines[line] = lines[line].rstrip() + " []" + ends
    kept = [line for number, line in enumerate(lines[: rows[-1] + 1]) if number not in gone]
    return "".join([*kept, *new, *lines[rows[-1] + 1 :]])


_TABLE = re.compile(r"^\[", re.M)


def _toml_with_labels(head: str, field: str, change: LabelChange) -> str:
    string = r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'"
    # Inside a table, as [taxonomies].
    table, _, name = field.rpartition(".")
    opening = re.search(rf"^\[{re.escape(table)}\][ \t]*$", head, re.M) if table else None
    start = opening.end() if opening else 0
    stop = next((one.start() for one in _TABLE.finditer(head, start)), len(head))
    match = re.compile(
        rf"^[ \t]*\"?{re.escape(name)}\"?[ \t]*=[ \t]*\[((?:{string}|[^\[\]\"'])*)\]", re.M
    ).search(head, start, stop)
    escaped = (one.replace("\\", "\\\\").replace('"', '\\"') for one in change.added)
    added = [f'"{one}"' for one in escaped]
    if match is None:
        if table or field in tomllib.loads(head):
            raise InvalidFile(f"{field!r} is not a list of texts, and cannot be changed.")
        return f"{field} = [{', '.join(added)}]\n{head}"
    parts = re.findall(string, match[1])
    own = [tomllib.loads(f"x = {raw}")["x"] for raw in parts]
    written = ", ".join(change.apply(parts, added, own))
    return head[: match.start(1)] + written + head[match.end(1) :]


def _without_inline(text: str, labels: Set[str]) -> str:
    """Return a note in which some #tags are words: only the # is removed."""
    start = split_note(text)[2]
    code = [(one.start(), one.end()) for one in CODE.finditer(text, start)]

    def pieces() -> Iterator[str]:
        at = 0
        for match in _TAG.finditer(text, start):
            inside = any(first <= match.start() < last for first, last in code)
            if (match[1] or match[2].strip("/")) in labels and not inside:
                yield text[at : match.start()]
                at = match.start() + 1
        yield text[at:]

    return "".join(pieces())


def note_row(text: str, tally: dict[str, list[int]]) -> dict[str, Any]:
    """Return the fields of a note, with its text and the tags in it."""
    try:
        fields, body = note_fields(text)
    except ValueError as error:
        tally[f"with malformed fields, which are part of the text ({error!s:.80})"] = [1]
        fields, body = {}, text
    tags = inline_tags(body)
    plain = {key: one.strip() if isinstance(one, str) else one for key, one in fields.items()}
    return {**flat(plain), "text": body, **({INLINE: tags} if tags else {})}
