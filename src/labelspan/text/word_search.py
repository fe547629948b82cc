"""Word search: BM25 over segments of texts, with phrases, prefixes, exclusions and label names.

A segment has the word numbers of a block of texts and, for each term, the rows with it. The title
counts twice; a word in the name of a label of an item is evidence of its own, next to the text.
Frequent words are indexed, so that phrases are found, but do not count in the length of a text.
Row numbers are permanent: segments are appended, and removed rows are masked.
"""

from __future__ import annotations

import hashlib
import math
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._typing import Array
from .analysis import Analyzer, ParsedQuery, first_line, normalise, split_words
from .vocabulary import TextBlock, Vocabulary, checked_parts, offsets_rise, ranges, require, within

__all__ = ["WordScores", "WordSearch", "WordSegment"]

# Usual parameters of BM25.
K1, B = 1.2, 0.75
# Weight of a word in the name of a label, where the score of a text with the word once is about 1;
# and of a question word or filler in a query. Chosen on the development queries of CACM, and on
# queries that name a label of netflix and debtags (results/search.md).
LABEL_WEIGHT, FILLER_WEIGHT = 0.75, 0.2
# A phrase is searched in the texts with its rarest word if they are fewer than this fraction of
# all.
_FEW = 20
_DAMAGED = "The files of the word index do not match; the index is damaged."


class _Match(NamedTuple):
    """A word of a query: rows that contain it, in any order, and what it adds to their scores.

    ``rarity`` is its inverse document frequency times its count in the query, and ``most`` the
    largest score that it can add.
    """

    word: str
    rows: Array
    scores: Array
    rarity: float
    most: float


@dataclass(frozen=True)
class WordScores:
    """BM25 of all items for a query; 0 for items with none of its words."""

    scores: Array
    # Fraction of the query's words that an item contains, each weighted by its rarity. 0 for all
    # items if the query has only frequent words: such matches are weak.
    coverage: Array
    # The largest possible score of a text.
    most: float
    # Standard deviation of the scores over all items; 0 if no item has any of the words.
    deviation: float
    # Marks the items with all phrases and without what is excluded; None if all are allowed.
    allowed: Array | None
    # Number of words and prefixes that were looked for, and those that no item has.
    words: int
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class WordSegment:
    """A block of texts with the postings of its terms."""

    block: TextBlock
    # Words of each text that are not frequent, those of the title twice.
    lengths: Array
    # Numbers of the terms, in the order of their characters; where the postings of each start; rows
    # with it, and how often, in the title twice.
    terms: Array
    starts: Array
    rows: Array
    weights: Array
    # Hashes of ids and titles, in order, and their rows.
    name_keys: Array
    name_rows: Array

    @classmethod
    def build(
        cls, block: TextBlock, ids: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> WordSegment:
        """Build the postings of a block; ``ids`` and ``texts`` of its items give the names."""
        return cls._of(block, *_names(block.vocabulary.analyzer, ids, texts))

    @classmethod
    def _of(cls, block: TextBlock, name_keys: Array, name_rows: Array) -> WordSegment:
        vocabulary = block.vocabulary
        numbers = block.all_terms
        before = np.arange(numbers.size) - np.repeat(block.starts[:-1], np.diff(block.starts))
        titles = np.repeat(block.titles, np.diff(block.starts))
        shape = (len(block), max(1, len(vocabulary.terms)))
        weights = 1 + (before < titles).astype(np.int32)
        counts = sparse.csr_matrix((weights, numbers, block.starts), shape=shape)
        pairs = block.adjacent
        if pairs.size:
            more = vocabulary.pair_terms(block.tokens[pairs], block.tokens[pairs + 1])
            weights = 1 + (before[pairs] + 1 < titles[pairs]).astype(np.int32)
            shape = (len(block), len(vocabulary.terms))
            counts.resize(shape)
            counts = counts + sparse.csr_matrix((weights, (block.rows()[pairs], more)), shape)
        columns = sparse.csc_matrix(counts)
        columns.sum_duplicates()
        used = np.flatnonzero(np.diff(columns.indptr))
        names = vocabulary.terms
        terms = np.array(sorted(used.tolist(), key=names.__getitem__), dtype=np.int32)
        sizes = np.diff(columns.indptr)[terms]
        order = ranges(columns.indptr[terms].astype(np.int64), sizes)
        return cls(
            block,
            block.lengths(),
            terms,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            columns.indices[order].astype(np.int32),
            columns.data[order].astype(np.int32),
            name_keys,
            name_rows,
        )

    @classmethod
    def join(cls, segments: Sequence[WordSegment]) -> WordSegment:
        """Concatenate segments of one vocabulary."""
        first = np.cumsum([0, *(len(one.block) for one in segments)]).tolist()
        keys = np.concatenate([one.name_keys for one in segments])
        pairs = zip(segments, first, strict=False)
        rows = np.concatenate([one.name_rows + start for one, start in pairs]).astype(np.int32)
        order = np.lexsort((rows, keys))
        return cls._of(TextBlock.join([one.block for one in segments]), keys[order], rows[order])

    @cached_property
    def _place(self) -> Array:
        """Position of each term of the vocabulary in the segment, or -1."""
        found = np.full(int(self.terms.max(initial=-1)) + 2, -1, dtype=np.int64)
        found[self.terms] = np.arange(self.terms.size)
        return found

    def postings(self, numbers: Iterable[int], prefix: str = "") -> Iterator[slice]:
        """Yield the postings of some terms, and of all terms with a prefix."""
        for number in numbers:
            place = int(self._place[min(number, self._place.size - 1)])
            if place >= 0:
                yield slice(int(self.starts[place]), int(self.starts[place + 1]))
        if prefix:
            low, high = _range(self.terms, self.block.vocabulary.terms.__getitem__, prefix)
            yield slice(int(self.starts[low]), int(self.starts[high]))

    def rows_with_phrase(self, numbers: Sequence[int]) -> Array:
        """Return the rows in which some terms are consecutive."""
        different = set(numbers)
        lists = [self.rows[part] for part in self.postings(different)]
        if len(lists) < len(different):
            return self.rows[:0]
        counts = np.bincount(np.concatenate(lists), minlength=len(self.block))
        rows = np.flatnonzero(counts == len(different))
        block = self.block
        if rows.size * _FEW < len(block):
            block = block.take(rows)
        else:
            rows = np.arange(len(block))
        terms = block.all_terms
        start = np.flatnonzero(terms[: max(0, terms.size - len(numbers) + 1)] == numbers[0])
        for offset, number in enumerate(numbers):
            start = start[terms[start + offset] == number]
        row = np.searchsorted(block.starts, start, side="right") - 1
        return rows[np.unique(row[start + len(numbers) <= block.starts[row + 1]])]

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to store, by name."""
        return {
            **self.block.arrays(),
            "lengths": self.lengths,
            "posting_terms": self.terms,
            "posting_starts": self.starts,
            "posting_rows": self.rows,
            "posting_weights": self.weights,
            "name_keys": self.name_keys,
            "name_rows": self.name_rows,
        }

    @classmethod
    def from_arrays(cls, vocabulary: Vocabulary, arrays: Mapping[str, Array]) -> WordSegment:
        """Restore the segment from :meth:`arrays`; raise InvalidFile if it is damaged."""
        block = TextBlock.from_arrays(vocabulary, arrays)
        shapes = {
            "lengths": "i4 n",
            "posting_terms": "i4 t",
            "posting_starts": "i8 t+1",
            "posting_rows": "i4 p",
            "posting_weights": "i4 p",
            "name_keys": "i8 m",
            "name_rows": "i4 m",
        }
        parts = checked_parts(shapes, arrays, _DAMAGED, n=len(block))
        lengths, terms, starts, rows, weights, _, name_rows = parts
        require(
            _DAMAGED,
            (lengths >= 0).all(),
            offsets_rise(starts, rows.size),
            within(terms, len(vocabulary.terms)),
            within(rows, len(block)),
            within(name_rows, len(block)),
            (weights > 0).all(),
        )
        return cls(block, *parts)


class _LabelWords:
    """Rows of the items with each term in the names of their labels."""

    def __init__(self, analyzer: Analyzer, names: Sequence[str], labels: sparse.csr_matrix) -> None:
        self._analyzer, self._names, self._labels = analyzer, names, labels

    @cached_property
    def found(self) -> tuple[list[str], Array, Array]:
        """The terms in order, where the rows of each begin, and the rows; made for a search."""
        # Codes and addresses have no words.
        own = [[] if "://" in name else _spoken(self._analyzer, name) for name in self._names]
        every = sorted({term for terms in own for term in terms})
        place = {term: number for number, term in enumerate(every)}
        starts = np.cumsum([0, *map(len, own)])
        columns = np.array([place[term] for terms in own for term in terms], dtype=np.int32)
        ones, labels = np.ones(columns.size, dtype=np.int32), self._labels
        by_label = sparse.csr_matrix((ones, columns, starts), shape=(len(own), len(every)))
        plain = sparse.csr_matrix(
            (np.ones(labels.nnz, dtype=np.int32), labels.indices, labels.indptr), labels.shape
        )
        found = sparse.csc_matrix(plain @ by_label)
        return every, found.indptr, found.indices

    def rows_with(self, terms: Iterable[str], prefix: str = "") -> list[Array]:
        """Return the rows of some terms, and of all terms with a prefix."""
        every, starts, rows = self.found
        places = ((one, bisect_left(every, one)) for one in terms)
        spans = [(at, at + 1) for one, at in places if every[at : at + 1] == [one]]
        if prefix:
            spans.append(_range(every, str, prefix))
        return [rows[starts[low] : starts[high]] for low, high in spans]


class _State:
    """An immutable state for searching; a change creates a new one."""

    def __init__(
        self, segments: tuple[WordSegment, ...], removed: Array, labels: _LabelWords
    ) -> None:
        self.segments, self.removed, self.labels = segments, removed, labels
        self.first = np.cumsum([0, *(len(one.block) for one in segments)]).tolist()
        self.n = self.first[-1]
        self.present = np.ones(self.n, dtype=bool)
        self.present[removed] = False
        self.alive = self.n - removed.size
        self.lengths = np.concatenate([np.zeros(0), *(one.lengths for one in segments)])
        total = float(self.lengths[self.present].sum())
        self.average = total / self.alive if total > 0 else 1.0
        # The weight that gives half of the maximum score.
        self.halves = (K1 * (1 - B + B * self.lengths / self.average)).astype(np.float32)

    def rarity(self, count: int) -> float:
        """Return the inverse document frequency of a word that a number of items have."""
        return math.log1p((self.alive - count + 0.5) / (count + 0.5))

    def bm25_weights(self, rows: Array, weights: Array) -> Array:
        """Return BM25 of some rows for a word with a rarity of 1."""
        return np.asarray((K1 + 1) * weights / (weights + self.halves[rows]))

    def postings(self, numbers: Sequence[int], prefix: str = "") -> tuple[list[Array], list[Array]]:
        """Return the rows of texts with some terms or a prefix, and weights, in parts."""
        rows: list[Array] = []
        weights: list[Array] = []
        for one, first in zip(self.segments, self.first, strict=False):
            for part in one.postings(numbers, prefix):
                rows.append(one.rows[part] + first)
                weights.append(one.weights[part])
        return rows, weights

    def rows_with(self, number: int, prefix: str = "") -> Array:
        """Return the rows of texts with a term or a prefix; rows may be repeated."""
        rows = np.concatenate([np.zeros(0, np.int32), *self.postings([number], prefix)[0]])
        return np.asarray(rows[self.present[rows]])


class WordSearch:
    r"""Search in segments of one vocabulary, whose rows are numbered one after the other.

    Examples
    --------
    >>> from labelspan.text import Vocabulary, WordSearch, WordSegment, parse_query
    >>> texts = ["Jurassic Park\nDinosaurs escape", "A park in the city", "Deep sea"]
    >>> vocabulary = Vocabulary("en")
    >>> search = WordSearch(vocabulary, [WordSegment.build(vocabulary.number(texts))])
    >>> search.score(parse_query("park with dinosaurs")).scores.round(2)
    array([1.27, 0.56, 0.  ])
    >>> search.near("jurasic")
    ['jurassic']
    """

    def __init__(self, vocabulary: Vocabulary, segments: Iterable[WordSegment] = ()) -> None:
        self.vocabulary = vocabulary
        self._lock = threading.Lock()
        none = _LabelWords(vocabulary.analyzer, (), sparse.csr_matrix((0, 0), dtype=np.int8))
        self._state = _State(tuple(segments), np.zeros(0, dtype=np.int64), none)

    @property
    def segments(self) -> tuple[WordSegment, ...]:
        """All segments; the last ones may have been joined."""
        return self._state.segments

    def __len__(self) -> int:
        return int(self._state.n)

    # --- changes ----------------------------------------------------------------------

    def append(self, segment: WordSegment) -> None:
        """Add the texts of a segment; small segments at the end are joined."""
        with self._lock:
            old = self._state
            parts = [*old.segments, segment]
            last = 1
            # This keeps the number of segments logarithmic.
            while last < len(parts) and len(parts[-last - 1].block) <= 2 * sum(
                len(one.block) for one in parts[-last:]
            ):
                last += 1
            if last > 1:
                parts[-last:] = [WordSegment.join(parts[-last:])]
            self._state = _State(tuple(parts), old.removed, old.labels)

    def remove(self, rows: Iterable[int]) -> None:
        """Remove rows: they are not found, and do not count in any statistic."""
        with self._lock:
            old = self._state
            removed = np.union1d(old.removed, np.array(list(rows), dtype=np.int64))
            self._state = _State(old.segments, removed, old.labels)

    def set_labels(self, names: Sequence[str], labels: sparse.csr_matrix) -> None:
        """Set the labels of all items: a row for each item, a column for each name."""
        found = _LabelWords(self.vocabulary.analyzer, names, labels)
        with self._lock:
            self._state = _State(self._state.segments, self._state.removed, found)

    # --- searching --------------------------------------------------------------------

    def named(self, text: str) -> Array:
        """Return the rows whose id or title equals a text, ignoring case and punctuation."""
        state = self._state
        key = _hash(self.vocabulary.analyzer.key(text))
        found = [np.zeros(0, dtype=np.int64)]
        for one, first in zip(state.segments, state.first, strict=False):
            begin, end = np.searchsorted(one.name_keys, [key, key + 1])
            found.append(one.name_rows[begin:end].astype(np.int64) + first)
        rows = np.concatenate(found)
        return np.asarray(rows[state.present[rows]])

    def frequency(self, term: str) -> int:
        """Return the number of texts with a term."""
        return self._state.rows_with(self.vocabulary.term(term)).size

    def near(self, word: str, n: int = 3) -> list[str]:
        """Return words of the texts with a similar spelling, the most likely first."""
        state = self._state
        # Another thread may add words; their terms come first.
        words = list(self.vocabulary.words)
        own = self.vocabulary.term_of[: len(words)]
        counts = np.zeros(len(self.vocabulary.terms), dtype=np.int64)
        for one, first in zip(state.segments, state.first, strict=False):
            if one.terms.size:
                present = state.present[first:][one.rows]
                counts[one.terms] += np.add.reduceat(present, one.starts[:-1], dtype=np.int64)
        return _near_spellings(normalise(word), words, counts[own], n)

    def score(self, query: ParsedQuery) -> WordScores:
        """Compute BM25 of all items, and which of them a query allows."""
        state = self._state
        matches, common = self._matches(state, query)
        rows = np.concatenate([np.zeros(0, np.int32), *(match.rows for match in matches)])
        added = np.concatenate([np.zeros(0), *(match.scores for match in matches)])
        rarity = np.array([match.rarity for match in matches])
        every = np.repeat(rarity, [match.rows.size for match in matches])
        # Without any row the sums are integers.
        scores = np.bincount(rows, added, state.n).astype(np.float64)
        total, most = float(rarity.sum()), sum(match.most for match in matches)
        covered = np.bincount(rows, every, state.n)
        coverage = covered * (0.0 if common or not total else 1 / total)
        unknown = tuple(match.word for match in matches if not match.rows.size)
        deviation = _deviation(scores, state.alive)
        allowed = self._allowed(state, query)
        return WordScores(scores, coverage, most, deviation, allowed, len(matches), unknown)

    def explain(self, query: ParsedQuery, row: int) -> dict[str, float]:
        """Return what each word of a query adds to the score of an item."""
        state = self._state
        shares: dict[str, float] = {}
        for match in self._matches(state, query)[0]:
            own = match.rows == row
            if own.any():
                shares[match.word] = float(match.scores[own][0])
        return shares

    def term_counts(self) -> tuple[list[str], sparse.csr_matrix, Array, float]:
        """Return what scores are computed from, for other programs.

        All terms; how often each row has them; the length of each row, and the mean of all. A term
        in the name of a label is a separate one, with # in front.
        """
        state, (terms, starts, rows) = self._state, self._state.labels.found
        names = [*self.vocabulary.terms, *(f"#{term}" for term in terms)]
        first = len(self.vocabulary.terms)
        columns = np.repeat(np.arange(first, len(names)), np.diff(starts))
        parts = [(rows, columns, np.ones(rows.size, dtype=np.int32))]
        for one, start in zip(state.segments, state.first, strict=False):
            columns = np.repeat(one.terms, np.diff(one.starts))
            parts.append((one.rows + start, columns, one.weights))
        rows, columns, counts = (np.concatenate(own) for own in zip(*parts, strict=True))
        own = state.present[rows]
        entries = counts[own], (rows[own], columns[own].astype(np.int32))
        found = sparse.csr_matrix(entries, shape=(state.n, max(1, len(names))))
        return names, found, state.lengths, state.average

    def _matches(self, state: _State, query: ParsedQuery) -> tuple[list[_Match], bool]:
        """Find the items with each word, and whether all words are frequent."""
        analyzer = self.vocabulary.analyzer
        words = analyzer.query("\n".join((*query.words, *query.phrases)))
        prefixes: Counter[tuple[str, str]] = Counter()
        for part in query.prefixes:
            *before, (word, term, _) = analyzer.query(part)
            words += before
            prefixes[word, term] += 1
        common = not prefixes and all(frequent for *_, frequent in words)
        times: dict[str, float] = {}
        shown: dict[str, str] = {}
        for word, term, frequent in words:
            if common or not frequent:
                weight = FILLER_WEIGHT if word in analyzer.fillers else 1.0
                times[term] = times.get(term, 0.0) + weight
                shown.setdefault(term, word)
        found = [self._match(state, shown[term], n, [term]) for term, n in times.items()]
        for (word, stem), n in prefixes.items():
            # The stem of a prefix may be shorter than the prefix.
            terms = [] if stem.startswith(word) else [stem]
            found.append(self._match(state, f"{word}*", n, terms, word))
        return found, common and not query.phrases

    def _match(
        self, state: _State, word: str, times: float, terms: Sequence[str], prefix: str = ""
    ) -> _Match:
        """Score one word, or all words with a prefix as if they were one."""
        parts, sizes = state.postings([self.vocabulary.term(term) for term in terms], prefix)
        rows = np.concatenate([np.zeros(0, np.int32), *parts])
        weights: Array = np.concatenate([np.zeros(0), *sizes], dtype=np.float32)
        if prefix:
            # Rows may be repeated.
            sums = np.bincount(rows, weights, state.n)
            rows = np.flatnonzero(sums)
            weights = sums[rows]
        if state.removed.size:
            own = state.present[rows]
            rows, weights = rows[own], weights[own]
        named = np.zeros(state.n, dtype=bool)
        for own in state.labels.rows_with(terms, prefix):
            named[own] = True
        named &= state.present
        labelled = LABEL_WEIGHT * times * state.rarity(int(named.sum())) * bool(named.any())
        in_text, named[rows] = named[rows], False
        only = np.flatnonzero(named)
        # Rare in the texts and frequent in labels is not rare.
        rarity = times * state.rarity(rows.size + only.size)
        scores = rarity * state.bm25_weights(rows, weights) + labelled * in_text
        rows = np.concatenate([rows, only], dtype=np.int32)
        scores = np.concatenate([scores, np.full(only.size, labelled)])
        most = (K1 + 1) * rarity + labelled
        return _Match(word, rows, scores, rarity, most)

    # --- phrases and exclusions -------------------------------------------------------

    def _allowed(self, state: _State, query: ParsedQuery) -> Array | None:
        """Mark the items with all phrases and without exclusions."""
        excluded = (*query.without, *query.without_phrases)
        marks = [self._containing(state, phrase) for phrase in query.phrases]
        marks += [~self._containing(state, part) for part in excluded]
        marks += [~self._containing(state, part, prefix=True) for part in query.without_prefixes]
        return np.logical_and.reduce(marks) if marks else None

    def _containing(self, state: _State, part: str, *, prefix: bool = False) -> Array:
        """Mark the texts that contain consecutive words, or a prefix."""
        analyzer = self.vocabulary.analyzer
        wanted = analyzer.query(part)
        marks = np.zeros(state.n, dtype=bool)
        if prefix or len(wanted) == 1:
            word, term, _ = wanted[-1]
            marks[state.rows_with(self.vocabulary.term(term), word if prefix else "")] = True
        else:
            terms = analyzer.stems(split_words(normalise(part)))
            numbers = [self.vocabulary.term(term) for term in terms]
            for one, first in zip(state.segments, state.first, strict=False):
                marks[first + one.rows_with_phrase(numbers)] = True
        return marks


def _deviation(scores: Array, count: int) -> float:
    """Compute the standard deviation of scores over a number of items."""
    count = max(1, count)
    mean = float(scores.sum()) / count
    if not mean:
        return 0.0
    spread = float(np.dot(scores, scores)) / count - mean * mean
    deviation = math.sqrt(max(spread, 0.0))
    # If all items have the same score, words do not distinguish them.
    return deviation if deviation > 1e-6 * mean else mean


def _spoken(analyzer: Analyzer, name: str) -> list[str]:
    """Return the distinct terms of a name that have letters."""
    terms = {term for _, term, _ in analyzer.query(name)}
    # In scripts without spaces, single characters are searched as well.
    terms |= set(analyzer.stems(split_words(normalise(name))))
    return sorted(term for term in terms if any(map(str.isalpha, term)))


def _range(ordered: Any, name: Callable[[Any], str], prefix: str) -> tuple[int, int]:
    """Return the range of the sorted names with a prefix."""
    low = bisect_left(ordered, prefix, key=name)
    # No character is larger than this one.
    return low, bisect_left(ordered, prefix + "\U0010ffff", lo=low, key=name)


def _names(analyzer: Analyzer, ids: Sequence[str], texts: Sequence[str]) -> tuple[Array, Array]:
    """Return the hashes of ids and titles, in order, and their rows."""
    found = {
        (_hash(key), row)
        for row, (name, text) in enumerate(zip(ids, texts, strict=True))
        for key in map(analyzer.key, (name, first_line(text)[0]))
        if key
    }
    pairs = np.array(sorted(found), dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1].astype(np.int32)


def _hash(key: str) -> int:
    """Hash a name to a positive integer."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") >> 2


# --- near spellings ----------------------------------------------------------------------------

# Maximum number of words that are compared letter by letter: those with the most common letter
# pairs.
_COMPARED = 60


def _near_spellings(word: str, words: Sequence[str], counts: Array, n: int = 3) -> list[str]:
    """Return known words that differ from a word by at most two typing errors, the nearest first.

    Among equally near words the more frequent one is first. A word of up to three letters
    must match exactly, one of up to five may have one error, longer ones two.
    """
    most = 0 if len(word) < 4 else 1 if len(word) < 6 else 2
    if not most:
        return []
    letters, sizes = _letters([word, *words])
    # An error replaces at most one letter by another.
    different = np.unpackbits((letters[1:] ^ letters[0]).view(np.uint8)).reshape(-1, 64).sum(axis=1)
    possible = (np.abs(sizes[1:] - sizes[0]) <= 4 * most) & (different <= 2 * most) & (counts > 0)
    frequent = {words[number]: int(counts[number]) for number in np.flatnonzero(possible).tolist()}
    own = _pairs(word)
    shared = [(len(own & _pairs(other)), other) for other in frequent if other != word]
    shared.sort(key=lambda entry: (-entry[0], -frequent[entry[1]], entry[1]))
    near = [(_errors(word, other), other) for _, other in shared[:_COMPARED]]
    near = [entry for entry in near if entry[0] <= most]
    near.sort(key=lambda entry: (entry[0], -frequent[entry[1]], entry[1]))
    return [other for _, other in near[:n]]


def _letters(words: Sequence[str]) -> tuple[Array, Array]:
    """Return the set of the letters of each word as bits, and its length in bytes."""
    content = np.frombuffer("\n".join([*words, ""]).encode(), dtype=np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    bits = np.uint64(1) << (content & 63).astype(np.uint64)
    return np.bitwise_or.reduceat(bits, starts), ends - starts


def _pairs(word: str) -> set[str]:
    marked = f" {word} "
    return {marked[n : n + 2] for n in range(len(marked) - 1)}


def _errors(one: str, two: str) -> int:
    """Return the edit distance, with exchanges of neighbouring letters."""
    before: list[int] = []
    last = list(range(len(two) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, other in enumerate(two, 1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == two[j - 2] and one[i - 2] == other:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]
