"""What a list shows of a text: title, a passage with words of the query, words of two texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..text import TOKENS, Analyzer, ParsedQuery, WordSearch, normalise, parse_query
from .results import Item

__all__ = ["Passage", "QueryWords", "SharedWords", "passage", "word_places"]

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
        self._beginnings = tuple(filter(None, (normalise(part) for part in parsed.prefixes)))
        self._known: dict[str, bool] = {}

    def places(self, text: str) -> list[tuple[int, str]]:
        """Return where words that are searched for begin, and these words."""
        tokens = set(TOKENS.findall(_plain(text)))
        new = [one for one in tokens if one not in self._known]
        plain = [normalise(one) for one in new]
        for one, word, term in zip(new, plain, self._analyzer.stems(plain), strict=True):
            self._known[one] = (
                bool(self._beginnings and word.startswith(self._beginnings))
                or word in self._terms
                or term in self._terms
            )
        return word_places(text, [one for one in tokens if self._known[one]])


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
    """Return the title of an item, and the rest of the beginning of its text in one line.

    A title that was cut is repeated: a passage does not begin in the middle of a sentence.
    """
    title = item.title
    line = " ".join(item.text[:_LONGEST].split())
    return title, line.removeprefix(title).strip()


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
    words : WordSearch
        Knows how rare words are.
    text : str
    """

    def __init__(self, words: WordSearch, text: str) -> None:
        self._words = words
        analyzer = words.vocabulary.analyzer
        self._known = set(analyzer.stems(map(normalise, TOKENS.findall(text[:_LONGEST]))))

    def of(self, text: str, n: int = 5) -> list[str]:
        """Return words that another text has as well, the rarest first, as it has them."""
        analyzer = self._words.vocabulary.analyzer
        found: dict[str, str] = {}
        tokens = TOKENS.findall(text[:_LONGEST])
        plain = [normalise(token) for token in tokens]
        for token, word, term in zip(tokens, plain, analyzer.stems(plain), strict=True):
            if term in self._known and word not in analyzer.common and len(word) > 1:
                found.setdefault(term, token)
        frequency = self._words.frequency
        return [found[term] for term in sorted(found, key=lambda term: (frequency(term), term))[:n]]
