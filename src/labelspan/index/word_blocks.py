"""Words of many texts as numbers, a block of texts at a time: counts, features and postings.

A block has the numbers of its words in order, and a list of its words. Words are compared between
blocks by 64-bit hashes, pairs of words by a hash of both, so that all counting is done by sorting
arrays. Memory is bounded: of the counts, the most frequent are kept.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from .analysis import Analyzer, has_unspaced, normalise
from .learn import MANY_TEXTS, MAX_FEATURES
from .results import Item
from .word_hash import hash_pairs, hash_words
from .word_numbers import WordNumbers, number_words
from .words import name_hashes, title_size

__all__ = [
    "FeatureChoice",
    "FrequentCodes",
    "TermArrays",
    "WordBlock",
    "pack_words",
    "unpack_words",
]

# Words and pairs that are counted at a time; above, the rarest are dropped.
_MOST_CODES = 1 << 23
# Bits of a code by which most that are not features are told.
_FIRST_BITS = 20


def pack_words(words: Sequence[str]) -> Array:
    """Write words into one array of bytes."""
    return np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)


def unpack_words(content: Array) -> list[str]:
    """Read what :func:`pack_words` wrote."""
    found: list[str] = json.loads(bytes(content))
    return found


@dataclass(frozen=True)
class TermArrays:
    """Terms of a block in order; number, row and position of each occurrence, if it is in the
    title; and the lengths of the texts.
    """

    terms: list[str]
    number: Array
    rows: Array
    positions: Array
    in_title: Array
    lengths: Array


@dataclass(frozen=True)
class WordBlock:
    """Words of a block of texts.

    Attributes
    ----------
    words : list of str
    tokens : array of int32
        Numbers of the words of all texts, one text after the other.
    starts : array of shape (n + 1,)
        Where each text begins.
    terms, term_rows, term_positions : list of str, arrays of int32
        For texts whose words are searched for in another form than the features have (scripts
        without spaces): their terms, numbered in ``terms``; see ``other``.
    other : array of int32
        Numbers of the terms of these texts.
    other_lengths : array of shape (n,)
        Their numbers of words that are not frequent; -1 for all usual texts.
    title_sizes, title_lengths : arrays of shape (n,)
        Numbers of terms in the titles, and of those that are not frequent words.
    name_keys, name_rows : arrays of int64 and int32
        Hashes of ids and titles.
    hashes : array of uint64
        Hashes of the words.
    """

    words: list[str]
    tokens: Array
    starts: Array
    terms: list[str]
    other: Array
    term_rows: Array
    term_positions: Array
    other_lengths: Array
    title_sizes: Array
    title_lengths: Array
    name_keys: Array
    name_rows: Array
    hashes: Array

    @classmethod
    def of(cls, items: Sequence[Item], analyzer: Analyzer) -> WordBlock:
        """Split the texts of items."""
        terms: WordNumbers[str] = WordNumbers()
        other, rows, places = array("i"), array("i"), array("i")
        lengths = np.full(len(items), -1, dtype=np.int32)
        titles = np.zeros((len(items), 2), dtype=np.int32)
        keys, named = array("q"), array("i")
        texts = []
        for row, item in enumerate(items):
            text = item.text
            if "\n" in text:
                titles[row] = title_size(analyzer, text)
            if not text.isascii():
                folded = normalise(text)
                text = folded.lower()
                if text != folded or has_unspaced(folded):
                    found, positions, lengths[row] = analyzer.terms(item.text)
                    other.extend(map(terms.__getitem__, found))
                    places.extend(positions)
                    rows.extend([row] * len(found))
            texts.append(text)
            for key in name_hashes(analyzer, item):
                keys.append(key)
                named.append(row)
        words, tokens, starts = number_words(texts)
        return cls(
            words,
            tokens,
            starts,
            list(terms),
            _array(other, np.int32),
            _array(rows, np.int32),
            _array(places, np.int32),
            lengths,
            titles[:, 0].copy(),
            titles[:, 1].copy(),
            _array(keys, np.int64),
            _array(named, np.int32),
            hash_words(words),
        )

    def pack(self) -> dict[str, Array]:
        """Return the block as arrays."""
        lists = {"words": pack_words(self.words), "terms": pack_words(self.terms)}
        return {**{name: getattr(self, name) for name in _ARRAYS}, **lists}

    @classmethod
    def unpack(cls, arrays: Mapping[str, Array]) -> WordBlock:
        """Make a block from its arrays."""
        parts: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        parts |= {name: unpack_words(arrays[name]) for name in ("words", "terms")}
        return cls(**parts)

    @property
    def n_texts(self) -> int:
        """Number of texts."""
        return len(self.starts) - 1

    def codes(self) -> tuple[Array, Array, Array]:
        """Return the hash of every word and of every pair, their rows, and the places of words."""
        single = self.hashes[self.tokens]
        rows = np.repeat(np.arange(self.n_texts, dtype=np.int32), np.diff(self.starts))
        inside = np.flatnonzero(rows[1:] == rows[:-1])
        pairs = hash_pairs(single[inside], single[inside + 1])
        return (
            np.concatenate([single, pairs]),
            np.concatenate([rows, rows[inside]]),
            np.concatenate([np.arange(single.size), inside]),
        )

    def counts(self) -> tuple[Array, Array, Array]:
        """Return the hashes of words and pairs, and in how many texts and how often each occurs."""
        hashes = self.hashes
        single, pairs = self.occurrences()
        one, other = self.words_of(pairs[0])
        codes = np.concatenate([hashes[single[0]], hash_pairs(hashes[one], hashes[other])])
        texts, often = (np.concatenate([single[n], pairs[n]]) for n in (1, 2))
        return codes, texts, often

    def occurrences(self) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
        """Return for words and for pairs: numbers, in how many texts, and how often each occurs.

        Pairs are numbered by both words; see :meth:`words_of`.
        """
        tokens, width = self.tokens.astype(np.int64), max(1, len(self.words))
        rows = np.repeat(np.arange(self.n_texts), np.diff(self.starts))
        inside = np.flatnonzero(rows[1:] == rows[:-1])
        single = _occurrences(tokens, rows, self.n_texts)
        pairs = tokens[inside] * width + tokens[inside + 1]
        return single, _occurrences(pairs, rows[inside], self.n_texts)

    def words_of(self, pairs: Array) -> tuple[Array, Array]:
        """Return the numbers of the words of pairs."""
        return np.divmod(pairs, max(1, len(self.words)))

    def beginning(self, words: int) -> WordBlock:
        """Return the first texts, with a number of words or a little more."""
        count = max(1, int(np.searchsorted(self.starts, words)))
        if count >= self.n_texts:
            return self
        return replace(
            self, tokens=self.tokens[: self.starts[count]], starts=self.starts[: count + 1]
        )

    def term_arrays(self, analyzer: Analyzer) -> TermArrays:
        """Return the terms for search, and where they occur."""
        stems = [analyzer.term(word) for word in self.words]
        number: WordNumbers[str] = WordNumbers()
        number.update((term, n) for n, term in enumerate(sorted({*stems, *self.terms})))
        usual = self.other_lengths < 0
        counts = np.diff(self.starts)
        every = np.repeat(np.arange(self.n_texts, dtype=np.int32), counts)
        place = (np.arange(self.tokens.size) - np.repeat(self.starts[:-1], counts)).astype(np.int32)
        kept = usual[every]
        own = np.array([number[stem] for stem in stems], dtype=np.int32)[self.tokens[kept]]
        counted = np.array([word not in analyzer.common for word in self.words], dtype=np.int64)
        sums = np.concatenate([[0], np.cumsum(counted[self.tokens])])
        lengths = (sums[self.starts[1:]] - sums[self.starts[:-1]]).astype(np.int32)
        terms = np.array([number[term] for term in self.terms], dtype=np.int32)[self.other]
        # Terms of a script without spaces may share a position; the title is the first of them.
        first = np.searchsorted(self.term_rows, self.term_rows)
        rank = np.concatenate([place[kept], np.arange(self.term_rows.size) - first])
        rows = np.concatenate([every[kept], self.term_rows])
        return TermArrays(
            list(number),
            np.concatenate([own, terms]),
            rows,
            np.concatenate([place[kept], self.term_positions]),
            rank < self.title_sizes[rows],
            np.where(usual, lengths, self.other_lengths).astype(np.int32),
        )


_ARRAYS = (
    "tokens",
    "starts",
    "other",
    "term_rows",
    "term_positions",
    "other_lengths",
    "title_sizes",
    "title_lengths",
    "name_keys",
    "name_rows",
    "hashes",
)


class FrequentCodes:
    """Counts of words and pairs over many blocks, of which the most frequent are kept.

    ``undercount`` is how many texts may be missing in a count: 0 where nothing was dropped.
    """

    def __init__(self, most: int = _MOST_CODES) -> None:
        self._most = most
        self._waiting: list[tuple[Array, Array, Array]] = []
        self._size = 0
        self.n_texts = 0
        self.undercount = 0
        self._found = (np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64))

    def add(self, block: WordBlock) -> None:
        """Count the words of a block."""
        counts = block.counts()
        self.n_texts += block.n_texts
        self._waiting.append(counts)
        self._size += counts[0].size
        if self._size > self._most // 2:
            self._merge()

    def _merge(self) -> None:
        parts = [self._found, *self._waiting]
        codes, texts, often = (np.concatenate([part[n] for part in parts]) for n in range(3))
        self._waiting, self._size = [], 0
        order = np.argsort(codes)
        codes = codes[order]
        starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
        if not codes.size:
            return
        codes = codes[starts]
        texts, often = (np.add.reduceat(values[order], starts) for values in (texts, often))
        if codes.size > self._most:
            dropped = int(np.partition(texts, codes.size - self._most // 2)[-self._most // 2])
            kept = texts > dropped
            codes, texts, often = codes[kept], texts[kept], often[kept]
            self.undercount += dropped
        self._found = codes, texts, often

    def choose(self) -> FeatureChoice:
        """Choose the features as the default vectorizer does: the most frequent, not too common.

        With 1,000 texts or more, in two texts or more, and in at most half of them.
        """
        self._merge()
        codes, texts, often = self._found
        if self.n_texts >= MANY_TEXTS:
            kept = (texts >= 2) & (texts <= 0.5 * self.n_texts)
            codes, texts, often = codes[kept], texts[kept], often[kept]
        best = np.sort(np.argsort(-often, kind="stable")[:MAX_FEATURES])
        idf = np.log((1 + self.n_texts) / (1 + texts[best])) + 1
        return FeatureChoice(codes[best], idf)


@dataclass(frozen=True)
class FeatureChoice:
    """Chosen words and pairs, by their rising hashes, and their inverse document frequencies."""

    codes: Array
    idf: Array

    def features(self, block: WordBlock, names: dict[int, str]) -> sparse.csr_matrix:
        """Compute TF-IDF of a block; enter the names of columns that are met first."""
        codes, rows, places = block.codes()
        hit, column = self._columns(codes)
        rows = rows[hit]
        if len(names) < self.codes.size:
            self._name(block, hit, column, places, names)
        width = self.codes.size
        key, counts = np.unique(rows.astype(np.int64) * width + column, return_counts=True)
        own, columns = np.divmod(key, width)
        values = (1 + np.log(counts)) * self.idf[columns]
        lengths = np.sqrt(np.bincount(own, values**2, block.n_texts))
        values = (values / lengths[own]).astype(np.float32)
        starts = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=block.n_texts))])
        shape = (block.n_texts, width)
        return sparse.csr_matrix((values, columns.astype(np.int32), starts.astype(np.int32)), shape)

    def _columns(self, codes: Array) -> tuple[Array, Array]:
        """Return which codes are features, and their columns."""
        # Most codes are none, and their first bits tell it at once.
        first = np.zeros(1 << _FIRST_BITS, dtype=bool)
        shift = np.uint64(64 - _FIRST_BITS)
        first[self.codes >> shift] = True
        hit = np.flatnonzero(first[codes >> shift])
        column = np.searchsorted(self.codes, codes[hit])
        column[column == self.codes.size] = 0
        same = self.codes[column] == codes[hit] if self.codes.size else np.zeros(0, dtype=bool)
        return hit[same], column[same]

    def _name(
        self, block: WordBlock, hit: Array, column: Array, places: Array, names: dict[int, str]
    ) -> None:
        found, first = np.unique(column, return_index=True)
        for number, at in zip(found.tolist(), hit[first].tolist(), strict=True):
            if number not in names:
                place = int(places[at])
                words = [block.words[block.tokens[place]]]
                if at >= block.tokens.size:
                    words.append(block.words[block.tokens[place + 1]])
                names[number] = " ".join(words)


def _occurrences(numbers: Array, rows: Array, count: int) -> tuple[Array, Array, Array]:
    """Return the different numbers, in how many rows each occurs, and how often.

    Numbers and rows are sorted as one key, which is much faster than to sort places.
    """
    keys = np.sort(numbers * count + rows)
    new = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if keys.size else keys
    often = np.diff(np.append(new, keys.size))
    found = keys[new] // count
    starts = np.flatnonzero(np.concatenate([[True], found[1:] != found[:-1]])) if new.size else new
    texts = np.diff(np.append(starts, found.size))
    return found[starts], texts, np.add.reduceat(often, starts) if starts.size else often


def _array(numbers: Iterable[int], dtype: type) -> Array:
    return np.array(numbers, dtype=dtype) if len(numbers) else np.zeros(0, dtype)  # type: ignore[arg-type]
