"""The data sets and methods of the paper, and random subsets of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer

from ..._typing import Array
from ...datasets import load
from ...estimators import CCA, HSL, LDA, OPLS
from ...estimators.base import LabelledEmbedding

__all__ = ["FEATURES", "METHODS", "SubsetRows", "load_rows"]

# As in the paper, without a penalty unless one is given, and with unit length in the metric.
METHODS: Mapping[str, Callable[..., LabelledEmbedding]] = {
    "CCA": partial(CCA, alpha=0.0),
    "OPLS": partial(OPLS, alpha=0.0, scale=None),
    "HSL clique": partial(HSL, laplacian="clique", alpha=0.0, scale=None),
    "HSL star": partial(HSL, laplacian="star", alpha=0.0, scale=None),
    "HSL Zhou": partial(HSL, laplacian="zhou", alpha=0.0, scale=None),
    "LDA": partial(LDA, alpha=0.0),
}
# All features of a data set.
FEATURES = {"yeast": 103, "yahoo_arts": 23146, "usps": 256}


@dataclass(frozen=True)
class SubsetRows:
    """Features, dense or sparse, and labels or classes."""

    X: Any
    y: Array

    def take(self, index: Array) -> SubsetRows:
        """Select rows."""
        return SubsetRows(self.X[index], self.y[index])

    def split(self, train: int, seed: int) -> tuple[SubsetRows, SubsetRows]:
        """Split off random training rows; the same seed gives nested training sets."""
        order = np.random.default_rng(seed).permutation(self.y.shape[0])
        return self.take(order[:train]), self.take(order[train:])


def load_rows(name: str, data_home: Path | None, features: int | None = None) -> SubsetRows:
    """Load a data set; for yahoo_arts, TF-IDF of the ``features`` most informative words."""
    if name == "digits":
        return SubsetRows(*load_digits(return_X_y=True))
    data = load(name, data_home)
    if name != "yahoo_arts":
        return SubsetRows(data.X.astype(np.float64), data.Y if data.y is None else data.y)
    labels = data.Y.toarray()
    counts = data.X.astype(np.float64)
    if features is not None and features < counts.shape[1]:
        best = np.argsort(-chi_square(counts, labels), kind="stable")[:features]
        counts = counts[:, np.sort(best)]
    return SubsetRows(TfidfTransformer().fit_transform(counts), labels)


def chi_square(counts: Any, labels: Array) -> Array:
    """Compute the largest chi-square statistic of each word's presence with a label.

    One of the measures of Yang and Pedersen (1997), which the paper names for choosing
    features.
    """
    n = labels.shape[0]
    present = (counts > 0).astype(np.float64)
    both = present.T @ labels.astype(np.float64)
    word = np.asarray(present.sum(axis=0)).reshape(-1, 1)
    label = labels.sum(axis=0, dtype=np.float64)
    bottom = word * (n - word) * label * (n - label)
    top = n * (n * both - word * label) ** 2
    shares = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    return np.asarray(shares.max(axis=1))
