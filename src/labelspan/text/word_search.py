"""Word search: BM25 over segments of texts, with phrases, prefixes, exclusions and label names.

A segment has the word numbers of a block of texts and, for each term, the rows with it. The title
counts twice; the words in the names of an item's labels count as words of the item, though less.
Frequent words are indexed, so that phrases are found, but do not count in the length of a text.
Row numbers are permanent: segments are appended, and removed rows are masked.
"""

from __future__ import annotations

import hashlib
import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidFile
from .analysis import Analyzer, normalise, split_words
from .query_syntax import ParsedQuery
from .spelling import near_spellings
from .vocabulary import TextBlock, Vocabulary, checked_parts, offsets_rise, ranges, within

__all__ = ["WordMatch", "WordScores", "WordSearch", "WordSegment"]

# Usual parameters of BM25.
K1, B = 1.2, 0.75
# How much a word in the name of a label counts; a word of the title counts twice.
_LABEL = 0.5
# A phrase is looked for in the texts with its rarest word if they are less than this part of all.
_FEW = 20
_DAMAGED = "The files of the word index do not fit together; it is damaged."


@dataclass(frozen=True)
class WordMatch:
    """What one word of a query adds: rows with it, BM25 of each, and the largest possible.

    ``rarity`` is its inverse document frequency times how often the query has it.
    """

    word: str
    rows: Array
    scores: Array
    most: float
    rarity: float


@dataclass(frozen=True)
class WordScores:
    """BM25 of all items for a query.

    Attributes
    ----------
    scores : array of shape (n,)
        Sum over the words; 0 for items with none of them.
    coverage : array of shape (n,)
        Share of the query's words that an item has, each weighted by its rarity. 0 for all items
        if the query only has frequent words: such matches are weak.
    most : float
        The largest score that a text could have.
    deviation : float
        Standard deviation of the scores over all items; 0 if no item has any of the words.
    allowed : array of shape (n,) or None
        Marks the items with all phrases and without what is excluded; None if all are allowed.
    words : int
        Number of words and prefixes that were looked for; 0 for an empty query.
    unknown : tuple of str
        Those that no item has.
    """

    scores: Array
    coverage: Array
    most: float
    deviation: float
    allowed: Array | None
    words: int
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class WordSegment:
    """A block of texts with the postings of its terms.

    Attributes
    ----------
    block : TextBlock
    lengths : array of int32, shape (n,)
        Words of each text that are not frequent, those of the title twice.
    terms : array of int32
        Numbers of the terms, in the order of their characters.
    starts, rows, weights : arrays of int64, int32 and int32
        For each term the rows with it, and how often, in the title twice.
    name_keys, name_rows : arrays of int64 and int32
        Hashes of ids and titles, in order, and their rows.
    """

    block: TextBlock
    lengths: Array
    terms: Array
    starts: Array
    rows: Array
    weights: Array
    name_keys: Array
    name_rows: Array

    @classmethod
    def build(
        cls, block: TextBlock, ids: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> WordSegment:
        """Make the postings of a block; ``ids`` and ``texts`` are those of its items, for names."""
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
        """Put segments of one vocabulary one after the other."""
        first = np.cumsum([0, *(len(one.block) for one in segments)]).tolist()
        keys = np.concatenate([one.name_keys for one in segments])
        pairs = zip(segments, first, strict=False)
        rows = np.concatenate([one.name_rows + start for one, start in pairs]).astype(np.int32)
        order = np.lexsort((rows, keys))
        return cls._of(TextBlock.join([one.block for one in segments]), keys[order], rows[order])

    @cached_property
    def place(self) -> Array:
        """Place of each term of the vocabulary among those of the segment; -1 for others."""
        found = np.full(int(self.terms.max(initial=-1)) + 2, -1, dtype=np.int64)
        found[self.terms] = np.arange(self.terms.size)
        return found

    def places(self, numbers: Array) -> Array:
        """Return the places of some terms; the number -1 has none."""
        return np.asarray(self.place[np.minimum(numbers, self.place.size - 1)])

    def beginning(self, prefix: str) -> slice:
        """Return the postings of all terms with a beginning."""
        names = self.block.vocabulary.terms
        low, high = _range(self.terms, names.__getitem__, prefix)
        return slice(int(self.starts[low]), int(self.starts[high]))

    def frequencies(self, removed: Array) -> Array:
        """Count the texts with each term, without some rows."""
        found = np.diff(self.starts)
        if removed.size:
            gone = np.zeros(len(self.block), dtype=bool)
            gone[removed] = True
            sums = np.concatenate([[0], np.cumsum(gone[self.rows])])
            found = found - (sums[self.starts[1:]] - sums[self.starts[:-1]])
        return found

    def arrays(self) -> dict[str, Array]:
        """Return all that is stored, by name."""
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
        """Make the segment that :meth:`arrays` described; raise InvalidFile if it is damaged."""
        block = TextBlock.from_arrays(vocabulary, arrays)
        kinds = {
            "lengths": "i4",
            "posting_terms": "i4",
            "posting_starts": "i8",
            "posting_rows": "i4",
            "posting_weights": "i4",
            "name_keys": "i8",
            "name_rows": "i4",
        }
        parts = checked_parts(kinds, arrays, _DAMAGED)
        lengths, terms, starts, rows, weights, name_keys, name_rows = parts
        sound = (
            lengths.size == len(block)
            and within(lengths, 1 << 31)
            and starts.size == terms.size + 1
            and offsets_rise(starts, rows.size)
            and rows.size == weights.size
            and name_keys.size == name_rows.size
            and within(terms, len(vocabulary.terms))
            and within(rows, len(block))
            and within(name_rows, len(block))
            and (not weights.size or int(weights.min()) > 0)
        )
        if not sound:
            raise InvalidFile(_DAMAGED)
        return cls(block, *parts)


class _LabelWords:
    """Rows of the items with each term in the names of their labels."""

    def __init__(self, analyzer: Analyzer, names: Sequence[str], labels: sparse.csr_matrix) -> None:
        # Codes and addresses have no words.
        own = [[] if "://" in name else _spoken(analyzer, name) for name in names]
        self.terms = sorted({term for terms in own for term in terms})
        self._place = {term: place for place, term in enumerate(self.terms)}
        starts = np.cumsum([0, *map(len, own)])
        columns = np.array([self._place[term] for terms in own for term in terms], dtype=np.int32)
        ones = np.ones(columns.size, dtype=np.int32)
        shape = (len(names), len(self.terms))
        by_label = sparse.csr_matrix((ones, columns, starts), shape=shape)
        plain = sparse.csr_matrix(
            (np.ones(labels.nnz, dtype=np.int32), labels.indices, labels.indptr), labels.shape
        )
        found = sparse.csc_matrix(plain @ by_label)
        self._starts, self._rows = found.indptr, found.indices

    def __contains__(self, term: str) -> bool:
        return term in self._place

    def rows(self, term: str) -> Array:
        """Return the rows with a term."""
        place = self._place.get(term)
        return self._rows[:0] if place is None else self._between(place, place + 1)

    def beginning(self, prefix: str) -> Array:
        """Return the rows of all terms with a beginning, once for each term."""
        return self._between(*_range(self.terms, str, prefix))

    def _between(self, low: int, high: int) -> Array:
        return np.asarray(self._rows[self._starts[low] : self._starts[high]])


class _State:
    """What a search reads; changes make a new one."""

    def __init__(
        self, segments: tuple[WordSegment, ...], removed: Array, labels: _LabelWords
    ) -> None:
        self.segments, self.removed, self.labels = segments, removed, labels
        sizes = [len(one.block) for one in segments]
        self.first = np.cumsum([0, *sizes]).tolist()
        self.n = self.first[-1]
        self.alive = self.n - removed.size
        lengths = np.concatenate([np.zeros(0), *(one.lengths for one in segments)])
        total = float(lengths.sum() - lengths[removed].sum())
        average = total / self.alive if total > 0 else 1.0
        # How much a weight must be to count half.
        self.halves = (K1 * (1 - B + B * lengths / average)).astype(np.float32)

    @cached_property
    def scores(self) -> list[Array]:
        """BM25 of each posting without the inverse document frequency."""
        found = []
        for one, first in zip(self.segments, self.first, strict=False):
            weights = one.weights.astype(np.float32)
            found.append((K1 + 1) * weights / (weights + self.halves[first:][one.rows]))
        return found

    @cached_property
    def frequencies(self) -> list[Array]:
        """Number of texts with each term, removed ones not counted."""
        ends = np.searchsorted(self.removed, self.first)
        return [
            one.frequencies(self.removed[ends[n] : ends[n + 1]] - self.first[n])
            for n, one in enumerate(self.segments)
        ]

    def rarity(self, having: Array) -> Array:
        """Return the inverse document frequencies of words in numbers of items."""
        return np.asarray(np.log1p((self.alive - having + 0.5) / (having + 0.5)))


class WordSearch:
    r"""Search in segments of texts.

    Parameters
    ----------
    vocabulary : Vocabulary
        That of all segments.
    segments : sequence of WordSegment
        Their rows are numbered one segment after the other.
    removed : sequence of int
        Rows that are not found, and do not count in any statistic.

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

    def __init__(
        self,
        vocabulary: Vocabulary,
        segments: Iterable[WordSegment] = (),
        removed: Iterable[int] = (),
    ) -> None:
        self.vocabulary = vocabulary
        self._lock = threading.Lock()
        none = _LabelWords(vocabulary.analyzer, (), sparse.csr_matrix((0, 0), dtype=np.int8))
        rows = np.unique(np.array(list(removed), dtype=np.int64))
        self._state = _State(tuple(segments), rows, none)

    @property
    def segments(self) -> tuple[WordSegment, ...]:
        """All segments; the last ones may have been joined."""
        return self._state.segments

    @property
    def removed(self) -> Array:
        """Rows that were removed, in order."""
        return self._state.removed

    def __len__(self) -> int:
        return int(self._state.n)

    # --- changes ----------------------------------------------------------------------

    def append(self, segment: WordSegment) -> None:
        """Add the texts of a segment; small segments at the end are joined."""
        with self._lock:
            old = self._state
            parts = [*old.segments, segment]
            last = 1
            # So that there are at most logarithmically many.
            while last < len(parts) and len(parts[-last - 1].block) <= 2 * sum(
                len(one.block) for one in parts[-last:]
            ):
                last += 1
            if last > 1:
                parts[-last:] = [WordSegment.join(parts[-last:])]
            self._state = _State(tuple(parts), old.removed, old.labels)

    def remove(self, rows: Iterable[int]) -> None:
        """Take rows out."""
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
        """Return the rows of the items whose id or title is a text, apart from case and signs."""
        state = self._state
        key = _hash(self.vocabulary.analyzer.key(text))
        found = [np.zeros(0, dtype=np.int64)]
        for one, first in zip(state.segments, state.first, strict=False):
            if key is not None:
                begin, end = np.searchsorted(one.name_keys, [key, key + 1])
                found.append(one.name_rows[begin:end].astype(np.int64) + first)
        return np.setdiff1d(np.concatenate(found), state.removed)

    def frequency(self, term: str) -> int:
        """Return the number of items whose text has a term."""
        return int(self._frequencies(self._state, [term])[0])

    def near(self, word: str, n: int = 3) -> list[str]:
        """Return words of the texts that are spelt nearly as a word, the most likely first."""
        state = self._state
        counts = np.zeros(len(self.vocabulary.terms), dtype=np.int64)
        for one, frequencies in zip(state.segments, state.frequencies, strict=True):
            counts[one.terms] += frequencies
        words = self.vocabulary.words
        return near_spellings(normalise(word), words, counts[self.vocabulary.term_of], n)

    def score(self, query: ParsedQuery) -> WordScores:
        """Compute BM25 of all items, and which of them a query allows."""
        state = self._state
        words, prefixes, common = self._wanted(query)
        simple = [term for term in words if term not in state.labels]
        times = np.array([words[term][1] for term in simple], dtype=np.float64)
        having = self._frequencies(state, simple)
        rarity = times * state.rarity(having)
        scores, coverage = self._added(state, simple, rarity)
        most, total = float(rarity.sum()) * (K1 + 1), float(rarity.sum())
        unknown = [words[term][0] for term, n in zip(simple, having.tolist(), strict=True) if not n]
        others = [
            self._match(state, *words[term], [term]) for term in words if term in state.labels
        ]
        others += [self._match(state, f"{one}*", n, (), one) for one, n in prefixes.items()]
        for match in others:
            scores[match.rows] += match.scores
            coverage[match.rows] += match.rarity
            most += match.most
            total += match.rarity
            if not match.rows.size:
                unknown.append(match.word)
        scores[state.removed] = 0.0
        coverage *= 0.0 if common or not total else 1 / total
        coverage[state.removed] = 0.0
        count = len(words) + len(prefixes)
        deviation = _deviation(scores, state.alive)
        allowed = self._allowed(state, query)
        return WordScores(scores, coverage, most, deviation, allowed, count, tuple(unknown))

    def matches(self, query: ParsedQuery) -> list[WordMatch]:
        """Find the items with each word; frequent words count only if there are no others."""
        state = self._state
        words, prefixes, _ = self._wanted(query)
        found = [self._match(state, *words[term], [term]) for term in words]
        return found + [self._match(state, f"{one}*", n, (), one) for one, n in prefixes.items()]

    def term_weights(self) -> tuple[list[str], sparse.csr_matrix]:
        """Return BM25 of all items and terms without the rarity of terms, for other programs.

        Returns
        -------
        terms : list of str
        weights : CSR matrix of shape (rows, terms), float32
            Rows that were removed are empty.
        """
        state = self._state
        terms = list(self.vocabulary.terms)
        numbers = {term: number for number, term in enumerate(terms)}
        rows, columns, weights = [], [], []
        for one, first in zip(state.segments, state.first, strict=False):
            rows.append(one.rows + first)
            columns.append(np.repeat(one.terms, np.diff(one.starts)))
            weights.append(one.weights.astype(np.float32))
        for term in state.labels.terms:
            number = numbers.setdefault(term, len(numbers))
            own = state.labels.rows(term)
            rows.append(own)
            columns.append(np.full(own.size, number, dtype=np.int32))
            weights.append(np.full(own.size, _LABEL, dtype=np.float32))
        parts = (np.concatenate([np.zeros(0, np.int32), *list]) for list in (rows, columns))
        values = np.concatenate([np.zeros(0, np.float32), *weights])
        found = sparse.csr_matrix((values, tuple(parts)), shape=(state.n, max(1, len(numbers))))
        found.sum_duplicates()
        halves = np.repeat(state.halves, np.diff(found.indptr))
        found.data = (K1 + 1) * found.data / (found.data + halves)
        found.data[np.isin(np.repeat(np.arange(state.n), np.diff(found.indptr)), state.removed)] = 0
        found.eliminate_zeros()
        return list(numbers), found

    def explain(self, query: ParsedQuery, row: int) -> dict[str, float]:
        """Return what each word of a query adds to the score of an item."""
        shares: dict[str, float] = {}
        for match in self.matches(query):
            place = int(np.searchsorted(match.rows, row))
            if place < match.rows.size and match.rows[place] == row:
                shares[match.word] = float(match.scores[place])
        return shares

    def _wanted(
        self, query: ParsedQuery
    ) -> tuple[dict[str, tuple[str, int]], dict[str, int], bool]:
        """Return words by their terms, prefixes, with how often the query has each.

        And whether the query only has frequent words.
        """
        analyzer = self.vocabulary.analyzer
        words = analyzer.query("\n".join((*query.words, *query.phrases)))
        prefixes: dict[str, int] = {}
        for part in query.prefixes:
            *before, last = analyzer.query(part) or [("", "", True)]
            words += before
            if last[0]:
                prefixes[last[0]] = prefixes.get(last[0], 0) + 1
        common = not prefixes and all(frequent for *_, frequent in words)
        if not common:
            words = [word for word in words if not word[2]]
        found: dict[str, tuple[str, int]] = {}
        for word, term, _ in words:
            shown, times = found.get(term, (word, 0))
            found[term] = shown, times + 1
        return found, prefixes, common and not query.phrases

    def _frequencies(self, state: _State, terms: Sequence[str]) -> Array:
        """Count the items with each of some terms in their texts."""
        numbers = np.array([self.vocabulary.term(term) for term in terms], dtype=np.int64)
        found = np.zeros(numbers.size, dtype=np.int64)
        for one, frequencies in zip(state.segments, state.frequencies, strict=True):
            places = one.places(numbers)
            found[places >= 0] += frequencies[places[places >= 0]]
        return found

    def _added(self, state: _State, terms: Sequence[str], rarity: Array) -> tuple[Array, Array]:
        """Add up the stored scores of some terms, and their rarity."""
        numbers = np.array([self.vocabulary.term(term) for term in terms], dtype=np.int64)
        scores, coverage = np.zeros(state.n), np.zeros(state.n)
        for n, one in enumerate(state.segments):
            places = one.places(numbers)
            own = rarity[places >= 0]
            places = places[places >= 0]
            begin = one.starts[places]
            sizes = one.starts[places + 1] - begin
            postings = ranges(begin, sizes)
            rows, weights = one.rows[postings], np.repeat(own, sizes)
            part = slice(state.first[n], state.first[n + 1])
            count = len(one.block)
            scores[part] = np.bincount(rows, weights * state.scores[n][postings], count)
            coverage[part] = np.bincount(rows, weights, count)
        return scores, coverage

    def _match(
        self, state: _State, word: str, times: int, terms: Sequence[str], prefix: str = ""
    ) -> WordMatch:
        """Score one word, or all words with a beginning as if they were one."""
        weights = np.zeros(state.n)
        terms = list(terms)
        if prefix:
            # The stem of a beginning may be shorter than it.
            stems = (term for _, term, _ in self.vocabulary.analyzer.query(prefix))
            terms = [term for term in stems if not term.startswith(prefix)]
            labelled = state.labels.beginning(prefix)
            weights += _LABEL * np.bincount(labelled, minlength=state.n)
        numbers = np.array([self.vocabulary.term(term) for term in terms], dtype=np.int64)
        for one, first in zip(state.segments, state.first, strict=False):
            own = weights[first : first + len(one.block)]
            if prefix:
                part = one.beginning(prefix)
                own += np.bincount(one.rows[part], one.weights[part], len(one.block))
            for place in one.places(numbers).tolist():
                if place >= 0:
                    part = slice(int(one.starts[place]), int(one.starts[place + 1]))
                    own[one.rows[part]] += one.weights[part]
        for term in terms:
            weights[state.labels.rows(term)] += _LABEL
        weights[state.removed] = 0.0
        rows = np.flatnonzero(weights)
        weights = weights[rows]
        rarity = times * float(state.rarity(np.array(rows.size)))
        scores = rarity * (K1 + 1) * weights / (weights + state.halves[rows])
        return WordMatch(word, rows, scores, rarity * (K1 + 1), rarity)

    # --- phrases and exclusions -------------------------------------------------------

    def _allowed(self, state: _State, query: ParsedQuery) -> Array | None:
        """Mark the items with all phrases and without what is excluded."""
        allowed: Array | None = None
        for phrase in query.phrases:
            marks = self._containing(state, phrase)
            if marks is not None:
                allowed = marks if allowed is None else allowed & marks
        if query.excludes:
            allowed = np.ones(state.n, dtype=bool) if allowed is None else allowed
            for part in (*query.without, *query.without_phrases):
                marks = self._containing(state, part)
                if marks is not None:
                    allowed &= ~marks
            for part in query.without_prefixes:
                *_, last = self.vocabulary.analyzer.query(part) or [("", "", True)]
                if last[0]:
                    allowed &= ~self._beginning(state, last[0])
        return allowed

    def _beginning(self, state: _State, prefix: str) -> Array:
        """Mark the texts with a beginning of a word."""
        marks = np.zeros(state.n, dtype=bool)
        for one, first in zip(state.segments, state.first, strict=False):
            marks[first + one.rows[one.beginning(prefix)].astype(np.int64)] = True
        stem = self.vocabulary.analyzer.query(prefix)[0][1]
        return marks if stem.startswith(prefix) else marks | self._having(state, stem)

    def _having(self, state: _State, term: str) -> Array:
        """Mark the texts with a term."""
        marks = np.zeros(state.n, dtype=bool)
        number = np.array([self.vocabulary.term(term)])
        for one, first in zip(state.segments, state.first, strict=False):
            place = int(one.places(number)[0])
            if place >= 0:
                rows = one.rows[one.starts[place] : one.starts[place + 1]]
                marks[first + rows.astype(np.int64)] = True
        return marks

    def _containing(self, state: _State, phrase: str) -> Array | None:
        """Mark the texts that contain words one after the other; None for a phrase without any."""
        wanted = self.vocabulary.analyzer.query(phrase)
        if len(wanted) <= 1:
            return self._having(state, wanted[0][1]) if wanted else None
        terms = self.vocabulary.analyzer.stems(split_words(normalise(phrase)))
        numbers = np.array([self.vocabulary.term(term) for term in terms], dtype=np.int64)
        marks = np.zeros(state.n, dtype=bool)
        if (numbers < 0).any():
            return marks
        for one, first in zip(state.segments, state.first, strict=False):
            places = one.places(numbers)
            if (places >= 0).all():
                marks[first + _phrase_rows(one, numbers, places)] = True
        return marks


def _phrase_rows(segment: WordSegment, numbers: Array, places: Array) -> Array:
    """Return the rows of a segment in which some terms follow one another."""
    block = segment.block
    sizes = segment.starts[places + 1] - segment.starts[places]
    rarest = int(np.argmin(sizes))
    if sizes[rarest] * _FEW < len(block):
        begin = segment.starts[places[rarest]]
        rows = segment.rows[begin : begin + sizes[rarest]]
        tokens = ranges(block.starts[rows], block.starts[rows + 1] - block.starts[rows])
        tokens = tokens[block.vocabulary.term_of[block.tokens[tokens]] == numbers[rarest]]
    else:
        tokens = np.flatnonzero(block.all_terms == numbers[rarest])
    row = np.searchsorted(block.starts, tokens, side="right") - 1
    start = tokens - rarest
    fits = (start >= block.starts[row]) & (start + numbers.size <= block.starts[row + 1])
    row, start = row[fits], start[fits]
    for offset, number in enumerate(numbers.tolist()):
        fits = block.vocabulary.term_of[block.tokens[start + offset]] == number
        row, start = row[fits], start[fits]
    return np.unique(row)


def _deviation(scores: Array, count: int) -> float:
    """Compute the standard deviation of scores over a number of items."""
    count = max(1, count)
    mean = float(scores.sum()) / count
    if not mean:
        return 0.0
    spread = float(np.dot(scores, scores)) / count - mean * mean
    deviation = math.sqrt(max(spread, 0.0))
    # Where all items have the same score, words tell nothing apart.
    return deviation if deviation > 1e-6 * mean else mean


def _spoken(analyzer: Analyzer, name: str) -> list[str]:
    """Return the different terms of a name that have letters."""
    terms = {term for _, term, _ in analyzer.query(name)}
    # Single characters are searched for as well where there are no spaces.
    terms |= set(analyzer.stems(split_words(normalise(name))))
    return sorted(term for term in terms if any(map(str.isalpha, term)))


def _range(ordered: Any, name: Callable[[Any], str], prefix: str) -> tuple[int, int]:
    """Return where the ordered names with a beginning start and end."""
    low = bisect_left(ordered, prefix, key=name)
    # No character is larger than this one.
    return low, bisect_left(ordered, prefix + "\U0010ffff", lo=low, key=name)


def _names(analyzer: Analyzer, ids: Sequence[str], texts: Sequence[str]) -> tuple[Array, Array]:
    """Return the hashes of ids and titles, in order, and their rows."""
    found: set[tuple[int, int]] = set()
    for row, (name, text) in enumerate(zip(ids, texts, strict=True)):
        # Of a long text only the first line is split off.
        title = next(iter(text.lstrip().partition("\n")[0].splitlines()), "")
        hashes = (_hash(analyzer.key(one)) for one in (name, title))
        found.update((key, row) for key in hashes if key is not None)
    pairs = sorted(found)
    keys = np.array([key for key, _ in pairs], dtype=np.int64)
    return keys, np.array([row for _, row in pairs], dtype=np.int32)


def _hash(key: str) -> int | None:
    """Hash a name to a positive integer; None for a name without letters and digits."""
    if not key:
        return None
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") >> 2
