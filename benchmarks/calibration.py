"""Probabilities of tags as frequencies: their sum per text, and the calibration error.

``python -m benchmarks.calibration netflix debtags`` prints a table: numbers of labels and of true
labels per held-out text, the ratio of the sum of all probabilities to it, and the calibration error
over all pairs of a text and a label (20 bins of equal width). Both after a fit on all training
texts, and after a fit on a half or a tenth of them to which the others were added. Labels that no
training text has cannot be predicted and do not count. With ``--vectors`` the index takes vectors
of that many dimensions, by a truncated SVD of TF-IDF, instead of texts. For the sets of features,
the tagger learns from four fifths of the rows, and nothing is added.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from labelspan import SemanticIndex
from labelspan.datasets import data_home
from labelspan.index.label_table import LabelTable
from labelspan.tagger.learning import learn_tagger

from .tagging import SETS, load_split

__all__ = ["calibration_error", "main", "measure"]

# Sets of features and labels, without texts.
FEATURES = ("mediamill", "yahoo_arts", "yahoo_science", "yeast")
BINS = 20
HEAD = ("set", "training", "labels", "true labels", "sum / true", "error", "CPU s")


def calibration_error(chances: Any, truth: Any) -> float:
    """Compute the mean difference of probability and frequency in bins, weighted by their sizes."""
    own = np.minimum((chances * BINS).astype(int), BINS - 1).ravel()
    difference = np.bincount(own, chances.ravel(), BINS) - np.bincount(own, truth.ravel(), BINS)
    return float(np.abs(difference).sum() / own.size)


def _texts(name: str, rows: int, vectors: int) -> Iterator[tuple[str, int, Any, Any]]:
    (texts, labels), (new, wanted) = load_split(name)
    chosen = np.random.default_rng(1).permutation(len(texts))[:rows]
    texts, lists = [texts[n] for n in chosen], [sorted(set(labels[n])) for n in chosen]
    new, wanted = new[:2000], wanted[:2000]
    names = sorted({label for own in lists for label in own})
    inside = [tuple(sorted(set(own).intersection(names))) for own in wanted]
    truth = LabelTable.of(inside, names).matrix().toarray()
    given, asked = _vectors(texts, new, vectors) if vectors else (None, new)
    parts = ("all", 1), ("half added", 2), ("9/10 added", 10)
    for what, first in ((what, len(texts) // part) for what, part in parts):
        own = (None, None) if given is None else (given[:first], given[first:])
        index = SemanticIndex().fit(texts[:first], lists[:first], vectors=own[0])
        if first < len(texts):
            index.add(texts[first:], lists[first:], vectors=own[1])
        chances = np.zeros(truth.shape)
        number = {name: column for column, name in enumerate(names)}
        for row, tags in enumerate(index.tag(asked, len(names))):
            chances[row, [number[tag.label] for tag in tags]] = [tag.probability for tag in tags]
        yield what, len(texts), chances, truth


def _vectors(texts: list[str], new: list[str], size: int) -> tuple[Any, Any]:
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    space = make_pipeline(words, TruncatedSVD(size, random_state=0), Normalizer()).fit(texts)
    return space.transform(texts), space.transform(new)


def _features(name: str) -> Iterator[tuple[str, int, Any, Any]]:
    file = np.load(data_home() / f"{name}.npz", allow_pickle=False)

    def matrix(key: str) -> Any:
        if key in file:
            return sparse.csr_matrix(file[key], dtype=np.float32)
        parts = (file[f"{key}_{part}"] for part in ("data", "indices", "indptr"))
        return sparse.csr_matrix(tuple(parts), shape=file[f"{key}_shape"]).astype(np.float32)

    lengths = np.sqrt(matrix("X").power(2).sum(axis=1))
    rows = sparse.csr_matrix(matrix("X").multiply(1 / np.maximum(lengths, 1e-12)))
    labels = matrix("Y")
    order = np.random.default_rng(0).permutation(rows.shape[0])
    held, own = order[: len(order) // 5], np.sort(order[len(order) // 5 :])
    names = [f"{column:04d}" for column in range(labels.shape[1])]
    tagger = learn_tagger(names, labels[own], rows[own], np.arange(own.size))
    yield "all", own.size, tagger.probabilities(rows[held]), labels[held].toarray()


def measure(name: str, rows: int, vectors: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield the lines of one set."""
    start = time.process_time()
    found = _features(name) if name in FEATURES else _texts(name, rows, vectors)
    for what, count, chances, truth in found:
        seconds, start = time.process_time() - start, time.process_time()
        yield (
            name,
            f"{count:,}, {what}",
            f"{truth.shape[1]:,}",
            f"{truth.sum() / len(truth):.2f}",
            f"{chances.sum() / truth.sum():.3f}",
            f"{calibration_error(chances, truth):.4f}",
            f"{seconds:.0f}",
        )


def main() -> None:
    """Print the table of some sets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=[*SETS[:-1], *FEATURES])
    parser.add_argument("--rows", type=int, default=6000, help="training texts, at random")
    parser.add_argument("--vectors", type=int, default=0, help="dimensions of vectors, not texts")
    asked = parser.parse_args()
    print("|", " | ".join(HEAD), "|")
    print("| --- | --- |", " | ".join("---:" for _ in HEAD[2:]), "|")
    for name in asked.sets:
        for line in measure(name, asked.rows, asked.vectors):
            print("|", " | ".join(line), "|", flush=True)


if __name__ == "__main__":
    main()
