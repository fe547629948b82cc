"""Write changed labels and values into the formats of files; all else stays as it is written.

A plan has ``edits``: by the numbers of the file and of the item in it, the fields of the item and
the changes by field.
"""

from __future__ import annotations

import ast
import io
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any
from unicodedata import normalize

from ..errors import InvalidFile, InvalidInput
from .json_files import json_spans
from .label_writing import Change, LabelChange, new_value, rewritten, with_labels
from .notes import note_row, note_with_labels
from .record_files import bibtex_entries, latex_decoder
from .sheets import open_database, with_cells, xlsx_rows
from .tables import TableLayout, cells_of

__all__ = ["edit_bibtex", "edit_calibre", "edit_json", "edit_lines", "edit_notes", "edit_ris"]
__all__ += ["edit_table", "edit_workbook"]

_RIS_TAG = re.compile(r"[A-Z][A-Z0-9]  -")


def _of_labels(changes: Mapping[str, Change]) -> dict[str, LabelChange]:
    """Return the changes of labels; values of the metadata are replaced in other formats."""
    return {name: one for name, one in changes.items() if isinstance(one, LabelChange)}


# --- JSON -------------------------------------------------------------------------------------


def edit_lines(plan: Any, text: str) -> str:
    lines = list(io.StringIO(text, newline=""))
    for (_, line), (_, by_field) in plan.edits.items():
        for name, change in by_field.items():
            lines[line - 1] = with_labels(lines[line - 1], name, change)
    return "".join(lines)


def edit_json(plan: Any, text: str) -> str:
    spans, pieces, at = json_spans(text), [], 0
    for (_, number), (_, by_field) in sorted(plan.edits.items(), key=lambda one: one[0]):
        start, stop = spans[number - 1]
        item = text[start:stop]
        for name, change in by_field.items():
            item = with_labels(item, name, change)
        pieces += [text[at:start], item]
        at = stop
    return "".join([*pieces, text[at:]])


# --- tables ---------------------------------------------------------------------------------


def edit_table(plan: Any, text: str) -> str:
    layout = plan.reader.files.how.layout
    assert layout is not None
    lines, first = list(io.StringIO(text, newline="")), layout.skip
    for last, cells in cells_of(
        list(lines), layout.delimiter, plan.reader.name, empty=True, **layout.options
    ):
        begin, first = first, last
        if (0, last) not in plan.edits or not any(cells):
            continue
        changed = [*cells, *[""] * (len(layout.columns) - len(cells))]
        for column, change in plan.edits[0, last][1].items():
            place = layout.columns.index(column)
            changed[place] = rewritten(changed[place], change)
        old = "".join(lines[begin:last])
        ending = old[len(old.rstrip("\r\n")) :]
        new = _row(old.rstrip("\r\n"), cells, changed, layout) + ending
        lines[begin:last] = [new, *[""] * (last - begin - 1)]
    return "".join(lines)


def _row(old: str, cells: list[str], changed: list[str], layout: TableLayout) -> str:
    """Return a row with changed cells; the others stay as they were written."""
    mark = layout.delimiter
    if not layout.quoted:
        return mark.join(changed)
    one = f"[^{re.escape(mark)}]*"
    raw = re.findall(f'(?:^|{re.escape(mark)})("(?:[^"]|"")*"{one}|{one})', old)
    if len(raw) != len(cells):
        raise InvalidInput(f"A row is not written as a table's rows are: {old[:80]!r}.")
    raw += [""] * (len(changed) - len(raw))
    for place, (cell, new) in enumerate(zip_longest(cells, changed, fillvalue="")):
        if cell != new:
            quoted = raw[place].startswith('"') or any(c in new for c in (mark, *'"\r\n'))
            raw[place] = '"{}"'.format(new.replace('"', '""')) if quoted else new
    return mark.join(raw)


def edit_workbook(plan: Any) -> dict[str, bytes]:
    member = plan.reader.files.members[0]
    notes: list[str] = []
    rows = xlsx_rows(member, plan.reader.table, notes)
    columns = list(next(rows)[1])
    rows.close()  # type: ignore[attr-defined]
    sheet = ast.literal_eval(notes[0].removeprefix("sheet ").partition(" of ")[0])
    cells = {
        (number, columns.index(name) + 1): new_value(row.get(name) or "", "", change)
        for (_, number), (row, by_field) in plan.edits.items()
        for name, change in by_field.items()
    }
    return {"": with_cells(member.read(), sheet, cells)}


# --- bibliographies ---------------------------------------------------------------------------


def edit_ris(plan: Any, text: str) -> str:
    """Remove and add lines KW of references; lines without a tag go on with the one before."""
    lines = text.splitlines(keepends=True)
    starts = [n for n, line in enumerate(lines) if line.lstrip("\ufeff").startswith("TY  - ")]
    for (_, number), (_, by_field) in sorted(plan.edits.items(), reverse=True):
        (change,) = _of_labels(by_field).values()
        first = starts[number - 1]
        last = next(n for n in range(first, len(lines)) if lines[n].startswith("ER  -"))
        ending = lines[first][len(lines[first].rstrip("\r\n")) :]
        words, tag = [], ""
        for n in range(first, last):
            tag = lines[n][:5] if _RIS_TAG.match(lines[n]) else tag
            words += [n] if tag == "KW  -" else []
        place = words[-1] + 1 if words else last
        lines[place:place] = [f"KW  - {label}{ending}" for label in change.added]
        for n in reversed(words):
            lead = "KW  - " if lines[n].startswith("KW  -") else ""
            # Some programs write all keywords in one line.
            parts = lines[n].removeprefix("KW  -").strip().split(";")
            kept = [one for one in parts if not one.strip() or change.stays(one)]
            if len(kept) < len(parts):
                lines[n : n + 1] = [f"{lead}{';'.join(kept).strip()}{ending}"] if kept else []
                if lead and not kept and not _RIS_TAG.match(lines[n]):
                    lines[n] = lead + lines[n]
    return "".join(lines)


def edit_bibtex(plan: Any, text: str) -> str:
    """Change the keywords of entries."""
    entries, _, _ = bibtex_entries(text)
    numbers = {number: by_field for (_, number), (_, by_field) in plan.edits.items()}
    pieces, at = [], 0
    for number, entry in enumerate(entries, 1):
        start = text.index(entry.raw, at)
        if number in numbers:
            new = entry.raw
            for name, change in _of_labels(numbers[number]).items():
                new = _with_keywords(new, name, change)
            pieces += [text[at:start], new]
            at = start + len(entry.raw)
    return "".join([*pieces, text[at:]])


def _with_keywords(raw: str, field: str, change: LabelChange) -> str:
    # Labels are compared as they are read, and added as LaTeX writes them.
    added = tuple(re.sub(r"(?<!\\)([&%$#_])", r"\\\1", one) for one in change.added)
    change = replace(change, added=added, decode=latex_decoder())
    # An entry may be in parentheses.
    depth, place = int(bool(re.match(r"@\w+\s*\(", raw))), 0
    for match in re.finditer(rf"[{{}}]|(?<=[\s,]){re.escape(field)}\s*=\s*", raw, re.I):
        if match[0] in "{}":
            depth += 1 if match[0] == "{" else -1
        elif depth == 1:
            place = match.end()
            break
    if not place:
        labels = ", ".join(added)
        body = raw.rstrip()[:-1].rstrip()
        line = re.search(r"\n([ \t]+)\w+\s*=", raw)
        comma, lead = "" if body.endswith(",") else ",", f"\n{line[1]}" if line else " "
        return f"{body}{comma}{lead}{field} = {{{labels}}}{raw[len(body) :]}"
    if raw[place] in '{"':
        stop = _end_of(raw, place)
        # The value may be in two pairs of braces.
        while raw[place + 1] == "{" and _end_of(raw, place + 1) == stop - 1:
            place, stop = place + 1, stop - 1
        new = rewritten(raw[place + 1 : stop], change)
        return raw[: place + 1] + new + raw[stop:]
    raise InvalidInput(f"{raw[:40]!r}: {field} is the name of a string, and is not changed.")


def _end_of(raw: str, place: int) -> int:
    """Return the end of a value that begins with a brace or a quotation mark."""
    depth, quoted = 0, raw[place] == '"'
    for at in range(place, len(raw)):
        depth += {"{": 1, "}": -1}.get(raw[at], 0)
        if not depth and at > place and raw[at] == ('"' if quoted else "}"):
            return at
    return len(raw) - 1


# --- Markdown and Calibre -------------------------------------------------------------------


def edit_notes(plan: Any) -> dict[str, bytes]:
    files = {}
    for (file, line), (_, by_field) in plan.edits.items():
        member = plan.reader.files.members[file]
        try:
            content = member.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidFile(f"{member.name} is not UTF-8, and is not changed.") from error
        for name, change in _of_labels(by_field).items():
            content = note_with_labels(content, name, change)
        row = note_row(content, {})
        found = (one for how in plan.parsers.values() for one in how(row.get(how.field)) or ())
        if {normalize("NFC", one) for one in found} != plan.results[file, line]:
            raise InvalidInput(
                f"{member.name}: the labels would be read differently after the change; choose "
                "another name for a label, or change them by hand."
            )
        files[member.path.as_posix()] = content.encode()
    return files


def edit_calibre(plan: Any) -> dict[str, bytes]:
    member = plan.reader.files.members[0]
    base, _ = open_database(member)
    try:
        dirty = base.execute("select 1 from sqlite_master where name = 'metadata_dirtied'")
        marks = dirty.fetchone() is not None
        for row, by_field in plan.edits.values():
            book = int(row["id"])
            change = _of_labels(by_field)["tags"]
            for label in change.added:
                base.execute("insert or ignore into tags (name) values (?)", (label,))
                base.execute(
                    "insert or ignore into books_tags_link (book, tag) "
                    "select ?, id from tags where name = ?",
                    (book, label),
                )
            for label in change.removed:
                base.execute(
                    "delete from books_tags_link where book = ? and tag in "
                    "(select id from tags where name = ?)",
                    (book, label),
                )
            if marks:
                # Calibre then writes the files of these books again.
                base.execute("insert or ignore into metadata_dirtied (book) values (?)", (book,))
        base.execute("delete from tags where id not in (select tag from books_tags_link)")
        base.commit()
        return {"": base.serialize()}
    except sqlite3.DatabaseError as error:
        raise member.damaged(error) from error
    finally:
        base.close()
