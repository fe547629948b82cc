"""Tables with a header: columns of features or texts, and columns of labels."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InvalidFile, InvalidParameter
from ..dataset import DataSet
from .lines import TRUTH, indicator, malformed, numbered_lines, stem

__all__ = ["Roles", "assemble", "read_csv", "table_rows"]

_LONGEST_CELL = 1 << 30


@dataclass(frozen=True)
class Roles:
    """Which columns are what; all that are not named are features."""

    labels: str | Sequence[str] | None
    classes: str | None
    text: str | None
    ids: str | None
    separator: str

    def check(self, owner: str, columns: Sequence[str]) -> None:
        """Check that the columns exist, and that labels or classes are named."""
        if (self.labels is None) == (self.classes is None):
            raise InvalidParameter(f"{owner}: give either labels or classes.")
        if len(set(columns)) < len(columns):
            raise InvalidFile(f"{owner}: two columns have the same name; rename one.")
        named = [*self.indicators, self.listed, self.classes, self.text, self.ids]
        for name in named:
            if name is not None and name not in columns:
                raise InvalidParameter(
                    f"{owner}: there is no column {name!r}; there are {', '.join(columns):.200}."
                )

    @property
    def listed(self) -> str | None:
        """Column that lists the labels of each row."""
        return self.labels if isinstance(self.labels, str) else None

    @property
    def indicators(self) -> list[str]:
        """Columns of 0 and 1, one per label."""
        return [] if self.labels is None or isinstance(self.labels, str) else list(self.labels)

    def features(self, columns: Sequence[str]) -> list[str]:
        """Return the columns without another role; none if there is a text."""
        taken = {*self.indicators, self.listed, self.classes, self.text, self.ids}
        return [] if self.text is not None else [name for name in columns if name not in taken]


def assemble(
    path: str | os.PathLike[str],
    roles: Roles,
    features: dict[str, Any],
    column: Callable[[str], list[Any]],
) -> DataSet:
    """Make a data set from numeric features and from the other columns."""
    Y = names = y = None
    if roles.listed is not None:
        given = column(roles.listed)
        lists = [_names(value, roles.separator) for value in given]
        Y, names = indicator(lists)
    elif roles.classes is not None:
        found = [str(value) for value in column(roles.classes)]
        names = tuple(sorted(set(found)))
        codes = {name: code for code, name in enumerate(names)}
        y = np.array([codes[value] for value in found], dtype=np.int64)
    else:
        names = tuple(roles.indicators)
        Y = np.array([column(name) for name in names], dtype=np.int8).T
    return DataSet(
        stem(path),
        np.column_stack(list(features.values())) if features else None,
        Y,
        y,
        texts=None if roles.text is None else [str(text) for text in column(roles.text)],
        ids=None if roles.ids is None else [str(name) for name in column(roles.ids)],
        feature_names=tuple(features) if features else None,
        label_names=names,
        source=os.fspath(path),
    )


def _names(value: Any, separator: str) -> list[str]:
    """Return the labels that a cell lists."""
    if isinstance(value, str):
        return [name.strip() for name in value.split(separator) if name.strip()]
    return [] if value is None else [str(name) for name in value]


def read_csv(
    path: str | os.PathLike[str],
    *,
    labels: str | Sequence[str] | None = None,
    classes: str | None = None,
    text: str | None = None,
    ids: str | None = None,
    separator: str = ";",
    delimiter: str = ",",
) -> DataSet:
    r"""Read a table with a header from a csv file, plain or ``.gz``.

    Parameters
    ----------
    path : path
        The file to read.
    labels : str, sequence of str or None, default=None
        The column that lists the labels of each row, or the columns of 0 and 1, one per label
        (empty or ``?`` if unknown).
    classes : str or None, default=None
        Instead of labels, the column with the class of each row.
    text : str or None, default=None
        The column of the texts. With it there are no features; otherwise all other columns must
        be numbers, and an empty cell is NaN.
    ids : str or None, default=None
        The column of the names of the rows.
    separator : str, default=";"
        The separator of labels in one cell.
    delimiter : str, default=","
        The separator of columns.

    Returns
    -------
    DataSet
        The table as features or texts, with labels or classes.

    See Also
    --------
    read_corpus : Read texts and labels from many formats, guessing their fields.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.datasets import read_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fruit.csv"
    ...     _ = path.write_text("weight,tags\n3.5,sweet;round\n1,round\n")
    ...     data = read_csv(path, labels="tags")
    >>> data.label_names, data.Y.toarray()
    (('round', 'sweet'), array([[1, 1],
           [1, 0]], dtype=uint8))
    """
    roles = Roles(labels, classes, text, ids, separator)
    rows = table_rows(numbered_lines(path), path, delimiter)
    number, columns = next(rows, (1, []))
    if not columns:
        raise malformed(path, number, "a header with the columns' names is needed")
    roles.check("read_csv", columns)
    names = roles.features(columns)
    wanted = set(names) | set(roles.indicators)
    cells: dict[str, list[Any]] = {name: [] for name in columns}
    for number, row in rows:
        if len(row) != len(columns):
            raise malformed(path, number, f"{len(row)} cells for {len(columns)} columns")
        for name, cell in zip(columns, row, strict=True):
            try:
                cells[name].append(_number(cell, name in names) if name in wanted else cell)
            except (ValueError, KeyError):
                what = "a number" if name in names else "0 or 1"
                raise malformed(path, number, f"{name!r} is {cell!r:.40}, not {what}") from None
    features = {name: np.array(cells[name], dtype=np.float64) for name in names}
    return assemble(path, roles, features, cells.__getitem__)


def _number(cell: str, feature: bool) -> float:
    if not feature:
        return TRUTH[cell.strip().lower()]
    return float(cell) if cell.strip() else float("nan")


def table_rows(
    lines: Iterable[tuple[int, str]], path: str | os.PathLike[str], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Iterate over the rows that are not empty, each with the number of its last line."""
    reader = csv.reader((line for _, line in lines), delimiter=delimiter, strict=True)
    # Texts may be longer than the 131,072 characters that Python's reader allows by default.
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise malformed(path, reader.line_num, f"this is not csv ({error})") from error
    finally:
        csv.field_size_limit(limit)
