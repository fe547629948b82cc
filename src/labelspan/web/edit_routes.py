"""Addresses by which a browser changes labels: edits, decisions, undo, history, corrected file.

They exist only with ``labelspan serve --edit``, and need the cookie that the entrance sets. The
pages themselves hold no secret, so that they can be cached: the script asks ``/edit/session.json``
for it, and sends it with every change.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from starlette.responses import Response
from starlette.routing import Route
from typing_extensions import TypedDict

from ..corpus import CorpusEdit, edit_corpus
from ..curation import DecisionGroup, LabelEdit
from ..curation.decisions import Action
from ..curation.label_edits import doubted
from ..errors import InvalidFile, InvalidInput
from ..index import SemanticIndex
from .access import Given
from .editing import Editing, Name, Who
from .pages import Page
from .render import as_page
from .requests import (
    Parameter,
    Refused,
    text_input,
    whole_input,
)
from .schema import Body, Count, MaxLen, as_json
from .teach_page import teach_routes
from .value_page import value_routes

__all__ = ["Create", "DecisionData", "Similar", "decision_data", "edit_routes", "known_items"]

MOST_ITEMS = 100_000
_MOST_FINDINGS = 1000
_SHOWN_ITEMS = 1000
_EXAMPLES = 5
_MOST_LINES = 1000
# What a label does not go beyond in a line of a table or of JSON, and how much is shown around it.
_SEPARATORS, _AROUND = frozenset(',;|\t\n[]"'), 60
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}

Labels = Annotated[list[Name], MaxLen(100)]
Create = Annotated[bool, "whether labels that do not exist yet may be created"]
Similar = Annotated[bool, "also those that are spelt nearly like one that exists"]
Shown = Annotated[
    list[Name], MaxLen(_SHOWN_ITEMS), "items whose labels, as they are stored then, are returned"
]


class LabelsBody(Body):
    """Labels to add to items, and to remove from them."""

    items: Annotated[list[Name], MaxLen(MOST_ITEMS)]
    add: NotRequired[Labels]
    remove: NotRequired[Labels]
    create: NotRequired[Create]
    similar: NotRequired[Similar]
    preview: NotRequired[bool]
    show: NotRequired[Shown]
    who: NotRequired[Who]


class ReplaceBody(Body):
    """Labels to rename, to merge into another, or to drop."""

    labels: Labels
    by: Name | None
    create: NotRequired[Create]
    similar: NotRequired[Similar]
    preview: NotRequired[bool]
    show: NotRequired[Shown]
    who: NotRequired[Who]


class DecideBody(Body):
    """Findings to decide about."""

    findings: Annotated[list[Name], MaxLen(_MOST_FINDINGS)]
    decision: Literal["accept", "reject", "skip"]
    who: NotRequired[Who]


class UndoBody(Body):
    """A decision to undo; the last one by default."""

    number: NotRequired[Count | None]
    show: NotRequired[Shown]


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


_ENTRIES = (
    whole_input("before", "Only decisions before this number; 0 for all.", 0, 10**9 - 1),
    whole_input("n", "Maximum number of decisions.", 20, 100, 1),
    text_input("item", "Only decisions about this item."),
    text_input("label", "Only decisions about this label."),
)


def edit_routes(editing: Editing, changed: Callable[..., None]) -> list[Route]:
    """Return the routes; ``changed`` is called after labels have changed."""
    made, get, post = _Edits(editing, changed), editing.access.get, editing.access.post
    return [
        editing.access.route("/review"),
        get("/edit/session.json", made.session),
        get("/history.json", lambda given: as_json(made.history(given)), _ENTRIES),
        get("/history", made.history_page, _ENTRIES),
        get("/changes", made.changes_page),
        get("/changes/file", made.send),
        post("/edit/labels.json", LabelsBody, made.labels),
        post("/edit/replace.json", ReplaceBody, made.replace),
        post("/edit/decide.json", DecideBody, made.decide),
        post("/edit/undo.json", UndoBody, made.undo),
        *teach_routes(editing, changed),
        *value_routes(editing, changed),
    ]


class _Edits:
    """What the addresses do."""

    def __init__(self, editing: Editing, changed: Callable[..., None]) -> None:
        self._editing, self._review, self._changed = editing, editing.review, changed
        # What an answer says is what its change has made.
        self._lock = editing.review.index.write_lock

    def _edited(self, edit: LabelEdit, made: DecisionGroup | None, given: Given) -> dict[str, Any]:
        """Return the changes of an edit, planned or made, and labels as they are stored now."""
        index = self._review.index
        # A page may show an item that was removed since.
        there = index.items([name for name in given.get("show", ()) if name in index])
        return {
            "items": edit.n_items,
            "added": list(edit.added),
            "removed": list(edit.removed),
            "new_labels": list(edit.new_labels),
            "said": edit.said if made is None else made.said,
            "decision": None if made is None else decision_data(made),
            "labels": {
                item.id: None if item.labels is None else list(item.labels) for item in there
            },
        }

    def _decided(
        self, made: DecisionGroup | None, given: Given, *, undone: bool = False
    ) -> dict[str, Any]:
        if made is None:
            return self._edited(LabelEdit("review", ()), None, given)
        self._changed()
        answer = self._edited(made.changed, DecisionGroup(made.parts, undone=undone), given)
        return answer | {"said": f"Undone: {made.said}"} if undone else answer

    def _apply(self, edit: LabelEdit, given: Given, replaced: Sequence[str] = ()) -> dict[str, Any]:
        new = edit.new_labels if edit.pairs else ()
        if given.get("preview"):
            _, asked = doubted(self._review, new, replaced, create=True, similar=False)
            similar = self._review.similar(new, replaced)
            return self._edited(edit, None, given) | {"similar": similar, "asked": asked}
        allowed = {key: given.get(key, False) for key in ("create", "similar")}
        what, said = doubted(self._review, new, replaced, **allowed)
        if what:
            raise Refused(409, f"{said} Confirm that it is to be created.")
        made = self._review.apply(edit, who=self._editing.name(given), create=True)
        if made is not None:
            self._changed()
        return self._edited(edit, made, given)

    def labels(self, given: Given) -> dict[str, Any]:
        with self._lock:
            items = known_items(self._review.index, given["items"])
            edit = self._review.plan_edit(items, given.get("add", ()), given.get("remove", ()))
            return self._apply(edit, given)

    def replace(self, given: Given) -> dict[str, Any]:
        with self._lock:
            edit = self._review.plan_replace(given["labels"], given["by"])
            return self._apply(edit, given, edit.removed)

    def decide(self, given: Given) -> dict[str, Any]:
        # Another page may have decided about some of them.
        review = self._review
        with self._lock:
            there = {one.key for one in (*review.waiting(), *review.waiting(skipped=True))}
            found = [one for one in review.find(given["findings"]) if one.key in there]
            made = review.decide(found, given["decision"], who=self._editing.name(given))
            return self._decided(made, given)

    def undo(self, given: Given) -> dict[str, Any]:
        try:
            with self._lock:
                made = self._review.undo(given.get("number"))
                return self._decided(made, given, undone=True)
        except InvalidFile:
            raise
        except InvalidInput as error:
            raise Refused(409, str(error)) from None

    def session(self, given: Given) -> Response:
        return as_json({"secret": self._editing.access.form_secret, "who": self._editing.who})

    def history(self, given: Given) -> dict[str, Any]:
        count, before = given["n"], given["before"] or None
        about = {"item": given["item"], "label": given["label"]}
        found = self._review.history(count + 1, before=before, **about)
        further = found[count - 1].number if len(found) > count else None
        return {"decisions": [*map(decision_data, found[:count])], "next": further}

    def history_page(self, given: Given) -> Response:
        return as_page(
            _page("history", "History", _ENTRIES), self.history(given), given, editing=True
        )

    def _corrected(self) -> tuple[Path, CorpusEdit]:
        corpus, index, changes = self._editing.corpus, self._review.index, self._review.changes()
        if corpus is None:
            raise Refused(404, "Start `labelspan serve --edit` with --corpus FILE for this.")
        texts = {item.id: item.text for item in index.items() if item.id in changes}
        return corpus, edit_corpus(corpus, changes, texts=texts, like=index.corpus_fields)

    def changes_page(self, given: Given) -> Response:
        corpus = self._editing.corpus
        name = None if corpus is None else corpus.name
        content: dict[str, Any] = {"file": name, "edit": None, "lines": [], "more": 0}
        if corpus is not None and self._review.changes():
            corpus, edit = self._corrected()
            lines = _differences(corpus, edit)
            content = {
                "file": name,
                "saved": _corrected_name(corpus),
                "edit": edit,
                "lines": lines[:_MOST_LINES],
                "more": max(0, len(lines) - _MOST_LINES),
            }
        page = _page("changes", "Corrected file")
        return as_page(page, content, given, editing=True, json_link="")

    def send(self, given: Given) -> Response:
        corpus, edit = self._corrected()
        if edit.source is not None:
            raise Refused(404, "A folder is corrected by `labelspan review --apply`.")
        headers = {"content-disposition": f'attachment; filename="{_corrected_name(corpus)}"'}
        return Response(edit.content, headers=headers, media_type="application/octet-stream")


def _corrected_name(corpus: Path) -> str:
    """Return the name of the corrected copy; a packed file is sent unpacked."""
    name = re.sub(r"\.(gz|bz2|xz)$", "", corpus.name, flags=re.IGNORECASE)
    stem, dot, ending = re.sub(r"[^0-9A-Za-z._-]", "_", name).rpartition(".")
    return f"{stem}-corrected.{ending}" if dot else f"{ending}-corrected"


def _page(name: str, title: str, known: tuple[Parameter, ...] = ()) -> Page:
    return Page(name, f"/{name}", title, lambda snapshot, asked: {}, known)


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


class ChangedText(NamedTuple):
    """What is between two texts that are otherwise equal, with a part of what is around it."""

    start: str
    before: str
    after: str
    end: str


def _differences(corpus: Path, edit: CorpusEdit) -> list[ChangedText]:
    """Return the parts of lines that change; none of a file that is not text."""
    found: list[ChangedText] = []
    for name, content in edit.files.items():
        path = corpus / name if name else corpus
        with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            before = file.read()
        try:
            old, new = (text.decode("utf-8-sig").splitlines() for text in (before, content))
        except UnicodeDecodeError:
            continue
        if len(old) == len(new):
            # Labels change within their lines.
            found += [
                changed_text(*pair) for pair in zip(old, new, strict=True) if pair[0] != pair[1]
            ]
        else:
            steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            found += [
                changed_text("\n".join(old[a:b]), "\n".join(new[c:d]))
                for step, a, b, c, d in steps
                if step != "equal"
            ]
    return found


def changed_text(old: str, new: str) -> ChangedText:
    """Find what differs, from one separator to the next, so that whole labels are marked.

    Examples
    --------
    >>> from labelspan.web.edit_routes import changed_text
    >>> changed_text("s1,Jaws,Drama|Horror,1975", "s1,Jaws,Horror,1975")
    ChangedText(start='s1,Jaws,', before='Drama|', after='', end='Horror,1975')
    """
    short = min(len(old), len(new))
    start = next((n for n in range(short) if old[n] != new[n]), short)
    rest = short - start
    end = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    while start and old[start - 1] not in _SEPARATORS:
        start -= 1
    while end and not _SEPARATORS & {*old[len(old) - end - 1 : len(old) - end + 1]}:
        end -= 1
    first, last = old[:start], old[len(old) - end :]
    if len(first) > _AROUND:
        first = f"…{first[-_AROUND:]}"
    if len(last) > _AROUND:
        last = f"{last[:_AROUND]}…"
    return ChangedText(first, old[start : len(old) - end], new[start : len(new) - end], last)
