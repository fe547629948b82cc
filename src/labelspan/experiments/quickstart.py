"""A first look on data that comes with scikit-learn: handwritten digits, tagged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from ..estimators import CCA, HSL, LSI, MLSI, OPLS
from ..operators.base import Array

__all__ = ["Row", "quickstart", "tagged_digits"]

TAGS = {
    "even": (0, 2, 4, 6, 8),
    "odd": (1, 3, 5, 7, 9),
    "prime": (2, 3, 5, 7),
    "square": (0, 1, 4, 9),
    "has a loop": (0, 6, 8, 9),
}


@dataclass(frozen=True)
class Row:
    """How one representation does on rows it has not seen."""

    space: str
    dimensions: int
    same_digit: float
    jaccard: float


def tagged_digits() -> tuple[Array, Array, list[str]]:
    """8 x 8 pictures of digits, with the digit and its tags as labels."""
    X, digit = load_digits(return_X_y=True)
    columns = [digit == value for value in range(10)]
    columns += [np.isin(digit, members) for members in TAGS.values()]
    names = [str(value) for value in range(10)] + list(TAGS)
    return X, np.stack(columns, axis=1).astype(float), names


def quickstart(n_components: int = 8, neighbours: int = 10, seed: int = 0) -> Iterator[Row]:
    """Compare spaces by the neighbours they give to unseen pictures."""
    X, Y, _ = tagged_digits()
    train, test = train_test_split(np.arange(len(X)), test_size=0.4, random_state=seed)
    spaces = {
        "all pixels": None,
        "LSI": LSI(n_components),
        "OPLS": OPLS(n_components, alpha=1.0),
        "CCA": CCA(n_components, alpha=1.0),
        "HSL": HSL(n_components, alpha=1.0),
        "MLSI": MLSI(n_components),
    }
    for name, space in spaces.items():
        if space is None:
            known, unseen = X[train], X[test]
        else:
            known = space.fit(X[train], Y[train]).transform(X[train])
            unseen = space.transform(X[test])
        near = NearestNeighbors(n_neighbors=neighbours).fit(known)
        found = train[near.kneighbors(unseen, return_distance=False)]
        yield Row(name, known.shape[1], *_agreement(Y[test], Y[found]))


def _agreement(wanted: Array, found: Array) -> tuple[float, float]:
    """Share of neighbours with the same digit, and mean Jaccard index of the labels."""
    wanted = wanted[:, None, :]
    same = (found[..., :10] * wanted[..., :10]).sum(axis=-1)
    both = np.minimum(found, wanted).sum(axis=-1)
    either = np.maximum(found, wanted).sum(axis=-1)
    return float(same.mean()), float((both / either).mean())
