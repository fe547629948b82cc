"""Names that differ only in case, accents, signs, a plural s or one letter."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

__all__ = ["near_spellings", "same_spelling", "similar_words"]

# Shorter names that differ in one letter are mostly different words: cat and car.
_SHORTEST = 4


@lru_cache(maxsize=100_000)
def same_spelling(name: str) -> str:
    """Return what names have in common that differ only in case, accents, signs or a plural s.

    c, c++ and c# are different, and so are marks of scripts in which they are letters.
    """
    plain: list[str] = []
    for letter in unicodedata.normalize("NFKD", name).casefold():
        before = unicodedata.name(plain[-1], "") if plain else ""
        if not unicodedata.combining(letter) or not before.startswith(("LATIN", "GREEK")):
            plain.append(letter)
    text = unicodedata.normalize("NFC", "".join(plain))
    kept = (one if one in "+#" or unicodedata.category(one)[0] in "LMN" else " " for one in text)
    return "".join(word.removesuffix("s") or word for word in "".join(kept).split()) or text


def near_spellings(names: Iterable[str], known: Iterable[str]) -> dict[str, list[str]]:
    """Find names among those known that differ from each name in its spelling only.

    Parameters
    ----------
    names : iterable of str
        What to look for.
    known : iterable of str
        Where to look; a name is not near itself.

    Returns
    -------
    dict
        For each name that has any: those that are near, in the order of ``known``. Letters
        differ in names of four or more, and digits never: 2001 and 2002 are different.
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
            if name != other and _one_letter(same_spelling(name), key):
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


def _one_letter(a: str, b: str) -> bool:
    """Tell whether two texts are equal but for a letter, or two that changed places."""
    if a == b:
        return True
    short = min(len(a), len(b))
    if short < _SHORTEST:
        return False
    start = next((n for n in range(short) if a[n] != b[n]), short)
    rest = short - start
    end = next((n for n in range(rest) if a[-1 - n] != b[-1 - n]), rest)
    one, other = a[start : len(a) - end], b[start : len(b) - end]
    if any(letter.isdigit() for letter in one + other):
        return False
    return max(len(one), len(other)) == 1 or (len(one) == 2 and one == other[::-1])
