"""Items and decisions of an index of this format or an older one, to fit it again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from .._files import file_size
from ..corpus import LabelVocabulary
from ..errors import InvalidFile, LabelspanError
from .folder import ITEMS, field, generation_folder, read_manifest
from .inputs import read_ids, read_label_lists, read_metadata
from .results import Item
from .store import VOCABULARY, ItemDatabase

__all__ = ["IndexItems", "read_decisions"]

_FIRST_WITH_DATABASE = 5


class IndexItems:
    """Items of an index in a folder, as a stream that :func:`fit_stream` takes."""

    def __init__(self, folder: Path) -> None:
        content = read_manifest(folder, older=True)
        self._old = content["version"] < _FIRST_WITH_DATABASE
        self._path = generation_folder(folder, content) / ITEMS
        self._key = field(content, "key", str)
        self.name = str(folder)
        settings = content.get("settings")
        known = settings.get("fields") if isinstance(settings, dict) else None
        self.corpus_fields: dict[str, Any] = known if isinstance(known, dict) else {}
        about = self._path.stat()
        # What must be the same for an interrupted fit to go on.
        self.fingerprint: Mapping[str, Any] = {
            "index": self._key,
            "bytes": about.st_size,
            "changed": about.st_mtime_ns,
        }

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield the items in their order, without the first ones."""
        yield from islice(_older_items(self._path) if self._old else self._items(), skip, None)

    def vocabulary(self) -> LabelVocabulary | None:
        """Return the vocabulary of the labels; None if there is none, or in older formats."""
        if self._old:
            return None
        with closing(ItemDatabase.open(self._path, self._key, write=False)) as database:
            found = database.text(VOCABULARY)
        return None if found is None else LabelVocabulary.from_json(found)

    def _items(self) -> Iterator[Item]:
        with closing(ItemDatabase.open(self._path, self._key, write=False)) as database:
            for _, item in database.scan(labels=database.label_table()):
                yield item


def _older_items(path: Path) -> Iterator[Item]:
    """Read the table of formats up to 4, with labels as JSON in each row."""
    file_size(path)
    try:
        uri = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            query = "SELECT id, text, labels, metadata FROM items ORDER BY row"
            for name, text, labels, metadata in connection.execute(query):
                own = None if labels is None else json.loads(labels)
                yield Item(
                    read_ids([name], 1, "fit")[0],
                    str(text),
                    read_label_lists([own], 1, "fit")[0],
                    read_metadata([json.loads(metadata)], 1, "fit")[0],
                )
    except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, LabelspanError):
            raise
        raise InvalidFile(f"{path} cannot be read: {error!s:.200}.") from error


def read_decisions(folder: Path) -> list[tuple[Any, ...]]:
    """Read the decisions of the index in a folder whose lock is held; empty if there is none."""
    if not (folder / "manifest.json").exists():
        return []
    content = read_manifest(folder, older=True)
    if content["version"] < _FIRST_WITH_DATABASE:
        return _older_decisions(folder / "decisions.jsonl")
    path = generation_folder(folder, content) / ITEMS
    key = field(content, "key", str)
    with closing(ItemDatabase.open(path, key, write=False, locked=True)) as database:
        return database.decisions()


def _older_decisions(path: Path) -> list[tuple[Any, ...]]:
    """Read the log of formats up to 4: a JSON object per line, the last of which may be torn."""
    if not path.exists():
        return []
    file_size(path)
    found: list[tuple[Any, ...]] = []
    undone: set[int] = set()
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
            what = record["decision"]
            if what == "undo":
                undone.add(int(record["of"]))
            elif what != "applied":
                start = int(record["number"]), record["time"]
                for one in record["pairs"]:
                    had = None if one["had"] is None else int(one["had"])
                    pair = one["item"], one["label"], one["kind"]
                    found.append((*start, *pair, what, had))
        except (ValueError, KeyError, TypeError):
            continue
    return [(*one, int(one[0] in undone), "", "review") for one in found]
