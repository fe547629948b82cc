"""Names that differ only in case, accents, signs, a plural s or one letter."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

__all__ = ["near_spellings", "same_spelling", "similar_words", "spelling_groups", "word_groups"]

# Shorter names that differ in one letter are mostly different words: cat and car.
_SHORTEST = 4


def same_spelling(name: str) -> str:
    """Return what names have in common that differ only in case, accents, signs or a plural s."""
    return "".join(_words(name))


@lru_cache(maxsize=100_000)
def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name.

    Signs distinguish names (c, c++, c#), as do marks in scripts where they are letters.
    """
    plain: list[str] = []
    for letter in unicodedata.normalize("NFKD", name).casefold():
        before = unicodedata.name(plain[-1], "") if plain else ""
        if not unicodedata.combining(letter) or not before.startswith(("LATIN", "GREEK")):
            plain.append(letter)
    text = unicodedata.normalize("NFC", "".join(plain))
    kept = (one if one in "+#" or unicodedata.category(one)[0] in "LMN" else " " for one in text)
    return tuple(word.removesuffix("s") or word for word in "".join(kept).split()) or (text,)


def near_spellings(names: Iterable[str], known: Iterable[str]) -> dict[str, list[str]]:
    """Return for each name the known names, other than itself, that differ only in spelling.

    One letter differs in a word of four or more, and no digit: lang:c and lang:r are different, and
    so are 2001 and 2002.
    """
    wanted = list(dict.fromkeys(names))
    parts: dict[str, list[str]] = {}
    for name in wanted:
        for part in _parts(same_spelling(name)):
            parts.setdefault(part, []).append(name)
    found: dict[str, list[str]] = {name: [] for name in wanted}
    for other in known:
        key = same_spelling(other)
        near = {name: None for part in _parts(key) for name in parts.get(part, ())}
        for name in near:
            if name != other and (same_spelling(name) == key or _one_letter(name, other)):
                found[name].append(other)
    return {name: near for name, near in found.items() if near}


def similar_words(similar: Mapping[str, Sequence[str]], counts: Mapping[str, int]) -> str:
    """Say which new labels are spelt nearly like others."""
    (name, near), *others = similar.items()
    listed = " and ".join(f"{one!r} ({counts.get(one, 0):,} items)" for one in near[:3])
    more = f" and {len(others):,} more are like that" if others else ""
    return f"The new label {name!r} is spelt nearly like {listed}{more}."


def _parts(key: str) -> Iterator[str]:
    """Yield a text, and if it is long enough the texts without one of its letters."""
    yield key
    if len(key) >= _SHORTEST:
        for n in range(len(key)):
            yield key[:n] + key[n + 1 :]


def _one_letter(name: str, other: str) -> bool:
    """Tell whether two names are equal but for a letter of a word, or two that changed places."""
    different = [(a, b) for a, b in zip(_words(name), _words(other), strict=False) if a != b]
    if len(_words(name)) != len(_words(other)) or len(different) != 1:
        return False
    ((a, b),) = different
    short = min(len(a), len(b))
    if short < _SHORTEST:
        return False
    start = next((n for n in range(short) if a[n] != b[n]), short)
    rest = short - start
    end = next((n for n in range(rest) if a[-1 - n] != b[-1 - n]), rest)
    one, two = a[start : len(a) - end], b[start : len(b) - end]
    if any(letter.isdigit() for letter in one + two):
        return False
    return max(len(one), len(two)) == 1 or (len(one) == 2 and one == two[::-1])


def spelling_groups(names: Sequence[str]) -> list[list[str]]:
    """Group names that differ only in their spelling; names without another are left out."""
    near = near_spellings(names, names)
    groups: list[list[str]] = []
    seen: set[str] = set()
    for name in names:
        if name in near and name not in seen:
            group = [name]
            for one in group:
                group += [other for other in near[one] if other not in group]
            seen.update(group)
            groups.append(group)
    return groups


def word_groups(names: Iterable[str]) -> list[list[str]]:
    """Group names with the same words in any order; names without another are left out."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(sorted({*_words(name)})), []).append(name)
    return [group for group in groups.values() if len(group) > 1]
