"""Shared by the readers: numbered lines, indicator matrices and truth values."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..._files import read_bytes
from ...errors import InvalidFile

__all__ = ["TRUTH", "decoded_lines", "indicator", "malformed", "numbered_lines", "stem"]

# How files write that a label is present, absent or unknown.
TRUTH = {"1": 1, "0": 0, "true": 1, "false": 0, "?": -1, "": -1}


def numbered_lines(
    path: str | os.PathLike[str], sha256: str | None = None
) -> Iterator[tuple[int, str]]:
    """Iterate over the lines of a UTF-8 text file, numbered from 1; ``.gz`` is unpacked."""
    path = Path(path)
    yield from decoded_lines(read_bytes(path, sha256), path, packed=path.suffix == ".gz")


def decoded_lines(
    content: bytes, path: str | os.PathLike[str], *, packed: bool
) -> Iterator[tuple[int, str]]:
    """Iterate over the lines of the content of a file or a stream, numbered from 1."""
    raw: Any = io.BytesIO(content)
    number = 0
    try:
        if packed:
            raw = gzip.GzipFile(fileobj=raw)
        # Strict about bytes, lenient about a mark at the start that some editors leave.
        with io.TextIOWrapper(raw, encoding="utf-8-sig") as lines:
            for line in lines:
                number += 1
                yield number, line
    except UnicodeDecodeError as error:
        raise malformed(path, number + 1, f"this is not UTF-8 ({error.reason})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidFile(
            f"{path} is damaged after line {number}: {error}; get it again."
        ) from error


def malformed(path: str | os.PathLike[str], line: int, what: str) -> InvalidFile:
    """Return the error for a line."""
    return InvalidFile(f"{os.fspath(path)}, line {line}: {what}.")


def indicator(
    lists: Sequence[Iterable[str]], names: Sequence[str] | None = None
) -> tuple[Any, tuple[str, ...]]:
    """Convert lists of labels to a 0/1 matrix in CSR format; also return the labels of its columns.

    Without ``names`` all labels are used, sorted; with them, only those.
    """
    rows = [set(labels) for labels in lists]
    chosen = tuple(sorted(set().union(*rows)) if names is None else names)
    columns = {name: column for column, name in enumerate(chosen)}
    found = [sorted(columns[name] for name in labels if name in columns) for labels in rows]
    indptr = np.cumsum([0, *map(len, found)], dtype=np.int32)
    indices = np.array([column for row in found for column in row], dtype=np.int32)
    ones = np.ones(indices.size, dtype=np.uint8)
    return sparse.csr_array((ones, indices, indptr), shape=(len(rows), len(chosen))), chosen


def stem(path: str | os.PathLike[str]) -> str:
    """Return a name for the data in a file."""
    return Path(path).name.split(".")[0]
