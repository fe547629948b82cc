"""Public sources of data: the one place that asks a network, through scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as public

from ..errors import InvalidFile, MissingData
from .dataset import Card

__all__ = ["Table", "class_codes", "full_rcv1", "openml"]


@dataclass(frozen=True)
class Table:
    """A data set of OpenML: features as numbers, targets as they are written there."""

    X: NDArray[np.float64]
    target: NDArray[Any]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]


def openml(card: Card, data_id: int) -> Table:
    """Ask OpenML for a set by number.

    A feature with named values that are all numbers gets those numbers, any other the
    places of its values in their list; NaN stands for what is missing.
    """
    try:
        with warnings.catch_warnings():
            # Retries and retired versions are warned of; the size is checked by who asks.
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
    return Table(
        X, np.asarray(answer.target), tuple(answer.feature_names), tuple(answer.target_names)
    )


def full_rcv1(card: Card, folder: Path) -> Any:
    """Ask for the whole of RCV1-v2; what scikit-learn writes meanwhile is removed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=f".{card.name}.") as scratch:
            return public.fetch_rcv1(data_home=scratch)
    except (OSError, HTTPException, ValueError) as error:
        raise _refused(card, error) from error


def class_codes(target: NDArray[Any], names: Sequence[str], owner: str) -> NDArray[np.int64]:
    """The place of each class in a list of names."""
    codes = {name: code for code, name in enumerate(names)}
    found = [str(value) for value in target]
    strange = next((value for value in found if value not in codes), None)
    if strange is not None:
        raise InvalidFile(f"{owner}: the public copy has a class {strange!r} that is not known.")
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
