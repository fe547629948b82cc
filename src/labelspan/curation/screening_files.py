"""Files of decisions about items: csv and RIS, written with titles, and read again.

A csv file has a header; ``decision`` (or ``answer``, ``included``) is include, exclude or skip, or
yes, no, 1, 0. A RIS file has a record per item, whose notes (``N1``) say ``Decision: include`` and,
where they are known, ``Reason:``, ``Note:``, ``Decided:`` and ``By:``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from ..errors import InvalidInput

__all__ = ["ScreenedItem", "read_decisions", "to_csv", "to_ris"]

Reply = Literal["yes", "no", "skip"]
WORDS: dict[Reply, str] = {"yes": "include", "no": "exclude", "skip": "skip"}
_COLUMNS = ("item", "title", "decision", "reason", "note", "who", "time", "number", "undone")
# Names that other programs give to these columns, and to the values of a decision.
_NAMES = {
    "item": ("item", "id", "record_id", "accession", "key"),
    "title": ("title", "primary_title", "ti"),
    "decision": ("decision", "answer", "included", "label_included", "status", "vote"),
    "reason": ("reason", "exclusion_reason"),
    "note": ("note", "notes", "exported_notes_1"),
}
_VALUES: dict[str, Reply] = {
    **dict.fromkeys(("include", "included", "yes", "y", "1", "1.0", "true", "relevant"), "yes"),
    **dict.fromkeys(("exclude", "excluded", "no", "n", "0", "0.0", "false", "irrelevant"), "no"),
    **dict.fromkeys(("skip", "skipped", "maybe", "unsure"), "skip"),
}
_TAG = re.compile(r"^([A-Z][A-Z0-9])  -(?: (.*))?$")
# What a spreadsheet takes for the beginning of a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


class ScreenedItem(NamedTuple):
    """A decision about an item, as it is written to a file or read from one."""

    item: str
    title: str
    answer: Reply
    reason: str = ""
    note: str = ""
    who: str = ""
    time: str = ""
    number: int = 0
    undone: bool = False
    text: str = ""


def to_csv(decisions: Iterable[ScreenedItem]) -> str:
    """Return decisions as csv, one per line after a header."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(_COLUMNS)
    for one in decisions:
        row = [one.item, one.title, WORDS[one.answer], one.reason, one.note, one.who, one.time]
        # What looks like a formula gets a quote; ids are kept, so that they are found again.
        cells = [row[0], *(f"'{cell}" if cell.startswith(_FORMULAS) else cell for cell in row[1:])]
        table.writerow([*cells, one.number, "yes" if one.undone else ""])
    return out.getvalue()


def to_ris(decisions: Iterable[ScreenedItem]) -> str:
    """Return decisions as RIS, one record per item."""
    lines: list[str] = []
    for one in decisions:
        notes = {"Decision": WORDS[one.answer], "Reason": one.reason, "Note": one.note}
        notes |= {"Decided": one.time, "By": one.who}
        lines += ["TY  - GEN", f"ID  - {_line(one.item)}", f"TI  - {_line(one.title)}"]
        lines += [f"AB  - {_line(one.text)}"] if one.text else []
        lines += [f"N1  - {name}: {_line(value)}" for name, value in notes.items() if value]
        lines += ["ER  - ", ""]
    return "\r\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def read_decisions(content: str) -> list[ScreenedItem]:
    """Read decisions from the text of a csv or RIS file.

    Parameters
    ----------
    content : str
        The text of the file.

    Returns
    -------
    list of ScreenedItem
        Records without a decision are left out.

    Examples
    --------
    >>> from labelspan.curation.screening_files import read_decisions
    >>> lines = ["id,title,decision,reason", "7,A trial,exclude,animals"]
    >>> (found,) = read_decisions(chr(10).join(lines))
    >>> found.item, found.answer, found.reason
    ('7', 'no', 'animals')
    """
    content = content.removeprefix("\ufeff")
    ris = any(_TAG.match(line) for line in content.lstrip().splitlines()[:1])
    found = _read_ris(content) if ris else _read_csv(content)
    if not found:
        raise InvalidInput(
            "decisions: none were found. A csv file needs a column decision with include, exclude "
            "or skip, and id or title; a RIS file notes (N1) such as Decision: include."
        )
    return found


def _read_csv(content: str) -> list[ScreenedItem]:
    head = content.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    rows = csv.DictReader(io.StringIO(content, newline=""), delimiter=separator)
    names = {name.strip().lower(): name for name in rows.fieldnames or ()}
    columns = {
        what: next((names[one] for one in known if one in names), "")
        for what, known in _NAMES.items()
    }
    if not columns["decision"]:
        return []
    return [
        found
        for row in rows
        if (row.get("undone") or "") != "yes"
        and (found := _decision({what: row.get(name) or "" for what, name in columns.items()}))
    ]


def _read_ris(content: str) -> list[ScreenedItem]:
    found: list[ScreenedItem] = []
    record: dict[str, str] = {}
    for line in content.splitlines():
        match = _TAG.match(line)
        if match is None:
            continue
        tag, value = match[1], (match[2] or "").strip()
        if tag == "ER":
            made = _decision(record)
            found += [made] if made else []
            record = {}
        elif tag in ("ID", "AN"):
            record.setdefault("item", value)
        elif tag in ("TI", "T1"):
            record["title"] = value
        elif tag == "N1":
            name, _, rest = value.partition(":")
            record.setdefault(name.strip().lower(), rest.strip())
    return found


def _decision(record: Mapping[str, str]) -> ScreenedItem | None:
    answer = _VALUES.get(record.get("decision", "").strip().lower())
    if answer is None:
        return None
    item, title, reason, note = (
        record.get(name, "").strip() for name in ("item", "title", "reason", "note")
    )
    return ScreenedItem(item, title, answer, reason, note)
