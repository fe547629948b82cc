"""The data sets by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidParameter
from .dataset import Card, DataSet
from .obtain import Home

__all__ = ["card", "load", "names", "register"]


@dataclass(frozen=True)
class _Entry:
    card: Card
    loader: Callable[..., DataSet]


_ENTRIES: dict[str, _Entry] = {}


def register(card: Card, loader: Callable[..., DataSet]) -> None:
    """Add a data set, so that ``load`` and the command ``labelspan data`` know it.

    Parameters
    ----------
    card : Card
    loader : callable
        Takes ``data_home`` and the keyword ``download``, and gives a :class:`DataSet`.

    Examples
    --------
    >>> from labelspan.datasets import Card, register
    >>> mine = Card(name="mine", ..., file="mine.npz", sha256=None)  # doctest: +SKIP
    >>> register(mine, load_mine)  # doctest: +SKIP
    """
    if card.name in _ENTRIES:
        raise InvalidParameter(f"register: there is a data set {card.name!r} already.")
    _ENTRIES[card.name] = _Entry(card, loader)


def names() -> list[str]:
    """The names of all data sets, sorted.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from labelspan.datasets import names
    >>> "yeast" in names()
    True
    """
    return sorted(_ENTRIES)


def card(name: str) -> Card:
    """What is known of a data set before it is loaded.

    Parameters
    ----------
    name : str

    Returns
    -------
    Card

    Examples
    --------
    >>> from labelspan.datasets import card
    >>> yeast = card("yeast")
    >>> yeast.n, yeast.d, yeast.k
    (2417, 103, 14)
    """
    return _entry(name).card


def load(name: str, data_home: Home = None, *, download: bool = True, **options: Any) -> DataSet:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_home : path or None, default=None
        The folder where data lies; None takes the environment variable ``LABELSPAN_DATA``,
        or else the user's cache.
    download : bool, default=True
        Whether to ask a public source, where the card names one, for a set that is not in
        the folder. What comes is kept there, and is marked as not pinned.
    **options
        Handed to the loader, say ``selection="all"`` for reuters21578.

    Returns
    -------
    DataSet

    Raises
    ------
    MissingData
        Where the set is not in the folder and no public source gives it.
    InvalidFile
        Where the file is damaged.

    Examples
    --------
    >>> from labelspan.datasets import load
    >>> load("wine")
    <DataSet wine: 178 rows, 13 features, 3 classes>
    """
    return _entry(name).loader(data_home, download=download, **options)


def _entry(name: str) -> _Entry:
    if name not in _ENTRIES:
        raise InvalidParameter(
            f"There is no data set {name!r}; the names are {', '.join(names())}."
        )
    return _ENTRIES[name]
