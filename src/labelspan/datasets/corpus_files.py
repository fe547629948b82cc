"""Opening what holds a corpus: files, packed files, archives and folders, and their encoding."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from .._files import read_bytes
from ..errors import InvalidFile, InvalidInput, InvalidParameter
from .corpus_archive import archive_kind, archive_members
from .corpus_members import Member, inner_suffix, is_hidden

__all__ = [
    "Member",
    "Opened",
    "check_encoding",
    "decode",
    "encoding_of",
    "folder_members",
    "is_wide",
    "open_corpus",
    "open_member",
]

_PACKED: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
# Files that hold no texts which could be read here, by their first bytes.
_STRANGE = {
    b"%PDF": ("a PDF document", "convert it to text"),
    b"\x89PNG": ("a picture", "give a file of texts"),
    b"SQLite f": ("a database", "export a table as csv"),
}
# Byte order marks; the longer ones first, because one begins like another.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Control characters that texts do not have.
_CONTROLS = bytes(number for number in range(32) if number not in b"\t\n\v\f\r\x1b")


@dataclass(frozen=True)
class Opened:
    """The content of a file, or the files of a folder or an archive."""

    name: str
    suffix: str
    content: bytes = b""
    members: tuple[Member, ...] | None = None


def open_corpus(source: str | os.PathLike[str] | BinaryIO) -> Opened:
    """Open a file, a folder or a stream; unpack what is packed."""
    if not isinstance(source, str | os.PathLike):
        name = getattr(source, "name", None)
        name = "standard input" if name in (None, "<stdin>") or isinstance(name, int) else str(name)
        return _unpacked(name, "", source.read())
    path = Path(source)
    if path.is_dir():
        return Opened(str(path), "", members=tuple(folder_members(path)))
    return _unpacked(str(path), inner_suffix(path), read_bytes(path))


def open_member(name: str, member: Member) -> Opened:
    """Read one file of a folder or of an archive; unpack it if it is packed."""
    own = f"{name}, {member.path}"
    return Opened(own, inner_suffix(member.path), _unpack(own, member.read()))


def _unpack(name: str, content: bytes) -> bytes:
    for mark, unpack in _PACKED.items():
        if content.startswith(mark):
            try:
                return unpack(content)
            except _DAMAGED as error:
                raise InvalidFile(f"{name} is damaged: {error}; get it again.") from error
    return content


def _unpacked(name: str, suffix: str, content: bytes) -> Opened:
    content = _unpack(name, content)
    kind = archive_kind(content[:512])
    if kind is not None:
        return _archive(name, kind, content)
    for mark, (what, remedy) in _STRANGE.items():
        if content.startswith(mark):
            raise InvalidFile(f"{name} is {what}; {remedy}.")
    return Opened(name, suffix, content)


def _archive(name: str, kind: str, content: bytes) -> Opened:
    members = archive_members(name, kind, io.BytesIO(content))
    if len(members) == 1:
        return open_member(name, members[0])
    return Opened(name, "", members=tuple(members))


def folder_members(path: Path) -> list[Member]:
    """Return the files of a folder and of the folders in it, by name, but not those of indexes."""
    found = []
    files = sorted(path.rglob("*"))
    indexes = {folder for file in files if (folder := _index_of(file)) not in (None, path)}
    for file in files:
        relative = PurePosixPath(file.relative_to(path).as_posix())
        # Pipes would be waited for, and links may lead nowhere.
        if not file.is_file() or is_hidden(relative):
            continue
        if not indexes or indexes.isdisjoint(file.parents):
            found.append(Member(relative, lambda file=file: read_bytes(file)))  # type: ignore[misc]
    return found


def _index_of(file: Path) -> Path | None:
    """Return the folder of a finished or unfinished index to which a file belongs."""
    if file.name == "plan.json" and file.parent.name == "unfinished":
        return file.parent.parent
    if file.name == "manifest.json" and file.is_file():
        with file.open("rb") as content:
            return file.parent if b'"labelspan-index"' in content.read(100) else None
    return None


def check_encoding(encoding: str | None) -> None:
    """Raise :class:`InvalidParameter` if Python does not know an encoding of text."""
    if encoding is None:
        return
    try:
        known = codecs.lookup(encoding)._is_text_encoding
    except (LookupError, ValueError):
        known = False
    if not known:
        raise InvalidParameter(
            f"encoding must be one that Python knows, for example utf-8, utf-16, latin-1 or "
            f"cp1252, but {encoding!r} was given."
        )


def decode(content: bytes, name: str, encoding: str | None) -> tuple[str, str]:
    """Return the text and its encoding; without one given, UTF-8 or what a byte order mark says."""
    chosen = encoding_of(content, encoding)
    if encoding is None and chosen == "utf-8":
        _check_plain(content, name)
    try:
        return content.decode(chosen), "utf-8" if chosen == "utf-8-sig" else chosen
    except (UnicodeDecodeError, ValueError) as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = content.count(b"\n", 0, start) + 1
        reason = error.reason if isinstance(error, UnicodeDecodeError) else str(error)
        what = "UTF-8" if chosen.startswith("utf-8") else chosen
        raise InvalidFile(
            f"{name}, line {line}: this is not {what} ({reason}); {_remedy(content, encoding)}."
        ) from error


def encoding_of(content: bytes, encoding: str | None) -> str:
    """Return the encoding given, else the one of the byte order mark, else UTF-8."""
    marked = next((named for mark, named in _MARKS if content.startswith(mark)), None)
    if encoding is not None and marked == "utf-8-sig":
        return marked if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    if encoding is not None and marked is not None and _codec(encoding).startswith(marked):
        # The mark tells the order of bytes, and is not part of the text.
        return marked
    return encoding or marked or "utf-8"


def is_wide(encoding: str) -> bool:
    """Tell whether an encoding has two or four bytes for each character in ASCII."""
    return _codec(encoding).startswith(("utf-16", "utf-32"))


def _codec(encoding: str) -> str:
    return codecs.lookup(encoding).name


def _check_plain(content: bytes, name: str) -> None:
    """Raise an error for UTF-16 without a mark, and for what is not text."""
    start = content[:65536]
    zeros = start.count(0)
    if zeros > len(start) / 5:
        little = start[1::2].count(0) > start[::2].count(0)
        named = "utf-16-le" if little else "utf-16-be"
        raise InvalidFile(
            f"{name} looks like UTF-16 without a byte order mark; give encoding={named!r} "
            f"(--encoding {named})."
        )
    if len(start) - len(start.translate(None, _CONTROLS)) > len(start) / 20:
        raise InvalidInput(
            f"{name} is not a text file; give jsonl, json, csv, tsv, parquet, plain text or a "
            "folder."
        )


def _remedy(content: bytes, encoding: str | None) -> str:
    """Return the encoding to try."""
    if encoding is not None:
        return "give another encoding (--encoding), or leave it out"
    try:
        content.decode("cp1252")
        named = "cp1252"
    except UnicodeDecodeError:
        named = "latin-1"
    return f"if it is Latin-1 or Windows text, give encoding={named!r} (--encoding {named})"
