"""Words of a text as search compares them: normalised, stemmed, in the language of the collection.

Frequent words, stemmers and names of the languages are in ``languages.json``.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InvalidParameter

__all__ = [
    "AUTO",
    "NO_LANGUAGE",
    "TOKENS",
    "TOKEN_PATTERN",
    "UNSPACED_CHARACTER",
    "Analyzer",
    "ascii_words",
    "check_language",
    "detect_language",
    "has_unspaced",
    "language_name",
    "normalise",
    "split_words",
]

# Scripts written without spaces, in which each character counts as a word: Thai, Lao, Myanmar,
# Khmer, kana and Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
# Vowel signs and other combining marks inside words, which \w does not match.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_SPACED_WORD = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])+"
TOKEN_PATTERN = rf"[{_UNSPACED}]|{_SPACED_WORD}"
TOKENS = re.compile(TOKEN_PATTERN)
# The characters of words in ASCII, and a space for all others.
_ASCII_WORDS = "".join(
    character if re.match(r"\w", character, re.ASCII) else " " for character in map(chr, range(128))
)
_ASCII_BYTES = _ASCII_WORDS.lower().encode() + b" " * 128
_RUN = re.compile(rf"[{_UNSPACED}]+|{_SPACED_WORD}")
UNSPACED_CHARACTER = re.compile(rf"[{_UNSPACED}]")

AUTO, NO_LANGUAGE = "auto", "none"
# A language is detected on at most this number of texts, evenly spaced, and of words.
_SAMPLE, _SAMPLED_WORDS = 2000, 200_000
# In running text a third of the words are frequent ones; in titles fewer.
_LEAST_SHARE = 0.05
_MOST_STEMS = 1 << 20


@dataclass(frozen=True)
class _Language:
    name: str
    stemmer: str
    common: frozenset[str]


@cache
def _languages() -> dict[str, _Language]:
    path = Path(__file__).parent.with_name("text") / "languages.json"
    table = json.loads(path.read_text(encoding="utf-8"))
    return {
        code: _Language(
            entry["name"],
            entry["stemmer"],
            frozenset(normalise(word) for line in entry["common"] for word in line.split()),
        )
        for code, entry in table.items()
    }


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
    """Find the language whose frequent words make up most of the texts; "none" if that is unclear.

    Scripts without spaces need no stemmer, and give "none".
    """
    step = max(1, -(-len(texts) // _SAMPLE))
    counts: dict[str, int] = {}
    total = 0
    for text in texts[::step]:
        for word in TOKENS.findall(normalise(text)):
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


def split_words(text: str) -> list[str]:
    """Split a normalised text into words."""
    # A table of characters is three times as fast as an expression.
    return text.translate(_ASCII_WORDS).split() if text.isascii() else TOKENS.findall(text)


def ascii_words(text: bytes) -> bytes:
    """Lower the letters of a text in ASCII, and make everything outside words a space."""
    return text.translate(_ASCII_BYTES)


def has_unspaced(text: str) -> bool:
    """Tell whether a text has characters of a script that is written without spaces."""
    return not text.isascii() and UNSPACED_CHARACTER.search(text) is not None


def normalise(text: str) -> str:
    """Make texts equal that differ only in case or in how Unicode encodes a character."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


class _Stems(dict[str, str]):
    """Stem of each word, computed when it is first needed."""

    def __init__(self, stemmer: Any) -> None:
        super().__init__()
        self._stemmer = stemmer
        # A stemmer keeps the word it works on.
        self._lock = threading.Lock()

    def __missing__(self, word: str) -> str:
        with self._lock:
            stem = str(self._stemmer.stemWord(word)) or word
            if len(self) >= _MOST_STEMS:
                self.clear()
            self[word] = stem
        return stem


@cache
def _stems_of(name: str) -> _Stems:
    """Return the stems of a language, which all analyzers of it share."""
    import snowballstemmer  # noqa: PLC0415 - it loads all languages

    return _Stems(snowballstemmer.stemmer(name))


class _Unchanged(dict[str, str]):
    """Each word as its own stem."""

    def __missing__(self, word: str) -> str:
        return word


class Analyzer:
    """Split texts into terms: stems of words, in scripts without spaces characters and pairs.

    Parameters
    ----------
    language : str
        Code of a language in ``languages.json``, or "none": words are not stemmed, and none
        counts as frequent.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        found = _languages().get(language)
        self.common: frozenset[str] = frozenset() if found is None else found.common
        self._stems: dict[str, str] = _Unchanged()
        if found is not None:
            self._stems = _stems_of(found.stemmer)

    def terms(self, text: str) -> tuple[list[str], Sequence[int], int]:
        """Return the terms of a text, their positions, and how many are not frequent words."""
        plain = normalise(text)
        stems, common = self._stems, self.common
        if not has_unspaced(plain):
            words = split_words(plain)
            length = sum(word not in common for word in words) if common else len(words)
            return [stems[word] for word in words], range(len(words)), length
        found: list[str] = []
        positions: list[int] = []
        length = place = 0
        for run in _RUN.findall(plain):
            if UNSPACED_CHARACTER.match(run) is None:
                found.append(stems[run])
                positions.append(place)
                length += run not in common
                place += 1
                continue
            for n, character in enumerate(run):
                found.append(character)
                positions.append(place + n)
                if n + 1 < len(run):
                    found.append(run[n : n + 2])
                    positions.append(place + n)
            length += len(run)
            place += len(run)
        return found, positions, length

    def size(self, text: str) -> tuple[int, int]:
        """Return the number of terms of a text, and how many are not frequent words."""
        plain = normalise(text)
        if has_unspaced(plain):
            terms, _, length = self.terms(text)
            return len(terms), length
        words = split_words(plain)
        common = self.common
        return len(words), sum(word not in common for word in words) if common else len(words)

    def query(self, text: str) -> list[tuple[str, str, bool]]:
        """Return what to look for: words as they stand, their terms, and if they are frequent.

        In scripts without spaces these are pairs of characters, or a single one.
        """
        found: list[tuple[str, str, bool]] = []
        for run in _RUN.findall(normalise(text)):
            if UNSPACED_CHARACTER.match(run) is None:
                found.append((run, self._stems[run], run in self.common))
            else:
                pairs = [run[n : n + 2] for n in range(len(run) - 1)] or [run]
                found += [(pair, pair, False) for pair in pairs]
        return found

    def term(self, word: str) -> str:
        """Return the term of a normalised word."""
        return self._stems[word]

    def key(self, text: str) -> str:
        """Return the words of a name without stemming: names with the same key are the same."""
        return " ".join(split_words(normalise(text)))
