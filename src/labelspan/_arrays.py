"""Files of arrays, with a checksum.

    labelspan array     16 bytes with a line feed, then the length of the JSON in 8 bytes
    {...}               JSON: type and shape of each array, and what else was noted
    ...                 the arrays in this order, each at a multiple of 64 bytes
    ...                 sha256 of all bytes before it, in 32 bytes

It is written under another name, synced and renamed. Where each array lies follows from the types
and shapes, and the size of the file must be theirs: a header cannot promise more memory than the
file has, and no code of a file is ever run.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ._files import file_size, write_whole
from ._typing import Array
from .errors import InvalidFile

__all__ = ["ArrayFile", "Rows", "parse_json", "write_arrays"]

_BEGINNING = b"labelspan array\n"
_ALIGNED, _LENGTH, _HASH = 64, 8, 32
_LONGEST_HEADER = 1 << 24
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
    >>> from labelspan._arrays import ArrayFile, write_arrays
    >>> path = Path(tempfile.mkdtemp()) / "numbers.arrays"
    >>> _ = write_arrays(path, {"few": np.arange(3)}, made="here")
    >>> found = ArrayFile(path)
    >>> found.array("few"), found.about
    (array([0, 1, 2]), {'made': 'here'})
    """
    plain = {name: _as_rows(values) for name, values in arrays.items()}
    for name, rows in plain.items():
        if rows.kind not in _TYPES:
            raise InvalidFile(f"{name}: arrays of type {rows.kind} are not written.")
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


def _as_rows(values: Array | Rows) -> Rows:
    if isinstance(values, Rows):
        return values
    plain = np.asarray(values)
    return Rows(plain.shape, plain.dtype.newbyteorder("<").str, [plain])


class _Arrays(dict[str, Array]):
    """Arrays of a file by name; one that is missing is an error of the file."""

    def __missing__(self, name: str) -> Array:
        raise InvalidFile(f"The array {name!r} of a file is missing; the index is damaged.")


class ArrayFile:
    """File of arrays, open for reading.

    Its header is checked at once, its hash before the first array is given; without ``verify`` only
    when that is asked for. Arrays are ``mapped``, or else read into memory: then the file may
    change.
    """

    def __init__(self, path: Path, *, mapped: bool = True, verify: bool = True) -> None:
        self.path, self._verified = path, not verify
        size, start = file_size(path), len(_BEGINNING) + _LENGTH
        with path.open("rb") as file:
            first = file.read(start)
            length = int.from_bytes(first[len(_BEGINNING) :], "little")
            if not first.startswith(_BEGINNING) or length > _LONGEST_HEADER:
                raise InvalidFile(f"{path} is damaged: it is not a file of arrays.")
            head, end = parse_json(file.read(length), path), start + length
            self._arrays: dict[str, tuple[int, str, list[int]]] = {}
            try:
                self.about: dict[str, Any] = dict(head["about"])
                for name, (kind, shape) in head["arrays"].items():
                    whole = isinstance(shape, list) and all(type(n) is int for n in shape)
                    if kind not in _TYPES or not whole or min(shape, default=0) < 0:
                        raise ValueError
                    offset = end + -end % _ALIGNED
                    self._arrays[name] = offset, kind, shape
                    end = offset + math.prod([int(np.dtype(kind).itemsize), *shape])
            except (KeyError, TypeError, ValueError, AttributeError):
                raise InvalidFile(f"{path} is damaged: its header is not valid.") from None
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
    def entry(self) -> dict[str, Any]:
        """Size and sha256, which stands at the end of the file; :meth:`verify` checks it."""
        return {"bytes": len(self._content), "sha256": bytes(self._content[-_HASH:]).hex()}

    def verify(self) -> None:
        """Raise an error if the content differs from what was written."""
        if hashlib.sha256(self._content[:-_HASH]).digest() != self._content[-_HASH:]:
            raise InvalidFile(f"{self.path} is damaged: its content is not what was written.")
        self._verified = True

    def array(self, name: str) -> Array:
        """Return an array, which cannot be changed."""
        if not self._verified:
            self.verify()
        try:
            offset, kind, shape = self._arrays[name]
            # numpy refuses some shapes of nothing, such as (0, 1 << 62).
            return np.frombuffer(self._content, kind, math.prod(shape), offset).reshape(shape)
        except (KeyError, ValueError, OverflowError) as error:
            raise InvalidFile(f"{self.path} is damaged: it has no valid array {name!r}.") from error

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        """Return all arrays whose names begin with a prefix, by the rest of their names."""
        own = [name for name in self._arrays if name.startswith(prefix)]
        return _Arrays({name.removeprefix(prefix): self.array(name) for name in own})


def parse_json(data: bytes, path: Path | str) -> Any:
    """Parse JSON in UTF-8."""
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        raise InvalidFile(f"{path} is damaged: it cannot be read as JSON.") from None
