"""From the content of files to rows: one dictionary per item, and its place."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import InvalidFile, InvalidInput, MissingData
from .corpus_files import Opened, decode, open_corpus, open_member
from .corpus_folder import folder_items
from .corpus_labels import ANGLED
from .corpus_members import TABLE_SUFFIXES
from .corpus_names import HEADINGS, IDS, LABELS, TEXTS
from .corpus_tables import Tables, find_tables
from .readers.jsonl import parse_objects
from .readers.lines import malformed
from .readers.parquet import open_table

__all__ = [
    "FORMATS",
    "CorpusRows",
    "JoinedRows",
    "TableLayout",
    "Written",
    "flat",
    "parse_rows",
    "read_rows",
    "split_uris",
    "table_layout",
]

FORMATS = ("jsonl", "json", "csv", "tsv", "uris", "parquet", "lines", "folder")

_SUFFIXES = {**TABLE_SUFFIXES, ".txt": "lines"}
_PARQUET = b"PAR1"
_KNOWN = frozenset((*TEXTS, *HEADINGS, *LABELS, *IDS))
_LONGEST_CELL = 1 << 30
_NO_QUOTES = "quotation marks are part of the text (guessed)"
# Notes on single files of several that are shown.
_FEW_NOTES = 5
# Objects inside objects are read to this depth.
_DEPTH = 4

Numbered = list[tuple[int, dict[str, Any]]]
Cells = list[tuple[int, list[str]]]


@dataclass(frozen=True)
class CorpusRows:
    """Items as dictionaries, with the place of each in what was read."""

    name: str
    kind: str
    items: Sequence[dict[str, Any]]
    places: Sequence[str]
    guessed: bool = False
    encoding: str | None = None
    # For a folder: whether labels are in "files" or in the names of "folders".
    labels_in: str | None = None
    notes: list[str] = field(default_factory=list)
    # Of several tables: the name of each, and the number of its items.
    files: Sequence[tuple[str, int]] = ()

    def place(self, number: int) -> str:
        """Return the place of an item: a line, a row or a file."""
        return self.places[number]

    def where(self, number: int) -> str:
        """Return the place of an item, with the name of the file."""
        return f"{self.name}, {self.places[number]}"

    def fields(self) -> list[str]:
        """Return all keys, in the order in which they first come."""
        found = list(dict.fromkeys(key for item in self.items for key in item))
        # A list of objects is empty in some items, and fields with dotted names in others.
        outer = {key.rpartition(".")[0] for key in found}
        return [
            key
            for key in found
            if key not in outer or any(item.get(key) not in (None, [], {}) for item in self.items)
        ]


def read_rows(
    source: str | os.PathLike[str] | BinaryIO,
    format: str | None,
    *,
    encoding: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> CorpusRows:
    """Read all items; ``format`` None goes by the name, else by the content."""
    if format == "folder" and isinstance(source, str | os.PathLike) and not Path(source).exists():
        raise MissingData(f"There is no folder {os.fspath(source)!r}; correct the path.")
    opened = open_corpus(source)
    if opened.members is not None:
        tables = find_tables(opened.name, opened.members, format)
        if tables is not None:
            return _read_tables(opened.name, tables, Written(format, encoding, header, delimiter))
        items, places, how, notes = folder_items(opened.name, opened.members, encoding)
        return CorpusRows(opened.name, "folder", items, places, labels_in=how, notes=notes)
    if format == "folder":
        raise InvalidInput(f"{opened.name} is a file, not a folder; leave --format out.")
    return parse_rows(opened, format, encoding, header, delimiter)


class Written(NamedTuple):
    """How a table is written, as far as that is known."""

    format: str | None
    encoding: str | None
    header: bool | None
    delimiter: str | None

    def like(self, kind: str, layout: TableLayout | None) -> Written:
        """Return how a table is written that is like one of this kind and layout."""
        if layout is None:
            return self._replace(format=kind)
        headed = layout.header is not None
        return self._replace(format=kind, header=headed, delimiter=layout.delimiter)


class JoinedRows:
    """Rows of several tables, which are put together."""

    def __init__(self, name: str, notes: Sequence[str]) -> None:
        self._name, self._notes = name, list(notes)
        self._said: list[str] = []
        self._kind: str = ""
        self._encoding: str | None = None
        self.items: list[dict[str, Any]] = []
        self._places: list[str] = []
        self._files: list[tuple[str, int]] = []

    def add(self, path: str, rows: CorpusRows, *, whole: bool = True) -> None:
        """Add the rows of a table; all fields are expected in a whole one."""
        if rows.items and not self.items:
            self._kind, self._encoding = rows.kind, rows.encoding
        self.items += rows.items
        self._places += [f"{path}, {place}" for place in rows.places]
        self._said += [f"{path}: {note}" for note in rows.notes]
        if whole:
            self._files.append((rows.name, len(rows.items)))

    def rows(self) -> CorpusRows:
        """Return the rows of all tables."""
        notes = [*self._notes, *self._said[:_FEW_NOTES]]
        if len(self._said) > _FEW_NOTES:
            notes.append(f"{len(self._said) - _FEW_NOTES:,} more such notes on other files")
        return CorpusRows(
            self._name,
            self._kind,
            self.items,
            self._places,
            encoding=self._encoding,
            notes=notes,
            files=self._files,
        )


def _read_tables(name: str, tables: Tables, how: Written) -> CorpusRows:
    """Read tables one after the other; the first with items tells how all are written."""
    join = JoinedRows(name, tables.notes)
    for member in tables.members:
        opened = open_member(name, member)
        rows = parse_rows(opened, *how)
        if rows.items and not join.items:
            layout = None
            if rows.kind in ("csv", "tsv"):
                text, _ = decode(opened.content, opened.name, how.encoding)
                layout = table_layout(opened.name, text, rows.kind, how.delimiter, how.header)
            how = how.like(rows.kind, layout)
        join.add(str(member.path), rows)
    return join.rows()


def parse_rows(
    opened: Opened,
    format: str | None,
    encoding: str | None,
    header: bool | None,
    delimiter: str | None,
) -> CorpusRows:
    """Read all items of the content of a file."""
    name = opened.name
    if format == "parquet" or (format is None and opened.content.startswith(_PARQUET)):
        items = [flat(item) for item in open_table(name, opened.content).to_pylist()]
        places = [f"row {number}" for number in range(1, len(items) + 1)]
        return CorpusRows(name, "parquet", items, places)
    text, used = decode(opened.content, name, encoding)
    known = _SUFFIXES.get(opened.suffix)
    if known == "parquet":
        raise InvalidFile(f"{name} is damaged or not a parquet file; get it again.")
    kind = format or known or _sniffed(text, delimiter)
    # One JSON value over many lines, under the name of JSON lines.
    if format is None and kind == "jsonl" and _first_line(text) in ("{", "["):
        kind = "json"
    # Two columns, the second of URIs in angle brackets, need no name for what they are.
    if format is None and kind in ("tsv", "lines") and _is_uris(text):
        kind = "uris"
    notes: list[str] = []
    word = "line"
    found: Numbered
    if kind == "json":
        found, word = _array(name, text), "item"
    elif kind == "jsonl":
        found = [(number, flat(item)) for number, item in parse_objects(_numbered(text), name)]
    elif kind == "lines":
        found = [(n, {"text": line.rstrip("\n")}) for n, line in _numbered(text) if line.strip()]
    elif kind == "uris":
        found = _uris(name, text)
    else:
        found, notes = _table(name, text, _delimiter(text, kind, delimiter), header)
    items = [item for _, item in found]
    places = [f"{word} {number}" for number, _ in found]
    guessed = format is None and known is None
    return CorpusRows(name, kind, items, places, guessed, used, notes=notes)


def _delimiter(text: str, kind: str, given: str | None) -> str:
    return given or ("\t" if kind == "tsv" else guessed_delimiter(text.partition("\n")[0]))


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(io.StringIO(text, newline=None), 1)


def _sniffed(text: str, delimiter: str | None) -> str:
    """Guess the format from the first line."""
    first = _first_line(text)
    if first.startswith(("{", "[")):
        return "jsonl" if first[0] == "{" else "json"
    mark = delimiter or guessed_delimiter(first)
    words = {part.strip().strip('"').lower() for part in first.split(mark)}
    if delimiter or (len(words) > 1 and words & _KNOWN):
        return "tsv" if mark == "\t" else "csv"
    return "lines"


def _first_line(text: str) -> str:
    return text[:65536].lstrip("\ufeff \t\r\n").partition("\n")[0].rstrip()


def guessed_delimiter(header: str) -> str:
    """Guess the delimiter of the columns of a table from its first line."""
    return max((",", ";", "\t", "|"), key=header.count)


# --- JSON ---


def _array(name: str, text: str) -> Numbered:
    """Return the objects of a JSON array; JSON lines are accepted, too."""
    start = text.lstrip()[:1]
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        if start == "{":
            return [(n, flat(item)) for n, item in parse_objects(_numbered(text), name)]
        raise InvalidFile(f"{name} is not JSON ({error}).") from error
    if isinstance(items, dict):
        lists = [value for value in items.values() if _is_objects(value)]
        # An object around the list, as {"items": [...]}, or a single item.
        items = lists[0] if len(lists) == 1 and len(lists[0]) > 1 else [items]
    if not isinstance(items, list):
        raise InvalidFile(f"{name}: a list of objects is needed, but is {items!r:.60}.")
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise InvalidFile(f"{name}, item {number}: an object is needed, but is {item!r:.60}.")
    return [(number, flat(item)) for number, item in enumerate(items, start=1)]


def _is_objects(value: Any) -> bool:
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return False
    return all(isinstance(one, dict) for one in value)


def flat(item: dict[str, Any], depth: int = _DEPTH) -> dict[str, Any]:
    """Replace objects, and lists of objects, by fields with dotted names."""
    for value in item.values():
        if type(value) is not str and (isinstance(value, dict) or _is_objects(value)):
            break
    else:
        return item
    found: dict[str, Any] = {}
    for key, value in item.items():
        if isinstance(value, dict) and value and depth:
            found.update({f"{key}.{sub}": one for sub, one in flat(value, depth - 1).items()})
        elif _is_objects(value) and depth:
            parts = [flat(one, depth - 1) for one in value]
            for sub in dict.fromkeys(sub for part in parts for sub in part):
                found[f"{key}.{sub}"] = [part[sub] for part in parts if part.get(sub) is not None]
        else:
            found[key] = value
    return found


# --- tables ---


def _is_uris(text: str) -> bool:
    """Tell whether nine lines in ten are a text, a tab and URIs in angle brackets."""
    lines = [line for line in text[:262144].split("\n")[:200] if line.strip()]
    fitting = sum(_split_uris(line) is not None for line in lines)
    return bool(lines) and fitting >= 0.9 * len(lines)


def _split_uris(line: str) -> tuple[str, str] | None:
    text, tab, labels = line.rstrip("\r\n").rpartition("\t")
    if not tab or (labels.strip() and not ANGLED.fullmatch(labels)):
        return None
    return text, labels


def _uris(name: str, text: str) -> Numbered:
    found: Numbered = []
    for number, line in _numbered(text):
        if not line.strip():
            continue
        found.append((number, split_uris(name, number, line)))
    return found


def split_uris(name: str, number: int, line: str) -> dict[str, Any]:
    """Return the item in a line of a text, a tab and URIs."""
    parts = _split_uris(line)
    if parts is None:
        raise malformed(
            name, number, "a text, a tab and URIs in angle brackets are needed (--format tsv)"
        )
    return {"text": parts[0], "labels": parts[1].strip()}


@dataclass(frozen=True)
class TableLayout:
    """How a table is split: its columns, its header (None without one), and options of csv."""

    columns: list[str]
    header: list[str] | None
    delimiter: str
    options: dict[str, Any]


def table_layout(
    name: str, text: str, kind: str, delimiter: str | None, header: bool | None
) -> TableLayout:
    """Find out from the beginning of a table how all of it is split."""
    mark = _delimiter(text, kind, delimiter)
    rows, notes = _cells(name, text, mark)
    columns, headed, _ = _columns(name, rows, header)
    options = {"quoting": csv.QUOTE_NONE} if _NO_QUOTES in notes else {}
    return TableLayout(columns, rows[0][1] if headed else None, mark, options)


def _table(name: str, text: str, delimiter: str, header: bool | None) -> tuple[Numbered, list[str]]:
    rows, notes = _cells(name, text, delimiter)
    if not rows:
        return [], notes
    first = rows[0][1]
    columns, headed, said = _columns(name, rows, header)
    notes += said
    rows = rows[1:] if headed else rows
    stray = [number for number, row in rows if headed and row == first]
    if stray:
        rows = [(number, row) for number, row in rows if row != first]
        notes.append(f"{_lines(stray)} repeat(s) the header; left out")
    return _items(name, rows, columns, delimiter, notes), notes


def _columns(name: str, rows: Cells, header: bool | None) -> tuple[list[str], bool, list[str]]:
    """Return the names of the columns, whether the first row has them, and what was guessed."""
    number, first = rows[0]
    columns = [column.strip() for column in first]
    said = []
    if header is None:
        header = _is_header(columns, [row for _, row in rows[1:2001]])
        if not header:
            said.append("the first line is an item, not a header (guessed)")
    if not header:
        return [f"column {place}" for place in range(1, len(columns) + 1)], False, said
    names = [column for column in columns if column]
    if len(set(names)) < len(names):
        raise malformed(
            name, number, "two columns have the same name; rename one, or give --no-header"
        )
    return [column or f"column {place}" for place, column in enumerate(columns, 1)], True, said


def _items(
    name: str, rows: Cells, columns: list[str], delimiter: str, notes: list[str]
) -> Numbered:
    found: Numbered = []
    short, long = [], []
    for number, row in rows:
        cells = row
        if len(cells) > len(columns) and not any(cells[len(columns) :]):
            cells = cells[: len(columns)]
        if len(cells) > len(columns):
            long.append((number, len(cells)))
            continue
        if len(cells) < len(columns):
            short.append(number)
            cells = [*cells, *[""] * (len(columns) - len(cells))]
        found.append((number, dict(zip(columns, cells, strict=True))))
    if len(long) > len(rows) / 100:
        number, count = long[0]
        raise malformed(
            name,
            number,
            f"{count} cells for {len(columns)} columns; put cells that contain {delimiter!r} in "
            "quotation marks, or name the character between columns (--delimiter)",
        )
    if long:
        lines = _lines([number for number, _ in long])
        notes.append(f"{lines} with more cells than columns; left out")
    if short:
        notes.append(f"{_lines(short)} with fewer cells than columns; the others are empty")
    return found


def _lines(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:3])) + (", ..." if len(numbers) > 3 else "")
    return f"{len(numbers):,} line(s) ({shown})"


def _cells(name: str, text: str, delimiter: str) -> tuple[Cells, list[str]]:
    """Split lines into cells, with quotation marks if they are used to quote."""

    def parse(**options: Any) -> Cells | None:
        reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter, **options)
        try:
            return [(reader.line_num, row) for row in reader if any(row)]
        except csv.Error:
            return None

    # Texts may be longer than the 131,072 characters that Python's reader allows by default.
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        quoted = parse(strict=True)
        if quoted is not None and (delimiter != "\t" or '"' not in text):
            return quoted, []
        plain = parse(quoting=csv.QUOTE_NONE)
        lenient = parse() if quoted is None else quoted
    except ValueError as error:
        raise InvalidFile(f"{name} cannot be split into columns ({error}).") from error
    finally:
        csv.field_size_limit(limit)
    if plain is None and lenient is None:
        raise InvalidFile(f"{name} is not a table; give its format (--format).")
    doubtful = delimiter == "\t" and quoted is None
    if lenient is None or (plain is not None and _is_better(plain, lenient, doubtful)):
        return plain or [], [_NO_QUOTES]
    return lenient, [] if quoted is not None else ["some quotation marks do not match"]


def _is_better(plain: Cells, quoted: Cells, doubtful: bool) -> bool:
    """Tell whether cells without quoting fit their columns better than those with it."""
    ragged, other = (_ragged(rows) for rows in (plain, quoted))
    spans = any("\n" in cell for _, row in quoted for cell in row)
    return ragged < other or (not ragged and (spans or doubtful))


def _ragged(rows: Cells) -> int:
    return sum(len(row) != len(rows[0][1]) for _, row in rows)


def _is_header(columns: list[str], rows: list[list[str]]) -> bool:
    """Tell whether the first line names columns."""
    if {column.lower() for column in columns} & _KNOWN:
        return True
    checks: tuple[Callable[[str], bool], ...] = (
        lambda cell: len(cell) > 60,
        lambda cell: cell[:1] in "<[{(",
        lambda cell: "://" in cell,
        _is_number,
    )
    if any(check(cell) for cell in columns if cell for check in checks):
        return False
    # A name of a column is not one of its values.
    others = [row for row in rows if [cell.strip() for cell in row] != columns]
    return not any(
        column and any(len(row) > place and row[place].strip() == column for row in others)
        for place, column in enumerate(columns)
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
