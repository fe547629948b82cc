"""Changes of values of the metadata, and searches that are saved."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from ..curation import MetadataEdits, SavedSearches
from .editing import Name, Who
from .endpoint import Given
from .fragments import link
from .requests import LONGEST_ADDRESS, Refused, read_pairs, read_parameters
from .schema import Body, Count, MaxLen
from .selection import SELECTION, SORT
from .snapshot import Served

__all__ = ["SearchBody", "ValuesBody", "replace_values", "save_search"]


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
