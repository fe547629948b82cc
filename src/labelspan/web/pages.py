"""Define all pages in one table, from which the routes and the OpenAPI description are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from ..index.searching import BALANCE
from . import answers, axis, compare, item_list, label_table, review_page
from .parameters import LONGEST_NAME, LONGEST_QUERY, LONGEST_TEXT, Parameter
from .snapshot import Snapshot

__all__ = ["DATA", "PAGES", "Page"]


@dataclass(frozen=True)
class Page:
    """A page and its JSON endpoint: their addresses, parameters, and function.

    The return type of ``answer`` describes the answer. ``posts`` tells whether the parameters
    may also come in the body of a POST request.
    """

    name: str
    path: str
    title: str
    about: str
    answer: Callable[[Snapshot, Mapping[str, Any]], Mapping[str, Any]]
    parameters: tuple[Parameter, ...] = ()
    posts: bool = False

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


def _text(
    name: str, about: str, default: str | None = "", largest: int = LONGEST_NAME
) -> Parameter:
    return Parameter(name, "text", about, default, largest)


def _count(what: str) -> Parameter:
    return Parameter("k", "whole", f"Maximum number of {what}.", 10, 100, 1)


_BALANCE = Parameter(
    "balance",
    "whole",
    "Weight of the space in percent: 0 compares only words, 100 only meaning.",
    round(100 * BALANCE),
    100,
)
_VIEW = r"(-?[0-9]{1,6}\.-?[0-9]{1,6}\.[0-9]{1,7})?"
# What selects items, in the list, in its downloads and on the map.
_SELECTION = (
    _text("q", "Only items that match this text.", largest=LONGEST_QUERY),
    _BALANCE,
    Parameter("label", "texts", "Only items with this label; an * at its end matches any end.", ()),
    Parameter("without", "texts", "Only items without this label; an * as above.", ()),
    Parameter("meta", "texts", "Only items with one of these values of a key, as key=value.", ()),
    Parameter("without_meta", "texts", "Only items without this metadata, as key=value.", ()),
    Parameter(
        "range",
        "texts",
        "Only items whose metadata lies between two numbers or dates, as key:low..high.",
        (),
        pattern=item_list.RANGE,
    ),
    _text("finding", "Only items about which the audit has found something of this kind."),
    Parameter(
        "lasso",
        "text",
        "Only items inside this polygon on the map: corners as x.y, separated by underscores.",
        "",
        pattern=item_list.LASSO,
    ),
)
_PAGE = Parameter("page", "whole", "Number of the page, from 1.", 1, 100_000, 1)

PAGES = (
    Page("home", "/", "Explore", "Summary of the index.", answers.home),
    Page(
        "search",
        "/search",
        "Items",
        "Items that match a text and filters, with counts of labels and metadata over all of them.",
        item_list.search,
        (
            *_SELECTION,
            _text("sort", "What to sort by: title, id, labels, or meta.KEY; reversed by a minus."),
            Parameter(
                "show", "text", "cards, or table.", "cards", largest=5, pattern="cards|table"
            ),
            Parameter("open", "texts", "Lists of labels and values to show longer.", ()),
            _PAGE,
        ),
    ),
    Page(
        "compare",
        "/compare",
        "Compare",
        "What two indexes find for a text, next to each other.",
        compare.compare,
        (_text("q", "The text to search for.", largest=LONGEST_QUERY), _count("items")),
    ),
    Page(
        "why",
        "/why",
        "Why",
        "Why an item was found.",
        answers.why,
        (
            _text("id", "The item.", None),
            _text("q", "The text that was searched for.", largest=LONGEST_QUERY),
            Parameter("label", "texts", "The labels searched for, if there was no text.", ()),
            _BALANCE,
        ),
    ),
    Page(
        "item",
        "/item",
        "Item",
        "An item, its labels and its neighbours.",
        answers.item,
        (_text("id", "The item.", None), _count("neighbours")),
    ),
    Page(
        "map",
        "/map",
        "Map",
        "All items as points, similar items near each other.",
        answers.map_page,
        (
            _text("item", "An item to highlight."),
            _text("colour", "A label to colour by."),
            _text("colour_meta", "A key of the metadata to colour by."),
            Parameter(
                "view",
                "text",
                "What is visible: the centre and the zoom in percent, as x.y.zoom.",
                "",
                pattern=_VIEW,
            ),
            *_SELECTION,
        ),
    ),
    Page(
        "labels",
        "/labels",
        "Labels",
        "All labels, the most frequent first.",
        answers.labels,
        (_text("q", "Only labels whose name contains this.", largest=LONGEST_QUERY), _PAGE),
    ),
    Page(
        "label",
        "/label",
        "Label",
        "A label, the labels near it, and its items.",
        answers.label,
        (_text("name", "The label.", None),),
    ),
    Page(
        "report",
        "/report",
        "Label report",
        "How well each label is predicted for items that were left out.",
        label_table.report,
        (
            _text("q", "Only labels whose name contains this.", largest=LONGEST_QUERY),
            _text(
                "sort", f"What to sort by: {', '.join(label_table.SORTS)}; with a minus, reversed."
            ),
            _PAGE,
        ),
    ),
    Page(
        "review",
        "/review",
        "Review",
        "Labels that look wrong or missing, and labels to merge, split or drop.",
        review_page.review,
        (
            _text("kind", "Only findings of this kind; pairs for wrong and missing labels."),
            _text("label", "Only findings about this label."),
            Parameter(
                "show",
                "text",
                "Which findings: waiting, or skipped.",
                "waiting",
                pattern="waiting|skipped",
            ),
            _PAGE,
        ),
    ),
    Page(
        "finding",
        "/finding",
        "Finding",
        "The evidence for a label that looks wrong or missing.",
        review_page.finding,
        (Parameter("key", "text", "Key of the finding.", None, pattern=review_page.KEY),),
    ),
    Page(
        "axis",
        "/axis",
        "Axis",
        "A dimension of the embedding: words, labels and items at its ends, and a histogram.",
        axis.axis,
        (Parameter("number", "whole", "Number of the axis, from 0.", 0, 100_000),),
    ),
    Page(
        "tag",
        "/tag",
        "Tag a text",
        "Predict labels for a text.",
        answers.tag,
        (_text("text", "The text.", largest=LONGEST_TEXT), _count("labels")),
        posts=True,
    ),
)

# What scripts of the pages ask for, as JSON only.
DATA = (
    Page(
        "matches",
        "/map/matches.json",
        "Matches",
        "The points of the map whose items match.",
        item_list.matches,
        _SELECTION,
    ),
    Page(
        "complete",
        "/labels/complete.json",
        "Completion",
        "Labels by a part of any of their names.",
        answers.complete,
        (
            _text("q", "What a name begins with, or has in it.", largest=LONGEST_QUERY),
            Parameter("n", "whole", "Maximum number of labels.", 10, 100, 1),
        ),
    ),
)
