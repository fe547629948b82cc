"""Parts that answers share: types of what was requested, lookups with refusals, and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from ..index import Item
from ..index.inputs import label_name
from .http_errors import Refused
from .schema import Count
from .snapshot import Snapshot

__all__ = [
    "Asked",
    "AskedCount",
    "AskedText",
    "AskedTexts",
    "CountedData",
    "SelectionData",
    "counted",
    "find_item",
    "find_label",
    "page_of",
    "rounded",
    "selection",
]

Asked = Mapping[str, Any]
AskedText = Annotated[str, "as requested"]
AskedTexts = Annotated[list[str], "as requested"]
AskedCount = Annotated[Count, "as requested"]


class CountedData(TypedDict):
    """A label and the number of items that have it."""

    label: str
    count: Count


class SelectionData(TypedDict):
    """Which items were requested."""

    q: AskedText
    balance: AskedCount
    label: AskedTexts
    without: AskedTexts
    group: AskedTexts
    without_group: AskedTexts
    meta: AskedTexts
    without_meta: AskedTexts
    finding: AskedText
    lasso: AskedText


def selection(asked: Asked) -> SelectionData:
    """Return which items were requested, as answers repeat it."""
    return {
        "q": asked["q"],
        "balance": asked["balance"],
        "label": list(asked["label"]),
        "without": list(asked["without"]),
        "group": list(asked["group"]),
        "without_group": list(asked["without_group"]),
        "meta": list(asked["meta"]),
        "without_meta": list(asked["without_meta"]),
        "finding": asked["finding"],
        "lasso": asked["lasso"],
    }


def counted(pairs: Sequence[tuple[str, int]]) -> list[CountedData]:
    """Return labels with their counts."""
    return [{"label": name, "count": count} for name, count in pairs]


def find_item(snapshot: Snapshot, name: str) -> Item:
    """Return an item by its id; unlike ``index.item``, do not look for similar ids."""
    missing = Refused(404, f"There is no item {_shortened(name)} in this index.")
    if name not in snapshot.index:
        raise missing
    found = snapshot.index.items([name])
    if not found:
        # A writer has removed it since the index was loaded.
        raise missing
    return found[0]


def find_label(snapshot: Snapshot, name: str) -> int:
    """Return the number of items that have a label."""
    count = snapshot.labels.get(label_name(name))
    if count is None:
        raise Refused(404, f"No item of this index has the label {_shortened(name)}.")
    return count


def _shortened(name: str) -> str:
    return repr(name if len(name) <= 60 else f"{name[:60]}…")


def page_of(asked: int, count: int, each: int) -> tuple[int, int]:
    """Return the number of a page and of all pages; one that does not exist is refused."""
    pages = max(1, -(-count // each))
    if asked > pages:
        raise Refused(404, f"page: there are pages 1 to {pages}.")
    return asked, pages


def rounded(value: float) -> float:
    """Return a number with four digits."""
    return round(float(value), 4)
