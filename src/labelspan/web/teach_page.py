"""Teaching a label: its lessons, what is asked next, answers, and what they become.

Whoever may read the index can see its lessons; only ``labelspan serve --edit`` can answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired
from weakref import WeakKeyDictionary

from typing_extensions import TypedDict

from ..answers import rounded
from ..curation import Teacher, TeachProgress
from ..curation.teach import Lesson, Question
from ..index import SemanticIndex
from ..index.results import WordShare
from .answer_parts import Asked
from .editing import Name, Text, Who
from .endpoint import File, Given
from .requests import LONGEST_QUERY, Refused, text_input
from .schema import Body, Count, MaxLen, Unit
from .snapshot import Served, Snapshot

__all__ = [
    "LESSON",
    "TEACH_INPUTS",
    "AnswerBody",
    "ApplyBody",
    "StartBody",
    "UndoAnswerBody",
    "answer_question",
    "apply_lesson",
    "map_colours",
    "send_answers",
    "start_lesson",
    "teach",
    "undo_answer",
]

_SHOWN = 5
_MOST_WINDOWS = 50
_SECONDS_SHOWN = 600.0
_MOST_EXAMPLES = 10_000
_LONGEST_TEXT = 5000
# On the map likely items stand out: those that rather belong, and at least this many.
_LEAST_DRAWN = 20
_MOST_TEACHERS = 8

TEACH_INPUTS = (
    text_input("label", "The label that is taught."),
    text_input("q", "A search to start from.", largest=LONGEST_QUERY),
    text_input("within", "Ask only about items with this label."),
)
LESSON = text_input("label", "The label that is taught.", None)


class QuestionData(TypedDict):
    """An item to be asked about."""

    id: str
    title: str
    text: str
    cut: Annotated[bool, "whether the text is longer"]
    labels: list[str]
    metadata: dict[str, Any]
    probability: Annotated[Unit | None, "null while it is not known"]
    kind: Literal["likely", "near"]
    words: Annotated[list[WordShare], "words that speak for the item, and against it"]
    label_shares: Annotated[list[WordShare], "labels that speak for the item, and against it"]


class StateData(TypedDict):
    """State of a lesson."""

    label: str
    within: str
    progress: Annotated[TeachProgress, "answers, and an estimate of what is left"]
    keep: Annotated[bool, "whether what a window shows is neither answered nor shown in another"]
    questions: list[QuestionData]


class TeachData(TypedDict):
    """The answer of ``/teach``."""

    lessons: list[Lesson]
    lesson: Annotated[StateData | None, "of the label, if its lesson was started"]
    exists: Annotated[bool, "whether items have the label"]


class LessonMapData(TypedDict):
    """The answer of ``/teach/map.json``."""

    yes: Annotated[list[str], "ids of items that belong"]
    no: list[str]
    likely: Annotated[
        dict[str, Unit],
        "shades of the other items that rather belong, and of the 20 likeliest: 1 is the likeliest",
    ]


_teachers: WeakKeyDictionary[SemanticIndex, dict[str, Teacher]] = WeakKeyDictionary()
_lock = threading.Lock()


def _teacher(index: SemanticIndex, label: str, **start: Any) -> Teacher:
    """Return the Teacher of a label, whose ranking is kept between requests."""
    with _lock:
        known = _teachers.setdefault(index, {})
        if start or label not in known:
            made = Teacher(index, label, **start)
            known.pop(made.label, None)
            known[made.label] = made
            if len(known) > _MOST_TEACHERS:
                del known[next(iter(known))]
            return made
        return known[label]


def teach(snapshot: Snapshot, asked: Asked) -> TeachData:
    """List the lessons, or show the state of one with the items to be asked about next."""
    index, label = snapshot.index, asked["label"]
    found = Teacher.lessons(index)
    started = label in {one.label for one in found}
    return {
        "lessons": found,
        "lesson": _state(_teacher(index, label)) if started else None,
        "exists": label in index.labels,
    }


def map_colours(snapshot: Snapshot, asked: Asked) -> LessonMapData:
    """Return what the map of a lesson shows: answers, members, and the most likely others."""
    index, label = snapshot.index, asked["label"]
    if label not in {one.label for one in Teacher.lessons(index)}:
        raise Refused(404, "label: there is no lesson of this label.")
    teacher = _teacher(index, label)
    answers, chances = teacher.answers(), teacher.probabilities()
    names, members = index.store.ids_by_row(), set[str]()
    if teacher.label in index.labels:
        members = {names[row] for row in index.store.labels.rows(teacher.label).tolist()}
    no = [item for item, one in answers.items() if one == "no"]
    yes = {item for item, one in answers.items() if one == "yes"} | members.difference(no)
    others = {item: chance for item, chance in chances.items() if item not in yes}
    count = max(_LEAST_DRAWN, sum(chance >= 0.5 for chance in others.values()))
    likely = list(others)[:count]
    return {
        "yes": sorted(yes),
        "no": no,
        "likely": {item: rounded(1.0 - n / len(likely)) for n, item in enumerate(likely)},
    }


def _question(teacher: Teacher, question: Question) -> QuestionData:
    item = teacher.index.item(question.item)
    words, labels = teacher.explain(item.id, 10)
    return {
        "id": item.id,
        "title": item.title,
        "text": item.text[:_LONGEST_TEXT],
        "cut": len(item.text) > _LONGEST_TEXT,
        "labels": list(item.labels or ()),
        "metadata": item.metadata,
        "probability": None if question.probability is None else rounded(question.probability),
        "kind": question.kind,
        "words": list(words),
        "label_shares": list(labels),
    }


def _state(teacher: Teacher, without: Sequence[str] = (), *, keep: bool = False) -> StateData:
    asked = teacher.questions(_SHOWN, without=without)
    return {
        "label": teacher.label,
        "within": teacher.within,
        "progress": teacher.progress(),
        "keep": keep,
        "questions": [_question(teacher, one) for one in asked],
    }


# --- changing -------------------------------------------------------------------------------


class StartBody(Body):
    """A lesson to start or to continue."""

    label: Name
    items: NotRequired[Annotated[list[Name], MaxLen(_MOST_EXAMPLES)]]
    query: NotRequired[Annotated[str, MaxLen(LONGEST_QUERY)]]
    within: NotRequired[Text]
    who: NotRequired[Who]


class AnswerBody(Body):
    """An answer about an item, and which item is shown now."""

    label: Name
    item: Name
    answer: Literal["yes", "no", "skip"]
    shown: NotRequired[Annotated[Text, "the item that is shown now"]]
    window: NotRequired[Annotated[str, MaxLen(100), "a name of the window"]]
    who: NotRequired[Who]


class UndoAnswerBody(Body):
    """An item whose last answer is undone."""

    label: Name
    item: Name


class ApplyBody(Body):
    """How answers become labels."""

    label: Name
    form: Literal["add", "split", "clean"]
    rest: NotRequired[Text]
    at_least: NotRequired[Unit | None]
    preview: NotRequired[bool]
    who: NotRequired[Who]


class AppliedData(TypedDict):
    """What answers become, planned or done."""

    said: Annotated[str, "the change as a sentence"]
    items: Annotated[Count, "number of items whose labels it changes"]
    new_labels: list[str]
    decision: Annotated[dict[str, int] | None, "its number, to undo it; null for a preview"]


# What each window of a lesson shows and since when, so that two are not asked about the same item.
_Windows = dict[str, tuple[str, float]]
_windows: WeakKeyDictionary[SemanticIndex, dict[str, _Windows]] = WeakKeyDictionary()


def start_lesson(served: Served, given: Given) -> StateData:
    """Start a lesson, or continue it."""
    begun = {key: given[key] for key in ("items", "query", "within") if given.get(key)}
    who = served.editor.name(given)
    return _state(_teacher(served.editor.index, given["label"], who=who, **begun))


def answer_question(served: Served, given: Given) -> StateData:
    """Answer about an item, and return what to ask about next."""
    index = served.editor.index
    teacher = _teacher(index, given["label"])
    teacher.answer(given["item"], given["answer"], who=served.editor.name(given))
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
    state = _state(teacher, [*taken, shown], keep=keep)
    following = [shown] if keep else [one["id"] for one in state["questions"][:1]]
    if window and following:
        with _lock:
            windows[window] = following[0], now
    return state


def undo_answer(served: Served, given: Given) -> StateData:
    """Undo the last answer about an item."""
    teacher = _teacher(served.editor.index, given["label"])
    if teacher.undo(given["item"]) is None:
        raise Refused(409, "There is no answer about this item to undo.")
    return _state(teacher)


def apply_lesson(served: Served, given: Given) -> AppliedData:
    """Change labels by the answers of a lesson, or preview it."""
    teacher = _teacher(served.editor.index, given["label"])
    rest, least = given.get("rest", ""), given.get("at_least")
    edit = teacher.plan(given["form"], rest=rest, at_least=least)
    made = None
    if not given.get("preview"):
        made = teacher.apply(edit, who=served.editor.name(given))
        if made is not None:
            served.renew()
    return {
        "said": edit.said,
        "items": edit.n_items,
        "new_labels": list(edit.new_labels),
        "decision": None if made is None else {"number": made.number},
    }


def send_answers(served: Served, given: Given) -> File:
    """Send the answers of a lesson as a table."""
    content = _teacher(served.editor.index, given["label"]).to_csv()
    return File("answers.csv", iter([content.encode()]))
