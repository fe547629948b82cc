"""Values that are probably the same, their merging, and searches that are saved."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from ..curation import MetadataEdits, SavedSearches, value_groups
from ..curation.metadata_edits import value_counts
from .answer_parts import Asked, PageData, page_of
from .editing import Name, Who
from .endpoint import Given
from .fragments import link
from .item_list import SELECTION, SORT
from .requests import (
    LONGEST_ADDRESS,
    Refused,
    read_pairs,
    read_parameters,
    text_input,
    whole_input,
)
from .schema import Body, Count, MaxLen
from .snapshot import Served, Snapshot

__all__ = [
    "VALUE_INPUTS",
    "SearchBody",
    "ValuesBody",
    "replace_values",
    "save_search",
    "values",
]

_GROUPS_PER_PAGE = 50
VALUE_INPUTS = (
    text_input("field", "A key of the metadata; empty for labels."),
    text_input(
        "how",
        "words: the same words in any order; spelling: also one letter that differs.",
        "words",
        pattern="words|spelling",
    ),
    whole_input("page", "Number of the page, from 1.", 1, 100_000, 1),
)


class ValuesData(PageData):
    """The answer of ``/values``."""

    fields: Annotated[list[str], "keys of the metadata whose values are texts"]
    different: Annotated[Count, "number of different values, or labels"]
    groups: Annotated[list[dict[str, Count]], "values that are probably the same, and their items"]


def values(snapshot: Snapshot, asked: Asked) -> ValuesData:
    """Group labels, or values of the metadata, that are probably the same."""
    index, field, how = snapshot.index, asked["field"], asked["how"]
    fields = [name for name, kind in index.fields().items() if kind in ("category", "text")]
    if field and field not in fields:
        raise Refused(404, f"field: {field[:60]!r} is not a key of texts.")

    def make() -> tuple[int, list[dict[str, int]]]:
        counts = value_counts(index, field)
        return len(counts), value_groups(counts, how)

    different, found = snapshot.cached(("values", field, how), make)
    shown, page = page_of(asked, found, _GROUPS_PER_PAGE)
    return {
        **page,
        "fields": fields,
        "different": different,
        "groups": shown,
    }


# --- changing -------------------------------------------------------------------------------


class MergedValues(Body):
    """Values, and the one that replaces them."""

    values: Annotated[list[Name], MaxLen(1000)]
    by: Name


class ValuesBody(Body):
    """Values of a field to replace."""

    field: Name
    groups: Annotated[list[MergedValues], MaxLen(1000)]
    preview: NotRequired[bool]
    who: NotRequired[Who]


class SearchBody(Body):
    """A search to save under a name; without a query, the one of that name is removed."""

    name: Annotated[str, MaxLen(200)]
    query: NotRequired[Annotated[str, MaxLen(LONGEST_ADDRESS)]]
    who: NotRequired[Who]


class ValueChangeData(TypedDict):
    """What a change of metadata did, or would do."""

    items: Annotated[Count, "number of items"]
    said: Annotated[str, "the change as a sentence; empty for a preview"]
    number: Annotated[Count | None, "of the change, to undo it"]


class SearchesData(TypedDict):
    """Saved searches: the query string of each name."""

    searches: dict[str, str]


def replace_values(served: Served, given: Given) -> ValueChangeData:
    """Replace values of a key of the metadata."""
    editing = served.editor
    edits = MetadataEdits(editing.index)
    replaced = {
        old: one["by"] for one in given["groups"] for old in one["values"] if old != one["by"]
    }
    if given.get("preview"):
        return {"items": len(edits.plan(given["field"], replaced)), "said": "", "number": None}
    made = edits.replace(given["field"], replaced, who=editing.name(given))
    if made is None:
        return {"items": 0, "said": "Nothing to change.", "number": None}
    served.renew(values=True)
    return {"items": made.n_items, "said": made.said, "number": made.number}


def save_search(served: Served, given: Given) -> SearchesData:
    """Save a search under a name, or remove the one of that name."""
    editing, query = served.editor, given.get("query", "")
    if query:
        asked = read_parameters((*SELECTION, SORT), read_pairs(query.encode()))
        usual = {one.name: one.default for one in (*SELECTION, SORT)}
        kept = {key: value for key, value in asked.items() if value != usual[key]}
        query = link("", **kept).removeprefix("?")
        if not query:
            raise Refused(400, "There is nothing to save: search for something, or filter.")
    searches = SavedSearches(editing.index)
    searches.save(given["name"], query, who=editing.name(given))
    return {"searches": searches.all()}
