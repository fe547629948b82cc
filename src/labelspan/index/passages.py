"""What a list shows of a text: title, a passage with words of the query, words of two texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..text import TOKENS, Analyzer, WordSearch, normalise, parse_query
from .results import Item

__all__ = ["Passage", "QueryWords", "SharedWords", "passage", "word_places"]

_LENGTH = 200
# Beyond this, a text is not looked through for a passage.
_LONGEST = 4000
_BEFORE = 40


class Passage(NamedTuple):
    """A title, a passage of the rest of a text, and the words in both that were searched for."""

    title: str
    text: str
    words: tuple[str, ...]


def word_places(text: str, words: Sequence[str]) -> list[tuple[int, str]]:
    """Return where some words begin in a text, in order; only whole tokens count."""
    if not words:
        return []
    either = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    found = re.finditer(rf"(?<!\w)(?:{either})(?!\w)" if text.isascii() else TOKENS, text)
    return [(one.start(), one.group()) for one in found if one.group() in words]


class QueryWords:
    """Words of a query, to be found in texts in any of their forms."""

    def __init__(self, analyzer: Analyzer, query: str) -> None:
        parsed = parse_query(query)
        self._analyzer = analyzer
        own = [word for part in (*parsed.words, *parsed.phrases) for word in analyzer.query(part)]
        if not all(common for *_, common in own) or parsed.prefixes:
            own = [word for word in own if not word[2]]
        # In scripts without spaces a term is two characters, and a token is one.
        self._terms = {term for _, term, _ in own}
        self._terms |= {one for _, term, _ in own if len(TOKENS.findall(term)) > 1 for one in term}
        self._beginnings = tuple(filter(None, (normalise(part) for part in parsed.prefixes)))
        self._known: dict[str, bool] = {}

    def places(self, text: str) -> list[tuple[int, str]]:
        """Return where words that are searched for begin, and these words."""
        tokens = set(TOKENS.findall(text))
        new = [one for one in tokens if one not in self._known]
        plain = [normalise(one) for one in new]
        for one, word, term in zip(new, plain, self._analyzer.stems(plain), strict=True):
            begins = bool(self._beginnings) and word.startswith(self._beginnings)
            self._known[one] = begins or word in self._terms or term in self._terms
        return word_places(text, [one for one in tokens if self._known[one]])


def passage(item: Item, wanted: QueryWords | None = None) -> Passage:
    """Return the title of an item and a passage of the rest, with most words that are searched for.

    Without a query, or if the rest has none of its words, it is the beginning of the rest. A title
    that was cut is repeated: a passage does not begin in the middle of a sentence.
    """
    title = item.title
    rest = " ".join(item.text[:_LONGEST].split()).removeprefix(title).strip()
    found = wanted.places(rest) if wanted is not None else []
    start = _best_start(found)
    if start > 0:
        # From the beginning of a word.
        start = rest.rfind(" ", 0, start) + 1
    part = rest[start : start + _LENGTH]
    if start + _LENGTH < len(rest):
        part = part.rsplit(" ", 1)[0]
    end = start + len(part)
    words = [] if wanted is None else [word for _, word in wanted.places(title)]
    words += [word for place, word in found if start <= place and place + len(word) <= end]
    shown = f"{'… ' if start > 0 else ''}{part}{' …' if end < len(rest) else ''}"
    return Passage(title, shown, tuple(dict.fromkeys(words)))


def _best_start(found: Sequence[tuple[int, str]]) -> int:
    """Return where the passage begins that has the most different words, the first of several."""
    best, start = 0, 0
    for n, (place, _) in enumerate(found):
        inside = {word.casefold() for at, word in found[n:] if at < place + _LENGTH - _BEFORE}
        if len(inside) > best:
            best, start = len(inside), place
    # What is near the beginning is shown from the beginning.
    return start - _BEFORE if start > _LENGTH // 2 else 0


class SharedWords:
    """Words that a text shares with others."""

    def __init__(self, words: WordSearch, text: str) -> None:
        self._words, self._analyzer = words, words.vocabulary.analyzer
        self._known = set(self._analyzer.stems(map(normalise, TOKENS.findall(text[:_LONGEST]))))

    def of(self, text: str, n: int = 5) -> list[str]:
        """Return words that another text has as well, the rarest first, as it has them."""
        found: dict[str, str] = {}
        tokens = TOKENS.findall(text[:_LONGEST])
        plain = [normalise(token) for token in tokens]
        for token, word, term in zip(tokens, plain, self._analyzer.stems(plain), strict=True):
            if term in self._known and word not in self._analyzer.common and len(word) > 1:
                found.setdefault(term, token)
        frequency = self._words.frequency
        return [found[term] for term in sorted(found, key=lambda term: (frequency(term), term))[:n]]
