"""A corpus that is read item by item, so that it may be larger than memory."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from .._files import check_there
from ..errors import InvalidFile, InvalidInput
from .corpora import CorpusReading, TaggedTexts, check_options, describe_reading, join_text
from .corpus_archive import archive_kind, archive_members
from .corpus_fields import Asked, Fields, choose_fields, has_field, missing_field, plain
from .corpus_files import folder_members
from .corpus_folder import FolderText, folder_texts
from .corpus_labels import clean, label_parser, read_vocabulary
from .corpus_members import PACKED_SUFFIXES, Member, is_text, table_kind
from .corpus_rows import CorpusRows, JoinedRows, TableLayout, Written
from .corpus_streamed_file import DAMAGED, StreamedFile
from .corpus_tables import find_tables

__all__ = ["CorpusStream", "StreamedItem", "unpacked_bytes"]

# How much larger a packed text is, about.
_UNPACKED = 4
# Bytes from which formats and fields are guessed.
_HEAD = 1 << 23


def unpacked_bytes(path: Path) -> int:
    """Return the size of a file, or what it would be unpacked, about; of a folder, of all."""
    if path.is_dir():
        files = [path / member.path for member in folder_members(path)]
        return sum(unpacked_bytes(file) for file in files if _is_streamed(file))
    packed = path.suffix.lower() in PACKED_SUFFIXES
    return path.stat().st_size * (_UNPACKED if packed else 1)


def _is_streamed(path: Path) -> bool:
    return is_text(path) or table_kind(path) not in (None, "json")


class StreamedItem(NamedTuple):
    """An item of a stream: its text, labels (None if unknown), id and metadata."""

    text: str
    labels: list[str] | None
    id: str
    metadata: dict[str, Any]


class CorpusStream:
    r"""Items of a file of JSON lines, csv, tsv, URIs, plain lines or parquet, or of a folder.

    A folder holds a text per file, or tables of one format, which are read one after the other by
    their names. A tar or zip archive is read as a folder, or if it holds one file as that one. A
    packed tar archive is unpacked to a temporary file first.

    Everything that :func:`read_corpus` guesses is guessed from the first 8 MiB; memory does not
    grow with the file. Of a folder of texts, the names and labels of all files are in memory. That
    ids are different is not checked.

    Parameters
    ----------
    source : path
        A file, also packed by gzip, bzip2 or xz; a parquet file; or a folder of texts or tables.
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
        self._members: list[Member] | None = None
        # Paths in a folder or archive, and files; without such a path for the only file.
        self._tables: list[tuple[str, StreamedFile]] = []
        self._notes: list[str] = []
        self._size = head
        self._written = Written(format, encoding, header, delimiter)
        self._open_source(format)
        rows, whole = self._tables_head() if self._tables else self._folder_head(format, encoding)
        if not rows.items:
            raise InvalidInput(f"{rows.name} holds no items.")
        self._kind, self._given_encoding = rows.kind, encoding
        wanted = (text,) if isinstance(text, str) else tuple(text or ())
        asked = Asked(wanted, labels, ids, labelled=labelled)
        self._fields: Fields = choose_fields(rows, asked)
        self._check_columns()
        self._read_labels: Callable[[Any, Callable[[], str]], list[str] | None] | None = None
        style = None
        if labelled and self._fields.labels is not None:
            values = [item.get(self._fields.labels) for item in rows.items]
            self._read_labels, style = label_parser(values, self._fields.labels, separator)
        self.reading: CorpusReading
        first = [
            self._item(number, item, partial(rows.where, number))
            for number, item in enumerate(rows.items)
        ]
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
        if self._kind == "folder":
            for count, text in enumerate(self._texts(self._given_encoding)[0][skip:], skip):
                row = text.item(self.name, self._given_encoding)
                yield self._item(count, row, partial(_place, self.name, text.place))
            return
        word, count = "row" if self._kind == "parquet" else "line", 0
        for _, file in self._tables:
            missing = self._fields.needed if len(self._tables) > 1 else ()
            there: dict[str, Any] = {}
            for number, row in self._rows_of(file):
                if missing:
                    missing = tuple(name for name in missing if not has_field(row, name))
                    there |= row
                if count >= skip:
                    yield self._item(count, row, partial(_place, file.name, word, number))
                count += 1
            # A file without items has no fields.
            if missing and there:
                raise missing_field(file.name, missing[0], list(there))

    def _texts(self, encoding: str | None) -> tuple[list[FolderText], str, list[str]]:
        return folder_texts(self.name, self._members or [], encoding)

    def _open_source(self, format: str | None) -> None:
        """Find the tables, or the texts, in a file, folder or archive."""
        if self._path.is_dir():
            self._members = folder_members(self._path)
        else:
            self._enter_archive()
        if self._members is None:
            return
        found = find_tables(self.name, self._members, format)
        if found is None:
            return
        self._notes = found.notes
        for member in found.members:
            path = member.path if member.open is not None else self._path / member.path
            file = StreamedFile(f"{self.name}, {member.path}", path, member.open)
            self._tables.append((str(member.path), file))

    def _enter_archive(self) -> None:
        """Find the files of an archive; a packed one is unpacked to a file without a name."""
        whole = StreamedFile(self.name, self._path)
        self._tables = [("", whole)]
        try:
            with whole.open() as raw:
                kind = archive_kind(raw.read(512))
                if kind is None:
                    return
                file: Any = self._path.open("rb")
                if whole.is_packed():
                    file.close()
                    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
                    raw.seek(0)
                    shutil.copyfileobj(raw, file, 1 << 20)
        except DAMAGED as error:
            raise InvalidFile(f"{self.name} is damaged: {error}; get it again.") from error
        # The files in it are read as long as this object is there.
        weakref.finalize(self, file.close)
        members = archive_members(self.name, kind, file)
        if len(members) != 1:
            self._members, self._tables = members, []
            return
        only = members[0]
        self.name = f"{self.name}, {only.path}"
        self._tables = [("", StreamedFile(self.name, only.path, only.open))]

    def _files_seen(self) -> str:
        """Return a checksum of names, sizes and times of all files."""
        digest = hashlib.sha256()
        for member in folder_members(self._path):
            found = (self._path / member.path).stat()
            digest.update(repr((str(member.path), found.st_size, found.st_mtime_ns)).encode())
        return digest.hexdigest()

    def _folder_head(self, format: str | None, encoding: str | None) -> tuple[CorpusRows, bool]:
        size = self._size
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

    def _tables_head(self) -> tuple[CorpusRows, bool]:
        """Return the first items of tables, and whether they are all."""
        join = JoinedRows(self.name, self._notes)
        left, whole = self._size, True
        for path, file in self._tables:
            # A few rows at the end of what is looked at tell little.
            if join.items and left < self._size / 8:
                return join.rows(), False
            rows, whole, used = file.head(left, self._written)
            left -= used
            if rows.items and not join.items:
                # All tables are written as the first one with items.
                layout = self._layout(file, rows.kind)
                self._written = self._written.like(rows.kind, layout)
            if not path:
                return rows, whole
            join.add(path, rows, whole=whole)
            if not whole:
                break
        return join.rows(), whole

    def _layout(self, file: StreamedFile, kind: str) -> TableLayout | None:
        return file.layout(self._size, kind, self._written) if kind in ("csv", "tsv") else None

    def _rows_of(self, file: StreamedFile) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows of a table with their numbers."""
        self._layout(file, self._kind)
        return file.rows(self._kind, self._given_encoding)

    def _check_columns(self) -> None:
        """Raise an error at once if one of several tables lacks a column."""
        if self._kind not in ("csv", "tsv") or len(self._tables) < 2:
            return
        for _, file in self._tables:
            row: dict[str, Any] = next(self._rows_of(file), (0, {}))[1]
            for name in self._fields.needed if row else ():
                if not has_field(row, name):
                    raise missing_field(file.name, name, list(row))

    def _item(self, number: int, item: dict[str, Any], where: Callable[[], str]) -> StreamedItem:
        fields = self._fields
        text = join_text(item, fields.text, where)
        labels: list[str] | None = None
        if self._read_labels is not None:
            labels = self._read_labels(item.get(fields.labels or ""), where)
            if labels and self._names:
                labels = list(dict.fromkeys(self._names.get(label, label) for label in labels))
        if self._labelled:
            labels = labels or (None if self._empty == "unknown" else [])
        name = str(number)
        if fields.ids is not None:
            value = item.get(fields.ids)
            if value is None or isinstance(value, (dict, list)) or not str(value).strip():
                raise InvalidFile(
                    f"{where()}: the field {fields.ids!r} is empty, but every item needs an "
                    "id; choose another field for ids (--ids), or --ids '' to number the items."
                )
            name = clean(str(value))
        table = {key: plain(item[key]) for key in fields.metadata if key in item}
        return StreamedItem(text, labels, name, table)


def _place(name: str, *place: str | int) -> str:
    return f"{name}, {' '.join(map(str, place))}"
