"""The demo: fit, evaluate and search an index of the bundled corpus."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from .._typing import Array
from ..datasets.registry import load_debtags
from ..index import Hit, SemanticIndex
from .spaces import RAW, SplitVectors, embed, retrieval_measures, tagging_measures, tagging_scores
from .text_features import learn_features

__all__ = ["SEARCHES", "STEPS", "Demo", "Row", "run_demo"]

SEARCHES = ("listen to songs", "draw molecules", "shoot aliens in space")
STEPS = ("reading", "learning the index", "counting words", RAW, "LSI", "MLSI", "searching")


@dataclass(frozen=True)
class Row:
    """Measures of a method on items not used for training."""

    space: str
    dimensions: int
    macro_f1: float
    micro_f1: float
    ndcg: float
    jaccard: float


@dataclass(frozen=True)
class Demo:
    """A fitted index with all items, a table, and answers to :data:`SEARCHES`."""

    index: SemanticIndex
    train: int
    test: int
    labels: int
    rows: Sequence[Row]
    hits: Sequence[Sequence[Hit]]
    seconds: float


def run_demo(progress: Callable[[str], None] | None = None, *, answers: int = 5) -> Demo:
    """Fit an index on the training part, add the test part, and evaluate on that.

    Parameters
    ----------
    progress : function or None, default=None
        Called with the name of each of :data:`STEPS` when it begins.
    answers : int, default=5
        Number of items that each search returns.

    Returns
    -------
    Demo
    """
    # At this size a second thread gains little, and costs time on a busy machine.
    with threadpool_limits(1):
        return _run(progress or (lambda step: None), answers)


def _run(tell: Callable[[str], None], answers: int) -> Demo:
    start = time.perf_counter()
    tell("reading")
    corpus = load_debtags()
    train, test = corpus.take(corpus.train), corpus.take(corpus.test)
    Y, truth = (part.Y.toarray().astype(np.float32) for part in (train, test))
    tell("learning the index")
    index = SemanticIndex().fit(train.texts, train.labels, train.ids, metadata=train.metadata)
    index.add(test.texts, test.labels, test.ids, metadata=test.metadata)
    tell("counting words")
    chosen, features = learn_features(train.texts or ())
    unseen = chosen.of_texts(test.texts or ())
    mlsi = SplitVectors(index.vectors(train.ids), index.vectors(test.ids))
    rows = []
    for method in (RAW, "LSI", "MLSI"):
        tell(method)
        vectors = mlsi
        if method != "MLSI":
            vectors = embed(method, features, Y, unseen, mlsi.dimensions)
        rows.append(_row(method, vectors, Y, truth))
    tell("searching")
    hits = [index.search(query, answers) for query in SEARCHES]
    seconds = time.perf_counter() - start
    return Demo(index, len(train), len(test), Y.shape[1], rows, hits, seconds)


def _row(method: str, vectors: SplitVectors, Y: Array, truth: Array) -> Row:
    scores = tagging_scores(vectors.train, Y, vectors.test)
    f1 = tagging_measures(truth, scores, Y.mean(axis=0))
    near = retrieval_measures(vectors, truth, np.arange(len(Y)), Y)
    return Row(
        "raw TF-IDF" if method == RAW else method,
        vectors.dimensions,
        f1["macro F1"],
        f1["micro F1"],
        near["nDCG"],
        near["Jaccard"],
    )
