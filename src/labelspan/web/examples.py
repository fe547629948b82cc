"""Queries that have good answers: phrases of two words that a few items share."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import pairwise

__all__ = ["example_queries"]

_WORDS = re.compile(r"[^\W\d_]{3,20}")
# A phrase does not reach over these.
_BREAKS = re.compile(r"[.,;:!?()\[\]\"\n]+")
# Characters of a text that are read, and items that must have a phrase.
_BEGINNING, _LEAST_ITEMS = 600, 3
# The largest share of the items that may have it.
_MOST_ITEMS = 0.02


def example_queries(texts: Iterable[str], common: Collection[str], most: int = 3) -> list[str]:
    """Return phrases of two words that occur together in a few texts, and seldom apart.

    Parameters
    ----------
    texts : iterable of str
    common : collection of str
        Words that are in no phrase, in lower case.
    most : int, default=3
        Maximum number of phrases; no two have a word in common.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from labelspan.web.examples import example_queries
    >>> texts = ["a board game", "play a board game", "the board game"] + ["some other text"] * 300
    >>> example_queries(texts, {"some", "the"})
    ['board game']
    """
    left_out = frozenset(common)
    words: Counter[str] = Counter()
    phrases: Counter[tuple[str, str]] = Counter()
    count = 0
    for text in texts:
        count += 1
        own: set[tuple[str, str]] = set()
        seen: set[str] = set()
        for part in _BREAKS.split(text[:_BEGINNING].lower()):
            run = part.split()
            seen.update(run)
            own |= {
                (first, second)
                for first, second in pairwise(run)
                if first != second
                and first not in left_out
                and second not in left_out
                and _WORDS.fullmatch(first)
                and _WORDS.fullmatch(second)
            }
        words.update(seen)
        phrases.update(own)
    largest = max(_MOST_ITEMS * count, _LEAST_ITEMS)

    def worth(phrase: tuple[str, str]) -> float:
        both = phrases[phrase]
        # Pointwise mutual information, for as many items as there are.
        return math.sqrt(both) * math.log(both * count / (words[phrase[0]] * words[phrase[1]]))

    few = [one for one, both in phrases.items() if _LEAST_ITEMS <= both <= largest]
    found: list[tuple[str, str]] = []
    for phrase in sorted(few, key=lambda one: (-worth(one), one)):
        if len(found) == most:
            break
        if not any(set(phrase) & set(other) for other in found):
            found.append(phrase)
    return [" ".join(phrase) for phrase in found]
