"""What pages repeat most: links, labels and choices, several times as fast as templates.

Functions that return Markup escape all their arguments; the others return plain text, or HTML
for those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import quote_plus

from markupsafe import Markup

from .._texts import shortened
from ..index.metadata_fields import metadata_text
from ..index.passages import word_places
from .requests import LONGEST_NAME

__all__ = ["FILTERS", "link"]

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


def cut(text: str, most: int = _LONGEST_SHOWN) -> str:
    """Return the beginning of a long name."""
    return shortened(text, most)


def marked(text: str, words: Sequence[str]) -> Markup:
    """Return a text with some of its words marked."""
    parts, end = [], 0
    for start, word in word_places(text, words):
        parts.append(f"{escape(text[end:start])}<mark>{escape(word)}</mark>")
        end = start + len(word)
    return Markup("".join([*parts, escape(text[end:])]))


# --- labels ---------------------------------------------------------------------------------


@lru_cache(maxsize=10_000)
def label(name: str) -> Markup:
    """Return a label as a link to its page; one that is too long for an address, as text."""
    shown = escape(cut(name))
    more = f' title="{escape(cut(name, 400))}"' if len(name) > _LONGEST_SHOWN else ""
    if len(name) > LONGEST_NAME:
        return Markup(f'<span class="label"{more}>{shown}</span>')
    return Markup(f'<a class="label" href="{escape(link("/label", name=name))}"{more}>{shown}</a>')


def chips(names: Sequence[str], most: int = 4) -> Markup:
    """Return labels as list items; if there are many, all but the first unfold."""
    found = [f"<li>{label(name)}</li>" for name in names]
    if len(found) > most + 1:
        rest = f'<ul class="chips">{"".join(found[most:])}</ul>'
        summary = f"<summary>+{len(found) - most}</summary>"
        found[most:] = [f'<li><details class="rest">{summary}{rest}</details></li>']
    return Markup("".join(found))


def own_labels(names: Sequence[str] | None, most: int = 1000) -> Markup:
    """Return the labels of an item as a list."""
    if not names:
        known = "labels not known" if names is None else "no labels"
        return Markup(f'<p class="none">{known}</p>')
    return Markup(f'<ul class="chips" aria-label="Labels">{chips(names, most)}</ul>')


# --- choices --------------------------------------------------------------------------------


def more_parameters(address: str) -> Markup:
    """Return the beginning of an address to which parameters are added."""
    return Markup(escape(address + ("&" if "?" in address else "?")))


def choices(  # noqa: PLR0917 - a filter of templates
    counts: Mapping[str, int],
    base: str,
    include: str,
    exclude: str,
    chosen: Sequence[str],
    key: str = "",
    prefix: str = "",
) -> Markup:
    """Return values that are not chosen yet as list items, with links that in- and exclude them.

    Parameters with these names are added to the URL ``base``. A value is given after ``key``;
    of its name, ``prefix`` is not shown.
    """
    start = str(base)
    found = [
        f"<li>{_choice(count, start, include, exclude, *_choice_parts(key, name, prefix))}</li>"
        for name, count in counts.items()
        if key + name not in chosen
    ]
    return Markup("\n".join(found))


def group_choice(group: Mapping[str, Any], base: str) -> Markup:
    """Return links that in- and exclude a group of labels."""
    name = escape(cut(group["group"], 60))
    value = quoted(group["pattern"])
    return Markup(
        _choice(group["count"], str(base), "label", "without", value, name, f"group {name}")
    )


def _choice(  # noqa: PLR0917
    count: int, base: str, include: str, exclude: str, value: str, shown: str, whole: str
) -> str:
    return (
        f'<a class="in" href="{base}{include}={value}"><bdi>{shown}</bdi></a> '
        f'<span class="line"><span class="count">{count:,}</span> '
        f'<a class="out" href="{base}{exclude}={value}"><span aria-hidden="true">&minus;</span>'
        f'<span class="unseen">without {whole}</span></a></span>'
    )


@lru_cache(maxsize=10_000)
def _choice_parts(key: str, name: str, prefix: str) -> tuple[str, str, str]:
    shown = cut(name.removeprefix(prefix), 60) or "(empty)"
    return quote_plus(key + name), escape(shown), escape(cut(name, 60))


def more_values(name: str, count: int, base: str, part: str) -> Markup:
    """Return a link that shows a list of values longer, at its place in the page."""
    return Markup(
        f'<a class="more-values" href="{base}open={quoted(name)}#{part}">{count:,} more'
        f'<span class="unseen"> of {escape(name)}</span></a>'
    )


# --- items ---------------------------------------------------------------------------------


def heading(one: Mapping[str, Any]) -> Markup:
    """Return the title of an item as a link to it, unless its id is too long for an address."""
    title = marked(one["title"], one.get("words", ()))
    if len(one["id"]) > LONGEST_NAME:
        return Markup(f'<span class="long">{title}</span>')
    return Markup(f'<a href="{escape(link("/item", id=one["id"]))}">{title}</a>')


_ADDRESS = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
_IMAGE = re.compile(r"[^?#]+\.(avif|gif|jpe?g|png|svg|webp)([?#].*)?", re.IGNORECASE)


def linked(text: str, key: str, kind: str | None, images: bool = False) -> Markup:
    """Return a value of the metadata: an address as a link, others as a filter of the list.

    With ``images``, the image behind an address that ends like one is shown.
    """
    if _ADDRESS.fullmatch(text):
        shown, address = escape(cut(text, 100)), escape(text)
        if images and _IMAGE.fullmatch(text):
            about = escape(cut(key, 60))
            shown = (
                f'<img src="{address}" alt="{about}" loading="lazy" referrerpolicy="no-referrer">'
            )
        return Markup(f'<a href="{address}" rel="noopener noreferrer">{shown}</a>')
    if kind not in (None, "text") and len(text) <= LONGEST_NAME:
        address = escape(link("/search", meta=[f"{key}={text}"]))
        return Markup(f'<a href="{address}">{escape(text)}</a>')
    return Markup(escape(text))


# A year, or a word.
_PLAIN = re.compile(r"[12]\d{3}|.*[^\W\d_]{3}.*", re.S)


def fact(value: Any, key: str) -> str:
    """Return a value of the metadata for a line; True, 4 or A say nothing without their key.

    Examples
    --------
    >>> from labelspan.web.fragments import fact
    >>> fact(True, "retweeted"), fact(1984, "year"), fact("a long one", "note")
    ('retweeted: true', '1984', 'a long one')
    """
    text = metadata_text(value)
    plain = _PLAIN.fullmatch(text) and text.lower() not in {"true", "false", "yes"}
    return text if plain else f"{key.rpartition('.')[2]}: {text}"


# --- filters of templates -------------------------------------------------------------------

FILTERS = {
    "chips": chips,
    "choices": choices,
    "cut": cut,
    "fact": fact,
    "group_choice": group_choice,
    "heading": heading,
    "label": label,
    "marked": marked,
    "more_parameters": more_parameters,
    "more_values": more_values,
    "own_labels": own_labels,
    "value": metadata_text,
    "percent": lambda value: f"{value:.0%}",
    "share": lambda value: f"{value:.0%}" if value >= 0.1 else f"{value:.1%}",
    "linked": linked,
    "thousands": lambda value: f"{value:,}",
}
