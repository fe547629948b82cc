"""Getting a data set: from its file, from an unpinned copy, or from a public source."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..errors import InvalidFile, MissingData
from .dataset import Card, DataSet
from .files import data_home
from .npz import read_npz, write_npz

__all__ = ["Home", "find", "fitting", "missing", "obtain"]

Home = str | os.PathLike[str] | None


def obtain(
    card: Card,
    home: Home,
    *,
    download: bool,
    fetch: Callable[[], DataSet] | None = None,
    keep: bool = True,
) -> DataSet:
    """Load a set by its card.

    Looks for the pinned file, then for an unpinned copy, then asks ``fetch``, whose answer
    is kept as the unpinned copy. ``keep=False`` says that asking again costs nothing and
    needs no network: then nothing is written, and ``download`` is not asked for.
    """
    found = find(card, home)
    if found is not None:
        path, sha256 = found
        data = read_npz(path, name=card.name, sha256=sha256)
        # What has the pinned hash has the right size.
        return data if sha256 else fitting(card, data, str(path))
    if fetch is None or (keep and not download):
        raise missing(card, home)
    data = fitting(card, replace(fetch(), source=f"{card.public}; not pinned"), str(card.public))
    if keep:
        write_npz(data, data_home(home) / card.unpinned)
    return data


def find(card: Card, home: Home) -> tuple[Path, str | None] | None:
    """The file that a loader would read, and the hash it must have; None without a file."""
    folder = data_home(home)
    for name, sha256 in ((card.file, card.sha256), (card.unpinned, None)):
        if (folder / name).is_file():
            return folder / name, sha256
    return None


def missing(card: Card, home: Home) -> MissingData:
    """The sentence that says where to get a set, and where to put it."""
    either = "" if card.public is None else f", let it be downloaded from {card.public}"
    return MissingData(
        f"{card.name}: there is no {card.file} in {str(data_home(home))!r}; put it there "
        f"(or name its folder by data_home or LABELSPAN_DATA){either}, or make a copy "
        f"{card.unpinned} from {card.where}."
    )


def fitting(card: Card, data: DataSet, source: str) -> DataSet:
    """The data, if it has the size that its card says."""
    size = (len(data), data.n_features, data.n_labels)
    if size != (card.n, card.d, card.k):
        raise InvalidFile(
            f"{card.name}: {source} has {size[0]} rows, {size[1]} features and {size[2]} "
            f"{card.task}, but the set has {card.n}, {card.d} and {card.k}; get another copy."
        )
    return data
