"""The lengths of blocks of features, chosen by what they predict of left-out items.

Words have length 1. A longer block of a model helps where texts are short and labels few, and can
do harm where the language is special; links may have nothing to do with the labels. So the lengths
are chosen for the embedding and for the tagger, on a sample of the labelled items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..operators.joined import JoinedRows
from ..tagger.learning import left_out_quality
from .blocks import SPACE_LENGTH, TAG_LENGTH, Blocks
from .label_table import LabelTable
from .links import LinkGraph

__all__ = ["USUAL_LENGTH", "choose_space_lengths", "choose_tag_lengths", "space_quality"]

# Length of a block where it is not chosen by left-out quality.
USUAL_LENGTH = 0.7
# Lengths of the block of a model that are tried instead of the usual one, and the part of the
# quality by which they must be better: if a longer one is, a shorter one is not. In the embedding,
# a short block must be better by more: search, which no label measures, has .525, .543 and .554
# nDCG@10 with the three lengths on CACM, where labels would choose the first by a little.
_TAG_LENGTHS = ((1.5, 0.005), (0.3, 0.005))
_SPACE_LENGTHS = ((1.5, 0.005), (0.3, 0.04))
# The same for links, which are not used otherwise.
_LINK_LENGTHS = ((USUAL_LENGTH, 0.02),)
# Labelled items of the sample, fewest that choose, and neighbours that are compared.
_SAMPLE, _FEWEST, _NEIGHBORS = 600, 20, 10

# Columns of some rows, for lengths of the blocks.
Columns = Callable[[Array, tuple[float, float]], Array]
# Quality of the columns of rows.
SpaceQuality = Callable[[Callable[[Array], Array]], float]


def _best(
    usual: float, others: Sequence[tuple[float, float]], quality: Callable[[float], float]
) -> float:
    """Return the usual length, or the first of others that is better by its margin."""
    least = quality(usual)
    return next(
        (length for length, margin in others if quality(length) > (1 + margin) * least), usual
    )


def choose_space_lengths(
    blocks: Blocks, stored: Array, graph: LinkGraph | None, quality: SpaceQuality | None
) -> None:
    """Choose the lengths of blocks for the embedding; without labelled items the usual ones."""

    def of(lengths: tuple[float, float]) -> float:
        assert quality is not None
        return quality(
            lambda rows: blocks.columns(stored.__getitem__, rows, graph, SPACE_LENGTH, lengths)
        )

    model, links = USUAL_LENGTH, USUAL_LENGTH
    if quality is not None and blocks.links is None:
        model = _best(USUAL_LENGTH, _SPACE_LENGTHS, lambda one: of((one, 0.0)))
    if blocks.links is not None:
        # What is averaged over links has the model's block of the length that was chosen before.
        model = blocks.lengths(SPACE_LENGTH)[0]
        if quality is not None:
            links = _best(0.0, _LINK_LENGTHS, lambda one: of((model, one)))
        blocks.links.lengths = links, USUAL_LENGTH
    elif blocks.model is not None:
        blocks.model.lengths = model, USUAL_LENGTH


def choose_tag_lengths(  # noqa: PLR0917 - blocks, and the features that they are next to
    blocks: Blocks,
    stored: Array,
    graph: LinkGraph | None,
    words: sparse.csr_matrix,
    targets: sparse.csr_matrix,
    rows: Array,
) -> None:
    """Choose the lengths of blocks for the tagger by its leave-one-out predictions.

    ``words`` and ``targets`` are those of some rows.
    """
    some = _sample(np.arange(rows.size), _FEWEST)
    if some is None:
        return
    sample = words[some]
    sample = sample[:, _present(sample)]

    def quality(lengths: tuple[float, float]) -> float:
        own = blocks.columns(stored.__getitem__, rows[some], graph, TAG_LENGTH, lengths)
        return left_out_quality(targets[some], blocks.joined(sample, own))

    if blocks.model is not None:
        best = _best(USUAL_LENGTH, _TAG_LENGTHS, lambda one: quality((one, 0.0)))
        blocks.model.lengths = blocks.model.lengths[SPACE_LENGTH], best
    if blocks.links is not None:
        own = blocks.lengths(TAG_LENGTH)[0]
        best = _best(0.0, _LINK_LENGTHS, lambda one: quality((own, one)))
        blocks.links.lengths = blocks.links.lengths[SPACE_LENGTH], best


def _sample(rows: Array, fewest: int) -> Array | None:
    """Return the rows of a sample that choose a length; None if there are too few."""
    if rows.size < fewest:
        return None
    if rows.size <= _SAMPLE:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, _SAMPLE, replace=False))


def _present(words: Any) -> Array:
    """Return the columns of a sparse matrix that are not empty."""
    return np.flatnonzero(np.bincount(words.indices, minlength=words.shape[1]))


def space_quality(
    words: Callable[[Array], Any],
    labels: LabelTable,
    learn: Callable[[Any, LabelTable], Any],
) -> SpaceQuality | None:
    """Return a function of the columns of rows: how many labels neighbours of left-out items share.

    ``words`` returns the words of some rows, ``learn`` an embedding of rows and labels. None if
    there are too few labelled items.
    """
    known = np.flatnonzero(labels.known & (np.maximum(labels.counts, 0) > 0))
    some = _sample(known, 2 * _FEWEST)
    if some is None:
        return None
    half = np.random.default_rng(1).permutation(some)
    train, held = np.sort(half[: some.size // 2]), np.sort(half[some.size // 2 :])
    own = LabelTable.of([labels.labels(int(row)) for row in train])
    seen, unseen = words(train), words(held)
    # A word that no item of the training has no weight.
    there = _present(seen)
    seen, unseen = seen[:, there], unseen[:, there]
    gains = _shared(labels.matrix(held), labels.matrix(train))

    def quality(columns: Callable[[Array], Array]) -> float:
        rows = JoinedRows(seen, columns(train))
        space = learn(rows.operator, own)
        queries = space.vectors(JoinedRows(unseen, columns(held)))
        near = np.argsort(-(queries @ space.vectors(rows).T), axis=1)[:, :_NEIGHBORS]
        return float(np.take_along_axis(gains, near, axis=1).mean())

    return quality


def _shared(first: sparse.csr_matrix, second: sparse.csr_matrix) -> Array:
    """Return the Jaccard index of the labels of rows of one matrix with those of another."""
    both = np.asarray((first @ second.T).toarray(), dtype=np.float64)
    sizes = np.asarray(first.sum(axis=1)) + np.asarray(second.sum(axis=1)).T
    return np.asarray(both / np.maximum(sizes - both, 1))
