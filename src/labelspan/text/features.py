"""TF-IDF of words, pairs of neighbouring words and parts of words, from blocks of word numbers.

Features are chosen by their document frequencies over all blocks, and then computed block by
block. Parts of words, four and five characters long with the ends of the word marked, connect the
forms and compounds of a word that a stemmer does not; in scripts without spaces they are the
sequences of one to three characters. They are a separate block of columns, with a smaller weight
than the words. Both blocks use ``1 + log(tf)`` and have rows of constant length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
from scipy import sparse

from .._typing import Array
from .analysis import Analyzer, is_unspaced
from .vocabulary import (
    Numbers,
    TextBlock,
    Vocabulary,
    checked_parts,
    pack_strings,
    require,
    unpack_strings,
    within,
)

__all__ = ["SPACE", "TAGS", "FeatureCounts", "FeatureKind", "TextFeatures"]

# With this many texts or more, rare and very frequent features are dropped.
_MANY_TEXTS = 1000
# Maximum fraction of the texts that have a word or pair, and a part of a word.
_FREQUENT, _FREQUENT_PARTS = 0.5, 0.05
_PARTS = (4, 5)
# Length of the block of parts; that of words has length 1.
_WEIGHT_OF_PARTS = 0.7
# Maximum number of pairs that are counted at a time; above it, the rarest are dropped.
_MOST_PAIRS = 1 << 23
# Words of texts whose features are counted or computed at a time.
_AT_ONCE = 1 << 21
# Keys of character sequences are larger than those of word pairs.
_GRAM, _THREE = 1 << 62, 1 << 48
# The parts of each word of a vocabulary, as numbers, and the start of each word.
_PartLists = tuple[Array, Array]
_NO_PARTS: _PartLists = (np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
_DAMAGED = "The files of the features do not match; the index is damaged."


@dataclass(frozen=True)
class FeatureKind:
    """Whether words are stemmed; the largest number of words and pairs, and of parts of words."""

    stems: bool
    words: int = 30_000
    parts: int = 0


# Features for the embedding, and for the tagger.
SPACE = FeatureKind(stems=False)
TAGS = FeatureKind(stems=True, parts=100_000)


class FeatureCounts:
    """Document frequencies over blocks of one vocabulary, from which features are chosen.

    Examples
    --------
    >>> from labelspan.text import SPACE, FeatureCounts, Vocabulary
    >>> vocabulary = Vocabulary("en")
    >>> counts = FeatureCounts(vocabulary, SPACE)
    >>> block = vocabulary.number(["old chess", "chess club", "chess"])
    >>> counts.add(block)
    >>> features = counts.choose()
    >>> features.names
    ['old', 'chess', 'club', 'old chess', 'chess club']
    >>> features.transform(block).toarray().round(2)
    array([[0.65, 0.39, 0.  , 0.65, 0.  ],
           [0.  , 0.39, 0.65, 0.  , 0.65],
           [0.  , 1.  , 0.  , 0.  , 0.  ]], dtype=float32)
    """

    def __init__(self, vocabulary: Vocabulary, kind: FeatureKind) -> None:
        self.vocabulary = vocabulary
        self.kind = kind
        self.n_texts = 0
        # Number of texts that may be missing in the count of a pair: 0 if nothing was dropped.
        self.undercount = 0
        self._words = np.zeros(0, dtype=np.int64)
        self._pairs = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._waiting: list[tuple[Array, Array]] = []
        self._part_numbers = Numbers()
        self._part_lists = _NO_PARTS
        self._parts = np.zeros(0, dtype=np.int64)

    def add(self, block: TextBlock) -> None:
        """Count the features of a block."""
        for part in _parts_of(block):
            self._add(part)

    def _add(self, block: TextBlock) -> None:
        n = len(block)
        self.n_texts += n
        units = block.all_terms if self.kind.stems else block.tokens
        counts = _counts(units, block.starts)
        self._words = _added(self._words, np.bincount(counts.indices))
        self._waiting.append(_frequencies(*_pair_keys(block, units, grams=self.kind.parts > 0), n))
        if sum(keys.size for keys, _ in self._waiting) > _MOST_PAIRS // 2:
            self._merge()
        if self.kind.parts:
            numbers = self._part_numbers
            words = self.vocabulary.words
            self._part_lists = _extended(self._part_lists, words, numbers.__getitem__)
            found = _part_counts(block, self._part_lists, len(numbers))
            self._parts = _added(self._parts, np.bincount(found.indices))

    def _merge(self) -> None:
        keys, texts = (
            np.concatenate([part[n] for part in (self._pairs, *self._waiting)]) for n in range(2)
        )
        self._waiting = []
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(_new(keys))
        keys = keys[first]
        texts = np.add.reduceat(texts[order], first) if first.size else texts[:0]
        if keys.size > _MOST_PAIRS:
            dropped = int(np.partition(texts, keys.size - _MOST_PAIRS // 2)[-_MOST_PAIRS // 2])
            keys, texts = keys[texts > dropped], texts[texts > dropped]
            self.undercount += dropped
        self._pairs = keys, texts

    def choose(self) -> TextFeatures:
        """Choose the most frequent features.

        With 1,000 texts or more, a word or pair must be in two texts and in at most half of them, a
        part in three and in at most a twentieth.
        """
        self._merge()
        keys, texts = self._pairs
        grams = keys >= _GRAM
        names = self.vocabulary.terms if self.kind.stems else self.vocabulary.words
        word_columns, counts = self._most(2, _FREQUENT, self.kind.words, self._words, texts[~grams])
        cut = int(np.searchsorted(word_columns, self._words.size))
        singles = word_columns[:cut]
        pairs = keys[~grams][word_columns[cut:] - self._words.size]
        first, second = pairs >> 32, pairs & 0xFFFFFFFF
        used, place = np.unique(np.concatenate([singles, first, second]), return_inverse=True)
        split = np.cumsum([singles.size, first.size])
        part_columns, more = self._most(
            3, _FREQUENT_PARTS, self.kind.parts, self._parts, texts[grams]
        )
        cut = int(np.searchsorted(part_columns, self._parts.size))
        known = list(self._part_numbers)
        chosen_grams = keys[grams][part_columns[cut:] - self._parts.size]
        parts = [known[number] for number in part_columns[:cut].tolist()]
        parts += [_gram_name(key) for key in chosen_grams.tolist()]
        own = np.split(place.astype(np.int32), split)
        every = np.concatenate([counts, more])
        features = TextFeatures(
            self.vocabulary.language,
            stems=self.kind.stems,
            words=[names[number] for number in used.tolist()],
            singles=own[0],
            pairs=np.stack([own[1], own[2]], axis=1),
            parts=parts,
            idf=np.log((1 + self.n_texts) / (1 + every.astype(np.float64))) + 1,
        )
        # The parts of known words are not looked up again.
        columns = np.full(len(known), -1, dtype=np.int32)
        columns[part_columns[:cut]] = np.arange(cut)
        numbers, starts = self._part_lists
        chosen = columns[numbers] >= 0
        lists = columns[numbers[chosen]], np.concatenate([[0], np.cumsum(chosen)])[starts]
        features._maps = self.vocabulary, np.zeros(0, dtype=np.int32), lists
        return features

    def _most(self, least: int, share: float, number: int, *counts: Array) -> tuple[Array, Array]:
        """Return the indices of the largest counts within limits, in order, and these counts."""
        every = np.concatenate(counts)
        many = self.n_texts >= _MANY_TEXTS
        most = share * self.n_texts if many else self.n_texts
        fine = np.flatnonzero((every >= (least if many else 1)) & (every <= most))
        best = np.sort(fine[np.argsort(-every[fine], kind="stable")[:number]])
        return best, every[best]


class TextFeatures:
    """Chosen features, which can be computed for blocks of any vocabulary of the same language.

    Columns are single words, then pairs, then parts of words (in scripts without spaces sequences
    of characters). ``singles`` and ``pairs`` are numbers in ``words``, which
    are stems if ``stems``; ``idf`` has an entry for each column of words and parts.
    """

    def __init__(
        self,
        language: str,
        *,
        stems: bool,
        words: Sequence[str],
        singles: Array,
        pairs: Array,
        parts: Sequence[str],
        idf: Array,
    ) -> None:
        self.language, self.stems = language, stems
        self.words, self.parts = list(words), list(parts)
        self.singles, self.pairs = singles, pairs
        self.idf = np.asarray(idf, dtype=np.float32)
        self._n_words = singles.size + len(pairs)
        self._numbers = {word: number for number, word in enumerate(self.words)}
        self._columns = {part: column for column, part in enumerate(self.parts)}
        self._single = np.full(len(self.words) + 1, -1, dtype=np.int32)
        self._single[singles] = np.arange(singles.size)
        keys = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1]
        self._pair_order = np.argsort(keys, kind="stable")
        self._pair_keys = keys[self._pair_order]
        # One of the two words is enough to rule out most pairs of neighbours.
        self._is_first, self._is_second = np.zeros((2, len(self.words) + 1), dtype=bool)
        self._is_first[pairs[:, 0]] = True
        self._is_second[pairs[:, 1]] = True
        grams = {_gram_key(part): n for part, n in self._columns.items() if _is_gram(part)}
        self._gram_keys = np.array(sorted(grams), dtype=np.int64)
        self._gram_columns = np.array([grams[key] for key in sorted(grams)], dtype=np.int32)
        self._maps: tuple[Vocabulary | None, Array, _PartLists] = (None, np.zeros(0), _NO_PARTS)

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.idf.size)

    @property
    def names(self) -> list[str]:
        """Word, pair of words or part of a word of each column."""
        words = self.words
        pairs = (f"{words[a]} {words[b]}" for a, b in self.pairs.tolist())
        return [*(words[n] for n in self.singles.tolist()), *pairs, *self.parts]

    def of_texts(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Compute the features of texts that are not part of a block."""
        return self.transform(Vocabulary(self.language).number(texts))

    def transform(self, block: TextBlock) -> sparse.csr_matrix:
        """Compute the features of a block: float32, one row per text."""
        found = [self._transformed(part) for part in _parts_of(block)]
        return found[0] if len(found) == 1 else sparse.csr_matrix(sparse.vstack(found))

    def _transformed(self, block: TextBlock) -> sparse.csr_matrix:
        numbers, lists = self._mapped(block.vocabulary)
        words = self._word_counts(block, numbers)
        _weigh(words, self.idf, 1.0)
        found = [words]
        if self.parts:
            parts = self._counted_parts(block, lists)
            _weigh(parts, self.idf[self._n_words :], _WEIGHT_OF_PARTS)
            found.append(parts)
        return sparse.csr_matrix(sparse.hstack(found, format="csr")) if found[1:] else words

    def _word_counts(self, block: TextBlock, numbers: Array) -> sparse.csr_matrix:
        own = numbers[block.tokens]
        rows = block.rows()
        single = self._single[own]
        hit = np.flatnonzero(single >= 0)
        before = np.flatnonzero(self._is_first[own[:-1]] & self._is_second[own[1:]])
        before = before[rows[before] == rows[before + 1]]
        keys = own[before].astype(np.int64) << 32 | own[before + 1]
        found, place = _looked_up(self._pair_keys, keys)
        columns = self.singles.size + self._pair_order[place]
        return _matrix(
            np.concatenate([rows[hit], rows[before[found]]]),
            np.concatenate([single[hit], columns]),
            (len(block), self._n_words),
        )

    def _counted_parts(self, block: TextBlock, lists: _PartLists) -> sparse.csr_matrix:
        found = _part_counts(block, lists, len(self.parts))
        if self._gram_keys.size and block.runs.size:
            keys, at = _gram_keys(block)
            hit, place = _looked_up(self._gram_keys, keys)
            rows = block.rows()[at[hit]]
            found = sparse.csr_matrix(found + _matrix(rows, self._gram_columns[place], found.shape))
        return found

    def _mapped(self, vocabulary: Vocabulary) -> tuple[Array, _PartLists]:
        """Return for each word of a vocabulary its number and its parts."""
        known, numbers, lists = self._maps
        if known is not vocabulary:
            numbers, lists = np.zeros(0, dtype=np.int32), _NO_PARTS
        if numbers.size < len(vocabulary):
            get = self._numbers.get
            if self.stems:
                terms = np.array([get(term, -1) for term in vocabulary.terms], dtype=np.int32)
                numbers = terms[vocabulary.term_of]
            else:
                new = [get(word, -1) for word in vocabulary.words[numbers.size :]]
                numbers = np.concatenate([numbers, np.array(new, dtype=np.int32)])
            if self.parts:
                lists = _extended(lists, vocabulary.words, self._columns.get)
            if known is None or known is vocabulary or len(vocabulary) > len(known):
                # The vocabulary of a query is not cached.
                self._maps = (vocabulary, numbers, lists)
        return numbers, lists

    def word_shares(self, text: str, contributions: Array) -> dict[str, float]:
        """Sum the contributions of the features of a text by the words that they come from.

        ``contributions`` has an entry per column. A feature that comes from several
        words, for example a pair, is divided among them. Frequent words of the language are
        ignored.
        """
        owners = list(self._owners(text))
        counts: dict[int, int] = {}
        for words, column in owners:
            counts[column] = counts.get(column, 0) + len(words)
        shares: dict[str, float] = {}
        for words, column in owners:
            share = float(contributions[column]) / counts[column]
            for word in words:
                shares[word] = shares.get(word, 0.0) + share
        common = Analyzer(self.language).common
        return {word: share for word, share in shares.items() if word not in common}

    def _owners(self, text: str) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield the words of a text, and pairs of them, with the column of each feature."""
        vocabulary = Vocabulary(self.language)
        block = vocabulary.number([text])
        numbers, _ = self._mapped(vocabulary)
        words = [vocabulary.words[token] for token in block.tokens.tolist()]
        own = numbers[block.tokens]
        for word, number in zip(words, own.tolist(), strict=True):
            columns = [self._columns.get(part) for part in _parts(word)] if self.parts else []
            yield from (((word,), self._n_words + n) for n in columns if n is not None)
            if self._single[number] >= 0:
                yield (word,), int(self._single[number])
        found, place = _looked_up(self._pair_keys, own[:-1].astype(np.int64) << 32 | own[1:])
        for at, column in zip(found.tolist(), self._pair_order[place].tolist(), strict=True):
            yield (words[at], words[at + 1]), self.singles.size + column
        keys, begin = _gram_keys(block)
        found, place = _looked_up(self._gram_keys, keys)
        for at, column in zip(found.tolist(), self._gram_columns[place].tolist(), strict=True):
            start = int(begin[at])
            yield tuple(words[start : start + len(self.parts[column])]), self._n_words + column

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to store, by name."""
        return {
            "words": pack_strings(self.words),
            "singles": self.singles,
            "pairs": self.pairs,
            "parts": pack_strings(self.parts),
            "idf": self.idf,
        }

    @classmethod
    def from_arrays(
        cls,
        language: str,
        arrays: Mapping[str, Array],
        *,
        stems: bool,
    ) -> Self:
        """Restore features from :meth:`arrays`; raise InvalidFile if they are damaged."""
        words, parts = unpack_strings("words", arrays), unpack_strings("parts", arrays)
        shapes = {"singles": "i4 s", "pairs": "i4 p 2", "idf": "f4 d"}
        singles, pairs, idf = checked_parts(shapes, arrays, _DAMAGED)
        require(
            _DAMAGED,
            idf.size == singles.size + len(pairs) + len(parts),
            within(singles, len(words)),
            within(pairs, len(words)),
            np.isfinite(idf).all(),
            len(set(words)) == len(words),
            len(set(parts)) == len(parts),
        )
        return cls(
            language,
            stems=stems,
            words=words,
            singles=singles,
            pairs=pairs,
            parts=parts,
            idf=idf,
        )


def _extended(
    lists: _PartLists, words: Sequence[str], number: Callable[[str], int | None]
) -> _PartLists:
    """Return lists of the parts of all words, some of which are known; ``number`` may be None."""
    known, starts = lists
    own = [
        [n for part in _parts(word) if (n := number(part)) is not None]
        for word in words[starts.size - 1 :]
    ]
    sizes = np.array([len(one) for one in own], dtype=np.int64)
    numbers = np.fromiter(chain.from_iterable(own), dtype=np.int32, count=int(sizes.sum()))
    return np.concatenate([known, numbers]), np.concatenate([starts, starts[-1] + np.cumsum(sizes)])


def _part_counts(block: TextBlock, lists: _PartLists, width: int) -> sparse.csr_matrix:
    """Count the parts of the words of each text."""
    numbers, starts = lists
    ones = np.ones(numbers.size, dtype=np.float32)
    by_word = sparse.csr_matrix((ones, numbers, starts), shape=(starts.size - 1, width), copy=True)
    by_word.sum_duplicates()
    return sparse.csr_matrix(_counts(block.tokens, block.starts, starts.size - 1) @ by_word)


def _parts(word: str) -> list[str]:
    """List the parts of a word, with its beginning and end marked."""
    if len(word) == 1 and not word.isascii() and is_unspaced(word):
        return [word]
    marked = f" {word} "
    return [
        marked[start : start + length]
        for length in _PARTS
        for start in range(len(marked) - length + 1)
    ]


def _counts(units: Array, starts: Array, width: int | None = None) -> sparse.csr_matrix:
    """Count the units of each row."""
    if width is None:
        width = int(units.max(initial=-1)) + 1
    # The matrix sorts its own copy of the columns.
    ones = np.ones(units.size, dtype=np.float32)
    small = units.size < np.iinfo(np.int32).max
    found = sparse.csr_matrix(
        (ones, units.copy(), starts.astype(np.int32 if small else np.int64)),
        shape=(starts.size - 1, width),
    )
    found.sum_duplicates()
    return found


def _matrix(rows: Array, columns: Array, shape: tuple[int, int]) -> sparse.csr_matrix:
    """Count pairs of rows and columns; duplicates are not summed yet."""
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    ones = np.ones(rows.size, dtype=np.float32)
    return sparse.csr_matrix((ones, columns[order], starts), shape=shape)


def _weigh(counts: sparse.csr_matrix, idf: Array, length: float) -> None:
    """Convert counts to TF-IDF with rows of a given length, in place."""
    counts.sum_duplicates()
    np.log(counts.data, out=counts.data)
    counts.data += 1
    counts.data *= idf[counts.indices]
    sizes = np.diff(counts.indptr)
    there = np.flatnonzero(sizes)
    squares = np.square(counts.data, dtype=np.float64)
    norms = np.add.reduceat(squares, counts.indptr[there]) if there.size else squares
    counts.data *= np.repeat((length / np.sqrt(norms)).astype(np.float32), sizes[there])


def _pair_keys(block: TextBlock, units: Array, *, grams: bool) -> tuple[Array, Array]:
    """Return the key of each pair of neighbours in a text, and its row."""
    rows = block.rows()
    inside = np.flatnonzero(rows[:-1] == rows[1:])
    keys = units[inside].astype(np.int64) << 32 | units[inside + 1]
    if not grams or not block.runs.size:
        return keys, rows[inside]
    more, at = _gram_keys(block)
    return np.concatenate([keys, more]), np.concatenate([rows[inside], rows[at]])


def _gram_keys(block: TextBlock) -> tuple[Array, Array]:
    """Return the keys of sequences of two and three characters, and where they begin."""
    two = block.adjacent
    if not two.size:
        return np.zeros(0, dtype=np.int64), two
    words = block.vocabulary.words
    different, place = np.unique(block.tokens, return_inverse=True)
    points = np.array([ord(words[number][0]) for number in different.tolist()])[place]
    three = two[:-1][two[1:] == two[:-1] + 1]
    double = _GRAM | points[two] << 16 | points[two + 1]
    triple = points[three] << 32 | points[three + 1] << 16 | points[three + 2]
    return np.concatenate([double, _GRAM | _THREE | triple]), np.concatenate([two, three])


def _is_gram(part: str) -> bool:
    return 2 <= len(part) <= 3 and is_unspaced(part)


def _gram_key(part: str) -> int:
    key = _GRAM | (_THREE if len(part) == 3 else 0)
    for place, character in enumerate(reversed(part)):
        key |= ord(character) << 16 * place
    return key


def _gram_name(key: int) -> str:
    size = 3 if key & _THREE else 2
    return "".join(chr(key >> 16 * place & 0xFFFF) for place in reversed(range(size)))


def _parts_of(block: TextBlock) -> Iterator[TextBlock]:
    """Yield a large block in parts: the keys of its pairs take many times its memory."""
    ends = [block.starts.size - 1]
    if block.tokens.size > _AT_ONCE:
        ends = np.searchsorted(block.starts, np.arange(0, block.tokens.size, _AT_ONCE)[1:]).tolist()
        ends = [*ends, block.starts.size - 1]
    first = 0
    for end in ends:
        if len(ends) == 1:
            yield block
        elif end > first:
            yield block.take(np.arange(first, end))
        first = end


def _frequencies(keys: Array, rows: Array, count: int) -> tuple[Array, Array]:
    """Return the distinct keys, in order, and the number of rows with each."""
    different, place = np.unique(keys, return_inverse=True)
    # One number for key and row is sorted many times faster than the two.
    both = np.sort(place * count + rows)
    found = both[_new(both)] // max(1, count)
    return different, np.bincount(found, minlength=different.size)


def _new(ordered: Array) -> Array:
    """Mark the first of each group of equal numbers."""
    found = np.ones(ordered.size, dtype=bool)
    found[1:] = ordered[1:] != ordered[:-1]
    return found


def _looked_up(ordered: Array, keys: Array) -> tuple[Array, Array]:
    """Return which keys are among sorted ones, and their positions."""
    if not ordered.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    place = np.minimum(np.searchsorted(ordered, keys), ordered.size - 1)
    found = np.flatnonzero(ordered[place] == keys)
    return found, place[found]


def _added(total: Array, more: Array) -> Array:
    """Add two arrays of counts, of which the second may be longer."""
    if total.size < more.size:
        total = np.concatenate([total, np.zeros(more.size - total.size, dtype=np.int64)])
    total[: more.size] += more
    return total
