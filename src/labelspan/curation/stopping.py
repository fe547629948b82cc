"""When a lesson may stop: how many items that belong can be left, by the order of the answers.

What is asked about is the likeliest: the last answers hold at least as many items that belong as
the same number of items at random would. So if the last ``n`` answers, out of ``N`` items that were
not answered before them, hold ``k`` that belong, numbers of items left that would make so few a
surprise under the hypergeometric distribution are rejected (Callaghan and Müller-Hansen 2020). The
smallest number that any end of the answers rejects is the limit. Nothing is presumed about how
probabilities fall, which is what the interval of a model depends on.

The order must be that of the ranking: of answers about items that somebody chose because they do
not belong, nothing follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from .._typing import Array

__all__ = ["LEVEL", "StoppingRule", "chance_to_miss", "most_left"]

# A number of items left is rejected when so few among the last answers have at most this
# probability. Each end of the answers is tried, which costs certainty, and answers by a ranking are
# richer than answers at random, which gives more back: results/teach.md has the measurements. On
# the development sets all promises were kept with it, 99 of 100 with .25 and 98 with .3.
LEVEL = 0.2
# Numbers of answers at the end that are tried, at most, and of those that belong among them.
_ENDS, _MOST_FOUND = 40, 100
# After this many answers the limit is computed again.
_STEP = 10


def _at_most(found: Array, remaining: Array, belong: Array, drawn: Array) -> Array:
    """Return the probabilities of at most ``found`` of those that belong among those drawn."""
    counts = np.arange(found.max(initial=0) + 1)
    total = _log_choose(remaining, drawn)
    terms = (
        _log_choose(belong[:, None], counts)
        + _log_choose((remaining - belong)[:, None], drawn[:, None] - counts)
        - total[:, None]
    )
    chances = np.where(counts <= found[:, None], np.exp(terms), 0.0)
    return np.asarray(chances.sum(axis=1))


def _log_choose(n: Array, k: Array) -> Array:
    """Return the logarithms of binomial coefficients, minus infinity where there are none."""
    possible = (k >= 0) & (k <= n)
    n, k = np.where(possible, n, 0), np.where(possible, k, 0)
    values = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.where(possible, values, -np.inf)


def _limit(found: Array, drawn: Array, unseen: int) -> int:
    """Return the largest number left that no end of the answers rejects."""
    low, high = 0, unseen
    while low < high:
        left = (low + high + 1) // 2
        rejected = _least_chance(found, drawn, unseen, left) <= LEVEL
        low, high = (low, left - 1) if rejected else (left, high)
    return low


def _least_chance(found: Array, drawn: Array, unseen: int, left: int) -> float:
    """Return the least probability that an end of the answers gives to a number left."""
    return float(_at_most(found, unseen + drawn, found + left, drawn).min(initial=1.0))


def _ends(belong: Array) -> tuple[Array, Array]:
    """Return how many of the last answers belong, and how many answers these are."""
    drawn = np.unique(np.linspace(1, len(belong), min(_ENDS, len(belong))).astype(np.intp))
    found = np.cumsum(belong[::-1])[drawn - 1]
    few = found <= _MOST_FOUND
    return found[few], drawn[few]


def most_left(belong: Sequence[bool], unseen: int) -> int:
    """Return the largest number of items that belong which the answers leave possible.

    Parameters
    ----------
    belong : sequence of bool
        The answers in their order.
    unseen : int
        Number of items without an answer.

    Returns
    -------
    int
        The limit, at most ``unseen``.

    Examples
    --------
    >>> from labelspan.curation.stopping import most_left
    >>> most_left([True] * 20, unseen=500)
    500
    >>> most_left([True] * 20 + [False] * 100, unseen=400)
    7
    """
    if not unseen or not len(belong):
        return unseen
    return _limit(*_ends(np.asarray(belong, dtype=np.intp)), unseen)


def chance_to_miss(
    belong: Sequence[bool] | Array, unseen: int, target: float, members: int = 0
) -> float:
    """Return how probable the answers are, at most, if the target is missed.

    A lesson stops when it is small enough. The parameters are those of :class:`StoppingRule`.
    """
    known = np.asarray(belong, dtype=np.intp)
    more = _allowed(target, int(known.sum()) + members) + 1
    return 0.0 if more > unseen else _least_chance(*_ends(known), unseen, max(1, more))


def _allowed(target: float, found: int) -> int:
    """Return how many may be left where the target is reached; -1 if nothing is found."""
    return math.floor(found / target - found + 1e-9) if found else -1


class StoppingRule:
    """What the answers of a lesson allow to promise about a target.

    A promise holds until more is found than it had left possible: the limit at its time, less what
    was found since, remains a limit.

    Parameters
    ----------
    target : float
        Share of all items that belong which is to be found.
    belong : sequence of bool
        The answers in their order.
    unseen : int
        Number of items without an answer.
    members : int, default=0
        Items that count as found without an answer.

    Attributes
    ----------
    limit : int
        Largest number of items left.
    """

    def __init__(
        self, target: float, belong: Sequence[bool], unseen: int, members: int = 0
    ) -> None:
        self.target, self.members = target, members
        self._belong = np.asarray(belong, dtype=np.intp)
        self._unseen = unseen
        total = np.cumsum(np.append(0, self._belong))
        count = len(self._belong)
        self.limit, promised = most_left(belong, unseen), None
        for number in range(_STEP, count + 1, _STEP):
            found = int(total[number])
            # What was promised holds until more is found than had been left possible.
            if promised is not None and found - promised[0] <= promised[1]:
                continue
            earlier, then = self._belong[:number], unseen + count - number
            promised = None
            if chance_to_miss(earlier, then, target, members) <= LEVEL:
                allowed = max(0, _allowed(target, found + members))
                promised = found, min(allowed, _limit(*_ends(earlier), then))
        if promised is not None and total[-1] - promised[0] <= promised[1]:
            self.limit = min(self.limit, promised[1] - int(total[-1] - promised[0]))

    @property
    def enough(self) -> bool:
        """Whether the target is reached even if as many are left as the limit allows."""
        return self.limit <= max(0, _allowed(self.target, int(self._belong.sum()) + self.members))

    def more(self, chances: Array) -> int:
        """Return after about how many more answers the target is reached.

        ``chances`` are the probabilities of the items without an answer, the likeliest first: as
        many are presumed to be found as they add up to.
        """
        gained = np.append(0.0, np.cumsum(chances))
        if self.enough:
            return 0
        yes = int(self._belong.sum())
        found, drawn = _ends(self._belong)
        least, most = 1, self._unseen
        while least < most:
            number = (least + most) // 2
            new = math.floor(gained[number] + 0.5)
            left = min(
                _limit(found + new, drawn + number, self._unseen - number),
                _limit(np.array([new]), np.array([number]), self._unseen - number),
            )
            if left <= max(0, _allowed(self.target, yes + new + self.members)):
                most = number
            else:
                least = number + 1
        return least
