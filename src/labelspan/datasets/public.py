"""Data sets from public sources, through scikit-learn; the only module that uses a network."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import datasets as public

from ..errors import InvalidFile, MissingData
from .dataset import TEST, TRAIN, Card, DataSet

__all__ = ["BUNDLED", "FETCHERS"]

# The number of stories in the published training part of RCV1-v2.
RCV1_TRAINING = 23149


def _bundled(card: Card, home: Path) -> DataSet:
    """Return a set that comes with scikit-learn."""
    found = getattr(public, f"load_{card.name}")()
    names = tuple(map(str, found.target_names))
    return DataSet(
        card.name, found.data, y=found.target, feature_names=card.feature_names, label_names=names
    )


def _openml(card: Card, home: Path) -> DataSet:
    """Download the set whose number on OpenML the card gives.

    A categorical feature whose categories are all numbers gets those numbers, any other the
    positions of its categories in their list; missing values are NaN.
    """
    data_id = int(str(card.public).removeprefix("OpenML "))
    with _refusals(card), warnings.catch_warnings():
        # It warns of retries and of retired versions; the caller checks the size.
        warnings.simplefilter("ignore")
        answer = public.fetch_openml(
            data_id=data_id, as_frame=False, parser="liac-arff", cache=False
        )
    X = np.array(answer.data, dtype=np.float64)
    for column, feature in enumerate(answer.feature_names):
        values = _numbers(answer.categories.get(feature, ()))
        if values is not None:
            known = np.isfinite(X[:, column])
            X[known, column] = values[X[known, column].astype(np.intp)]
    target, features = np.asarray(answer.target), tuple(answer.feature_names)
    if card.task == "labels":
        # OpenML writes dots for the hyphens of the original names.
        names = [name.replace(".", "-") for name in answer.target_names]
        Y = (target == "TRUE").astype(np.uint8)
        return DataSet(
            card.name, X.astype(np.float32), Y, feature_names=features, label_names=names
        )
    if card.name == "housing":
        price = target.astype(np.float64)
        cuts = np.quantile(price, [1 / 3, 2 / 3])
        y = np.searchsorted(cuts, price, side="right").astype(np.int64)
        return DataSet(card.name, X, y=y, feature_names=features, extra={"price": price})
    if card.name == "usps":
        # OpenML's pixels range from -1 to 1, and its classes start at 1.
        y = _class_codes(target, [str(digit + 1) for digit in range(10)], card.name)
        return DataSet(card.name, (X + 1) / 2, y=y)
    classes = card.classes or tuple(dict.fromkeys(map(str, target)))
    y = _class_codes(target, classes, card.name)
    complete = np.isfinite(X).all(axis=1)
    return DataSet(
        card.name, X[complete], y=y[complete], feature_names=features, label_names=classes
    )


def _class_codes(target: NDArray[Any], names: Sequence[str], owner: str) -> NDArray[np.int64]:
    """Return the position of each class in a list of names."""
    codes = {name: code for code, name in enumerate(names)}
    found = [str(value) for value in target]
    strange = next((value for value in found if value not in codes), None)
    if strange is not None:
        raise InvalidFile(
            f"{owner}: the public copy has a class {strange!r} that is not known; get another copy."
        )
    return np.array([codes[value] for value in found], dtype=np.int64)


def _numbers(values: Sequence[str]) -> NDArray[np.float64] | None:
    try:
        return np.array([float(value) for value in values]) if values else None
    except ValueError:
        return None


@contextmanager
def _refusals(card: Card) -> Iterator[None]:
    """Raise :class:`MissingData` if a source gives no data."""
    try:
        yield
    except (OSError, HTTPException, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise MissingData(
            f"{card.name}: {card.public} gave no data ({type(error).__name__}: {reason}); try "
            f"again later, or put {card.file} into data_home."
        ) from error


def _rcv1_full(card: Card, home: Path) -> DataSet:
    """Download the complete RCV1-v2; temporary files of scikit-learn are removed."""
    with _refusals(card):
        home.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=home, prefix=f".{card.name}.") as scratch:
            answer = public.fetch_rcv1(data_home=scratch)
    return DataSet(
        card.name,
        sparse.csr_array(answer.data, dtype=np.float32),
        sparse.csr_array(answer.target, dtype=np.uint8),
        label_names=[str(name) for name in answer.target_names],
        split=np.where(np.arange(card.n) < RCV1_TRAINING, TRAIN, TEST).astype(np.uint8),
        extra={"story": np.asarray(answer.sample_id)},
    )


# These come with scikit-learn: no network is used, and no copy is kept.
BUNDLED = ("iris", "wine")
# By the name of the set: a function of its card and of the folder of the data sets.
FETCHERS: dict[str, Callable[[Card, Path], DataSet]] = {
    **dict.fromkeys(BUNDLED, _bundled),
    **dict.fromkeys(("balance", "emotions", "housing", "soybean", "usps", "yeast"), _openml),
    "rcv1_full": _rcv1_full,
}
