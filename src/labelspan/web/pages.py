"""All pages in one table, from which routes, the OpenAPI description and a test of docs come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import answers
from .parameters import LONGEST_NAME, LONGEST_QUERY, LONGEST_TEXT, Parameter
from .shapes import NUMBER, TEXT, TRUTH, WHOLE, Schema, list_of, named, or_null
from .snapshot import Snapshot

__all__ = ["PAGES", "Page"]


@dataclass(frozen=True)
class Page:
    """A page and its twin: where they are, what they take, and what answers them.

    ``fields`` says what the twin gives: for one name, or several, a shape and words. A page
    that ``posts`` takes its parameters in a body as well. Answers of one that is ``kept``
    are: there are few of them, and they change with the index alone.
    """

    name: str
    path: str
    title: str
    about: str
    answer: Callable[[Snapshot, Mapping[str, Any]], dict[str, Any]]
    fields: Mapping[str, tuple[Schema, str]]
    parameters: tuple[Parameter, ...] = ()
    posts: bool = False
    kept: bool = False

    @property
    def twin(self) -> str:
        """The path of the same as JSON."""
        return "/index.json" if self.path == "/" else f"{self.path}.json"


def _text(
    name: str, about: str, default: str | None = "", largest: int = LONGEST_NAME
) -> Parameter:
    return Parameter(name, "text", about, default, largest)


def _count(default: int, about: str) -> Parameter:
    return Parameter("k", "whole", about, default, 100, 1)


_PAGE = Parameter("page", "whole", "Which page, from 1.", 1, 100_000, 1)
_HIT = "items, best first: id, score, snippet, labels, predicted"
_HITS = list_of(named("Hit"))
_COUNTED = list_of(named("Counted"))
_TAGS = list_of(named("Tag"))
_TEXTS = list_of(TEXT)

PAGES = (
    Page(
        "home",
        "/",
        "Explore",
        "What is in the index, and a search box.",
        answers.home,
        {
            "items": (WHOLE, "how many items there are"),
            "labels": (WHOLE, "how many labels there are"),
            "dimensions": (WHOLE, "of the space"),
            "tags": (TRUTH, "whether labels can be predicted"),
            "common": (_COUNTED, "the commonest labels: label, count"),
        },
        kept=True,
    ),
    Page(
        "search",
        "/search",
        "Search",
        "The items nearest in meaning to a text.",
        answers.search,
        {
            "q": (TEXT, "what was asked"),
            "label, without": (_TEXTS, "what was asked"),
            "k": (WHOLE, "what was asked"),
            "hits": (_HITS, _HIT),
            "facets": (_COUNTED, "labels of these items: label, count"),
        },
        (
            _text("q", "The text to search for.", largest=LONGEST_QUERY),
            Parameter("label", "texts", "Only items with this label; may be repeated.", ()),
            Parameter("without", "texts", "No items with this label; may be repeated.", ()),
            _count(10, "At most so many items."),
        ),
    ),
    Page(
        "why",
        "/why",
        "Why",
        "Why an item was found.",
        answers.why,
        {
            "q, id": (TEXT, "what was asked"),
            "label": (_TEXTS, "what was asked"),
            "title": (TEXT, "the first line of the item"),
            "score": (NUMBER, "the cosine of search and item"),
            "words": (
                list_of(named("Word")),
                "of the search: word, share, whether the item has it (shared)",
            ),
            "axes": (
                list_of(named("AxisShare")),
                "what each adds to the score: axis, share, end, words, labels",
            ),
            "labels": (
                list_of(named("Expected")),
                "of the item, with the probability the search gives them",
            ),
        },
        (
            _text("id", "The item.", None),
            _text("q", "The text that was searched for.", largest=LONGEST_QUERY),
            Parameter("label", "texts", "Labels searched by, where there was no text.", ()),
        ),
    ),
    Page(
        "item",
        "/item",
        "Item",
        "An item, its labels and its neighbours.",
        answers.item,
        {
            "id, title, text": (TEXT, "the item; a long text is cut"),
            "cut": (TRUTH, "whether it was"),
            "labels": (or_null(_TEXTS), "its labels, or null where they are not known"),
            "metadata": ({"type": "object"}, "what else is known of it"),
            "predicted": (_TAGS, "labels: label, probability, threshold, chosen"),
            "neighbours": (_HITS, _HIT),
        },
        (_text("id", "The item.", None), _count(10, "At most so many neighbours.")),
    ),
    Page(
        "map",
        "/map",
        "Map",
        "All items as points, alike near each other.",
        answers.map_page,
        {
            "state": ({"enum": ["drawing", "ready", "failed"]}, "of the map"),
            "items": (WHOLE, "how many points there are"),
            "item, label": (TEXT, "what was asked"),
            "regions": (list_of(named("Region")), "names for places: name, x, y, count"),
            "labels": (_COUNTED, "to colour by: label, count"),
        },
        (_text("item", "An item to point out."), _text("label", "A label to colour by.")),
    ),
    Page(
        "labels",
        "/labels",
        "Labels",
        "All labels, the commonest first.",
        answers.labels,
        {
            "q": (TEXT, "what was asked"),
            "count": (WHOLE, "how many labels match"),
            "page, pages": (WHOLE, "which page this is, of how many"),
            "labels": (_COUNTED, "label, count"),
        },
        (_text("q", "Only labels with this in their name."), _PAGE),
        kept=True,
    ),
    Page(
        "label",
        "/label",
        "Label",
        "A label, the labels near it, and its items.",
        answers.label,
        {
            "label": (TEXT, "the label"),
            "count": (WHOLE, "how many items carry it"),
            "neighbours": (
                list_of(named("Near")),
                "labels whose items lie where its own do: label, score, count",
            ),
            "items": (_HITS, f"that carry it; {_HIT}"),
            "others": (_HITS, f"that do not carry it, though they lie there; {_HIT}"),
        },
        (_text("name", "The label.", None),),
        kept=True,
    ),
    Page(
        "axes",
        "/axes",
        "Axes",
        "The dimensions of the space, by the words and labels at their ends.",
        answers.axes,
        {
            "count": (WHOLE, "how many axes there are"),
            "page, pages": (WHOLE, "which page this is, of how many"),
            "axes": (
                list_of(named("Axis")),
                "number, eigenvalue, and the words and labels at high and low",
            ),
        },
        (_PAGE,),
        kept=True,
    ),
    Page(
        "tag",
        "/tag",
        "Tag a text",
        "Labels for a text of yours.",
        answers.tag,
        {
            "text": (TEXT, "what was asked"),
            "k": (WHOLE, "what was asked"),
            "tags": (_TAGS, "label, probability, threshold, chosen"),
        },
        (
            _text("text", "The text.", largest=LONGEST_TEXT),
            _count(10, "At most so many labels."),
        ),
        posts=True,
    ),
)
