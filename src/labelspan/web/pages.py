"""Define all pages in one table, from which the routes and the OpenAPI description are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from . import home_page, item_list, item_pages, label_pages, review_page, teach_page, value_page
from .item_list import BALANCE_INPUT, QUERY, SELECTION, SORT
from .requests import (
    LONGEST_QUERY,
    LONGEST_TEXT,
    Parameter,
    text_input,
    texts_input,
    whole_input,
)
from .snapshot import Snapshot

__all__ = ["DATA", "PAGES", "Page"]


@dataclass(frozen=True)
class Page:
    """A page and its JSON endpoint: their addresses, parameters, and function.

    The return type of ``answer`` describes the answer, and the first line of its docstring the
    page. ``posts`` tells whether the parameters may also come in a form.
    """

    name: str
    path: str
    title: str
    answer: Callable[[Snapshot, Mapping[str, Any]], Mapping[str, Any]]
    parameters: tuple[Parameter, ...] = ()
    posts: bool = False

    @property
    def about(self) -> str:
        """Return a sentence about the page."""
        return (self.answer.__doc__ or "").partition("\n")[0]

    @property
    def json_path(self) -> str:
        """Return the address of the JSON endpoint."""
        if self.path.endswith(".json"):
            return self.path
        return "/index.json" if self.path == "/" else f"{self.path}.json"

    @property
    def answer_type(self) -> Any:
        """Return the TypedDict that describes the answer."""
        return get_type_hints(self.answer)["return"]


_VIEW = r"(-?[0-9]{1,6}\.-?[0-9]{1,6}\.[0-9]{1,7})?"
_PAGE = whole_input("page", "Number of the page, from 1.", 1, 100_000, 1)
_ITEM = text_input("id", "The item.", None)
_COUNT = whole_input("k", "Maximum number of results.", 10, 100, 1)

PAGES = (
    Page("home", "/", "Explore", home_page.home),
    Page(
        "search",
        "/search",
        "Items",
        item_list.search,
        (
            *SELECTION,
            SORT,
            text_input("show", "cards, or table.", "cards", pattern="cards|table"),
            texts_input("open", "Lists of labels and values to show longer."),
            _PAGE,
        ),
    ),
    Page(
        "why",
        "/why",
        "Why",
        item_pages.why,
        (
            _ITEM,
            QUERY,
            texts_input("label", "The labels searched for, if there was no text."),
            BALANCE_INPUT,
        ),
    ),
    Page("item", "/item", "Item", item_pages.item, (_ITEM, _COUNT)),
    Page(
        "map",
        "/map",
        "Map",
        home_page.map_page,
        (
            text_input("item", "An item to highlight."),
            text_input("colour", "A label to colour by."),
            text_input("colour_meta", "A key of the metadata to colour by."),
            text_input(
                "view",
                "What is visible: the centre and the zoom in percent, as x.y.zoom.",
                pattern=_VIEW,
            ),
            *SELECTION,
        ),
    ),
    Page(
        "labels",
        "/labels",
        "Labels",
        label_pages.labels,
        (
            text_input("q", "Only labels whose name contains this.", largest=LONGEST_QUERY),
            text_input(
                "sort", f"What to sort by: {', '.join(label_pages.SORTS)}; with a minus, reversed."
            ),
            _PAGE,
        ),
    ),
    Page("label", "/label", "Label", label_pages.label, (text_input("name", "The label.", None),)),
    Page("values", "/values", "Similar names", value_page.values, value_page.VALUE_INPUTS),
    Page(
        "review",
        "/review",
        "Review",
        review_page.review,
        (
            text_input("kind", "Only findings of this kind; pairs for wrong and missing labels."),
            text_input("label", "Only findings about this label."),
            text_input(
                "show", "Which findings: waiting, or skipped.", "waiting", pattern="waiting|skipped"
            ),
            _PAGE,
        ),
    ),
    Page("teach", "/teach", "Teach", teach_page.teach, teach_page.TEACH_INPUTS),
    Page(
        "finding",
        "/finding",
        "Finding",
        review_page.finding,
        (text_input("key", "Key of the finding.", None, pattern=review_page.KEY),),
    ),
    Page(
        "axis",
        "/axis",
        "Axis",
        item_pages.axis,
        (whole_input("number", "Number of the axis, from 0.", 0, 100_000),),
    ),
    Page(
        "tag",
        "/tag",
        "Tag a text",
        label_pages.tag,
        (text_input("text", "The text.", largest=LONGEST_TEXT), _COUNT),
        posts=True,
    ),
)

# What scripts of the pages ask for, as JSON only.
DATA = (
    Page("ids", "/search/ids.json", "Ids", item_list.ids, (*SELECTION, SORT)),
    Page(
        "teach_map",
        "/teach/map.json",
        "Map of a lesson",
        teach_page.map_colours,
        (text_input("label", "The label that is taught.", None),),
    ),
    Page("matches", "/map/matches.json", "Matches", item_list.matches, SELECTION),
    Page(
        "complete",
        "/labels/complete.json",
        "Completion",
        label_pages.complete,
        (
            text_input("q", "What a name begins with, or has in it.", largest=LONGEST_QUERY),
            whole_input("n", "Maximum number of labels.", 10, 100, 1),
        ),
    ),
)
