"""Teach a label: name a few items, answer about others, and apply the answers as one change.

Every answer is a change in the log of the index, on disk when the call returns. The state of a
lesson is what the log says, so it goes on after a restart, and several people can answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from ..index.history import By, Cell, HistoryEntry, as_value, field_number, value_of
from ..index.inputs import as_names, check_count, label_name, read_label_lists
from ..index.results import WordShare
from ..index.searching import Filter
from .decisions import Answer as Said
from .decisions import LabelEdit, apply_cells, verdict
from .label_edits import LabelEdits
from .lesson_model import Left, LessonFeatures, LessonModel
from .screening_files import ScreenedItem, to_csv, to_ris
from .stopping import StoppingRule

if TYPE_CHECKING:
    from ..index import SemanticIndex
    from ..index.store import ItemStore

__all__ = ["Answer", "Lesson", "Question", "TeachCurve", "TeachProgress", "Teacher"]

Reply = Literal["yes", "no", "skip"]
Form = Literal["add", "split", "clean"]
# How answers are called in the log.
_SAID: dict[Reply, Said] = {"yes": "yes", "no": "no", "skip": "unsure"}
_REPLIES: dict[str, Reply] = {"yes": "yes", "no": "no", "unsure": "skip"}
# After this many answers the ranking is new; the last question of every fourth one is a near miss.
BATCH, _NEAR = 5, 4
# Fewest answers from which a statement about what is left is made.
_FEWEST = 10
# Share of what belongs that is to be found, unless the person says another one; and its limits.
_TARGET, _LEAST_TARGET, _MOST_TARGET = 0.95, 0.5, 1.0
# Reasons for an exclusion, until others are named; as many can be.
_REASONS = (
    "other topic",
    "other population",
    "other method",
    "other kind of publication",
    "duplicate",
)
# Number of points of a curve.
_POINTS = 60
# Maximum number of answers to learn from: a new ranking of 30,000 items then takes 100 ms at most.
_MOST_LEARNED = 500
# Maximum number of items that a search to start from finds.
_MOST_FOUND = 200
# Rankings, and pages, that are kept.
_MOST_RANKINGS = 20


class Question(NamedTuple):
    """An item to be asked about.

    The probability that it belongs comes from a model without it. It is None until there are
    answers of both kinds, or items that have the label. A near miss is the most likely of the items
    that probably do not belong, including items that have the label.
    """

    item: str
    probability: float | None
    kind: Literal["likely", "near"]


class Answer(NamedTuple):
    """An answer of a lesson: in order, with time (UTC), who gave it, why, and a note.

    ``given`` tells an answer about an item that the lesson did not ask about, for example one from
    a file.
    """

    number: int
    time: str
    who: str
    item: str
    answer: Reply
    undone: bool
    reason: str = ""
    note: str = ""
    given: bool = False


@dataclass(frozen=True)
class Lesson:
    """A label that is being taught, its number of answers, and when the last one was (UTC)."""

    label: str
    n_answers: int
    time: str


@dataclass(frozen=True)
class TeachProgress:
    """State of a lesson.

    Attributes
    ----------
    yes, no, skipped : int
        Numbers of items by their answers.
    members : int
        Items that have the label and no answer.
    unseen : int
        Items without the label and without an answer.
    left : Left or None
        How many of the unseen items probably belong; None before ten answers.
    target : float
        Share of all items that belong which is to be found.
    more : int or None
        After about how many more answers that can be promised; 0 if it can be now.
    applied : int or None
        Number of the change by which the lesson was applied last.

    See Also
    --------
    labelspan.curation.Teacher.progress : Returns it.

    Examples
    --------
    >>> from labelspan.curation import TeachProgress
    >>> state = TeachProgress(3, 1, 0, 0, 96, None, target=0.95, more=None, applied=None)
    >>> state.enough
    False
    >>> state.said
    '3 yes, 1 no. How many are left can be said after 10 answers of both kinds.'
    """

    yes: int
    no: int
    skipped: int
    members: int
    unseen: int
    left: Left | None
    target: float
    more: int | None
    applied: int | None

    @property
    def enough(self) -> bool:
        """Whether the target is reached even if as many are left as the interval allows."""
        return self.more == 0

    @property
    def said(self) -> str:
        """The state as a sentence."""
        found = f"{self.yes:,} yes, {self.no:,} no"
        if self.left is None or self.more is None:
            return f"{found}. How many are left can be said after {_FEWEST} answers of both kinds."
        number, total = round(self.left.expected), self.yes + self.members
        left = (
            f"about {number:,} of {total + number:,} left ({self.left.low:,} to {self.left.high:,})"
        )
        share = f"{100 * self.target:.3g}%"
        if self.enough:
            return f"{found}; {left}. Enough: at least {share} are found."
        return f"{found}; {left}. For {share}: about {self.more:,} more answers."


@dataclass(frozen=True)
class TeachCurve:
    """What was found against what was read, and what is expected of the rest.

    ``read`` and ``found`` are numbers of answers and of items that belong; ``expected``, ``low``
    and ``high`` are the numbers found after ``ahead`` answers.
    """

    read: list[int]
    found: list[int]
    ahead: list[int]
    expected: list[float]
    low: list[float]
    high: list[float]


class _LessonState(NamedTuple):
    """The state of a lesson, read from the log."""

    start: dict[str, Any] | None
    log: list[Answer]
    answers: dict[str, Reply]
    applied: int | None

    @classmethod
    def read(cls, store: ItemStore, label: int) -> _LessonState:
        starts = store.log_rows("item = '' AND field = ? ORDER BY number", f"lesson {label}")
        rows = store.log_rows("field = ? ORDER BY number", f"verdict {label}")
        # Read last: another thread may answer meanwhile, and every row has its group.
        groups = {one.number: one for one in store.groups("1")}
        taken_back = {
            (groups[group].undoes, item)
            for _, group, item, *_ in rows
            if groups[group].undoes and group not in store.history.undone()
        }
        log: list[Answer] = []
        answers: dict[str, Reply] = {}
        # Where in the list the last answer of a person about an item is.
        own: dict[tuple[str, str], int] = {}
        for _, number, item, _, _, new in rows:
            answers.pop(item, None)
            if new is None:
                continue
            said, reason, note, *given = value_of(new)
            answers[item] = reply = _REPLIES[said]
            group = groups[number]
            if group.undoes:
                continue
            one = Answer(number, group.time, group.who, item, reply, (number, item) in taken_back)
            one = one._replace(reason=reason, note=note, given=bool(given))
            # The same answer again is a comment on it.
            known = own.get((item, group.who))
            if known is not None and log[known].answer == reply and not log[known].undone:
                log[known] = log[known]._replace(reason=reason, note=note)
            else:
                own[item, group.who] = len(log)
                log.append(one)
        query = "field = ? AND part_of IN (SELECT number FROM history WHERE action = 'lesson')"
        applied = store.log_rows(f"{query} ORDER BY number DESC LIMIT 1", f"label {label}")
        start = value_of(starts[-1][5]) if starts else None
        return cls(start, log, answers, applied[0][1] if applied else None)

    def last_of(self, item: str, who: str) -> Answer | None:
        """Return the answer of somebody about an item that counts."""
        own = (one for one in self.log if (one.item, one.who) == (item, who))
        return max((one for one in own if not one.undone), default=None)

    def latest(self) -> dict[str, Answer]:
        """Return the last answer about each item, in their order."""
        found: dict[str, Answer] = {}
        for one in self.log:
            if not one.undone:
                found.pop(one.item, None)
                found[one.item] = one
        return found


class _Ranking(NamedTuple):
    """Rows without an answer, in the order of the questions, and the near miss among them."""

    model: LessonModel | None
    order: list[int]
    near: int = -1

    def probabilities(self, rows: Sequence[int]) -> list[float | None]:
        if self.model is None or not self.model.calibrated:
            return [None] * len(rows)
        return list(self.model.probabilities(np.array(rows, dtype=np.intp)).tolist())


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())


class Teacher:
    """Teach a label by answering about items, the likeliest first.

    A lesson starts from a label of the index, from some items, or from a search. After every five
    answers all other items are ranked again, by their words and other labels. The answers are
    stored in the index: a Teacher of the same label continues the lesson, in this process or
    another, and sees the answers that others gave meanwhile.

    Parameters
    ----------
    index : SemanticIndex
        To answer about an index in a folder, load it with ``write=True``.
    label : str
        The label, new or existing. The items that have it are examples.
    items : str or list of str, default=()
        Ids of items that belong, for example what was chosen on the map.
    query : str, default=""
        A search; the items that it finds are asked about first.
    within : str, default=""
        Ask only about items with this label, for example to split it.
    who : str, default=""
        Who answers.

    See Also
    --------
    Review : Labels that look wrong or missing, for all labels at once.

    Notes
    -----
    The ranking is a weighted ridge regression, solved in the dual (:mod:`.lesson_model`). The
    expected number of what is left comes from a logistic regression of the answers on scores from
    models without the item, which assumes that what belongs looks like what was found. The upper
    end of its interval, on which "enough" depends, comes from the order of the answers
    (:mod:`.stopping`).

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.curation import Teacher
    >>> texts = ["a chess game", "a chess club", "play chess", "chess online"]
    >>> texts += ["edit a photo", "crop a photo", "a photo frame", "photo edit"]
    >>> index = SemanticIndex().fit(texts, [["game"]] * 4 + [["image"]] * 4)
    >>> teacher = Teacher(index, "board game", items=["0", "1"])
    >>> for question in teacher.questions(2):
    ...     teacher.answer(question.item, "yes")
    >>> edit = teacher.plan()
    >>> edit.said
    'Add board game to 4 items.'
    >>> _ = teacher.apply(edit)
    >>> index.item("3").labels
    ('board game', 'game')
    """

    def __init__(
        self,
        index: SemanticIndex,
        label: str,
        *,
        items: str | Sequence[str] = (),
        query: str = "",
        within: str = "",
        who: str = "",
    ) -> None:
        (names,) = read_label_lists([[label] if label else []], 1, "teach")
        if not names:
            raise InvalidInput("teach: give the name of a label, new or existing.")
        self.index, self.who = index, By(who).checked().who
        self._given = names[0]
        with index.write_lock:
            self._number = index.store.numbered(names)[0][names[0]]
            self._begin(list(dict.fromkeys(as_names(items))), query.strip(), label_name(within))

    @staticmethod
    def lessons(index: SemanticIndex) -> list[Lesson]:
        """List the lessons of an index, the one that was answered last first.

        Parameters
        ----------
        index : SemanticIndex
            The index.

        Returns
        -------
        list of Lesson
            Label, number of answers and time of each.
        """
        store, found = index.store, []
        for _, _, _, field, _, start in store.log_rows("field GLOB 'lesson *' ORDER BY number"):
            number = field_number(field)
            state = _LessonState.read(store, number)
            if start is not None and state.start is not None:
                query = "field IN (?, ?) ORDER BY number DESC LIMIT 1"
                last = store.log_rows(query, field, f"verdict {number}")[0][1]
                (group,) = store.groups("number = ?", last)
                name = store.history.current_label(number)
                found.append(Lesson(name, len(state.answers), group.time))
        return sorted(found, key=lambda one: one.time, reverse=True)

    # --- the log ----------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The label that is taught, as it is called now."""
        store = self.index.store
        known = self._number < len(store.labels.names)
        return store.history.current_label(self._number) if known else self._given

    @property
    def _state(self) -> _LessonState:
        """What the log says, also by answers of another Teacher."""
        store = self.index.store
        name = f"lesson {self._number}"
        return store.once(name, lambda: _LessonState.read(store, self._number), of=store.number)

    def _write(self, cells: Mapping[Cell, str | None], by: By) -> None:
        table = self.index.store.numbered([self._given])[1]
        labels = table if self._number >= len(self.index.store.labels.names) else None
        apply_cells(self.index, cells, by, labels)

    def _begin(self, items: list[str], query: str, within: str) -> None:
        store = self.index.store
        if within:
            store.labels.rows(within)
        store.rows(items)
        if within == self.label:
            raise InvalidInput(
                f"teach: {within!r} cannot be split into itself; name another label."
            )
        start = {"query": query, "within": within}
        state = self._state
        before = None if state.start is None else {**state.start, "within": self.within}
        for name, value in start.items() if before else ():
            if before and value and value != before[name]:
                raise InvalidInput(
                    f"teach: the lesson of {self.label!r} was started with {name} "
                    f"{before[name]!r:.80}, not {value!r:.80}; omit it, or teach another label."
                )
        if not (before or items or query or within or self.label in store.labels.totals):
            raise InvalidInput(
                f"{store.labels.unknown(self.label)} Give items or a search to start from."
            )
        field = f"verdict {self._number}"
        cells: dict[tuple[str, str], str | None] = {
            (name, field): verdict("yes") for name in items if name not in state.answers
        }
        if not before:
            number = store.labels.number[within] if within else -1
            cells["", f"lesson {self._number}"] = as_value({"query": query, "within": number})
        if cells:
            self._write(cells, By(self.who, "answer"))

    @property
    def within(self) -> str:
        """The label whose items are asked about; empty for all items."""
        start = self._state.start
        number = start["within"] if start else -1
        return self.index.store.history.current_label(number) if number >= 0 else ""

    def answers(self) -> dict[str, Reply]:
        """Return the answer about each item, the last one if there are several.

        Returns
        -------
        dict
            "yes", "no" or "skip" by id, in the order of the answers.
        """
        return dict(self._state.answers)

    def log(self) -> list[Answer]:
        """List all answers in their order, including those that were undone.

        Returns
        -------
        list of Answer
            With time and who answered.
        """
        return list(self._state.log)

    def to_csv(self) -> str:
        """Return all answers as CSV, with titles, reasons, notes, times and those undone.

        Returns
        -------
        str
            One line per answer after a header.
        """
        log = self.log()
        there = [one.item for one in log if one.item in self.index]
        titles = {one.id: one.title for one in self.index.items(list(dict.fromkeys(there)))}
        return to_csv(
            ScreenedItem(
                one.item,
                titles.get(one.item, ""),
                one.answer,
                one.reason,
                one.note,
                one.who,
                one.time,
                one.number,
                one.undone,
            )
            for one in log
        )

    def to_ris(self) -> str:
        """Return the answers that count as RIS, with titles, texts, reasons, notes and times.

        Returns
        -------
        str
            One record per item.
        """
        return to_ris(self.decisions())

    # --- answering --------------------------------------------------------------------

    def questions(self, n: int = 5, *, without: Sequence[str] = ()) -> list[Question]:
        """Return the items to be asked about next.

        Parameters
        ----------
        n : int, default=5
            Maximum number of items.
        without : list of str, default=()
            Ids to leave out, for example of items that are shown already.

        Returns
        -------
        list of Question
            Items whose answer was undone, then the likeliest; one in twenty is a near miss.
            Empty when all items have an answer.
        """
        check_count("questions", "n", n)
        with self.index.write_lock:
            answers, names = self.answers(), self._names()
            left_out = {*answers, *without}
            again = [one.item for one in self._state.log if one.undone]
            ranking = self._ranked()
            rows = [self._rows()[name] for name in again if name in self._rows()]
            chosen: list[int] = []
            for row in dict.fromkeys((*rows, *ranking.order)):
                if len(chosen) == n:
                    break
                if names[row] not in left_out:
                    chosen.append(row)
            chances = ranking.probabilities(chosen)
            return [
                Question(names[row], chance, "near" if row == ranking.near else "likely")
                for row, chance in zip(chosen, chances, strict=True)
            ]

    def answer(
        self, item: str, answer: Reply, *, who: str = "", reason: str = "", note: str = ""
    ) -> None:
        """Store an answer; it is on disk when this returns.

        Parameters
        ----------
        item : str
            Id of the item.
        answer : {"yes", "no", "skip"}
            Whether it belongs; "skip" sets it aside. A second answer replaces the first.
        who : str, default=""
            Who answers, if not the one that was given at the start.
        reason, note : str, default=""
            Why, for example why it was excluded, and anything else.
        """
        if answer not in get_args(Reply):
            raise InvalidParameter(
                f"teach: answer must be yes, no or skip, but {answer!r:.40} was given."
            )
        with self.index.write_lock:
            self.index.store.row(item)
            said = verdict(_SAID[answer], reason.strip(), note.strip())
            self._write({(item, f"verdict {self._number}"): said}, By(who or self.who, "answer"))

    def comment(self, item: str, *, who: str = "", reason: str = "", note: str = "") -> None:
        """Replace the reason and the note of an answer.

        Parameters
        ----------
        item : str
            Id of an item with an answer of ``who``.
        who : str, default=""
            Whose answer; by default that of the one given at the start.
        reason, note : str, default=""
            Why, and anything else.
        """
        with self.index.write_lock:
            name = who or self.who
            known = self._state.last_of(item, name)
            if known is None:
                raise InvalidInput(f"teach: there is no answer about {item!r:.80} to comment on.")
            said = verdict(_SAID[known.answer], reason.strip(), note.strip())
            self._write({(item, f"verdict {self._number}"): said}, By(name, "answer"))

    def name_reasons(self, reasons: Sequence[str], *, who: str = "") -> None:
        """Name the reasons for an exclusion that are offered.

        Parameters
        ----------
        reasons : list of str
            At most five.
        who : str, default=""
            Who decides, if not the one that was given at the start.
        """
        named = list(dict.fromkeys(name.strip() for name in reasons if name.strip()))
        if len(named) > len(_REASONS):
            raise InvalidParameter(
                f"teach: at most {len(_REASONS)} reasons can be named, but {len(named)} were given."
            )
        self._set({"reasons": named}, who)

    @property
    def reasons(self) -> list[str]:
        """The reasons for an exclusion that are offered."""
        return list((self._state.start or {}).get("reasons") or _REASONS)

    def decisions(self, who: str | None = None) -> list[ScreenedItem]:
        """List the answers that count, the last one first.

        Parameters
        ----------
        who : str or None, default=None
            Only those of this person; None for the last answer of anybody about each item.

        Returns
        -------
        list of ScreenedItem
            With titles, reasons, notes and times.
        """
        with self.index.write_lock:
            log = [one for one in self.log() if not one.undone]
            found = {one.item: one for one in log if who is None or one.who == who}
            chosen = sorted(found.values(), reverse=True)
            items = {one.id: one for one in self.index.items([one.item for one in chosen])}
            return [
                ScreenedItem(
                    one.item,
                    items[one.item].title,
                    one.answer,
                    one.reason,
                    one.note,
                    one.who,
                    one.time,
                    one.number,
                    text=items[one.item].text,
                )
                for one in chosen
            ]

    def conflicts(self) -> dict[str, dict[str, Reply]]:
        """Return the items about which people disagree, with the answer of each.

        Returns
        -------
        dict
            By id: the answer of each person, where one is yes and another no.
        """
        with self.index.write_lock:
            found: dict[str, dict[str, Reply]] = defaultdict(dict)
            for one in self._state.log:
                if not one.undone:
                    found[one.item][one.who] = one.answer
            return {item: own for item, own in found.items() if {"yes", "no"} <= {*own.values()}}

    def second_reading(self, who: str, n: int = 5) -> list[Question]:
        """Return items that others have answered about and somebody has not, in a random order.

        The questions say nothing about these answers, nor how likely the items are.

        Parameters
        ----------
        who : str
            Who reads them again.
        n : int, default=5
            Maximum number of items.

        Returns
        -------
        list of Question
            Without probabilities; empty when all have an answer of ``who``.
        """
        check_count("second_reading", "n", n)
        with self.index.write_lock:
            state = self._state
            latest = state.latest()
            own = {one.item for one in state.log if one.who == who and not one.undone}
            others = sorted(item for item in latest if item not in own and item in self.index)
            order = np.random.default_rng(len(self.label)).permutation(len(others))
            return [Question(others[at], None, "likely") for at in order[:n]]

    def take(self, decisions: Sequence[ScreenedItem], *, who: str = "") -> int:
        """Take over decisions from a file, by id or else by title.

        Parameters
        ----------
        decisions : list of ScreenedItem
            See :func:`.screening_files.read_decisions`.
        who : str, default=""
            Whose they are, if not the one that was given at the start.

        Returns
        -------
        int
            Number of decisions that were taken; the others are about no item of the index.
        """
        with self.index.write_lock:
            rows, titles = self._rows(), dict[str, str]()
            if any(one.item not in rows for one in decisions):
                titles = {_folded(one.title): one.id for one in self.index.items()}
            cells: dict[tuple[str, str], str | None] = {}
            for one in decisions:
                item = one.item if one.item in rows else titles.get(_folded(one.title), "")
                if item:
                    # That it was not asked about stands behind the answer.
                    said = [_SAID[one.answer], one.reason, one.note, "file"]
                    cells[item, f"verdict {self._number}"] = as_value(said)
            if cells:
                self._write(cells, By(who or self.who, "answer"))
            return len(cells)

    def undo(self, item: str = "", *, who: str = "") -> Answer | None:
        """Undo an answer.

        Parameters
        ----------
        item : str, default=""
            Id of the item whose last answer is undone; by default that of the last answer of
            ``who``.
        who : str, default=""
            Whose last answer is undone, if no item is given; by default the one given at
            the start.

        Returns
        -------
        Answer or None
            The answer that was undone; None if there is none.
        """
        with self.index.write_lock:
            kept = [one for one in self.log() if not one.undone]
            name = who or self.who
            found = [one for one in kept if (one.item == item if item else one.who == name)]
            if not found:
                return None
            last = found[-1]
            # The answers of others stay.
            rest = [one for one in kept if one.item == last.item and one is not last]
            before = rest[-1] if rest else None
            said = before and verdict(_SAID[before.answer], before.reason, before.note)
            cell = last.item, f"verdict {self._number}"
            self._write({cell: said}, By(name, "undo", last.number))
            return last._replace(undone=True)

    # --- the model --------------------------------------------------------------------

    def _names(self) -> dict[int, str]:
        store = self.index.store
        return store.once("ids by row", store.ids_by_row)

    def _rows(self) -> dict[str, int]:
        names = self._names()
        return self.index.store.once(
            "rows by id", lambda: {name: row for row, name in names.items()}
        )

    def _with_label(self, label: str) -> Array:
        table = self.index.store.labels
        return table.rows(label) if label in table.totals else np.zeros(0, dtype=np.intp)

    def _unanswered(self, answers: Mapping[str, Reply]) -> tuple[Array, Array]:
        """Return the rows without an answer: without the label, and with it."""
        rows, mask = self._rows(), self.index.store.vectors.alive.copy()
        if self.within:
            mask[:] = False
            mask[self._with_label(self.within)] = True
        mask[[rows[name] for name in answers if name in rows]] = False
        members = self._with_label(self.label)
        members = members[mask[members]]
        mask[members] = False
        return np.flatnonzero(mask), members

    def _ranked(self) -> _Ranking:
        """Return the ranking, which is new after five answers, an undo or a change of labels."""
        answers = self.answers()
        log = self._state.log
        round_, undone = len(log) // BATCH, sum(one.undone for one in log)
        return self.index.store.once(
            ("ranking", self._number),
            lambda: self._rank(answers, near=round_ % _NEAR == _NEAR - 1),
            of=(round_, undone),
            most=_MOST_RANKINGS,
        )

    def _rank(self, answers: Mapping[str, Reply], *, near: bool) -> _Ranking:
        unseen, members = self._unanswered(answers)
        model = self._learn(answers)
        if model is None:
            return _Ranking(None, self._searched(unseen))
        order = unseen[np.argsort(-model.scores[unseen], kind="stable")].tolist()
        if near:
            every = np.concatenate([unseen, members])
            doubtful = every[model.probabilities(every) < 0.5]
            if doubtful.size:
                row = int(doubtful[np.argmax(model.scores[doubtful])])
                if row not in order[:BATCH]:
                    order.insert(BATCH - 1, row)
                    return _Ranking(model, order, row)
        return _Ranking(model, order)

    def _learn(self, answers: Mapping[str, Reply]) -> LessonModel | None:
        """Learn from the last answers, and from items that have the label."""
        rows = self._rows()
        known = [
            (rows[name], one == "yes")
            for name, one in answers.items()
            if name in rows and one != "skip"
        ]
        learned = dict(known[-_MOST_LEARNED:])
        yes = sum(learned.values())
        members = np.setdiff1d(self._with_label(self.label), [*learned])
        members = np.random.default_rng(0).permutation(members)
        members = members[: max(0, _MOST_LEARNED // 2 - yes)]
        if not yes and not members.size:
            return None
        return LessonModel(LessonFeatures(self.index, self.label), learned, members.tolist())

    def _searched(self, unseen: Array) -> list[int]:
        """Rank what the search finds, then the others, before anything is known to belong."""
        start, rows = self._state.start, self._rows()
        query = start["query"] if start else ""
        found: list[int] = []
        if query:
            labels = (self.within,) if self.within else ()
            hits = self.index.search(query, _MOST_FOUND, Filter(labels=labels))
            found = [rows[hit.id] for hit in hits]
        others = np.random.default_rng(0).permutation(unseen)
        return list(dict.fromkeys([*found, *others.tolist()]))

    def explain(self, item: str, n: int = 6) -> tuple[tuple[WordShare, ...], tuple[WordShare, ...]]:
        """Explain the score of an item by words and by other labels, learned without the item.

        Parameters
        ----------
        item : str
            Id of the item.
        n : int, default=6
            Maximum number of words, and of labels.

        Returns
        -------
        words, labels : tuple of WordShare
            With their shares of the score: positive ones speak for the item, negative ones against
            it. The largest first.
        """
        check_count("explain", "n", n)
        with self.index.write_lock:
            row, model = self.index.store.row(item), self._ranked().model
            if model is None:
                return (), ()
            of_words, of_labels = model.contributions(row)
            features = model.features
            words: dict[str, float] = {}
            if features.texts is not None:
                words = features.texts.word_shares(self.index.item(item).text, of_words)
            labels = dict(zip(features.label_names, of_labels.tolist(), strict=True))
            return WordShare.largest(words, n), WordShare.largest(labels, n)

    def probabilities(self) -> dict[str, float]:
        """Return the probability that each item belongs, from models without the item.

        Returns
        -------
        dict
            By id, without items that have an answer, the likeliest first; empty while
            probabilities are not known.
        """
        with self.index.write_lock:
            model, names = self._ranked().model, self._names()
            if model is None or not model.calibrated:
                return {}
            rows = np.concatenate(self._unanswered(self.answers()))
            rows = rows[np.argsort(-model.scores[rows], kind="stable")]
            chances = model.probabilities(rows).tolist()
            return {names[row]: chance for row, chance in zip(rows.tolist(), chances, strict=True)}

    def progress(self) -> TeachProgress:
        """Count the answers, and estimate how many items that belong are left.

        Returns
        -------
        TeachProgress
            The numbers; ``progress.said`` is a sentence.
        """
        with self.index.write_lock:
            answers, model = self.answers(), self._ranked().model
            yes, no, skipped = ([*answers.values()].count(one) for one in get_args(Reply))
            unseen, members = self._unanswered(answers)
            left = more = None
            if model is not None and model.calibrated and yes + no >= _FEWEST:
                rule = self._rule(len(unseen), len(members))
                left = model.left(unseen, rule.limit)
                more = rule.more(np.sort(model.probabilities(unseen))[::-1])
            return TeachProgress(
                yes,
                no,
                skipped,
                members.size,
                unseen.size,
                left,
                self._target,
                more,
                self._state.applied,
            )

    def _rule(self, unseen: int, members: int) -> StoppingRule:
        """Return what the answers to questions allow to promise; other answers count as found."""
        known = [one for one in self._state.latest().values() if one.answer != "skip"]
        belong = [one.answer == "yes" for one in known if not one.given]
        members += sum(one.given and one.answer == "yes" for one in known)
        return StoppingRule(self._target, belong, unseen, members)

    def aim(self, target: float, *, who: str = "") -> None:
        """Set the share of all items that belong which is to be found.

        Parameters
        ----------
        target : float
            From 0.5 to 1; the lesson says that it is enough when it can promise this.
        who : str, default=""
            Who decides, if not the one that was given at the start.
        """
        if not _LEAST_TARGET <= target <= _MOST_TARGET:
            raise InvalidParameter(
                f"teach: target must be between {_LEAST_TARGET} and {_MOST_TARGET:.0f}, "
                f"but {target!r} was given."
            )
        self._set({"target": float(target)}, who)

    def _set(self, settings: Mapping[str, Any], who: str) -> None:
        """Keep settings of the lesson."""
        with self.index.write_lock:
            start = {"query": "", "within": -1, **(self._state.start or {}), **settings}
            cells = {("", f"lesson {self._number}"): as_value(start)}
            self._write(cells, By(who or self.who, "answer"))

    @property
    def _target(self) -> float:
        return float((self._state.start or {}).get("target", _TARGET))

    def curve(self) -> TeachCurve:
        """Return what was found against what was read, and what is expected of the rest.

        Returns
        -------
        TeachCurve
            At most 60 points each; nothing is expected while nothing is known.
        """
        with self.index.write_lock:
            state, model = self.progress(), self._ranked().model
            belong = [one == "yes" for one in self.answers().values() if one != "skip"]
            total = np.cumsum([0, *belong])
            read = np.unique(np.linspace(0, len(belong), _POINTS).astype(np.intp))
            ahead, gained = np.zeros(0, dtype=np.intp), np.zeros(0)
            left = state.left
            if left is not None and model is not None:
                unseen, _ = self._unanswered(self.answers())
                chances = np.sort(model.probabilities(unseen))[::-1]
                ahead = np.unique(np.linspace(0, len(unseen), _POINTS).astype(np.intp))
                gained = np.append(0.0, np.cumsum(chances))[ahead]
            parts = gained / max(float(gained[-1]), 1e-9) if len(gained) else gained
            now = float(total[-1])
            ends = (0, 0, 0) if left is None else (left.expected, left.low, left.high)
            # No more can be found than is read.
            expected, low, high = (np.minimum(now + parts * one, now + ahead) for one in ends)
            return TeachCurve(
                read.tolist(),
                total[read].tolist(),
                (len(belong) + ahead).tolist(),
                expected.tolist(),
                low.tolist(),
                high.tolist(),
            )

    # --- the end ----------------------------------------------------------------------

    def plan(
        self, form: Form = "add", *, rest: str = "", at_least: float | None = None
    ) -> LabelEdit:
        """Plan the change of labels that follows from the answers.

        Parameters
        ----------
        form : {"add", "split", "clean"}, default="add"
            "add" gives the label to the items with the answer yes. "clean" also removes it from
            those with the answer no. "split" replaces the label ``within`` by the new label in the
            items with the answer yes.
        rest : str, default=""
            With "split": the label that replaces ``within`` in all its other items; by default
            they keep it.
        at_least : float or None, default=None
            Items without an answer count as yes if their probability is at least this; None counts
            only answers.

        Returns
        -------
        LabelEdit
            For :meth:`apply`; ``edit.said`` is a sentence.
        """
        if form not in get_args(Form):
            raise InvalidParameter(
                f"teach: form must be add, split or clean, but {form!r:.40} was given."
            )
        if form == "split" and not self.within:
            raise Mismatch("teach: a split needs a lesson within a label; start it with within=.")
        if rest and form != "split":
            raise Mismatch("teach: rest is only used with form='split'.")
        with self.index.write_lock:
            answers, edits = self.answers(), LabelEdits(self.index)
            there = self._rows()
            yes = [name for name, one in answers.items() if one == "yes" and name in there]
            no = [name for name, one in answers.items() if one == "no" and name in there]
            if at_least is not None:
                chances = self.probabilities()
                yes += [name for name, chance in chances.items() if chance >= at_least]
            edit = edits.plan_edit(yes, add=self.label)
            pairs = list(edit.pairs)
            new = edit.new_labels
            if form == "clean" and no and self.label in self.index.labels:
                pairs += edits.plan_edit(no, remove=self.label).pairs
            if form == "split" and self.within in self.index.labels:
                members = [self._names()[row] for row in self._with_label(self.within).tolist()]
                moved = members if rest else [name for name in yes if name in set(members)]
                if moved:
                    pairs += edits.plan_edit(moved, remove=self.within).pairs
                others = sorted(set(members) - set(yes))
                if rest and others:
                    more = edits.plan_edit(others, add=rest)
                    pairs += more.pairs
                    new = (*new, *more.new_labels)
            return LabelEdit("lesson", tuple(pairs), new)

    def apply(self, edit: LabelEdit, *, who: str = "") -> HistoryEntry | None:
        """Change the labels as planned, as one change that can be undone.

        Parameters
        ----------
        edit : LabelEdit
            From :meth:`plan`.
        who : str, default=""
            Who decides, for the history.

        Returns
        -------
        HistoryEntry or None
            With the number for :meth:`SemanticIndex.undo`; None if nothing changes.
        """
        edit = replace(edit, action="lesson")
        return LabelEdits(self.index).apply(edit, who=who or self.who, create=True)
