"""From files, folders and streams to rows: one dictionary an item, and where it stood."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from .._files import read_bytes
from ..errors import InvalidFile, InvalidInput, MissingData
from .corpus_names import HEADINGS, LABELS, TEXTS
from .readers.jsonl import parse_objects
from .readers.lines import decoded_lines, malformed
from .readers.parquet import open_table
from .readers.tables import table_rows

__all__ = ["FORMATS", "Rows", "read_rows"]

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet", "lines", "folder")

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "lines",
}
# Files of a folder that are texts; what has no suffix is one, too.
_TEXTS = {"", ".txt", ".text", ".md", ".rst"}
_PACKED = b"\x1f\x8b"
_PARQUET = b"PAR1"


@dataclass(frozen=True)
class Rows:
    """Items as dictionaries, with the place of each in what was read."""

    name: str
    kind: str
    items: Sequence[dict[str, Any]]
    places: Sequence[str]
    note: str

    def place(self, number: int) -> str:
        """Return the place of an item: a line, a row or a file."""
        return self.places[number]

    def where(self, number: int) -> str:
        """Return the place of an item, with the name of the file."""
        return f"{self.name}, {self.places[number]}"

    def fields(self) -> list[str]:
        """All keys, in the order in which they first come."""
        return list(dict.fromkeys(key for item in self.items for key in item))


def read_rows(source: str | os.PathLike[str] | BinaryIO, format: str | None) -> Rows:
    """Read all items; ``format`` None goes by the name, else by the content."""
    if not isinstance(source, str | os.PathLike):
        name = getattr(source, "name", None)
        name = "standard input" if name in (None, "<stdin>") or isinstance(name, int) else str(name)
        return _parse(name, source.read(), format, named=False)
    path = Path(source)
    if path.is_dir():
        if format not in (None, "folder"):
            raise InvalidInput(f"{path} is a folder, and cannot be read as {format}.")
        return _folder(path)
    if format == "folder":
        raise (InvalidInput if path.exists() else MissingData)(f"There is no folder {str(path)!r}.")
    content = read_bytes(path)
    inner = path.with_suffix("") if path.suffix == ".gz" else path
    known = _SUFFIXES.get(inner.suffix.lower())
    return _parse(str(path), content, format or known, named=format is None and known is not None)


def _parse(name: str, content: bytes, format: str | None, *, named: bool) -> Rows:
    packed = content[:2] == _PACKED
    kind = _sniffed(content, name, packed=packed) if format is None else format
    guess = "" if named or format is not None else " (guessed)"
    note = f"{name} read as {kind}{guess}"
    if kind == "parquet":
        table = open_table(name, content)
        items = table.to_pylist()
        return Rows(name, kind, items, [f"row {n}" for n in range(1, len(items) + 1)], note)
    lines = decoded_lines(content, name, packed=packed)
    found: list[tuple[int, dict[str, Any]]]
    if kind == "json":
        found, word = _array(name, lines), "item"
    else:
        word = "line"
        if kind == "jsonl":
            found = list(parse_objects(lines, name))
        elif kind == "lines":
            found = [(n, {"text": line.rstrip("\n")}) for n, line in lines if line.strip()]
        else:
            found = list(_table(name, lines, "\t" if kind == "tsv" else None))
    items, places = [item for _, item in found], [f"{word} {n}" for n, _ in found]
    return Rows(name, kind, items, places, note)


def _sniffed(content: bytes, name: str, *, packed: bool) -> str:
    """Guess the format from the first bytes and the first line."""
    if content[:4] == _PARQUET:
        return "parquet"
    start = content[:65536]
    if packed:
        try:
            start = zlib.decompressobj(wbits=31).decompress(start, 65536)
        except zlib.error as error:
            raise InvalidFile(f"{name} is damaged: {error}; get it again.") from error
    first = start.decode("utf-8", "replace").lstrip("\ufeff \t\r\n").partition("\n")[0]
    if first.startswith(("{", "[")):
        return "jsonl" if first[0] == "{" else "json"
    mark = _delimiter(first)
    words = {part.strip().strip('"').lower() for part in first.split(mark)}
    if len(words) > 1 and words & {*TEXTS, *HEADINGS, *LABELS}:
        return "tsv" if mark == "\t" else "csv"
    return "lines"


def _delimiter(header: str) -> str:
    """Guess the delimiter of the columns of a table from its first line."""
    return max((",", ";", "\t"), key=header.count)


def _array(name: str, lines: Iterator[tuple[int, str]]) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects of a JSON array; JSON lines are accepted, too."""
    numbered = list(lines)
    text = "".join(line for _, line in numbered)
    if not text.lstrip().startswith("["):
        return list(parse_objects(numbered, name))
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"{name} is not JSON ({error}).") from error
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise InvalidFile(f"{name}, item {number}: an object is needed, but is {item!r:.60}.")
    return list(enumerate(items, start=1))


def _table(
    name: str, lines: Iterator[tuple[int, str]], delimiter: str | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    header = next(lines, (1, ""))
    delimiter = _delimiter(header[1]) if delimiter is None else delimiter
    rows = table_rows(chain([header], lines), name, delimiter)
    number, columns = next(rows, (1, []))
    columns = [column.strip() for column in columns]
    if len(set(columns)) < len(columns):
        raise malformed(name, number, "two columns have the same name; rename one")
    for number, row in rows:
        if len(row) != len(columns):
            raise malformed(name, number, f"{len(row)} cells for {len(columns)} columns")
        yield number, dict(zip(columns, row, strict=True))


def _folder(path: Path) -> Rows:
    """All text files below a folder; the folders on the way to a file are its labels."""
    items, places, others = [], [], 0
    for file in sorted(path.rglob("*")):
        relative = file.relative_to(path)
        if file.is_dir() or any(part.startswith(".") for part in relative.parts):
            continue
        # A number after a dot, as in "mail.12", is not a suffix.
        suffix = file.suffix.lower()
        # Pipes would be waited for, and links may lead nowhere.
        if not file.is_file() or (suffix not in _TEXTS and not suffix[1:].isdigit()):
            others += 1
            continue
        try:
            text = read_bytes(file).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidFile(
                f"{file} is not UTF-8 ({error.reason}); convert it, or take it away."
            ) from error
        items.append({"path": relative.as_posix(), "text": text, "labels": [*relative.parts[:-1]]})
        places.append(f"file {relative.as_posix()!r}")
    note = f"{path} read as a folder of {len(items):,} text file(s)"
    if others:
        note += f"; {others:,} file(s) with other suffixes left out"
    return Rows(str(path), "folder", items, places, note)
