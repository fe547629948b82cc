"""Items of an index as one table: texts, labels, predicted labels, map coordinates, vectors."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .._files import write_whole
from .._install import needed
from .._typing import Array
from ..display.layout import stored_layout
from ..errors import InvalidParameter

if TYPE_CHECKING:
    from ..index import SemanticIndex

__all__ = ["check_table", "export_file"]

_ITEMS_AT_ONCE = 1000
_MOST_TAGS = 30


def export_file(
    index: SemanticIndex,
    path: str | os.PathLike[str],
    *,
    with_map: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write the items of an index as a table that other programs read.

    The columns are ``id``, ``title``, ``text``, ``labels``, with a vocabulary ``label_uris``,
    ``predicted`` (the labels that the tagger chooses without the item), ``x`` and ``y`` on the map,
    the metadata, and ``vector``, of length one in the space. A metadata field named like another
    column has ``metadata_`` before its name.

    Parameters
    ----------
    index : SemanticIndex
        Fitted.
    path : path
        A ``.parquet`` file, which pandas, polars, DuckDB and embedding-atlas read, ``.jsonl`` with
        one object per item, or ``.csv``, in which labels have bars between them and which has no
        vectors. It is written under another name and renamed.
    with_map : bool, default=False
        Whether to compute coordinates on the map.
    progress : function or None, default=None
        Called with the number of steps of the map that are done, and of all.

    Returns
    -------
    int
        Number of items.

    See Also
    --------
    export_postgresql : A database instead of a file.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from labelspan import SemanticIndex
    >>> from labelspan.export import export_file
    >>> texts = ["a chess game", "edit images", "a game of cards", "edit sound"]
    >>> index = SemanticIndex().fit(texts, [["game"], ["edit"], ["game"], ["edit"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "items.jsonl"
    ...     _ = export_file(index, path)
    ...     row = json.loads(path.read_text().splitlines()[0])
    >>> row["text"], row["labels"]
    ('a chess game', ['game'])
    """
    check_table(path)
    write = _WRITERS[Path(path).suffix.lower()]
    points = stored_layout(index, index.ids, progress=progress) if with_map else None
    write_whole(Path(path), write(_rows(index, points)))
    return len(index)


def _rows(index: SemanticIndex, points: Array | None) -> Iterator[dict[str, Any]]:
    """Yield the columns of all items in their order; memory is bounded by a block of items."""
    ids, vocabulary = index.ids, index.vocabulary
    for start in range(0, len(ids), _ITEMS_AT_ONCE):
        part = ids[start : start + _ITEMS_AT_ONCE]
        vectors = index.vectors(part).astype(np.float32)
        tags = index.tag(items=part, k=_MOST_TAGS) if index.can_tag else [[]] * len(part)
        for n, item in enumerate(index.items(part)):
            x, y = (None, None) if points is None else points[start + n].tolist()
            row = {
                "id": item.id,
                "title": item.title,
                "text": item.text,
                "labels": None if item.labels is None else list(item.labels),
                "predicted": [tag.label for tag in tags[n] if tag.chosen],
                "x": x,
                "y": y,
                "vector": vectors[n],
            }
            if vocabulary is not None:
                row["label_uris"] = [vocabulary.code(name) or "" for name in item.labels or ()]
            for name, value in item.metadata.items():
                row[f"metadata_{name}" if name in row else name] = value
            yield row


def _json_lines(rows: Iterator[dict[str, Any]]) -> Callable[[BinaryIO], None]:
    def write(file: BinaryIO) -> None:
        for row in rows:
            row["vector"] = [round(float(value), 6) for value in row["vector"]]
            given = {name: value for name, value in row.items() if value is not None}
            file.write(json.dumps(given, ensure_ascii=False).encode() + b"\n")

    return write


def _csv(rows: Iterator[dict[str, Any]]) -> Callable[[BinaryIO], None]:
    """Make a table without vectors, whose columns are those of all items."""
    every = list(rows)
    for row in every:
        del row["vector"]
    columns = list(dict.fromkeys(name for row in every for name in row))

    def write(file: BinaryIO) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(row.get(name)) for name in columns] for row in every)
        text.detach()

    return write


def _cell(value: Any) -> Any:
    return "|".join(map(str, value)) if isinstance(value, list | tuple) else value


def _parquet(rows: Iterator[dict[str, Any]]) -> Callable[[BinaryIO], None]:
    """Make columns of one type each; metadata of several types are written as JSON."""
    pyarrow = needed("A parquet file", "pyarrow", "io")
    parquet = needed("A parquet file", "pyarrow.parquet", "io")
    every = list(rows)
    vectors = np.array([row.pop("vector") for row in every], np.float32).reshape(len(every), -1)
    text, number = pyarrow.string(), pyarrow.float32()
    types = dict.fromkeys(("id", "title", "text"), text) | {"x": number, "y": number}
    types |= {name: pyarrow.list_(text) for name in ("labels", "label_uris", "predicted")}
    arrays = {}
    # A field that some items do not have is empty for them.
    for name in dict.fromkeys(name for row in every for name in row):
        values = [row.get(name) for row in every]
        if name not in types and len({type(value) for value in values if value is not None}) != 1:
            values = [
                None if one is None else json.dumps(one, ensure_ascii=False) for one in values
            ]
            types[name] = text
        arrays[name] = pyarrow.array(values, types.get(name))
    flat = pyarrow.array(vectors.ravel())
    arrays["vector"] = pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return lambda file: parquet.write_table(pyarrow.table(arrays), file)


_WRITERS: dict[str, Callable[[Iterator[dict[str, Any]]], Callable[[BinaryIO], None]]] = {
    ".parquet": _parquet,
    ".jsonl": _json_lines,
    ".csv": _csv,
}


def check_table(path: str | os.PathLike[str]) -> None:
    """Raise an error for a file that is none of the tables that can be written."""
    if Path(path).suffix.lower() not in _WRITERS:
        raise InvalidParameter(
            "A table must end in .parquet, .jsonl or .csv, or begin with postgresql://, but "
            f"{str(path)!r} was given."
        )
