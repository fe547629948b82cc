"""Define all pages in one table, from which the routes and the OpenAPI description are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from ..index.searching import BALANCE
from . import home_page, item_list, item_pages, label_pages, review_page
from .parameters import LONGEST_QUERY, LONGEST_TEXT, Parameter
from .snapshot import Snapshot

__all__ = ["DATA", "PAGES", "SELECTION", "SORT", "Page"]


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


def _text(name: str, about: str, default: str | None = "", **limits: Any) -> Parameter:
    return Parameter(name, "text", about, default, **limits)


def _texts(name: str, about: str, pattern: str = "") -> Parameter:
    return Parameter(name, "texts", about, (), pattern=pattern)


def _whole(name: str, about: str, default: int, largest: int, smallest: int = 0) -> Parameter:
    return Parameter(name, "whole", about, default, largest, smallest)


_VIEW = r"(-?[0-9]{1,6}\.-?[0-9]{1,6}\.[0-9]{1,7})?"
_QUERY = _text("q", "The text to search for.", largest=LONGEST_QUERY)
_BALANCE = _whole(
    "balance",
    "Weight of the space in percent: 0 compares only words, 100 only meaning.",
    round(100 * BALANCE),
    100,
)
# What selects items, in the list, in its downloads and on the map.
SELECTION = (
    _QUERY,
    _BALANCE,
    _texts("label", "Only items with this label; an * at its end matches any end."),
    _texts("without", "Only items without this label; an * as above."),
    _texts("meta", "Only items with one of these values of a key, as key=value."),
    _texts("without_meta", "Only items without this metadata, as key=value."),
    _texts(
        "range",
        "Only items whose metadata lies between two numbers or dates, as key:low..high.",
        item_list.RANGE,
    ),
    _text("finding", "Only items about which the audit has found something of this kind."),
    _text(
        "lasso",
        "Only items inside this polygon on the map: corners as x.y, separated by underscores.",
        pattern=item_list.LASSO,
    ),
)
SORT = _text("sort", "What to sort by: title, id, labels, or meta.KEY; reversed by a minus.")
_PAGE = _whole("page", "Number of the page, from 1.", 1, 100_000, 1)
_PART = _text("q", "Only labels whose name contains this.", largest=LONGEST_QUERY)
_ITEM = _text("id", "The item.", None)
_COUNT = _whole("k", "Maximum number of results.", 10, 100, 1)

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
            _text("show", "cards, or table.", "cards", pattern="cards|table"),
            _texts("open", "Lists of labels and values to show longer."),
            _PAGE,
        ),
    ),
    Page("compare", "/compare", "Compare", item_pages.compare, (_QUERY, _COUNT)),
    Page(
        "why",
        "/why",
        "Why",
        item_pages.why,
        (
            _ITEM,
            _QUERY,
            _texts("label", "The labels searched for, if there was no text."),
            _BALANCE,
        ),
    ),
    Page("item", "/item", "Item", item_pages.item, (_ITEM, _COUNT)),
    Page(
        "map",
        "/map",
        "Map",
        home_page.map_page,
        (
            _text("item", "An item to highlight."),
            _text("colour", "A label to colour by."),
            _text("colour_meta", "A key of the metadata to colour by."),
            _text(
                "view",
                "What is visible: the centre and the zoom in percent, as x.y.zoom.",
                pattern=_VIEW,
            ),
            *SELECTION,
        ),
    ),
    Page("labels", "/labels", "Labels", label_pages.labels, (_PART, _PAGE)),
    Page("label", "/label", "Label", label_pages.label, (_text("name", "The label.", None),)),
    Page(
        "report",
        "/report",
        "Label report",
        label_pages.report,
        (
            _PART,
            _text(
                "sort", f"What to sort by: {', '.join(label_pages.SORTS)}; with a minus, reversed."
            ),
            _PAGE,
        ),
    ),
    Page(
        "review",
        "/review",
        "Review",
        review_page.review,
        (
            _text("kind", "Only findings of this kind; pairs for wrong and missing labels."),
            _text("label", "Only findings about this label."),
            _text(
                "show", "Which findings: waiting, or skipped.", "waiting", pattern="waiting|skipped"
            ),
            _PAGE,
        ),
    ),
    Page(
        "finding",
        "/finding",
        "Finding",
        review_page.finding,
        (_text("key", "Key of the finding.", None, pattern=review_page.KEY),),
    ),
    Page(
        "axis",
        "/axis",
        "Axis",
        item_pages.axis,
        (_whole("number", "Number of the axis, from 0.", 0, 100_000),),
    ),
    Page(
        "tag",
        "/tag",
        "Tag a text",
        label_pages.tag,
        (_text("text", "The text.", largest=LONGEST_TEXT), _COUNT),
        posts=True,
    ),
)

# What scripts of the pages ask for, as JSON only.
DATA = (
    Page("matches", "/map/matches.json", "Matches", item_list.matches, SELECTION),
    Page(
        "complete",
        "/labels/complete.json",
        "Completion",
        label_pages.complete,
        (
            _text("q", "What a name begins with, or has in it.", largest=LONGEST_QUERY),
            _whole("n", "Maximum number of labels.", 10, 100, 1),
        ),
    ),
)
