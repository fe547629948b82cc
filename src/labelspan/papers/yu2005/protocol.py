"""The experiment of yu2005, section 4: its data, splits, SVMs and measures.

A repeat chooses 70% of the categories at random and splits the documents into five folds; each
fold in turn is the training data, and both settings use the map that is fitted on it.

Setting I: SVMs are trained for the chosen categories on the training fold, and evaluated on the
other four. Setting II: they are trained for the other 30% of the categories on the next fold,
which was not used to fit the map, by five-fold cross-validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.svm import SVC
from sklearn.utils.extmath import safe_sparse_dot

from ..._typing import Array
from ...datasets import load, load_debtags
from ...metrics import f1_scores, mean_auc
from ..paper import Key, Scale

__all__ = [
    "BUNDLED",
    "COMMON",
    "DATA",
    "MEASURES",
    "SETTINGS",
    "PaperCorpus",
    "Split",
    "data_set",
    "evaluate_map",
    "fold_keys",
    "load_corpus",
    "make_split",
    "sized",
]

DATA: Mapping[str, str] = {"reuters": "Reuters", "rcv1": "RCV1"}
# What stands in for them where neither is available.
BUNDLED = "debtags"
SETTINGS = ("I", "II")
MEASURES = ("macro F1", "micro F1", "AUC")
FOLDS = 5
PENALTY = 100.0
PROGRAMS = 1600
# Number of stories of RCV1 in yu2005.
STORIES = 3588
LEAST_TOPICS = 3
LEAST_STORIES = 14
LEAST_WORDS = 6

# Deviations that all parts have in common.
COMMON = (
    "In each repeat each of the five folds is the training data once, and deviations are over "
    "these runs; the paper repeats 50 times, and does not say what one repeat is.",
    "In setting II the next fold is split into five parts, SVMs are trained on four of them, and "
    "predictions for the fifth are combined over all parts before they are evaluated; the paper "
    "only says five-fold cross-validation on unseen data of the same size.",
    "Every map is scaled by one number so that training rows have mean square length one, like "
    "the TF-IDF rows, so that C = 100 means the same for all; the paper does not give the length "
    "of its rows.",
    "A category without a positive training document is never predicted.",
)


@dataclass(frozen=True, eq=False)
class PaperCorpus:
    """Documents with TF-IDF rows of length one, sparse, and their categories, 0 and 1."""

    X: Any
    Y: Array


@dataclass(frozen=True, eq=False)
class Split:
    """Rows and categories of one run.

    ``seen`` are the categories used to fit the map, ``new`` the others; ``unseen`` are the rows
    of setting II, a part of the rows of ``test``.
    """

    train: Array
    test: Array
    unseen: Array
    seen: Array
    new: Array


def data_set(key: Key) -> str:
    """Return the name of the data set of a job."""
    return "reuters21578" if key["data"] == "reuters" else str(key["data"])


@lru_cache(maxsize=2)
def load_corpus(name: str, data_home: Path | None) -> PaperCorpus:
    """Load one of the two corpora of yu2005 (or the closest available one), or the bundled one."""
    if name == "reuters":
        data = load("reuters21578", data_home)
        return PaperCorpus(data.X, data.Y.toarray())
    if name == BUNDLED:
        programs = load_debtags()
        texts = programs.texts or ()
        rows = np.sort(np.random.default_rng(2005).choice(len(texts), PROGRAMS, replace=False))
        Y = programs.Y[rows].toarray()
        words = TfidfVectorizer(min_df=LEAST_WORDS, stop_words="english", sublinear_tf=True)
        X = words.fit_transform([texts[row] for row in rows])
        return PaperCorpus(X, Y[:, Y.sum(axis=0) >= LEAST_STORIES])
    data = load("rcv1", data_home)
    Y = data.Y.toarray()
    many = np.flatnonzero(Y.sum(axis=1) >= LEAST_TOPICS)
    rows = np.sort(np.random.default_rng(2005).choice(many, STORIES, replace=False))
    X, Y = data.X[rows].astype(np.float64), Y[rows]
    words = np.bincount(X.indices, minlength=X.shape[1]) >= LEAST_WORDS
    X = normalize(X[:, np.flatnonzero(words)])
    return PaperCorpus(X, Y[:, Y.sum(axis=0) >= LEAST_STORIES])


def fold_keys(name: str, scale: Scale, full: int, folds: int = FOLDS) -> list[Key]:
    """List the jobs on a corpus: every fold of every repeat, or one fold with a coarse grid."""
    grid = "coarse" if scale.quick else "full"
    return [
        {"data": name, "seed": seed, "fold": fold, "grid": grid}
        for seed in range(scale.times(full))
        for fold in range(1 if scale.quick else folds)
    ]


def make_split(corpus: PaperCorpus, key: Key) -> Split:
    """Choose the rows and categories of a job, by its seed and its fold."""
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
    """Scale a map of all rows so that the training rows have mean square length one."""
    square = np.square(Z[split.train]).sum(axis=1).mean()
    return np.asarray(Z / np.sqrt(square))


def evaluate_map(corpus: PaperCorpus, split: Split, Z: Any) -> Iterator[dict[str, Any]]:
    """Evaluate a map of all rows in both settings."""
    seen = corpus.Y[:, split.seen]
    scores = _decide(Z[split.train], seen[split.train], Z[split.test])
    yield {"setting": "I", **_measure(seen[split.test], scores, seen[split.train])}
    rows, new = Z[split.unseen], corpus.Y[np.ix_(split.unseen, split.new)]
    scores = np.empty(new.shape)
    for part in np.array_split(np.arange(split.unseen.size), FOLDS):
        others = np.setdiff1d(np.arange(split.unseen.size), part)
        scores[part] = _decide(rows[others], new[others], rows[part])
    yield {"setting": "II", **_measure(new, scores, new)}


def _decide(train: Any, Y: Array, test: Any) -> Array:
    """Return the decision values of a linear SVM for each category."""
    # There are few rows: one Gram matrix is used for all categories.
    gram = safe_sparse_dot(train, train.T, dense_output=True)
    cross = safe_sparse_dot(test, train.T, dense_output=True)
    # A category that all or no rows have needs no SVM, and is predicted for all or no rows.
    scores = np.repeat(2.0 * Y[:1] - 1.0, test.shape[0], axis=0)
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for label in np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0)):
            svm = SVC(C=PENALTY, kernel="precomputed").fit(gram, Y[:, label])
            scores[:, label] = cross[:, svm.support_] @ svm.dual_coef_[0] + svm.intercept_[0]
    return scores


def _measure(truth: Array, scores: Array, learned: Array) -> dict[str, float]:
    """Compute the three measures of the paper, and F1 of the rare and the common categories."""
    f1 = f1_scores(truth, scores > 0)
    found = {"macro F1": f1.macro, "micro F1": f1.micro, "AUC": mean_auc(truth, scores).value}
    counts = learned.sum(axis=0)
    rare = counts <= np.median(counts)
    for name, side in (("F1 of rare", rare), ("F1 of common", ~rare)):
        finite = f1.per_label[side]
        finite = finite[np.isfinite(finite)]
        if finite.size:
            found[name] = float(finite.mean())
    return found
