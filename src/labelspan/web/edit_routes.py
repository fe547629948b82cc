"""Addresses by which a browser changes labels: edits, decisions about findings, undo, history.

They exist only with ``labelspan serve --edit``. The pages themselves hold no secret, so that they
can be cached: the script asks ``/edit/session.json`` for it, and sends it with every change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..curation import DecisionGroup, LabelEdit
from ..curation.decisions import LONGEST_WHO, Action
from ..curation.review_queue import finding_key
from ..errors import InvalidFile, InvalidInput
from ..index import SemanticIndex
from .editing import SECRET_HEADER, Editing
from .http_errors import Refused
from .json_body import read_json_body
from .middleware import read_all
from .parameters import LONGEST_JSON, LONGEST_NAME, Parameter, read_address, read_parameters
from .render import as_json
from .schema import Characters, Count, Entries

__all__ = ["DecisionData", "decision_data", "edit_routes", "known_items"]

MOST_ITEMS = 100_000
_MOST_FINDINGS = 1000
_SHOWN_ITEMS = 200
_EXAMPLES = 5

Name = Annotated[str, Characters(LONGEST_NAME)]
Labels = Annotated[list[Name], Entries(100)]
Who = Annotated[str, Characters(LONGEST_WHO), "who decides, for the history"]
Work = Callable[[dict[str, Any]], Any]


class LabelsBody(TypedDict):
    """Labels to add to items, and to remove from them."""

    items: Annotated[list[Name], Entries(MOST_ITEMS)]
    add: NotRequired[Labels]
    remove: NotRequired[Labels]
    create: NotRequired[bool]
    preview: NotRequired[bool]
    who: NotRequired[Who]


class ReplaceBody(TypedDict):
    """Labels to rename, to merge into another, or to drop."""

    labels: Labels
    by: Name | None
    create: NotRequired[bool]
    preview: NotRequired[bool]
    who: NotRequired[Who]


class DecideBody(TypedDict):
    """Findings to decide about."""

    findings: Annotated[list[Name], Entries(_MOST_FINDINGS)]
    decision: Literal["accept", "reject", "skip"]
    who: NotRequired[Who]


class UndoBody(TypedDict):
    """A decision to undo; the last one by default."""

    number: NotRequired[Count | None]


class DecisionData(TypedDict):
    """All that was decided at once."""

    number: Count
    time: Annotated[str, "in UTC"]
    who: str
    action: Action
    said: Annotated[str, "the decision as a sentence"]
    items: Annotated[Count, "number of items whose labels it changed"]
    added: list[str]
    removed: list[str]
    undone: bool
    examples: Annotated[list[str], "ids of some of its items"]


class EditData(TypedDict):
    """What an edit changes, or has changed."""

    items: Annotated[Count, "number of items whose labels change"]
    added: list[str]
    removed: list[str]
    new_labels: Annotated[list[str], "labels that did not exist before"]
    said: str
    decision: Annotated[DecisionData | None, "null for a preview, or if nothing changes"]
    labels: Annotated[dict[str, list[str]], "labels of some of these items now"]


class HistoryData(TypedDict):
    """A page of the history."""

    decisions: list[DecisionData]
    next: Annotated[Count | None, "``before`` of the next page"]


_HISTORY = (
    Parameter("before", "whole", "Only decisions before this number; 0 for all.", 0, 10**9 - 1),
    Parameter("n", "whole", "Maximum number of decisions.", 20, 100, 1),
    Parameter("item", "text", "Only decisions about this item.", ""),
    Parameter("label", "text", "Only decisions about this label.", ""),
)


def edit_routes(
    editing: Editing, pool: ThreadPoolExecutor, changed: Callable[[], None]
) -> list[Route]:
    """Return the addresses; ``changed`` is called after labels have changed."""
    review = editing.review

    def post(path: str, kind: Any, work: Work) -> Route:
        async def answer(request: Request) -> Response:
            editing.check_writing(request)
            editing.check_form(request.headers.get(SECRET_HEADER, ""))
            body = await read_all(request.receive, longest=LONGEST_JSON)
            given = read_json_body(kind, request.headers.get("content-type", ""), body)
            return as_json(await asyncio.get_running_loop().run_in_executor(pool, work, given))

        return Route(path, answer, methods=["POST"])

    def get(path: str, work: Work, known: tuple[Parameter, ...] = ()) -> Route:
        async def answer(request: Request) -> Response:
            editing.check(request)
            given = read_parameters(known, read_address(request.scope["query_string"]))
            response = as_json(await asyncio.get_running_loop().run_in_executor(pool, work, given))
            response.headers["cache-control"] = "no-store"
            return response

        return Route(path, answer)

    def who(given: dict[str, Any]) -> str:
        return str(given.get("who") or editing.who)

    def apply(edit: LabelEdit, given: dict[str, Any]) -> EditData:
        made = None
        if not given.get("preview"):
            if edit.new_labels and edit.pairs and not given.get("create"):
                error = review.index.store.labels.unknown(edit.new_labels[0])
                raise Refused(409, f"{error} Confirm that it is to be created.")
            made = review.apply(edit, who=who(given), create=True)
            if made is not None:
                changed()
        return _edit_data(review.index, edit, made)

    def labels(given: dict[str, Any]) -> EditData:
        items = known_items(review.index, given["items"])
        edit = review.plan_edit(items, given.get("add", ()), given.get("remove", ()))
        return apply(edit, given)

    def replace(given: dict[str, Any]) -> EditData:
        return apply(review.plan_replace(given["labels"], given["by"]), given)

    def decide(given: dict[str, Any]) -> EditData:
        # Another page may have decided about some of them.
        there = {finding_key(one) for one in (*review.waiting(), *review.waiting(skipped=True))}
        found = [one for one in review.find(given["findings"]) if finding_key(one) in there]
        made = review.decide(found, given["decision"], who=who(given))
        if made is not None:
            changed()
        return _edit_data(review.index, made.changed if made else LabelEdit("review", ()), made)

    def undo(given: dict[str, Any]) -> EditData:
        try:
            made = review.undo(given.get("number"))
        except InvalidFile:
            raise
        except InvalidInput as error:
            raise Refused(409, str(error)) from None
        if made is not None:
            changed()
        undone = made and DecisionGroup(made.parts, undone=True)
        return _edit_data(review.index, made.changed if made else LabelEdit("review", ()), undone)

    def history(given: dict[str, Any]) -> HistoryData:
        found = review.history(
            given["n"] + 1,
            before=given["before"] or None,
            item=given["item"],
            label=given["label"],
        )
        shown = found[: given["n"]]
        more = len(found) > len(shown)
        return {
            "decisions": [decision_data(one) for one in shown],
            "next": shown[-1].number if more else None,
        }

    return [
        get("/edit/session.json", lambda _: {"secret": editing.form_secret, "who": editing.who}),
        get("/edit/history.json", history, _HISTORY),
        post("/edit/labels.json", LabelsBody, labels),
        post("/edit/replace.json", ReplaceBody, replace),
        post("/edit/decide.json", DecideBody, decide),
        post("/edit/undo.json", UndoBody, undo),
    ]


def known_items(index: SemanticIndex, ids: list[str]) -> list[str]:
    """Return ids of items; one that does not exist is refused."""
    for name in ids:
        if name not in index:
            raise Refused(404, f"There is no item {name!r:.80} in the index.")
    return ids


def decision_data(made: DecisionGroup) -> DecisionData:
    """Return a decision as JSON."""
    edit = made.changed
    return {
        "number": made.number,
        "time": made.time,
        "who": made.who,
        "action": made.action,
        "said": made.said,
        "items": edit.n_items,
        "added": list(edit.added),
        "removed": list(edit.removed),
        "undone": made.undone,
        "examples": list(dict.fromkeys(one.item for one in made.parts))[:_EXAMPLES],
    }


def _edit_data(index: SemanticIndex, edit: LabelEdit, made: DecisionGroup | None) -> EditData:
    names = list(dict.fromkeys(item for _, item, _ in edit.pairs))[:_SHOWN_ITEMS]
    # An item may have been removed since a decision that is undone.
    there = index.items([name for name in names if name in index])
    return {
        "items": edit.n_items,
        "added": list(edit.added),
        "removed": list(edit.removed),
        "new_labels": list(edit.new_labels),
        "said": edit.said if made is None else made.said,
        "decision": None if made is None else decision_data(made),
        "labels": {item.id: list(item.labels or ()) for item in there},
    }
