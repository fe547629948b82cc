"""Changes of an index: its history, and the values before and after one change."""

from __future__ import annotations

from typing import Annotated

from .._typing import TypedDict
from ..index import CellChange, HistoryEntry, SemanticIndex
from .common import Count, Given

__all__ = ["ChangeData", "cells", "change_data", "history"]


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
