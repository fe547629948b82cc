"""The experiment of yu2005, section 4: its data, its splits, its SVMs and its measures.

A repeat draws 70% of the categories and cuts the documents into five folds; each fold in
turn is the training data, and both settings use the map that is learned from it.

Setting I: SVMs learn the categories drawn on the training fold, and are judged on the
other four. Setting II: they learn the other 30% of the categories on documents that the
map has not seen, the next fold, by five-fold cross-validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.preprocessing import normalize
from sklearn.svm import SVC
from sklearn.utils.extmath import safe_sparse_dot

from ..._typing import Array
from ...datasets import load
from ...metrics import f1_scores, mean_auc
from ..paper import Key, Scale

__all__ = [
    "COMMON",
    "DATA",
    "MEASURES",
    "SETTINGS",
    "Corpus",
    "Split",
    "fold_keys",
    "judge",
    "load_corpus",
    "make_split",
    "sized",
]

DATA: Mapping[str, str] = {"reuters": "Reuters", "rcv1": "RCV1"}
SETTINGS = ("I", "II")
MEASURES = ("macro F1", "micro F1", "AUC")
FOLDS = 5
PENALTY = 100.0
# yu2005 had so many stories of RCV1.
STORIES = 3588
LEAST_TOPICS = 3
LEAST_STORIES = 14
LEAST_WORDS = 6

# What all parts have in common, for their lists of deviations.
COMMON = (
    "Each repeat lets all five folds be the training data once, and the deviations are over "
    "these runs; the paper repeats 50 times, and does not say what one repeat is.",
    "In setting II the next fold is cut into five parts, SVMs learn on four of them, and what "
    "they say of the fifth is put together over all parts before it is judged; the paper says "
    "no more than five-fold cross-validation on unseen data of the same size.",
    "Every map is multiplied by one number, so that training rows have mean square length one, "
    "as the TF-IDF rows have, and C = 100 weighs the same for all; the paper does not say how "
    "long its rows were.",
    "A category without a positive document among those an SVM learns on is predicted for none.",
)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents with TF-IDF rows of length one, sparse, and their categories, 0 and 1."""

    X: Any
    Y: Array


@dataclass(frozen=True, eq=False)
class Split:
    """Rows and categories of one run.

    ``seen`` are the categories that the map learns from, ``new`` the others; ``unseen`` are
    the rows of setting II, which are among the rows of ``test``.
    """

    train: Array
    test: Array
    unseen: Array
    seen: Array
    new: Array


@lru_cache(maxsize=2)
def load_corpus(name: str, data_home: Path | None) -> Corpus:
    """One of yu2005's two corpora, or what comes nearest to it."""
    if name == "reuters":
        data = load("reuters21578", data_home)
        return Corpus(data.X, data.Y.toarray())
    data = load("rcv1", data_home)
    Y = data.Y.toarray()
    many = np.flatnonzero(Y.sum(axis=1) >= LEAST_TOPICS)
    rows = np.sort(np.random.default_rng(2005).choice(many, STORIES, replace=False))
    X, Y = data.X[rows].astype(np.float64), Y[rows]
    words = np.bincount(X.indices, minlength=X.shape[1]) >= LEAST_WORDS
    X = normalize(X[:, np.flatnonzero(words)])
    return Corpus(X, Y[:, Y.sum(axis=0) >= LEAST_STORIES])


def fold_keys(name: str, scale: Scale, full: int, folds: int = FOLDS) -> list[Key]:
    """The jobs on a corpus: every fold of every repeat, or one fold with a coarse grid."""
    grid = "coarse" if scale.quick else "full"
    return [
        {"data": name, "seed": seed, "fold": fold, "grid": grid}
        for seed in range(scale.times(full))
        for fold in range(1 if scale.quick else folds)
    ]


def make_split(corpus: Corpus, key: Key) -> Split:
    """The rows and categories of a job, by its seed and its fold."""
    rng = np.random.default_rng([2005, int(key["seed"])])
    folds = np.array_split(rng.permutation(corpus.Y.shape[0]), FOLDS)
    categories = rng.permutation(corpus.Y.shape[1])
    count = round(0.7 * categories.size)
    fold = int(key["fold"])
    return Split(
        train=folds[fold],
        test=np.concatenate([rows for place, rows in enumerate(folds) if place != fold]),
        unseen=folds[(fold + 1) % FOLDS],
        seen=categories[:count],
        new=categories[count:],
    )


def sized(Z: Array, split: Split) -> Array:
    """A map of all rows, scaled so that the training rows have mean square length one."""
    square = np.square(Z[split.train]).sum(axis=1).mean()
    return np.asarray(Z / np.sqrt(square))


def judge(corpus: Corpus, split: Split, Z: Any) -> Iterator[dict[str, Any]]:
    """The measures of a map of all rows, in both settings."""
    seen = corpus.Y[:, split.seen]
    said = _decide(Z[split.train], seen[split.train], Z[split.test])
    yield {"setting": "I", **_measure(seen[split.test], said, seen[split.train])}
    rows, new = Z[split.unseen], corpus.Y[np.ix_(split.unseen, split.new)]
    said = np.empty(new.shape)
    for part in np.array_split(np.arange(split.unseen.size), FOLDS):
        others = np.setdiff1d(np.arange(split.unseen.size), part)
        said[part] = _decide(rows[others], new[others], rows[part])
    yield {"setting": "II", **_measure(new, said, new)}


def _decide(train: Any, Y: Array, test: Any) -> Array:
    """Decision values of one linear SVM of LIBSVM for each category."""
    # Rows are few: their products serve all categories, whatever the number of features.
    gram = safe_sparse_dot(train, train.T, dense_output=True)
    cross = safe_sparse_dot(test, train.T, dense_output=True)
    # A category that all or none of the rows carry has no SVM, and is said of all or none.
    said = np.repeat(2.0 * Y[:1] - 1.0, test.shape[0], axis=0)
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for label in np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0)):
            svm = SVC(C=PENALTY, kernel="precomputed").fit(gram, Y[:, label])
            said[:, label] = cross[:, svm.support_] @ svm.dual_coef_[0] + svm.intercept_[0]
    return said


def _measure(truth: Array, said: Array, learned: Array) -> dict[str, float]:
    """The paper's three measures, and F1 over the rarer and the commoner categories."""
    f1 = f1_scores(truth, said > 0)
    found = {"macro F1": f1.macro, "micro F1": f1.micro, "AUC": mean_auc(truth, said).value}
    counts = learned.sum(axis=0)
    rare = counts <= np.median(counts)
    for name, side in (("F1 of rare", rare), ("F1 of common", ~rare)):
        judged = f1.per_label[side]
        judged = judged[np.isfinite(judged)]
        if judged.size:
            found[name] = float(judged.mean())
    return found
