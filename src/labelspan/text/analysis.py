"""Words of texts and queries, normalised and stemmed in one language.

The syntax of queries is ``"a phrase"``, ``-excluded``, ``prefix*``.
Frequent words, fillers of queries, stemmers and names of the languages are in ``languages.json``.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InvalidParameter

__all__ = [
    "AUTO",
    "NO_LANGUAGE",
    "RUNS",
    "TOKENS",
    "Analyzer",
    "ParsedQuery",
    "check_language",
    "detect_language",
    "first_line",
    "has_unspaced",
    "is_unspaced",
    "language_name",
    "normalise",
    "parse_query",
    "split_words",
]

# Scripts written without spaces, in which each character counts as a word: Thai, Lao, Myanmar,
# Khmer, kana and Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
# Vowel signs and other combining marks inside words, which \w does not match.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_SPACED_WORD = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])+"
TOKENS = re.compile(rf"[{_UNSPACED}]|{_SPACED_WORD}")
# Like TOKENS, but with the characters of a script without spaces together.
RUNS = re.compile(rf"[{_UNSPACED}]+|{_SPACED_WORD}")
_UNSPACED_CHARACTER = re.compile(rf"[{_UNSPACED}]")
# The characters of words in ASCII, and a space for all others.
_ASCII_WORDS = "".join(
    character if re.match(r"\w", character, re.ASCII) else " " for character in map(chr, range(128))
)

AUTO, NO_LANGUAGE = "auto", "none"
# A language is detected on at most this number of texts, evenly spaced, and of words.
_SAMPLE, _SAMPLED_WORDS = 2000, 200_000
# In running text a third of the words are frequent ones; in titles fewer.
_LEAST_SHARE = 0.05


@dataclass(frozen=True)
class _Language:
    name: str
    stemmer: str
    common: frozenset[str]
    fillers: frozenset[str]


@cache
def _languages() -> dict[str, _Language]:
    path = Path(__file__).with_name("languages.json")
    table = json.loads(path.read_text(encoding="utf-8"))
    return {
        code: _Language(
            entry["name"], entry["stemmer"], _words(entry["common"]), _words(entry["fillers"])
        )
        for code, entry in table.items()
    }


def _words(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(normalise(word) for line in lines for word in line.split())


def check_language(owner: str, language: Any) -> str:
    """Return a language as its code; raise an error for an unknown one.

    Codes and English names are accepted in any case; "auto" and "none" too.
    """
    known = _languages()
    if isinstance(language, str):
        folded = language.strip().casefold()
        if folded in known or folded in (AUTO, NO_LANGUAGE):
            return folded
        for code, entry in known.items():
            if entry.name.casefold() == folded:
                return code
    raise InvalidParameter(
        f"{owner}: language must be 'auto', 'none' or one of {', '.join(sorted(known))}, "
        f"but {language!r} was given."
    )


def language_name(code: str) -> str:
    """Return the English name of a language; "no language" for "none"."""
    found = _languages().get(code)
    return "no language" if found is None else found.name


def detect_language(texts: Sequence[str]) -> str:
    """Detect the language whose frequent words make up most of the texts; "none" if unclear.

    Scripts without spaces need no stemmer, and give "none".
    """
    step = max(1, -(-len(texts) // _SAMPLE))
    counts: dict[str, int] = {}
    total = 0
    for text in texts[::step]:
        for word in split_words(normalise(text)):
            counts[word] = counts.get(word, 0) + 1
            total += 1
        if total >= _SAMPLED_WORDS:
            break
    shares = {
        code: sum(counts.get(word, 0) for word in entry.common) / max(1, total)
        for code, entry in _languages().items()
    }
    best = max(shares, key=lambda code: shares[code])
    return best if shares[best] >= _LEAST_SHARE else NO_LANGUAGE


def normalise(text: str) -> str:
    """Normalise case and Unicode encoding, so that equivalent texts are equal."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def split_words(text: str) -> list[str]:
    """Split a normalised text into words; characters of scripts without spaces are words."""
    # A character table is three times as fast as a regular expression.
    return text.translate(_ASCII_WORDS).split() if text.isascii() else TOKENS.findall(text)


def has_unspaced(text: str) -> bool:
    """Return whether a text has characters of a script without spaces."""
    return not text.isascii() and _UNSPACED_CHARACTER.search(text) is not None


def is_unspaced(word: str) -> bool:
    """Return whether a word begins with a character of a script without spaces."""
    return _UNSPACED_CHARACTER.match(word) is not None


def first_line(text: str) -> tuple[str, bool]:
    """Return the first line of a text, and whether more lines follow, so that it is a title."""
    line, _, rest = text.lstrip().partition("\n")
    return line, bool(rest) and not rest.isspace()


class Analyzer:
    """Stem words in a language, and split queries.

    With the language "none" words are not stemmed, and none counts as frequent.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        found = _languages().get(language)
        self.common: frozenset[str] = frozenset() if found is None else found.common
        # Question words and the like, which say little about what is looked for.
        self.fillers: frozenset[str] = frozenset() if found is None else found.fillers
        # Name of the Snowball algorithm.
        self.stemmer: str | None = None if found is None else found.stemmer
        self._stemmer: Any = None
        self._lock = threading.Lock()
        if found is not None:
            import Stemmer  # noqa: PLC0415 - not needed for texts without a language

            self._stemmer = Stemmer.Stemmer(found.stemmer)

    def stems(self, words: Iterable[str]) -> list[str]:
        """Return the stem of each normalised word."""
        own = list(words)
        if self._stemmer is None:
            return own
        # A stemmer stores the current word.
        with self._lock:
            found = self._stemmer.stemWords(own)
        return [stem or word for stem, word in zip(found, own, strict=True)]

    def query(self, text: str) -> list[tuple[str, str, bool]]:
        """Return the words of a query, their terms, and whether they are frequent.

        In scripts without spaces these are pairs of characters, or a single one.

        Examples
        --------
        >>> from labelspan.text import Analyzer
        >>> Analyzer("en").query("the Libraries")
        [('the', 'the', True), ('libraries', 'librari', False)]
        >>> Analyzer("none").query("数据库")
        [('数据', '数据', False), ('据库', '据库', False)]
        """
        words: list[str] = []
        for run in RUNS.findall(normalise(text)):
            if is_unspaced(run) and len(run) > 1:
                words += [run[n : n + 2] for n in range(len(run) - 1)]
            else:
                words.append(run)
        common = self.common
        return [
            (word, term, word in common)
            for word, term in zip(words, self.stems(words), strict=True)
        ]

    def key(self, text: str) -> str:
        """Return the words of a name without stemming, to compare names."""
        return " ".join(split_words(normalise(text)))


# --- syntax of queries ----------------------------------------------------------------------

_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"'})
# A phrase in quotes, at the start or after a space; otherwise the text between spaces.
_PART = re.compile(r'(?<!\S)(-?)"([^"]*\w[^"]*)"(?=[\s.,;:!?)]|$)|(\S+)')
# A longer query is plain text, for example a pasted one, without special signs.
_MOST_WORDS = 16
_PREFIX = re.compile(r"(.*\w)\*[.,;:!?)]*")


@dataclass(frozen=True)
class ParsedQuery:
    """Parts of a query: words, beginnings of words, phrases, and what an item must not contain.

    ``text`` is all that is searched for, as plain text, without what is excluded.
    """

    text: str
    words: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    without_prefixes: tuple[str, ...] = ()
    without_phrases: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the query consists only of words."""
        return not (self.prefixes or self.phrases or self.excludes)

    @property
    def excludes(self) -> bool:
        """Whether something is excluded."""
        return bool(self.without or self.without_prefixes or self.without_phrases)


def parse_query(text: str) -> ParsedQuery:
    """Split a query into words, phrases in quotes, prefixes, and exclusions.

    Any text is a valid query: an unclosed quote, a single ``-`` or ``*``, and any sign
    in a text of more than 16 words have no special meaning.
    """
    words = tuple(text.split())
    marked = any(mark in text for mark in '"-*\u201c\u201d\u201e\u00ab\u00bb')
    if not marked or len(words) > _MOST_WORDS:
        return ParsedQuery(text, words)
    names = [one.name for one in fields(ParsedQuery) if one.name != "text"]
    found: dict[str, list[str]] = {name: [] for name in names}
    wanted: list[str] = []
    for minus, phrase, word in _PART.findall(text.translate(_QUOTES)):
        if phrase:
            found["without_phrases" if minus else "phrases"].append(phrase)
            if not minus:
                wanted.append(phrase)
            continue
        excluded = re.match(r"-\w", word) is not None
        own = word[1:] if excluded else word
        prefix = _PREFIX.fullmatch(own)
        kind = "words" if prefix is None else "prefixes"
        own = own if prefix is None else prefix[1]
        if excluded:
            kind = "without" if prefix is None else "without_prefixes"
        else:
            wanted.append(own)
        found[kind].append(own)
    parsed = ParsedQuery(" ".join(wanted), **{name: tuple(own) for name, own in found.items()})
    # A text without syntax is unchanged, including line ends.
    return ParsedQuery(text, parsed.words) if parsed.plain else parsed
