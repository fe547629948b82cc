"""The spaces that are compared on a corpus, and how each is judged.

Every space is learned from some labels and judged twice, as in yu2005: by the labels that
it was learned from (setting I) and by labels held out from it (setting II). It is used as an
index uses it, by directions: vectors have length one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InvalidParameter
from ..estimators import CCA, HSL, LSI, MLSI, OPLS
from ..index.learn import space_vectors
from ..index.vectors import unit_rows
from ..metrics import f1_scores, retrieval_at_k, threshold_by_share

__all__ = [
    "ESTIMATORS",
    "MEASURES",
    "METHODS",
    "NEIGHBOURS",
    "RAW",
    "RIDGE",
    "Vectors",
    "embed",
    "judge_retrieval",
    "judge_tagging",
    "make_estimator",
    "ridge_scores",
    "tagging_scores",
]

MEASURES = ("macro F1", "micro F1", "nDCG", "Jaccard")
NEIGHBOURS = 10
RAW, RIDGE = "raw features", "ridge scores"
# What `labelspan fit` can learn, by name.
ESTIMATORS: Mapping[str, Callable[..., Any]] = {
    "LSI": LSI,
    "MLSI": MLSI,
    "OPLS": OPLS,
    "CCA": CCA,
    "HSL": HSL,
}
METHODS = (RAW, *ESTIMATORS, RIDGE)
# The ridge of every regression of labels: rows have length one, in all spaces alike.
ALPHA = 1.0


@dataclass(frozen=True, eq=False)
class Vectors:
    """Training and test rows in one space, of length one."""

    train: Any
    test: Any

    @property
    def dimensions(self) -> int:
        """The number of columns."""
        return int(self.train.shape[1])

    def first(self, count: int) -> Vectors:
        """The leading dimensions alone, of length one again."""
        return Vectors(unit_rows(self.train[:, :count]), unit_rows(self.test[:, :count]))


def make_estimator(method: str, dimensions: int | None, Y: Array, **params: Any) -> Any:
    """An estimator by its name, with no more dimensions than the labels give it.

    Parameters
    ----------
    method : str
        One of ``ESTIMATORS``.
    dimensions : int or None
        None keeps what the estimator keeps by default.
    Y : array of shape (n, k)
        The labels; rows of -1 are unknown.
    **params
        Further parameters, say ``alpha``.
    """
    if method not in ESTIMATORS:
        raise InvalidParameter(
            f"method must be one of {', '.join(ESTIMATORS)}, but {method!r} was given."
        )
    if method in ("LSI", "MLSI"):
        return ESTIMATORS[method](dimensions, **params)
    known = Y[(Y >= 0).all(axis=1)]
    most = int(np.linalg.matrix_rank(known - known.mean(axis=0))) if len(known) else 0
    # All of them, where there are no more: the estimator knows best how many those are.
    count = dimensions if dimensions is not None and dimensions < most else None
    return ESTIMATORS[method](count, **{"alpha": ALPHA, **params})


def embed(
    method: str, train: Any, Y: Array, test: Any, dimensions: int | None, **params: Any
) -> Vectors:
    """Learn a space from training rows and map both parts to it."""
    if method == RAW:
        return Vectors(train, test)
    if method == RIDGE:
        return Vectors(*(unit_rows(part) for part in ridge_scores(train, Y, train, test)))
    space = make_estimator(method, dimensions, Y, **params).fit(
        train, None if method == "LSI" else Y
    )
    return Vectors(space_vectors(space, train), space_vectors(space, test))


def ridge_scores(train: Any, Y: Array, *parts: Any) -> list[Array]:
    """Scores of labels by ridge regression, above or below their means."""
    model = OPLS(alpha=ALPHA).fit(train, Y)
    return [model.label_scores(part) - model.label_means_ for part in parts]


def tagging_scores(train: Any, Y: Array, test: Any) -> Array:
    """Scores of labels for test rows by ridge regression, the same in every space.

    A label that all training rows carry, or none, is scored by its mean.
    """
    means = Y.mean(axis=0)
    scores = np.broadcast_to(means, (test.shape[0], Y.shape[1])).copy()
    varied = np.flatnonzero((means > 0) & (means < 1))
    if varied.size:
        # Two columns at least: one alone would be read as classes.
        columns = np.resize(varied, max(2, varied.size))
        found = ridge_scores(train, Y[:, columns], test)[0]
        scores[:, columns] = found + means[columns]
    return scores


def judge_tagging(Y: Array, scores: Array, shares: Array) -> dict[str, float]:
    """F1 of scores, each label given to as large a share of the rows as it is said to have."""
    found = f1_scores(Y, scores > threshold_by_share(scores, shares))
    return {"macro F1": found.macro, "micro F1": found.micro}


def judge_retrieval(vectors: Vectors, test: Array, items: Any, train: Array) -> dict[str, float]:
    """Whether the nearest training rows carry the labels of test rows.

    ``items`` are the training rows that may be found, with the labels ``train``.
    """
    found = retrieval_at_k(
        vectors.test, test, vectors.train[items], train, min(NEIGHBOURS, len(items))
    )
    return {"nDCG": found.ndcg, "Jaccard": found.jaccard}
