"""Word search: an inverted index with positions, scored by BM25.

The items of the last fit or save are in arrays, which may be memory-mapped; the words of items
added later are kept in memory next to them. Every word is indexed, frequent ones as well, so
that phrases are found; frequent words do not count in the length of a text.

The arrays, with V terms in the order of their UTF-8 bytes and n items:

    word_characters      all terms, one after the other, in UTF-8
    word_ends            V + 1 offsets into them
    word_starts          V + 1 offsets into rows and counts
    word_rows            for each term the rows of the items that contain it, in order
    word_counts          how often
    word_titles          how often in the title
    word_positions       at which positions; for each item of each term in order
    word_occurrences     V + 1 offsets into the positions
    word_lengths         n lengths
    title_lengths        n lengths of the titles
    name_keys, name_rows hashes of ids and titles, in order, and their rows

The title is the first line of a text with several lines. Its words count more than others, and
the words in the names of an item's labels (``label_words``) count as words of the item, though
less.
"""

from __future__ import annotations

import hashlib
import math
import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from .._typing import Array
from ..errors import InvalidFile
from .analysis import Analyzer
from .label_words import LABEL_ARRAYS, LabelWords, offsets_rise, within
from .query_syntax import ParsedQuery
from .results import Item

__all__ = [
    "PLAIN",
    "WORD_ARRAYS",
    "FieldWeights",
    "WordIndex",
    "WordMatch",
    "WordScores",
    "name_hashes",
    "title_size",
]

# Usual parameters of BM25.
K1, B = 1.2, 0.75
_ROW_BITS = 32
_MOST_NUMBERS = 1 << 18
_MISSING = -1

WORD_ARRAYS = {
    "word_characters": "|u1",
    "word_ends": "<i8",
    "word_starts": "<i8",
    "word_rows": "<i4",
    "word_counts": "<i4",
    "word_titles": "<i4",
    "word_positions": "<i4",
    "word_occurrences": "<i8",
    "word_lengths": "<i4",
    "title_lengths": "<i4",
    "name_keys": "<i8",
    "name_rows": "<i4",
    **LABEL_ARRAYS,
}


@dataclass(frozen=True)
class FieldWeights:
    """How often a word of the title counts, and a word in the name of a label."""

    title: float = 2.0
    label: float = 0.5


# Only the text, each of its words once.
PLAIN = FieldWeights(1.0, 0.0)


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
        Share of the query's words that an item has, each weighted by its rarity.
    most : float
        The largest score that a text could have.
    deviation : float
        Standard deviation of the scores over all items; 0 if no item has any of the words.
    allowed : array of shape (n,) or None
        Marks the items with all phrases and without what is excluded; None if all are allowed.
    """

    scores: Array
    coverage: Array
    most: float
    deviation: float
    allowed: Array | None


class WordIndex:
    """Inverted index of the texts of items, by the rows of the store."""

    def __init__(
        self,
        analyzer: Analyzer,
        arrays: Mapping[str, Array],
        weights: FieldWeights | None = None,
    ) -> None:
        self.analyzer = analyzer
        self.arrays = dict(arrays)
        self.weights = FieldWeights() if weights is None else weights
        self.labels = LabelWords(analyzer, arrays, len(arrays["word_lengths"]))
        self._characters = arrays["word_characters"]
        self._ends, self._starts = arrays["word_ends"], arrays["word_starts"]
        self._occurrences = arrays["word_occurrences"]
        self._count = len(self._ends) - 1
        # Looking for a term among all takes many steps.
        self._numbers: dict[str, int] = {}
        self._tail = _Tail(len(arrays["word_lengths"]))
        # Items added later are split into words when a search first needs them.
        self._pending: list[Item] = []
        self._lock = threading.Lock()
        self._lengths = np.asarray(arrays["word_lengths"])
        if self.weights.title != 1:
            self._lengths = self._lengths + (self.weights.title - 1) * arrays["title_lengths"]
        self._total = float(np.sum(self._lengths, dtype=np.float64))
        self._gone: Array | None = None
        self._alive = len(self._lengths)

    @classmethod
    def build(
        cls, analyzer: Analyzer, items: Sequence[Item], weights: FieldWeights | None = None
    ) -> Self:
        """Index the texts, ids, titles and labels of items."""
        lookup: dict[str, int] = {}
        terms, positions = array("i"), array("i")
        sizes, lengths = array("q"), array("i")
        title_sizes, title_lengths = array("q"), array("i")
        for item in items:
            own, places, length = analyzer.terms(item.text)
            size, title_length = title_size(analyzer, item.text)
            title_sizes.append(size)
            title_lengths.append(title_length)
            terms.extend([lookup.setdefault(term, len(lookup)) for term in own])
            positions.extend(places)
            sizes.append(len(own))
            lengths.append(length)
        words = sorted(lookup)
        encoded = [word.encode() for word in words]
        order_of = np.empty(len(words), dtype=np.int32)
        order_of[[lookup[word] for word in words]] = np.arange(len(words), dtype=np.int32)
        numbers = (
            order_of[np.frombuffer(terms, dtype=np.int32)] if len(terms) else np.zeros(0, "i4")
        )
        each = np.array(sizes, dtype=np.int64)
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), each)
        within_item = np.arange(len(rows)) - np.repeat(np.cumsum(each) - each, each)
        in_title = within_item < np.repeat(np.array(title_sizes, dtype=np.int64), each)
        # Stable, so that rows and positions stay in order within a term.
        order = np.argsort(numbers, kind="stable")
        numbers, rows = numbers[order], rows[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (numbers[1:] != numbers[:-1]) | (rows[1:] != rows[:-1])
        begins = np.flatnonzero(first)
        bounds = np.arange(len(words) + 1)
        keys, named = _sorted_names(analyzer, items)
        titles = np.concatenate([[0], np.cumsum(in_title[order])])[np.append(begins, len(order))]
        return cls(
            analyzer,
            {
                "word_characters": np.frombuffer(b"".join(encoded), dtype=np.uint8),
                "word_ends": np.concatenate([[0], np.cumsum([len(one) for one in encoded])]).astype(
                    np.int64
                ),
                "word_starts": np.searchsorted(numbers[begins], bounds).astype(np.int64),
                "word_rows": rows[begins],
                "word_counts": np.diff(np.append(begins, len(order))).astype(np.int32),
                "word_titles": np.diff(titles).astype(np.int32),
                "word_positions": _int32(positions)[order],
                "word_occurrences": np.searchsorted(numbers, bounds).astype(np.int64),
                "word_lengths": np.array(lengths, dtype=np.int32),
                "title_lengths": np.array(title_lengths, dtype=np.int32),
                "name_keys": keys,
                "name_rows": named,
                **LabelWords.build(analyzer, [item.labels for item in items]).arrays,
            },
            weights,
        )

    def relabelled(self, labels: Sequence[tuple[str, ...] | None]) -> Self:
        """Return the index of the same texts with the labels in new arrays."""
        found = LabelWords.build(self.analyzer, labels).arrays
        return type(self)(self.analyzer, {**self.arrays, **found}, self.weights)

    @classmethod
    def read(
        cls, analyzer: Analyzer, arrays: Mapping[str, Array], count: int, *, check: bool = True
    ) -> Self:
        """Make the index from arrays in files, if they fit together and have ``count`` items.

        Without ``check``, it is known that they do.
        """
        if not check:
            return cls(analyzer, arrays)
        wrong = InvalidFile("The files of the word index do not fit together; it is damaged.")
        for name, kind in WORD_ARRAYS.items():
            if arrays[name].ndim != 1 or arrays[name].dtype != np.dtype(kind):
                raise wrong
        size = {name: len(values) for name, values in arrays.items()}
        rows, counts = arrays["word_rows"], arrays["word_counts"]
        titles = arrays["word_titles"]
        fitting = (
            size["word_lengths"] == size["title_lengths"] == count
            and size["word_rows"] == size["word_counts"] == size["word_titles"]
            and size["name_keys"] == size["name_rows"]
            and size["word_ends"] == size["word_starts"] == size["word_occurrences"] > 0
            and offsets_rise(arrays["word_ends"], size["word_characters"])
            and offsets_rise(arrays["word_starts"], size["word_rows"])
            and offsets_rise(arrays["word_occurrences"], size["word_positions"])
            and within(rows, count)
            and within(arrays["name_rows"], count)
            and within(arrays["word_lengths"], 1 << 31)
            and within(arrays["title_lengths"], 1 << 31)
            and (not len(counts) or int(counts.min()) > 0)
            and (not len(titles) or (int(titles.min()) >= 0 and bool((titles <= counts).all())))
        )
        if not fitting or not np.array_equal(
            np.diff(arrays["word_occurrences"]),
            np.diff(
                np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[arrays["word_starts"]]
            ),
        ):
            raise wrong
        LabelWords.read(analyzer, arrays, count)
        return cls(analyzer, arrays)

    def append(self, items: Iterable[Item]) -> None:
        """Add items after the last row."""
        with self._lock:
            self._pending += items

    def _take_pending(self) -> None:
        with self._lock:
            for item in self._pending:
                terms, positions, length = self.analyzer.terms(item.text)
                size, title = title_size(self.analyzer, item.text)
                weighted = length + (self.weights.title - 1) * title
                self.labels.put(self._tail.first + len(self._tail.lengths), item.labels)
                self._tail.add(terms, positions, weighted, name_hashes(self.analyzer, item), size)
                self._total += weighted
                self._alive += 1
            self._pending = []
            if self._gone is not None and len(self._gone) < len(self):
                new = np.zeros(len(self) - len(self._gone), dtype=bool)
                self._gone = np.concatenate([self._gone, new])

    def relabel(self, row: int, labels: tuple[str, ...] | None) -> None:
        """Change the labels of an item."""
        self._take_pending()
        with self._lock:
            self.labels.put(row, labels)

    def labelled(self, label: str) -> Array:
        """Return the rows of the items with a label, in order; removed ones too."""
        self._take_pending()
        return self.labels.with_label(label)

    def label_counts(self, alive: Array) -> dict[str, int]:
        """Count the items with each label among those that are there."""
        self._take_pending()
        return self.labels.counts(alive)

    def drop(self, rows: Array) -> None:
        """Take items out: they are not found, and do not count in any statistic."""
        if not len(rows):
            return
        self._take_pending()
        with self._lock:
            gone = np.zeros(len(self), dtype=bool) if self._gone is None else self._gone.copy()
            rows = np.asarray(rows, dtype=np.intp)[~gone[rows]]
            gone[rows] = True
            self._gone = gone
            self._total -= float(self._length(rows).sum())
            self._alive -= len(rows)

    def __len__(self) -> int:
        return self._tail.first + len(self._tail.lengths) + len(self._pending)

    @property
    def unchanged(self) -> bool:
        """Whether the arrays hold the texts of all items, and only these."""
        return not self._tail.lengths and not self._pending and self._gone is None

    # --- searching --------------------------------------------------------------------

    def named(self, text: str) -> Array:
        """Return the rows of the items whose id or title is a text, apart from case and signs."""
        self._take_pending()
        key = _hash(self.analyzer.key(text))
        if key is None:
            return np.zeros(0, dtype=np.intp)
        keys = self.arrays["name_keys"]
        begin, end = np.searchsorted(keys, [key, key + 1])
        early = np.asarray(self.arrays["name_rows"][begin:end], dtype=np.intp)
        late = np.array(self._tail.names.get(key, []), dtype=np.intp)
        return np.unique(np.concatenate([early, late]))

    def frequency(self, term: str) -> int:
        """Return the number of items whose text has a term."""
        self._take_pending()
        number = self._number(term)
        early = 0 if number is None else int(self._starts[number + 1] - self._starts[number])
        return early + len(self._tail.terms.get(term, ((),))[0])

    def score(self, query: ParsedQuery) -> WordScores:
        """Compute BM25 of all items, and which of them a query allows."""
        self._take_pending()
        scores, coverage = np.zeros(len(self)), np.zeros(len(self))
        most = rarity = 0.0
        for match in self.matches(query):
            scores[match.rows] += match.scores
            coverage[match.rows] += match.rarity
            most += match.most
            rarity += match.rarity
        if rarity:
            coverage /= rarity
        count = max(1, self._alive)
        mean = float(scores.sum()) / count
        spread = float(np.dot(scores, scores)) / count - mean * mean
        found = float(scores.max(initial=0.0)) > 0
        # Where all items have the same score, words tell nothing apart.
        deviation = math.sqrt(max(spread, 0.0)) if found else 0.0
        if found and deviation <= 1e-9 * mean:
            deviation = mean
        return WordScores(scores, coverage, most, deviation, self._allowed(query))

    def matches(self, query: ParsedQuery) -> list[WordMatch]:
        """Find the items with each word; frequent words count only if there are no others."""
        self._take_pending()
        words = [
            word for part in (*query.words, *query.phrases) for word in self.analyzer.query(part)
        ]
        beginnings: dict[str, int] = {}
        for part in query.prefixes:
            *before, last = self.analyzer.query(part) or [("", "", True)]
            words += before
            if last[0]:
                beginnings[last[0]] = beginnings.get(last[0], 0) + 1
        if not all(common for *_, common in words) or beginnings:
            words = [word for word in words if not word[2]]
        times: dict[str, int] = {}
        shown: dict[str, str] = {}
        for word, term, _ in words:
            times[term] = times.get(term, 0) + 1
            shown.setdefault(term, word)
        found = [self._match(shown[term], [term], many) for term, many in times.items()]
        found += [
            self._match(f"{start}*", self._starting(start), many)
            for start, many in beginnings.items()
        ]
        return found

    def _match(self, word: str, terms: Sequence[str], times: int) -> WordMatch:
        """Score one word, or several that count as one."""
        parts = [part for part in map(self._weighted, terms) if len(part[0])]
        if len(parts) == 1:
            rows, counts = parts[0]
        elif parts:
            every = np.concatenate([rows for rows, _ in parts])
            rows, place = np.unique(every, return_inverse=True)
            counts = np.bincount(place, weights=np.concatenate([own for _, own in parts]))
        else:
            rows, counts = np.zeros(0, dtype=np.intp), np.zeros(0)
        if self._gone is not None:
            here = ~self._gone[rows]
            rows, counts = rows[here], counts[here]
        n, having = self._alive, len(rows)
        rarity = times * math.log1p((n - having + 0.5) / (having + 0.5))
        average = self._total / n if self._total else 1.0
        shrunk = K1 * (1 - B + B * self._length(rows) / average)
        scores = rarity * (K1 + 1) * counts / (counts + shrunk)
        return WordMatch(word, rows, scores, rarity * (K1 + 1), rarity)

    def _length(self, rows: Array) -> Array:
        late = rows >= self._tail.first
        if not late.any():
            return np.asarray(self._lengths[rows])
        out = np.empty(len(rows))
        out[~late] = self._lengths[rows[~late]]
        out[late] = np.array(self._tail.lengths)[rows[late] - self._tail.first]
        return out

    def _allowed(self, query: ParsedQuery) -> Array | None:
        """Mark the items with all phrases and without what is excluded."""
        allowed: Array | None = None
        for phrase in query.phrases:
            rows = self._containing(phrase)
            if rows is not None:
                marks = np.zeros(len(self), dtype=bool)
                marks[rows] = True
                allowed = marks if allowed is None else allowed & marks
        if query.excludes:
            allowed = np.ones(len(self), dtype=bool) if allowed is None else allowed
            for part in (*query.without, *query.without_phrases):
                rows = self._containing(part)
                if rows is not None:
                    allowed[rows] = False
            for part in query.without_prefixes:
                *_, last = self.analyzer.query(part) or [("", "", True)]
                for term in self._starting(last[0]) if last[0] else ():
                    allowed[self._postings(term)[0]] = False
        return allowed

    def _containing(self, phrase: str) -> Array | None:
        """Return the rows of the texts that contain words one after the other."""
        words = self.analyzer.query(phrase)
        if not words:
            return None
        if len(words) == 1:
            return self._postings(words[0][1])[0]
        left: Array | None = None
        for offset, (_, term, _) in enumerate(words):
            places = self._places(term) - offset
            left = places if left is None else np.intersect1d(left, places, assume_unique=True)
            if not len(left):
                break
        assert left is not None
        return np.unique(left >> _ROW_BITS)

    # --- terms ------------------------------------------------------------------------

    def _postings(self, term: str) -> tuple[Array, Array]:
        """Return the rows with a term, in order, and how often each has it."""
        number = self._number(term)
        late_rows, late_counts, _ = self._tail.postings(term)
        if number is None:
            return late_rows, late_counts
        own = slice(int(self._starts[number]), int(self._starts[number + 1]))
        rows = np.asarray(self.arrays["word_rows"][own], dtype=np.intp)
        counts = np.asarray(self.arrays["word_counts"][own])
        if len(late_rows):
            return np.concatenate([rows, late_rows]), np.concatenate([counts, late_counts])
        return rows, counts

    def _weighted(self, term: str) -> tuple[Array, Array]:
        """Return the rows with a term in text or labels, in order, and its weight in each."""
        rows, counts = self._postings(term)
        if self.weights.title != 1:
            counts = counts + (self.weights.title - 1) * self._title_counts(term)
        if not self.weights.label:
            return rows, counts
        labelled = self.labels.with_term(term)
        if not len(labelled):
            return rows, counts
        together = np.union1d(rows, labelled)
        weights = np.zeros(len(together))
        weights[np.searchsorted(together, rows)] = counts
        weights[np.searchsorted(together, labelled)] += self.weights.label
        return together, weights

    def _title_counts(self, term: str) -> Array:
        """Return how often the titles of the rows with a term have it."""
        number = self._number(term)
        late = np.array(self._tail.titles.get(term, ()), dtype=np.int32)
        if number is None:
            return late
        own = slice(int(self._starts[number]), int(self._starts[number + 1]))
        return np.concatenate([self.arrays["word_titles"][own], late])

    def _places(self, term: str) -> Array:
        """Return all places of a term as one number each: row times 2**32 plus position."""
        rows, counts = self._postings(term)
        number = self._number(term)
        positions = self._tail.postings(term)[2]
        if number is not None:
            own = slice(int(self._occurrences[number]), int(self._occurrences[number + 1]))
            positions = np.concatenate([self.arrays["word_positions"][own], positions])
        return (np.repeat(rows.astype(np.int64), counts) << _ROW_BITS) + positions

    def _number(self, term: str) -> int | None:
        known = self._numbers.get(term)
        if known is None:
            key = term.encode()
            known = self._first(key)
            if known == self._count or self._term(known) != key:
                known = _MISSING
            if len(self._numbers) >= _MOST_NUMBERS:
                self._numbers.clear()
            self._numbers[term] = known
        return None if known == _MISSING else known

    def _term(self, number: int) -> bytes:
        ends = self._ends
        return bytes(self._characters[int(ends[number]) : int(ends[number + 1])])

    def _first(self, key: bytes) -> int:
        """Return the number of the first term that is not before a key."""
        return bisect_left(range(self._count), key, key=self._term)

    def _starting(self, beginning: str) -> list[str]:
        """Return the terms with a beginning, and the stem of the beginning itself."""
        key = beginning.encode()
        # In UTF-8 no byte is 255, so this is after all terms with the beginning.
        numbers = range(self._first(key), self._first(key + b"\xff"))
        found = {self._term(number).decode(errors="replace") for number in numbers}
        found |= {term for term in self._tail.terms if term.startswith(beginning)}
        found |= self.labels.terms_starting(beginning)
        found |= {term for _, term, _ in self.analyzer.query(beginning)}
        return sorted(found)


class _Tail:
    """Words of the items that were added after the arrays were made."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.lengths: list[float] = []
        self.names: dict[int, list[int]] = {}
        # For each term its rows, counts and positions.
        self.terms: dict[str, tuple[list[int], list[int], list[int]]] = {}
        # And how often its titles have it.
        self.titles: dict[str, list[int]] = {}

    def add(
        self,
        terms: Sequence[str],
        positions: Sequence[int],
        length: float,
        names: set[int],
        title: int,
    ) -> None:
        """Add one text, whose first ``title`` terms are those of its title."""
        row = self.first + len(self.lengths)
        own: dict[str, list[int]] = {}
        for term, position in zip(terms, positions, strict=True):
            own.setdefault(term, []).append(position)
        for term, places in own.items():
            rows, counts, all_places = self.terms.setdefault(term, ([], [], []))
            rows.append(row)
            counts.append(len(places))
            all_places += places
            self.titles.setdefault(term, []).append(0)
        for term in terms[:title]:
            self.titles[term][-1] += 1
        for key in names:
            self.names.setdefault(key, []).append(row)
        self.lengths.append(length)

    def postings(self, term: str) -> tuple[Array, Array, Array]:
        """Return rows, counts and positions of a term."""
        rows, counts, positions = self.terms.get(term, ((), (), ()))
        return (
            np.array(rows, dtype=np.intp),
            np.array(counts, dtype=np.int32),
            np.array(positions, dtype=np.int64),
        )


def name_hashes(analyzer: Analyzer, item: Item) -> set[int]:
    """Return the hashes of an item's id and title."""
    # Of a long text only the first line is split off.
    first = next(iter(item.text.lstrip().partition("\n")[0].splitlines()), "")
    return {key for name in (item.id, first) if (key := _hash(analyzer.key(name))) is not None}


def title_size(analyzer: Analyzer, text: str) -> tuple[int, int]:
    """Return the number of terms in the title of a text, and how many are not frequent words.

    A text of one line has none: it may be a sentence.
    """
    first, _, rest = text.lstrip().partition("\n")
    if not rest.strip():
        return 0, 0
    return analyzer.size(first)


def _sorted_names(analyzer: Analyzer, items: Sequence[Item]) -> tuple[Array, Array]:
    pairs = sorted(
        (key, row) for row, item in enumerate(items) for key in name_hashes(analyzer, item)
    )
    keys = np.array([key for key, _ in pairs], dtype=np.int64)
    return keys, np.array([row for _, row in pairs], dtype=np.int32)


def _hash(key: str) -> int | None:
    """Hash a name to a positive integer; None for a name without letters and digits."""
    if not key:
        return None
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") >> 2


def _int32(numbers: array[int]) -> Array:
    return np.frombuffer(numbers, dtype=np.int32) if len(numbers) else np.zeros(0, dtype=np.int32)
