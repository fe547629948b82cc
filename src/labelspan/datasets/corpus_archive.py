"""Archives of texts, tar and zip: their files, which are read when they are needed."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from ..errors import InvalidFile
from .corpus_members import Member, is_hidden

__all__ = ["archive_kind", "archive_members"]

_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def archive_kind(start: bytes) -> str | None:
    """Tell by the first 512 bytes whether a file is a "tar" or "zip" archive; None if neither."""
    if start[257:262] == b"ustar":
        return "tar"
    return "zip" if start.startswith(b"PK\x03\x04") else None


def archive_members(name: str, kind: str, file: BinaryIO) -> list[Member]:
    """Return the files of an archive by name, without hidden ones and a folder around all.

    The archive must stay open as long as they are read.
    """
    try:
        found = _tar(name, file) if kind == "tar" else _zip(name, file)
    except _DAMAGED as error:
        raise _damaged(name, error) from error
    visible = [member for member in found if member.path.parts and not is_hidden(member.path)]
    # One folder around everything says nothing.
    while len(visible) > 1 and all(
        len(member.path.parts) > 1 and member.path.parts[0] == visible[0].path.parts[0]
        for member in visible
    ):
        visible = [
            Member(PurePosixPath(*one.path.parts[1:]), one.read, one.open) for one in visible
        ]
    return sorted(visible, key=lambda member: member.path)


def _damaged(name: str, error: Exception) -> InvalidFile:
    return InvalidFile(f"{name} is damaged: {error}; get it again.")


def _member(name: str, path: str, open_it: Callable[[], Any]) -> Member:
    inside = PurePosixPath(*(part for part in PurePosixPath(path).parts if part != "/"))

    def read() -> bytes:
        try:
            with open_it() as file:
                return bytes(file.read())
        except _DAMAGED as error:
            raise _damaged(name, error) from error

    return Member(inside, read, open_it)


def _tar(name: str, file: BinaryIO) -> list[Member]:
    end = file.seek(0, io.SEEK_END)
    file.seek(0)
    found = []
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for member in archive:
            if member.isfile() and not member.issparse():
                if member.offset_data + member.size > end:
                    raise EOFError("unexpected end of data")
                place = partial(_Part, file, member.offset_data, member.size)
                found.append(_member(name, member.name, partial(_buffered, place)))
            # What was listed is not needed again, and takes a kilobyte per file.
            archive.members = []  # type: ignore[attr-defined]
    return found


def _buffered(place: Callable[[], io.RawIOBase]) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(place()))


def _zip(name: str, file: BinaryIO) -> list[Member]:
    archive = zipfile.ZipFile(file)
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if any(entry.filename == "[Content_Types].xml" for entry in entries):
        raise InvalidFile(f"{name} is a spreadsheet or a document; save it as csv or text.")
    if any(entry.flag_bits & 1 for entry in entries):
        raise InvalidFile(f"{name} is encrypted; unpack it, and give the folder.")
    return [_member(name, entry.filename, partial(archive.open, entry)) for entry in entries]


class _Part(io.RawIOBase):
    """A part of an open file, as a file."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._at, self._end = file, start, start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._at)
        content = self._file.read(min(len(buffer), self._end - self._at))
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)
