"""Teach a label: name a few items, answer about others, and apply the answers as one change.

Every answer is an event in the database of the index, on disk when the call returns. The state of
a lesson is what its events say, so it goes on after a restart, and several people can answer.
"""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from ..index.inputs import as_names, check_count, label_name, read_label_lists
from ..index.results import WordShare
from ..index.searching import Filter
from .decisions import LONGEST_WHO, DecisionGroup, LabelEdit
from .lesson_model import Left, LessonFeatures, LessonModel, LessonOptions
from .review_queue import Review

if TYPE_CHECKING:
    from ..index import SemanticIndex
    from ..index.store import ItemStore

__all__ = ["Answer", "Lesson", "Question", "TeachProgress", "Teacher"]

Verdict = Literal["yes", "no", "skip"]
Form = Literal["add", "split", "clean"]
# Further answers have stopped helping when fewer than one of the next items is expected to belong.
_NEXT = 20
# Fewest answers from which a statement about what is left is made.
_FEWEST = 10
# An interval of more than this share of the unseen items says nothing.
_VAGUE = 0.5
_WORDS = 6


class Question(NamedTuple):
    """An item to be asked about.

    Attributes
    ----------
    item : str
        Its id.
    probability : float
        Probability that it belongs, from a model without it.
    kind : {"likely", "near"}
        Whether it is among the likeliest, or a near miss.
    """

    item: str
    probability: float
    kind: Literal["likely", "near"]


class Answer(NamedTuple):
    """An answer of a lesson, as it is exported.

    Attributes
    ----------
    number : int
        Order of the answers of a lesson.
    time : str
        When, in UTC.
    who : str
        Who answered; empty if no name was given.
    item : str
        Id of the item.
    answer : {"yes", "no", "skip"}
        What was answered.
    undone : bool
        Whether it was undone.
    """

    number: int
    time: str
    who: str
    item: str
    answer: Verdict
    undone: bool


class Lesson(NamedTuple):
    """A label that is being taught.

    Attributes
    ----------
    label : str
        The label.
    n_answers : int
        Number of answers in effect.
    time : str
        Time of the last event, in UTC.
    """

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
    next_yes : float or None
        How many of the next 20 items are expected to belong.
    applied : int or None
        Number of the decision by which the lesson was applied last.

    See Also
    --------
    labelspan.curation.Teacher.progress : Returns it.

    Examples
    --------
    >>> from labelspan.curation import TeachProgress
    >>> state = TeachProgress(3, 1, 0, 0, 96, left=None, next_yes=None, applied=None)
    >>> state.enough
    False
    >>> state.said
    '3 yes, 1 no. How many are left can be said after 10 answers.'
    """

    yes: int
    no: int
    skipped: int
    members: int
    unseen: int
    left: Left | None
    next_yes: float | None
    applied: int | None

    @property
    def enough(self) -> bool:
        """Whether further answers have stopped helping."""
        return self.next_yes is not None and self.next_yes < 1.0

    @property
    def said(self) -> str:
        """The state as a sentence."""
        found = f"{self.yes:,} yes, {self.no:,} no"
        if self.left is None:
            return f"{found}. How many are left can be said after {_FEWEST} answers."
        if self.left.high - self.left.low > self.unseen * _VAGUE:
            return f"{found}. It is too early to say how many are left."
        number, total = round(self.left.expected), self.yes + self.members
        left = (
            f"about {number:,} of {total + number:,} left ({self.left.low:,} to {self.left.high:,})"
        )
        if not self.enough:
            return f"{found}; {left}."
        return (
            f"{found}; {left}. Enough: of the next {_NEXT}, fewer than one is expected to belong."
        )


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
    options : LessonOptions, default=LessonOptions()
        Options of the ranking.

    See Also
    --------
    Review : Labels that look wrong or missing, for all labels at once.

    Notes
    -----
    The ranking is a weighted ridge regression, solved in the dual (:mod:`.lesson_model`). The
    estimate of what is left comes from a logistic regression of the answers on scores from models
    without the item. It assumes that what belongs looks like what was found: a group of items
    without any word or label in common with the others is not counted.

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
        options: LessonOptions | None = None,
    ) -> None:
        (names,) = read_label_lists([[label] if label else []], 1, "teach")
        if not names:
            raise InvalidInput("teach: give the name of a label, new or existing.")
        self.index, self.label, self.who = index, names[0], _checked_who(who)
        self.options = options or LessonOptions()
        self._lock = threading.RLock()
        self._store: ItemStore | None = None
        self._forget()
        with self._lock:
            self._read()
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
        found: dict[str, Lesson] = {}
        undone: set[tuple[str, str]] = set()
        for label, _, time, _, event, value in index.store.lessons():
            step = 1 if event in ("yes", "no", "skip") else 0
            if event == "undo" and (label, value) not in undone:
                undone.add((label, value))
                step = -1
            count = found[label].n_answers if label in found else 0
            found[label] = Lesson(label, count + step, time)
        return sorted(found.values(), key=lambda one: one.time, reverse=True)

    # --- events -----------------------------------------------------------------------

    def _forget(self) -> None:
        self._last = 0
        self._made: dict[str, list[Answer]] = {}
        self._undone: list[Answer] = []
        self._start: dict[str, Any] | None = None
        self._applied: int | None = None
        self._model: tuple[Any, LessonModel | None] = None, None
        self._queue: tuple[Any, list[Question]] = None, []
        self._features: tuple[int, LessonFeatures] | None = None

    def _read(self) -> None:
        """Read the events that were stored since, by this Teacher or another."""
        store = self.index.store
        if store is not self._store:
            # The index was saved or loaded again.
            self._forget()
            self._store = store
        for _, number, time, who, event, value in store.lessons(self.label, self._last):
            self._last = number
            if event == "start":
                self._start = json.loads(value)
            elif event == "applied":
                self._applied = int(value)
            elif event == "undo":
                self._take_back(int(value))
            else:
                made = Answer(number, time, who, value, event, undone=False)
                self._made.setdefault(value, []).append(made)

    def _take_back(self, number: int) -> None:
        """Undo the answer with a number; nothing if two people undid it at once."""
        for item, made in self._made.items():
            for one in made:
                if one.number == number:
                    made.remove(one)
                    self._undone.append(one._replace(undone=True))
                    if not made:
                        del self._made[item]
                    return

    def _write(self, events: Sequence[tuple[str, str]], who: str) -> None:
        if not self.index.writable:
            raise Mismatch("teach: the index was loaded for reading; load it with write=True.")
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        name = _checked_who(who or self.who)
        self.index.store.record_lesson(self.label, [(now, name, *event) for event in events])
        self._read()

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
        before = self._start
        if before is not None:
            for name, value in start.items():
                if value and value != before[name]:
                    raise InvalidInput(
                        f"teach: the lesson of {self.label!r} was started with {name} "
                        f"{before[name]!r:.80}, not {value!r:.80}; omit it, or teach another label."
                    )
        elif not (items or query or within or self.label in store.labels.totals):
            raise InvalidInput(
                f"{store.labels.unknown(self.label)} Give items or a search to start from."
            )
        fresh = [name for name in items if name not in self._made]
        events = [("yes", name) for name in fresh]
        if before is None:
            events.insert(0, ("start", json.dumps(start)))
        if events:
            self._write(events, self.who)

    @property
    def within(self) -> str:
        """The label whose items are asked about; empty for all items."""
        return str((self._start or {})["within"])

    def answers(self) -> dict[str, Verdict]:
        """Return the answer about each item, the last one if there are several.

        Returns
        -------
        dict
            "yes", "no" or "skip" by id, in the order of the answers.
        """
        with self._lock:
            self._read()
            last = sorted((made[-1] for made in self._made.values()), key=lambda one: one.number)
            return {one.item: one.answer for one in last}

    def log(self) -> list[Answer]:
        """List all answers in their order, including those that were undone.

        Returns
        -------
        list of Answer
            With time and who answered.
        """
        with self._lock:
            self._read()
            kept = [one for made in self._made.values() for one in made]
            return sorted([*kept, *self._undone], key=lambda one: one.number)

    def to_csv(self) -> str:
        """Return all answers as CSV: number, time, who, item, answer, undone.

        Returns
        -------
        str
            One line per answer after a header.
        """
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["label", *Answer._fields])
        table.writerows([self.label, *one] for one in self.log())
        return out.getvalue()

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
            The likeliest first, after items whose answer was undone; one in twenty is a near miss.
            Empty when all items have an answer.
        """
        check_count("questions", "n", n)
        with self._lock:
            answers = self.answers()
            key = self._state(answers), n + len(without)
            if self._queue[0] != key:
                self._queue = key, self._ranked(answers, n + len(without))
            left_out = {*answers, *without}
            # What was undone is asked about again first.
            names = dict.fromkeys(one.item for one in reversed(self._undone))
            again = [name for name in names if name in self._rows()]
            found = {name: self._question(name) for name in again}
            found |= {one.item: one for one in self._queue[1] if one.item not in found}
            return [one for one in found.values() if one.item not in left_out][:n]

    def _question(self, item: str) -> Question:
        model = self._current()
        chance = 0.5 if model is None else model.probabilities(np.array([self._rows()[item]]))[0]
        return Question(item, float(chance), "likely")

    def answer(self, item: str, answer: Verdict, *, who: str = "") -> None:
        """Store an answer; it is on disk when this returns.

        Parameters
        ----------
        item : str
            Id of the item.
        answer : {"yes", "no", "skip"}
            Whether it belongs; "skip" sets it aside. A second answer replaces the first.
        who : str, default=""
            Who answers, if not the one that was given at the start.
        """
        if answer not in get_args(Verdict):
            raise InvalidParameter(
                f"teach: answer must be yes, no or skip, but {answer!r:.40} was given."
            )
        with self._lock:
            self.index.store.row(item)
            self._write([(answer, item)], who)

    def undo(self, item: str = "", *, who: str = "") -> Answer | None:
        """Undo an answer.

        Parameters
        ----------
        item : str, default=""
            Id of the item whose last answer is undone; by default that of the last answer of
            ``who``.
        who : str, default=""
            Whose last answer is undone, if no item is given; by default the one who was given at
            the start.

        Returns
        -------
        Answer or None
            The answer that was undone; None if there is none.
        """
        with self._lock:
            self._read()
            if item:
                found = self._made.get(item, [])[-1:]
            else:
                name = who or self.who
                every = [one for made in self._made.values() for one in made if one.who == name]
                found = sorted(every, key=lambda one: one.number)[-1:]
            if not found:
                return None
            self._write([("undo", str(found[0].number))], who)
            return found[0]._replace(undone=True)

    # --- the model --------------------------------------------------------------------

    def _state(self, answers: Mapping[str, Verdict]) -> tuple[Any, ...]:
        """Return what a ranking depends on: labels, and the answers in steps of five."""
        decided = sum(one != "skip" for one in answers.values())
        return self.index.store.revision, decided // self.options.batch, len(self._undone)

    def _names(self) -> dict[int, str]:
        store = self.index.store
        return store.once("ids by row", store.ids_by_row)

    def _rows(self) -> dict[str, int]:
        names = self._names()
        return self.index.store.once(
            "rows by id", lambda: {name: row for row, name in names.items()}
        )

    def _pool(self) -> Array:
        """Mark the rows that can be asked about."""
        store = self.index.store
        if not self.within:
            return store.vectors.alive.copy()
        mask = np.zeros(store.vectors.alive.size, dtype=bool)
        if self.within in store.labels.totals:
            mask[store.labels.rows(self.within)] = True
        return mask

    def _members(self) -> Array:
        """Return the rows that have the label."""
        table = self.index.store.labels
        if self.label not in table.totals:
            return np.zeros(0, dtype=np.intp)
        return table.rows(self.label)

    def _current(self) -> LessonModel | None:
        """Return the model for the current answers; None if nothing is known to belong."""
        answers = self.answers()
        key = self._state(answers)
        if self._model[0] != key:
            self._model = key, self._learned(answers)
        return self._model[1]

    def _learned(self, answers: Mapping[str, Verdict]) -> LessonModel | None:
        rows, options = self._rows(), self.options
        # Of more answers than are learned from, the last ones count.
        known = [(rows[name], one) for name, one in answers.items() if name in rows]
        known = [one for one in known if one[1] != "skip"][-options.most :]
        yes = [row for row, one in known if one == "yes"]
        no = [row for row, one in known if one == "no"]
        rng = np.random.default_rng(0)
        answered = np.array([*yes, *no], dtype=np.intp)
        members = rng.permutation(np.setdiff1d(self._members(), answered))
        members = members[: max(0, options.most // 2 - len(yes))]
        if not yes and not members.size:
            return None
        if self._features is None or self._features[0] != self.index.store.revision:
            made = LessonFeatures(self.index, self.label, options.words)
            self._features = self.index.store.revision, made
        features = self._features[1]
        return LessonModel(features, yes, no, options, presumed=members.tolist())

    def _unseen(self, answers: Mapping[str, Verdict], *, members: bool = False) -> Array:
        """Return the rows without an answer, and without the label unless ``members``."""
        rows, mask = self._rows(), self._pool()
        mask[[rows[name] for name in answers if name in rows]] = False
        if not members:
            mask[self._members()] = False
        return np.flatnonzero(mask)

    def _ranked(self, answers: Mapping[str, Verdict], n: int) -> list[Question]:
        """Return the next questions; one in twenty is a near miss, also among the members."""
        names = self._names()
        model, unseen = self._current(), self._unseen(answers)
        if model is None:
            return self._searched(answers, n)
        # More than are asked for, because the ranking stays until five were answered.
        wanted = n + self.options.batch
        chances = model.probabilities()
        best = unseen[np.argsort(-model.scores[unseen], kind="stable")[:wanted]]
        found = [Question(names[row], float(chances[row]), "likely") for row in best.tolist()]
        every = np.setdiff1d(self._unseen(answers, members=True), best)
        doubt = chances[every] * (1.0 - chances[every])
        step = self.options.near
        if step and doubt.sum() > 0:
            decided = sum(one != "skip" for one in answers.values())
            rng = np.random.default_rng(decided)
            count = min(int(np.count_nonzero(doubt)), 1 + len(found) // step)
            drawn = rng.choice(every, count, replace=False, p=doubt / doubt.sum())
            # The place of the next near miss follows from the number of answers.
            place = step - 1 - decided % step
            for row in drawn.tolist():
                if place > len(found):
                    break
                found.insert(place, Question(names[row], float(chances[row]), "near"))
                place += step
        return found

    def _searched(self, answers: Mapping[str, Verdict], n: int) -> list[Question]:
        """Return what the search finds, before anything is known to belong."""
        query, labels = str((self._start or {})["query"]), [self.within] if self.within else []
        if query:
            most = n + len(answers) + self.options.batch
            hits = self.index.search(query, most, Filter(labels=tuple(labels)))
            return [Question(hit.id, 0.5, "likely") for hit in hits if hit.id not in answers]
        names = self._names()
        unseen = self._unseen(answers)
        drawn = np.random.default_rng(len(answers)).permutation(unseen)[: n + self.options.batch]
        return [Question(names[row], 0.5, "likely") for row in drawn.tolist()]

    def explain(self, item: str, n: int = _WORDS) -> tuple[list[WordShare], list[WordShare]]:
        """Explain the score of an item by words and by other labels, learned without the item.

        Parameters
        ----------
        item : str
            Id of the item.
        n : int, default=6
            Maximum number of words, and of labels.

        Returns
        -------
        words, labels : list of WordShare
            With their shares of the score: positive ones speak for the item, negative ones against
            it. The largest first.
        """
        check_count("explain", "n", n)
        with self._lock:
            row, model = self.index.store.row(item), self._current()
            if model is None:
                return [], []
            of_words, of_labels = model.contributions(row)
        features = model.features
        words: dict[str, float] = {}
        if features.texts is not None:
            words = features.texts.word_shares(self.index.item(item).text, of_words)
        labels = dict(zip(features.label_names, of_labels.tolist(), strict=True))
        return _largest(words, n), _largest(labels, n)

    def probabilities(self) -> dict[str, float]:
        """Return the probability that each item belongs, from models without the item.

        Returns
        -------
        dict
            By id, without items that have an answer; empty before anything is known to belong.
        """
        with self._lock:
            answers, model = self.answers(), self._current()
            if model is None:
                return {}
            names, rows = self._names(), self._unseen(answers, members=True)
            chances = model.probabilities(rows).tolist()
            return {names[row]: chance for row, chance in zip(rows.tolist(), chances, strict=True)}

    def progress(self) -> TeachProgress:
        """Count the answers, and estimate how many items that belong are left.

        Returns
        -------
        TeachProgress
            The numbers; ``progress.said`` is a sentence.
        """
        with self._lock:
            answers = self.answers()
            given = list(answers.values())
            unseen, left, next_yes = self._unseen(answers), None, None
            model = self._current()
            decided = sum(one != "skip" for one in given)
            if model is not None and decided >= _FEWEST:
                left = model.left(unseen)
                next_yes = float(np.sort(model.probabilities(unseen))[-_NEXT:].sum())
            rows = self._rows()
            answered = [rows[name] for name in answers if name in rows]
            members = int(np.setdiff1d(self._members(), answered).size)
            return TeachProgress(
                given.count("yes"),
                given.count("no"),
                given.count("skip"),
                members,
                int(unseen.size),
                left,
                next_yes,
                self._applied,
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
        with self._lock:
            answers, review = self.answers(), Review(self.index)
            there = self._rows()
            yes = [name for name, one in answers.items() if one == "yes" and name in there]
            no = [name for name, one in answers.items() if one == "no" and name in there]
            if at_least is not None:
                chances = self.probabilities()
                yes += [name for name, chance in chances.items() if chance >= at_least]
            edit = review.plan_edit(yes, add=self.label)
            pairs = list(edit.pairs)
            new = edit.new_labels
            if form == "clean" and no and self.label in self.index.labels:
                pairs += review.plan_edit(no, remove=self.label).pairs
            if form == "split" and self.within in self.index.labels:
                inside = self._names()
                members = [inside[row] for row in np.flatnonzero(self._pool()).tolist()]
                moved = members if rest else [name for name in yes if name in set(members)]
                if moved:
                    pairs += review.plan_edit(moved, remove=self.within).pairs
                others = sorted(set(members) - set(yes))
                if rest and others:
                    more = review.plan_edit(others, add=rest)
                    pairs += more.pairs
                    new = (*new, *more.new_labels)
            return LabelEdit("edit", tuple(pairs), new)

    def apply(
        self, edit: LabelEdit, *, review: Review | None = None, who: str = ""
    ) -> DecisionGroup | None:
        """Change the labels as planned, as one decision that can be undone.

        Parameters
        ----------
        edit : LabelEdit
            From :meth:`plan`.
        review : Review or None, default=None
            Where the decision is made; None makes one for this index.
        who : str, default=""
            Who decides, for the history.

        Returns
        -------
        DecisionGroup or None
            With the number for :meth:`Review.undo`; None if nothing changes.
        """
        made = (review or Review(self.index)).apply(edit, who=who or self.who, create=True)
        if made is not None:
            with self._lock:
                self._write([("applied", str(made.number))], who)
        return made


def _largest(shares: Mapping[str, float], n: int) -> list[WordShare]:
    ranked = sorted(shares.items(), key=lambda entry: (-abs(entry[1]), entry[0]))
    return [WordShare(word, share, True) for word, share in ranked[:n] if share]


def _checked_who(who: str) -> str:
    if len(who) > LONGEST_WHO:
        raise InvalidInput(f"The name of who answers has more than {LONGEST_WHO} characters.")
    return who
