"""Items of an index as one table: texts, labels, predicted labels, map coordinates, vectors."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .._files import write_whole
from .._install import install_command
from .._typing import Array
from ..errors import MissingData

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["ExportedItem", "item_records", "write_jsonl", "write_parquet"]

_ITEMS_AT_ONCE = 1000
_MOST_TAGS = 30
_COLUMNS = ("id", "title", "text", "labels", "predicted", "x", "y", "vector")


@dataclass(frozen=True)
class ExportedItem:
    """Item of an index, with all that the index knows of it.

    Attributes
    ----------
    id, title, text : str
    labels : list of str or None
        None if they are unknown.
    predicted : list of str
        Labels that the tagger would choose for the text.
    metadata : dict
    vector : array of shape (m,)
        Unit vector in the space.
    x, y : float or None
        Coordinates on the map.

    See Also
    --------
    item_records : Make them.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.export import ExportedItem
    >>> record = ExportedItem("a", "A", "A text", ["x"], [], {"year": 2001}, np.ones(2), None, None)
    >>> record.columns()["year"]
    2001
    """

    id: str
    title: str
    text: str
    labels: list[str] | None
    predicted: list[str]
    metadata: dict[str, Any]
    vector: Array
    x: float | None
    y: float | None

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table: metadata fields next to the others.

        Returns
        -------
        dict
            A field named like another column has ``metadata_`` before its name.
        """
        values: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        for name, value in self.metadata.items():
            values[_column(name)] = value
        return values


def _column(name: str) -> str:
    return f"metadata_{name}" if name in _COLUMNS else name


def item_records(
    index: SemanticIndex, *, points: Array | None = None, predict: bool = True
) -> Iterator[ExportedItem]:
    """Return all items of an index, in their order; memory is bounded by a block of items.

    Parameters
    ----------
    index : SemanticIndex
        Fitted.
    points : array of shape (n, 2) or None, default=None
        Coordinates on the map, in the order of ``index.ids``.
    predict : bool, default=True
        Whether to predict labels, where the index can.

    Returns
    -------
    iterator of ExportedItem
        One per item.

    See Also
    --------
    write_parquet : Write them to a file.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.export import item_records
    >>> texts = ["a chess game", "edit images", "a game of cards", "edit sound"]
    >>> labels = [["game"], ["edit"], ["game"], ["edit"]]
    >>> index = SemanticIndex().fit(texts, labels)
    >>> [record.labels for record in item_records(index)]
    [['game'], ['edit'], ['game'], ['edit']]
    """
    ids = index.ids
    for start in range(0, len(ids), _ITEMS_AT_ONCE):
        part = ids[start : start + _ITEMS_AT_ONCE]
        vectors = index.vectors(part).astype(np.float32)
        tags = (
            index.tag(items=part, k=_MOST_TAGS) if predict and index.can_tag else [[]] * len(part)
        )
        for n, item in enumerate(index.items(part)):
            place = (None, None) if points is None else points[start + n].tolist()
            yield ExportedItem(
                item.id,
                item.title,
                item.text,
                None if item.labels is None else list(item.labels),
                [tag.label for tag in tags[n] if tag.chosen],
                item.metadata,
                vectors[n],
                *place,
            )


def write_jsonl(records: Iterator[ExportedItem], path: str | os.PathLike[str]) -> int:
    """Write items as JSON lines, one object per item.

    Parameters
    ----------
    records : iterator of ExportedItem
        From :func:`item_records`.
    path : path
        The file; it is written under another name and renamed.

    Returns
    -------
    int
        Number of items.

    See Also
    --------
    write_parquet : The same as a parquet file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelspan.export import ExportedItem, write_jsonl
    >>> record = ExportedItem("a", "A", "A text", ["x"], [], {}, np.ones(2), None, None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_jsonl(iter([record]), f"{folder}/items.jsonl")
    1
    """
    count = 0

    def write(file: BinaryIO) -> None:
        nonlocal count
        for record in records:
            values = {name: value for name, value in record.columns().items() if value is not None}
            values["vector"] = [round(float(value), 6) for value in record.vector]
            file.write(json.dumps(values, ensure_ascii=False, default=str).encode() + b"\n")
            count += 1

    write_whole(Path(path), write)
    return count


def write_parquet(records: Iterator[ExportedItem], path: str | os.PathLike[str]) -> int:
    """Write items as a parquet file, which pandas, polars, DuckDB and embedding-atlas read.

    Labels are lists of strings and vectors lists of float32. Metadata fields whose values have
    one type are columns of that type, others are written as JSON.

    Parameters
    ----------
    records : iterator of ExportedItem
        From :func:`item_records`.
    path : path
        The file; it is written under another name and renamed.

    Returns
    -------
    int
        Number of items.

    See Also
    --------
    write_jsonl : The same as JSON lines.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelspan.export import ExportedItem, write_parquet
    >>> record = ExportedItem("a", "A", "A text", ["x"], [], {}, np.ones(2), None, None)
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     write_parquet(iter([record]), f"{folder}/items.parquet")
    1
    """
    try:
        import pyarrow  # noqa: PLC0415 - an optional dependency
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise MissingData(
            f"{path} needs pyarrow, which is not installed; {install_command('io')}."
        ) from error
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    count = 0
    for count, record in enumerate(records, 1):
        for name, value in record.columns().items():
            # A field that earlier items did not have is empty for them.
            columns.setdefault(name, [None] * (count - 1)).append(value)
        for values in columns.values():
            values.extend([None] * (count - len(values)))
    vectors = np.array(columns.pop("vector"), np.float32).reshape(count, -1)
    text = pyarrow.string()
    types = {
        "id": text,
        "title": text,
        "text": text,
        "labels": pyarrow.list_(text),
        "predicted": pyarrow.list_(text),
        "x": pyarrow.float32(),
        "y": pyarrow.float32(),
    }
    flat = pyarrow.array(vectors.ravel())
    arrays = {"vector": pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])}
    for name, values in columns.items():
        if name in types:
            arrays[name] = pyarrow.array(values, types[name])
        elif len({type(value) for value in values if value is not None}) == 1:
            arrays[name] = pyarrow.array(values)
        else:
            as_json = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
            arrays[name] = pyarrow.array(as_json, text)
    table = pyarrow.table({name: arrays[name] for name in [*columns, "vector"]})
    write_whole(Path(path), lambda file: parquet.write_table(table, file))
    return count
