"""What a list shows of a text: title, a passage with words of the query, words of two texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .analysis import TOKENS, Analyzer, normalise
from .query_syntax import ParsedQuery, parse_query
from .results import Item
from .words import WordIndex

if TYPE_CHECKING:
    from .semantic import SemanticIndex

__all__ = ["Passage", "QueryWords", "SharedWords", "passage", "word_index", "word_places"]

_LENGTH = 200
# Beyond this, a text is not looked through for a passage.
_LONGEST = 4000
_BEFORE = 40


@dataclass(frozen=True)
class Passage:
    """A title, a passage of the rest of a text, and the words in both that were searched for."""

    title: str
    text: str
    words: tuple[str, ...]


@lru_cache(maxsize=1000)
def _beginning(letters: str, second: str) -> re.Pattern[str]:
    """Return a pattern of tokens that begin with some letters; ``second`` is empty for any."""
    pattern = rf"\b[{re.escape(letters)}]" if letters else r"(?!)"
    pattern += rf"[{re.escape(second)}]" if second else ""
    return re.compile(rf"{pattern}\w*", re.ASCII | re.IGNORECASE)


def word_places(text: str, words: Iterable[str]) -> list[tuple[int, str]]:
    """Return where some words begin in a text, in order; only whole tokens count."""
    text = _plain(text)
    if not text.isascii():
        own = set(words)
        return [(m.start(), m.group()) for m in TOKENS.finditer(text) if m.group() in own]
    found: list[tuple[int, str]] = []
    for word in words:
        start = text.find(word)
        while start >= 0:
            end = start + len(word)
            # In ASCII, a token is what letters, digits and underscores delimit.
            if not (_inside(text[start - 1 : start]) or _inside(text[end : end + 1])):
                found.append((start, word))
            start = text.find(word, end)
    return sorted(found)


def _plain(text: str) -> str:
    """Replace the sign of what was cut off, so that most passages are ASCII."""
    return text if text.isascii() else text.replace("\u2026", ".")


def _inside(character: str) -> bool:
    return character.isalnum() or character == "_"


def word_index(index: SemanticIndex) -> WordIndex | None:
    """Return the words of an index; None if it has no texts."""
    return index._fitted()[1].words


class QueryWords:
    """Words of a query, to be found in texts in any of their forms."""

    def __init__(self, analyzer: Analyzer, query: str | ParsedQuery) -> None:
        parsed = parse_query(query) if isinstance(query, str) else query
        self._analyzer = analyzer
        own = [word for part in (*parsed.words, *parsed.phrases) for word in analyzer.query(part)]
        if not all(common for *_, common in own) or parsed.prefixes:
            own = [word for word in own if not word[2]]
        # In scripts without spaces a term is two characters, and a token is one.
        self._terms = {term for _, term, _ in own}
        self._terms |= {one for _, term, _ in own if len(TOKENS.findall(term)) > 1 for one in term}
        self._letters = {term[:1] for term in self._terms}
        self._starts: set[str] = set()
        if all(len(term) > 1 and term.isascii() for term in self._terms):
            self._starts = _starts(self._terms)
        self._beginnings = tuple(filter(None, (normalise(part) for part in parsed.prefixes)))
        self._known: dict[str, bool] = {}
        first = "".join(sorted(self._letters | {one[0] for one in self._beginnings}))
        second = "" if self._beginnings else "".join(sorted({one[1] for one in self._starts}))
        # Only tokens with such first letters are looked at; in texts of ASCII, because other
        # characters may become these by normalisation.
        self._tokens = _beginning(first, second).findall

    def has(self, word: str) -> bool:
        """Return whether a word of a text is searched for."""
        if word not in self._known:
            self._known[word] = self._look(word)
        return self._known[word]

    def _look(self, word: str) -> bool:
        plain = normalise(word)
        if self._beginnings and plain.startswith(self._beginnings):
            return True
        # Stemming keeps the first letter, and takes far longer than this look at it.
        if plain[:1] not in self._letters:
            return False
        if self._starts and plain.isascii() and plain[:2] not in self._starts:
            return False
        return plain in self._terms or self._analyzer.term(plain) in self._terms

    def places(self, text: str) -> list[tuple[int, str]]:
        """Return where words that are searched for begin, and these words."""
        plain = _plain(text)
        tokens = self._tokens(plain) if plain.isascii() else TOKENS.findall(text)
        return word_places(text, [one for one in set(tokens) if self.has(one)])


def _starts(terms: set[str]) -> set[str]:
    """Return how words of ASCII begin that have some stems: the first two letters.

    Stemming keeps the second letter as well, except for accents, and for y and i (dying, die).
    """
    found = {term[:2] for term in terms if len(term) > 1}
    other = str.maketrans("iy", "yi")
    return found | {one[0] + one[1].translate(other) for one in found}


def passage(item: Item, wanted: QueryWords | None = None, length: int = _LENGTH) -> Passage:
    """Return the title of an item and a passage of the rest, with most words that are searched for.

    Without a query, or if the rest has none of its words, it is the beginning of the rest.
    """
    title, rest = _parts(item)
    found = wanted.places(rest) if wanted is not None else []
    start = _best_start(found, length)
    if start > 0:
        # From the beginning of a word.
        start = rest.rfind(" ", 0, start) + 1
    part = rest[start : start + length]
    if start + length < len(rest):
        part = part.rsplit(" ", 1)[0]
    end = start + len(part)
    words = [] if wanted is None else [word for _, word in wanted.places(title)]
    words += [word for place, word in found if start <= place and place + len(word) <= end]
    if end < len(rest):
        part = f"{part} …"
    if start > 0:
        part = f"… {part}"
    return Passage(title, part, tuple(dict.fromkeys(words)))


def _parts(item: Item) -> tuple[str, str]:
    """Return the title of an item, and the rest of the beginning of its text in one line."""
    title = item.title
    line = " ".join(item.text[:_LONGEST].split())
    shown = title.removesuffix("…").rstrip() if title != item.id else ""
    return title, line.removeprefix(shown).strip() if shown else line


def _best_start(found: list[tuple[int, str]], length: int) -> int:
    """Return where the passage begins that has the most different words, the first of several."""
    best, start = 0, 0
    for n, (place, _) in enumerate(found):
        inside = {word.casefold() for at, word in found[n:] if at < place + length - _BEFORE}
        if len(inside) > best:
            best, start = len(inside), place
    # What is near the beginning is shown from the beginning.
    return start - _BEFORE if start > length // 2 else 0


class SharedWords:
    """Words that a text shares with others.

    Parameters
    ----------
    words : WordIndex
        Knows how rare words are.
    text : str
    """

    def __init__(self, words: WordIndex, text: str) -> None:
        self._words = words
        self._known = set(words.analyzer.terms(text[:_LONGEST])[0])
        self._starts = _starts(self._known)

    def of(self, text: str, n: int = 5) -> list[str]:
        """Return words that another text has as well, the rarest first, as it has them."""
        analyzer, known = self._words.analyzer, self._known
        found: dict[str, str] = {}
        beginning = text[:_LONGEST]
        tokens = TOKENS.findall(beginning)
        plain_tokens: Iterable[str] = map(normalise, tokens)
        if beginning.isascii():
            # All at once, which gives the same.
            plain_tokens = TOKENS.findall(beginning.lower())
        for token, plain in zip(tokens, plain_tokens, strict=True):
            # Most words are not shared, so this is asked first.
            if plain[:2] not in self._starts and plain.isascii():
                continue
            term = analyzer.term(plain)
            if term in known and plain not in analyzer.common and len(plain) > 1:
                found.setdefault(term, token)
        frequency = self._words.frequency
        return [found[term] for term in sorted(found, key=lambda term: (frequency(term), term))[:n]]
