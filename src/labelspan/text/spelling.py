"""Near spellings of a word among known words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Array

__all__ = ["near_spellings"]

# Words that are compared letter by letter, those with the most pairs of letters in common.
_COMPARED = 60


def near_spellings(word: str, words: Sequence[str], counts: Array, n: int = 3) -> list[str]:
    """Return known words that differ from a word by a typing error or two, the nearest first.

    Among equally near words the more frequent comes first. A word of up to three letters may
    differ by nothing, one of up to five by one error, longer ones by two.

    Parameters
    ----------
    word : str
        Normalised.
    words : sequence of str
    counts : array
        How frequent each word is; words that are not there any more have 0.
    n : int, default=3
        The maximum number of words.
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
    """Count the letters to insert, delete, replace or exchange with the next."""
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
