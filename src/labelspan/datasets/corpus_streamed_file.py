"""One file of a corpus that is read item by item: its beginning, and all its rows."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any, AnyStr, BinaryIO, cast

from ..errors import InvalidFile, InvalidInput
from .corpus_files import Opened, decode, encoding_of, is_wide
from .corpus_members import inner_suffix
from .corpus_rows import (
    CorpusRows,
    TableLayout,
    Written,
    flat,
    parse_rows,
    split_uris,
    table_layout,
)
from .readers.jsonl import parse_objects
from .readers.parquet import parquet_rows

__all__ = ["DAMAGED", "StreamedFile"]

DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)
_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_KINDS = ("jsonl", "csv", "tsv", "uris", "lines")
# Rows with too many cells that are left out before that counts as an error.
_FEW_LONG = 100


class StreamedFile:
    """A file on the disk, or in an archive if ``inside`` opens it.

    ``name`` is for messages; ``path`` has the suffix that tells the format.
    """

    def __init__(
        self, name: str, path: PurePath, inside: Callable[[], BinaryIO] | None = None
    ) -> None:
        self.name, self.path, self._inside = name, path, inside
        self._encoding: str | None = None
        self._layout: TableLayout | None = None

    def is_packed(self) -> bool:
        """Tell by its first bytes whether the file is packed."""
        with self._raw() as file:
            return file.read(8).startswith(tuple(_OPENERS))

    def open(self) -> BinaryIO:
        """Open the file, unpacked."""
        with self._raw() as file:
            start = file.read(8)
        for mark, opener in _OPENERS.items():
            if start.startswith(mark):
                return cast(BinaryIO, opener(self.path if self._inside is None else self._raw()))
        return self._raw()

    def is_parquet(self, format: str | None) -> bool:
        """Tell whether the file is a parquet table."""
        if format is not None or self._inside is not None:
            return format == "parquet" or (format is None and self._start(4)[0] == b"PAR1")
        with self._raw() as file:
            return file.read(4) == b"PAR1"

    def head(self, size: int, how: Written) -> tuple[CorpusRows, bool, int]:
        """Return the first rows, whether they are all, and their size."""
        if self.is_parquet(how.format):
            return self._parquet_head(size)
        content, whole = self._beginning(size, how.encoding)
        rows = self._parsed(content, how)
        return rows, whole, len(content)

    def layout(self, size: int, kind: str, how: Written) -> TableLayout | None:
        """Find out from its beginning how a table is split; None if it is empty."""
        if self._layout is None:
            text, self._encoding = decode(
                self._beginning(size, how.encoding)[0], self.name, how.encoding
            )
            if text.strip():
                self._layout = table_layout(self.name, text, kind, how.delimiter, how.header)
        return self._layout

    def rows(self, kind: str, encoding: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield all rows with their numbers; of csv and tsv after :meth:`layout`."""
        if kind == "parquet":
            for number, row in enumerate(self._parquet_rows(), 1):
                yield number, flat(row)
            return
        codec = self._encoding or encoding_of(self._start(8)[0], encoding)
        codec = "utf-8-sig" if codec == "utf-8" else codec
        newline = "" if kind in ("csv", "tsv") else None
        try:
            with (
                self.open() as raw,
                io.TextIOWrapper(raw, encoding=codec, newline=newline) as lines,
            ):
                yield from self._parse(lines, kind)
        except UnicodeDecodeError as error:
            shown = codec.removesuffix("-sig")
            raise InvalidFile(f"{self.name} is not {shown} ({error.reason}).") from error
        except DAMAGED as error:
            raise self._damaged(error) from error

    def _raw(self) -> BinaryIO:
        return Path(self.path).open("rb") if self._inside is None else self._inside()

    def _damaged(self, error: Exception) -> InvalidFile:
        return InvalidFile(f"{self.name} is damaged: {error}; get it again.")

    def _start(self, size: int) -> tuple[bytes, bool]:
        """Return the first bytes of the file, and whether they are all of it."""
        try:
            with self.open() as raw:
                return raw.read(size), not raw.read(1)
        except (OSError, *DAMAGED) as error:
            raise self._damaged(error) from error

    def _beginning(self, size: int, encoding: str | None) -> tuple[bytes, bool]:
        """Return the first lines of the file, and whether they are all of it."""
        content, whole = self._start(size)
        if whole:
            return content, True
        codec = encoding_of(content, encoding)
        if not is_wide(codec):
            return content[: _whole_lines(content, b"\n", b'"')], False
        # Bytes of line ends are also in other characters, and one of these may be cut off.
        try:
            text = codecs.getincrementaldecoder(codec)().decode(content)
        except UnicodeDecodeError:
            # Raised again, with its place, where the rows are parsed.
            return content, False
        return text[: _whole_lines(text, "\n", '"')].encode(codec), False

    def _parquet_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of a parquet table; one in an archive is copied to a file first."""
        if self._inside is None:
            yield from parquet_rows(Path(self.path))
            return
        # Parquet is read from its end, and a file in an archive only from its beginning.
        with tempfile.TemporaryFile() as copy:
            try:
                with self.open() as raw:
                    shutil.copyfileobj(raw, copy, 1 << 20)
            except DAMAGED as error:
                raise self._damaged(error) from error
            yield from parquet_rows(self.name, copy)

    def _parquet_head(self, size: int) -> tuple[CorpusRows, bool, int]:
        items: list[dict[str, Any]] = []
        whole, used = True, 0
        for row in self._parquet_rows():
            if used > size:
                whole = False
                break
            items.append(flat(row))
            used += len(str(row))
        places = [f"row {number}" for number in range(1, len(items) + 1)]
        return CorpusRows(self.name, "parquet", items, places), whole, used

    def _parsed(self, content: bytes, how: Written) -> CorpusRows:
        suffix = inner_suffix(self.path)
        known = how.format or suffix.lstrip(".")
        if known in ("parquet", "pq"):
            raise InvalidFile(f"{self.name} is damaged or not a parquet file; get it again.")
        if known in ("json", "folder"):
            raise InvalidInput(
                f"{self.name} cannot be read as a stream; JSON lines, csv, tsv, parquet, plain "
                "lines and folders of texts can: convert it to one of these."
            )
        opened = Opened(self.name, suffix, content)
        rows = parse_rows(opened, *how)
        if rows.kind not in _KINDS:
            raise InvalidInput(
                f"{self.name} is one JSON value, which cannot be read as a stream; write one "
                "object per line (JSON lines)."
            )
        return rows

    def _parse(self, lines: Any, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
        if kind in ("csv", "tsv"):
            if self._layout is not None:
                yield from self._cells(lines, self._layout)
            return
        numbered = enumerate(lines, 1)
        if kind == "jsonl":
            for number, item in parse_objects(numbered, self.name):
                yield number, flat(item)
            return
        for number, line in numbered:
            if not line.strip():
                continue
            if kind == "uris":
                yield number, split_uris(self.name, number, line)
            else:
                yield number, {"text": line.rstrip("\n")}

    def _cells(self, lines: Any, layout: TableLayout) -> Iterator[tuple[int, dict[str, Any]]]:
        limit = csv.field_size_limit(1 << 30)
        reader = csv.reader(lines, delimiter=layout.delimiter, **layout.options)
        long = rows = 0
        try:
            for row in reader:
                if not any(row) or row == layout.header:
                    continue
                rows += 1
                cells, width = row, len(layout.columns)
                if len(cells) > width and any(cells[width:]):
                    long += 1
                    if long > max(_FEW_LONG, rows / 100):
                        raise InvalidFile(
                            f"{self.name}, line {reader.line_num}: {len(cells)} cells for {width} "
                            "columns, as in many lines before; check the quotation marks."
                        )
                    continue
                cells = [*cells[:width], *[""] * (width - len(cells))]
                yield reader.line_num, dict(zip(layout.columns, cells, strict=True))
        except csv.Error as error:
            raise InvalidFile(
                f"{self.name}, line {reader.line_num} cannot be split into columns ({error})."
            ) from error
        finally:
            csv.field_size_limit(limit)


def _whole_lines(content: AnyStr, line_end: AnyStr, quote: AnyStr) -> int:
    """Return where the last complete row ends."""
    # The last line is not complete, and a cell in quotation marks may have several lines.
    end = content.rfind(line_end) + 1
    last = end
    while end and content.count(quote, 0, end) % 2:
        end = content.rfind(line_end, 0, end - 1) + 1
    return end or last
