"""Labels in files, one row per vector: arrays, sparse arrays, tables, JSON and plain lines."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .._typing import Array
from ..corpus.fields import first_known, listed, names_in
from ..corpus.formats import CorpusFiles
from ..corpus.label_values import LabelParser
from ..corpus.sources import open_source, text_of
from ..errors import InvalidFile, InvalidInput
from .dataset import indicator
from .npz import csr_part, read_arrays

__all__ = ["RowLabels", "read_label_file"]


@dataclass(frozen=True)
class RowLabels:
    """Labels of rows: their names, 1 where a row has one, and the rows that have none known."""

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
    r"""Read the labels of vectors from a file, one row per vector in the same order.

    Parameters
    ----------
    path : path
        ``.npy``: an array of 0 and 1 with one column per label (-1: unknown), or a vector of
        classes. ``.npz``: a sparse array that scipy saved, or a data set of labelspan. ``.txt``:
        the labels of a row on a line. Others (jsonl, json, csv, tsv, parquet): a table with a
        field of labels.
    field : str or None, default=None
        The field of the labels; None takes the only one, or one with a usual name for labels.
    separator : str or None, default=None
        Separator of labels in a string; None guesses it.
    empty : {"unknown", "none"}, default="unknown"
        What rows without labels mean: labels that are unknown, or known to be none.
    min_count : int, default=1
        Leave out labels of fewer rows.

    Returns
    -------
    RowLabels
        The labels, with their ``names``; ``block(start, stop)`` returns some rows as an array of 0
        and 1, with -1 in rows whose labels are unknown.

    See Also
    --------
    open_vectors : Open the vectors that the labels belong to.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.datasets import read_label_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "tags.txt").write_text("game;board\n\ngame\n")
    ...     labels = read_label_file(f"{folder}/tags.txt")
    >>> labels.names
    ('board', 'game')
    >>> labels.block(0, 3)
    array([[ 1,  1],
           [-1, -1],
           [ 0,  1]], dtype=int8)
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
    lists = []
    for value, where in zip(values, places, strict=True):
        try:
            lists.append(read(value) or None)
        except ValueError as error:
            raise InvalidFile(f"{where}: {error}") from None
    table, names = indicator([own or () for own in lists])
    unknown = np.array([own is None for own in lists], dtype=bool)
    return RowLabels(names, table.astype(np.int8), unknown)


def _from_arrays(path: Path) -> RowLabels:
    arrays = read_arrays(path)
    names: Array | None = arrays.get("label_names", arrays.get("class_names"))
    prefix = next((one for one in ("", "Y_") if f"{one}indptr" in arrays), None)
    if prefix is not None:
        if prefix == "" and str(arrays.get("format", np.array(b"csr")).astype(str)) != "csr":
            raise InvalidFile(f"{path}: save the sparse array in CSR format (labels.tocsr()).")
        try:
            table = csr_part(arrays, prefix)
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise InvalidFile(f"{path} is damaged ({error}); get it again.") from error
        table.sum_duplicates()
        unknown = np.zeros(table.shape[0], dtype=bool)
    else:
        known = [key for key in ("", "Y", "y") if key in arrays]
        if not known and len(arrays) != 1:
            raise InvalidInput(
                f"{path} must hold one array of labels, or one called Y or y, but has "
                f"{', '.join(map(repr, arrays)) or 'none'}."
            )
        array = arrays[known[0]] if known else next(iter(arrays.values()))
        if array.ndim == 1:
            return _from_classes(path, array, names)
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise InvalidFile(
                f"{path}: labels must be a vector, or 0 and 1 with one column per label, but have "
                f"shape {array.shape} and type {array.dtype}."
            )
        unknown = np.all((array == -1) | np.isnan(array.astype(np.float64)), axis=1)
        table = sparse.csr_array(np.where(unknown[:, None], 0, array))
    if not np.isin(table.data, (0, 1)).all():
        raise InvalidFile(
            f"{path}: labels must be 0 and 1, with -1 in whole rows that are unknown."
        )
    shown = np.arange(table.shape[1]) if names is None else names
    if shown.size != table.shape[1]:
        raise InvalidFile(f"{path}: there are {shown.size} names for {table.shape[1]} labels.")
    return RowLabels(tuple(shown.astype(str).tolist()), table.astype(np.int8), unknown)


def _from_classes(path: Path, vector: Array, names: Array | None) -> RowLabels:
    kind = vector.dtype.kind
    if kind not in "biuUSf" or (kind == "f" and (vector % 1 > 0).any()):
        raise InvalidFile(f"{path}: a vector of classes holds whole numbers or strings.")
    if kind == "f":
        vector = np.where(np.isfinite(vector), vector, -1).astype(np.int64)
    unknown = vector == -1 if vector.dtype.kind in "iu" else np.zeros(vector.size, dtype=bool)
    found, codes = np.unique(vector[~unknown], return_inverse=True)
    entries = np.ones(codes.size, np.int8), (np.flatnonzero(~unknown), codes)
    table = sparse.csr_array(entries, shape=(vector.size, found.size))
    shown = found
    if names is not None and found.dtype.kind in "iu" and found.size and found[-1] < names.size:
        shown = names[found]
    return RowLabels(tuple(shown.astype(str).tolist()), table, unknown)
