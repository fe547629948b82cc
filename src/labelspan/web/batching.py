"""Questions that come while another is being answered, answered by one call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Together"]

Q = TypeVar("Q")
A = TypeVar("A")


class _Asked(Generic[Q, A]):
    """A question, and later its answer or why there is none."""

    def __init__(self, question: Q) -> None:
        self.question = question
        self.answer: A | None = None
        self.error: Exception | None = None
        self.done = False


class Together(Generic[Q, A]):
    """Threads that ask one by one, and are answered as many at once as are waiting.

    A product of one query with all items reads all items; one of twenty reads them once.

    Parameters
    ----------
    answer : callable
        Takes a list of questions; gives as many answers.

    Examples
    --------
    >>> from labelspan.web.batching import Together
    >>> Together(lambda numbers: [2 * number for number in numbers]).ask(21)
    42
    """

    def __init__(self, answer: Callable[[list[Q]], Sequence[A]]) -> None:
        self._answer = answer
        self._waiting: list[_Asked[Q, A]] = []
        self._lock = threading.Lock()
        self._busy = threading.Lock()

    def ask(self, question: Q) -> A:
        """The answer to one question."""
        own: _Asked[Q, A] = _Asked(question)
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
            # One of them cannot be answered, which is no reason to refuse the others.
            for one in taken:
                self._answer_some([one])

    def _answer_some(self, asked: list[_Asked[Q, A]]) -> bool:
        """Answer questions by one call; gives whether that can be the last word on them."""
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
