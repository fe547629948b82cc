"""The cards of the data sets, read from ``cards.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ..errors import InvalidParameter

__all__ = ["Card", "card", "names"]


@dataclass(frozen=True)
class Card:
    """Describe a data set before it is loaded.

    Attributes
    ----------
    name, title : str
        The name to load it by, and its subject.
    n, d, k : int
        Number of rows, of features (None if there are only texts), and of labels or classes.
    task : {"labels", "classes"}
        Whether it is multi-label, or has one class per row.
    origin, terms, citation : str
        Who made it, its terms of use, and what to cite.
    papers : tuple of str
        Which of yu2005, sun2009 and wang2010 use it or a similar set.
    where : str
        How to get it, in a line.
    file, sha256 : str
        The file that :func:`load` looks for, and the hash of its content; the hash is None if no
        file is pinned.
    public : str or None
        The public source that is used when there is no file.
    remarks : str
        How it differs from what the papers used.
    about : str
        A description in a few sentences.
    feature_names, classes : tuple of str
        Names of the features, if the file has none, and of the classes in a public source.
    dense : bool
        Whether its arrays are dense, however the file stores them.

    See Also
    --------
    card : Return the card of a data set.

    Examples
    --------
    >>> from labelspan.datasets import card
    >>> found = card("yeast")
    >>> found.n, found.d, found.k, found.papers
    (2417, 103, 14, ('sun2009',))
    """

    name: str
    title: str
    n: int
    d: int | None
    k: int
    task: Literal["labels", "classes"]
    origin: str
    terms: str
    citation: str
    papers: tuple[str, ...]
    where: str
    file: str
    sha256: str | None
    public: str | None = None
    remarks: str = ""
    about: str = ""
    feature_names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    dense: bool = False

    @property
    def size(self) -> str:
        """Rows, features and labels in words."""
        features = "" if self.d is None else f" x {self.d:,}"
        return f"{self.n:,}{features}, {self.k} {self.task}"

    @property
    def unpinned(self) -> str:
        """File name of a copy that is not byte for byte the pinned one."""
        return self.file.replace(self.name, f"{self.name}.unpinned", 1)


def names() -> list[str]:
    """Return the names of all data sets, sorted.

    Returns
    -------
    list of str
        What :func:`load` and :func:`card` accept.

    See Also
    --------
    load : Load a data set by name.

    Examples
    --------
    >>> from labelspan.datasets import names
    >>> "yeast" in names()
    True
    """
    return sorted(_cards())


def card(name: str) -> Card:
    """Return what is known of a data set before it is loaded.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    Card
        Its size, origin, terms of use, citation and file.

    See Also
    --------
    load : Load a data set by name.

    Examples
    --------
    >>> from labelspan.datasets import card
    >>> yeast = card("yeast")
    >>> yeast.n, yeast.d, yeast.k
    (2417, 103, 14)
    """
    found = _cards().get(name)
    if found is None:
        raise InvalidParameter(
            f"There is no data set {name!r}; the names are {', '.join(names())}."
        )
    return found


@cache
def _cards() -> dict[str, Card]:
    text = Path(__file__).with_name("cards.toml").read_text(encoding="utf-8")
    return {name: _card(name, fields) for name, fields in tomllib.loads(text).items()}


def _card(name: str, fields: dict[str, Any]) -> Card:
    lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return Card(**{"name": name, "d": None, "sha256": None, **fields, **lists})
