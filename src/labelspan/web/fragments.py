"""Parts of pages that are repeated many times, as HTML.

They are not template macros, because macros are slow for the hundreds of labels of a page: a page
of results takes a third of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus

from markupsafe import Markup, escape

from ..index import Tag
from ..index.metadata_fields import metadata_text
from ..index.passages import word_places
from .parameters import LONGEST_NAME

__all__ = [
    "chips",
    "choices",
    "cut",
    "first_chips",
    "heading",
    "hit_list",
    "label",
    "link",
    "marked",
    "own_labels",
]

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
            pairs += [f"{name}={_quoted(str(one))}" for one in value if one not in ("", None)]
        elif value not in ("", None):
            pairs.append(f"{name}={_quoted(str(value))}")
    return f"{path}?{'&'.join(pairs)}" if pairs else path


# A page repeats its query in most of its links.
_quoted = lru_cache(maxsize=5000)(quote_plus)


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


def cut(text: str, most: int = _LONGEST_SHOWN) -> str:
    """Return the beginning of a long name.

    Examples
    --------
    >>> from labelspan.web.fragments import cut
    >>> cut("a long name", 8)
    'a long…'
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def choices(
    base: str, include: str, exclude: str, entries: Sequence[tuple[str, str, int]], prefix: str = ""
) -> Markup:
    """Return values with counts, each with a link that includes and one that excludes it.

    ``base`` is the address that a parameter is added to; of the names the
    ``prefix`` is left out.
    """
    base = _safe(f"{base}{'&' if '?' in base else '?'}")
    parts = []
    for value, name, count in entries:
        quoted, full = _quoted(value), _safe(cut(name, 60))
        shown = _safe(cut(name.removeprefix(prefix), 60)) or "(empty)"
        parts.append(
            f'<li><a class="in" href="{base}{include}={quoted}"><bdi>{shown}</bdi></a> '
            f'<span class="count">{count:,}</span> <a class="out" '
            f'href="{base}{exclude}={quoted}"><span aria-hidden="true">&minus;</span>'
            f'<span class="unseen">without {full}</span></a></li>\n'
        )
    return Markup("".join(parts))


def chips(names: Sequence[str]) -> Markup:
    """Return labels as list items."""
    return Markup("".join([f"<li>{label(name)}</li>" for name in names]))


def first_chips(names: Sequence[str], most: int = 4) -> Markup:
    """Return a few labels as list items; the others unfold."""
    if len(names) <= most + 1:
        return chips(names)
    return Markup(
        f'{chips(names[:most])}<li><details class="rest"><summary>+{len(names) - most}</summary>'
        f'<ul class="chips">{chips(names[most:])}</ul></details></li>'
    )


def own_labels(names: Sequence[str] | None, most: int = 1000) -> Markup:
    """Return the labels of an item as a list."""
    if names is None:
        return Markup('<p class="none">labels not known</p>')
    if not names:
        return Markup('<p class="none">no labels</p>')
    return Markup(f'<ul class="chips" aria-label="Labels">{first_chips(names, most)}</ul>')


def _suggestions(tags: Sequence[Tag]) -> str:
    """Return predicted labels as links, with their probabilities."""
    return " ".join(
        f'<span class="guess">{label(tag.label)} <span>{tag.probability:.0%}</span></span>'
        for tag in tags
    )


def marked(text: str, words: Sequence[str]) -> Markup:
    """Return a text with some of its words marked."""
    parts, end = [], 0
    for start, word in word_places(text, words):
        parts.append(f"{_safe(text[end:start])}<mark>{_safe(word)}</mark>")
        end = start + len(word)
    return Markup("".join([*parts, _safe(text[end:])]))


def heading(one: Mapping[str, Any]) -> Markup:
    """Return the title of an item as a link to it, unless its id is too long for an address."""
    title = marked(one["title"], one.get("words", ()))
    if len(one["id"]) > LONGEST_NAME:
        return Markup(f'<span class="long">{title}</span>')
    return Markup(f'<a href="{_safe(link("/item", id=one["id"]))}">{title}</a>')


def hit_list(
    hits: Sequence[Mapping[str, Any]],
    q: str = "",
    wanted: Sequence[str] = (),
    *,
    why: bool = False,
    balance: Any = "",
    columns: Sequence[str] = (),
) -> Markup:
    """Return items as a list; with ``why``, with links to the reasons."""
    near = () if q.strip() else wanted
    parts = ['<ol class="hits">']
    weak = False
    for number, one in enumerate(hits, 1):
        name = _safe(one["id"])
        only = " only" if one.get("elsewhere", 0) is None else ""
        if one.get("weak") and not weak and "elsewhere" not in one:
            weak = True
            parts.append('<li class="weak-from">Only close in meaning</li>\n')
        title = heading(one) if one.get("here", True) else marked(one["title"], one["words"])
        parts.append(
            f'<li class="hit{only}" data-id="{name}">\n<h3>{title}</h3>\n'
            f'<p class="about">{_facts(one, number, q, columns)}'
        )
        if why and (q.strip() or near) and len(one["id"]) <= LONGEST_NAME:
            reasons = _safe(link("/why", id=one["id"], q=q, label=near, balance=balance))
            parts.append(
                f' <a class="why" href="{reasons}">Why?<span class="unseen"> ({name})</span></a>'
            )
        parts.append("</p>\n")
        if one["snippet"]:
            parts.append(f'<p class="snippet">{marked(one["snippet"], one.get("words", ()))}</p>\n')
        parts.append(_shared(one) if "shared_words" in one else own_labels(one["labels"], 4))
        if one.get("suggested"):
            parts.append(
                '\n<p class="predicted"><span>Predicted as well:</span> '
                f"{_suggestions(one['suggested'])}</p>"
            )
        parts.append("\n</li>\n")
    parts.append("</ol>")
    return Markup("".join(parts))


def _facts(one: Mapping[str, Any], number: int, q: str, columns: Sequence[str]) -> str:
    """Return the id of an item, its score, and what else is known of it."""
    compared = "elsewhere" in one
    parts = [f"{number}." if compared else f'<span class="id">{_safe(one["id"])}</span>']
    if one["score"] is not None:
        score = "From 0 to 1"
        if q.strip() and not compared:
            score = f"{one['from_words']:.2f} from words, {one['from_space']:.2f} from meaning"
        parts.append(f'<span class="score" title="{score}">{one["score"]:.2f}</span>')
    if compared:
        place = one["elsewhere"]
        told = f"no. {place} there" if place else "only here"
        parts.append(f'<span class="mark">{told}</span>')
    elif one.get("exact"):
        parts.append(f'<span class="mark">same {one["exact"]}</span>')
    for key in columns:
        if one["metadata"].get(key) not in (None, ""):
            value = _safe(cut(metadata_text(one["metadata"][key])))
            parts.append(f'<span class="fact" title="{_safe(cut(key))}">{value}</span>')
    return " ".join(parts)


def _shared(one: Mapping[str, Any]) -> str:
    """Return what a similar item shares with another."""
    parts = ['<dl class="reasons">\n']
    if one["shared_words"]:
        words = ", ".join(
            f'<a href="{_safe(link("/search", q=word))}">{_safe(word)}</a>'
            for word in one["shared_words"]
        )
        parts.append(f'<div><dt>Words in both</dt><dd class="words">{words}</dd></div>\n')
    shared = one["shared_labels"]
    other = [label for label in one["labels"] or () if label not in shared]
    for title, names in (("Labels in both", shared), ("Other labels", other)):
        if names:
            chosen = f'<ul class="chips">{first_chips(names)}</ul>'
            parts.append(f"<div><dt>{title}</dt><dd>{chosen}</dd></div>\n")
    return "".join([*parts, "</dl>"])
