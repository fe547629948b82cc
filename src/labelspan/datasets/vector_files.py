"""Vectors in files: numpy arrays, safetensors and columns of parquet tables; and their labels.

Vectors are memory-mapped or streamed, so that they may be larger than the memory. Nothing is ever
unpickled. A file of safetensors is a length, a header in JSON and plain numbers: it is read here,
without its package.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .._files import check_there
from .._typing import Array
from ..corpus.fields import names_in
from ..corpus.formats import CorpusFiles, arrow_errors
from ..corpus.label_values import LabelParser
from ..corpus.names import first_known, listed
from ..corpus.sources import open_source, text_of
from ..errors import InvalidFile, InvalidInput
from .dataset import indicator
from .npz import csr_part, read_arrays

__all__ = ["RowLabels", "VectorFile", "open_vectors", "read_label_file"]

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
    read_rows: Callable[[int], Iterator[Array]]

    def __post_init__(self) -> None:
        if 0 in self.shape:
            raise InvalidFile(f"{self.path} holds no vectors: its shape is {self.shape}.")

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

    ``name`` is that of an array, tensor or list column; None takes the only one that holds vectors.
    """
    path = Path(path)
    check_there(path)
    openers = {".npy": _numpy, ".npz": _numpy, ".safetensors": _safetensors}
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
    """Return the vectors of an array in memory or in a file."""

    def read(rows: int) -> Iterator[Array]:
        for start in range(0, array.shape[0], max(1, rows)):
            yield convert(array[start : start + max(1, rows)])

    return VectorFile(str(path), name, (int(array.shape[0]), int(array.shape[1])), read)


def _numpy(path: Path, name: str | None) -> VectorFile:
    try:
        mapped = path.suffix.lower() == ".npy"
        arrays = (
            {"": np.load(path, mmap_mode="r", allow_pickle=False)} if mapped else read_arrays(path)
        )
    except ValueError as error:
        raise InvalidFile(
            f"{path} is damaged or not an array of numbers: {error}; get it again."
        ) from error
    able = [key for key, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "fiu"]
    chosen = _named(path, name, able)
    return _sliced(path, chosen, arrays[chosen], np.asarray)


def _named(path: Path, name: str | None, able: list[str]) -> str:
    """Return the array to read: the one that was named, or the only one that holds vectors."""
    if name in able or (name is None and len(able) == 1):
        return name or able[0]
    shown = listed(able) or "none"
    wanted = "exactly one array or column" if name is None else repr(name)
    raise InvalidInput(
        f"{path}: {wanted} must hold vectors, but these do: {shown}; give the name of one."
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
    if min(rows, columns) < 1 or begin < 0 or end - begin != rows * columns * dtype.itemsize:
        raise damaged
    if 8 + length + end > size:
        raise InvalidFile(f"{path} is cut off before the end of {chosen!r}; get it again.")
    array = np.memmap(path, dtype, "r", offset=8 + length + begin, shape=(rows, columns))
    return _sliced(path, chosen, array, _widened if kind == "BF16" else np.asarray)


def _widened(block: Array) -> Array:
    """Return bfloat16, which numpy does not know, as float32: its upper two bytes."""
    return (block.astype(np.uint32) << 16).view(np.float32)


def _parquet(path: Path, name: str | None) -> VectorFile:
    with arrow_errors(path) as (arrow, parquet):
        table = parquet.ParquetFile(path, memory_map=True)
        types = arrow.types
        able = {}
        for column in table.schema_arrow:
            kind = column.type
            inner = getattr(kind, "value_type", None) if types.is_nested(kind) else None
            if inner and (types.is_floating(inner) or types.is_integer(inner)):
                able[column.name] = arrow.large_list(inner)
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
    return VectorFile(str(path), chosen, shape, read)


# --- labels ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowLabels:
    """Labels of rows: their names, an indicator, and the rows without known labels."""

    names: tuple[str, ...]
    values: Any
    unknown: Array

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def block(self, start: int, stop: int) -> Array:
        """Return some rows as an array of 0 and 1; -1 in rows whose labels are unknown."""
        block = self.values[start:stop].toarray()
        block[self.unknown[start:stop]] = -1
        return np.asarray(block)


def read_label_file(
    path: str | os.PathLike[str],
    *,
    field: str | None = None,
    separator: str | None = None,
    empty: Literal["unknown", "none"] = "unknown",
    min_count: int = 1,
) -> RowLabels:
    """Read the labels of vectors from a file, one row per vector in the same order.

    ``.npy``: an array of 0 and 1 with one column per label (-1: unknown), or a vector of classes.
    ``.npz``: a sparse array that scipy saved, or a data set of labelspan. ``.txt``: the labels of a
    row on a line. Others are tables with a ``field`` of labels: the only one, or one with a usual
    name if it is not given. Labels of fewer than ``min_count`` rows are left out.
    """
    path = Path(path)
    if path.suffix.lower() in (".npy", ".npz"):
        found = _from_arrays(path)
    else:
        found = _from_text(path, field, separator)
        if empty == "none":
            found = replace(found, unknown=np.zeros(len(found), dtype=bool))
    if min_count > 1:
        kept = np.flatnonzero(found.values.sum(axis=0) >= min_count)
        names = tuple(found.names[one] for one in kept)
        found = replace(found, names=names, values=found.values[:, kept])
    if not found.names:
        raise InvalidFile(f"{path} holds no labels; give another file or field.")
    return found


def _from_text(path: Path, field: str | None, separator: str | None) -> RowLabels:
    source = open_source(path)
    if source.is_folder:
        raise InvalidInput(f"{path} is a folder; give a file.")
    if path.suffix.lower() == ".txt":
        key = "the line"
        values: list[Any] = list(text_of(source.members[0], None).splitlines())
        places = [f"{path}, line {number}" for number in range(1, len(values) + 1)]
    else:
        files = CorpusFiles(str(path), source.members, None, None)
        rows = list(files.rows())
        items = [row for *_, row in rows]
        there = names_in(items)
        known = there[0] if len(there) == 1 else first_known(there, "labels")
        key = field or known or ""
        if key not in there:
            what = f"no field {field!r}" if field else "no field with a usual name for labels"
            raise InvalidInput(f"{path} has {what}; give the name of one of {listed(there)}.")
        values = [item.get(key) for item in items]
        places = [files.where(file, number) for file, number, _ in rows]
    read = LabelParser(values, key, separator)
    lists: list[list[str] | None] = []
    for value, where in zip(values, places, strict=True):
        try:
            lists.append(read(value) or None)
        except ValueError as error:
            raise InvalidFile(f"{where}: {error}") from None
    return _from_lists(lists)


def _from_lists(lists: list[list[str] | None]) -> RowLabels:
    table, names = indicator([own or () for own in lists])
    unknown = np.array([own is None for own in lists], dtype=bool)
    return RowLabels(names, table.astype(np.int8), unknown)


def _from_arrays(path: Path) -> RowLabels:
    arrays = read_arrays(path)
    names: Array | None = arrays.get("label_names", arrays.get("class_names"))
    compressed = next((one for one in ("", "Y_") if f"{one}indptr" in arrays), None)
    dense = next((arrays[key] for key in ("", "Y", "y") if key in arrays), None)
    if str(arrays.get("format", np.array(b"csr")).astype(str)) != "csr":
        raise InvalidFile(f"{path}: save the sparse array in CSR format (labels.tocsr()).")
    if compressed is None and dense is None:
        raise InvalidInput(
            f"{path} must hold one array of labels, called Y or y, but has "
            f"{', '.join(map(repr, arrays)) or 'none'}."
        )
    if dense is not None and dense.ndim == 1:
        return _from_classes(path, dense, names)
    try:
        table = sparse.csr_array(dense) if compressed is None else csr_part(arrays, compressed)
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise InvalidFile(
            f"{path}: labels must be a vector, or 0 and 1 with one column per label ({error})."
        ) from error
    table.sum_duplicates()
    absent = table == -1
    unknown = absent.sum(axis=1) == table.shape[1]
    if not np.isin(table.data, (0, 1, -1)).all() or absent[~unknown].nnz:
        raise InvalidFile(
            f"{path}: labels must be 0 and 1, with -1 in whole rows that are unknown."
        )
    shown = np.arange(table.shape[1]) if names is None else names
    if shown.size != table.shape[1]:
        raise InvalidFile(f"{path}: there are {shown.size} names for {table.shape[1]} labels.")
    return RowLabels(tuple(map(str, shown)), table.maximum(0).astype(np.int8), unknown)


def _from_classes(path: Path, vector: Array, names: Array | None) -> RowLabels:
    kind = vector.dtype.kind
    if kind not in "biuUSf" or (kind == "f" and (vector % 1 > 0).any()):
        raise InvalidFile(f"{path}: a vector of classes holds whole numbers or strings.")
    if kind == "f":
        vector = np.where(np.isfinite(vector), vector, -1).astype(np.int64)
    shown = vector.astype(str)
    if names is not None and kind not in "US" and vector.max(initial=0) < names.size:
        shown = names[vector].astype(str)
    unknown = vector.astype(str) == "-1"
    return _from_lists(
        [None if gap else [str(one)] for one, gap in zip(shown, unknown, strict=True)]
    )
