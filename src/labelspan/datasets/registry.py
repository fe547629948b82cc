"""Load a data set by its name."""

from __future__ import annotations

from .cards import card
from .dataset import DataSet
from .debtags import load_debtags
from .obtain import Home, obtain
from .reuters21578 import load_reuters21578

__all__ = ["load"]


def load(name: str, data_home: Home = None, *, download: bool = True) -> DataSet:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_home : path or None, default=None
        The folder of the data sets; None uses the environment variable ``LABELSPAN_DATA``, or
        else the user's cache.
    download : bool, default=True
        Whether to use a public source, where the card names one, for a set that is not in the
        folder. What it returns is kept there, and is marked as not pinned.

    Returns
    -------
    DataSet
        Features, labels or classes, and what else the set has.

    Raises
    ------
    MissingData
        If the set is not in the folder and no public source has it.
    InvalidFile
        If the file is damaged.

    See Also
    --------
    card : Return the size, origin, terms of use and citation of a set.
    names : Return the names of all sets.

    Examples
    --------
    >>> from labelspan.datasets import load
    >>> load("wine")
    <DataSet wine: 178 rows, 13 features, 3 classes>
    """
    found = card(name)
    if name == "debtags":
        return load_debtags()
    if name == "reuters21578":
        return load_reuters21578(data_home)
    data = obtain(found, data_home, download=download)
    return data.dense() if found.dense else data
