"""The most probable labels of labelled items, as models without the item predict them.

They are found when the labels are learned, and kept with the index: what is predicted for an item
from others tells better whether its labels are right than what a model says that has seen them,
and it is read in no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array
from .tagging import Candidates, Decision

if TYPE_CHECKING:
    from .results import Tag
    from .semantic import SemanticIndex
    from .tagger import Tagger

__all__ = ["LeftOutTags", "completed", "left_out_tags"]

# Labels that are kept of each item.
MOST = 12
_UNKNOWN = -1
# Pairs of items that are compared, at most, when an index is saved.
_MOST_PAIRS = 1 << 30


@dataclass(frozen=True)
class LeftOutTags:
    """For each row the columns of its most probable labels, best first, and their probabilities.

    Columns are -1 where there are no more labels; a row that begins so is not known.
    """

    columns: Array
    chances: Array

    @classmethod
    def of(cls, found: Candidates, decision: Decision, shape: tuple[int, int]) -> LeftOutTags:
        """Choose them among candidates of a number of rows and of labels."""
        count, most = shape[0], min(MOST, shape[1])
        scores = found.regression + decision.weight * found.votes
        order = np.lexsort((found.columns, -scores, found.rows))
        rows = found.rows[order]
        rank = np.arange(rows.size) - np.searchsorted(rows, rows)
        best = rank < most
        made = cls.unknown(count, most)
        made.columns[rows[best], rank[best]] = found.columns[order][best]
        made.chances[rows[best], rank[best]] = decision.probability(scores[order][best])
        return made

    @classmethod
    def unknown(cls, count: int, most: int) -> LeftOutTags:
        """Make some of which nothing is known yet."""
        columns = np.full((count, most), _UNKNOWN, dtype=np.int32)
        return cls(columns, np.zeros((count, most), dtype=np.float32))

    @property
    def known(self) -> Array:
        """Which rows are known."""
        if not self.columns.shape[1]:
            return np.zeros(len(self.columns), dtype=bool)
        return np.asarray(self.columns[:, 0] != _UNKNOWN)

    def is_sound(self, shape: tuple[int, int]) -> bool:
        """Tell whether the arrays fit to a number of rows and of labels."""
        count, labels = shape
        columns, chances = self.columns, self.chances
        return (
            columns.ndim == 2
            and columns.shape == chances.shape
            and len(columns) == count
            and columns.dtype == np.int32
            and chances.dtype == np.float32
            and (not columns.size or (columns.min() >= _UNKNOWN and columns.max() < labels))
        )

    def moved(self, sources: Array) -> LeftOutTags:
        """Return the rows with some numbers, in this order; a negative number is unknown."""
        made = self.unknown(len(sources), self.columns.shape[1])
        there = sources >= 0
        made.columns[there] = self.columns[sources[there]]
        made.chances[there] = self.chances[sources[there]]
        return made


def completed(tagger: Tagger) -> LeftOutTags:
    """Return what is kept of a tagger, with rows that were not known unless they are too many.

    They are not voters for themselves, but the regression has seen them.
    """
    count, labels = tagger.voters.labels.shape
    found = tagger.left_out or LeftOutTags.unknown(count, min(MOST, labels))
    missing = np.flatnonzero(~found.known)
    if not missing.size or missing.size * count > _MOST_PAIRS:
        return found
    columns, chances = np.array(found.columns), np.array(found.chances)
    width = columns.shape[1]
    features = tagger.voters.features[missing]
    columns[missing], chances[missing] = tagger.best(features, width, missing)
    return LeftOutTags(columns, chances)


def left_out_tags(
    index: SemanticIndex, ids: list[str], k: int = MOST, *, fresh: bool = False
) -> list[list[Tag]]:
    """Return at most ``k`` labels for each of some items, predicted without the item.

    For items without labels, for those that changed since the index was saved, or for all if
    ``fresh``, they are computed.
    """
    from .results import Tag  # noqa: PLC0415
    from .tagger_update import tag_features  # noqa: PLC0415 - with scikit-learn

    tagger = index._tagger()
    if tagger is None:
        return [[] for _ in ids]
    model, store = index._fitted()
    places = np.array([store.place(name) for name in ids], dtype=np.int64)
    rows = np.full(len(ids), _UNKNOWN)
    if tagger.places.size:
        at = np.minimum(np.searchsorted(tagger.places, places), tagger.places.size - 1)
        rows = np.where(tagger.places[at] == places, at, _UNKNOWN)
    width = min(k, len(tagger.labels))
    columns = np.full((len(ids), width), _UNKNOWN, dtype=np.int64)
    chances = np.zeros((len(ids), width), dtype=np.float32)
    missing = np.arange(len(ids))
    found = tagger.left_out
    if found is not None and not fresh and found.columns.size:
        # Labels may have come since; those of before are kept.
        most = min(width, found.columns.shape[1])
        kept = (rows >= 0) & (found.columns[rows, 0] != _UNKNOWN)
        columns[kept, :most] = found.columns[rows[kept], :most]
        chances[kept, :most] = found.chances[rows[kept], :most]
        missing = np.flatnonzero(~kept)
    if missing.size:
        features = tag_features(model, tagger, store, [ids[n] for n in missing])
        columns[missing], chances[missing] = tagger.best(features, width, rows[missing])
    return [
        [
            Tag(tagger.labels[column], chance, float(tagger.thresholds[column]))
            for column, chance in zip(own, likely, strict=True)
            if column >= 0
        ]
        for own, likely in zip(columns.tolist(), chances.tolist(), strict=True)
    ]
