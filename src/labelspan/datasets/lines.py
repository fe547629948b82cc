"""Shared by the readers: numbered lines, indicator matrices and truth values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..corpus.sources import lines_of, open_source, open_text
from ..errors import InvalidFile

__all__ = ["TRUTH", "indicator", "malformed", "numbered_lines", "stem"]

# How files write that a label is present, absent or unknown.
TRUTH = {"1": 1, "0": 0, "true": 1, "false": 0, "?": -1, "": -1}


def numbered_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Iterate over the lines of a text file, also a packed one, numbered from 1."""
    (member,) = open_source(path).members
    with open_text(member, None) as (text, _):
        yield from enumerate(lines_of(text, member.name), 1)


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
    return Path(path).name.partition(".")[0]
