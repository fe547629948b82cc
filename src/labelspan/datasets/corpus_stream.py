"""A corpus that is read item by item, so that it may be larger than memory."""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import io
import lzma
import os
import shutil
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from .._files import check_there
from ..errors import InvalidFile, InvalidInput
from .corpora import CorpusReading, TaggedTexts, check_options, describe_reading, join_text
from .corpus_archive import archive_kind, archive_members
from .corpus_fields import Asked, Fields, choose_fields, plain
from .corpus_files import Opened, decode, folder_members
from .corpus_folder import FolderText, folder_texts
from .corpus_labels import clean, label_parser, read_vocabulary
from .corpus_members import Member
from .corpus_rows import CorpusRows, TableLayout, flat, parse_rows, split_uris, table_layout
from .readers.jsonl import parse_objects
from .readers.parquet import parquet_rows

__all__ = ["CorpusStream", "StreamedItem", "unpacked_bytes"]

_OPENERS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)
_PACKED_SUFFIXES = {".gz", ".bz2", ".xz"}
# How much larger a packed text is, about.
_UNPACKED = 4
_KINDS = ("jsonl", "csv", "tsv", "uris", "lines")
# Bytes from which formats and fields are guessed.
_HEAD = 1 << 23
# Rows with too many cells that are left out before that counts as an error.
_FEW_LONG = 100


def unpacked_bytes(path: Path) -> int:
    """Return the size of a file, or what it would be unpacked, about."""
    packed = path.suffix.lower() in _PACKED_SUFFIXES
    return path.stat().st_size * (_UNPACKED if packed else 1)


class StreamedItem(NamedTuple):
    """An item of a stream: its text, labels (None if unknown), id and metadata."""

    text: str
    labels: list[str] | None
    id: str
    metadata: dict[str, Any]


class CorpusStream:
    r"""Items of a file of JSON lines, csv, tsv, URIs, plain lines or parquet, or of a folder.

    A tar or zip archive is read as a folder, or if it holds one file as that one. A packed tar
    archive is unpacked to a temporary file first.

    Everything that :func:`read_corpus` guesses is guessed from the first 8 MiB; memory does not
    grow with the file. Of a folder of texts, the names and labels of all files are in memory. That
    ids are different is not checked.

    Parameters
    ----------
    source : path
        A file, also packed by gzip, bzip2 or xz; a parquet file; or a folder with a text per file.
    format, text, labels, ids, separator, labelled, empty, encoding, header, delimiter, vocabulary
        As for :func:`read_corpus`; ``ids=""`` numbers the items.
    head : int, default=8388608
        Bytes from which formats and fields are guessed.
    name : str or None, default=None
        Name in messages of what the file is a copy of; the file is then the same one wherever it
        is, by its content. None is the path.

    Attributes
    ----------
    name : str
        The file.
    reading : CorpusReading
        How the file is read.
    head : TaggedTexts
        The first items.

    See Also
    --------
    read_corpus : Read all items into memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.datasets.corpus_stream import CorpusStream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.csv"
    ...     _ = path.write_text("title,tags\nChess,game|board\nGo,game|board\n")
    ...     [(item.text, item.labels) for item in CorpusStream(path)]
    [('Chess', ['game', 'board']), ('Go', ['game', 'board'])]
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        format: str | None = None,
        text: str | Sequence[str] | None = None,
        labels: str | None = None,
        ids: str | None = None,
        separator: str | None = None,
        labelled: bool = True,
        empty: str = "unknown",
        encoding: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        vocabulary: str | os.PathLike[str] | None = None,
        head: int = _HEAD,
        name: str | None = None,
    ) -> None:
        self._path = Path(source)
        check_there(self._path)
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
        check_options(format, empty, encoding, delimiter)
        self.name, self._copy = str(self._path) if name is None else name, name is not None
        self._empty, self._labelled = empty, labelled
        self._names = {} if vocabulary is None else read_vocabulary(vocabulary, encoding)
        content = b""
        self._members: list[Member] | None = None
        self._only: Member | None = None
        self._enter_archive()
        if self._path.is_dir() or self._members is not None:
            rows, whole = self._folder_head(format, encoding, head)
        elif self._is_parquet(format):
            rows, whole = self._parquet_head(head)
        else:
            content, whole = self._beginning(head)
            rows = self._parsed(content, whole, format, encoding, header, delimiter)
        if not rows.items:
            raise InvalidInput(f"{rows.name} holds no items.")
        self._kind, self._encoding = rows.kind, rows.encoding or "utf-8"
        self._given_encoding = encoding
        wanted = (text,) if isinstance(text, str) else tuple(text or ())
        asked = Asked(wanted, labels, ids, labelled=labelled)
        self._fields: Fields = choose_fields(rows, asked)
        self._layout: TableLayout | None = None
        if rows.kind in ("csv", "tsv"):
            told, _ = decode(content, self.name, encoding)
            self._layout = table_layout(self.name, told, rows.kind, delimiter, header)
        self._read_labels: Callable[[Any, Callable[[], str]], list[str] | None] | None = None
        style = None
        if labelled and self._fields.labels is not None:
            values = [item.get(self._fields.labels) for item in rows.items]
            self._read_labels, style = label_parser(values, self._fields.labels, separator)
        self.reading: CorpusReading
        first = [self._item(number, item, rows.where) for number, item in enumerate(rows.items)]
        self.reading, sentences = describe_reading(rows, asked, self._fields, style, first)
        self.head = TaggedTexts(
            self.name,
            [item.text for item in first],
            [item.labels for item in first],
            [item.id for item in first],
            [item.metadata for item in first],
            sentences if whole else (*sentences, "guessed from the beginning of the file"),
            self._fields.ids is None,
            self.reading,
        )

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What tells whether a file is still the same one."""
        if self._path.is_dir():
            return {"path": str(self._path.resolve()), "files": self._files_seen()}
        if self._copy:
            with self._path.open("rb") as file:
                return {
                    "name": self.name,
                    "sha256": hashlib.file_digest(file, "sha256").hexdigest(),
                }
        found = self._path.stat()
        return {
            "path": str(self._path.resolve()),
            "bytes": found.st_size,
            "modified": found.st_mtime_ns,
        }

    def __iter__(self) -> Iterator[StreamedItem]:
        return self.items()

    def items(self, skip: int = 0) -> Iterator[StreamedItem]:
        """Yield all items after some that are skipped."""
        if self._kind in ("parquet", "folder"):
            for count, (found, row) in enumerate(self._placed(skip), skip):
                yield self._item(count, row, self._at(found))
            return
        try:
            with self._open() as raw:
                codec = "utf-8-sig" if self._encoding == "utf-8" else self._encoding
                with io.TextIOWrapper(raw, encoding=codec, newline=self._newline) as lines:
                    place = 0

                    def where(_: int) -> str:
                        return f"{self.name}, line {place}"

                    for number, (line, item) in enumerate(self._parse(lines)):
                        if number >= skip:
                            place = line
                            yield self._item(number, item, where)
        except UnicodeDecodeError as error:
            raise InvalidFile(f"{self.name} is not {self._encoding} ({error.reason}).") from error
        except _DAMAGED as error:
            raise InvalidFile(f"{self.name} is damaged: {error}; get it again.") from error

    def _at(self, place: str) -> Callable[[int], str]:
        return lambda _: f"{self.name}, {place}"

    def _placed(self, skip: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield items of a table or a folder with their places."""
        if self._kind == "folder":
            for text in self._texts(self._given_encoding)[0][skip:]:
                yield text.place, text.item(self.name, self._given_encoding)
            return
        for number, row in enumerate(parquet_rows(self._path), 1):
            if number > skip:
                yield f"row {number}", flat(row)

    def _texts(self, encoding: str | None) -> tuple[list[FolderText], str, list[str]]:
        members = folder_members(self._path) if self._members is None else self._members
        return folder_texts(self.name, members, encoding)

    def _enter_archive(self) -> None:
        """Find the files of an archive; a packed one is unpacked to a file without a name."""
        if self._path.is_dir():
            return
        try:
            with self._open() as raw:
                kind = archive_kind(raw.read(512))
                if kind is None:
                    return
                file: Any = self._path.open("rb")
                if self._packed():
                    file.close()
                    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
                    raw.seek(0)
                    shutil.copyfileobj(raw, file, 1 << 20)
        except _DAMAGED as error:
            raise InvalidFile(f"{self.name} is damaged: {error}; get it again.") from error
        # The files in it are read as long as this object is there.
        weakref.finalize(self, file.close)
        members = archive_members(self.name, kind, file)
        if len(members) != 1:
            self._members = members
            return
        self._only = members[0]
        self.name = f"{self.name}, {self._only.path}"

    def _packed(self) -> bool:
        with self._path.open("rb") as file:
            return file.read(8).startswith(tuple(_OPENERS))

    def _files_seen(self) -> str:
        """Return a checksum of names, sizes and times of all files."""
        digest = hashlib.sha256()
        for member in folder_members(self._path):
            found = (self._path / member.path).stat()
            digest.update(repr((str(member.path), found.st_size, found.st_mtime_ns)).encode())
        return digest.hexdigest()

    def _folder_head(
        self, format: str | None, encoding: str | None, size: int
    ) -> tuple[CorpusRows, bool]:
        if format not in (None, "folder"):
            raise InvalidInput(f"{self.name} is a folder, and cannot be read as {format}.")
        texts, how, notes = self._texts(encoding)
        items: list[dict[str, Any]] = []
        for text in texts:
            items.append(text.item(self.name, encoding))
            size -= len(items[-1]["text"])
            if size < 0:
                break
        places = [text.place for text in texts[: len(items)]]
        rows = CorpusRows(self.name, "folder", items, places, labels_in=how, notes=notes)
        return rows, len(items) == len(texts)

    def _is_parquet(self, format: str | None) -> bool:
        if self._only is not None:
            if format == "parquet" or self._read_start(4)[0] == b"PAR1":
                raise InvalidInput(
                    f"{self.name} is a parquet file in an archive, which cannot be read as a "
                    "stream; unpack it, and give the file."
                )
            return False
        with self._path.open("rb") as file:
            return format == "parquet" or (format is None and file.read(4) == b"PAR1")

    def _parquet_head(self, size: int) -> tuple[CorpusRows, bool]:
        items: list[dict[str, Any]] = []
        whole = True
        for row in parquet_rows(self._path):
            if size < 0:
                whole = False
                break
            items.append(flat(row))
            size -= len(str(row))
        places = [f"row {number}" for number in range(1, len(items) + 1)]
        return CorpusRows(self.name, "parquet", items, places), whole

    @property
    def _newline(self) -> str | None:
        return "" if self._kind in ("csv", "tsv") else None

    def _open(self) -> BinaryIO:
        if self._only is not None and self._only.open is not None:
            return cast(BinaryIO, self._only.open())
        with self._path.open("rb") as file:
            start = file.read(8)
        for mark, opener in _OPENERS.items():
            if start.startswith(mark):
                return opener(self._path)  # type: ignore[no-any-return]
        return self._path.open("rb")

    def _read_start(self, size: int) -> tuple[bytes, bool]:
        """Return the first bytes of the file, and whether they are all of it."""
        try:
            with self._open() as raw:
                return raw.read(size), not raw.read(1)
        except (OSError, *_DAMAGED) as error:
            raise InvalidFile(f"{self.name} is damaged: {error}; get it again.") from error

    def _beginning(self, size: int) -> tuple[bytes, bool]:
        """Return the first lines of the file, and whether they are all of it."""
        content, whole = self._read_start(size)
        if whole:
            return content, True
        # The last line is not complete, and a cell in quotation marks may have several lines.
        end = content.rfind(b"\n") + 1
        last = end
        while end and content.count(b'"', 0, end) % 2:
            end = content.rfind(b"\n", 0, end - 1) + 1
        return content[: end or last], False

    def _parsed(  # noqa: PLR0917
        self,
        content: bytes,
        whole: bool,
        format: str | None,
        encoding: str | None,
        header: bool | None,
        delimiter: str | None,
    ) -> CorpusRows:
        inner = self._path if self._only is None else Path(self._only.path)
        if inner.suffix.lower() in _PACKED_SUFFIXES:
            inner = inner.with_suffix("")
        opened = Opened(self.name, inner.suffix.lower(), content)
        known = format or inner.suffix.lower().lstrip(".")
        if known in ("parquet", "pq"):
            raise InvalidFile(f"{self.name} is damaged or not a parquet file; get it again.")
        if known in ("json", "folder"):
            raise InvalidInput(
                f"{self.name} cannot be read as a stream; JSON lines, csv, tsv, parquet, plain "
                "lines and folders of texts can: convert it to one of these."
            )
        rows = parse_rows(opened, format, encoding, header, delimiter)
        if rows.kind not in _KINDS:
            raise InvalidInput(
                f"{self.name} is one JSON value, which cannot be read as a stream; write one "
                "object per line (JSON lines)."
            )
        return rows

    def _parse(self, lines: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        if self._layout is not None:
            yield from self._cells(lines, self._layout)
            return
        numbered = enumerate(lines, 1)
        if self._kind == "jsonl":
            for number, item in parse_objects(numbered, self.name):
                yield number, flat(item)
            return
        for number, line in numbered:
            if not line.strip():
                continue
            if self._kind == "uris":
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

    def _item(self, number: int, item: dict[str, Any], where: Callable[[int], str]) -> StreamedItem:
        fields = self._fields
        text = join_text(item, fields.text, lambda: where(number))
        labels: list[str] | None = None
        if self._read_labels is not None:
            labels = self._read_labels(item.get(fields.labels or ""), lambda: where(number))
            if labels and self._names:
                labels = list(dict.fromkeys(self._names.get(label, label) for label in labels))
        if self._labelled:
            labels = labels or (None if self._empty == "unknown" else [])
        name = str(number)
        if fields.ids is not None:
            value = item.get(fields.ids)
            if value is None or isinstance(value, dict | list) or not str(value).strip():
                raise InvalidFile(
                    f"{where(number)}: the field {fields.ids!r} is empty, but every item needs an "
                    "id; choose another field for ids (--ids), or --ids '' to number the items."
                )
            name = clean(str(value))
        table = {key: plain(item[key]) for key in fields.metadata if key in item}
        return StreamedItem(text, labels, name, table)
