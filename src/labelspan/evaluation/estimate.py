"""Estimate of the time and memory of an evaluation, before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .spaces import METHODS
from .tag_quality import MOST_SVMS

__all__ = ["Cost", "estimated_cost"]

# Rough: set so that 5,000 texts of 60 words with 240 labels take about two minutes. Seconds for a
# method, per item, word of its text and dimension; per item, label and dimension; and to count the
# words of a text.
_PER_WORD, _PER_LABEL, _COUNTED = 6e-8, 1.1e-8, 2e-6
_GRID = 9
# Seconds for the features of a word for tags and for an entry of the word index; for an SVM, per
# item and word; for the regressions of the tagger, per item, word and label, and per cube of items.
_TAG_WORD, _INDEXED, _SVM, _TAG_LABEL, _CUBE = 4e-5, 2e-5, 3e-7, 1e-7, 4e-10
# Labels that are learned at once; items whose matrix is inverted; seconds of a search per item.
_AT_ONCE, _INVERTED, _SEARCHED = 64, 4000, 1e-7
_BLOCK = 1000
# Features kept per word of a text, words and pairs; bytes of one in each copy; copies of the data.
_KEPT, _ENTRY, _COPIES = 1.2, 12, 6
_BASE = 250 << 20


@dataclass(frozen=True)
class Cost:
    """Estimated seconds on one core, and bytes of memory."""

    seconds: float
    memory: int

    def __str__(self) -> str:
        minutes = self.seconds / 60
        time = f"{self.seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} min"
        return f"estimated, roughly: {time} on one core and {self.memory / 2**30:.1f} GiB of memory"


def estimated_cost(
    texts: Sequence[str],
    labels: Sequence[Any],
    *,
    folds: int,
    dimensions: int,
    most: int,
    tune: bool,
    known_items: int = 0,
    tagging: bool = False,
) -> Cost:
    """Estimate time and memory from the sizes of the corpus.

    Parameters
    ----------
    texts : list of str
    labels : list of lists of str
    folds, dimensions, tune
        As in :func:`labelspan.evaluation.comparison.evaluate`.
    most : int
        Maximum number of items that are used.
    known_items : int, default=0
        Number of items to search for, among all of them; 0 if search is not evaluated.
    tagging : bool, default=False
        Whether tags are predicted as well.

    Returns
    -------
    Cost

    Examples
    --------
    >>> from labelspan.evaluation.estimate import estimated_cost
    >>> small = estimated_cost(
    ...     ["a b c"] * 100, [["x"]] * 100, folds=3, dimensions=10, most=100, tune=False
    ... )
    >>> small.seconds < 10
    True
    """
    sample = texts[:: max(1, len(texts) // 500)]
    words = float(np.mean([len(text.split()) for text in sample])) if len(sample) else 0.0
    items = min(most, len(texts))
    count = len({label for own in labels for label in own or ()})
    fits = folds * len(METHODS) + (_GRID + folds if tune else 0)
    each = items * dimensions * (_PER_WORD * words + _PER_LABEL * count)
    seconds = fits * each + (folds + 1) * _COUNTED * items * words + 3.0
    if known_items:
        all_of = len(texts) * dimensions * (_PER_WORD * words + _PER_LABEL * count)
        seconds += 2 * all_of + _INDEXED * len(texts) * words
        seconds += 10 * known_items * _SEARCHED * len(texts)
    if tagging:
        seconds += _TAG_WORD * items * words
        seconds += _SVM * items * words * min(count, MOST_SVMS)
        seconds += _TAG_LABEL * items * words * (count + _AT_ONCE)
        seconds += _CUBE * items**3 if items <= _INVERTED else 0.0
    memory = _BASE + _COPIES * (
        len(texts) * words * _KEPT * _ENTRY
        + items * count * 8
        + items * dimensions * 8
        + 30_000 * dimensions * 8
    )
    if tagging:
        # Parts of words, the weights of labels, and the scores of held-out items.
        memory += 8 * items * words * _KEPT * _ENTRY + (60_000 + items) * min(count, _BLOCK) * 8
    return Cost(seconds, int(memory))
