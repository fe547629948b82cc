"""Blocks of named arrays in a folder, each with checksums: what a long fit has finished.

A block is on the list only after its files are on the disk, so that a process that is killed
leaves whole blocks, and the next one goes on after them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._files import write_whole
from .._typing import Array
from ..errors import InvalidFile

__all__ = ["ArrayBlocks"]

_LIST = "blocks.jsonl"


class ArrayBlocks:
    """Blocks of arrays in a folder, which is made or continued.

    Parameters
    ----------
    folder : Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from labelspan.index.array_blocks import ArrayBlocks
    >>> blocks = ArrayBlocks(Path(tempfile.mkdtemp()))
    >>> blocks.append({"numbers": np.arange(3)}, rows=3)
    >>> len(blocks), blocks.about(0), blocks.array(0, "numbers")
    (1, {'rows': 3}, array([0, 1, 2]))
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._entries = [json.loads(line) for line in self._lines()]
        self._verified: set[int] = set()

    def _lines(self) -> list[str]:
        path = self._folder / _LIST
        if not path.exists():
            return []
        whole, _, torn = path.read_text(encoding="ascii").rpartition("\n")
        if torn:
            # Written again by the next block.
            os.truncate(path, len(whole) + bool(whole))
        return whole.split("\n") if whole else []

    def __len__(self) -> int:
        return len(self._entries)

    def about(self, number: int) -> dict[str, Any]:
        """Return what was noted about a block."""
        return dict(self._entries[number]["about"])

    def names(self, number: int) -> list[str]:
        """Return the names of the arrays of a block."""
        return list(self._entries[number]["arrays"])

    def append(self, arrays: Mapping[str, Array], **about: Any) -> None:
        """Write a block, as one file."""
        sha256 = hashlib.sha256()
        places: dict[str, list[Any]] = {}

        def write(file: BinaryIO) -> None:
            offset = 0
            for name, values in arrays.items():
                content = np.ascontiguousarray(values)
                places[name] = [offset, content.dtype.str, list(content.shape)]
                data = content.tobytes()
                sha256.update(data)
                file.write(data)
                offset += len(data)

        write_whole(self._path(len(self)), write)
        entry = {"sha256": sha256.hexdigest(), "arrays": places, "about": about}
        with (self._folder / _LIST).open("a", encoding="ascii") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._entries.append(entry)

    def array(self, number: int, name: str, *, mapped: bool = False) -> Array:
        """Read or map an array of a block, whose checksum is verified the first time."""
        path = self._path(number)
        try:
            if number not in self._verified:
                with path.open("rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
                if found != self._entries[number]["sha256"]:
                    raise ValueError
                self._verified.add(number)
            offset, kind, shape = self._entries[number]["arrays"][name]
            count = math.prod(shape)
            if mapped and count:
                return np.asarray(np.memmap(path, kind, "r", offset, tuple(shape)))
            return np.fromfile(path, kind, count, offset=offset).reshape(shape)
        except (OSError, ValueError, KeyError):
            raise InvalidFile(
                f"{path} is missing or damaged; remove {self._folder.parent} and fit again."
            ) from None

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:06d}.arrays"
