"""Workbooks and databases: xlsx, ods, parquet, SQLite and Calibre's library."""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import date, datetime, time
from itertools import chain, islice, zip_longest
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from .._install import needed
from ..errors import InvalidFile, InvalidInput, InvalidParameter, LabelspanError
from .names import MOST_FIELDS, is_known, known_names, listed, normal, rank
from .plain_text import plain_text
from .sources import Member, check_unpacked
from .tables import column_names, header_of
from .xml_records import xml_elements

__all__ = ["arrow_errors", "ods_rows", "open_database", "parquet_rows", "sqlite_rows"]
__all__ += ["with_cells", "xlsx_rows"]

Fields = dict[str, Any]
# Cells in a row and empty rows after which a sheet ends.
_WIDEST = 2000
_EMPTY_ROWS = 1000
# Sheets, and rows of each in which the names of the columns are looked for.
_MOST_SHEETS = 50
_TOP = 200
# What openpyxl raises for a file that is not a workbook.
_MALFORMED = (zipfile.BadZipFile, LookupError, TypeError, ValueError, AttributeError, SyntaxError)
_ROW = re.compile(
    r'(?P<open><(?P<lead>\w+:)?row\b[^>]*\br="(?P<row>\d+)"[^>]*(?<!/)>)(?P<cells>.*?)'
    r"(?P<close></(?:\w+:)?row>)",
    re.S,
)


# --- workbooks --------------------------------------------------------------------------------


def _sheet_rows(
    names: list[str],
    cells: Callable[[str], Iterable[Iterable[Any]]],
    table: str | None,
    name: str,
    notes: list[str],
) -> Iterator[tuple[int, Fields]]:
    """Yield the rows of the sheet that was asked for, or of the first that has items.

    Those are a sheet with a known name of a column, one with several columns, or any with rows.
    """
    if table is not None and table not in names:
        raise InvalidParameter(
            f"{name}: there is no sheet {table!r} (--table); there are {listed(names)}."
        )
    best = (-1, "")
    for one in [table] if table is not None else names[:_MOST_SHEETS]:
        _, first = next(_headed(enumerate(cells(one), 1), []), (0, None))
        if first is not None:
            rank_of = 2 if any(map(is_known, first)) else int(len(first) > 1)
            best = max(best, (rank_of, one), key=lambda pair: pair[0])
            if rank_of == 2:
                break
    if best[1]:
        notes.append(f"sheet {best[1]!r}" + f" of {listed(names)} (--table)" * (len(names) > 1))
        yield from _headed(enumerate(cells(best[1]), 1), notes)


def xlsx_rows(member: Member, table: str | None, notes: list[str]) -> Iterator[tuple[int, Fields]]:
    """Yield the rows of a sheet of a workbook; formulas have the values that were saved."""
    openpyxl = needed("A workbook", "openpyxl", "formats")
    content = io.BytesIO(member.read())
    try:
        with zipfile.ZipFile(content) as archive:
            check_unpacked(member.name, archive)
            for entry in archive.infolist():
                if entry.filename.endswith((".xml", ".rels")):
                    _refuse_entities(member.name, archive.read(entry))
        book = openpyxl.load_workbook(content, read_only=True, data_only=True, keep_links=False)

        def cells(name: str) -> Iterator[Any]:
            # The size that a file states can be wrong.
            book[name].reset_dimensions()
            yield from book[name].iter_rows(values_only=True)

        with closing(book):
            yield from _sheet_rows(book.sheetnames, cells, table, member.name, notes)
    except LabelspanError:
        raise
    except _MALFORMED as error:
        raise InvalidFile(f"{member.name} is not an xlsx workbook ({error}).") from error


def with_cells(content: bytes, sheet: str, cells: Mapping[tuple[int, int], Any]) -> bytes:
    """Return a workbook with other values in some cells, by row and column from 1.

    Only these cells of the sheet's XML change; all other parts are copied.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w") as copy:
        path = _sheet_path(archive, sheet)
        for entry in archive.infolist():
            part = archive.read(entry)
            if entry.filename == path:
                part = _with_rows(part.decode("utf-8"), cells).encode("utf-8")
            copy.writestr(entry, part)
    return out.getvalue()


def _sheet_path(archive: zipfile.ZipFile, sheet: str) -> str:
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    key = next(
        value
        for one in book.iter()
        if one.tag.endswith("}sheet") and one.get("name") == sheet
        for name, value in one.attrib.items()
        if name.endswith("}id")
    )
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    target = next(one.get("Target", "") for one in links if one.get("Id") == key)
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _with_rows(text: str, cells: Mapping[tuple[int, int], Any]) -> str:
    rows: dict[int, dict[int, Any]] = {}
    for (row, column), value in cells.items():
        rows.setdefault(row, {})[column] = value

    def changed(line: re.Match[str]) -> str:
        row, content = int(line["row"]), line["cells"]
        for column, value in rows.pop(row, {}).items():
            content = _with_cell(content, line["lead"] or "", row, column, value)
        return line["open"] + content + line["close"]

    made = _ROW.sub(changed, text)
    if rows:
        raise InvalidInput(
            f"Row {min(rows)} of the workbook cannot be changed; save it again as .xlsx."
        )
    return made


def _with_cell(cells: str, lead: str, row: int, column: int, value: Any) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    place = f"{letters}{row}"
    # An element without content, or one with an end.
    end = rf"[^>]*?(?:/>|>.*?</{lead}c>)"
    cell = re.search(rf'<{lead}c\b[^>]*\br="{place}"{end}', cells, re.S)
    style = re.search(r'\bs="\d+"', cell[0].partition(">")[0]) if cell else None
    kind, inner = "", f"<{lead}v>{value!s:.20}</{lead}v>"
    if isinstance(value, str):
        kind, text = ' t="inlineStr"', f'<{lead}t xml:space="preserve">{escape(value)}</{lead}t>'
        inner = f"<{lead}is>{text}</{lead}is>"
    elif isinstance(value, bool):
        kind, inner = ' t="b"', f"<{lead}v>{int(value)}</{lead}v>"
    opening = f'<{lead}c r="{place}"{" " + style[0] if style else ""}'
    new = f"{opening}/>" if value in (None, "") else f"{opening}{kind}>{inner}</{lead}c>"
    if cell is not None:
        start, stop = cell.span()
    else:
        # Behind the last cell that is left of it.
        before = [
            one.end()
            for one in re.finditer(rf'<{lead}c\b[^>]*\br="([A-Z]+)\d+"{end}', cells, re.S)
            if (len(one[1]), one[1]) < (len(letters), letters)
        ]
        start = stop = before[-1] if before else 0
    return cells[:start] + new + cells[stop:]


def _refuse_entities(name: str, content: bytes) -> None:
    if any(mark in content for mark in (b"<!ENTITY", "<!ENTITY".encode("utf-16-le"))):
        raise InvalidFile(f"{name} declares XML entities, which workbooks do not have.")


def _headed(
    rows: Iterable[tuple[int, Iterable[Any]]], notes: list[str]
) -> Iterator[tuple[int, Fields]]:
    """Yield the rows of a sheet by the names of its columns, as those of a table of text."""
    empty = 0
    shortened = ((number, _cut(values)) for number, values in rows)
    first = [one for one in islice(shortened, _TOP) if one[1]]
    width = max((len(cells) for _, cells in first), default=0)
    texts = [["" if one is None else str(one) for one in cells] for _, cells in first]
    titles, count, columns, more = header_of([[*row, *[""] * (width - len(row))] for row in texts])
    notes += more
    for number, cells in chain(first[titles + count :], shortened):
        empty = 0 if cells else empty + 1
        if empty > _EMPTY_ROWS:
            return
        if cells:
            yield number, dict(zip_longest(columns, cells[: len(columns)]))


def _cut(values: Iterable[Any]) -> list[Any]:
    cells = [_plain(one) for one in values]
    if len(cells) > MOST_FIELDS:
        raise InvalidFile(
            f"A row of the workbook has more than {MOST_FIELDS:,} cells; at most these are read."
        )
    while cells and cells[-1] in (None, ""):
        cells.pop()
    return cells


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        midnight = value.time() == time()
        return (value.date() if midnight else value.replace(microsecond=0)).isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int | float) else str(value)


def ods_rows(member: Member, table: str | None, notes: list[str]) -> Iterator[tuple[int, Fields]]:
    """Yield the rows of a sheet of an OpenDocument workbook."""
    with zipfile.ZipFile(io.BytesIO(member.read())) as archive:
        check_unpacked(member.name, archive)
        try:
            sheets = archive.read("content.xml")
        except KeyError:
            raise InvalidFile(f"{member.name} is not an OpenDocument workbook.") from None
    inner = Member(PurePosixPath("content.xml"), member.name, lambda: io.BytesIO(sheets))
    found = xml_elements(inner, lambda name, _: name == "table")
    tables = {one.get("name", ""): one for one in found}
    yield from _sheet_rows(
        list(tables), lambda name: _cells(tables[name]), table, member.name, notes
    )


def _cells(sheet: Any) -> Iterator[list[Any]]:
    """Yield the cells of each row; cells and rows that say that they repeat do, within reason."""
    for row in sheet.iter("table-row"):
        cells: list[Any] = []
        for cell in row:
            if cell.tag in ("table-cell", "covered-table-cell"):
                value: Any = "\n".join("".join(part.itertext()) for part in cell.iterfind("p"))
                kind = cell.get("value-type")
                if kind in ("float", "percentage", "currency"):
                    number = float(cell.get("value", "nan"))
                    value = int(number) if number.is_integer() else number
                elif kind == "date":
                    value = cell.get("date-value", value).removesuffix("T00:00:00")
                times = int(cell.get("number-columns-repeated", 1))
                cells += [value] * min(times, _WIDEST - len(cells))
        times = int(row.get("number-rows-repeated", 1))
        yield from [cells] * (min(times, _EMPTY_ROWS + 1) if any(cells) else 1)


# --- parquet ----------------------------------------------------------------------------------


@contextmanager
def arrow_errors(name: str | os.PathLike[str]) -> Iterator[tuple[Any, Any]]:
    """Yield pyarrow and its parquet module; their errors are reported as a damaged file."""
    arrow, parquet = (needed("A parquet file", one, "io") for one in ("pyarrow", "pyarrow.parquet"))
    try:
        yield arrow, parquet
    except (arrow.ArrowException, OSError) as error:
        raise InvalidFile(
            f"{os.fspath(name)} is damaged or not a parquet file ({error}); get it again."
        ) from error


def parquet_rows(member: Member) -> Iterator[Fields]:
    """Yield the rows of a table, a thousand in memory at a time."""
    with (
        arrow_errors(member.name) as (_, parquet),
        member.whole() as file,
        parquet.ParquetFile(file) as table,
    ):
        for batch in table.iter_batches(batch_size=1000):
            yield from batch.to_pylist()


# --- databases --------------------------------------------------------------------------------

_BOOKS = """
    select books.id, books.title, comments.text,
      (select json_group_array(tags.name) from books_tags_link as link
       join tags on tags.id = link.tag where link.book = books.id),
      (select group_concat(authors.name, ' & ') from books_authors_link as link
       join authors on authors.id = link.author where link.book = books.id)
    from books left join comments on comments.book = books.id order by books.id
"""
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, 33}


def open_database(member: Member) -> tuple[sqlite3.Connection, bool]:
    """Open a copy of a database in memory; also return whether it is Calibre's library."""
    content = bytearray(member.read())
    # Not in the mode of a log next to the file, which is not there.
    content[18:20] = b"\x01\x01"
    base = sqlite3.connect(":memory:")
    try:
        base.deserialize(bytes(content))
        base.execute("pragma trusted_schema = off")
        names = {name for (name,) in base.execute("select name from sqlite_master")}
    except sqlite3.DatabaseError as error:
        base.close()
        raise member.damaged(error) from error
    return base, {"books", "tags", "books_tags_link", "comments"} <= names


def sqlite_rows(member: Member, table: str | None, notes: list[str]) -> Iterator[Fields]:
    """Yield the books of Calibre, or the rows of a table or of a query of another database."""
    base, is_calibre = open_database(member)
    try:
        if is_calibre and table is None:
            yield from _books(base)
            return
        query = table or ""
        if not query.lower().lstrip().startswith(("select", "with")):
            query = _query(base, _table(base, member.name, table, notes), notes)
        # Nothing but reading, whatever the query or the file says.
        base.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY
        )
        rows = base.execute(query)
        columns = column_names([column[0] for column in rows.description])
        for row in rows:
            values = (None if isinstance(one, bytes) else one for one in row)
            yield dict(zip(columns, values, strict=True))
    except sqlite3.OperationalError as error:
        raise InvalidParameter(f"{member.name}: the query failed ({error}); see --table.") from None
    except sqlite3.DatabaseError as error:
        raise member.damaged(error) from error
    finally:
        base.close()


def _books(base: sqlite3.Connection) -> Iterator[Fields]:
    for number, title, text, tags, authors in base.execute(_BOOKS):
        yield {
            "id": str(number),
            "title": title,
            "description": plain_text(text or ""),
            "tags": json.loads(tags),
            "authors": (authors or "").replace("|", ","),
        }


def _columns(base: sqlite3.Connection, table: str) -> list[str]:
    return [column[1] for column in base.execute(f'pragma table_info("{table}")')]


def _key(base: sqlite3.Connection, table: str) -> str:
    """Return the column that is the key of a table; "" without one."""
    keys = [column[1] for column in base.execute(f'pragma table_info("{table}")') if column[5]]
    return keys[0] if len(keys) == 1 else ""


def _query(base: sqlite3.Connection, table: str, notes: list[str]) -> str:
    """Return a query of a table, with the labels that another one links to its rows."""
    plain = f'select * from "{table}"'
    columns = {
        one: _columns(base, one)
        for (one,) in base.execute(
            "select replace(name, '\"', '\"\"') as quoted from sqlite_master "
            "where type = 'table' or quoted = ?",
            (table,),
        )
    }
    if any(normal(one) in known_names("labels") for one in columns[table]):
        return plain
    keys = {one: _key(base, one) for one in columns}
    for labels in (one for one in columns if rank(one, "labels") is not None and keys[one]):
        name = next((c for c in known_names("label_keys") if c in columns[labels]), None)
        for link, own in columns.items():
            left, right = (_reference(own, one) for one in (table, labels))
            if name and name != keys[labels] and left and right and keys[table]:
                notes.append(f"labels of {labels!r}, joined by {link!r}")
                return (
                    f'select t.*, l."{labels}" from "{table}" as t left join '
                    f'(select x."{left}" as k, json_group_array(g."{name}") as "{labels}" '
                    f'from "{link}" as x join "{labels}" as g on g."{keys[labels]}" = x."{right}" '
                    f'group by 1) as l on l.k = t."{keys[table]}"'
                )
    return plain


def _reference(columns: list[str], table: str) -> str | None:
    """Return the column that names rows of another table, as note_id of notes."""
    own = normal(table)
    names = {own, own.removesuffix("s"), own.removesuffix("es"), own.removesuffix("ies") + "y"}
    return next(
        (c for c in columns if normal(c).removesuffix(" id") in names and normal(c) != "id"), None
    )


def _table(base: sqlite3.Connection, name: str, table: str | None, notes: list[str]) -> str:
    """Return the table that was asked for, or the one with texts and the most rows."""
    found = base.execute("select name, type from sqlite_master where type in ('table', 'view')")
    kinds = {one: kind for one, kind in found if not one.startswith("sqlite_")}
    if not kinds:
        raise InvalidFile(f"{name} is a database without tables.")
    if table is not None:
        if table not in kinds:
            raise InvalidParameter(
                f"{name}: there is no table {table!r} (--table); there are {listed(list(kinds))}."
            )
        return table.replace('"', '""')
    sizes: dict[str, tuple[bool, int]] = {}
    for one in (one for one, kind in kinds.items() if kind == "table"):
        quoted = one.replace('"', '""')
        columns = _columns(base, quoted)
        texts = sum(
            rank(column, kind) is not None for column in columns for kind in ("texts", "headings")
        )
        (count,) = base.execute(f'select count(*) from "{quoted}"').fetchone()
        sizes[quoted] = (texts > 0, count)
    best = max(sizes, key=lambda one: sizes[one])
    if len(sizes) > 1:
        notes.append(
            f"table {best!r} of {listed(list(sizes))}; --table takes another, or a query that "
            "joins labels"
        )
    return best
