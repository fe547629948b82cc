"""The data sets, from the folder that ``--data`` or ``LABELSPAN_DATA`` names."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["DataSet", "Network", "Texts", "load", "load_network", "load_reuters"]


@dataclass(frozen=True)
class DataSet:
    """Features in compressed rows, labels as a dense 0/1 indicator."""

    name: str
    X: Any
    Y: np.ndarray

    def take(self, rows: np.ndarray) -> DataSet:
        """Some of the rows."""
        return DataSet(self.name, self.X[rows], self.Y[rows])

    def astype(self, dtype: Any) -> DataSet:
        """The same with features of another width."""
        return DataSet(self.name, self.X.astype(dtype), self.Y)


@dataclass(frozen=True)
class Network:
    """Features in compressed rows, one class a row, and the links between rows."""

    name: str
    X: Any
    y: np.ndarray
    links: Any


@dataclass(frozen=True)
class Texts:
    """Texts, their labels as a dense 0/1 indicator, and the labels' names."""

    texts: list[str]
    Y: np.ndarray
    names: list[str]


def load(name: str, folder: str | None = None) -> DataSet:
    """Load ``name.npz``; what is missing is said in one sentence, and the script ends."""
    with np.load(_path(f"{name}.npz", folder), allow_pickle=False) as arrays:
        X, Y = _csr(arrays, "X"), _csr(arrays, "Y")
    return DataSet(name, X, Y.toarray())


def _csr(arrays: Any, side: str) -> Any:
    # liblinear takes 32-bit indices alone.
    indices, indptr = (arrays[f"{side}_{part}"].astype(np.int32) for part in ("indices", "indptr"))
    shape = tuple(int(length) for length in arrays[f"{side}_shape"])
    return sparse.csr_array((arrays[f"{side}_data"], indices, indptr), shape=shape)


def load_network(name: str, folder: str | None = None) -> Network:
    """Load ``name.npz`` with its classes and links; the links are made symmetric."""
    with np.load(_path(f"{name}.npz", folder), allow_pickle=False) as arrays:
        X = _csr(arrays, "X")
        y = arrays["y"].astype(np.int64)
        indices, indptr = arrays["links_indices"], arrays["links_indptr"]
    links = sparse.csr_array((np.ones(indices.size), indices, indptr), shape=(y.size, y.size))
    return Network(name, X, y, links.maximum(links.T).tocsr())


def load_reuters(folder: str | None = None, *, least: int = 14) -> Texts:
    """yu2005's part of Reuters-21578: two topics or more, topics with ``least`` such texts.

    The texts are those of the ModApte split, training and test together.
    """
    path = _path("reuters21578.jsonl.gz", folder)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        stories = [json.loads(line) for line in lines]
    stories = [
        story
        for story in stories
        if story["has_topics"] == "YES"
        and story["lewissplit"] in ("TRAIN", "TEST")
        and len(story["topics"]) >= 2
    ]
    counts = Counter(topic for story in stories for topic in set(story["topics"]))
    names = sorted(topic for topic, count in counts.items() if count >= least)
    Y = np.array([[name in story["topics"] for name in names] for story in stories], dtype=np.uint8)
    kept = np.flatnonzero(Y.any(axis=1))
    texts = [f"{stories[row]['title']}\n{stories[row]['body']}" for row in kept]
    return Texts(texts, Y[kept], names)


def _path(file: str, folder: str | None) -> Path:
    """Where a file lies; what is missing is said in one sentence, and the script ends."""
    folder = folder or os.environ.get("LABELSPAN_DATA")
    if not folder:
        raise SystemExit(
            "The benchmarks need data: give its folder by --data or set LABELSPAN_DATA."
        )
    path = Path(folder) / file
    if not path.is_file():
        raise SystemExit(
            f"There is no {file} in the data folder {folder!r}; correct --data or LABELSPAN_DATA."
        )
    return path
