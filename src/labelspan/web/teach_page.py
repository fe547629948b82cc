"""Teaching a label: its lessons, what is asked next, answers, and what they become.

Whoever may read the index can see its lessons; only who may change it can answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired
from weakref import WeakKeyDictionary

from pydantic import Field
from typing_extensions import TypedDict

from ..answers import rounded
from ..curation import Teacher, TeachProgress
from ..curation.screening_files import read_decisions
from ..curation.teach import Lesson, Question, TeachCurve
from ..index import SemanticIndex
from ..index.passages import whole_title
from ..index.results import WordShare
from .editing import Name, Text, Who
from .endpoint import File, Given
from .requests import LONGEST_QUERY, Refused, text_input, whole_input
from .schema import Body, Count, MaxLen, Unit
from .snapshot import Served, Snapshot

__all__ = [
    "DECISION_INPUTS",
    "LESSON",
    "TEACH_INPUTS",
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
    "decisions",
    "lesson_state",
    "map_colours",
    "send_answers",
    "send_ris",
    "start_lesson",
    "take_decisions",
    "teach",
    "undo_answer",
]

_SHOWN = 5
_MOST_WINDOWS = 50
_SECONDS_SHOWN = 600.0
_MOST_EXAMPLES = 10_000
_LONGEST_TEXT = 100_000
# Maximum number of characters of a file of decisions, and of a reason or a note.
_LONGEST_FILE, _LONGEST_NOTE = 8_000_000, 2000
_MOST_DECISIONS = 2000
# On the map likely items stand out: those that rather belong, and at least this many.
_LEAST_DRAWN = 20

TEACH_INPUTS = (
    text_input("label", "The label that is taught."),
    text_input("q", "A search to start from.", largest=LONGEST_QUERY),
    text_input("within", "Ask only about items with this label."),
)
LESSON = text_input("label", "The label that is taught.", None)
DECISION_INPUTS = (
    LESSON,
    text_input("show", "all, mine, or conflicts.", "all", pattern="all|mine|conflicts"),
    text_input("who", "Whose they are, for mine."),
    whole_input("n", "Maximum number of decisions.", 50, _MOST_DECISIONS, 1),
)


class QuestionData(TypedDict):
    """An item to be asked about."""

    id: str
    title: str
    text: Annotated[str, "the text after its title"]
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
    said: Annotated[str, "the progress as a sentence"]
    enough: Annotated[bool, "whether the target is reached"]
    curve: TeachCurve
    reasons: Annotated[list[str], "for an exclusion"]
    conflicts: Annotated[Count, "items about which people disagree"]
    keep: Annotated[bool, "whether what a window shows is neither answered nor shown in another"]
    questions: list[QuestionData]


class DecisionRow(TypedDict):
    """An answer that counts."""

    id: str
    title: str
    answer: Literal["yes", "no", "skip"]
    reason: str
    note: str
    who: str
    time: str
    others: Annotated[dict[str, str], "what others have answered, where they disagree"]


class DecisionsData(TypedDict):
    """The answer of ``/teach/decisions.json``."""

    count: Annotated[Count, "of all of them"]
    rows: Annotated[list[DecisionRow], "the last ones first"]


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


def teach(snapshot: Snapshot, asked: Given) -> TeachData:
    """List the lessons, or show the state of one with the items to be asked about next."""
    index, label = snapshot.index, asked["label"]
    found = Teacher.lessons(index)
    started = label in {one.label for one in found}
    return {
        "lessons": found,
        "lesson": _state(Teacher(index, label)) if started else None,
        "exists": label in index.labels,
    }


def map_colours(snapshot: Snapshot, asked: Given) -> LessonMapData:
    """Return what the map of a lesson shows: answers, members, and the most likely others."""
    index, label = snapshot.index, asked["label"]
    if label not in {one.label for one in Teacher.lessons(index)}:
        raise Refused(404, "label: there is no lesson of this label.")
    teacher = Teacher(index, label)
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


def decisions(snapshot: Snapshot, asked: Given) -> DecisionsData:
    """List the decisions of a lesson: of everybody, of one person, or those that disagree."""
    index, label = snapshot.index, asked["label"]
    if label not in {one.label for one in Teacher.lessons(index)}:
        raise Refused(404, "label: there is no lesson of this label.")
    teacher = Teacher(index, label)
    conflicts = teacher.conflicts()
    found = teacher.decisions(asked["who"] if asked["show"] == "mine" else None)
    if asked["show"] == "conflicts":
        found = [one for one in found if one.item in conflicts]
    return {
        "count": len(found),
        "rows": [
            {
                "id": one.item,
                "title": one.title,
                "answer": one.answer,
                "reason": one.reason,
                "note": one.note,
                "who": one.who,
                "time": one.time,
                # Who reads for a second time does not see them.
                "others": {} if asked["show"] == "mine" else {**conflicts.get(one.item, {})},
            }
            for one in found[: asked["n"]]
        ],
    }


def _question(teacher: Teacher, question: Question, *, blind: bool) -> QuestionData:
    item = teacher.index.item(question.item)
    title, text = whole_title(item, _LONGEST_TEXT)
    words, labels = ((), ()) if blind else teacher.explain(item.id, 10)
    return {
        "id": item.id,
        "title": title,
        "text": text,
        "cut": len(item.text) > _LONGEST_TEXT,
        "labels": list(item.labels or ()),
        "metadata": item.metadata,
        "probability": None if question.probability is None else rounded(question.probability),
        "kind": question.kind,
        "words": list(words),
        "label_shares": list(labels),
    }


def _state(
    teacher: Teacher, without: Sequence[str] = (), *, keep: bool = False, blind: str | None = None
) -> StateData:
    """Return the state of a lesson; with ``blind`` the questions of a second reader."""
    if blind is None:
        asked = teacher.questions(_SHOWN, without=without)
    else:
        again = teacher.second_reading(blind, _SHOWN + len(without))
        asked = [one for one in again if one.item not in without][:_SHOWN]
    progress = teacher.progress()
    return {
        "label": teacher.label,
        "within": teacher.within,
        "progress": progress,
        "said": progress.said,
        "enough": progress.enough,
        "curve": teacher.curve(),
        "reasons": teacher.reasons,
        "conflicts": len(teacher.conflicts()),
        "keep": keep,
        "questions": [_question(teacher, one, blind=blind is not None) for one in asked],
    }


# --- changing -------------------------------------------------------------------------------


Note = Annotated[str, MaxLen(_LONGEST_NOTE)]


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
    reason: NotRequired[Note]
    note: NotRequired[Note]
    blind: NotRequired[Annotated[bool, "whether this is a second reading"]]
    who: NotRequired[Who]


class LessonBody(Body):
    """A lesson, for the questions of a second reading or of the first."""

    label: Name
    blind: NotRequired[bool]
    who: NotRequired[Who]


class CommentBody(Body):
    """Reason and note of an answer."""

    label: Name
    item: Name
    reason: NotRequired[Note]
    note: NotRequired[Note]
    who: NotRequired[Who]


class AimBody(Body):
    """What is to be found, and the reasons for an exclusion."""

    label: Name
    target: NotRequired[Annotated[float, Field(ge=0.5, le=1.0)]]
    reasons: NotRequired[Annotated[list[Note], MaxLen(5)]]
    who: NotRequired[Who]


class DecisionsBody(Body):
    """The text of a csv or RIS file of decisions."""

    label: Name
    content: Annotated[str, MaxLen(_LONGEST_FILE)]
    who: NotRequired[Who]


class UndoAnswerBody(Body):
    """An item whose last answer is undone; without one, the last answer of a person."""

    label: Name
    item: NotRequired[Text]
    who: NotRequired[Who]


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
    begun = {key: given[key] for key in ("items", "query", "within") if given.get(key)}
    who = served.editor.name(given)
    return _state(Teacher(served.editor.index, given["label"], who=who, **begun))


def _lesson(served: Served, given: Given) -> tuple[Teacher, str]:
    """Return the lesson of a request, and who asks."""
    return Teacher(served.editor.index, given["label"]), served.editor.name(given)


def answer_question(served: Served, given: Given) -> StateData:
    """Answer about an item, and return what to ask about next."""
    index, (teacher, who) = served.editor.index, _lesson(served, given)
    about = {"reason": given.get("reason", ""), "note": given.get("note", "")}
    teacher.answer(given["item"], given["answer"], who=who, **about)
    if given.get("blind"):
        return _state(teacher, blind=who)
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


def undo_answer(served: Served, given: Given) -> UndoneData:
    """Undo the last answer about an item, or of a person."""
    teacher, who = _lesson(served, given)
    undone = teacher.undo(given.get("item", ""), who=who)
    if undone is None:
        raise Refused(409, "There is no answer to undo.")
    made = teacher.index.store.history.entry(undone.number)
    said = "" if made is None else f"Undone: {made.said}"
    return {**_state(teacher), "undone": undone.item, "undone_said": said}


def lesson_state(served: Served, given: Given) -> StateData:
    """Return the state of a lesson, for the first or a second reading."""
    teacher, who = _lesson(served, given)
    return _state(teacher, blind=who if given.get("blind") else None)


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
    return _state(teacher)


def take_decisions(served: Served, given: Given) -> TakenData:
    """Take over the decisions of a csv or RIS file."""
    teacher, who = _lesson(served, given)
    found = read_decisions(given["content"])
    count = teacher.take(found, who=who)
    said = f"{count:,} of {len(found):,} decisions taken over."
    return {**_state(teacher), "taken": said}


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
