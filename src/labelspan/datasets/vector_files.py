"""Vectors in files: numpy arrays, safetensors and columns of parquet tables, read in batches.

Files are memory-mapped or streamed, so that they may be larger than the memory. Nothing is ever
unpickled. A file of safetensors is a length, a header in JSON and plain numbers: it is read here,
without its package.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._files import check_there
from .._typing import Array
from ..corpus.formats import arrow_errors
from ..errors import InvalidFile, InvalidInput
from .npz import read_arrays

__all__ = ["VectorFile", "open_vectors"]

_ROWS = 16_384
# A header of safetensors is at most this long, by the rule of the format.
_HEADER = 100_000_000
_TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2", "I8": "i1", "U8": "u1"}


@dataclass(frozen=True)
class VectorFile:
    """Vectors of a file, read in batches."""

    path: str
    name: str
    shape: tuple[int, int]
    # Takes a number of rows, and yields batches of at most that many as they are stored.
    read_rows: Callable[[int], Iterator[Array]] = field(repr=False)

    def batches(self, rows: int = _ROWS) -> Iterator[Array]:
        """Yield the vectors in order, at most ``rows`` at a time, as float32 or float64."""
        start = 0
        for batch in self.read_rows(rows):
            block = np.asarray(batch, dtype=np.float64 if batch.dtype == np.float64 else np.float32)
            if not np.isfinite(block).all():
                row = start + int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
                raise InvalidFile(
                    f"{self.path}: vector {row + 1} holds NaN or infinity; leave it out, with its "
                    "labels."
                )
            start += block.shape[0]
            yield block

    def read(self) -> Array:
        """Return all vectors as one array."""
        return np.concatenate(list(self.batches()))


def open_vectors(path: str | os.PathLike[str], *, name: str | None = None) -> VectorFile:
    """Open a file of vectors: .npy, .npz, .safetensors or .parquet.

    Parameters
    ----------
    path : path
        The file. An .npy file and a safetensors file are memory-mapped, a parquet file is
        streamed (needs pyarrow: ``pip install 'labelspan[io]'``).
    name : str or None, default=None
        Name of the array, tensor or list column; None takes the only one that holds vectors.

    Returns
    -------
    VectorFile
        Vectors with a ``shape``; ``batches(rows)`` yields arrays of at most ``rows`` rows, float32
        or float64, and ``read()`` returns all.

    See Also
    --------
    read_label_file : Read the labels of the vectors.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelspan.datasets import open_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/both.npz", left=np.eye(2), right=np.ones((4, 3)))
    ...     vectors = open_vectors(f"{folder}/both.npz", name="right")
    ...     vectors.shape, [batch.shape for batch in vectors.batches(3)]
    ((4, 3), [(3, 3), (1, 3)])
    """
    path = Path(path)
    check_there(path)
    openers = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors}
    openers |= {".parquet": _parquet, ".pq": _parquet}
    opener = openers.get(path.suffix.lower())
    if opener is None or not path.is_file():
        raise InvalidInput(
            f"{path} is not a file of vectors: they are read from .npy, .npz, .safetensors and "
            ".parquet files; convert it to one of them."
        )
    try:
        return opener(path, name)
    except (OSError, EOFError) as error:
        raise InvalidFile(f"{path} cannot be read: {error}; get it again.") from error


def _sliced(path: Path, name: str, array: Any, convert: Callable[[Array], Array]) -> VectorFile:
    def read(rows: int) -> Iterator[Array]:
        for start in range(0, array.shape[0], max(1, rows)):
            yield convert(array[start : start + max(1, rows)])

    shape = int(array.shape[0]), int(array.shape[1])
    return VectorFile(str(path), name, _checked(path, shape), read)


def _checked(path: Path, shape: tuple[int, int]) -> tuple[int, int]:
    if 0 in shape:
        raise InvalidFile(f"{path} holds no vectors: its shape is {shape}.")
    return shape


def _is_vectors(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype.kind in "fiu"


def _npy(path: Path, name: str | None) -> VectorFile:
    if name is not None:
        raise InvalidInput(f"{path} holds one array without a name; leave the name out.")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise InvalidFile(
            f"{path} is damaged or not an array of numbers: {error}; get it again."
        ) from error
    if not _is_vectors(array):
        raise InvalidFile(f"{path} must hold numbers, one vector per row.")
    return _sliced(path, "", array, np.asarray)


def _npz(path: Path, name: str | None) -> VectorFile:
    arrays = read_arrays(path)
    able = [key for key, array in arrays.items() if _is_vectors(array)]
    chosen = _named(path, name, able)
    return _sliced(path, chosen, arrays[chosen], np.asarray)


def _named(path: Path, name: str | None, able: list[str]) -> str:
    """Return the array to read: the one that was named, or the only one that holds vectors."""
    if name in able or (name is None and len(able) == 1):
        return name or able[0]
    listed = ", ".join(map(repr, able)) or "none"
    wanted = "exactly one array or column" if name is None else repr(name)
    raise InvalidInput(
        f"{path}: {wanted} must hold vectors, but these do: {listed}; give the name of one."
    )


def _safetensors(path: Path, name: str | None) -> VectorFile:
    size = path.stat().st_size
    damaged = InvalidFile(f"{path} is damaged or not a safetensors file; get it again.")
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else _HEADER + 1
        if length > min(_HEADER, size - 8):
            raise damaged
        content = file.read(length)
    try:
        tensors = json.loads(content)
        able = {
            key: one
            for key, one in tensors.items()
            if key != "__metadata__" and len(one["shape"]) == 2 and one["dtype"] in _TYPES
        }
        chosen = _named(path, name, list(able))
        kind = able[chosen]["dtype"]
        rows, columns = (int(side) for side in able[chosen]["shape"])
        begin, end = (int(place) for place in able[chosen]["data_offsets"])
    except InvalidInput:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise damaged from error
    dtype = np.dtype(_TYPES[kind])
    shape = _checked(path, (rows, columns))
    if min(rows, columns, begin) < 0 or end - begin != rows * columns * dtype.itemsize:
        raise damaged
    if 8 + length + end > size:
        raise InvalidFile(f"{path} is cut off before the end of {chosen!r}; get it again.")
    array = np.memmap(path, dtype, "r", offset=8 + length + begin, shape=shape)
    return _sliced(path, chosen, array, _widened if kind == "BF16" else np.asarray)


def _widened(block: Array) -> Array:
    """Return bfloat16, which numpy does not know, as float32: its upper two bytes."""
    return (block.astype(np.uint32) << 16).view(np.float32)


def _parquet(path: Path, name: str | None) -> VectorFile:
    with arrow_errors(path) as (arrow, parquet):
        table = parquet.ParquetFile(path, memory_map=True)
        types = arrow.types
        able = {
            field.name: arrow.large_list(field.type.value_type)
            for field in table.schema_arrow
            if types.is_list(field.type)
            or types.is_large_list(field.type)
            or types.is_fixed_size_list(field.type)
        }
        able = {
            key: kind
            for key, kind in able.items()
            if types.is_floating(kind.value_type) or types.is_integer(kind.value_type)
        }
        chosen = _named(path, name, list(able))

    def read(rows: int) -> Iterator[Array]:
        start, width = 0, None
        with arrow_errors(path):
            for batch in table.iter_batches(max(1, rows), columns=[chosen]):
                column = batch.column(0).cast(able[chosen])
                sizes = np.diff(column.offsets.to_numpy())
                width = sizes[0] if width is None and sizes.size else width
                known = column.is_valid().to_numpy(zero_copy_only=False)
                bad = np.flatnonzero((sizes != width) | ~known)
                if bad.size:
                    raise InvalidFile(
                        f"{path}, row {start + bad[0] + 1}: {chosen!r} must have {width} numbers, "
                        f"as in the first row, but has {sizes[bad[0]]}; leave the row out."
                    )
                if sizes.size:
                    yield column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
                start += sizes.size

    first = next(read(1), np.empty((0, 0)))
    shape = table.metadata.num_rows, int(first.shape[1])
    return VectorFile(str(path), chosen, _checked(path, shape), read)
