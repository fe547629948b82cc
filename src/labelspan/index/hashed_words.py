"""TF-IDF of words and pairs hashed to a fixed number of columns: no list of words is learned.

Words that share a column count as one. Signs do not alternate: on development sets that changed
nothing in the quality of search, and all features stay positive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._typing import Array
from ..errors import InvalidInput, InvalidParameter
from .analysis import Analyzer
from .learn import MANY_TEXTS
from .results import Item
from .word_blocks import WordBlock
from .word_hash import FEWEST_COLUMNS, MOST_COLUMNS, hash_pairs

__all__ = [
    "HASHED_ARRAYS",
    "ColumnNames",
    "HashedFeatures",
    "HashedWords",
    "check_columns",
    "count_columns",
]

# Texts that are hashed at a time.
_TEXTS = 10_000
# Words of each block whose counts decide which of them names a column.
_NAMING_WORDS = 400_000
_MOST_COUNTED = np.iinfo(np.uint16).max
# What :func:`count_columns` returns.
HASHED_ARRAYS = ("columns", "counts", "column_starts")


def check_columns(owner: str, count: Any) -> int:
    """Return a number of columns, or raise an error."""
    if (
        isinstance(count, bool)
        or not isinstance(count, int | np.integer)
        or not FEWEST_COLUMNS <= count <= MOST_COLUMNS
    ):
        raise InvalidParameter(
            f"{owner} must be a number of columns from {FEWEST_COLUMNS} to {MOST_COLUMNS:,}, for "
            f"example 262144 (2**18), but {count!r} was given."
        )
    return int(count)


def count_columns(block: WordBlock, count: int) -> dict[str, Array]:
    """Count how often the words and pairs of each text fall on each of ``count`` columns.

    Returns the arrays ``columns`` and ``counts``, one text after the other, and ``column_starts``.
    """
    codes, rows, _ = block.codes()
    keys = rows.astype(np.int64) * count + (codes % np.uint64(count)).astype(np.int64)
    keys.sort()
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if keys.size else keys
    often = np.diff(np.append(first, keys.size))
    own, columns = np.divmod(keys[first], count)
    starts = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=block.n_texts))])
    return {
        "columns": columns.astype(np.int32),
        "counts": np.minimum(often, _MOST_COUNTED).astype(np.uint16),
        "column_starts": starts.astype(np.int64),
    }


@dataclass(frozen=True)
class HashedFeatures:
    """Inverse document frequency of each column; 0 for those that are left out."""

    weights: Array

    @classmethod
    def learn(cls, texts: Array, n_texts: int) -> HashedFeatures:
        """Weight columns by the number of texts that have each.

        As for the default vectorizer, with 1,000 texts or more a column in more than half of
        them is left out. Columns of one text stay: they take no memory of their own.
        """
        weights = np.log((1 + n_texts) / (1 + texts)) + 1
        weights[texts == 0] = 0.0
        if n_texts >= MANY_TEXTS:
            weights[texts > 0.5 * n_texts] = 0.0
        if not weights.any():
            raise InvalidInput("fit: the texts have no words to learn from; give other texts.")
        return cls(weights)

    def of(self, columns: Array, counts: Array, column_starts: Array) -> sparse.csr_matrix:
        """Compute TF-IDF from the counts of a block; rows have length 1."""
        rows = np.repeat(np.arange(column_starts.size - 1), np.diff(column_starts))
        values = (1 + np.log(counts.astype(np.float64))) * self.weights[columns]
        kept = values > 0
        rows, columns, values = rows[kept], columns[kept], values[kept]
        size = column_starts.size - 1
        values /= np.sqrt(np.bincount(rows, values**2, size))[rows]
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
        return sparse.csr_matrix(
            (values.astype(np.float32), columns, starts.astype(np.int32)),
            shape=(size, self.weights.size),
        )


class ColumnNames:
    """A name for each column: the most frequent of the words and pairs on it.

    One name and one count are kept per column, whatever the number of words: a count falls by
    that of every other word which is the most frequent one in a block, and below zero that
    word takes its place. A word with most of the occurrences on a column always names it. Of
    each block, the first 400,000 words are counted.
    """

    def __init__(self, count: int) -> None:
        self._names = [""] * count
        self._codes = np.zeros(count, dtype=np.uint64)
        self._counts = np.zeros(count, dtype=np.int64)

    def add(self, block: WordBlock) -> None:
        """Count the words of a block."""
        part = block.beginning(_NAMING_WORDS)
        if not part.tokens.size:
            return
        single, pairs = part.occurrences()
        hashes = part.hashes
        one, other = part.words_of(pairs[0])
        codes = np.concatenate([hashes[single[0]], hash_pairs(hashes[one], hashes[other])])
        first = np.concatenate([single[0], one])
        second = np.concatenate([np.full(single[0].size, -1), other])
        counts = np.concatenate([single[1], pairs[1]])
        columns = (codes % np.uint64(len(self._names))).astype(np.int64)
        order = np.lexsort((codes, -counts, columns))
        columns = columns[order]
        best = order[np.flatnonzero(np.concatenate([[True], columns[1:] != columns[:-1]]))]
        at = (codes[best] % np.uint64(len(self._names))).astype(np.int64)
        same = self._codes[at] == codes[best]
        left = self._counts[at] + np.where(same, 1, -1) * counts[best]
        taken = left < 0
        self._counts[at] = np.abs(left)
        self._codes[at[taken]] = codes[best[taken]]
        for column, row in zip(at[taken].tolist(), best[taken].tolist(), strict=True):
            words = [part.words[first[row]]]
            if second[row] >= 0:
                words.append(part.words[second[row]])
            self._names[column] = " ".join(words)

    @property
    def names(self) -> list[str]:
        """Name of each column; empty where none of the counted words is on it."""
        return list(self._names)


class HashedWords(BaseEstimator):
    """Vectorizer of texts: TF-IDF of words and pairs hashed to a fixed number of columns.

    Parameters
    ----------
    n_features : int, default=262_144
        Number of columns.

    Attributes
    ----------
    idf_ : array of shape (n_features,)
        Inverse document frequency of each column; 0 for columns that are left out.
    names_ : list of str
        Most frequent word or pair of words on each column; empty for columns without any.
    """

    def __init__(self, n_features: int = 1 << 18) -> None:
        self.n_features = n_features

    @classmethod
    def with_weights(cls, weights: Array, names: list[str]) -> HashedWords:
        """Return a fitted vectorizer with weights and names that are known."""
        made = cls(check_columns("n_features", len(names)))
        made.idf_, made.names_ = np.asarray(weights, dtype=np.float64), names
        return made

    def fit(self, texts: Sequence[str], y: Any = None) -> HashedWords:
        """Learn the weights and names of the columns."""
        count = check_columns("HashedWords: n_features", self.n_features)
        names, found = ColumnNames(count), np.zeros(count, dtype=np.int64)
        for block in _blocks(texts):
            found += np.bincount(count_columns(block, count)["columns"], minlength=count)
            names.add(block)
        self.idf_ = HashedFeatures.learn(found, len(texts)).weights
        self.names_ = names.names
        return self

    def fit_transform(self, texts: Sequence[str], y: Any = None) -> sparse.csr_matrix:
        """Learn the weights, and return the features of the texts."""
        return self.fit(texts).transform(texts)

    def transform(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Return the features of texts, one row each."""
        weighted = HashedFeatures(self.idf_)
        parts = [weighted.of(**count_columns(block, self.n_features)) for block in _blocks(texts)]
        none = sparse.csr_matrix((0, self.n_features), dtype=np.float32)
        return sparse.vstack([none, *parts], format="csr")

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns."""
        return np.array(self.names_, dtype=object)


def _blocks(texts: Sequence[str]) -> Iterator[WordBlock]:
    analyzer = Analyzer("none")
    for start in range(0, len(texts), _TEXTS):
        part = texts[start : start + _TEXTS]
        yield WordBlock.of([Item("", text, None, {}) for text in part], analyzer)
