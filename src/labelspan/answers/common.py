"""What answers share: limits of numbers, pages of a list, items and labels by name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from .._texts import shortened
from .._typing import TypedDict
from ..errors import NotFound
from ..index import Item, SemanticIndex
from ..index.inputs import label_name

__all__ = [
    "Count",
    "Given",
    "PageData",
    "StoredLabelData",
    "Unit",
    "cached",
    "find_item",
    "find_label",
    "labels_by_count",
    "page_of",
    "rounded",
    "stored_labels",
    "titles_of",
]

T = TypeVar("T")

# Lists of items and groups of values that are cached, the last used ones.
_MOST_CACHED = 20

# The parameters of an answer by name.
Given: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Limits:
    """Smallest and largest value of a number, for its description."""

    smallest: int
    largest: int | None = None

    def __get_pydantic_json_schema__(
        self, schema: Any, describe: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Add the limits to a description in JSON Schema."""
        described = describe(schema) | {"minimum": self.smallest}
        return described if self.largest is None else described | {"maximum": self.largest}


Count = Annotated[int, Limits(0)]
Unit = Annotated[float, Limits(0, 1)]


class PageData(TypedDict):
    """Fields that every paged answer has."""

    count: Annotated[Count, "number of entries that match, on all pages"]
    page: Annotated[Count, "number of this page"]
    pages: Annotated[Count, "number of pages"]


class StoredLabelData(TypedDict):
    """A label, and the number of items that have it."""

    label: str
    uri: Annotated[str | None, "of the label in the vocabulary of the index"]
    items: Count


def page_of(given: Given, entries: Sequence[T], size: int) -> tuple[list[T], PageData]:
    """Return the entries of a page; raise an error for a page that does not exist."""
    page, pages = given["page"], max(1, -(-len(entries) // size))
    if page > pages:
        raise NotFound(f"page: there are pages 1 to {pages}.")
    shown = list(entries[(page - 1) * size : page * size])
    return shown, {"count": len(entries), "page": page, "pages": pages}


def cached(index: SemanticIndex, key: Hashable, make: Callable[[], T]) -> T:
    """Return what was made under a key since items or labels changed, or make it."""
    return index.store.once(("answer", key), make, most=_MOST_CACHED)


def rounded(value: float) -> float:
    """Return a number with four digits."""
    return round(float(value), 4)


def find_item(index: SemanticIndex, name: str) -> Item:
    """Return an item by its id; unlike ``index.item``, do not look for similar ids."""
    # A writer may have removed it since the index was loaded.
    items = index.items([name]) if name in index else []
    if not items:
        raise NotFound(f"There is no item {shortened(name, 60)!r} in this index.")
    return items[0]


def find_label(index: SemanticIndex, name: str) -> int:
    """Return the number of items that have a label, by any of its names."""
    labels, vocabulary = index.labels, index.vocabulary
    count = labels.get(label_name(name))
    if count is None and vocabulary is not None:
        count = labels.get(vocabulary.preferred(label_name(name)) or name)
    if count is None:
        raise NotFound(f"No item of this index has the label {shortened(name, 60)!r}.")
    return count


def labels_by_count(index: SemanticIndex) -> list[tuple[str, int]]:
    """Return all labels with their numbers of items, the most frequent first."""
    return sorted(index.labels.items(), key=lambda pair: (-pair[1], pair[0]))


def stored_labels(index: SemanticIndex, names: Iterable[str]) -> list[StoredLabelData]:
    """Return labels with their URIs and numbers of items."""
    vocabulary, counts = index.vocabulary, index.labels
    return [
        {
            "label": name,
            "uri": None if vocabulary is None else vocabulary.code(name),
            "items": counts.get(name, 0),
        }
        for name in names
    ]


def titles_of(index: SemanticIndex, ids: Sequence[str]) -> list[str]:
    """Return the titles of items; of one that was removed since, its id."""
    items = index.items([name for name in dict.fromkeys(ids) if name in index])
    titles = {item.id: item.title for item in items}
    return [titles.get(name, name) for name in ids]
