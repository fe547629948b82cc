"""Parameters that select items: in the list, in its downloads, on the map and for programs."""

from __future__ import annotations

from .requests import LONGEST_QUERY, text_input, texts_input, whole_input

__all__ = ["BALANCE", "QUERY", "SELECTION", "SORT"]

# Corners of a polygon on the map: whole numbers x.y, separated by underscores.
_LASSO = r"(-?[0-9]{1,5}\.-?[0-9]{1,5}(_-?[0-9]{1,5}\.-?[0-9]{1,5}){2,199})?"
# A key of the metadata, and the ends of a range; one end may be missing.
_RANGE = r"[\s\S]+:[-+.0-9eE]{0,40}\.\.[-+.0-9eE]{0,40}"

QUERY = text_input("q", "The text to search for.", largest=LONGEST_QUERY)
BALANCE = whole_input(
    "balance",
    "Weight of the space in percent: 0 compares only words, 100 only meaning; -1 is that of the "
    "index: 40, or 50 with a language model.",
    -1,
    100,
    -1,
)
SELECTION = (
    QUERY,
    BALANCE,
    texts_input("label", "Only items with this label; an * at its end matches any end."),
    texts_input("without", "Only items without this label; an * as above."),
    texts_input("linked", "Only items that this item links to, or that link to it: its id."),
    texts_input("meta", "Only items with one of these values of a key, as key=value."),
    texts_input("without_meta", "Only items without this metadata, as key=value."),
    texts_input(
        "range",
        "Only items whose metadata lies between two numbers or dates, as key:low..high.",
        _RANGE,
    ),
    text_input("finding", "Only items about which the audit has found something of this kind."),
    text_input(
        "lasso",
        "Only items inside this polygon on the map: corners as x.y, separated by underscores.",
        pattern=_LASSO,
    ),
    text_input(
        "match",
        "Empty for the items that match; close for those that are only close in meaning.",
        pattern="(close)?",
    ),
)
SORT = text_input("sort", "What to sort by: title, id, labels, or meta.KEY; reversed by a minus.")
