"""Labels in files, one row per vector: arrays, sparse arrays, tables, JSON and plain lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .._typing import Array
from ..corpus.fields import names_in
from ..corpus.formats import CorpusFiles
from ..corpus.label_values import LabelParser
from ..corpus.names import first_known, listed
from ..corpus.sources import open_source, text_of
from ..errors import InvalidFile, InvalidInput
from .dataset import indicator
from .npz import csr_part, read_arrays

__all__ = ["RowLabels", "read_label_file"]


@dataclass(frozen=True)
class RowLabels:
    r"""Labels of rows, held sparse.

    Attributes
    ----------
    names : tuple of str
        Name of each column.
    values : sparse array of int8 of shape (n, k)
        1 where a row has a label.
    unknown : array of bool of shape (n,)
        The rows whose labels are not known.

    See Also
    --------
    read_label_file : Read them from a file.

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

    names: tuple[str, ...]
    values: Any
    unknown: Array

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def block(self, start: int, stop: int) -> Array:
        """Return some rows as an array of 0 and 1; -1 in rows whose labels are unknown.

        Parameters
        ----------
        start, stop : int
            The first row, and the row after the last.
        """
        block = self.values[start:stop].toarray()
        block[self.unknown[start:stop]] = -1
        return np.asarray(block)


def read_label_file(
    path: str | os.PathLike[str],
    *,
    field: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    empty: Literal["unknown", "none"] = "unknown",
    min_count: int = 1,
) -> RowLabels:
    """Read the labels of vectors from a file, one row per vector in the same order.

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
    encoding : str or None, default=None
        Encoding of text; None is UTF-8, or what a byte order mark says.
    empty : {"unknown", "none"}, default="unknown"
        What rows without labels mean: labels that are unknown, or known to be none.
    min_count : int, default=1
        Leave out labels of fewer rows.

    Returns
    -------
    RowLabels
        The labels, by row.

    See Also
    --------
    open_vectors : Open the vectors that the labels belong to.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelspan.datasets import read_label_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/classes.npy", np.array(["cat", "dog", "cat"]))
    ...     read_label_file(f"{folder}/classes.npy").names
    ('cat', 'dog')
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind in (".npy", ".npz"):
        found = _from_arrays(path)
    else:
        source = open_source(path)
        if source.is_folder:
            raise InvalidInput(f"{path} is a folder; give a file.")
        if kind == ".txt":
            lines = text_of(source.members[0], encoding).splitlines()
            places = [f"{path}, line {number}" for number in range(1, len(lines) + 1)]
            found = _from_values(lines, "the line", separator, places)
        else:
            table = CorpusFiles(str(path), source.members, None, encoding)
            rows = list(table.rows())
            items = [row for *_, row in rows]
            key = _field(str(path), items, field)
            places = [table.where(file, number) for file, number, _ in rows]
            found = _from_values([item.get(key) for item in items], key, separator, places)
    if min_count > 1:
        counts = np.asarray(found.values.sum(axis=0)).ravel()
        kept = np.flatnonzero(counts >= min_count)
        found = RowLabels(
            tuple(found.names[one] for one in kept), found.values[:, kept], found.unknown
        )
    if not found.names:
        raise InvalidFile(f"{path} holds no labels; give another file or field.")
    if empty == "none" and kind not in (".npy", ".npz"):
        return RowLabels(found.names, found.values, np.zeros(len(found), dtype=bool))
    return found


def _from_values(
    values: Sequence[Any], key: str, separator: str | None, places: Sequence[str]
) -> RowLabels:
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


def _field(name: str, items: Sequence[dict[str, Any]], field: str | None) -> str:
    there = names_in(items)
    if field is not None:
        if field in there:
            return field
        raise InvalidInput(f"{name} has no field {field!r}; its fields are {listed(there)}.")
    if len(there) == 1:
        return there[0]
    known = first_known(there, "labels")
    if known is not None:
        return known
    raise InvalidInput(
        f"{name}: no field has a usual name for labels; give the name of one of "
        f"{listed(there) or 'none'}."
    )


def _from_arrays(path: Path) -> RowLabels:
    arrays = read_arrays(path)
    names: Array | None = None
    for key in ("label_names", "class_names"):
        if key in arrays:
            names = np.asarray(arrays[key]).astype(str)
    prefix = next((one for one in ("", "Y_") if f"{one}indptr" in arrays), None)
    if prefix is not None:
        if prefix == "" and str(arrays.get("format", np.array(b"csr")).astype(str)) != "csr":
            raise InvalidFile(f"{path}: save the sparse array in CSR format (labels.tocsr()).")
        try:
            table = csr_part(arrays, prefix)
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise InvalidFile(f"{path} is damaged ({error}); get it again.") from error
        table.sum_duplicates()
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
        unknown: Array = np.all((array == -1) | np.isnan(array.astype(np.float64)), axis=1)
        table = sparse.csr_array(np.where(unknown[:, None], 0, array))
        return _checked(path, table, names, unknown)
    return _checked(path, table, names, np.zeros(table.shape[0], dtype=bool))


def _checked(path: Path, table: Any, names: Array | None, unknown: Array) -> RowLabels:
    if not np.isin(table.data, (0, 1)).all():
        raise InvalidFile(
            f"{path}: labels must be 0 and 1, with -1 in whole rows that are unknown."
        )
    if names is None:
        names = np.arange(table.shape[1]).astype(str)
    if names.size != table.shape[1]:
        raise InvalidFile(f"{path}: there are {names.size} names for {table.shape[1]} labels.")
    return RowLabels(tuple(names.tolist()), table.astype(np.int8), unknown)


def _from_classes(path: Path, vector: Array, names: Array | None) -> RowLabels:
    if vector.dtype.kind not in "biuUSf" or (vector.dtype.kind == "f" and (vector % 1 > 0).any()):
        raise InvalidFile(f"{path}: a vector of classes holds whole numbers or strings.")
    if vector.dtype.kind == "f":
        vector = np.where(np.isfinite(vector), vector, -1).astype(np.int64)
    unknown = vector == -1 if vector.dtype.kind in "iu" else np.zeros(vector.size, dtype=bool)
    found, codes = np.unique(vector[~unknown], return_inverse=True)
    rows = np.flatnonzero(~unknown)
    entries = np.ones(rows.size, np.int8), (rows, codes)
    table = sparse.csr_array(entries, shape=(vector.size, found.size))
    shown = found.astype(str)
    if names is not None and found.dtype.kind in "iu" and found.size and found[-1] < names.size:
        shown = names[found]
    return RowLabels(tuple(shown.tolist()), table, unknown)
