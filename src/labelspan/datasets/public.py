"""Data sets from public sources, through scikit-learn; the only module that uses a network."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import datasets as public

from ..errors import InvalidFile, MissingData
from .cards import Card
from .dataset import TEST, TRAIN, DataSet

__all__ = ["BUNDLED", "FETCHERS"]

# The number of stories in the published training part of RCV1-v2.
RCV1_TRAINING = 23149


@dataclass(frozen=True)
class _OpenML:
    """A data set of OpenML: features as numbers, targets as they are written there."""

    X: NDArray[np.float64]
    target: NDArray[Any]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]


def _openml(card: Card) -> _OpenML:
    """Download the set whose number on OpenML the card gives.

    A categorical feature whose categories are all numbers gets those numbers, any other the
    positions of its categories in their list; missing values are NaN.
    """
    data_id = int(str(card.public).removeprefix("OpenML "))
    try:
        with warnings.catch_warnings():
            # It warns of retries and of retired versions; the caller checks the size.
            warnings.simplefilter("ignore")
            answer = public.fetch_openml(
                data_id=data_id, as_frame=False, parser="liac-arff", cache=False
            )
    except (OSError, HTTPException, ValueError) as error:
        raise _refused(card, error) from error
    X = np.array(answer.data, dtype=np.float64)
    for column, feature in enumerate(answer.feature_names):
        values = _numbers(answer.categories.get(feature, ()))
        if values is not None:
            known = np.isfinite(X[:, column])
            X[known, column] = values[X[known, column].astype(np.intp)]
    return _OpenML(
        X, np.asarray(answer.target), tuple(answer.feature_names), tuple(answer.target_names)
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


def _refused(card: Card, error: Exception) -> MissingData:
    reason = str(error).partition("\n")[0]
    return MissingData(
        f"{card.name}: {card.public} gave no data ({type(error).__name__}: {reason}); try again "
        f"later, or put {card.file} into data_home."
    )


def _iris(card: Card, home: Path) -> DataSet:
    return _bundled(card, public.load_iris())


def _wine(card: Card, home: Path) -> DataSet:
    return _bundled(card, public.load_wine())


def _bundled(card: Card, found: Any) -> DataSet:
    return DataSet(
        card.name,
        found.data,
        y=found.target,
        feature_names=card.feature_names,
        label_names=tuple(map(str, found.target_names)),
    )


def _balance(card: Card, home: Path) -> DataSet:
    table, sides = _openml(card), ("L", "B", "R")
    return DataSet(
        card.name,
        table.X,
        y=_class_codes(table.target, sides, card.name),
        feature_names=table.feature_names,
        label_names=sides,
    )


def _multi_label(card: Card, home: Path) -> DataSet:
    table = _openml(card)
    return DataSet(
        card.name,
        table.X.astype(np.float32),
        (table.target == "TRUE").astype(np.uint8),
        feature_names=table.feature_names,
        # OpenML writes dots for the hyphens of the original names.
        label_names=[name.replace(".", "-") for name in table.target_names],
    )


def _housing(card: Card, home: Path) -> DataSet:
    table = _openml(card)
    price = table.target.astype(np.float64)
    cuts = np.quantile(price, [1 / 3, 2 / 3])
    return DataSet(
        card.name,
        table.X,
        y=np.searchsorted(cuts, price, side="right").astype(np.int64),
        feature_names=table.feature_names,
        extra={"price": price},
    )


def _soybean(card: Card, home: Path) -> DataSet:
    table = _openml(card)
    names = tuple(dict.fromkeys(map(str, table.target)))
    y = _class_codes(table.target, names, card.name)
    complete = np.isfinite(table.X).all(axis=1)
    return DataSet(
        card.name,
        table.X[complete],
        y=y[complete],
        feature_names=table.feature_names,
        label_names=names,
    )


def _usps(card: Card, home: Path) -> DataSet:
    table = _openml(card)
    # OpenML's pixels range from -1 to 1, and its classes start at 1.
    y = _class_codes(table.target, [str(digit + 1) for digit in range(10)], card.name)
    return DataSet(card.name, (table.X + 1) / 2, y=y)


def _rcv1_full(card: Card, home: Path) -> DataSet:
    """Download the complete RCV1-v2; temporary files of scikit-learn are removed."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=home, prefix=f".{card.name}.") as scratch:
            answer = public.fetch_rcv1(data_home=scratch)
    except (OSError, HTTPException, ValueError) as error:
        raise _refused(card, error) from error
    return DataSet(
        card.name,
        sparse.csr_array(answer.data, dtype=np.float32),
        sparse.csr_array(answer.target, dtype=np.uint8),
        label_names=[str(name) for name in answer.target_names],
        split=np.where(np.arange(card.n) < RCV1_TRAINING, TRAIN, TEST).astype(np.uint8),
        extra={"story": np.asarray(answer.sample_id)},
    )


# By the name of the set: a function of its card and of the folder of the data sets.
FETCHERS: dict[str, Callable[[Card, Path], DataSet]] = {
    "balance": _balance,
    "emotions": _multi_label,
    "housing": _housing,
    "iris": _iris,
    "rcv1_full": _rcv1_full,
    "soybean": _soybean,
    "usps": _usps,
    "wine": _wine,
    "yeast": _multi_label,
}
# These come with scikit-learn: no network is used, and no copy is kept.
BUNDLED = ("iris", "wine")
