"""Labels of items as predicted without the item, from what is kept with the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .left_out_tags import MOST, UNKNOWN
from .results import Tag
from .tagger_update import tag_features

if TYPE_CHECKING:
    from .semantic import SemanticIndex

__all__ = ["tags_without_item"]


def tags_without_item(
    index: SemanticIndex, ids: list[str], k: int = MOST, *, fresh: bool = False
) -> list[list[Tag]]:
    """Return at most ``k`` labels for each of some items, predicted without the item.

    For items without labels, for those that changed since the index was saved, or for all if
    ``fresh``, they are computed.
    """
    tagger = index.tagger
    if tagger is None:
        return [[] for _ in ids]
    model, store = index.model, index.store
    places = store.rows(ids)
    rows = np.full(len(ids), UNKNOWN)
    if tagger.places.size:
        at = np.minimum(np.searchsorted(tagger.places, places), tagger.places.size - 1)
        rows = np.where(tagger.places[at] == places, at, UNKNOWN)
    width = min(k, len(tagger.labels))
    columns = np.full((len(ids), width), UNKNOWN, dtype=np.int64)
    chances = np.zeros((len(ids), width), dtype=np.float32)
    missing = np.arange(len(ids))
    found = tagger.left_out
    if found is not None and not fresh and found.columns.size:
        # Labels may have come since; those of before are kept.
        most = min(width, found.columns.shape[1])
        kept = (rows >= 0) & (found.columns[rows, 0] != UNKNOWN)
        columns[kept, :most] = found.columns[rows[kept], :most]
        chances[kept, :most] = found.chances[rows[kept], :most]
        missing = np.flatnonzero(~kept)
    if missing.size:
        features = tag_features(model, tagger, store, places[missing])
        columns[missing], chances[missing] = tagger.best(features, width, rows[missing])
    return [
        [
            Tag(tagger.labels[column], chance, float(tagger.thresholds[column]))
            for column, chance in zip(own, likely, strict=True)
            if column >= 0
        ]
        for own, likely in zip(columns.tolist(), chances.tolist(), strict=True)
    ]
