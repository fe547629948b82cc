"""The layout of an index: computed once, kept in its folder, and added to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._typing import Array
from ..errors import LabelspanError
from ..graph.neighbors import Progress
from ..index import SemanticIndex
from ..index.place_file import PLACES_FILE, PlaceFile, item_keys
from .layout import layout, place

__all__ = ["stored_layout"]

_log = logging.getLogger("labelspan.display")
# When fewer than this share of the items were laid out together, all are laid out again.
_LEAST_LAID = 0.5


def stored_layout(
    index: SemanticIndex,
    ids: Sequence[str],
    *,
    random_state: int | None = None,
    again: bool = False,
    progress: Progress | None = None,
) -> Array:
    """Return the places of items, from the folder of the index as far as they are there.

    Items added since are placed among the others; when they are as many as these, all are laid
    out again. What is computed is written to the folder, if that is possible.

    Parameters
    ----------
    index : SemanticIndex
        Fitted.
    ids : sequence of str
        All ids of the index.
    random_state : int or None, default=None
        Seed of the layout; None takes the one in the folder whatever its seed is, or 0.
    again : bool, default=False
        Whether to lay out all items even if there is a layout.
    progress : function or None, default=None
        Called with the number of steps done, and of all.

    Returns
    -------
    array of shape (n, 2)
        In float32, from -1 to 1.

    Examples
    --------
    >>> from labelspan import MLSI, SemanticIndex
    >>> from labelspan.display.stored_layout import stored_layout
    >>> texts = ["a chess game", "play chess online", "edit photos", "crop and edit pictures"]
    >>> labels = [["game"], ["game"], ["image"], ["image"]]
    >>> index = SemanticIndex(estimator=MLSI(2)).fit(texts, labels)
    >>> stored_layout(index, index.ids).shape
    (4, 2)
    """
    vectors = index.vectors(ids)
    if index.path is None:
        return layout(vectors, random_state=random_state or 0, progress=progress)
    path = index.path / PLACES_FILE
    keys = item_keys(ids, vectors)
    known = None if again else _read(path)
    if known is not None and random_state in (None, known.seed):
        rows = dict(zip(known.keys, range(len(known.keys)), strict=True))
        found = np.array([rows.get(key, -1) for key in keys], dtype=np.intp)
        old = found >= 0
        if old.all():
            return known.places[found]
        laid = min(known.laid, int(old.sum()))
        if laid >= _LEAST_LAID * len(keys):
            places = np.empty((len(keys), 2), dtype=np.float32)
            places[old] = known.places[found[old]]
            places[~old] = place(vectors[~old], vectors[old], places[old])
            _write(path, PlaceFile(keys, places, laid, known.seed))
            return places
    seed = random_state or 0
    places = layout(vectors, random_state=seed, progress=progress)
    _write(path, PlaceFile(keys, places, len(keys), seed))
    return places


def _read(path: Path) -> PlaceFile | None:
    try:
        return PlaceFile.read(path)
    except FileNotFoundError:
        return None
    except (LabelspanError, OSError) as error:
        _log.warning("A stored map is not used: %s", error)
        return None


def _write(path: Path, found: PlaceFile) -> None:
    """Keep places for later; a folder that cannot be written is read as before."""
    try:
        if path.parent.is_dir():
            found.write(path)
    except (LabelspanError, OSError) as error:
        _log.warning("The map is kept in memory only: %s", error)
