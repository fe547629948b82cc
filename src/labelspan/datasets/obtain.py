"""Get a data set from its file, from an unpinned copy, or from a public source."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from .._files import cache_folder
from ..errors import InvalidFile, MissingData
from .cards import Card
from .dataset import DataSet
from .npz import read_npz, write_npz

__all__ = ["Home", "data_home", "find", "fitting", "missing", "obtain"]

Home = str | os.PathLike[str] | None


def data_home(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the data sets.

    Parameters
    ----------
    given : path or None, default=None
        The folder; None uses the environment variable ``LABELSPAN_DATA``, or else the
        user's cache.

    Returns
    -------
    Path
        The folder, which need not exist.

    See Also
    --------
    load : Load a data set from this folder.

    Examples
    --------
    >>> from labelspan.datasets import data_home
    >>> data_home("here").name
    'here'
    """
    named = given if given is not None else os.environ.get("LABELSPAN_DATA")
    if named:
        return Path(named).expanduser()
    return cache_folder()


def obtain(card: Card, home: Home, *, download: bool) -> DataSet:
    """Load a set by its card.

    Looks for the pinned file, then for an unpinned copy, then in scikit-learn, then at a public
    source, whose answer is kept as the unpinned copy.
    """
    found = find(card, home)
    if found is not None:
        path, sha256 = found
        data = read_npz(path, name=card.name, sha256=sha256)
        if card.feature_names and data.feature_names is None:
            data = replace(data, feature_names=card.feature_names)
        # A file with the pinned hash has the right size.
        return data if sha256 else fitting(card, data, str(path))
    # Imported here because it needs scikit-learn's data sets, which are slow to import.
    from .public import BUNDLED, FETCHERS  # noqa: PLC0415

    keep = card.name not in BUNDLED
    if card.name not in FETCHERS or (keep and not download):
        raise missing(card, home)
    data = FETCHERS[card.name](card, data_home(home))
    data = fitting(card, replace(data, source=f"{card.public}; not pinned"), str(card.public))
    if keep:
        write_npz(data, data_home(home) / card.unpinned)
    return data


def find(card: Card, home: Home) -> tuple[Path, str | None] | None:
    """Return the file to read and the hash it must have, or None if there is no file."""
    folder = data_home(home)
    for name, sha256 in ((card.file, card.sha256), (card.unpinned, None)):
        if (folder / name).is_file():
            return folder / name, sha256
    return None


def missing(card: Card, home: Home) -> MissingData:
    """Return an error that says where to get a set, and where to put it."""
    public = "" if card.public is None else f" (from {card.public})"
    return MissingData(
        f"{card.name}: there is no {card.file} in {str(data_home(home))!r}; put it there (or name "
        f"its folder by data_home or LABELSPAN_DATA), or make a copy {card.unpinned}: "
        f"{card.where}{public}."
    )


def fitting(card: Card, data: DataSet, source: str) -> DataSet:
    """Return the data if its size is that of its card; raise an error otherwise."""
    size = (len(data), data.n_features, data.n_labels)
    if size != (card.n, card.d, card.k):
        raise InvalidFile(
            f"{card.name}: {source} has {size[0]} rows, {size[1]} features and {size[2]} "
            f"{card.task}, but the set has {card.n}, {card.d} and {card.k}; get another copy."
        )
    return data
