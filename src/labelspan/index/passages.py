"""What a list shows of a text: title, a passage with words of the query, words of two texts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from ..text import TOKENS, Vocabulary, WordSearch, normalise, parse_query, split_words
from .results import Item

__all__ = ["Passage", "QueryWords", "SharedWords", "passage", "whole_title", "word_places"]

_LENGTH = 200
# Beyond this, a text is not looked through for a passage.
_LONGEST = 4000
_BEFORE = 40


class Passage(NamedTuple):
    """A title, a passage of the rest of a text, and the words in both that were searched for."""

    title: str
    text: str
    words: tuple[str, ...]


def word_places(text: str, words: Collection[str]) -> list[tuple[int, str]]:
    """Return the start positions of some tokens in a text, in order."""
    found = []
    for word in words:
        # Characters of scripts without spaces are tokens wherever they are.
        anywhere = not _joins(word[:1])
        start = text.find(word)
        while start >= 0:
            end = start + len(word)
            if anywhere or not (_joins(text[start - 1 : start]) or _joins(text[end : end + 1])):
                found.append((start, word))
            start = text.find(word, end)
    return sorted(found)


@lru_cache(maxsize=1000)
def _joins(character: str) -> bool:
    """Return whether a character and a letter next to it are one token."""
    return TOKENS.fullmatch(f"a{character}") is not None and bool(character)


class QueryWords:
    """Words of a query, to be found in texts in any of the forms that a vocabulary has."""

    def __init__(self, vocabulary: Vocabulary, query: str) -> None:
        parsed, analyzer = parse_query(query), vocabulary.analyzer
        own = [word for part in (*parsed.words, *parsed.phrases) for word in analyzer.query(part)]
        if not all(common for *_, common in own) or parsed.prefixes:
            own = [word for word in own if not word[2]]
        # In scripts without spaces a term is two characters, and a token is one.
        self._forms = {one for _, term, _ in own if len(TOKENS.findall(term)) > 1 for one in term}
        self._forms.update(_forms(vocabulary, [term for _, term, _ in own]))
        self._beginnings = tuple(filter(None, (normalise(part) for part in parsed.prefixes)))

    def places(self, text: str) -> list[tuple[int, str]]:
        """Return the start positions of the words of the query, and these words."""
        if not text.isascii():
            return word_places(text, {one for one in TOKENS.findall(text) if self._wanted(one)})
        plain = text.lower()
        words = split_words(plain)
        wanted = self._forms.intersection(words)
        if self._beginnings:
            wanted.update(filter(self._wanted, words))
        return [(at, text[at : at + len(word)]) for at, word in word_places(plain, wanted)]

    def _wanted(self, token: str) -> bool:
        word = normalise(token)
        return word in self._forms or word.startswith(self._beginnings)


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


def whole_title(item: Item, longest: int) -> tuple[str, str]:
    r"""Return the title of an item, whole if its text begins with it, and the text after it.

    Examples
    --------
    >>> from labelspan.index import Item
    >>> from labelspan.index.passages import whole_title
    >>> whole_title(Item("a", "Chess for two\n\nA game.", (), {}), 100)
    ('Chess for two', 'A game.')
    """
    title, text = item.title, item.text[:longest]
    first, _, rest = text.partition("\n")
    if title.endswith("…") and first.startswith(title[:-1].rstrip()) and rest.strip():
        return first.strip(), rest.strip()
    return title, text.removeprefix(title).strip()


def _best_start(found: Sequence[tuple[int, str]]) -> int:
    """Return the start of the first passage with the most distinct words."""
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
        analyzer = words.vocabulary.analyzer
        terms = set(analyzer.stems(split_words(normalise(text[:_LONGEST]))))
        self._terms = {
            word: term
            for word, term in _forms(words.vocabulary, terms).items()
            if len(word) > 1 and word not in analyzer.common
        }
        self._frequency = cache(words.frequency)

    def of(self, text: str, n: int = 5) -> list[str]:
        """Return words that another text has as well, the rarest first, as it has them."""
        found: dict[str, str] = {}
        for token in dict.fromkeys(split_words(text[:_LONGEST])):
            term = self._terms.get(normalise(token))
            if term is not None:
                found.setdefault(term, token)
        rarest = sorted(found, key=lambda term: (self._frequency(term), term))
        return [found[term] for term in rarest[:n]]


def _forms(vocabulary: Vocabulary, terms: Collection[str]) -> dict[str, str]:
    """Return the words of a vocabulary that have one of some terms, with these."""
    # The last stands for -1: terms that no text has.
    wanted = np.zeros(len(vocabulary.terms) + 1, dtype=bool)
    wanted[[vocabulary.term(term) for term in terms]] = True
    own = np.flatnonzero(wanted[vocabulary.term_of])
    found = zip(own.tolist(), vocabulary.term_of[own].tolist(), strict=True)
    return {vocabulary.words[word]: vocabulary.terms[term] for word, term in found}
