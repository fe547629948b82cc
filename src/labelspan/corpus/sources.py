"""Open the sources of a corpus: files, compressed files, streams, folders and archives."""

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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, cast

from .._files import check_there
from ..errors import InvalidFile, InvalidParameter
from .read_twice import TWICE

__all__ = [
    "READABLE",
    "Member",
    "Source",
    "check_encoding",
    "check_unpacked",
    "lines_of",
    "open_source",
    "open_text",
    "text_of",
    "unpacked_bytes",
]

READABLE = (
    "labelspan reads csv, tsv, json, jsonl, parquet, xlsx, ods, SQLite, BibTeX, RIS, MARC, XML of "
    "PubMed, MODS, Dublin Core, Zotero, Evernote, feeds and StackExchange, bookmarks (html), "
    "mail (mbox, eml), yaml, arff, .txt, and folders and archives of these, of texts or of "
    "Markdown notes"
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
_STRANGE = {
    b"%PDF": "a PDF document; convert it to text",
    b"\x89PNG": "a picture",
    b"\xd0\xcf\x11\xe0": "an old office document; save a sheet as .xlsx or .csv",
}
# Control characters that texts do not have.
_CONTROLS = bytes(number for number in range(32) if number not in b"\t\n\v\f\r\x1b")
_CHUNK = 1 << 20
# Characters of a line, at most.
LONGEST = 1 << 24
# A file that unpacks to more than this many bytes, and to this many times its size, is refused:
# texts are packed to a third or a tenth.
_MUCH, _TIMES = 1 << 24, 200
_KINDS = {
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}


@dataclass(frozen=True)
class Member:
    """A file of a corpus: its path in the folder or archive, and a function that opens it."""

    path: PurePosixPath
    name: str
    raw: Callable[[], Any]

    @property
    def suffix(self) -> str:
        """The suffix of the file, or of what is packed in it."""
        packed = self.path.suffix.lower() in _PACKED_SUFFIXES
        return (self.path.with_suffix("") if packed else self.path).suffix.lower()

    def read(self, size: int = -1) -> bytes:
        """Return all bytes or the first ones, unpacked."""
        with self.whole() as file:
            return file.read(size)

    @contextmanager
    def whole(self) -> Iterator[BinaryIO]:
        """Open the file, unpacked; damage is an error of labelspan."""
        try:
            with self.raw() as file:
                opener = _opener(file)
                if opener is None:
                    yield file
                    return
                with opener(file) as unpacked:
                    yield cast(BinaryIO, io.BufferedReader(_Limited(unpacked, file, self.name)))
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
    # Where it is: a path, or a copy of a stream.
    place: Path | BinaryIO
    # Links and pipes in a folder, which are not read.
    n_links: int = 0

    def fingerprint(self) -> dict[str, Any]:
        """Return a fingerprint of the files, to detect changes."""
        if not isinstance(self.place, Path):
            self.place.seek(0)
            content = hashlib.file_digest(cast(Any, self.place), "sha256")
            return {"name": self.name, "sha256": content.hexdigest()}
        path, digest = self.place, hashlib.sha256()
        for file in [path / one.path for one in self.members] if path.is_dir() else [path]:
            found = file.stat()
            digest.update(repr((str(file), found.st_size, found.st_mtime_ns)).encode())
        return {"path": str(path.resolve()), "files": digest.hexdigest()}


def _opener(file: BinaryIO) -> Callable[[Any], Any] | None:
    """Return the decompressor of an open file, by its first bytes."""
    start = file.read(8)
    file.seek(0)
    return next((opener for mark, opener in _OPENERS.items() if start.startswith(mark)), None)


class _Limited(io.RawIOBase):
    """What a packed file unpacks to; one that grows without bound is an error."""

    def __init__(self, unpacked: Any, packed: BinaryIO, name: str) -> None:
        self._unpacked, self._packed, self._name, self._count = unpacked, packed, name, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._unpacked.seek(offset, whence))

    def tell(self) -> int:
        return int(self._unpacked.tell())

    def readinto(self, buffer: Any) -> int:
        content = self._unpacked.read(len(buffer))
        buffer[: len(content)] = content
        self._count += len(content)
        if self._count > _MUCH and self._count > _TIMES * max(1, self._packed.tell()):
            raise _too_much(self._name)
        return len(content)


def _too_much(name: str) -> InvalidFile:
    return InvalidFile(
        f"{name} unpacks to more than {_TIMES} times its size, as a file made to fill memory does; "
        "unpack it and give the result if you trust it."
    )


def check_unpacked(name: str, archive: zipfile.ZipFile) -> None:
    """Raise an error for a zip archive that would grow without bound when it is unpacked."""
    entries = archive.infolist()
    packed, size = (sum(getattr(one, key) for one in entries) for key in _ZIP_SIZES)
    if size > _MUCH and size > _TIMES * max(1, packed):
        raise _too_much(name)


_ZIP_SIZES = ("compress_size", "file_size")


def unpacked_bytes(path: Path) -> int:
    """Return the approximate size of a file when uncompressed; for a folder, of all files."""
    if path.is_dir():
        return sum(unpacked_bytes(path / member.path) for member in _folder_members(path)[0])
    packed = path.suffix.lower() in _PACKED_SUFFIXES
    return path.stat().st_size * (_UNPACKED if packed else 1)


def open_source(source: str | os.PathLike[str] | BinaryIO, folder: Path | None = None) -> Source:
    """Open a path or a stream; a stream is copied to a file without a name in a folder."""
    with ExitStack() as opened:
        if isinstance(source, str | os.PathLike):
            found = _open_path(Path(source), opened)
        else:
            name = getattr(source, "name", None)
            name = name if isinstance(name, str) and name != "<stdin>" else "standard input"
            copy = _copied(source, folder, opened)
            path = PurePosixPath(PurePath(name).name)
            only = Member(path, name, lambda: io.BufferedReader(_View(copy)))
            found = _entered(only, copy, opened)
        # Files stay open as long as the source is used.
        weakref.finalize(found, opened.pop_all().close)
        return found


def _open_path(path: Path, opened: ExitStack) -> Source:
    check_there(path)
    if path.is_dir():
        members, links = _folder_members(path)
        return Source(str(path), tuple(members), True, path, links)
    mode = path.stat().st_mode
    what = next((name for is_kind, name in _KINDS.items() if is_kind(mode)), None)
    if what is not None:
        raise InvalidFile(
            f"{path} is {what}, which may never end; give a file, or - for standard input."
        )
    only = Member(PurePosixPath(path.name), str(path), partial(path.open, "rb"))
    return _entered(only, path, opened)


def _copied(content: BinaryIO, folder: Path | None, opened: ExitStack) -> BinaryIO:
    """Copy a stream to a file without a name."""
    file = cast(BinaryIO, tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - closed by opened
    opened.enter_context(file)
    shutil.copyfileobj(content, file, _CHUNK)
    file.seek(0)
    return file


class _View(io.RawIOBase):
    """An open file, read from a position that no other view changes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._at = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._file.seek(self._at)
        self._at = self._file.seek(offset, whence)
        return self._at

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._at)
        count = cast(Any, self._file).readinto(buffer)
        self._at += count
        return int(count)


# --- folders and archives -------------------------------------------------------------------


def _folder_members(path: Path) -> tuple[list[Member], int]:
    """Return the files of a folder and of the folders in it, by name, but not those of indexes.

    Also return the number of links and pipes: they lead out of the folder, or are waited for.
    """
    found, strange = [], 0
    for place, folders, names in os.walk(path):
        here = Path(place)
        if here != path and _is_index(here):
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        strange += sum((here / name).is_symlink() for name in folders)
        for file in (here / name for name in names if not name.startswith(".")):
            if stat.S_ISREG(file.lstat().st_mode):
                found.append(file)
            else:
                strange += 1
    paths = [(PurePosixPath(file.relative_to(path).as_posix()), file) for file in sorted(found)]
    members = [Member(own, f"{path}, {own}", partial(file.open, "rb")) for own, file in paths]
    return members, strange


def _is_index(folder: Path) -> bool:
    """Return whether a folder is that of a finished or unfinished index."""
    if (folder / "unfinished" / "plan.json").is_file():
        return True
    manifest = folder / "manifest.json"
    return manifest.is_file() and b'"labelspan-index"' in manifest.read_bytes()[:100]


def _entered(only: Member, place: Path | BinaryIO, opened: ExitStack) -> Source:
    """Enter a file that is an archive; a packed one is unpacked to a file without a name."""
    start = only.read(512)
    for mark, what in _STRANGE.items():
        if start.startswith(mark):
            raise InvalidFile(f"{only.name} is {what}; {READABLE}.")
    is_tar = start[257:262] == b"ustar"
    if not is_tar and start[:4] != b"PK\x03\x04":
        return Source(only.name, (only,), False, place)
    file = opened.enter_context(only.raw())
    if _opener(file) is not None:
        with only.whole() as content:
            file = _copied(content, None, opened)
    try:
        suffix = None if is_tar else _workbook_suffix(file)
        if suffix is not None:
            only = replace(only, path=only.path.with_suffix(suffix))
            return Source(only.name, (only,), False, place)
        files = _tar_files(file) if is_tar else _zip_files(only.name, file)
    except (*DAMAGED, OSError) as error:
        raise only.damaged(error) from error
    inner = [
        ([part for part in PurePosixPath(name).parts if part not in ("/", "..")], raw)
        for name, raw in files
    ]
    inner = [one for one in inner if one[0] and not any(part.startswith(".") for part in one[0])]
    # A folder around all files says nothing.
    while len(inner) > 1 and all(
        len(parts) > 1 and parts[0] == inner[0][0][0] for parts, _ in inner
    ):
        inner = [(parts[1:], raw) for parts, raw in inner]
    members = [
        Member(path := PurePosixPath(*parts), f"{only.name}, {path}", raw) for parts, raw in inner
    ]
    members.sort(key=lambda one: one.path)
    return Source(only.name, tuple(members), len(members) != 1, place)


def _tar_files(file: BinaryIO) -> list[tuple[str, Callable[[], Any]]]:
    archive = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115 - members are read later
    return [(one.name, partial(archive.extractfile, one)) for one in archive if one.isfile()]


def _workbook_suffix(file: BinaryIO) -> str | None:
    """Return the suffix of an archive that is a workbook; None for another one."""
    archive = zipfile.ZipFile(file)
    names = archive.namelist()
    if "xl/workbook.xml" in names:
        return ".xlsx"
    start = archive.open("mimetype").read(100) if "mimetype" in names else b""
    return ".ods" if b"opendocument.spreadsheet" in start else None


def _zip_files(name: str, file: BinaryIO) -> list[tuple[str, Callable[[], Any]]]:
    archive = zipfile.ZipFile(file)
    check_unpacked(name, archive)
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if any(entry.filename in ("[Content_Types].xml", "mimetype") for entry in entries):
        raise InvalidFile(
            f"{name} is an office document or a book, not an archive of texts; save it as text, or "
            "a sheet as .xlsx, .ods or .csv."
        )
    if any(entry.flag_bits & 1 for entry in entries):
        raise InvalidFile(f"{name} is encrypted; unpack it, and give the folder.")
    return [(entry.filename, partial(archive.open, entry)) for entry in entries]


# --- text -----------------------------------------------------------------------------------


def check_encoding(encoding: str) -> None:
    """Raise :class:`InvalidParameter` if Python does not know an encoding of text."""
    try:
        # Other codecs, as base64, are refused here.
        "".encode(encoding)
    except (LookupError, ValueError):
        raise InvalidParameter(
            f"encoding must be one that Python knows, for example utf-8, utf-16, latin-1 or "
            f"cp1252, or {TWICE}, but {encoding!r} was given."
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
            strange = len(start) - len(start.translate(None, _CONTROLS))
            if encoding is None and codec == "utf-8" and strange > len(start) / 20:
                raise InvalidFile(
                    f"{member.name} is not a text file in UTF-8; if it is UTF-16 without a byte "
                    f"order mark, give --encoding utf-16-le or utf-16-be; {READABLE}."
                )
            with io.TextIOWrapper(raw, encoding=codec, newline=None) as text:
                yield text, codec.removesuffix("-sig")
    except UnicodeError as error:
        raise _undecodable(member, codec, error) from error


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


# What text that is not UTF-8 usually is: of Windows, of older Macs, Cyrillic, Chinese.
_OTHERS = ("cp1252", "mac-roman", "cp1251", "gb18030")


def _undecodable(member: Member, codec: str, error: UnicodeError) -> InvalidFile:
    """Return the error for text in another encoding, with its line."""
    decoder = codecs.getincrementaldecoder(codec)()
    line, reason, around = 1, str(error), b""
    with member.whole() as raw:
        try:
            while chunk := raw.read(_CHUNK):
                line += decoder.decode(chunk).count("\n")
        except UnicodeDecodeError as place:
            reason = place.reason
            line += place.object[: place.start].count(b"\n")
            around = place.object[max(0, place.start - 12) : place.start + 12]
        except UnicodeError:
            pass
    what = "UTF-8" if codec.startswith("utf-8") else codec
    # Some codecs quote what they cannot decode, also ends of lines.
    reason = " ".join(reason.split())
    shown = {one: around.decode(one, "replace") for one in _OTHERS if around and one != codec}
    shown = {one: text for one, text in shown.items() if "\ufffd" not in text}
    readings = "; ".join(f"{one} reads {text!r}" for one, text in shown.items())
    found = InvalidFile(
        f"{member.name}, line {line}: this is not {what} ({reason}); give its encoding "
        f"(--encoding): {readings or 'no common one fits'}."
    )
    found.choices = {"encoding": shown}
    return found


def text_of(member: Member, encoding: str | None) -> str:
    """Return all text of a file."""
    with open_text(member, encoding) as (text, _):
        return text.read()
