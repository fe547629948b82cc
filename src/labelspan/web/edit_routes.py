"""What a browser changes labels by: edits, decisions, undo, history, the corrected file.

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

from typing_extensions import TypedDict

from ..answers.change_list import ChangeData, change_data
from ..corpus import CorpusEdit
from ..curation import LabelEdit
from ..curation.corrected_file import Correction, correct_file
from ..errors import InvalidFile, InvalidInput, NewLabels
from ..index import HistoryEntry, SemanticIndex
from .editing import Name, Who
from .endpoint import File, Given
from .requests import Refused
from .schema import Body, Count, MaxLen
from .snapshot import Served

__all__ = [
    "Create",
    "DecideBody",
    "LabelsBody",
    "ReplaceBody",
    "Similar",
    "UndoBody",
    "changes",
    "decide",
    "edit_labels",
    "known_items",
    "replace_labels",
    "send_corrected",
    "session",
    "undo",
]

MOST_ITEMS = 100_000
_MOST_FINDINGS = 1000
_SHOWN_ITEMS = 1000
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
Note = Annotated[str, MaxLen(1000), "why, for the list of decisions"]
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
    reason: NotRequired[Note]
    note: NotRequired[Note]
    who: NotRequired[Who]


class UndoBody(Body):
    """A change to undo; the last one by default."""

    number: NotRequired[Count | None]
    show: NotRequired[Shown]
    who: NotRequired[Who]


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


class SessionData(TypedDict):
    """What a page needs to change something."""

    secret: str
    who: Annotated[str, "who decides, if it is not said"]


def session(served: Served, given: Given) -> SessionData:
    """Return what a page must send with every change."""
    return {"secret": served.editor.access.form_secret, "who": served.editor.who}


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
        return _edited(review.index, LabelEdit("edit", ()), made, given)


def undo(served: Served, given: Given) -> EditedData:
    """Undo a change: put back what it replaced, where that was not changed since."""
    index = served.editor.index
    try:
        with index.write_lock:
            items = len(index)
            made = index.undo(given.get("number"), who=served.editor.name(given))
            # An item may come back or go.
            served.renew(values=True, items=len(index) != items)
            answer = _edited(index, LabelEdit("edit", ()), made.entry, given)
    except InvalidFile:
        raise
    except InvalidInput as error:
        raise Refused(409, str(error)) from None
    if answer["decision"] is not None:
        answer["decision"]["undone"] = True
    answer["said"], answer["number"], answer["restored"] = made.said, made.number, made.restored
    answer["kept"] = {str(number): count for number, count in made.kept.items()}
    return answer


def changes(served: Served, given: Given) -> dict[str, Any]:
    """Show what the corrected file changes."""
    corpus = served.editor.corpus
    name = None if corpus is None else corpus.name
    if corpus is None:
        return {"file": name, "edit": None, "lines": [], "more": 0}
    corpus, found = _corrected(served)
    if found is None:
        return {"file": name, "edit": None, "lines": [], "more": 0}
    lines = _differences(corpus, found.edit)
    return {
        "file": name,
        "saved": _corrected_name(corpus),
        "edit": found.edit,
        "notes": found.notes,
        "lines": lines[:_MOST_LINES],
        "more": max(0, len(lines) - _MOST_LINES),
    }


def send_corrected(served: Served, given: Given) -> File:
    """Send the corrected file."""
    corpus, found = _corrected(served)
    if corpus.is_dir() or (found is not None and found.edit.source is not None):
        raise Refused(404, "A folder is corrected by `labelspan review --apply`.")
    if found is None:  # Nothing was changed.
        return File(corpus.name, iter([corpus.read_bytes()]))
    return File(_corrected_name(corpus), iter([found.edit.content]))


def _edited(
    index: SemanticIndex, edit: LabelEdit, made: HistoryEntry | None, given: Given
) -> EditedData:
    """Return the changes of an edit, planned or made, and labels as they are stored now."""
    # A page may show an item that was removed since.
    there = index.items([name for name in given.get("show", ()) if name in index])
    return {
        "items": edit.n_items if made is None else made.n_items,
        "added": list(edit.added if made is None else made.added),
        "removed": list(edit.removed if made is None else made.removed),
        "new_labels": list(edit.new_labels),
        "said": edit.said if made is None else made.said,
        "decision": None if made is None else change_data(made),
        "labels": {item.id: None if item.labels is None else list(item.labels) for item in there},
    }


def _apply(
    served: Served, edit: LabelEdit, given: Given, replaced: Sequence[str] = ()
) -> EditedData:
    review = served.editor.review
    new = edit.new_labels if edit.pairs else ()
    if given.get("preview"):
        answer = _edited(review.index, edit, None, given)
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
    return _edited(review.index, edit, made, given)


# --- the corrected file ---------------------------------------------------------------------


def _corrected(served: Served) -> tuple[Path, Correction | None]:
    corpus = served.editor.corpus
    if corpus is None:
        raise Refused(404, "Start `labelspan serve --edit` with --corpus FILE for this.")
    return corpus, correct_file(served.editor.index, corpus)


def _corrected_name(corpus: Path) -> str:
    """Return the name of the corrected copy; a packed file is sent unpacked."""
    name = re.sub(r"\.(gz|bz2|xz)$", "", corpus.name, flags=re.IGNORECASE)
    stem, dot, ending = re.sub(r"[^0-9A-Za-z._-]", "_", name).rpartition(".")
    return f"{stem}-corrected.{ending}" if dot else f"{ending}-corrected"


def known_items(index: SemanticIndex, ids: list[str]) -> list[str]:
    """Return ids of items; one that does not exist is refused."""
    for name in ids:
        if name not in index:
            raise Refused(404, f"There is no item {name!r:.80} in the index.")
    return ids


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
