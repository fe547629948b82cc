"""Tables of text: how csv, tsv and tagged lines are split, found out from their beginning."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, takewhile
from typing import Any

from ..errors import InvalidFile
from .label_values import ANGLED, IN_ANGLES, is_missing
from .names import MOST_FIELDS, is_known
from .sources import LONGEST

__all__ = [
    "Row",
    "TableLayout",
    "Tally",
    "anki_header",
    "cells_of",
    "column_names",
    "header_of",
    "is_fasttext",
    "is_table",
    "split_fasttext",
    "split_tagged",
    "table_layout",
    "table_rows",
    "tagged_kind",
    "why_not_lines",
]

# The number of a line or of an item, and the fields.
Row = tuple[int, dict[str, Any]]
Cells = list[tuple[int, list[str]]]
# Numbers of the lines that were left out or repaired while a table was read, by what was done.
Tally = dict[str, list[int]]

_URI = re.compile(r"\s*[a-zA-Z][\w+.-]*://\S+\s*")
# Rows with too many cells that are left out before that counts as an error.
_FEW_LONG = 100


@dataclass(frozen=True)
class TableLayout:
    """How a table is split: its columns, the rows that name them, and options of csv."""

    columns: list[str]
    headers: list[list[str]]
    delimiter: str
    quoted: bool
    notes: tuple[str, ...] = ()
    # Lines before the header: comments, a title, and Excel's "sep=;".
    skip: int = 0

    @property
    def options(self) -> dict[str, Any]:
        """Options of :func:`cells_of`."""
        return {"skip": self.skip, **({} if self.quoted else {"quoting": csv.QUOTE_NONE})}


def _delimiter(header: str) -> str:
    """Guess the character between the columns of a table from its first line."""
    return max((",", ";", "\t", "|"), key=header.count)


def _preamble(lines: Sequence[str]) -> int:
    """Return the number of lines before a table: comments with # and fewer cells, and "sep=;"."""
    start = int(bool(lines) and bool(re.fullmatch(r"\ufeff?sep=.", lines[0].strip())))
    for place in range(start, len(lines)):
        line = lines[place]
        if line.strip() and not line.startswith("#"):
            mark = _delimiter(line)
            cells = [one.count(mark) for one in lines[start:place] if one.strip()]
            return place if all(count < line.count(mark) for count in cells) else start
    return start


_ANKI = re.compile(r"#(separator|html|columns|(?:guid|notetype|deck|tags) column):(.*)", re.I)
_ANKI_MARKS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|", "colon": ":"}


def anki_header(lines: Sequence[str]) -> dict[str, str]:
    """Return what the first lines of notes of Anki say: separator, columns, which one has tags."""
    found: dict[str, str] = {}
    for line in lines:
        match = _ANKI.match(line)
        if match is None:
            break
        found[match[1].lower()] = match[2].rstrip("\r\n")
    if found:
        mark = found.get("separator", "tab")
        found["separator"] = _ANKI_MARKS.get(mark.lower(), mark[:1] or "\t")
    return found


def _anki_columns(anki: dict[str, str], width: int) -> list[str]:
    """Return the names of the columns: those that are given, front and back for the others."""
    names = dict(enumerate(filter(None, anki.get("columns", "").split(anki["separator"])), 1))
    names |= {
        int(place[:6]): key.removesuffix(" column")
        for key, place in anki.items()
        if key.endswith(" column") and place.isdecimal()
    }
    rest = iter(["front", "back"] if "columns" not in anki else [])
    return [names.get(n) or next(rest, f"field {n}") for n in range(1, width + 1)]


def is_table(lines: Sequence[str]) -> str | None:
    """Return "csv" or "tsv" if lines look like a table; None for plain text."""
    anki = anki_header(lines)
    if anki:
        return "tsv" if anki["separator"] == "\t" else "csv"
    lines = lines[_preamble(lines) :]
    first = lines[0] if lines else ""
    mark = _delimiter(first)
    cells = [part.strip().strip('"') for part in first.split(mark)]
    if len(cells) > 1 and any(map(is_known, cells)):
        return "tsv" if mark == "\t" else "csv"
    counts = [line.count("\t") for line in lines]
    same = counts.count(counts[0]) if counts and counts[0] else 0
    return "tsv" if same >= 0.95 * len(lines) and len(lines) > 1 else None


# What begins the lines of records: "TI- ", "AU  -", "--AU-- ", "<12>", "Author: ", "\"key\": ".
_LEAD = re.compile(
    r"\s*(?:([A-Z][A-Z0-9]{1,3}) {0,2}[-~:]|--([A-Z]{2,3})--|<(\d+)>|([\w\"][\w \"]{0,24}): )"
)
# Lines from which that is told, and the shares of them that are too many.
_FEW_LINES, _LED, _GOES_ON = 8, 0.4, 0.3


def why_not_lines(lines: Sequence[str]) -> str | None:
    """Return why lines are parts of records, or of texts, rather than texts; None if they may be.

    So are lines that begin as those of bibliographies do, lines of signs only that come again and
    again, indented ones between others, and those that go on in the next.
    """
    full = [line for line in lines if line.strip()]
    if len(full) < _FEW_LINES:
        return None
    leads = Counter(
        match.lastgroup or match[0].strip() for match in map(_LEAD.match, full) if match
    )
    if leads.total() > _LED * len(full) and len(leads) > 1:
        return f"its lines begin as those of records, as {leads.most_common(1)[0][0]!r}"
    mark, count = Counter(map(str.strip, full)).most_common(1)[0]
    if count >= max(3, 0.02 * len(full)) and not any(map(str.isalnum, mark)):
        return f"{count:,} lines are only {mark!r:.30}"
    indented = sum(line[0] in " \t" for line in full)
    if 0.2 * len(full) < indented < 0.9 * len(full):
        return "some of its lines are indented"
    lower = sum(line.lstrip()[0].islower() for line in full)
    ends = sum(
        bool(first.strip()) and first.rstrip()[-1] not in ".!?:;" and second[:1].islower()
        for first, second in pairwise(lines)
    )
    if ends > _GOES_ON * len(full) and lower < 0.9 * len(full):
        return "its lines go on in the next, as those of one long text"
    return None


# --- a text and its labels, separated by tabs -----------------------------------------------


def _is_uris(cell: str) -> bool:
    return not cell.strip() or bool(ANGLED.fullmatch(cell) or _URI.fullmatch(cell))


def tagged_kind(lines: Sequence[str]) -> str | None:
    """Return whether lines are a text, a tab and "uris", or "labels" with tabs between them."""
    rows = [line.split("\t") for line in lines]
    if not rows or sum(len(row) > 1 for row in rows) < 0.9 * len(rows):
        return None
    if sum(len(row) > 1 and _is_uris(row[-1]) for row in rows) >= 0.9 * len(rows):
        return "uris" if any(row[-1].strip() for row in rows) else None
    widths = {len(row) for row in rows}
    if _has_names(rows[0], rows[1:]) or max(widths) < 3 or len(rows) < 3:
        return None
    texts = [row[0] for row in rows]
    labels = [cell.strip() for row in rows for cell in row[1:] if cell.strip()]
    if not labels or sum(map(len, labels)) / len(labels) > 40 or max(map(len, labels)) > 100:
        return None
    prose = sum(" " in text.strip() for text in texts) > 0.5 * len(texts)
    long = sum(map(len, texts)) / len(texts) > 1.5 * sum(map(len, labels)) / len(labels)
    if not (prose and long) or sum(map(_is_number, labels)) > 0.5 * len(labels):
        return None
    # In a table each column has values of its own; labels are in any of them.
    second, others = {row[1] for row in rows if len(row) > 1}, {c for r in rows for c in r[2:]}
    shared = len(second & others - {""}) >= 0.2 * min(len(second), len(others))
    return "labels" if shared or len(widths) > 2 else None


def split_tagged(name: str, number: int, line: str, uris: bool) -> dict[str, Any]:
    """Return the item in a line of a text and its labels."""
    text, *cells = line.rstrip("\r\n").split("\t")
    if not uris:
        return {"text": text, "labels": [cell for cell in cells if cell.strip()]}
    # A text may have tabs, too.
    while cells and not _is_uris(cells[0]):
        text = f"{text}\t{cells.pop(0)}"
    if "\t" not in line or (text and not cells):
        raise InvalidFile(
            f"{name}, line {number}: a text, a tab and URIs in angle brackets are needed "
            "(--format tsv)."
        )
    found = [one for cell in cells for one in IN_ANGLES.findall(cell) or [cell.strip()] if one]
    return {"text": text, "labels": found}


_FASTTEXT = re.compile(r"(?:__label__\S+\s+)+")


def is_fasttext(lines: Sequence[str]) -> bool:
    """Return whether lines begin with labels as fastText has them: __label__game text."""
    return bool(lines) and sum(map(bool, map(_FASTTEXT.match, lines))) > 0.5 * len(lines)


def split_fasttext(line: str) -> dict[str, Any]:
    """Return the item in a line of labels and a text."""
    match = _FASTTEXT.match(line)
    labels = match[0].replace("__label__", "").split() if match else []
    return {"text": line[match.end() if match else 0 :].strip(), "labels": labels}


# --- csv and tsv ----------------------------------------------------------------------------


def table_layout(
    name: str, sample: str, kind: str, *, cut: bool, like: TableLayout | None
) -> TableLayout:
    """Find out from the beginning of a table how all of it is split.

    ``like`` is the layout of another table of the same corpus: both have a header, or none.
    """
    lines = sample[:65536].split("\n")
    anki = anki_header(lines[:20])
    skip = len(list(takewhile(_ANKI.match, lines))) if anki else _preamble(lines)
    sample = "".join(sample.splitlines(keepends=True)[skip:]) if skip else sample
    first = sample.lstrip("\n").partition("\n")[0]
    if anki:
        mark = anki["separator"]
    else:
        mark = "\t" if kind == "tsv" else like.delimiter if like else _delimiter(first)
    if (
        first.count(mark) >= MOST_FIELDS
        and len(next(cells_of(io.StringIO(sample), mark, name))[1]) > MOST_FIELDS
    ):
        raise InvalidFile(f"{name} has more than {MOST_FIELDS:,} columns; at most these are read.")
    numbered, quoted, notes = _sampled(name, sample, mark, cut)
    rows = [row for _, row in numbered[:2001]]
    if anki:
        width = max(map(len, rows), default=0)
        titles, count, columns, more = 0, 0, _anki_columns(anki, width), list[str]()
    else:
        titles, count, columns, more = header_of(rows, None if like is None else len(like.headers))
    skip += numbered[titles - 1][0] if titles else 0
    notes += [f"{skip:,} line(s) before the table left out"] if skip else []
    headers = rows[titles : titles + count]
    return TableLayout(columns, headers, mark, quoted, (*notes, *more), skip)


def header_of(
    rows: Sequence[Sequence[str]], count: int | None = None
) -> tuple[int, int, list[str], list[str]]:
    """Return the numbers of rows above the names and of rows of names, the columns, and notes.

    ``count`` is the number of rows of names if it is known.
    """
    titles = _title_rows(rows)
    rows = rows[titles:]
    notes = []
    if count is None and _has_choices(rows):
        names = [
            below.strip() if _is_choice(rows, n) else above
            for n, (above, below) in enumerate(zip(rows[0], rows[1], strict=True))
        ]
        return titles, 2, column_names(names), ["two lines of names: questions, and their choices"]
    if count is None and _has_groups(rows):
        groups = next(filter(None, rows[0]))
        notes = [f"the line of groups above the names of the columns left out: {groups!r:.60}, ..."]
        return titles + 1, 1, column_names(_grouped(rows[0], rows[1])), notes
    if count is None and rows:
        names = [cell.strip() for cell in rows[0]]
        count = _name_rows(rows) or int(_is_header(names, rows[1:]))
        notes += [] if count else ["the first line is an item, not a header (guessed)"]
    if count and rows:
        # Of several, the one with the most known names.
        best = max(rows[:count], key=lambda row: len(set(filter(is_known, row))))
        notes += [f"{count - 1:,} more line(s) of names left out"] if count > 1 else []
        return titles, count, column_names(best), notes
    width = max(map(len, rows), default=0)
    return titles, 0, [f"column {place}" for place in range(1, width + 1)], notes


def column_names(names: Sequence[str]) -> list[str]:
    """Return names for columns; empty ones get a number, and a name that comes again does, too."""
    found: dict[str, None] = {}
    for place, given in enumerate((one.strip("\ufeff \t\r\n") for one in names), 1):
        name = given or f"column {place}"
        found[name if name not in found else f"{name} {place}"] = None
    return list(found)


class _Unfinished(InvalidFile):
    """The text ends within a cell."""


def cells_of(
    lines: Iterable[str],
    delimiter: str,
    name: str,
    *,
    empty: bool = False,
    skip: int = 0,
    **options: Any,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line number and the cells of each row; also of empty ones if asked."""
    # Texts may be longer than the 131,072 characters that Python's reader allows by default.
    limit, ended = csv.field_size_limit(LONGEST), False

    def given() -> Iterator[str]:
        nonlocal ended
        yield from islice(lines, skip, None)
        ended = True

    reader = csv.reader(given(), delimiter=delimiter, **options)
    try:
        for row in reader:
            if empty or any(row):
                yield reader.line_num + skip, row
    except csv.Error as error:
        kind = _Unfinished if ended else InvalidFile
        raise kind(
            f"{name}, line {reader.line_num + skip} cannot be split into columns ({error})."
        ) from error
    finally:
        csv.field_size_limit(limit)


def table_rows(name: str, lines: Iterator[str], layout: TableLayout, tally: Tally) -> Iterator[Row]:
    """Yield the items of a table; lines that do not fit are counted."""
    columns, width, rows = layout.columns, len(layout.columns), 0
    long: list[int] = []
    begun = False
    for number, row in cells_of(lines, layout.delimiter, name, **layout.options):
        if row in layout.headers:
            if begun:
                tally.setdefault("repeat(s) the header; left out", []).append(number)
            continue
        begun = True
        rows += 1
        if len(row) > width and any(row[width:]):
            long = tally.setdefault("with more cells than columns; left out", [])
            long.append(number)
            if len(long) > max(_FEW_LONG, rows / 100):
                break
            continue
        if len(row) < width:
            what = "with fewer cells than columns; the others are empty"
            tally.setdefault(what, []).append(number)
        cells = [*row[:width], *[""] * (width - len(row))]
        yield number, dict(zip(columns, cells, strict=True))
    if len(long) > rows / 100:
        raise InvalidFile(
            f"{name}, line {long[0]}: more cells than the {width} columns; put cells that "
            f"contain {layout.delimiter!r} in quotation marks."
        )


def _sampled(name: str, text: str, delimiter: str, cut: bool) -> tuple[Cells, bool, list[str]]:
    """Split lines into cells, with quotation marks if they are used to quote."""

    def parse(**options: Any) -> Cells | None:
        found: Cells = []
        try:
            found.extend(cells_of(io.StringIO(text), delimiter, name, **options))
        except _Unfinished:
            # The last cell of a sample may have no end.
            return found if cut and found else None
        except InvalidFile:
            return None
        return found

    strict = parse(strict=True)
    if strict is not None and (delimiter != "\t" or '"' not in text):
        return strict, True, []
    plain = parse(quoting=csv.QUOTE_NONE)
    lenient = parse() if strict is None else strict
    if plain is None and lenient is None:
        raise InvalidFile(f"{name} is not a table; give its format (--format).")
    # Without quotation marks, cells may fit their columns better.
    ragged, other = (
        sum(len(row) != len(rows[0][1]) for _, row in rows) if rows else len(text)
        for rows in (plain, lenient)
    )
    spans = any("\n" in cell for _, row in lenient or () for cell in row)
    doubtful = spans or (delimiter == "\t" and strict is None)
    if ragged < other or (not ragged and doubtful):
        return plain or [], False, ["quotation marks are part of the text (guessed)"]
    return lenient or [], True, [] if strict is not None else ["some quotation marks do not match"]


def _title_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of rows above the header: titles of a few cells, and names of no column."""
    for place in range(min(len(rows) - 3, 10)):
        title, width = list(filter(None, rows[place])), len(rows[place + 1])
        if len(title) > 3 or any(map(is_known, title)):
            return 0
        if 2 * len(title) < sum(map(bool, rows[place + 1])):
            return place + 1 if all(len(row) == width for row in rows[place + 1 :]) else 0
    return 0


def _has_groups(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has names of groups, in merged cells, and the second columns."""
    if len(rows) < 3:
        return False
    above, names = ([cell.strip() for cell in row] for row in rows[:2])
    groups, filled = list(filter(None, above)), list(filter(None, names))
    if not 2 <= len(groups) <= 0.7 * len(filled) or len(filled) < 0.9 * len(names):
        return False
    # A value that comes again is the value of an item, and so is a long one.
    below = {cell.strip() for row in rows[2:] for cell in row}
    # "No." is an abbreviation.
    values = any(_is_value(cell.rstrip(".") or cell) for cell in (*groups, *filled))
    return not (below & set(filled)) and any(map(is_known, filled)) and not values


def _is_choice(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a column has nothing but the name in its second row, as chosen answers do."""
    name = rows[1][place].strip()
    cells = {row[place].strip() for row in rows[2:] if len(row) > place} - {""}
    return bool(name) and cells <= {name}


def _has_choices(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a row of questions is above one of their choices, as SurveyMonkey has them."""
    if len(rows) < 4 or len(rows[0]) != len(rows[1]) or "" not in rows[0][1:]:
        return False
    below = [n for n, cell in enumerate(rows[0]) if not cell.strip()]
    names = {rows[1][n].strip() for n in below}
    return len(names) == len(below) > 1 and sum(_is_choice(rows, n) for n in below) >= 0.9 * len(
        below
    )


def _grouped(above: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return names of columns, behind that of their group where one comes twice or is missing."""
    found, group = [], ""
    for place, name in enumerate(names):
        group = (above[place].strip() if place < len(above) else "") or group
        twice = names.count(name) > 1
        found.append(f"{group} {name}".strip() if twice or not name.strip() else name)
    return found


# How numbers and dates begin.
_MEASURE = re.compile(r"[-+$€£(]?\s*\d")


def _name_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of rows of names: words above columns of numbers or dates, at most three.

    A second one has other words in two such columns, as below the header of a survey; one is enough
    below repeated names, as pandas writes columns of two levels.
    """
    width, below = len(rows[0]), rows[3:]
    measured = []
    for place in range(width):
        cells = [row[place].strip() for row in below if len(row) > place]
        cells = [cell for cell in cells if cell and not is_missing(cell)]
        if len(cells) > 2 and sum(map(bool, map(_MEASURE.match, cells))) >= 0.95 * len(cells):
            measured.append(place)
    named = list(filter(None, rows[0]))
    least = 1 if len(set(named)) < len(named) else 2
    for count, row in enumerate(rows[:3]):
        names = {row[place].strip() for place in measured if len(row) > place} - {""}
        if len(names) < (least if count else 1) or any(
            is_missing(n) or _MEASURE.match(n) for n in names
        ):
            return count
    return 3


def _has_names(cells: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a cell of the first row has a known name that is not a value in other rows."""
    known = {cell.strip() for cell in cells if is_known(cell)}
    values = {cell.strip() for row in rows if list(row) != list(cells) for cell in row}
    return bool(known - values)


def _is_header(columns: list[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line names columns."""
    if _has_names(columns, rows):
        return True
    if any(map(_is_value, filter(None, columns))):
        return False
    # A name of a column is not one of its values.
    others = [row for row in rows if [cell.strip() for cell in row] != columns]
    return not any(
        column and any(len(row) > place and row[place].strip() == column for row in others)
        for place, column in enumerate(columns)
    )


def _is_value(cell: str) -> bool:
    """Return whether a cell is too long for a name, or has another form."""
    long = len(cell) > 60 or len(cell.split()) > 5 or cell[-1] in ".!?"
    return long or cell[0] in "<[{(" or "://" in cell or _is_number(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
