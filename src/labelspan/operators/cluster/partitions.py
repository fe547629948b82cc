"""One partition of the rows: reading it on a worker and preparing it for products."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ...corpus.parquet import open_table
from ...datasets import read_npz
from ...errors import InvalidFile, InvalidInput, MissingData
from ..convert import as_operator
from ..dense import Dense
from ..sparse import Sparse

__all__ = ["load_partition", "prepare_block", "read_partition"]


def prepare_block(values: Any) -> Any:
    """Convert a block to a float array, or to a CSR matrix in canonical format."""
    operator = as_operator(values)
    if isinstance(operator, Sparse):
        # Dask knows the size of a csr_matrix, but takes a csr_array for a small object.
        return sparse.csr_matrix(operator.csr)
    if isinstance(operator, Dense):
        return operator.array
    raise InvalidInput(
        "A block of rows must be an array or a sparse matrix of the host, "
        f"but {type(values).__name__} was given."
    )


def load_partition(source: Any) -> Any:
    """Call a function or read a file, and prepare the block that it holds."""
    return prepare_block(source() if callable(source) else read_partition(source))


def read_partition(path: str | os.PathLike[str]) -> Any:
    """Read the features in a partition: ``.npz`` of scipy or of labelspan, or ``.parquet``."""
    name = os.fspath(path)
    readers = {".npz": _read_npz, ".parquet": _read_parquet}
    suffix = Path(name).suffix
    if suffix not in readers:
        raise InvalidInput(
            f"A partition is an .npz or a .parquet file, but {name!r} was given; for other "
            "files give a function that reads them."
        )
    if not Path(name).is_file():
        raise MissingData(
            f"There is no file {name!r} on the worker; put partitions where every worker can "
            "read them, and give whole paths."
        )
    return readers[suffix](name)


def _read_npz(name: str) -> Any:
    try:
        with np.load(name, allow_pickle=False) as archive:
            of_scipy = {"format", "shape"} <= set(archive.files)
        if of_scipy:
            return sparse.load_npz(name)
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidFile(
            f"{name} is damaged or not an .npz file: {error}; write it again."
        ) from error
    X = read_npz(name).X
    if X is None:
        raise InvalidFile(f"{name} holds no features; write them as X.")
    return X


def _read_parquet(name: str) -> Any:
    table = open_table(name)
    columns = [table.column(column).to_numpy() for column in table.column_names]
    wrong = [
        column
        for column, values in zip(table.column_names, columns, strict=True)
        if values.dtype.kind not in "fiub"
    ]
    if wrong or not columns:
        raise InvalidFile(
            f"{name}: every column of a partition must hold numbers, but {wrong} do not; for "
            "another layout give a function that reads it."
        )
    return np.column_stack(columns)
