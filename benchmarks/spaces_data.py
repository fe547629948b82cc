"""The data sets of ``spaces_quality``: features and labels of random splits.

Development sets may be used to choose defaults; test sets are only reported.

Features: texts as TF-IDF of the words in at least two training texts (logarithmic counts, rows
of length one); word counts (yahoo) weighted the same way; rcv1 as it comes (log TF-IDF, rows of
length one); dense sets (emotions, yeast, mediamill) standardised by the training rows. Labels
count where five training rows or more and one test row or more carry them. Rows without any
label are left out.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler

from labelspan.corpus import read_corpus
from labelspan.datasets import data_home

from .data import load

__all__ = ["DEVELOPMENT", "SETS", "TEST", "Raw", "Split", "load_set", "make_split"]

DEVELOPMENT = ("emotions", "yahoo_science", "debtags", "netflix", "cacm")
TEST = ("yeast", "mediamill", "yahoo_arts", "rcv1", "reuters21578", "stackoverflow", "makupalat")
SETS = (*DEVELOPMENT, *TEST)
# Part of the rows to learn from, and the most rows to learn from and to test with.
_TRAIN, _MOST_TRAIN, _MOST_TEST = 0.7, 3000, 1000
_FEWEST = 5


@dataclass(frozen=True)
class Raw:
    """A set before it is split: texts or features, labels, and groups that stay together."""

    name: str
    labels: Any
    texts: np.ndarray | None = None
    features: Any = None
    kind: str = "texts"
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class Split:
    """Features and labels of training and test rows."""

    name: str
    seed: int
    X: Any
    Y: np.ndarray
    X_test: Any
    Y_test: np.ndarray


def load_set(name: str, folder: str | None) -> Raw:
    """Load a set by name, with the rows that have labels."""
    raw = _READERS[name](name, folder)
    kept = np.flatnonzero(np.asarray(raw.labels.sum(axis=1)).ravel() > 0)
    return Raw(
        name,
        raw.labels[kept],
        None if raw.texts is None else raw.texts[kept],
        None if raw.features is None else raw.features[kept],
        raw.kind,
        None if raw.groups is None else raw.groups[kept],
    )


def make_split(raw: Raw, seed: int, *, quick: bool) -> Split:
    """Split a set at random and make its features from the training rows."""
    rows = raw.labels.shape[0]
    way = ShuffleSplit if raw.groups is None else GroupShuffleSplit
    splitter = way(1, train_size=_TRAIN, random_state=seed)
    train, test = next(splitter.split(np.zeros(rows), groups=raw.groups))
    rng = np.random.default_rng(seed)
    share = 5 if quick else 1
    train = rng.permutation(train)[: _MOST_TRAIN // share]
    test = rng.permutation(test)[: _MOST_TEST // share]
    Y, Y_test = (np.asarray(raw.labels[part].toarray(), dtype=float) for part in (train, test))
    kept = (Y.sum(axis=0) >= _FEWEST) & (Y_test.sum(axis=0) >= 1) & (Y.mean(axis=0) < 1)
    # A test row that has none of the labels left says nothing.
    asked = Y_test[:, kept].any(axis=1)
    test, Y_test = test[asked], Y_test[asked]
    X, X_test = _features(raw, train, test)
    return Split(raw.name, seed, X, Y[:, kept], X_test, Y_test[:, kept])


def _features(raw: Raw, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
    if raw.kind == "texts":
        assert raw.texts is not None
        words = TfidfVectorizer(sublinear_tf=True, min_df=2)
        X = words.fit_transform(raw.texts[train])
        return sparse.csr_array(X), sparse.csr_array(words.transform(raw.texts[test]))
    X, X_test = raw.features[train], raw.features[test]
    if raw.kind == "counts":
        common = np.flatnonzero((X > 0).sum(axis=0) >= 2)
        weights = TfidfTransformer(sublinear_tf=True)
        X = weights.fit_transform(X[:, common])
        return sparse.csr_array(X), sparse.csr_array(weights.transform(X_test[:, common]))
    if raw.kind == "dense":
        scaler = StandardScaler().fit(X)
        return scaler.transform(X), scaler.transform(X_test)
    return sparse.csr_array(X), sparse.csr_array(X_test)


def _indicator(lists: list[list[str]]) -> Any:
    return MultiLabelBinarizer(sparse_output=True).fit_transform(lists).tocsr()


def _table(kind: str) -> Callable[[str, str | None], Raw]:
    def read(name: str, folder: str | None) -> Raw:
        data = load(name, folder)
        return Raw(name, sparse.csr_array(data.Y), features=data.X, kind=kind)

    return read


def _with_texts(name: str, folder: str | None) -> Raw:
    data = load(name, folder)
    groups = None
    if name == "debtags":
        sources = [item["source"] for item in data.metadata]  # type: ignore[attr-defined]
        groups = np.unique(sources, return_inverse=True)[1]
    return Raw(
        name, sparse.csr_array(data.Y), texts=np.array(data.texts, dtype=object), groups=groups
    )


def _corpus(file: str, **options: Any) -> Callable[[str, str | None], Raw]:
    def read(name: str, folder: str | None) -> Raw:
        corpus = read_corpus(data_home(folder) / "corpora" / file, **options)
        texts = np.array(corpus.texts, dtype=object)
        return Raw(name, _indicator([found or [] for found in corpus.labels]), texts=texts)

    return read


def _makupalat(name: str, folder: str | None) -> Raw:
    """Read text TAB addresses in angle brackets, one item per line, neither header nor quotes."""
    texts, lists = [], []
    for part in ("train", "test"):
        path = data_home(folder) / "corpora" / f"makupalat-{part}.tsv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                text, _, classes = line.rstrip("\n").partition("\t")
                texts.append(text)
                lists.append(classes.split())
    return Raw(name, _indicator(lists), texts=np.array(texts, dtype=object))


_READERS: dict[str, Callable[[str, str | None], Raw]] = {
    "emotions": _table("dense"),
    "yeast": _table("dense"),
    "mediamill": _table("dense"),
    "yahoo_science": _table("counts"),
    "yahoo_arts": _table("counts"),
    "rcv1": _table("sparse"),
    "reuters21578": _with_texts,
    "debtags": _with_texts,
    "netflix": _corpus(
        "netflix_titles.csv.gz", text=["title", "description"], labels="listed_in", separator=","
    ),
    "cacm": _corpus("cacm.jsonl.gz", text=["title", "abstract"], labels="categories"),
    "stackoverflow": _corpus("stackoverflow.tsv.gz", text="title", labels="tags"),
    "makupalat": _makupalat,
}
