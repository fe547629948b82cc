"""Requests by which a browser teaches a label: answers, targets, files, and what they become.

Whoever may read the index can see its lessons; only who may change it can answer.
"""

from __future__ import annotations

import threading
import time
from typing import Annotated, Literal, NotRequired
from weakref import WeakKeyDictionary

from pydantic import Field
from typing_extensions import TypedDict

from ..answers.lessons import StateData, lesson_state
from ..curation import Teacher
from ..curation.screening_files import read_decisions
from ..index import SemanticIndex
from .editing import EditBody, Name, Text
from .endpoint import File, Given
from .requests import LONGEST_QUERY, Refused, text_input
from .schema import Count, MaxLen, Unit
from .snapshot import Served

__all__ = [
    "LESSON",
    "AimBody",
    "AnswerBody",
    "ApplyBody",
    "CommentBody",
    "DecisionsBody",
    "LessonBody",
    "StartBody",
    "UndoAnswerBody",
    "aim_lesson",
    "answer_question",
    "apply_lesson",
    "comment_answer",
    "send_answers",
    "send_ris",
    "show_lesson",
    "start_lesson",
    "take_decisions",
    "undo_answer",
]

_MOST_WINDOWS = 50
_SECONDS_SHOWN = 600.0
_MOST_EXAMPLES = 10_000
# Maximum number of characters of a file of decisions, and of a reason or a note.
_LONGEST_FILE, _LONGEST_NOTE = 8_000_000, 2000

LESSON = text_input("label", "The label that is taught.", None)


Note = Annotated[str, MaxLen(_LONGEST_NOTE)]


class _OfLesson(EditBody):
    label: Name


class StartBody(_OfLesson):
    """A lesson to start or to continue."""

    items: NotRequired[Annotated[list[Name], MaxLen(_MOST_EXAMPLES)]]
    query: NotRequired[Annotated[str, MaxLen(LONGEST_QUERY)]]
    within: NotRequired[Text]


class AnswerBody(_OfLesson):
    """An answer about an item, and which item is shown now."""

    item: Name
    answer: Literal["yes", "no", "skip"]
    shown: NotRequired[Annotated[Text, "the item that is shown now"]]
    window: NotRequired[Annotated[str, MaxLen(100), "a name of the window"]]
    reason: NotRequired[Note]
    note: NotRequired[Note]
    blind: NotRequired[Annotated[bool, "whether this is a second reading"]]


class LessonBody(_OfLesson):
    """A lesson, for the questions of a second reading or of the first."""

    blind: NotRequired[bool]


class CommentBody(_OfLesson):
    """Reason and note of an answer."""

    item: Name
    reason: NotRequired[Note]
    note: NotRequired[Note]


class AimBody(_OfLesson):
    """What is to be found, and the reasons for an exclusion."""

    target: NotRequired[Annotated[float, Field(ge=0.5, le=1.0)]]
    reasons: NotRequired[Annotated[list[Note], MaxLen(5)]]


class DecisionsBody(_OfLesson):
    """The text of a csv or RIS file of decisions."""

    content: Annotated[str, MaxLen(_LONGEST_FILE)]


class UndoAnswerBody(_OfLesson):
    """An item whose last answer is undone; without one, the last answer of a person."""

    item: NotRequired[Text]


class ApplyBody(_OfLesson):
    """How answers become labels."""

    form: Literal["add", "split", "clean"]
    rest: NotRequired[Text]
    at_least: NotRequired[Unit | None]
    preview: NotRequired[bool]


class AppliedData(TypedDict):
    """What answers become, planned or done."""

    said: Annotated[str, "the change as a sentence"]
    items: Annotated[Count, "number of items whose labels it changes"]
    new_labels: list[str]
    decision: Annotated[dict[str, int] | None, "its number, to undo it; null for a preview"]


class UndoneData(StateData):
    """The state after an answer was undone."""

    undone: Annotated[str, "the item that it was about"]
    undone_said: Annotated[str, "what was undone, as a sentence"]


class TakenData(StateData):
    """The state after decisions of a file were taken over."""

    taken: Annotated[str, "how many, as a sentence"]


class CommentData(TypedDict):
    """The answer to a comment."""

    item: str


# What each window of a lesson shows and since when, so that two are not asked about the same item.
_Windows = dict[str, tuple[str, float]]
_windows: WeakKeyDictionary[SemanticIndex, dict[str, _Windows]] = WeakKeyDictionary()
_lock = threading.Lock()


def start_lesson(served: Served, given: Given) -> StateData:
    """Start a lesson, or continue it."""
    # What the file could not hold is refused before anything is answered.
    served.editor.review.check_new_labels([given["label"]], create=True, similar=True)
    begun = {key: given[key] for key in ("items", "query", "within") if given.get(key)}
    who = served.editor.name(given)
    return lesson_state(Teacher(served.editor.index, given["label"], who=who, **begun))


def _lesson(served: Served, given: Given) -> tuple[Teacher, str]:
    """Return the lesson of a request, and who asks."""
    return Teacher(served.editor.index, given["label"]), served.editor.name(given)


def answer_question(served: Served, given: Given) -> StateData:
    """Answer about an item, and return what to ask about next."""
    index, (teacher, who) = served.editor.index, _lesson(served, given)
    about = {"reason": given.get("reason", ""), "note": given.get("note", "")}
    teacher.answer(given["item"], given["answer"], who=who, **about)
    if given.get("blind"):
        return lesson_state(teacher, blind=who)
    window, now = given.get("window", ""), time.monotonic()
    with _lock:
        windows = _windows.setdefault(index, {}).setdefault(teacher.label, {})
        windows.pop(window, None)
        for other, (_, then) in list(windows.items()):
            if now - then > _SECONDS_SHOWN or len(windows) > _MOST_WINDOWS:
                del windows[other]
        taken = {item for item, _ in windows.values()}
    shown = given.get("shown", "")
    keep = shown in index and shown not in taken and shown not in teacher.answers()
    state = lesson_state(teacher, [*taken, shown], keep=keep)
    following = [shown] if keep else [one["id"] for one in state["questions"][:1]]
    if window and following:
        with _lock:
            windows[window] = following[0], now
    return state


def undo_answer(served: Served, given: Given) -> UndoneData:
    """Undo the last answer about an item, or of a person."""
    teacher, who = _lesson(served, given)
    undone = teacher.undo(given.get("item", ""), who=who)
    if undone is None:
        raise Refused(409, "There is no answer to undo.")
    made = teacher.index.store.history.entry(undone.number)
    said = "" if made is None else f"Undone: {made.said}"
    return {**lesson_state(teacher), "undone": undone.item, "undone_said": said}


def show_lesson(served: Served, given: Given) -> StateData:
    """Return the state of a lesson, for the first or a second reading."""
    teacher, who = _lesson(served, given)
    return lesson_state(teacher, blind=who if given.get("blind") else None)


def comment_answer(served: Served, given: Given) -> CommentData:
    """Replace reason and note of an answer."""
    teacher, who = _lesson(served, given)
    about = {"reason": given.get("reason", ""), "note": given.get("note", "")}
    teacher.comment(given["item"], who=who, **about)
    return {"item": given["item"]}


def aim_lesson(served: Served, given: Given) -> StateData:
    """Set the target of a lesson, or the reasons that it offers."""
    teacher, who = _lesson(served, given)
    if "target" in given:
        teacher.aim(given["target"], who=who)
    if "reasons" in given:
        teacher.name_reasons(given["reasons"], who=who)
    return lesson_state(teacher)


def take_decisions(served: Served, given: Given) -> TakenData:
    """Take over the decisions of a csv or RIS file."""
    teacher, who = _lesson(served, given)
    found = read_decisions(given["content"])
    count = teacher.take(found, who=who)
    said = f"{count:,} of {len(found):,} decisions taken over."
    return {**lesson_state(teacher), "taken": said}


def apply_lesson(served: Served, given: Given) -> AppliedData:
    """Change labels by the answers of a lesson, or preview it."""
    teacher = Teacher(served.editor.index, given["label"])
    rest, least = given.get("rest", ""), given.get("at_least")
    edit = teacher.plan(given["form"], rest=rest, at_least=least)
    made = None
    if not given.get("preview"):
        made = teacher.apply(edit, who=served.editor.name(given))
    return {
        "said": edit.said,
        "items": edit.n_items,
        "new_labels": list(edit.new_labels),
        "decision": None if made is None else {"number": made.number},
    }


def send_answers(served: Served, given: Given) -> File:
    """Send the answers of a lesson as a table."""
    content = Teacher(served.editor.index, given["label"]).to_csv()
    return File("answers.csv", iter([content.encode()]))


def send_ris(served: Served, given: Given) -> File:
    """Send the answers of a lesson that count as RIS."""
    content = Teacher(served.editor.index, given["label"]).to_ris()
    return File("answers.ris", iter([content.encode()]))
