"""Open what holds a corpus: files, packed files, streams, folders and archives."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, cast

from .._files import check_there
from ..errors import InvalidFile, InvalidInput, InvalidParameter

__all__ = [
    "READABLE",
    "Member",
    "Source",
    "check_encoding",
    "lines_of",
    "open_source",
    "open_text",
    "text_of",
    "unpacked_bytes",
]

READABLE = (
    "labelspan reads jsonl, json, csv, tsv, parquet, plain lines, StackExchange's Posts.xml, "
    "Calibre's metadata.db, folders of texts, of Markdown, of JSON or of tables, and tar and zip "
    "archives of these, also packed by gzip, bzip2 or xz"
)
DAMAGED = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    tarfile.TarError,
    zipfile.BadZipFile,
)
_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_PACKED_SUFFIXES = {".gz", ".bz2", ".xz"}
# How much larger a packed text is, about.
_UNPACKED = 4
# Byte order marks; the longer ones first, because one begins like another.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Files that hold no texts which could be read here, by their first bytes.
_STRANGE = {b"%PDF": "a PDF document; convert it to text", b"\x89PNG": "a picture"}
# Control characters that texts do not have.
_CONTROLS = bytes(number for number in range(32) if number not in b"\t\n\v\f\r\x1b")
_CHUNK = 1 << 20
# Characters of a line, at most.
LONGEST = 1 << 29


# Names of files in an archive, and functions that open them.
Files = list[tuple[str, Callable[[], BinaryIO]]]


@dataclass(frozen=True)
class Member:
    """A file of a corpus: its path in the folder or archive, and a function that opens it."""

    path: PurePosixPath
    name: str
    raw: Callable[[], BinaryIO]

    @property
    def suffix(self) -> str:
        """The suffix of the file, or of what is packed in it."""
        packed = self.path.suffix.lower() in _PACKED_SUFFIXES
        return (self.path.with_suffix("") if packed else self.path).suffix.lower()

    def start(self, size: int) -> bytes:
        """Return the first bytes, unpacked."""
        with self.whole() as file:
            return file.read(size)

    def read(self) -> bytes:
        """Return all bytes, unpacked."""
        with self.whole() as file:
            return file.read()

    @contextmanager
    def whole(self) -> Iterator[BinaryIO]:
        """Open the file, unpacked; damage is an error of labelspan."""
        try:
            with self.raw() as file:
                opener = _opener(file)
                with file if opener is None else opener(file) as unpacked:
                    yield unpacked
        except DAMAGED as error:
            raise self.damaged(error) from error
        except OSError as error:
            raise InvalidFile(f"{self.name} cannot be read: {error.strerror or error}.") from error

    def damaged(self, error: Exception) -> InvalidFile:
        """Return the error for a file that is damaged."""
        return InvalidFile(f"{self.name} is damaged: {error}; get it again.")


@dataclass(frozen=True)
class Source:
    """The files of a corpus: one, or those of a folder or of an archive."""

    name: str
    members: tuple[Member, ...]
    is_folder: bool
    # The path, where there is one, and the file that holds an archive or a copy of a stream.
    path: Path | None
    file: BinaryIO | None

    def __post_init__(self) -> None:
        if self.file is not None:
            weakref.finalize(self, self.file.close)

    def fingerprint(self) -> dict[str, Any]:
        """Return what tells whether the files are still the same."""
        if self.path is None and self.file is not None:
            self.file.seek(0)
            return {
                "name": self.name,
                "sha256": hashlib.file_digest(self.file, "sha256").hexdigest(),  # type: ignore[arg-type]
            }
        assert self.path is not None
        found = {"path": str(self.path.resolve())}
        if not self.path.is_dir():
            seen = self.path.stat()
            return {**found, "bytes": seen.st_size, "modified": seen.st_mtime_ns}
        digest = hashlib.sha256()
        for member in _folder_members(self.path):
            seen = (self.path / member.path).stat()
            digest.update(repr((str(member.path), seen.st_size, seen.st_mtime_ns)).encode())
        return {**found, "files": digest.hexdigest()}


def _opener(file: BinaryIO) -> Callable[[Any], Any] | None:
    """Return what unpacks an open file, by its first bytes."""
    start = file.read(8)
    file.seek(0)
    return next((opener for mark, opener in _OPENERS.items() if start.startswith(mark)), None)


def unpacked_bytes(path: Path) -> int:
    """Return the size of a file, or what it would be unpacked, about; of a folder, of all."""
    if path.is_dir():
        return sum(unpacked_bytes(path / member.path) for member in _folder_members(path))
    packed = path.suffix.lower() in _PACKED_SUFFIXES
    return path.stat().st_size * (_UNPACKED if packed else 1)


def open_source(source: str | os.PathLike[str] | BinaryIO, folder: Path | None = None) -> Source:
    """Open a path or a stream; a stream is copied to a file without a name in a folder."""
    if not isinstance(source, str | os.PathLike):
        name = getattr(source, "name", None)
        name = name if isinstance(name, str) and name != "<stdin>" else "standard input"
        file = _copied(source, folder)
        try:
            only = Member(PurePosixPath(PurePath(name).name), name, partial(_view, file))
            return _entered(name, only, None, file)
        except BaseException:
            file.close()
            raise
    path = Path(source)
    check_there(path)
    if path.is_dir():
        return Source(str(path), tuple(_folder_members(path)), True, path, None)
    mode = path.stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise InvalidFile(f"{path} is a device, which may never end; give a file.")
    only = Member(PurePosixPath(path.name), str(path), lambda: path.open("rb"))
    return _entered(str(path), only, path, None)


def _copied(content: BinaryIO, folder: Path | None = None) -> BinaryIO:
    """Copy a stream to a file without a name."""
    file = cast(BinaryIO, tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - returned
    try:
        shutil.copyfileobj(content, file, _CHUNK)
    except BaseException:
        file.close()
        raise
    return file


def _view(file: BinaryIO, start: int = 0, size: int | None = None) -> BinaryIO:
    """Return a part of an open file as a file."""
    end = file.seek(0, io.SEEK_END) if size is None else start + size
    return cast(BinaryIO, io.BufferedReader(_Part(file, start, end)))


class _Part(io.RawIOBase):
    """A part of an open file, as a file."""

    def __init__(self, file: BinaryIO, start: int, end: int) -> None:
        self._file, self._start, self._at, self._end = file, start, start, end

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: self._start, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[whence]
        self._at = max(self._start, base + offset)
        return self._at - self._start

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._at)
        content = self._file.read(max(0, min(len(buffer), self._end - self._at)))
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


# --- folders and archives -------------------------------------------------------------------


def _folder_members(path: Path) -> list[Member]:
    """Return the files of a folder and of the folders in it, by name, but not those of indexes."""
    files = sorted(path.rglob("*"))
    indexes = {folder for file in files if (folder := _index_of(file)) not in (None, path)}
    found = []
    for file in files:
        relative = PurePosixPath(file.relative_to(path).as_posix())
        # Pipes would be waited for, and links may lead nowhere.
        if not file.is_file() or _is_hidden(relative.parts):
            continue
        if not indexes or indexes.isdisjoint(file.parents):
            found.append(
                Member(relative, f"{path}, {relative}", cast(Any, partial(file.open, "rb")))
            )
    return found


def _index_of(file: Path) -> Path | None:
    """Return the folder of a finished or unfinished index to which a file belongs."""
    if file.name == "plan.json" and file.parent.name == "unfinished":
        return file.parent.parent
    if file.name == "manifest.json" and file.is_file():
        with file.open("rb") as content:
            return file.parent if b'"labelspan-index"' in content.read(100) else None
    return None


def _is_hidden(parts: Iterable[str]) -> bool:
    return any(part.startswith(".") for part in parts)


def _entered(name: str, only: Member, path: Path | None, file: BinaryIO | None) -> Source:
    """Enter a file that is an archive; a packed one is unpacked to a file without a name."""
    start = only.start(512)
    for mark, what in _STRANGE.items():
        if start.startswith(mark):
            raise InvalidFile(f"{name} is {what}; {READABLE}.")
    kind = "tar" if start[257:262] == b"ustar" else "zip" if start[:4] == b"PK\x03\x04" else None
    if kind is None:
        return Source(name, (only,), False, path, file)
    with only.raw() as raw:
        packed = _opener(raw) is not None
    with only.whole() if packed else nullcontext() as content:
        held = file or only.raw() if content is None else _copied(content)
    if file is not None and held is not file:
        file.close()
    try:
        files = _tar(held) if kind == "tar" else _zip(name, held)
    except (*DAMAGED, OSError, ValueError) as error:
        held.close()
        raise only.damaged(error) from error
    inner = (
        ([part for part in PurePosixPath(one).parts if part not in ("/", "..")], raw)
        for one, raw in files
    )
    found = [one for one in inner if one[0] and not _is_hidden(one[0])]
    # A folder around all files says nothing.
    while len(found) > 1 and all(
        len(parts) > 1 and parts[0] == found[0][0][0] for parts, _ in found
    ):
        found = [(parts[1:], raw) for parts, raw in found]
    members = [Member(own := PurePosixPath(*parts), f"{name}, {own}", raw) for parts, raw in found]
    members.sort(key=lambda one: one.path)
    return Source(name, tuple(members), len(members) != 1, path, held)


def _tar(file: BinaryIO) -> Files:
    end = file.seek(0, io.SEEK_END)
    file.seek(0)
    found: Files = []
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for one in archive:
            if one.isfile() and not one.issparse():
                if one.offset_data + one.size > end:
                    raise EOFError("unexpected end of data")
                found.append((one.name, partial(_view, file, one.offset_data, one.size)))
            # What was listed is not needed again, and takes a kilobyte per file.
            archive.members = []  # type: ignore[attr-defined]
    return found


def _zip(name: str, file: BinaryIO) -> Files:
    archive = zipfile.ZipFile(file)
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if any(entry.filename == "[Content_Types].xml" for entry in entries):
        raise InvalidFile(f"{name} is a spreadsheet or a document; save it as csv or text.")
    if any(entry.flag_bits & 1 for entry in entries):
        raise InvalidFile(f"{name} is encrypted; unpack it, and give the folder.")
    return [(entry.filename, cast(Any, partial(archive.open, entry))) for entry in entries]


# --- text -----------------------------------------------------------------------------------


def check_encoding(encoding: str) -> None:
    """Raise :class:`InvalidParameter` if Python does not know an encoding of text."""
    try:
        # Other codecs, as base64, are refused here.
        "".encode(encoding)
    except (LookupError, ValueError):
        raise InvalidParameter(
            f"encoding must be one that Python knows, for example utf-8, utf-16, latin-1 or "
            f"cp1252, but {encoding!r} was given."
        ) from None


def encoding_of(start: bytes, encoding: str | None) -> str:
    """Return the encoding given, else the one of the byte order mark, else UTF-8."""
    marked = next((named for mark, named in _MARKS if start.startswith(mark)), None)
    if encoding is None or marked is None:
        return encoding or marked or "utf-8"
    # The mark tells the order of bytes, and is not part of the text.
    same = codecs.lookup(encoding).name.startswith(marked.removesuffix("-sig"))
    return marked if same else encoding


@contextmanager
def open_text(member: Member, encoding: str | None) -> Iterator[tuple[io.TextIOBase, str]]:
    """Open a file as text in which lines end in a newline; yield it and its encoding."""
    codec = "utf-8"
    try:
        with member.whole() as raw:
            start = raw.read(1 << 16)
            raw.seek(0)
            codec = encoding_of(start, encoding)
            if encoding is None and codec == "utf-8":
                _check_plain(start, member.name)
            with io.TextIOWrapper(raw, encoding=codec, newline=None) as text:
                yield text, codec.removesuffix("-sig")
    except UnicodeError as error:
        raise _undecodable(member, codec, encoding, error) from error


def lines_of(text: io.TextIOBase, name: str) -> Iterator[str]:
    """Yield the lines of a text with their ends; one of extreme length is an error."""
    number = 0
    while line := text.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise InvalidFile(
                f"{name}, line {number} has more than {LONGEST:,} characters; split it."
            )
        yield line


def _check_plain(start: bytes, name: str) -> None:
    """Raise an error for UTF-16 without a mark, and for what is not text."""
    if start.count(0) > len(start) / 5:
        little = start[1::2].count(0) > start[::2].count(0)
        named = "utf-16-le" if little else "utf-16-be"
        raise InvalidFile(
            f"{name} looks like UTF-16 without a byte order mark; give encoding={named!r} "
            f"(--encoding {named})."
        )
    if len(start) - len(start.translate(None, _CONTROLS)) > len(start) / 20:
        raise InvalidInput(f"{name} is not a text file; {READABLE}.")


def _undecodable(
    member: Member, codec: str, encoding: str | None, error: UnicodeError
) -> InvalidFile:
    """Return the error for text in another encoding, with the line and what to try."""
    decoder = codecs.getincrementaldecoder(codec)()
    line, bad, reason = 1, b"", str(error)
    with member.whole() as raw:
        try:
            while bad := raw.read(_CHUNK):
                line += decoder.decode(bad).count("\n")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as place:
            reason, bad = place.reason, place.object
            line += bad[: place.start].count(b"\n")
        except UnicodeError:
            pass
    remedy = "give another encoding (--encoding), or leave it out"
    if encoding is None:
        # Latin-1 has all bytes, cp1252 all but five.
        named = "latin-1" if any(one in bad for one in b"\x81\x8d\x8f\x90\x9d") else "cp1252"
        remedy = f"if it is Latin-1 or Windows text, give encoding={named!r} (--encoding {named})"
    what = "UTF-8" if codec.startswith("utf-8") else codec
    # Some codecs quote what they cannot decode, also ends of lines.
    reason = " ".join(reason.split())
    return InvalidFile(f"{member.name}, line {line}: this is not {what} ({reason}); {remedy}.")


def text_of(member: Member, encoding: str | None) -> str:
    """Return all text of a file."""
    with open_text(member, encoding) as (text, _):
        return text.read()
