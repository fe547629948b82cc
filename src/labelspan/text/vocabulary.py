"""Texts as word numbers: each text is split once, and each different word is stemmed once.

A vocabulary numbers the surface words in the order in which they first come, and grows with every
block of texts. A block keeps one array with the word numbers of all its texts. Everything else
(stems, pairs, parts of words, counts, postings) is computed from these arrays.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Self

import numpy as np

from .._typing import Array
from ..errors import InvalidFile
from .analysis import RUNS, Analyzer, first_line, has_unspaced, is_unspaced, normalise, split_words

__all__ = [
    "Numbers",
    "TextBlock",
    "Vocabulary",
    "checked_parts",
    "offsets_rise",
    "pack_strings",
    "ranges",
    "require",
    "unpack_strings",
    "within",
]

_DAMAGED = "The files of the words do not match; the index is damaged."


class Numbers(dict[str, int]):
    """Number of each string, in order of first appearance."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number


class Vocabulary:
    r"""Numbers of words and of their terms; it grows as texts are added.

    A term is the unit of search: the stem of a word, or in scripts without spaces a character
    or a pair of neighbouring characters.

    Examples
    --------
    >>> from labelspan.text import Vocabulary
    >>> vocabulary = Vocabulary("en")
    >>> block = vocabulary.number(["Chess\nA game of chess", "Games"])
    >>> vocabulary.words
    ['chess', 'a', 'game', 'of', 'games']
    >>> block.tokens, block.starts, block.titles
    (array([0, 1, 2, 3, 0, 4], dtype=int32), array([0, 5, 6]), array([1, 0], dtype=int32))
    >>> [vocabulary.terms[term] for term in block.all_terms]
    ['chess', 'a', 'game', 'of', 'chess', 'game']
    """

    def __init__(self, language: str = "none") -> None:
        self.analyzer = Analyzer(language)
        self.words: list[str] = []
        self.terms: list[str] = []
        self.term_of = np.zeros(0, dtype=np.int32)
        self.common = np.zeros(0, dtype=bool)
        self.unspaced = np.zeros(0, dtype=bool)
        self._words = Numbers()
        self._terms = Numbers()
        self._lock = threading.Lock()

    @property
    def language(self) -> str:
        """Code of the language."""
        return self.analyzer.language

    def __len__(self) -> int:
        return len(self.words)

    def term(self, term: str) -> int:
        """Return the number of a term; -1 if no text has it."""
        return self._terms.get(term, -1)

    def number(self, texts: Iterable[str]) -> TextBlock:
        """Split texts into words and number them; new words are added.

        The title is the first line of a text that has more than one.
        """
        tokens, starts, titles, runs = array("i"), array("q", [0]), array("i"), array("q")
        with self._lock:
            number = self._words.__getitem__
            for text in texts:
                plain = normalise(text)
                line, titled = first_line(plain)
                titles.append(len(split_words(line)) if titled else 0)
                if has_unspaced(plain):
                    for run in RUNS.findall(plain):
                        unspaced = is_unspaced(run)
                        if unspaced:
                            runs.append(len(tokens))
                        tokens.extend(map(number, run if unspaced else (run,)))
                else:
                    tokens.extend(map(number, split_words(plain)))
                starts.append(len(tokens))
            self._grow()
        return TextBlock(
            self,
            _array(tokens, "i4"),
            _array(starts, "i8"),
            _array(titles, "i4"),
            _array(runs, "i8"),
        )

    def pair_terms(self, first: Array, second: Array) -> Array:
        """Return the term numbers of character pairs, given the numbers of both characters."""
        keys, place = np.unique(first.astype(np.int64) << 32 | second, return_inverse=True)
        words = self.words
        with self._lock:
            found = [
                self._terms[words[a] + words[b]]
                for a, b in zip((keys >> 32).tolist(), (keys & 0xFFFFFFFF).tolist(), strict=True)
            ]
            self._grow()
        return np.array(found, dtype=np.int32)[place]

    def _grow(self) -> None:
        """Stem the words added since the last call."""
        new = list(islice(self._words, len(self.words), None))
        stems = [self._terms[stem] for stem in self.analyzer.stems(new)]
        self.terms += islice(self._terms, len(self.terms), None)
        self.term_of = np.concatenate([self.term_of, np.array(stems, dtype=np.int32)])
        self._append(new)

    def _append(self, new: list[str]) -> None:
        common = self.analyzer.common
        frequent = np.array([word in common for word in new], dtype=bool)
        unspaced = np.array([not w.isascii() and is_unspaced(w) for w in new], dtype=bool)
        self.common = np.concatenate([self.common, frequent])
        self.unspaced = np.concatenate([self.unspaced, unspaced])
        self.words += new

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to store, by name."""
        return {
            "words": pack_strings(self.words),
            "term_of": self.term_of,
            "terms": pack_strings(self.terms),
        }

    @classmethod
    def from_arrays(cls, language: str, arrays: Mapping[str, Array]) -> Self:
        """Restore the vocabulary from :meth:`arrays`; raise InvalidFile if it is damaged."""
        made = cls(language)
        words, terms = unpack_strings("words", arrays), unpack_strings("terms", arrays)
        (term_of,) = checked_parts({"term_of": "i4 n"}, arrays, _DAMAGED, n=len(words))
        made._words.update(zip(words, range(len(words)), strict=True))
        made._terms.update(zip(terms, range(len(terms)), strict=True))
        different = len(made._words) == len(words) and len(made._terms) == len(terms)
        require(_DAMAGED, different, within(term_of, len(terms)))
        made.terms, made.term_of = terms, np.asarray(term_of)
        made._append(words)
        return made


@dataclass(frozen=True)
class TextBlock:
    """Word numbers of a block of texts, one text after the other."""

    vocabulary: Vocabulary
    tokens: Array
    # Where each text begins, and the end of the last.
    starts: Array
    # Number of words in the title of each text.
    titles: Array
    # Start of each run of characters of a script without spaces.
    runs: Array

    def __len__(self) -> int:
        return len(self.titles)

    def rows(self) -> Array:
        """Return the row of each token."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))

    @cached_property
    def all_terms(self) -> Array:
        """Term of each token."""
        return np.asarray(self.vocabulary.term_of[self.tokens])

    @cached_property
    def adjacent(self) -> Array:
        """Whether a token and the next are neighbouring characters of a script without spaces."""
        known = self.vocabulary.unspaced[self.tokens]
        if not known.any():
            return np.zeros(0, dtype=np.int64)
        first = np.zeros(self.tokens.size, dtype=bool)
        first[self.runs] = True
        return np.flatnonzero(known[:-1] & known[1:] & ~first[1:])

    def lengths(self) -> Array:
        """Return the number of words of each text, without frequent ones; titles count twice."""
        counted = ~self.vocabulary.common[self.tokens]
        sums = np.concatenate([[0], np.cumsum(counted)])
        starts, middle = self.starts[:-1], self.starts[:-1] + self.titles
        found = sums[self.starts[1:]] - sums[starts] + sums[middle] - sums[starts]
        return np.asarray(found, dtype=np.int32)

    def take(self, rows: Array) -> TextBlock:
        """Return some of the texts, in the given order."""
        index = np.asarray(rows, dtype=np.int64)
        if np.array_equal(index, np.arange(len(self))):
            return self
        sizes = self.starts[index + 1] - self.starts[index]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        chosen = ranges(self.starts[index], sizes)
        runs = np.zeros(self.tokens.size + 1, dtype=bool)
        runs[self.runs] = True
        return TextBlock(
            self.vocabulary,
            self.tokens[chosen],
            starts,
            self.titles[index],
            np.flatnonzero(runs[chosen]),
        )

    @classmethod
    def join(cls, blocks: Sequence[TextBlock]) -> TextBlock:
        """Concatenate blocks of one vocabulary."""
        if len(blocks) == 1:
            return blocks[0]
        offsets = np.cumsum([0, *(block.tokens.size for block in blocks)])
        pairs = list(zip(blocks, offsets.tolist(), strict=False))
        return cls(
            blocks[0].vocabulary,
            np.concatenate([block.tokens for block in blocks]),
            np.concatenate([[0], *(block.starts[1:] + offset for block, offset in pairs)]),
            np.concatenate([block.titles for block in blocks]),
            np.concatenate([block.runs + offset for block, offset in pairs]),
        )

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to store, by name."""
        return {
            "tokens": self.tokens,
            "starts": self.starts,
            "titles": self.titles,
            "runs": self.runs,
        }

    @classmethod
    def from_arrays(cls, vocabulary: Vocabulary, arrays: Mapping[str, Array]) -> TextBlock:
        """Restore the block from :meth:`arrays`; raise InvalidFile if it is damaged."""
        shapes = {"tokens": "i4 t", "starts": "i8 n+1", "titles": "i4 n", "runs": "i8 r"}
        tokens, starts, titles, runs = checked_parts(shapes, arrays, _DAMAGED)
        require(
            _DAMAGED,
            offsets_rise(starts, tokens.size),
            within(tokens, len(vocabulary)),
            within(runs, tokens.size),
            (titles >= 0).all(),
            (titles <= np.diff(starts)).all(),
        )
        return cls(vocabulary, tokens, starts, titles, runs)


def ranges(starts: Array, sizes: Array) -> Array:
    """Return the concatenated numbers of several ranges."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    found: Array = np.arange(total) + np.repeat(starts - (ends - sizes), sizes)
    return found


def pack_strings(strings: Sequence[str]) -> Array:
    """Write strings without line ends into one array of bytes."""
    return np.frombuffer("".join(f"{one}\n" for one in strings).encode(), dtype=np.uint8)


def unpack_strings(name: str, arrays: Mapping[str, Array]) -> list[str]:
    """Read strings that :func:`pack_strings` wrote."""
    (content,) = checked_parts({name: "u1 n"}, arrays, _DAMAGED)
    require(_DAMAGED, not content.size or content[-1] == ord("\n"))
    try:
        found = bytes(content).decode().split("\n")
    except UnicodeDecodeError as error:
        raise InvalidFile(_DAMAGED) from error
    return found[:-1]


def checked_parts(
    shapes: Mapping[str, str], arrays: Mapping[str, Array], message: str, **sizes: int
) -> list[Array]:
    """Return arrays by name; raise InvalidFile if one has another type or shape.

    A shape is a type and sizes, for example ``"i8 n+1"``: a name means the same size in all
    of them, which may be given.
    """
    found = []
    for name, shape in shapes.items():
        kind, *wanted = shape.split()
        part = arrays.get(name)
        if part is None or part.dtype.str[1:] != kind or part.ndim != len(wanted):
            raise InvalidFile(message)
        for size, one in zip(part.shape, wanted, strict=True):
            base, _, more = one.partition("+")
            least = int(more or 0)
            known = int(base) if base.isdigit() else sizes.setdefault(base, size - least)
            if size != known + least:
                raise InvalidFile(message)
        found.append(part)
    return found


def require(message: str, *conditions: bool | np.bool_) -> None:
    """Raise InvalidFile unless all conditions hold."""
    if not all(conditions):
        raise InvalidFile(message)


def offsets_rise(offsets: Array, end: int) -> bool:
    """Return whether offsets begin at 0, never decrease, and end at ``end``."""
    return bool(
        offsets.size and offsets[0] == 0 and offsets[-1] == end and (np.diff(offsets) >= 0).all()
    )


def within(numbers: Array, end: int) -> bool:
    """Return whether all numbers are from 0 to ``end - 1``."""
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < end)


def _array(values: array[int], kind: str) -> Array:
    return np.frombuffer(values, dtype=kind) if len(values) else np.zeros(0, dtype=kind)
