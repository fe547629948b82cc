"""From files to rows: the format of a file, and one dictionary per item, read one by one."""

from __future__ import annotations

import html
import io
import json
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any
from xml.parsers import expat

from .._install import install_command
from ..errors import InvalidFile, InvalidInput
from .fields import listed, rank
from .front_matter import split_front_matter
from .sources import LONGEST, READABLE, Member, encoding_of, lines_of, open_text, text_of
from .tables import (
    Row,
    TableLayout,
    Tally,
    is_table,
    split_tagged,
    table_layout,
    table_rows,
    tagged_kind,
)

__all__ = [
    "FORMATS",
    "SUFFIXES",
    "CorpusFiles",
    "Placed",
    "arrow_errors",
    "open_calibre",
    "xml_elements",
]

FORMATS = tuple(
    "jsonl json csv tsv uris parquet lines posts calibre folder markdown".split()  # noqa: SIM905
)
SUFFIXES = {
    **{f".{kind}": kind for kind in ("jsonl", "json", "csv", "tsv", "parquet")},
    **{".ndjson": "jsonl", ".tab": "tsv", ".pq": "parquet"},
    **{".txt": "lines", ".xml": "posts", ".db": "calibre"},
}
# What the number of a row counts, where that is not a line.
_WORDS = {"json": "item", "parquet": "row", "posts": "row", "calibre": "book"}
# Characters from which formats and columns are guessed.
_SAMPLE = 1 << 21
# Characters of JSON that are read at a time, at least.
_BLOCK = 1 << 16
# Notes on single files of several that are shown.
_FEW_NOTES = 5
# Objects inside objects are read to this depth.
_DEPTH = 4
# Formats that are not text, and how their files begin.
_BINARY = ("parquet", "posts", "calibre")
_BEGINNINGS = {b"SQLite format 3": "calibre", b"PAR1": "parquet", b"<posts": "posts"}
_SPACE = re.compile(r"[ \t\r\n]*")
_TAG = re.compile(r"<[^<>]*>")

# Number of the file, number of the row in it, and its fields.
Placed = tuple[int, int, dict[str, Any]]


@dataclass(frozen=True)
class _Format:
    """How a file is written."""

    kind: str
    encoding: str | None = None
    guessed: bool = False
    layout: TableLayout | None = None
    # For a text and labels with tabs between them: whether the labels are URIs.
    angled: bool = True


class CorpusFiles:
    """Items in files of one format, read one file after the other.

    ``kind`` and ``encoding`` are None if they are to be guessed. For a folder
    of texts, ``fields`` has the metadata of each file.
    """

    def __init__(
        self,
        name: str,
        members: Sequence[Member],
        kind: str | None,
        encoding: str | None,
        *,
        notes: Sequence[str] = (),
        fields: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.name, self.members = name, tuple(members)
        self._kind, self._encoding, self._notes = kind, encoding, list(notes)
        self._fields = fields
        self._formats: dict[int, _Format] = {}
        self._tallies: dict[int, Tally] = {}
        # How the first file with items is written; all others are written as it is.
        self.how = _Format("lines" if kind is None else kind)
        self._found = False
        # Fields that every table must have.
        self.needed: Sequence[str] = ()

    def rows(self, skip: int = 0) -> Iterator[Placed]:
        """Yield all rows after some that are skipped."""
        self._tallies = {}
        # A file of a folder of texts is one item, and need not be read to be skipped.
        start = skip if self._fields else 0
        skip -= start
        for place in range(start, len(self.members)):
            for count, (number, row) in enumerate(self._read(place)):
                if not count:
                    self.check(place, row)
                if not self._found:
                    self.how, self._found = self._formats[place], True
                    self._formats = {place: self.how}
                if skip:
                    skip -= 1
                    continue
                yield place, number, row

    def _read(self, place: int) -> Iterator[Row]:
        member = self.members[place]
        if self._fields:
            self._formats[place] = self.how
            text = text_of(member, self._encoding)
            if self._kind != "markdown":
                return iter([(0, {**self._fields[place], "text": text})])
            fields, body, _ = split_front_matter(text)
            return iter([(0, {**self._fields[place], **flat(fields), "text": body})])
        if place not in self._formats:
            kind = self.how.kind if self._found else self._kind
            self._formats[place] = _find_format(member, kind, self._encoding, self.how.layout)
        tally = self._tallies[place] = {}
        how = self._formats[place]
        return _read_rows(member, how, self._encoding, tally, len(self.members))

    def check(self, place: int, row: dict[str, Any]) -> None:
        """Raise an error if a table lacks a field that is needed; all its rows have the same."""
        lacking = [name for name in self.needed if name not in row]
        if lacking and self.how.kind in ("csv", "tsv", "parquet"):
            raise InvalidFile(
                f"{self.members[place].name} has no field {lacking[0]!r}, which is in other files, "
                f"but {listed(list(row))}; give all files the same fields, or name fields that all "
                "have (--text, --labels, --ids)."
            )

    def where(self, file: int, number: int) -> str:
        """Return the place of an item, for messages."""
        place = "" if self._fields else f", {_WORDS.get(self.how.kind, 'line')} {number}"
        return f"{self.members[file].name}{place}"

    def notes(self) -> list[str]:
        """Return notes on rows that were skipped or repaired so far."""
        said = []
        for place, tally in self._tallies.items():
            layout = self._formats[place].layout if place in self._formats else None
            lead = f"{self.members[place].path}: " if len(self.members) > 1 else ""
            said += [f"{lead}{note}" for note in (layout.notes if layout else ())]
            for what, lines in tally.items():
                some = ", ".join([*map(str, lines[:3]), *["..."] * (len(lines) > 3)])
                said.append(f"{lead}{len(lines):,} line(s) ({some}) {what}")
        if len(said) > _FEW_NOTES:
            said[_FEW_NOTES:] = [f"{len(said) - _FEW_NOTES:,} more such notes on other files"]
        if self.how.kind == "posts":
            said.append("only questions are read, because answers have no tags")
        return [*self._notes, *said]


def _find_format(
    member: Member, kind: str | None, encoding: str | None, like: TableLayout | None
) -> _Format:
    """Detect the format of a file, from its name and its beginning."""
    known, start = SUFFIXES.get(member.suffix), member.read(16)
    first = next((one for mark, one in _BEGINNINGS.items() if start.startswith(mark)), known)
    if (kind or first) in _BINARY:
        return _Format(kind or first or "")
    if kind in ("json", "jsonl", "lines"):
        return _Format(kind, encoding_of(start, encoding).removesuffix("-sig"))
    with open_text(member, encoding) as (text, used):
        sample = text.read(_SAMPLE)
        cut = len(sample) == _SAMPLE
        # A table needs whole lines; a JSON file may have only one.
        if sample.lstrip("\ufeff \t\n")[:1] not in ("[", "{", "<"):
            sample += text.readline(LONGEST)
    lines = [line for line in sample[: 1 << 18].split("\n")[:2000] if line.strip()]
    # The last line may have no end.
    lines = lines[:-1] if len(sample) > 1 << 18 and len(lines) > 1 else lines
    found = _Format(kind or known or _sniffed(sample, lines), used, kind is None and known is None)
    # One JSON value over many lines, under the name of JSON lines.
    if found.kind == "jsonl" and lines and lines[0].strip(" \ufeff") in ("{", "["):
        return replace(found, kind="json")
    if found.kind == "lines" and known:
        found = replace(found, kind=is_table(lines) or "lines")
    if found.kind == "uris" or (kind is None and found.kind in ("tsv", "lines")):
        tagged = tagged_kind(lines)
        if tagged or kind == "uris":
            return replace(found, kind="uris", angled=tagged != "labels")
    if found.kind not in ("csv", "tsv") or not lines:
        return found
    return replace(found, layout=table_layout(member.name, sample, found.kind, cut=cut, like=like))


def _sniffed(sample: str, lines: list[str]) -> str:
    """Guess the format from the content."""
    first = sample[:65536].lstrip("\ufeff \t\r\n").partition("\n")[0].rstrip()
    if first.startswith(("{", "[")):
        return "jsonl" if first[0] == "{" else "json"
    if first.startswith(("<?xml", "<posts")):
        return "posts"
    return is_table(lines) or "lines"


def _read_rows(
    member: Member, how: _Format, encoding: str | None, tally: Tally, n_files: int
) -> Iterator[Row]:
    """Yield the items of a file with their numbers; one is in memory at a time."""
    readers = {"parquet": _parquet, "calibre": _calibre, "posts": _posts}
    if how.kind in readers:
        yield from enumerate(map(flat, readers[how.kind](member)), 1)
        return
    name = member.name
    with open_text(member, encoding) as (text, _):
        if how.kind == "json":
            # A folder of JSON files has a record in each.
            yield from _values(name, text, only_file=n_files == 1)
            return
        lines = lines_of(text, name)
        if how.kind in ("csv", "tsv"):
            if how.layout is not None:
                yield from table_rows(name, lines, how.layout, tally)
            return
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if how.kind == "jsonl":
                yield number, flat(_object(name, number, line))
            elif how.kind == "uris":
                yield number, split_tagged(name, number, line, how.angled)
            else:
                yield number, {"text": line.rstrip("\n")}


# --- JSON -----------------------------------------------------------------------------------


def _object(name: str, number: int, line: str) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidFile(
            f"{name}, line {number}: this is not JSON ({error}); correct the line, or remove it."
        ) from error
    if not isinstance(item, dict):
        raise InvalidFile(f"{name}, line {number}: an object is needed, but this is {item!r:.60}.")
    return item


def _values(name: str, text: io.TextIOBase, *, only_file: bool) -> Iterator[Row]:
    """Yield the objects of a list, of values one after the other, or in an object."""
    start = text.read(_BLOCK).lstrip("\ufeff \t\r\n")
    items = _decoded(name, start, text)
    if not start.startswith("["):
        # JSON lines under the name of JSON have several values.
        first, second = next(items, None), next(items, None)
        if second is not None:
            items = chain([first, second], items)
        elif isinstance(first, dict):
            items = iter(_unwrapped(first, only_file=only_file))
        elif first is not None:
            raise InvalidFile(f"{name}: a list of objects is needed, but is {first!r:.60}.")
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict):
            raise InvalidFile(f"{name}, item {number}: an object is needed, but is {item!r:.60}.")
        yield number, flat(item)


def _decoded(name: str, buffer: str, text: io.TextIOBase) -> Iterator[Any]:
    """Yield the elements of a list, or values one after the other; text is read in blocks."""
    decode = json.JSONDecoder().raw_decode
    is_list = buffer.startswith("[")
    at = int(is_list)
    while True:
        at, problem = _skip(buffer, at), ""
        if is_list and buffer[at : at + 1] == "]":
            return
        try:
            value, end = decode(buffer, at)
            end = _skip(buffer, end)
        except (ValueError, RecursionError) as error:
            end, problem = len(buffer), str(error)
        # A value may go on behind the end of a block. Twice as much is read each time, so that a
        # long one is not decoded again and again.
        held = len(buffer) - at
        if end == len(buffer) and held < LONGEST and (more := text.read(max(_BLOCK, held))):
            buffer, at = buffer[at:] + more, 0
            continue
        if at == len(buffer) and not is_list:
            return
        if not problem and is_list and buffer[end : end + 1] not in (",", "]"):
            problem = "a list has no end"
        if problem:
            raise InvalidFile(f"{name} is not JSON ({problem}).")
        yield value
        at = end + (is_list and buffer[end] == ",")


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _unwrapped(item: dict[str, Any], *, only_file: bool) -> list[dict[str, Any]]:
    """Return the items in one object: those of a list in it, or the object itself.

    ``only_file`` says that the file is the whole corpus, as {"title": "Feed", "items": [...]}.
    """
    lists = [value for value in item.values() if _is_objects(value) and len(value) > 1]
    inside = any(isinstance(value, dict) and _has_text(value) for value in item.values())
    if inside or (_has_text(item) and not only_file):
        return [item]
    with_text = [value for value in lists if _has_text(value[0])]
    if with_text:
        return max(with_text, key=len)
    return lists[0] if len(lists) == 1 and not _has_text(item) else [item]


def _has_text(item: dict[str, Any]) -> bool:
    return any(
        isinstance(value, str)
        and any(rank(key, kind) is not None for kind in ("texts", "headings"))
        for key, value in item.items()
    )


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


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


# --- parquet, StackExchange, Calibre -------------------------------------------------------


@contextmanager
def arrow_errors(name: str | os.PathLike[str]) -> Iterator[tuple[Any, Any]]:
    """Yield pyarrow and its parquet module; their errors are reported as a damaged file."""
    try:
        import pyarrow as arrow  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInput(
            f"A parquet file needs pyarrow, which is not installed; {install_command('io')}."
        ) from error
    try:
        yield arrow, parquet
    except (arrow.ArrowException, OSError) as error:
        raise InvalidFile(
            f"{os.fspath(name)} is damaged or not a parquet file ({error}); get it again."
        ) from error


def _parquet(member: Member) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, a thousand in memory at a time."""
    with (
        arrow_errors(member.name) as (_, parquet),
        member.whole() as file,
        parquet.ParquetFile(file) as table,
    ):
        for batch in table.iter_batches(batch_size=1000):
            yield from batch.to_pylist()


def xml_elements(member: Member) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the names and attributes of the elements of an XML file.

    A document type is refused, because it may declare entities, by which a short file grows
    without bound or reads other files.
    """
    found: list[tuple[str, dict[str, str]]] = []

    def refuse(*_: Any) -> None:
        raise InvalidFile(f"{member.name} declares a document type, which is not allowed.")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = lambda tag, values: found.append((tag.rpartition(" ")[2], values))
    parser.StartDoctypeDeclHandler = refuse
    with member.whole() as file:
        try:
            while chunk := file.read(1 << 18):
                parser.Parse(chunk, False)
                yield from found
                found.clear()
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise InvalidFile(f"{member.name} is not XML ({error}).") from error


def _posts(member: Member) -> Iterator[dict[str, Any]]:
    """Yield the questions of a dump of StackExchange: one element ``row`` with attributes each."""
    empty = True
    for tag, values in xml_elements(member):
        # Answers have no tags.
        if tag == "row" and values.get("PostTypeId", "1") == "1":
            empty = False
            yield {**values, "Body": _plain(values["Body"])} if "Body" in values else values
    if empty:
        raise InvalidFile(f"{member.name} is not a dump of StackExchange; {READABLE}.")


def _plain(text: str) -> str:
    """Return the text of a piece of HTML."""
    text = re.sub(r"<(?:/?p|br|/?li|/?div|/?h\d|/?pre)\b[^<>]*>", "\n", text)
    return re.sub(r"\n\s*\n+", "\n\n", html.unescape(_TAG.sub("", text))).strip()


_BOOKS = """
    select books.id, books.title, comments.text,
      (select json_group_array(tags.name) from books_tags_link as link
       join tags on tags.id = link.tag where link.book = books.id),
      (select group_concat(authors.name, ' & ') from books_authors_link as link
       join authors on authors.id = link.author where link.book = books.id)
    from books left join comments on comments.book = books.id order by books.id
"""


def open_calibre(member: Member) -> sqlite3.Connection:
    """Open a copy in memory of Calibre's library."""
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
    if not {"books", "tags", "books_tags_link", "comments"} <= names:
        base.close()
        raise InvalidFile(
            f"{member.name} is a database, but not Calibre's; export a table as csv. {READABLE}."
        )
    return base


def _calibre(member: Member) -> Iterator[dict[str, Any]]:
    base = open_calibre(member)
    try:
        for number, title, text, tags, authors in base.execute(_BOOKS):
            yield {
                "id": str(number),
                "title": title,
                "description": _plain(text or ""),
                "tags": json.loads(tags),
                "authors": (authors or "").replace("|", ","),
            }
    except sqlite3.DatabaseError as error:
        raise member.damaged(error) from error
    finally:
        base.close()
