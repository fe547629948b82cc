"""Syntax of text queries: ``"a phrase"``, ``-excluded``, ``prefix*``."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ParsedQuery", "parse_query"]

_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"'})
# A phrase in quotes, at the start or after a space; otherwise what stands between spaces.
_PART = re.compile(r'(?<!\S)(-?)"([^"]*\w[^"]*)"(?=[\s.,;:!?)]|$)|(\S+)')
# A longer query is a text, for example a pasted one, in which signs mean nothing special.
_MOST_WORDS = 16
_PREFIX = re.compile(r"(.*\w)\*[.,;:!?)]*")


@dataclass(frozen=True)
class ParsedQuery:
    """Parts of a query.

    Attributes
    ----------
    text : str
        All that is searched for, as plain text, without what is excluded.
    words : tuple of str
        Texts between spaces.
    prefixes : tuple of str
        Beginnings of words.
    phrases : tuple of str
        Texts that an item must contain.
    without, without_prefixes, without_phrases : tuple of str
        What an item must not contain.
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
        """Whether the query only has words."""
        return not (self.prefixes or self.phrases or self.excludes)

    @property
    def excludes(self) -> bool:
        """Whether something is excluded."""
        return bool(self.without or self.without_prefixes or self.without_phrases)


def parse_query(text: str) -> ParsedQuery:
    """Split a query into words, phrases in quotes, prefixes, and what is excluded.

    Any text is a query: a quote that is not closed, a lone ``-`` or ``*`` mean nothing special,
    and nor does any sign in a text of more than 16 words.
    """
    words = tuple(text.split())
    marked = any(mark in text for mark in '"-*\u201c\u201d\u201e\u00ab\u00bb')
    if not marked or len(words) > _MOST_WORDS:
        return ParsedQuery(text, words)
    found: dict[str, list[str]] = {
        name: []
        for name in (
            "words",
            "prefixes",
            "phrases",
            "without",
            "without_prefixes",
            "without_phrases",
        )
    }
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
    # A text without syntax stays as it is, line ends included.
    return ParsedQuery(text, parsed.words) if parsed.plain else parsed
