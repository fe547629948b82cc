"""Changes of values of the metadata and of links, and searches that are saved."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ..curation import MetadataEdits, SavedSearches
from ..index import HistoryEntry
from .edit_routes import known_items
from .editing import EditBody, Name
from .endpoint import Given
from .fragments import link
from .requests import LONGEST_ADDRESS, Refused, read_pairs, read_parameters
from .schema import Body, Count, MaxLen
from .selection import SELECTION, SORT
from .snapshot import Served

__all__ = [
    "LinksBody",
    "SearchBody",
    "ValuesBody",
    "edit_links",
    "replace_values",
    "save_search",
]

_Link = Annotated[list[Name], Field(min_length=2, max_length=2)]
_Links = Annotated[list[_Link], MaxLen(1000), "the id of an item, and what it links to"]


class MergedValues(Body):
    """Values, and the one that replaces them."""

    values: Annotated[list[Name], MaxLen(1000)]
    by: Name


class ValuesBody(EditBody):
    """Values of a field to replace."""

    field: Name
    groups: Annotated[list[MergedValues], MaxLen(1000)]
    preview: NotRequired[bool]


class LinksBody(Body):
    """Links to add between items, and to remove."""

    add: NotRequired[_Links]
    remove: NotRequired[_Links]


class SearchBody(EditBody):
    """A search to save under a name; without a query, the one of that name is removed."""

    name: Annotated[str, MaxLen(200)]
    query: NotRequired[Annotated[str, MaxLen(LONGEST_ADDRESS)]]


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
    return _changed(served, edits.replace(given["field"], replaced, who=editing.name(given)))


def edit_links(served: Served, given: Given) -> ValueChangeData:
    """Add links between items, and remove others."""
    editing = served.editor
    with editing.index.write_lock:
        pairs = [[(one[0], one[1]) for one in given.get(name, ())] for name in ("add", "remove")]
        known_items(editing.index, [start for own in pairs for start, _ in own])
        made = MetadataEdits(editing.index).link(*pairs, who=editing.name(given))
        return _changed(served, made)


def _changed(served: Served, made: HistoryEntry | None) -> ValueChangeData:
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
