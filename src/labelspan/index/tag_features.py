"""Features of texts from which labels are predicted: stems, pairs of stems, and parts of words.

Parts of words, four and five characters long, connect the forms and compounds of a word that a
stemmer does not. They make up a block of their own, with a smaller weight than the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse

from .._typing import Array
from .analysis import Analyzer

__all__ = ["TagFeatures"]

# With this many texts or more, rare and very frequent features are left out.
_MANY_TEXTS = 1000
_MOST_WORDS = 30_000
_MOST_PARTS = 100_000
_PARTS = (4, 5)
# Length of the block of word parts; that of words has length 1.
_WEIGHT_OF_PARTS = 0.7
# Words whose features are kept at hand.
_MOST_KNOWN = 1 << 18


class TagFeatures:
    """TF-IDF of stems and pairs of stems, next to that of word parts.

    Both blocks use ``1 + log(tf)``.

    Parameters
    ----------
    language : str
        Code of the language whose stemmer is used, or "none".
    words, parts : list of str
        Stems and pairs of stems, and parts of words; one column each, in this order.
    weights : array of shape (d,)
        Inverse document frequencies.
    """

    def __init__(
        self, language: str, words: Sequence[str], parts: Sequence[str], weights: Array
    ) -> None:
        self.language = language
        self.words, self.parts = list(words), list(parts)
        self.weights = np.asarray(weights, dtype=np.float32)
        self._analyzer = Analyzer(language)
        self._word_columns = {word: column for column, word in enumerate(self.words)}
        first = len(self.words)
        self._part_columns = {part: first + column for column, part in enumerate(self.parts)}
        self._known: dict[str, list[int]] = {}

    @classmethod
    def learn(cls, texts: Sequence[str], language: str) -> TagFeatures:
        """Choose the features of some texts."""
        analyzer = Analyzer(language)
        words: Counter[str] = Counter()
        parts: Counter[str] = Counter()
        cut: dict[str, tuple[str, ...]] = {}
        for text in texts:
            found = analyzer.query(text)
            stems = [stem for _, stem, _ in found]
            words.update({*stems, *(f"{a} {b}" for a, b in pairwise(stems))})
            own: set[str] = set()
            for word in {surface for surface, _, _ in found}:
                if word not in cut:
                    cut[word] = tuple(_parts(word))
                own.update(cut[word])
            parts.update(own)
        many = len(texts) >= _MANY_TEXTS
        most = len(texts) / 2 if many else len(texts)
        kept_words = _frequent(words, 2 if many else 1, most, _MOST_WORDS)
        kept_parts = _frequent(parts, 3 if many else 1, most, _MOST_PARTS)
        counts = [words[word] for word in kept_words] + [parts[part] for part in kept_parts]
        weights = np.log((1 + len(texts)) / (1 + np.array(counts, dtype=np.float64))) + 1
        return cls(language, kept_words, kept_parts, weights)

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.weights)

    def transform(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Compute the features of texts, one row each."""
        places = np.zeros(len(texts) + 1, dtype=np.int64)
        columns: list[Array] = []
        values: list[Array] = []
        for row, text in enumerate(texts):
            own, counts = np.unique(
                np.array([c for _, part in self._of_words(text) for c in part], dtype=np.int32),
                return_counts=True,
            )
            value = (1 + np.log(counts)).astype(np.float32) * self.weights[own]
            middle = int(np.searchsorted(own, len(self.words)))
            for part, length in (
                (slice(0, middle), 1.0),
                (slice(middle, None), _WEIGHT_OF_PARTS),
            ):
                norm = float(np.linalg.norm(value[part]))
                value[part] *= length / norm if norm else 1.0
            columns.append(own)
            values.append(value)
            places[row + 1] = places[row] + own.size
        data = np.concatenate([np.zeros(0, np.float32), *values])
        indices = np.concatenate([np.zeros(0, np.int32), *columns])
        return sparse.csr_matrix((data, indices, places), shape=(len(texts), self.size))

    def word_shares(self, text: str, contributions: Array) -> dict[str, float]:
        """Add up what the features of a text contribute, by the words that they come from.

        ``contributions`` has an entry per column. A feature that comes from several words, for
        example a pair, is divided among them.
        """
        owners = list(self._of_words(text))
        counts = Counter(column for words, part in owners for column in part * len(words))
        shares: dict[str, float] = {}
        for words, part in owners:
            share = sum(float(contributions[column]) / counts[column] for column in part)
            for word in words:
                shares[word] = shares.get(word, 0.0) + share
        return shares

    def _of_words(self, text: str) -> Iterable[tuple[tuple[str, ...], list[int]]]:
        """Yield the words of a text, and pairs of them, with their columns."""
        found = self._analyzer.query(text)
        for surface, stem, _ in found:
            if surface not in self._known:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                own = (self._part_columns.get(part) for part in _parts(surface))
                whole = self._word_columns.get(stem)
                columns = [column for column in (whole, *own) if column is not None]
                self._known[surface] = columns
            yield (surface,), self._known[surface]
        for (first, a, _), (second, b, _) in pairwise(found):
            column = self._word_columns.get(f"{a} {b}")
            if column is not None:
                yield (first, second), [column]


def _parts(word: str) -> list[str]:
    """List the parts of a word, with its beginning and end marked."""
    marked = f" {word} "
    return [
        marked[start : start + length]
        for length in _PARTS
        for start in range(len(marked) - length + 1)
    ]


def _frequent(counts: Counter[str], least: int, most: float, number: int) -> list[str]:
    kept = [(term, n) for term, n in counts.items() if least <= n <= most]
    kept.sort(key=lambda entry: (-entry[1], entry[0]))
    return sorted(term for term, _ in kept[:number])
