"""JSON lines: one object per line, with a text and its labels."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..dataset import DataSet
from .lines import indicator, malformed, numbered_lines, stem

__all__ = ["parse_objects", "read_jsonl", "read_objects"]


def read_jsonl(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str] = "text",
    labels: str = "labels",
    ids: str | None = None,
) -> DataSet:
    """Read texts and their labels from JSON lines, plain or ``.gz``.

    Parameters
    ----------
    path : path
        The file to read.
    text : str or sequence of str, default="text"
        The key of the text, or of its parts, which are joined by newlines.
    labels : str, default="labels"
        The key of the list of labels.
    ids : str or None, default=None
        The key of a name for each text; None for no names.

    Returns
    -------
    DataSet
        With ``texts``, ``Y`` and ``label_names``, without X.

    See Also
    --------
    read_corpus : Read texts and labels from many formats, guessing their fields.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.datasets import read_jsonl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.jsonl"
    ...     _ = path.write_text('{"text": "Oranges", "labels": ["fruit", "colour"]}')
    ...     data = read_jsonl(path)
    >>> data.texts, data.label_names
    (['Oranges'], ('colour', 'fruit'))
    """
    parts = [text] if isinstance(text, str) else list(text)
    texts: list[str] = []
    lists: list[list[str]] = []
    names: list[str] = []
    for number, item in read_objects(path):
        for key in [*parts, labels, *([ids] if ids else [])]:
            if key not in item:
                raise malformed(path, number, f"the object has no key {key!r}")
        for key in parts:
            if not isinstance(item[key], str):
                raise malformed(path, number, f"{key!r} must be a text, but is {item[key]!r:.60}")
        given = item[labels]
        if not isinstance(given, list) or not all(isinstance(label, str) for label in given):
            raise malformed(path, number, f"{labels!r} must be a list of texts, not {given!r:.60}")
        texts.append("\n".join(item[key] for key in parts))
        lists.append(given)
        if ids:
            names.append(str(item[ids]))
    Y, label_names = indicator(lists)
    return DataSet(
        stem(path),
        Y=Y,
        texts=texts,
        ids=names if ids else None,
        label_names=label_names,
        source=os.fspath(path),
    )


def read_objects(
    path: str | os.PathLike[str], sha256: str | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the objects of a file of JSON lines, with line numbers; skip empty lines."""
    return parse_objects(numbered_lines(path, sha256), path)


def parse_objects(
    lines: Iterable[tuple[int, str]], path: str | os.PathLike[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the objects in numbered lines; ``path`` is for error messages."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise malformed(
                path, number, f"this is not JSON ({error}); correct the line, or remove it"
            ) from error
        if not isinstance(item, dict):
            raise malformed(path, number, f"an object is needed, but this is {item!r:.60}")
        yield number, item
