"""Lessons by which labels are taught: their state, questions, decisions, and colours of the map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from .._typing import TypedDict
from ..curation import Teacher, TeachProgress
from ..curation.teach import Lesson, Question, TeachCurve
from ..errors import NotFound
from ..index import SemanticIndex
from ..index.passages import whole_title
from ..index.results import WordShare
from .common import Count, Given, Unit, rounded

__all__ = ["StateData", "decisions", "lesson_state", "map_colours", "teach"]

# Questions of a page, and characters of the text of each.
_SHOWN, _LONGEST_TEXT = 5, 100_000
# On the map likely items stand out: those that rather belong, and at least this many.
_LEAST_DRAWN = 20


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


def teach(index: SemanticIndex, given: Given) -> TeachData:
    """List the lessons, or show the state of one with the items to be asked about next."""
    label = given["label"]
    lessons = Teacher.lessons(index)
    started = label in {lesson.label for lesson in lessons}
    return {
        "lessons": lessons,
        "lesson": lesson_state(Teacher(index, label)) if started else None,
        "exists": label in index.labels,
    }


def _teacher(index: SemanticIndex, label: str) -> Teacher:
    """Return a lesson that was started."""
    if label not in {lesson.label for lesson in Teacher.lessons(index)}:
        raise NotFound("label: there is no lesson of this label.")
    return Teacher(index, label)


def map_colours(index: SemanticIndex, given: Given) -> LessonMapData:
    """Return what the map of a lesson shows: answers, members, and the most likely others."""
    teacher = _teacher(index, given["label"])
    answers, chances = teacher.answers(), teacher.probabilities()
    names, members = index.store.ids_by_row(), set[str]()
    if teacher.label in index.labels:
        members = {names[row] for row in index.store.labels.rows(teacher.label).tolist()}
    no = [item for item, answer in answers.items() if answer == "no"]
    yes = {item for item, answer in answers.items() if answer == "yes"} | members.difference(no)
    others = {item: chance for item, chance in chances.items() if item not in yes}
    count = max(_LEAST_DRAWN, sum(chance >= 0.5 for chance in others.values()))
    likely = list(others)[:count]
    return {
        "yes": sorted(yes),
        "no": no,
        "likely": {item: rounded(1.0 - n / len(likely)) for n, item in enumerate(likely)},
    }


def decisions(index: SemanticIndex, given: Given) -> DecisionsData:
    """List the decisions of a lesson: of everybody, of one person, or those that disagree."""
    teacher = _teacher(index, given["label"])
    conflicts = teacher.conflicts()
    rows = teacher.decisions(given["who"] if given["show"] == "mine" else None)
    if given["show"] == "conflicts":
        rows = [row for row in rows if row.item in conflicts]
    return {
        "count": len(rows),
        "rows": [
            {
                "id": row.item,
                "title": row.title,
                "answer": row.answer,
                "reason": row.reason,
                "note": row.note,
                "who": row.who,
                "time": row.time,
                # Who reads for a second time does not see them.
                "others": {} if given["show"] == "mine" else {**conflicts.get(row.item, {})},
            }
            for row in rows[: given["n"]]
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


def lesson_state(
    teacher: Teacher, without: Sequence[str] = (), *, keep: bool = False, blind: str | None = None
) -> StateData:
    """Return the state of a lesson; with ``blind`` the questions of a second reader."""
    if blind is None:
        questions = teacher.questions(_SHOWN, without=without)
    else:
        again = teacher.second_reading(blind, _SHOWN + len(without))
        questions = [question for question in again if question.item not in without][:_SHOWN]
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
        "questions": [
            _question(teacher, question, blind=blind is not None) for question in questions
        ],
    }
