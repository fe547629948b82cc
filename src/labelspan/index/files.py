"""Files of an index: arrays as ``.npy`` and plain data as JSON, each with its size and sha256.

A file is written under another name, synced and renamed. What is read is refused if it is not
what its entry describes; no code of a file is ever run.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._files import write_whole
from .._typing import Array
from ..errors import InvalidFile, TooManyFiles

__all__ = [
    "ArrayParts",
    "FileEntry",
    "FileReader",
    "FileWriter",
    "check_descriptors",
    "digest",
    "file_size",
    "missing_resource",
    "parse_json",
]

# Size and sha256 of a file, and for arrays dtype and shape.
FileEntry = dict[str, Any]

FILE_NAME = re.compile(r"[a-z0-9_]{1,80}\.(npy|json)")
# Up to this size a file is hashed whenever it is opened; larger ones when that is asked for.
_SMALL = 1 << 24
_TYPES = ("<f4", "<f8", "<i4", "<i8", "|u1", "|b1", "<u2", "<u4", "<u8", "|i1", "<i2")
# JSON is read into memory as a whole; arrays are mapped.
_LARGEST_JSON = 1 << 31
# First bytes of an .npy file, and the longest header that numpy reads.
_NPY_START = b"\x93NUMPY\x01\x00"
_LONGEST_HEADER = 10_000
# A database, its log, its shared memory and their folder.
_OPENED_BY_SQLITE = 4


class FileWriter:
    """Writes files to a folder, and keeps an entry for each.

    Parameters
    ----------
    folder : Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from labelspan.index.files import FileReader, FileWriter
    >>> folder = Path(tempfile.mkdtemp())
    >>> files = FileWriter(folder)
    >>> files.array("numbers", np.arange(3))
    >>> FileReader(folder, files.entries).array("numbers")
    array([0, 1, 2])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, FileEntry] = {}

    def array(self, name: str, values: Array) -> None:
        """Write an array of numbers."""
        plain = np.asarray(values)
        parts = self.parts(name, plain.shape, plain.dtype.newbyteorder("<").str)
        parts.append(plain)
        parts.close()

    def parts(self, name: str, shape: Sequence[int], kind: str) -> ArrayParts:
        """Begin an array whose rows come in parts."""
        if kind not in _TYPES:
            raise InvalidFile(f"{name}.npy: arrays of type {kind} are not written.")
        return ArrayParts(self, name, tuple(int(n) for n in shape), kind)

    def json(self, name: str, value: Any) -> None:
        """Write plain data."""
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

        def write(file: BinaryIO) -> None:
            file.write(data)

        write_whole(self.folder / f"{name}.json", write)
        self.entries[f"{name}.json"] = {
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }


class ArrayParts:
    """Array of a known shape that is written part by part; complete when it is closed."""

    def __init__(self, files: FileWriter, name: str, shape: tuple[int, ...], kind: str) -> None:
        self._files, self._name, self._shape, self._kind = files, name, shape, kind
        self._path = files.folder / f"{name}.npy"
        self._partial = self._path.with_name(f".{name}.partial")
        self._hash, self._bytes = hashlib.sha256(), 0
        self._left = math.prod(shape)
        self._file = self._partial.open("wb")
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self, header)

    def write(self, data: Any) -> int:
        """Write bytes."""
        self._hash.update(data)
        self._bytes += memoryview(data).nbytes
        return self._file.write(data)

    def append(self, values: Array) -> None:
        """Write the next rows."""
        self._left -= values.size
        if self._left < 0:
            raise InvalidFile(f"{self._name}.npy: more numbers than its shape {self._shape} has.")
        if values.size:
            self.write(np.ascontiguousarray(values, dtype=self._kind).data.cast("B"))

    def close(self) -> None:
        """Sync the file and give it its name."""
        try:
            if self._left:
                raise InvalidFile(f"{self._name}.npy: {self._left} numbers are missing.")
            self._file.flush()
            os.fsync(self._file.fileno())
        finally:
            self._file.close()
        self._partial.replace(self._path)
        self._files.entries[self._path.name] = {
            "bytes": self._bytes,
            "sha256": self._hash.hexdigest(),
            "dtype": self._kind,
            "shape": list(self._shape),
        }


class FileReader:
    """Reads files of a folder, as their entries describe them.

    Parameters
    ----------
    folder : Path
    entries : dict
    verify : bool, default=False
        Whether large files are hashed, too; small ones always are.
    mapped : bool, default=True
        Whether arrays are memory-mapped, or else read into memory.
    """

    def __init__(
        self,
        folder: Path,
        entries: Mapping[str, Any],
        *,
        verify: bool = False,
        mapped: bool = True,
    ) -> None:
        self.folder, self.entries = folder, entries
        self._verify, self._mapped = verify, mapped

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def sha256(self, name: str) -> str:
        """Return the sha256 of a file."""
        return str(self._entry(name)["sha256"])

    def _entry(self, name: str) -> FileEntry:
        found = self.entries.get(name)
        if not isinstance(found, dict):
            raise InvalidFile(f"manifest.json: there is no file {_brief(name)}.")
        if type(found.get("bytes")) is not int or not isinstance(found.get("sha256"), str):
            raise InvalidFile(f"manifest.json: it gives no size and hash for {_brief(name)}.")
        return found

    def array(self, name: str) -> Array:
        """Map or read an array."""
        path = self.folder / f"{name}.npy"
        entry = self._entry(path.name)
        kind, shape = entry.get("dtype"), entry.get("shape")
        whole = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
        if kind not in _TYPES or not whole or shape is None:
            raise InvalidFile(f"{path}: the manifest gives no valid shape and type for it.")
        self._check_size(path, entry)
        # With Python integers, which do not overflow.
        content = math.prod([int(np.dtype(kind).itemsize), *shape])
        rest = entry["bytes"] - content
        if not 0 <= rest <= _LONGEST_HEADER + len(_NPY_START):
            raise InvalidFile(
                f"{path} is damaged: its size does not fit an array of shape {_brief(shape)}."
            )
        self._check_hash(path, entry)
        try:
            found = _load(path, self._mapped) if content else np.zeros(shape, dtype=kind)
        except (MemoryError, OSError):
            raise
        except Exception as error:
            # numpy parses the header as Python literals, which can fail in many ways.
            raise InvalidFile(f"{path} is damaged: it cannot be read as an array.") from error
        if found.dtype.str != kind or list(found.shape) != shape:
            raise InvalidFile(f"{path} is not the array that the manifest describes.")
        return found

    def json(self, name: str) -> Any:
        """Read plain data; its hash is always checked."""
        path = self.folder / f"{name}.json"
        entry = self._entry(path.name)
        self._check_size(path, entry)
        self._check_hash(path, entry, always=True)
        return parse_json(path.read_bytes(), path)

    def names(self, name: str) -> list[str]:
        """Read a list of different strings."""
        found = self.json(name)
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise InvalidFile(f"{name}.json is damaged: it is not a list of names.")
        if len(set(found)) < len(found):
            raise InvalidFile(f"{name}.json is damaged: a name occurs twice.")
        return found

    def check_sizes(self) -> None:
        """Check that every file is there with its size."""
        for name in self.entries:
            self._check_size(self.folder / name, self._entry(name))

    def verify(self) -> None:
        """Check size and hash of every file."""
        self.check_sizes()
        for name in self.entries:
            self._check_hash(self.folder / name, self._entry(name), always=True)

    def _check_size(self, path: Path, entry: FileEntry) -> None:
        try:
            size = file_size(path)
        except FileNotFoundError:
            raise InvalidFile(
                f"{path} is missing; if a writer has replaced the index, refresh it."
            ) from None
        if size != entry["bytes"]:
            raise InvalidFile(
                f"{path} is damaged: it has {size} bytes, and {_brief(entry['bytes'])} were "
                "written."
            )
        if path.suffix == ".json" and size > _LARGEST_JSON:
            raise InvalidFile(f"{path} is too large to be read: it has {size} bytes.")

    def _check_hash(self, path: Path, entry: FileEntry, *, always: bool = False) -> None:
        if not (always or self._verify or entry["bytes"] <= _SMALL):
            return
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
                raise InvalidFile(f"{path} is damaged: its content is not what was written.")


def _load(path: Path, mapped: bool) -> Array:
    with path.open("rb") as file:
        if file.read(len(_NPY_START)) != _NPY_START:
            raise ValueError("another format")
    how: Any = "r" if mapped else None
    try:
        found = np.load(path, mmap_mode=how, allow_pickle=False)
    except SystemError:
        # Parsing the header can fail in Python 3.11 while another thread parses.
        found = np.load(path, mmap_mode=how, allow_pickle=False)
    # A plain view: slices of a memmap would keep its class.
    return np.asarray(found)


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


def digest(content: Any) -> str:
    """Return the sha256 of plain data."""
    data = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()


def file_size(path: Path) -> int:
    """Return the size of a regular file; links, pipes and devices are not opened."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise InvalidFile(f"{path} is not a regular file; it is not opened.")
    return found.st_size


def missing_resource(error: BaseException | None, path: Any) -> Exception | None:
    """Return the error for a lack of file descriptors or memory; None for any other cause."""
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.EMFILE, errno.ENFILE):
        return TooManyFiles(
            f"{path} cannot be opened: too many files are open; close some, or raise the limit "
            "(ulimit -n)."
        )
    if code == errno.ENOMEM:
        return MemoryError(f"{path} cannot be opened: there is not enough memory.")
    return None


def check_descriptors(path: Any) -> None:
    """Raise an error if a few files cannot be opened: SQLite does not give this as the cause."""
    handles = []
    try:
        for _ in range(_OPENED_BY_SQLITE):
            handles.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        missing = missing_resource(error, path)
        if missing is not None:
            raise missing from error
    finally:
        for handle in handles:
            os.close(handle)


def _brief(value: Any) -> str:
    return f"{value!r:.80}"
