"""The files of a generation: arrays and JSON, each with its size and hash."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._files import write_whole
from .._typing import Array
from ..errors import InvalidFile

__all__ = [
    "Part",
    "file_size",
    "parse_json",
    "read_array",
    "read_json",
    "write_array",
    "write_bytes",
    "write_json",
]

# What the manifest tells of a file.
Part = dict[str, Any]

_TYPES = ("<f4", "<f8", "<i4", "<i8")
# Text is read into memory as a whole; arrays are mapped.
_LARGEST_JSON = 1 << 31
_CHUNK = 1 << 20
# How an array of numbers begins, and the longest header that numpy itself would read.
_BEGINNING = b"\x93NUMPY\x01\x00"
_LONGEST_HEADER = 10_000


class _Hashing:
    """A file being written, with the hash of what went into it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.bytes = 0

    def write(self, data: Any) -> int:
        self._hash.update(data)
        self.bytes += memoryview(data).nbytes
        return self._file.write(data)

    def part(self, **more: Any) -> Part:
        return {"bytes": self.bytes, "sha256": self._hash.hexdigest(), **more}


def write_array(path: Path, array: Array) -> Part:
    """Write an array as ``.npy``; it is never an array of objects."""
    plain = np.asarray(array)
    kind = plain.dtype.newbyteorder("<").str
    if kind not in _TYPES:
        raise InvalidFile(f"{path.name}: arrays of type {array.dtype} are not written.")
    found: list[Part] = []

    def write(file: BinaryIO) -> None:
        hashing = _Hashing(file)
        np.lib.format.write_array(hashing, plain.astype(kind, copy=False), allow_pickle=False)
        found.append(hashing.part(dtype=kind, shape=list(plain.shape)))

    write_whole(path, write)
    return found[0]


def write_json(path: Path, value: Any) -> Part:
    """Write plain data as JSON."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    write_bytes(path, data)
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def write_bytes(path: Path, data: bytes) -> None:
    """Put a file in the place of one that may be there, in one step."""

    def write(file: BinaryIO) -> None:
        file.write(data)

    write_whole(path, write)


def read_array(path: Path, part: Mapping[str, Any], *, verify: bool) -> Array:
    """Map an array that is what the manifest says it is; nothing in it is run."""
    kind, shape = part.get("dtype"), part.get("shape")
    whole = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    if kind not in _TYPES or not whole:
        raise InvalidFile(f"{path}: the manifest gives no shape and type that could be read.")
    _check_size(path, part)
    # In Python's own integers, so that a product beyond 64 bits stays what it is.
    content = int(np.dtype(kind).itemsize)
    for length in part["shape"]:
        content *= length
    if content > part["bytes"]:
        raise InvalidFile(
            f"{path} is damaged: it is too short for an array of shape {_brief(shape)}."
        )
    if part["bytes"] - content > _LONGEST_HEADER + len(_BEGINNING):
        raise InvalidFile(
            f"{path} is damaged: it is too long for an array of shape {_brief(shape)}."
        )
    if verify:
        _check_hash(path, part)
    try:
        # Nothing cannot be mapped, and need not be read.
        mapped = _mapped(path) if content else np.zeros(part["shape"], dtype=kind)
    except Exception as error:
        # The header is parsed as Python's literals are, and fails in as many ways.
        raise InvalidFile(f"{path} is damaged: it cannot be read as an array.") from error
    if mapped.dtype.str != kind or list(mapped.shape) != shape:
        raise InvalidFile(f"{path} is not the array that the manifest describes.")
    # A plain view: slices of a memmap would drag its class along.
    return np.asarray(mapped)


def _mapped(path: Path) -> Array:
    with path.open("rb") as file:
        if file.read(len(_BEGINNING)) != _BEGINNING:
            raise ValueError("another format")
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except SystemError:
        # Python 3.11 can fail so when two threads parse at once, and a header is parsed.
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def read_json(path: Path, part: Mapping[str, Any]) -> Any:
    """Read plain data; always verified, for it is read as a whole anyway."""
    _check_size(path, part)
    if part["bytes"] > _LARGEST_JSON:
        raise InvalidFile(f"{path} is too large: {part['bytes']} bytes are more than is read.")
    _check_hash(path, part)
    return parse_json(path.read_bytes(), path)


def parse_json(data: bytes, path: Path) -> Any:
    """Plain data from UTF-8, no name of which comes twice."""
    try:
        return json.loads(data.decode(), object_pairs_hook=_table)
    except (ValueError, RecursionError):
        raise InvalidFile(f"{path} is damaged: it cannot be read as JSON.") from None


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice")
    return found


def file_size(path: Path) -> int:
    """The size of a plain file; links, pipes and devices are not opened."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise InvalidFile(f"{path} is no plain file; it is not opened.")
    return found.st_size


def _check_size(path: Path, part: Mapping[str, Any]) -> None:
    if type(part.get("bytes")) is not int or not isinstance(part.get("sha256"), str):
        raise InvalidFile(f"{path}: the manifest gives no size and hash for it.")
    size = file_size(path)
    if size != part["bytes"]:
        raise InvalidFile(
            f"{path} is damaged: it has {size} bytes, and {_brief(part['bytes'])} were written."
        )


def _check_hash(path: Path, part: Mapping[str, Any]) -> None:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    if found.hexdigest() != part["sha256"]:
        raise InvalidFile(f"{path} is damaged: its content is not what was written.")


def _brief(value: Any) -> str:
    """A value in few characters, for a sentence."""
    return f"{value!r:.80}"
