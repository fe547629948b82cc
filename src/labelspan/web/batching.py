"""Answer calls that come at the same time by one call with all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Batcher"]

Q = TypeVar("Q")
A = TypeVar("A")


class _Pending(Generic[Q, A]):
    """A question, and later its answer or its error."""

    def __init__(self, question: Q) -> None:
        self.question = question
        self.answer: A | None = None
        self.error: Exception | None = None
        self.done = False


class Batcher(Generic[Q, A]):
    """Collect the questions of several threads and answer all that wait by one call.

    A product of one query with all items reads all items; a product of twenty queries reads
    them once, too.

    Parameters
    ----------
    answer : callable
        Takes a list of questions and returns a list of as many answers.

    Examples
    --------
    >>> from labelspan.web.batching import Batcher
    >>> Batcher(lambda numbers: [2 * number for number in numbers]).ask(21)
    42
    """

    def __init__(self, answer: Callable[[list[Q]], Sequence[A]]) -> None:
        self._answer = answer
        self._waiting: list[_Pending[Q, A]] = []
        self._lock = threading.Lock()
        self._busy = threading.Lock()

    def ask(self, question: Q) -> A:
        """Return the answer to one question."""
        own: _Pending[Q, A] = _Pending(question)
        with self._lock:
            self._waiting.append(own)
        with self._busy:
            if not own.done:
                self._answer_all()
        if own.error is not None:
            raise own.error
        assert own.done
        return own.answer  # type: ignore[return-value]

    def _answer_all(self) -> None:
        with self._lock:
            taken, self._waiting = self._waiting, []
        if not self._answer_some(taken):
            # An error in one of them must not reach the others.
            for one in taken:
                self._answer_some([one])

    def _answer_some(self, asked: list[_Pending[Q, A]]) -> bool:
        """Answer questions by one call; return False if they must be answered one by one."""
        try:
            answers = self._answer([one.question for one in asked])
            for one, answer in zip(asked, answers, strict=True):
                one.answer = answer
        except Exception as error:
            if len(asked) > 1:
                return False
            asked[0].error = error
        for one in asked:
            one.done = True
        return True
