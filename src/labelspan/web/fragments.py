"""Links, names and marked texts in pages; those that are repeated most often are cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus

from markupsafe import Markup, escape

from ..index.passages import word_places
from .parameters import LONGEST_NAME

__all__ = ["chips", "cut", "heading", "label", "link", "marked", "quoted"]

# Characters of a label in a list.
_LONGEST_SHOWN = 80


def link(path: str, **parameters: Any) -> str:
    """Return an address with parameters, without the empty ones.

    Examples
    --------
    >>> from labelspan.web.fragments import link
    >>> link("/search", q="a b", label=["c&d", "e"], k="")
    '/search?q=a+b&label=c%26d&label=e'
    """
    pairs = []
    for name, value in parameters.items():
        if isinstance(value, list | tuple):
            pairs += [f"{name}={quoted(str(one))}" for one in value if one not in ("", None)]
        elif value not in ("", None):
            pairs.append(f"{name}={quoted(str(value))}")
    return f"{path}?{'&'.join(pairs)}" if pairs else path


# A page repeats its query in most of its links.
quoted = lru_cache(maxsize=5000)(quote_plus)


def _safe(text: str) -> str:
    return str(escape(text))


@lru_cache(maxsize=10_000)
def label(name: str) -> Markup:
    """Return a label as a link to its page; one that is too long for an address, as text."""
    shown = _safe(cut(name))
    more = f' title="{_safe(cut(name, 400))}"' if len(name) > _LONGEST_SHOWN else ""
    if len(name) > LONGEST_NAME:
        return Markup(f'<span class="label"{more}>{shown}</span>')
    return Markup(f'<a class="label" href="{_safe(link("/label", name=name))}"{more}>{shown}</a>')


def chips(names: Sequence[str]) -> Markup:
    """Return labels as list items."""
    return Markup("".join([f"<li>{label(name)}</li>" for name in names]))


def cut(text: str, most: int = _LONGEST_SHOWN) -> str:
    """Return the beginning of a long name.

    Examples
    --------
    >>> from labelspan.web.fragments import cut
    >>> cut("a long name", 8)
    'a long…'
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def marked(text: str, words: Sequence[str]) -> Markup:
    """Return a text with some of its words marked."""
    parts, end = [], 0
    for start, word in word_places(text, words):
        parts.append(f"{_safe(text[end:start])}<mark>{_safe(word)}</mark>")
        end = start + len(word)
    return Markup("".join([*parts, _safe(text[end:])]))


def heading(one: Mapping[str, Any], linked: bool = True) -> Markup:
    """Return the title of an item as a link to it, unless its id is too long for an address."""
    title = marked(one["title"], one.get("words", ()))
    if not linked:
        return title
    if len(one["id"]) > LONGEST_NAME:
        return Markup(f'<span class="long">{title}</span>')
    return Markup(f'<a href="{_safe(link("/item", id=one["id"]))}">{title}</a>')
