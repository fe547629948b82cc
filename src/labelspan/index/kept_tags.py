"""Labels of items as predicted without the item, from what is kept with the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .results import Tag
from .tagging import tag_features

if TYPE_CHECKING:
    from .semantic import SemanticIndex

__all__ = ["tags_without_item"]

# Labels of each item that are shown.
_MOST = 12


def tags_without_item(
    index: SemanticIndex, ids: list[str], k: int = _MOST, *, fresh: bool = False
) -> list[list[Tag]]:
    """Return at most ``k`` labels for each of some items, predicted without the item.

    For items without labels, or for all if ``fresh``, they are computed.
    """
    tagger = index.tagger
    if tagger is None:
        return [[] for _ in ids]
    model, store = index.model, index.store
    rows = store.rows(ids)
    own = tagger.places(rows)
    width = min(k, len(tagger.labels))
    columns = np.full((len(ids), width), -1, dtype=np.int64)
    chances = np.zeros((len(ids), width), dtype=np.float32)
    found = tagger.left_out
    # Labels may have come since; those of before are kept.
    most = min(width, found.columns.shape[1])
    kept = (own >= 0) & (not fresh)
    columns[kept, :most] = found.columns[own[kept], :most]
    chances[kept, :most] = found.chances[own[kept], :most]
    missing = np.flatnonzero(~kept)
    if missing.size:
        features = tag_features(model, tagger, store, rows[missing])
        columns[missing], chances[missing] = tagger.best(features, width, own[missing])
    return [
        [
            Tag(tagger.labels[column], chance, float(tagger.thresholds[column]))
            for column, chance in zip(best, likely, strict=True)
            if column >= 0
        ]
        for best, likely in zip(columns.tolist(), chances.tolist(), strict=True)
    ]
