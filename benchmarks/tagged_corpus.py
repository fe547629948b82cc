"""Synthetic texts as bags of words whose labels are topics, of any size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["TaggedCorpus", "make_tagged_corpus"]

# Words sampled at a time; they need about ten times as many bytes.
_BLOCK = 1 << 22
# Ranks count from here: the most frequent word or label is not far above the second.
_HEAD = 5.0


@dataclass(frozen=True)
class TaggedCorpus:
    """Counts of words, and labels as 0 and 1, both in CSR format."""

    X: Any
    Y: Any


def make_tagged_corpus(
    n: int,
    vocabulary: int,
    labels: int,
    *,
    words_per_text: float = 80.0,
    words_per_topic: int | None = None,
    random_state: int = 0,
) -> TaggedCorpus:
    """Sample texts of 2.5 labels each.

    Three words of ten are those of all texts, the others those of one of the text's labels. The
    frequencies of words and labels are about inversely proportional to their rank.
    """
    rng = np.random.default_rng(random_state)
    size = words_per_topic or min(vocabulary, max(10, vocabulary // labels))
    words = np.stack([rng.choice(vocabulary, size, replace=False) for _ in range(labels)])
    common = rng.permutation(vocabulary)
    rows = np.repeat(np.arange(n), 1 + rng.poisson(1.5, n))
    keys = np.unique(rows * labels + _ranks(rng, labels, rows.size))
    starts = np.searchsorted(keys, labels * np.arange(n + 1))
    columns = keys % labels
    lengths = np.maximum(rng.poisson(words_per_text, n), 1)
    edges = np.append(np.flatnonzero(np.diff(np.cumsum(lengths) // _BLOCK, prepend=-1)), n)
    indices, values, sizes = [], [], []
    for start, stop in pairwise(edges):
        rows = np.repeat(np.arange(start, stop), lengths[start:stop])
        word = np.empty(rows.size, dtype=np.int64)
        shared = rng.random(rows.size) < 0.3
        word[shared] = common[_ranks(rng, vocabulary, int(shared.sum()))]
        of = rows[~shared]
        which = (rng.random(of.size) * (starts[of + 1] - starts[of])).astype(np.intp)
        word[~shared] = words[columns[starts[of] + which], _ranks(rng, size, of.size)]
        found = np.sort((rows - start) * vocabulary + word)
        first = np.flatnonzero(np.diff(found, prepend=-1))
        values.append(np.diff(first, append=found.size).astype(np.float32))
        row, column = np.divmod(found[first], vocabulary)
        indices.append(column.astype(np.int32))
        sizes.append(np.bincount(row, minlength=stop - start))
    ends = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int32)
    X = sparse.csr_array((np.concatenate(values), np.concatenate(indices), ends), (n, vocabulary))
    ones = np.ones(keys.size, dtype=np.uint8)
    parts = (ones, columns.astype(np.int32), starts.astype(np.int32))
    return TaggedCorpus(X, sparse.csr_array(parts, (n, labels)))


def _ranks(rng: np.random.Generator, size: int, count: int) -> Any:
    weights = 1.0 / (_HEAD + np.arange(size))
    ends = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(ends, rng.random(count)), size - 1)
