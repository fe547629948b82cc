"""Ranking of items by words and space together.

The score of an item is the weighted sum of two standardised scores: BM25 of the query's words
divided by its standard deviation over all items, and the cosine in the space divided by its
standard deviation. It is given as a share of the largest possible sum, from 0 to 1. Items whose
id or title is the query come first, with a score of 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._typing import Array
from ..errors import InvalidParameter
from .ann import AnnIndex, proposed
from .items import ItemStore
from .query_syntax import ParsedQuery
from .results import Hit
from .vectors import UnitVectors
from .words import WordIndex, WordScores

__all__ = [
    "BALANCE",
    "FusedWeights",
    "Match",
    "TextQuery",
    "all_matches",
    "check_balance",
    "near_matches",
    "rank_texts",
    "text_match",
    "weak",
]

# Weight of the space in a search, from 0 (only words) to 1 (only the space).
BALANCE = 0.4
# A match with less than this share of the query's words, weighted by their rarity, is weak.
_WEAK_COVERAGE = 1 / 3
# For a query that has only a vector, the cosine decides.
_WEAK_COSINE = 0.25
_CANDIDATES, _CANDIDATES_PER_ANSWER = 256, 4
_GROUP = 32


@dataclass(frozen=True)
class Match:
    """Score of an item and where it comes from."""

    score: float
    from_words: float
    from_space: float
    exact: Literal["id", "title"] | None
    weak: bool


@dataclass(frozen=True)
class TextQuery:
    """Query of a text: the text as given, its parts, and its unit vector."""

    text: str
    parsed: ParsedQuery
    vector: Array


@dataclass(frozen=True)
class FusedWeights:
    """Factors of BM25 and of the cosine in a score."""

    words: float
    space: float

    @classmethod
    def of(
        cls, found: WordScores, deviation: float, balance: float, *, known: bool
    ) -> FusedWeights:
        """Weigh the two standardised scores; the largest possible sum becomes 1.

        ``known`` tells whether the query has a vector in the space at all.
        """
        words = (1 - balance) / found.deviation if found.deviation > 0 else 0.0
        space = balance / deviation if known and deviation > 0 else 0.0
        largest = words * found.most + space
        if largest <= 0:
            return cls(0.0, 0.0)
        return cls(words / largest, space / largest)


def check_balance(owner: str, balance: Any) -> float:
    """Return a weight of the space; raise an error unless it is a number from 0 to 1."""
    fine = isinstance(balance, int | float | np.number) and not isinstance(balance, bool)
    if not fine or not 0 <= float(balance) <= 1:
        raise InvalidParameter(
            f"{owner}: balance must be a number from 0 (only words) to 1 (only the space), but "
            f"{balance!r} was given."
        )
    return float(balance)


def weak(hits: Sequence[Hit]) -> str:
    """Return a sentence that says that there are only weak matches; empty if there are others."""
    if not hits or not all(hit.weak for hit in hits):
        return ""
    return (
        "Only weak matches: no item has more than a few of these words; these are the closest "
        "in meaning."
    )


def rank_texts(
    queries: Sequence[TextQuery],
    words: WordIndex,
    vectors: UnitVectors,
    find: Callable[[str], int | None],
    moments: tuple[Array, Array],
    *,
    k: int,
    mask: Array,
    balance: float,
    ann: AnnIndex | None,
) -> tuple[list[tuple[Array, list[Match]]], bool]:
    """Rank items for each query; tell whether approximate search was used for one of them.

    ``mask`` marks the rows that may be found, ``moments`` are the mean of the items' vectors and
    of their outer products.
    """
    answers: list[tuple[Array, list[Match]]] = []
    approximate = False
    step = vectors.queries_at_once
    for start in range(0, len(queries), step):
        part = queries[start : start + step]
        stacked = np.stack([query.vector for query in part])
        proposals = proposed(vectors, ann, stacked, k, mask) if balance > 0 else None
        cosines = None
        if proposals is None and balance > 0:
            cosines = vectors.products(stacked)
        for n, query in enumerate(part):
            found = words.score(query.parsed)
            deviation = _deviation(query.vector, moments)
            weights = FusedWeights.of(found, deviation, balance, known=bool(query.vector.any()))
            allowed = mask if found.allowed is None else mask & found.allowed
            rows = None
            own = None if cosines is None else cosines[n]
            if proposals is not None:
                rows = _with_best_words(proposals[n], found.scores, allowed, k)
                approximate = approximate or rows is not None
                if rows is None:
                    own = vectors.products(query.vector[None])[0]
            if rows is None:
                rows = _candidates(
                    found.scores, own, weights, allowed=allowed, k=k, slack=vectors.slack
                )
            exact = _exact(query.text, words, find, mask)
            answers.append(
                _ranked(
                    query,
                    rows,
                    vectors,
                    exact=exact,
                    found=found,
                    weights=weights,
                    k=k,
                    balance=balance,
                )
            )
    return answers, approximate


def all_matches(query: TextQuery, store: ItemStore, balance: float) -> tuple[Array, Array]:
    """Return the rows of all items that are not weak matches of a text, and their scores."""
    assert store.words is not None
    vectors = store.unit_vectors
    found = store.words.score(query.parsed)
    deviation = _deviation(query.vector, store.spread())
    weights = FusedWeights.of(found, deviation, balance, known=bool(query.vector.any()))
    mask = vectors.alive if found.allowed is None else vectors.alive & found.allowed
    if balance < 1:
        rows = np.flatnonzero(mask & (found.coverage >= _WEAK_COVERAGE))
    else:
        rows = np.flatnonzero(mask)
        rows = rows[vectors.cosines(query.vector, rows) >= _WEAK_COSINE]
    exact = _exact(query.text, store.words, store.find, vectors.alive)
    rows = np.union1d(rows, np.array(list(exact), dtype=np.intp)).astype(np.intp)
    scores = weights.words * found.scores[rows]
    scores = scores + weights.space * vectors.cosines(query.vector, rows)
    scores[np.isin(rows, list(exact))] = 1.0
    return rows, np.minimum(scores, 1.0)


def near_matches(vector: Array, store: ItemStore) -> tuple[Array, Array]:
    """Return the rows of all items whose cosine with a vector is not weak, and their cosines."""
    rows = np.flatnonzero(store.unit_vectors.alive)
    scores = store.unit_vectors.cosines(vector, rows)
    near = scores >= _WEAK_COSINE
    return rows[near], np.minimum(scores[near], 1.0)


@dataclass(frozen=True)
class TextMatch:
    """Score of one item, and what each word of the query adds to it."""

    match: Match
    words: dict[str, float]


def text_match(query: TextQuery, store: ItemStore, name: str, balance: float) -> TextMatch:
    """Compute the score of one item as a search gives it, word by word."""
    assert store.words is not None
    place = store.place(name)
    found = store.words.score(query.parsed)
    deviation = _deviation(query.vector, store.spread())
    weights = FusedWeights.of(found, deviation, balance, known=bool(query.vector.any()))
    mask = store.unit_vectors.alive
    exact = {
        row: how
        for row, how in _exact(query.text, store.words, store.find, mask).items()
        if row == place
    }
    _, matches = _ranked(
        query,
        np.array([place]),
        store.unit_vectors,
        exact=exact,
        found=found,
        weights=weights,
        k=1,
        balance=balance,
    )
    shares: dict[str, float] = {}
    for word in store.words.matches(query.parsed):
        at = np.searchsorted(word.rows, place)
        if at < len(word.rows) and word.rows[at] == place and weights.words:
            shares[word.word] = weights.words * float(word.scores[at])
    nothing = Match(0.0, 0.0, 0.0, None, weak=True)
    return TextMatch(matches[0] if matches else nothing, shares)


def _deviation(query: Array, moments: tuple[Array, Array]) -> float:
    """Compute the standard deviation of the cosines of a query with all items."""
    mean, second = moments
    wide = query.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(wide @ second @ wide) - float(wide @ mean) ** 2
    # Where all items lie in one point, the space tells nothing apart; the cosine is used as is.
    return math.sqrt(spread) if 1e-12 < spread < math.inf else 1.0


def _candidates(
    scores: Array,
    cosines: Array | None,
    weights: FusedWeights,
    *,
    allowed: Array,
    k: int,
    slack: float,
) -> Array:
    """Return the rows that may be among the k best, in order; cosines are rounded."""
    total = weights.words * scores
    if cosines is not None and weights.space > 0:
        # Half of the slack bounds the rounding of a cosine.
        total = total + weights.space * np.maximum(cosines, 0.0)
    if not allowed.all():
        total[~allowed] = 0.0
    least = weights.space * slack
    if len(total) > k:
        least = max(least / 2, _kth_largest(total, k) - least)
    else:
        least /= 2
    return np.flatnonzero((total >= least) & (total > 0))


def _kth_largest(values: Array, k: int) -> float:
    """Return a number that at least ``k`` values reach: the k-th largest, or slightly less.

    It is the k-th largest maximum of groups, which is found faster if there are many values.
    """
    groups = len(values) // _GROUP
    if groups >= 8 * k:
        whole = groups * _GROUP
        maxima = values[:whole].reshape(groups, _GROUP).max(axis=1)
        values = np.append(maxima, values[whole:])
    return float(np.partition(values, len(values) - k)[len(values) - k])


def _with_best_words(near: Array, scores: Array, allowed: Array, k: int) -> Array | None:
    """Join proposed rows with those of the best words; None if there are fewer than ``k``."""
    rows = np.flatnonzero((scores > 0) & allowed)
    most = max(_CANDIDATES, _CANDIDATES_PER_ANSWER * k)
    if len(rows) > most:
        rows = rows[np.argpartition(scores[rows], len(rows) - most)[-most:]]
    found = np.union1d(near[allowed[near]], rows)
    return found if len(found) >= k else None


def _exact(
    text: str, words: WordIndex, find: Callable[[str], int | None], mask: Array
) -> dict[int, Literal["id", "title"]]:
    """Return the rows that may be found whose id or title is the query."""
    found: dict[int, Literal["id", "title"]] = {}
    own = find(text.strip())
    if own is not None and mask[own]:
        found[own] = "id"
    for row in words.named(text):
        if mask[row]:
            found.setdefault(int(row), "title")
    return found


def _ranked(
    query: TextQuery,
    rows: Array,
    vectors: UnitVectors,
    *,
    exact: dict[int, Literal["id", "title"]],
    found: WordScores,
    weights: FusedWeights,
    k: int,
    balance: float,
) -> tuple[Array, list[Match]]:
    """Rank rows by scores in float64; exact names first."""
    rows = np.union1d(rows, np.array(list(exact), dtype=np.intp)).astype(np.intp)
    cosines = vectors.cosines(query.vector, rows)
    from_words = weights.words * found.scores[rows]
    from_space = weights.space * cosines
    scores = from_words + from_space
    first = np.array([{"id": 2, "title": 1, None: 0}[exact.get(int(row))] for row in rows], int)
    order = np.lexsort((rows, -scores, -first))
    order = order[(scores[order] > 0) | (first[order] > 0)][:k]
    unsure = found.coverage[rows] < _WEAK_COVERAGE if balance < 1 else cosines < _WEAK_COSINE
    matches = [
        Match(
            1.0 if first[n] else min(float(scores[n]), 1.0),
            float(from_words[n]),
            float(from_space[n]),
            exact.get(int(rows[n])),
            bool(unsure[n]) and not first[n],
        )
        for n in order
    ]
    return rows[order], matches
