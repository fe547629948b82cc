"""The length of the block next to the words, chosen by what it predicts of left-out items.

Words have length 1. A longer block helps where texts are short and labels few, and can do harm
where the language is special, so that the length is chosen for the embedding and for the tagger,
on a sample of the labelled items. Differences below a margin leave the usual length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..operators.joined import JoinedRows
from ..tagger.learning import left_out_quality
from .label_table import LabelTable
from .model import Space
from .model_block import USUAL_LENGTH

__all__ = ["LENGTHS", "space_length", "tag_length"]

LENGTHS = (0.3, USUAL_LENGTH, 1.5)
# Labelled items of the sample, fewest that choose, and neighbours that are compared.
_SAMPLE, _FEWEST, _NEIGHBORS = 600, 20, 10
# Another length must be better by this part of the quality. In the embedding, a short block must
# be better by more: search, which no label measures, has .525, .543 and .554 nDCG@10 with the three
# lengths on CACM, where labels would choose the first by a little.
_MARGIN, _SHORT_MARGIN = 0.005, 0.04


def _best(quality: Callable[[float], float], short: float = _MARGIN) -> float:
    """Return the length of the highest quality; the usual one if none is clearly better.

    ``short`` is the margin of a length below the usual one.
    """
    usual = quality(USUAL_LENGTH)
    # If a longer one is better, a shorter one is not.
    for length, margin in ((LENGTHS[2], _MARGIN), (LENGTHS[0], short)):
        if quality(length) > (1 + margin) * usual:
            return length
    return USUAL_LENGTH


def tag_length(words: sparse.csr_matrix, units: Array, targets: sparse.csr_matrix) -> float:
    """Choose the length for the tagger by its leave-one-out predictions."""
    some = _sample(np.arange(targets.shape[0]))
    if some.size < _FEWEST:
        return USUAL_LENGTH
    words, units, targets = words[some], units[some], targets[some]

    def quality(length: float) -> float:
        return left_out_quality(targets, JoinedRows(words, np.float32(length) * units))

    return _best(quality)


def space_length(
    words: Callable[[Array], sparse.csr_matrix],
    units: Array,
    labels: LabelTable,
    learn: Callable[[Any, LabelTable], Space],
) -> float:
    """Choose the length for the embedding by the labels of the neighbours of left-out items.

    ``words`` returns the words of some rows, ``learn`` an embedding of rows and labels.
    """
    known = _sample(np.flatnonzero(labels.known & (np.maximum(labels.counts, 0) > 0)))
    if known.size < 2 * _FEWEST:
        return USUAL_LENGTH
    half = np.random.default_rng(1).permutation(known)
    train, held = np.sort(half[: known.size // 2]), np.sort(half[known.size // 2 :])
    own = LabelTable.of([labels.labels(int(row)) for row in train])
    seen, unseen = words(train), words(held)
    gains = _shared(labels.matrix(held), labels.matrix(train))

    def quality(length: float) -> float:
        factor = np.float32(length)
        rows = JoinedRows(seen, factor * units[train])
        space = learn(rows.operator, own)
        queries = space.vectors(JoinedRows(unseen, factor * units[held]))
        near = np.argsort(-(queries @ space.vectors(rows).T), axis=1)[:, :_NEIGHBORS]
        return float(np.take_along_axis(gains, near, axis=1).mean())

    return _best(quality, _SHORT_MARGIN)


def _sample(rows: Array) -> Array:
    if rows.size <= _SAMPLE:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, _SAMPLE, replace=False))


def _shared(first: sparse.csr_matrix, second: sparse.csr_matrix) -> Array:
    """Return the Jaccard index of the labels of rows of one matrix with those of another."""
    both = np.asarray((first @ second.T).toarray(), dtype=np.float64)
    sizes = np.asarray(first.sum(axis=1)) + np.asarray(second.sum(axis=1)).T
    return np.asarray(both / np.maximum(sizes - both, 1))
