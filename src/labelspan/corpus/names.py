"""Names by which the fields of a corpus are recognised, as listed in ``names.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

__all__ = [
    "MOST_FIELDS",
    "first_known",
    "is_known",
    "known_names",
    "listed",
    "normal",
    "rank",
    "tables_of_names",
]

# Fields of a corpus, at most.
MOST_FIELDS = 10_000
# Words of a name: NumPages, abstract_note, Schlagwörter.
_WORDS = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|\d+|[^\W_]+")
# With one of these in front a name is that of a number: "number of subjects", "n_tags".
_COUNTS = frozenset(("number", "num", "count", "n", "total", "sum", "nb", "has", "is"))


@cache
def tables_of_names() -> dict[str, Any]:
    """Return the content of ``names.toml``."""
    return tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))


@cache
def known_names(kind: str) -> tuple[str, ...]:
    """Return the known names of a kind, such as "texts" or "labels", the most likely first."""
    return tuple(tables_of_names()[kind])


@lru_cache(1 << 12)
def normal(name: str) -> str:
    """Return a name in lower case with spaces between its words: "AbstractNote", "doc_id"."""
    return " ".join(word.lower() for word in _WORDS.findall(name[:200])) or name.lower()


@lru_cache(1 << 12)
def rank(name: str, kind: str) -> int | None:
    """Return the rank of a field for a role, by its name, 0 first; None if it is unknown.

    The whole name is known, or it ends in a known name ("Manual Tags", "fine_label"), or begins
    with one ("label_text").
    """
    known, own = known_names(kind), normal(name)
    if own in known:
        return known.index(own)
    words = own.split()
    if words and words[0] in _COUNTS:
        return None
    if len(words) == 2 and words[1].isdigit() and words[0] in known:
        return known.index(words[0])
    if len(words) > 1 and words[-1] in known and kind != "ids":
        return len(known) + known.index(words[-1])
    if len(words) > 1 and words[0] in known and words[-1] in known_names("qualifiers"):
        return 2 * len(known) + known.index(words[0])
    return None


def is_known(name: str) -> bool:
    """Return whether a name is known for texts, headings, labels or ids."""
    kinds = ("texts", "headings", "labels", "ids")
    return len(name.split()) < 4 and any(normal(name) in known_names(kind) for kind in kinds)


def first_known(names: Iterable[str], kind: str) -> str | None:
    """Return the most likely field by name; None if no name is known."""
    ranked = [(found, name) for name in names if (found := rank(name, kind)) is not None]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def listed(names: Sequence[str], last: str = ", ") -> str:
    """Return names in quotation marks, at most twenty of them."""
    quoted = [repr(name) for name in names[:20]] + (["..."] if len(names) > 20 else [])
    return last.join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)
