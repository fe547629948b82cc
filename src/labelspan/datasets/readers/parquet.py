"""Parquet tables, by pyarrow, which is optional."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._files import read_bytes
from ...errors import InvalidFile, InvalidInput
from ..dataset import DataSet
from .csv_table import Roles, assemble

__all__ = ["open_table", "read_parquet"]


def read_parquet(
    path: str | os.PathLike[str],
    *,
    labels: str | Sequence[str] | None = None,
    classes: str | None = None,
    text: str | None = None,
    ids: str | None = None,
    separator: str = ";",
) -> DataSet:
    """Read a table from a parquet file; needs pyarrow (``pip install 'labelspan[io]'``).

    Parameters
    ----------
    path : path
        The file to read.
    labels : str, sequence of str or None, default=None
        The column that lists the labels of each row (as a list or a string), or the columns of
        0 and 1, one per label (null if unknown).
    classes : str or None, default=None
        Instead of labels, the column with the class of each row.
    text : str or None, default=None
        The column of the texts. With it there are no features; otherwise all other columns must
        be numbers, and null is NaN.
    ids : str or None, default=None
        The column of the names of the rows.
    separator : str, default=";"
        The separator of labels in a string.

    Returns
    -------
    DataSet
        The table as features or texts, with labels or classes.

    See Also
    --------
    read_corpus : Read texts and labels from many formats, guessing their fields.

    Examples
    --------
    >>> from labelspan.datasets import read_parquet
    >>> read_parquet("papers.parquet", text="abstract", labels="tags")  # doctest: +SKIP
    <DataSet papers: 1,200 rows, 31 labels>
    """
    roles = Roles(labels, classes, text, ids, separator)
    table = open_table(path)
    roles.check("read_parquet", table.column_names)
    features = {
        name: _numbers(path, name, table.column(name))
        for name in roles.features(table.column_names)
    }

    def column(name: str) -> list[Any]:
        values = table.column(name).to_pylist()
        if name not in roles.indicators:
            return list(values)
        return [_truth(path, name, row, value) for row, value in enumerate(values, 1)]

    return assemble(path, roles, features, column)


def open_table(path: str | os.PathLike[str], content: bytes | None = None) -> Any:
    """Return a pyarrow table from a parquet file, or from its content if that is given."""
    arrow, parquet = _arrow()
    content = read_bytes(Path(path)) if content is None else content
    try:
        return parquet.read_table(arrow.BufferReader(content))
    except (arrow.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as arrow  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInput(
            "A parquet file needs pyarrow, which is not installed; pip install 'labelspan[io]'."
        ) from error
    return arrow, parquet


def _damaged(path: str | os.PathLike[str], error: Exception) -> InvalidFile:
    return InvalidFile(
        f"{os.fspath(path)} is damaged or not a parquet file ({error}); get it again."
    )


def _numbers(path: Any, name: str, column: Any) -> Any:
    try:
        values = column.to_numpy()
        return values.astype(np.float32 if values.dtype == np.float32 else np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidFile(
            f"{os.fspath(path)}: the column {name!r} is of type {column.type}, not numbers; name "
            "it as labels, classes, text or ids, or leave it out."
        ) from error


def _truth(path: Any, name: str, row: int, value: Any) -> int:
    if value is None:
        return -1
    if value in (0, 1):
        return int(value)
    raise InvalidFile(f"{os.fspath(path)}, row {row}: {name!r} is {value!r:.40}, not 0 or 1.")
