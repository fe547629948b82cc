"""All pages in one table, from which routes, the OpenAPI description and a test of docs come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import answers
from .asked import LONGEST_NAME, LONGEST_QUERY, LONGEST_TEXT, Parameter
from .snapshot import Snapshot

__all__ = ["PAGES", "Page"]


@dataclass(frozen=True)
class Page:
    """A page and its twin: where they are, what they take, and what answers them.

    ``fields`` describes what the twin gives. A page that ``posts`` takes its parameters
    in a body as well.
    """

    name: str
    path: str
    title: str
    about: str
    answer: Callable[[Snapshot, Mapping[str, Any]], dict[str, Any]]
    fields: Mapping[str, str]
    parameters: tuple[Parameter, ...] = ()
    posts: bool = False

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

PAGES = (
    Page(
        "home",
        "/",
        "Explore",
        "What is in the index, and a search box.",
        answers.home,
        {
            "items": "how many items there are",
            "labels": "how many labels there are",
            "dimensions": "of the space",
            "tags": "whether labels can be predicted",
            "common": "the commonest labels: label, count",
        },
    ),
    Page(
        "search",
        "/search",
        "Search",
        "The items nearest in meaning to a text.",
        answers.search,
        {
            "q, label, without, k": "what was asked",
            "hits": _HIT,
            "facets": "labels of these items: label, count",
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
            "q, label, id": "what was asked",
            "title": "the first line of the item",
            "score": "the cosine of search and item",
            "words": "of the search: word, share, whether the item has it (shared)",
            "axes": "what each adds to the score: axis, share, end, words, labels",
            "labels": "of the item, with the probability the search gives them",
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
            "id, title, text": "the item; a long text is cut",
            "cut": "whether it was",
            "labels": "its labels, or null where they are not known",
            "metadata": "what else is known of it",
            "predicted": "labels: label, probability, threshold, chosen",
            "neighbours": _HIT,
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
            "state": "drawing, ready or failed",
            "items": "how many points there are",
            "item, label": "what was asked",
            "regions": "names for places: name, x, y, count",
            "labels": "to colour by: label, count",
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
            "q": "what was asked",
            "count": "how many labels match",
            "page, pages": "which page this is, of how many",
            "labels": "label, count",
        },
        (_text("q", "Only labels with this in their name."), _PAGE),
    ),
    Page(
        "label",
        "/label",
        "Label",
        "A label, the labels near it, and its items.",
        answers.label,
        {
            "label": "the label",
            "count": "how many items carry it",
            "neighbours": "labels whose items lie where its own do: label, score, count",
            "items": f"that carry it; {_HIT}",
            "others": f"that do not carry it, though they lie there; {_HIT}",
        },
        (_text("name", "The label.", None),),
    ),
    Page(
        "axes",
        "/axes",
        "Axes",
        "The dimensions of the space, by the words and labels at their ends.",
        answers.axes,
        {
            "count": "how many axes there are",
            "page, pages": "which page this is, of how many",
            "axes": "number, eigenvalue, and the words and labels at high and low",
        },
        (_PAGE,),
    ),
    Page(
        "tag",
        "/tag",
        "Tag a text",
        "Labels for a text of yours.",
        answers.tag,
        {
            "text, k": "what was asked",
            "tags": "label, probability, threshold, chosen",
        },
        (
            _text("text", "The text.", largest=LONGEST_TEXT),
            _count(10, "At most so many labels."),
        ),
        posts=True,
    ),
)
