"""Places of items on the map, in a file in the folder of an index.

The file is a cache: it may be deleted, and is not used if it is damaged. An item is recognised by
a hash of its id and vector, so that places stay when items are added or removed, or the index is
saved again, and are not used for another space.

    labelspan map 1     16 bytes with a line feed
    ...                 sha256 of the rest, in 32 bytes
    ...                 four numbers of 8 bytes: items, items laid out together, seed, 0
    ...                 16 bytes for each item: its hash; then 8 bytes for each: x and y in float32
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .._files import write_whole
from .._typing import Array
from ..errors import InvalidFile
from .files import file_size

__all__ = ["PLACES_FILE", "PlaceFile", "item_keys"]

PLACES_FILE = "map.places"
_BEGINNING = b"labelspan map 1\n"
_HASH, _NUMBERS, _KEY, _PLACE = 32, 32, 16, 8
_HEAD = len(_BEGINNING) + _HASH + _NUMBERS


def item_keys(ids: Sequence[str], vectors: Array) -> list[bytes]:
    """Return for each item a hash of its id and vector.

    Parameters
    ----------
    ids : sequence of str
    vectors : array of shape (n, m)

    Returns
    -------
    list of bytes

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.index.place_file import item_keys
    >>> one, other = item_keys(["a", "b"], np.ones((2, 3)))
    >>> len(one), one == other, one == item_keys(["a"], np.ones((1, 3)))[0]
    (16, False, True)
    """
    table = np.ascontiguousarray(vectors, dtype="<f4")
    return [
        hashlib.blake2b(
            vector.tobytes() + name.encode("utf-8", "surrogatepass"), digest_size=_KEY
        ).digest()
        for name, vector in zip(ids, table, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class PlaceFile:
    """Places of items on the map.

    Attributes
    ----------
    keys : sequence of bytes
        As :func:`item_keys` returns them.
    places : array of shape (n, 2)
        In float32, from -1 to 1.
    laid : int
        Number of items that were laid out together; the others were placed among them.
    seed : int
        Of the layout.
    """

    keys: Sequence[bytes]
    places: Array
    laid: int
    seed: int

    @classmethod
    def read(cls, path: Path) -> PlaceFile:
        """Read a file, if it is what was written."""
        size = file_size(path)
        content = path.read_bytes()
        if size < _HEAD or content[: len(_BEGINNING)] != _BEGINNING:
            raise InvalidFile(f"{path} is damaged, or not a map of labelspan.")
        rest = content[len(_BEGINNING) + _HASH :]
        if hashlib.sha256(rest).digest() != content[len(_BEGINNING) :][:_HASH]:
            raise InvalidFile(f"{path} is damaged: its content is not what was written.")
        count, laid, seed, _ = (int(n) for n in np.frombuffer(rest[:_NUMBERS], dtype="<u8"))
        if len(rest) != _NUMBERS + count * (_KEY + _PLACE):
            raise InvalidFile(f"{path} is damaged: it is not as long as it should be.")
        end = _NUMBERS + count * _KEY
        keys = [rest[at : at + _KEY] for at in range(_NUMBERS, end, _KEY)]
        places = np.frombuffer(rest[end:], dtype="<f4").reshape(-1, 2).astype(np.float32)
        if not (np.abs(places) <= 1.0).all():
            raise InvalidFile(f"{path} is damaged: places are from -1 to 1.")
        return cls(keys, places, laid, seed)

    def write(self, path: Path) -> None:
        """Write the file, in place of an older one."""
        numbers = np.array([len(self.keys), self.laid, self.seed, 0], dtype="<u8")
        places = np.ascontiguousarray(self.places, dtype="<f4")
        rest = numbers.tobytes() + b"".join(self.keys) + places.tobytes()
        whole = _BEGINNING + hashlib.sha256(rest).digest() + rest

        def put(file: BinaryIO) -> None:
            file.write(whole)

        write_whole(path, put)
