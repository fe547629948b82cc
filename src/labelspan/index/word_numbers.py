"""Words of many texts as numbers, found in arrays of bytes instead of one string for each.

The words of a part are compared by their bytes in UTF-8, eight at a time, which are sorted as
numbers; only different words become strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeVar

import numpy as np

from .._typing import Array
from .analysis import TOKENS, UNSPACED_CHARACTER, ascii_words

__all__ = ["WordNumbers", "number_words"]

# Characters of a part, in ASCII or not: its arrays take 12 or 30 times as many bytes.
_PARTS = {True: 1 << 24, False: 1 << 22}
# Words longer than these bytes are compared as strings.
_LONG = 64
_KEPT = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_NONE, _SPACED, _UNSPACED = range(3)


_Word = TypeVar("_Word", str, bytes)


class WordNumbers(dict[_Word, int]):
    """Number of each word, in the order in which they first come."""

    def __missing__(self, word: _Word) -> int:
        number = self[word] = len(self)
        return number


def number_words(texts: Sequence[str]) -> tuple[list[str], Array, Array]:
    """Split normalised texts into words, as :func:`~labelspan.index.analysis.split_words` does.

    Texts in ASCII may have capitals, which are lowered. Return the different words, in the order
    in which they first come; their numbers in all texts, one text after the other; and where each
    text begins.

    Examples
    --------
    >>> from labelspan.index.word_numbers import number_words
    >>> words, tokens, starts = number_words(["a bee", "Bee, sea"])
    >>> words, tokens, starts
    (['a', 'bee', 'sea'], array([0, 1, 1, 2], dtype=int32), array([0, 2, 4]))
    """
    numbers: WordNumbers[bytes] = WordNumbers()
    counts = np.zeros(len(texts), dtype=np.int64)
    found: list[tuple[Array, Array]] = []
    for rows, part in _parts(texts):
        tokens, sizes = _part_words([texts[row] for row in part], numbers)
        counts[rows] = sizes
        found.append((rows, tokens))
    starts = np.concatenate([[0], np.cumsum(counts)])
    if len(found) == 1:
        return [word.decode() for word in numbers], found[0][1], starts
    every = np.empty(int(starts[-1]), dtype=np.int32)
    for rows, tokens in found:
        sizes = counts[rows]
        shift = starts[rows] - (np.cumsum(sizes) - sizes)
        every[np.repeat(shift, sizes) + np.arange(tokens.size)] = tokens
    words, tokens = _in_order(list(numbers), every)
    return [word.decode() for word in words], tokens, starts


def _in_order(words: list[bytes], tokens: Array) -> tuple[list[bytes], Array]:
    """Give words numbers in the order in which they come."""
    order = np.argsort(_first(tokens, len(words)))
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size)
    return [words[number] for number in order.tolist()], place[tokens]


def _first(numbers: Array, count: int) -> Array:
    """Return where each number first comes; beyond the end for one that does not."""
    first = np.full(count, numbers.size)
    first[numbers[::-1]] = np.arange(numbers.size)[::-1]
    return first


def _parts(texts: Sequence[str]) -> Iterator[tuple[Array, list[int]]]:
    """Yield the rows of texts that are split together: all in ASCII, or none."""
    waiting: dict[bool, list[int]] = {True: [], False: []}
    sizes = {True: 0, False: 0}
    for row, text in enumerate(texts):
        kind = text.isascii()
        waiting[kind].append(row)
        sizes[kind] += len(text)
        if sizes[kind] >= _PARTS[kind]:
            yield np.array(waiting[kind]), waiting[kind]
            waiting[kind], sizes[kind] = [], 0
    for rows in waiting.values():
        if rows:
            yield np.array(rows), rows


def _part_words(texts: list[str], numbers: WordNumbers[bytes]) -> tuple[Array, Array]:
    """Return the numbers of the words of all texts, and how many each has."""
    joined = "\n".join(texts)
    ends = np.cumsum([len(text) + 1 for text in texts])
    if joined.isascii():
        content = ascii_words(joined.encode())
        begin, end = _bounds(np.frombuffer(content, dtype=np.uint8) != ord(" "))
        sizes = np.diff(np.searchsorted(begin, ends), prepend=0)
    else:
        content = joined.encode()
        codes = np.frombuffer(joined.encode("utf-32-le"), dtype="<u4")
        begin, end = _bounds(_kinds()[codes])
        sizes = np.diff(np.searchsorted(begin, ends), prepend=0)
        places = np.ones(codes.size + 1, dtype=np.int64)
        places[0] = 0
        for most in (0x7F, 0x7FF, 0xFFFF):
            places[1:] += codes > most
        np.cumsum(places, out=places)
        begin, end = places[begin], places[end]
    same = _numbered(content, begin, end - begin)
    first = _first(same, int(same.max(initial=-1)) + 1)
    there = np.flatnonzero(first < same.size)
    there = there[np.argsort(first[there])]
    own = np.zeros(first.size, dtype=np.int32)
    own[there] = [
        numbers[content[start:stop]]
        for start, stop in zip(
            begin[first[there]].tolist(), end[first[there]].tolist(), strict=True
        )
    ]
    return own[same], sizes


def _bounds(kinds: Array) -> tuple[Array, Array]:
    """Return where words begin and end; characters of a script without spaces are words."""
    edge = np.ones(kinds.size + 1, dtype=bool)
    edge[1:-1] = (kinds[1:] != kinds[:-1]) | (kinds[1:] == _UNSPACED)
    edges = np.flatnonzero(edge)
    inside = np.flatnonzero(kinds[edges[:-1]]) if kinds.size else np.zeros(0, dtype=np.int64)
    return edges[inside], edges[inside + 1]


def _numbered(content: bytes, begin: Array, sizes: Array) -> Array:
    """Give words numbers so that only equal ones have the same number."""
    padded = np.frombuffer(content + bytes(8), dtype=np.uint8)
    # The eight bytes from every place on, as a number.
    eights = np.lib.stride_tricks.as_strided(
        padded[:8].view("<u8"), shape=(padded.size - 7,), strides=(1,), writeable=False
    )
    found, count = _ranks(eights[begin] & _KEPT[np.minimum(sizes, 8)])
    for done in range(8, _LONG, 8):
        longer = np.flatnonzero(sizes > done)
        if not longer.size:
            return found
        kept = _KEPT[np.minimum(sizes[longer] - done, 8)]
        more, different = _ranks(eights[begin[longer] + done] & kept)
        ranks, new = _ranks(found[longer] * different + more)
        found[longer] = count + ranks
        count += new
    others: dict[bytes, int] = {}
    for word in np.flatnonzero(sizes > _LONG).tolist():
        start = int(begin[word])
        whole = content[start : start + int(sizes[word])]
        found[word] = count + others.setdefault(whole, len(others))
    return found


def _ranks(keys: Array) -> tuple[Array, int]:
    """Return the rank of each key among the different ones, and their number."""
    order = np.argsort(keys)
    ordered = keys[order]
    new = np.ones(keys.size, dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    rank = np.cumsum(new) - 1
    found = np.empty(keys.size, dtype=np.int64)
    found[order] = rank
    return found, int(rank[-1]) + 1 if keys.size else 0


@cache
def _kinds() -> Array:
    """Return for every character whether it is in words, or a word by itself."""
    every = "".join(map(chr, range(0x110000)))
    found = np.full(len(every), _NONE, dtype=np.uint8)
    for match in TOKENS.finditer(every):
        found[match.start() : match.end()] = _SPACED
    for match in re.finditer(f"{UNSPACED_CHARACTER.pattern}+", every):
        found[match.start() : match.end()] = _UNSPACED
    return found
