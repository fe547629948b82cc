"""Changes of an index: its history, and the values before and after one change."""

from __future__ import annotations

from typing import Annotated, NotRequired

from .._typing import TypedDict
from ..curation import LabelEdit
from ..index import CellChange, HistoryEntry, SemanticIndex
from .common import Count, Given

__all__ = ["ChangeData", "EditedData", "cells", "change_data", "edited", "history"]


class ChangeData(TypedDict):
    """All that was changed at once."""

    number: Count
    time: Annotated[str, "in UTC"]
    who: str
    action: str
    said: Annotated[str, "the change as a sentence"]
    items: Annotated[Count, "number of items that it is about"]
    added: list[str]
    removed: list[str]
    undone: bool
    undoes: Annotated[Count, "number of the change that it undoes; 0 for another"]
    examples: Annotated[list[str], "ids of some of its items"]


class EditedData(TypedDict):
    """What a change of labels did, or would do."""

    items: Annotated[Count, "number of items whose labels it changes"]
    added: list[str]
    removed: list[str]
    new_labels: Annotated[list[str], "labels that no item had"]
    said: Annotated[str, "the change as a sentence"]
    decision: Annotated[ChangeData | None, "null if nothing was changed"]
    labels: Annotated[dict[str, list[str] | None], "of the items to show, as they are stored now"]
    similar: NotRequired[Annotated[dict[str, list[str]], "labels spelt nearly like new ones"]]
    asked: NotRequired[Annotated[str, "what to confirm before new labels are created"]]
    number: NotRequired[Annotated[Count, "of an undo, which can be undone as well"]]
    restored: NotRequired[Annotated[Count, "number of items that are as before"]]
    kept: NotRequired[
        Annotated[dict[str, Count], "items that stay as they are, by the change that changed them"]
    ]


class CellsData(TypedDict):
    """Values before and after a change."""

    changes: list[CellChange]


class HistoryData(TypedDict):
    """Changes, the newest first."""

    decisions: list[ChangeData]
    next: Annotated[int | None, "of further ones: the number to ask for those before"]


def change_data(entry: HistoryEntry) -> ChangeData:
    """Return what every answer tells about a change."""
    return {
        "number": entry.number,
        "time": entry.time,
        "who": entry.who,
        "action": entry.action,
        "said": entry.said,
        "items": entry.n_items,
        "added": list(entry.added),
        "removed": list(entry.removed),
        "undone": entry.undone,
        "undoes": entry.undoes,
        "examples": list(entry.examples),
    }


def edited(
    index: SemanticIndex, edit: LabelEdit, made: HistoryEntry | None, given: Given
) -> EditedData:
    """Return the changes of an edit, planned or made, and labels as they are stored now."""
    # A page may show an item that was removed since.
    there = index.items([name for name in given.get("show", ()) if name in index])
    change = edit if made is None else made
    return {
        "items": change.n_items,
        "added": list(change.added),
        "removed": list(change.removed),
        "new_labels": list(edit.new_labels),
        "said": change.said,
        "decision": None if made is None else change_data(made),
        "labels": {item.id: None if item.labels is None else list(item.labels) for item in there},
    }


def history(index: SemanticIndex, given: Given) -> HistoryData:
    """List what was changed, the newest first."""
    count, before = given["n"], given["before"] or None
    about = {"item": given["item"], "label": given["label"]}
    entries = index.history(count + 1, before=before, **about)
    further = entries[count - 1].number if len(entries) > count else None
    return {"decisions": [*map(change_data, entries[:count])], "next": further}


def cells(index: SemanticIndex, given: Given) -> CellsData:
    """List the values before and after one change of the history."""
    return {"changes": index.changes(given["number"])}
