"""What a browser changes labels by: edits, decisions, undo, history.

They do not exist with ``labelspan serve --read-only``, and need the cookie that the entrance sets.
The pages themselves hold no secret, so that they can be cached: the script asks
``/edit/session.json`` for it, and sends it with every change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from ..answers.change_list import EditedData, edited
from ..curation import LabelEdit
from ..errors import InvalidFile, InvalidInput, NewLabels
from ..index import SemanticIndex
from .changes_page import BarData, barred
from .editing import EditBody, Name
from .endpoint import Given
from .requests import Refused
from .schema import Count, MaxLen
from .snapshot import Served

__all__ = [
    "Create",
    "DecideBody",
    "LabelsBody",
    "ReplaceBody",
    "Similar",
    "UndoBody",
    "decide",
    "edit_labels",
    "known_items",
    "replace_labels",
    "session",
    "undo",
]

MOST_ITEMS = 100_000
_MOST_FINDINGS = 1000
_SHOWN_ITEMS = 1000

Labels = Annotated[list[Name], MaxLen(100)]
Create = Annotated[bool, "whether labels that do not exist yet may be created"]
Similar = Annotated[bool, "also those that are spelt nearly like one that exists"]
Note = Annotated[str, MaxLen(1000), "why, for the list of decisions"]
Shown = Annotated[
    list[Name], MaxLen(_SHOWN_ITEMS), "items whose labels, as they are stored then, are returned"
]


class _ChangeBody(EditBody):
    create: NotRequired[Create]
    similar: NotRequired[Similar]
    preview: NotRequired[bool]
    show: NotRequired[Shown]


class LabelsBody(_ChangeBody):
    """Labels to add to items, and to remove from them."""

    items: Annotated[list[Name], MaxLen(MOST_ITEMS)]
    add: NotRequired[Labels]
    remove: NotRequired[Labels]


class ReplaceBody(_ChangeBody):
    """Labels to rename, to merge into another, or to drop."""

    labels: Labels
    by: Name | None


class DecideBody(EditBody):
    """Findings to decide about."""

    findings: Annotated[list[Name], MaxLen(_MOST_FINDINGS)]
    decision: Literal["accept", "reject", "skip"]
    reason: NotRequired[Note]
    note: NotRequired[Note]


class UndoBody(EditBody):
    """A change to undo; the last one by default."""

    number: NotRequired[Count | None]
    show: NotRequired[Shown]


class SessionData(TypedDict):
    """What a page needs to change something."""

    secret: str
    who: Annotated[str, "who decides, if it is not said"]
    bar: BarData


def session(served: Served, given: Given) -> SessionData:
    """Return what a page must send with every change."""
    editing = served.editor
    return {"secret": editing.access.form_secret, "who": editing.who, "bar": barred(served)}


def edit_labels(served: Served, given: Given) -> EditedData:
    """Add labels to items and remove them, or preview it."""
    review = served.editor.review
    with review.index.write_lock:
        items = known_items(review.index, given["items"])
        edit = review.plan_edit(items, given.get("add", ()), given.get("remove", ()))
        return _apply(served, edit, given)


def replace_labels(served: Served, given: Given) -> EditedData:
    """Rename, merge or drop labels, or preview it."""
    review = served.editor.review
    with review.index.write_lock:
        edit = review.plan_replace(given["labels"], given["by"])
        return _apply(served, edit, given, edit.removed)


def decide(served: Served, given: Given) -> EditedData:
    """Decide about findings."""
    # Another page may have decided about some of them.
    review = served.editor.review
    with review.index.write_lock:
        there = {one.key for one in (*review.waiting(), *review.waiting(skipped=True))}
        found = [one for one in review.find(given["findings"]) if one.key in there]
        why = {key: given.get(key, "") for key in ("reason", "note")}
        made = review.decide(found, given["decision"], who=served.editor.name(given), **why)
        return edited(review.index, LabelEdit("edit", ()), made, given)


def undo(served: Served, given: Given) -> EditedData:
    """Undo a change: put back what it replaced, where that was not changed since."""
    index = served.editor.index
    try:
        with index.write_lock:
            items = len(index)
            made = index.undo(given.get("number"), who=served.editor.name(given))
            # An item may come back or go.
            decided = made.entry.action == "review"
            served.renew(values=True, items=len(index) != items, decided=decided)
            answer = edited(index, LabelEdit("edit", ()), made.entry, given)
    except InvalidFile:
        raise
    except InvalidInput as error:
        raise Refused(409, str(error)) from None
    if answer["decision"] is not None:
        answer["decision"]["undone"] = True
    answer["said"], answer["number"], answer["restored"] = made.said, made.number, made.restored
    answer["kept"] = {str(number): count for number, count in made.kept.items()}
    return answer


def _apply(
    served: Served, edit: LabelEdit, given: Given, replaced: Sequence[str] = ()
) -> EditedData:
    review = served.editor.review
    new = edit.new_labels if edit.pairs else ()
    if given.get("preview"):
        answer = edited(review.index, edit, None, given)
        answer["similar"] = review.similar(new, replaced)
        try:
            review.check_new_labels(new, replaced, create=True)
            answer["asked"] = ""
        except NewLabels as error:
            answer["asked"] = error.doubt
        return answer
    allowed = {key: given.get(key, False) for key in ("create", "similar")}
    review.check_new_labels(new, replaced, **allowed)
    made = review.apply(edit, who=served.editor.name(given), create=True)
    return edited(review.index, edit, made, given)


def known_items(index: SemanticIndex, ids: list[str]) -> list[str]:
    """Return ids of items; one that does not exist is refused."""
    for name in ids:
        if name not in index:
            raise Refused(404, f"There is no item {name!r:.80} in the index.")
    return ids
