"""Vectors of texts that were computed before, by hash of model and text, in one file.

The file, ``vectors.sqlite`` in the cache folder of the user, can be removed at any time. Batches
are transactions: what a stopped run has encoded is there for the next one, and several processes
can use it at the same time.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from .._files import cache_folder
from .._typing import Array
from ..errors import InvalidFile, LabelspanError
from .text_model import TextModel, same_answers

__all__ = ["Encoded", "VectorStore"]

_TABLES = (
    "CREATE TABLE IF NOT EXISTS models "
    "(number INTEGER PRIMARY KEY, name TEXT, size INTEGER, probes BLOB)",
    "CREATE TABLE IF NOT EXISTS vectors "
    "(model INTEGER, text BLOB, vector BLOB, PRIMARY KEY (model, text)) WITHOUT ROWID",
)
_TIMEOUT = 60.0
# Texts that are looked up at a time.
_LOOKED_UP = 500

# Takes the number of texts that are done, their total, and the seconds since the first.
Encoded = Callable[[int, int, float], object]


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


class VectorStore:
    """Stored vectors; ``path`` is the file, by default that of the user.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelspan.models import FunctionModel, VectorStore
    >>> asked = []
    >>> model = FunctionModel(lambda texts: [asked.append(t) or [len(t), 1] for t in texts])
    >>> model.name, model.stored = "lengths", True
    >>> store = VectorStore(Path(tempfile.mkdtemp()) / "vectors.sqlite")
    >>> _ = store.vectors(model, ["a", "bb"])
    >>> asked.clear()
    >>> store.vectors(model, ["bb", "ccc"])
    array([[2., 1.],
           [3., 1.]], dtype=float32)
    >>> asked
    ['ccc']
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_folder() / "vectors.sqlite"

    def vectors(
        self, model: TextModel, texts: Sequence[str], report: Encoded | None = None
    ) -> Array:
        """Return the vectors of texts, and encode only those that are not stored."""
        if not texts:
            return model.vectors([])
        if not model.stored:
            return _in_batches(model, texts, report)
        with self._opened() as database:
            number = self._number(database, model)
            keys = [_key(text) for text in texts]
            by_key = dict(zip(keys, texts, strict=True))
            assert model.size is not None
            width = 4 * model.size
            found: dict[bytes, bytes] = {}
            every = list(by_key)
            for start in range(0, len(every), _LOOKED_UP):
                part = every[start : start + _LOOKED_UP]
                marks = ", ".join("?" * len(part))
                query = f"SELECT text, vector FROM vectors WHERE model = ? AND text IN ({marks})"
                rows = database.execute(query, (number, *part))
                found.update((key, data) for key, data in rows if len(data) == width)
            # Texts of about the same length: half of the padding.
            missing = sorted(by_key.keys() - found.keys(), key=lambda key: (len(by_key[key]), key))
            begin = time.perf_counter()
            # The longest first: the time that is left is not underrated.
            for stop in range(len(missing), 0, -model.batch):
                part = missing[max(0, stop - model.batch) : stop]
                new = model.vectors([by_key[key] for key in part]).astype("<f4")
                rows_of = [(number, key, row.tobytes()) for key, row in zip(part, new, strict=True)]
                with database:
                    database.execute("BEGIN IMMEDIATE")
                    database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows_of)
                found.update((key, data) for _, key, data in rows_of)
                if report is not None:
                    done = len(missing) - max(0, stop - model.batch)
                    report(done, len(missing), time.perf_counter() - begin)
        data = b"".join(found[key] for key in keys)
        return np.frombuffer(data, dtype="<f4").reshape(len(texts), -1).astype(np.float32)

    def _number(self, database: sqlite3.Connection, model: TextModel) -> int:
        """Return the number of a model: one of the same name that gives the same vectors."""
        probes = model.probes
        with database:
            database.execute("BEGIN IMMEDIATE")
            query = "SELECT number, size, probes FROM models WHERE name = ?"
            for number, size, data in database.execute(query, (model.name,)):
                if size == model.size and len(data) == probes.nbytes:
                    known = np.frombuffer(data, dtype="<f4").reshape(probes.shape)
                    if same_answers(known, probes):
                        return int(number)
            record = model.name, model.size, probes.astype("<f4").tobytes()
            made = database.execute(
                "INSERT INTO models (name, size, probes) VALUES (?, ?, ?)", record
            )
            return int(made.lastrowid or 0)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(
                sqlite3.connect(self.path, timeout=_TIMEOUT, isolation_level=None)
            ) as database:
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = NORMAL")
                for table in _TABLES:
                    database.execute(table)
                yield database
        except LabelspanError:
            # Of the model.
            raise
        except (sqlite3.Error, OSError) as error:
            raise InvalidFile(
                f"{self.path}, the store of vectors, cannot be used: {error}; remove it, or set "
                "XDG_CACHE_HOME to another folder."
            ) from error


def _in_batches(model: TextModel, texts: Sequence[str], report: Encoded | None) -> Array:
    """Encode texts in batches, and say how far it is."""
    parts, begin = [], time.perf_counter()
    for start in range(0, len(texts), model.batch):
        parts.append(model.vectors(texts[start : start + model.batch]))
        if report is not None:
            done = min(len(texts), start + model.batch)
            report(done, len(texts), time.perf_counter() - begin)
    return np.concatenate(parts)
