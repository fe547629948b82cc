"""Files of named arrays of numbers, with a checksum.

    labelspan array     16 bytes with a line feed, then the length of the JSON in 8 bytes
    {...}               JSON: type and shape of each array, and what else was noted
    ...                 the arrays in this order, each at a multiple of 64 bytes
    ...                 sha256 of all bytes before it, in 32 bytes

A file is written under another name, synced and renamed. Where each array lies follows from the
types and shapes, and the size of the file must be theirs: a header cannot promise more memory than
the file has, and no code of a file is ever run.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._files import file_size, write_whole
from .._typing import Array
from ..errors import InvalidFile

__all__ = ["ArrayBlocks", "ArrayFile", "Rows", "parse_json", "write_arrays"]

_BEGINNING = b"labelspan array\n"
_ALIGNED, _LENGTH, _HASH = 64, 8, 32
_LONGEST_HEADER = 1 << 24
_MOST_DIMENSIONS = 4
_NAME = re.compile(r"[A-Za-z0-9_]{1,80}")
_TYPES = ("<f2", "<f4", "<f8", "<i4", "<i8", "|u1", "|b1", "<u2", "<u4", "<u8", "|i1", "<i2")


class Rows(NamedTuple):
    """Array that is written part by part: its shape, its type, and the parts."""

    shape: tuple[int, ...]
    kind: str
    parts: Iterable[Array]


def write_arrays(path: Path, arrays: Mapping[str, Array | Rows], **about: Any) -> dict[str, Any]:
    """Write a file of arrays; return its size and sha256.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from labelspan.index.array_file import ArrayFile, write_arrays
    >>> path = Path(tempfile.mkdtemp()) / "numbers.arrays"
    >>> _ = write_arrays(path, {"few": np.arange(3)}, made="here")
    >>> found = ArrayFile(path)
    >>> found.array("few"), found.about
    (array([0, 1, 2]), {'made': 'here'})
    """
    plain = {name: _as_rows(name, values) for name, values in arrays.items()}
    shapes = {name: [rows.kind, list(rows.shape)] for name, rows in plain.items()}
    head = json.dumps({"arrays": shapes, "about": about}, ensure_ascii=False).encode()
    sha256 = hashlib.sha256()
    size = 0

    def write(file: BinaryIO) -> None:
        nonlocal size

        def put(data: Any) -> None:
            nonlocal size
            sha256.update(data)
            file.write(data)
            size += memoryview(data).nbytes

        put(_BEGINNING + len(head).to_bytes(_LENGTH, "little") + head)
        for name, rows in plain.items():
            put(bytes(-size % _ALIGNED))
            left = math.prod(rows.shape)
            for part in rows.parts:
                left -= part.size
                if part.size:
                    put(np.ascontiguousarray(part, dtype=rows.kind).data.cast("B"))
            if left:
                raise InvalidFile(f"{path}: {name} does not have the shape {rows.shape}.")
        file.write(sha256.digest())

    write_whole(path, write)
    return {"bytes": size + _HASH, "sha256": sha256.hexdigest()}


def _as_rows(name: str, values: Array | Rows) -> Rows:
    if not isinstance(values, Rows):
        plain = np.asarray(values)
        values = Rows(plain.shape, plain.dtype.newbyteorder("<").str, [plain])
    if values.kind not in _TYPES or not _NAME.fullmatch(name):
        raise InvalidFile(f"{name}: arrays of type {values.kind} are not written.")
    return values


class ArrayFile:
    """File of arrays, open for reading. Its header is checked at once, its hash when asked.

    Arrays are ``mapped``, or else read into memory: then the file may change.
    """

    def __init__(self, path: Path, *, mapped: bool = True) -> None:
        self.path = path
        size, start = file_size(path), len(_BEGINNING) + _LENGTH
        with path.open("rb") as file:
            first = file.read(start)
            length = int.from_bytes(first[len(_BEGINNING) :], "little")
            if not first.startswith(_BEGINNING) or length > _LONGEST_HEADER:
                raise InvalidFile(f"{path} is damaged: it is not a file of arrays.")
            head = parse_json(file.read(length), path)
            end = start + length
            try:
                self.about: dict[str, Any] = dict(head["about"])
                self._arrays = dict(_places(head["arrays"], end))
            except (KeyError, TypeError, ValueError, AttributeError):
                raise InvalidFile(f"{path} is damaged: its header is not valid.") from None
            for offset, kind, shape in self._arrays.values():
                end = offset + math.prod([int(np.dtype(kind).itemsize), *shape])
            if end + _HASH != size:
                raise InvalidFile(f"{path} is damaged: its size does not fit its arrays.")
            file.seek(0)
            self._content = memoryview(
                mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
                if mapped
                else file.read(size)
            )
        if len(self._content) != size:
            raise InvalidFile(f"{path} was cut while it was read; try again.")

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return len(self._content)

    @property
    def sha256(self) -> str:
        """The sha256 at the end of the file; :meth:`verify` checks it."""
        return bytes(self._content[-_HASH:]).hex()

    def verify(self) -> None:
        """Raise an error unless the content is what was written."""
        if hashlib.sha256(self._content[:-_HASH]).hexdigest() != self.sha256:
            raise InvalidFile(f"{self.path} is damaged: its content is not what was written.")

    def array(self, name: str) -> Array:
        """Return an array, which cannot be changed."""
        if name not in self._arrays:
            raise InvalidFile(f"{self.path} is damaged: it has no array {name!r}.")
        offset, kind, shape = self._arrays[name]
        try:
            # numpy refuses some shapes of nothing, such as (0, 1 << 62).
            return np.frombuffer(self._content, kind, math.prod(shape), offset).reshape(shape)
        except ValueError as error:
            raise InvalidFile(f"{self.path} is damaged: {name} has no valid shape.") from error

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        """Return all arrays whose names begin with a prefix, by the rest of their names."""
        return {
            name.removeprefix(prefix): self.array(name)
            for name in self._arrays
            if name.startswith(prefix)
        }


def _places(described: Any, end: int) -> Iterator[tuple[str, tuple[int, str, tuple[int, ...]]]]:
    """Yield for each array of a header its offset, type and shape; sizes do not overflow."""
    for name, (kind, shape) in described.items():
        whole = isinstance(shape, list) and all(type(n) is int and 0 <= n < 1 << 48 for n in shape)
        if kind not in _TYPES or not whole or len(shape) > _MOST_DIMENSIONS:
            raise ValueError
        offset = end + -end % _ALIGNED
        yield name, (offset, kind, tuple(shape))
        end = offset + math.prod([int(np.dtype(kind).itemsize), *shape])


class ArrayBlocks:
    """Blocks of arrays in a folder, which is made or continued: what a long fit has finished.

    A block has its name only when it is whole, so that a process that is killed leaves whole
    blocks, and the next one goes on after them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._count = 0
        while self._path(self._count).exists():
            self._open(self._count, verify=True)
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ArrayFile]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> ArrayFile:
        return self._open(number)

    def _open(self, number: int, *, verify: bool = False) -> ArrayFile:
        try:
            found = ArrayFile(self._path(number))
            if verify:
                found.verify()
            return found
        except (InvalidFile, FileNotFoundError) as error:
            raise InvalidFile(
                f"A block of an unfinished fit is missing or damaged; remove "
                f"{self._folder.parent} and fit again ({error})."
            ) from error

    def append(self, arrays: Mapping[str, Array], **about: Any) -> None:
        """Write a block."""
        write_arrays(self._path(len(self)), arrays, **about)
        self._count += 1

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:06d}.arrays"


def parse_json(data: bytes, path: Path | str) -> Any:
    """Parse JSON in UTF-8; names must not occur twice in an object."""
    try:
        return json.loads(data.decode(), object_pairs_hook=_unique_names)
    except (ValueError, RecursionError):
        raise InvalidFile(f"{path} is damaged: it cannot be read as JSON.") from None


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found
