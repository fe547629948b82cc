"""The methods that are compared on a corpus, and their measures.

Every method is fitted on some of the labels and evaluated twice, as in yu2005: on the labels it
was fitted on (setting I) and on held-out labels (setting II). As in an index, its vectors have
length one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import UncertainPenalty
from ..estimators import CCA, HSL, LSI, MLSI, OPLS
from ..index.model import Space
from ..index.vectors import unit_rows
from ..metrics import f1_scores, retrieval_at_k, threshold_by_share

__all__ = [
    "ESTIMATORS",
    "MEASURES",
    "METHODS",
    "NEIGHBOURS",
    "RAW",
    "RIDGE",
    "SplitVectors",
    "embed",
    "retrieval_measures",
    "tagging_measures",
    "tagging_scores",
]

MEASURES = ("macro F1", "micro F1", "nDCG", "Jaccard")
NEIGHBOURS = 10
RAW, RIDGE = "raw features", "ridge scores"
# The methods of `labelspan fit`, by name.
ESTIMATORS: Mapping[str, Callable[..., Any]] = {
    "LSI": LSI,
    "MLSI": MLSI,
    "OPLS": OPLS,
    "CCA": CCA,
    "HSL": HSL,
}
METHODS = (RAW, *ESTIMATORS, RIDGE)


@dataclass(frozen=True, eq=False)
class SplitVectors:
    """Training and test rows in one embedding, of length one."""

    train: Any
    test: Any

    @property
    def dimensions(self) -> int:
        """Number of columns."""
        return int(self.train.shape[1])


def embed(method: str, train: Any, Y: Array, test: Any, dimensions: int) -> SplitVectors:
    """Fit a method on training rows and embed both parts."""
    if method == RAW:
        return SplitVectors(train, test)
    if method == RIDGE:
        return SplitVectors(*(unit_rows(part) for part in ridge_scores(train, Y, train, test)))
    count: int | None = dimensions
    if method not in ("LSI", "MLSI"):
        known = Y[(Y >= 0).all(axis=1)]
        # At most as many as the labels allow, which the estimator determines.
        if dimensions >= np.linalg.matrix_rank(known - known.mean(axis=0)):
            count = None
    space = Space.of(ESTIMATORS[method](count).fit(train, None if method == "LSI" else Y))
    return SplitVectors(space.vectors(train), space.vectors(test))


def ridge_scores(train: Any, Y: Array, *parts: Any) -> list[Array]:
    """Return centred scores of the labels by ridge regression, for each part."""
    with warnings.catch_warnings():
        # An embedding that does not predict the labels: the measures show it.
        warnings.simplefilter("ignore", UncertainPenalty)
        model = OPLS().fit(train, Y)
    return [model.label_scores(part) - model.label_means_ for part in parts]


def tagging_scores(train: Any, Y: Array, test: Any) -> Array:
    """Score the labels of test rows by the same ridge regression in every embedding.

    A label that all or no training rows have gets its mean as score.
    """
    means = Y.mean(axis=0)
    scores = np.broadcast_to(means, (test.shape[0], Y.shape[1])).copy()
    varied = np.flatnonzero((means > 0) & (means < 1))
    if varied.size:
        # At least two columns: a single one would be read as classes.
        columns = np.resize(varied, max(2, varied.size))
        found = ridge_scores(train, Y[:, columns], test)[0]
        scores[:, columns] = found + means[columns]
    return scores


def tagging_measures(Y: Array, scores: Array, shares: Array) -> dict[str, float]:
    """Return F1 of scores; each label is predicted for its fraction of rows in ``shares``."""
    found = f1_scores(Y, scores > threshold_by_share(scores, shares))
    return {"macro F1": found.macro, "micro F1": found.micro}


def retrieval_measures(
    vectors: SplitVectors, test: Array, items: Any, train: Array
) -> dict[str, float]:
    """Measure whether the nearest training rows have the labels of test rows.

    ``items`` are the training rows that can be found, with the labels ``train``.
    """
    found = retrieval_at_k(
        vectors.test, test, vectors.train[items], train, min(NEIGHBOURS, len(items))
    )
    return {"nDCG": found.ndcg, "Jaccard": found.jaccard}
