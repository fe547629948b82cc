"""What differs from the file that was read, and the corrected file: as it was, or as a table."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from typing_extensions import TypedDict

from .._install import needed
from ..answers.collection import name_of
from ..answers.common import PageData, page_of
from ..curation.corrected_file import ChangedCell, Correction, changed_cells, correct_file
from ..curation.decisions import as_table
from ..errors import InvalidInput
from ..index import SemanticIndex
from .downloads import csv_bytes, table_rows
from .endpoint import File, Given
from .requests import Refused, text_input, whole_input
from .schema import Count
from .snapshot import Served

__all__ = [
    "CHANGES_INPUTS",
    "FILE_INPUTS",
    "barred",
    "changed_text",
    "changes",
    "check",
    "send_corrected",
]

_ROWS = 50
# How much of a long value is shown around what changes.
_AROUND = 60
# Formats of the corrected file, and what a page calls them.
_FORMATS = {
    "original": "as the original",
    "csv": "CSV",
    "xlsx": "Excel",
    "decisions": "only the decisions",
}
# What a cell of a workbook cannot hold.
_CONTROLS, _LONGEST_CELL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]"), 32_767
CHANGES_INPUTS = (whole_input("page", "Number of the page, from 1.", 1, 100_000, 1),)
FILE_INPUTS = (
    text_input("as", f"One of {', '.join(_FORMATS)}.", "original", pattern="|".join(_FORMATS)),
)


class ValuePart(NamedTuple):
    """A part of a value, and whether it changes."""

    text: str
    changed: bool


class ChangedRow(TypedDict):
    """What an item has instead of what was read."""

    id: str
    title: str
    field: Annotated[str, "key of the metadata; empty for labels"]
    before: list[ValuePart]
    after: list[ValuePart]
    number: Annotated[Count, "of the last change, to undo it"]
    said: Annotated[str, "that change as a sentence"]
    who: str
    time: Annotated[str, "in UTC"]


class ChangesData(PageData):
    """The answer of ``/changes``."""

    file: Annotated[str, "name of the file that was read; empty if it is not known"]
    rows: Annotated[list[ChangedRow], "what differs, the last change first"]
    formats: Annotated[dict[str, str], "of the corrected file"]


class CheckData(TypedDict):
    """The answer of ``/changes/check.json``."""

    notes: Annotated[list[str], "what the corrected file does not show, or why there is none"]
    changed: Annotated[list[str], "items whose text in the file is another one now"]


class BarData(TypedDict):
    """What stands on every page for those who may edit."""

    name: Annotated[str, "name of the collection"]
    changes: Annotated[Count, "number of values that differ from what was read"]
    review: Annotated[int | None, "findings that wait; null while they are not known"]
    undo: Annotated[str, "what Undo would undo; empty for nothing"]
    formats: Annotated[dict[str, str], "of the corrected file"]


def barred(served: Served) -> BarData:
    """Return what the bar of every page shows."""
    index = served.editor.index
    with served.held() as snapshot:
        review = len(snapshot.findings) if snapshot.audit_state == "ready" else None
    last = next((one for one in index.history(20) if not one.undone and not one.undoes), None)
    return {
        "name": name_of(index),
        "changes": len(changed_cells(index)),
        "review": review,
        "undo": "" if last is None else last.said,
        "formats": _formats(served),
    }


def changes(served: Served, given: Given) -> ChangesData:
    """Show what differs from the file that was read."""
    index, corpus = served.editor.index, served.editor.corpus
    cells, page = page_of(given, changed_cells(index), _ROWS)
    return {
        **page,
        "file": "" if corpus is None else corpus.name,
        "rows": list(_rows(index, cells)),
        "formats": _formats(served),
    }


def check(served: Served, given: Given) -> CheckData:
    """Write the corrected file without sending it, and tell what it does not show."""
    problem, found = _corrected(served)
    if found is None:
        return {"notes": [problem], "changed": []}
    notes = found.notes
    if missing := found.edit.missing:
        words = "1 item is" if len(missing) == 1 else f"{len(missing):,} items are"
        notes.append(f"{words} not in the file, for example {missing[0]:.60}.")
    return {"notes": notes, "changed": list(found.edit.changed)}


def _rows(index: SemanticIndex, cells: Sequence[ChangedCell]) -> Iterator[ChangedRow]:
    titles = {item.id: item.title for item in index.items([one.item for one in cells])}
    made = {one: index.store.history.entry(one) for one in {cell.number for cell in cells}}
    for one in cells:
        entry = made[one.number]
        before, after = changed_parts(one) if one.field else _label_parts(one)
        yield {
            "id": one.item,
            "title": titles[one.item],
            "field": one.field,
            "before": before,
            "after": after,
            "number": one.number,
            "said": "" if entry is None else entry.said,
            "who": "" if entry is None else entry.who,
            "time": "" if entry is None else entry.time,
        }


def _label_parts(cell: ChangedCell) -> tuple[list[ValuePart], list[ValuePart]]:
    old, new = set(cell.before), set(cell.after)
    return (
        [ValuePart(one, one not in new) for one in cell.before],
        [ValuePart(one, one not in old) for one in cell.after],
    )


def changed_parts(cell: ChangedCell) -> tuple[list[ValuePart], list[ValuePart]]:
    """Return two texts in parts; the words that differ are marked."""
    old, new = cell.before[0], cell.after[0]
    start, end = changed_text(old, new)
    lead = old[:start] if start <= _AROUND else f"…{old[start - _AROUND : start]}"
    tail = old[len(old) - end :]
    tail = tail if end <= _AROUND else f"{tail[:_AROUND]}…"
    parts = (
        [(lead, False), (text[start : len(text) - end], True), (tail, False)] for text in (old, new)
    )
    before, after = ([ValuePart(*one) for one in each if one[0]] for each in parts)
    return before, after


def changed_text(old: str, new: str) -> tuple[int, int]:
    """Return how many characters two texts share at their beginning and end, in whole words.

    Examples
    --------
    >>> from labelspan.web.changes_page import changed_text
    >>> changed_text("by John Smith, 1975", "by Jon Smith, 1975")
    (3, 12)
    """
    short = min(len(old), len(new))
    start = next((n for n in range(short) if old[n] != new[n]), short)
    rest = short - start
    end = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    while start and old[start - 1].isalnum():
        start -= 1
    while end and old[len(old) - end].isalnum():
        end -= 1
    return start, end


# --- the corrected file ---------------------------------------------------------------------


def _formats(served: Served) -> dict[str, str]:
    """Return in what the corrected file can be sent."""
    editing = served.editor
    own = editing.corpus is not None and not editing.index.corpus_fields.get("why_not_writable")
    return {key: name for key, name in _FORMATS.items() if own or key != "original"}


def _corrected(served: Served) -> tuple[str, Correction | None]:
    """Return why the file cannot be written, or how it is corrected."""
    editing = served.editor
    if editing.corpus is None:
        return "The file that was indexed is not known here; it can be sent as a table.", None
    index, corpus = editing.index, editing.corpus

    def write() -> Correction:
        return correct_file(index, corpus)

    try:
        status = corpus.stat()
        of = index.store.number, corpus, status.st_mtime_ns, status.st_size
        return "", index.store.once("corrected file", write, of=of)
    except (InvalidInput, OSError) as error:
        return str(error), None


def send_corrected(served: Served, given: Given) -> File:
    """Send the corrected file, or all items or all decisions as a table."""
    wanted, editing = given["as"], served.editor
    name = re.sub(r"[^\w.-]", "_", name_of(editing.index), flags=re.ASCII) or "items"
    if wanted == "decisions":
        return File(f"{name}-decisions.csv", iter([as_table(editing.review.decisions()).encode()]))
    if wanted in ("csv", "xlsx"):
        with served.lease() as snapshot:
            rows = table_rows(snapshot.index)
        content = csv_bytes(rows) if wanted == "csv" else _workbook(rows)
        return File(f"{name}-corrected.{wanted}", iter([content]))
    problem, found = _corrected(served)
    if found is None:
        raise Refused(409, problem)
    if not found.edit.files:
        raise Refused(404, "Nothing was changed: the corrected files would be the same.")
    assert editing.corpus is not None
    many = found.edit.source is not None
    name = f"{editing.corpus.name}.zip" if many else editing.corpus.name
    return File(_corrected_name(name), iter([found.content]))


def _corrected_name(name: str) -> str:
    """Return the name of the corrected copy; a packed file is sent unpacked."""
    name = re.sub(r"\.(gz|bz2|xz)$", "", name, flags=re.IGNORECASE)
    stem, dot, ending = re.sub(r"[^0-9A-Za-z._-]", "_", name).rpartition(".")
    return f"{stem}-corrected.{ending}" if dot else f"{ending}-corrected"


def _workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    openpyxl: Any = needed("A workbook", "openpyxl", "formats")
    book, out = openpyxl.Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("items")
    for row in rows:
        cells = [
            _CONTROLS.sub("\ufffd", one)[:_LONGEST_CELL] if isinstance(one, str) else one
            for one in row
        ]
        sheet.append(cells)
    book.save(out)
    return out.getvalue()
