"""Search in three steps: mask the rows that may be found, rank them, fetch those that are shown.

The score of an item for a text is the weighted sum of two standardised scores: BM25 of the query's
words divided by its standard deviation over all items, and the cosine in the space divided by its
standard deviation. It is divided by the largest possible sum, so that it is from 0 to 1. Items
whose id or title is the query come first, with a score of 1. Queries without a text are compared in
the space.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch, NotFound
from ..text import ParsedQuery, parse_query
from .inputs import as_names, label_name, several_texts
from .model import IndexModel
from .results import Hit, Item
from .store import ItemStore
from .vectors import UnitVectors, kth_largest, unit_rows

__all__ = [
    "Filter",
    "Query",
    "Ranking",
    "check_balance",
    "mask_rows",
    "match_all",
    "rank",
    "similar_labels",
    "text_vectors",
    "weak",
]

_LABELS = ("labels", "without", "linked")
_METADATA = ("metadata", "without_metadata")
# A match with less than this share of the query's words, weighted by their rarity, is weak.
_WEAK_COVERAGE = 1 / 3
# For a query that has only a vector, the cosine decides.
_WEAK_COSINE = 0.25
_CANDIDATES, _CANDIDATES_PER_ANSWER = 256, 4
# Fewer rows than this part of all are compared one by one.
_FEW = 8
# A longer list does not continue with items that are only close in meaning.
_FEW_MATCHES = 200

# Rows whose id or title is the query.
Exact = Mapping[int, Literal["id", "title"]]


@dataclass(frozen=True)
class Ranking:
    """Rows, best first, with their scores and the parts of these."""

    rows: Array
    scores: Array
    from_words: Array
    from_space: Array
    weak: Array
    exact: Exact

    @classmethod
    def by_space(cls, rows: Array, scores: Array) -> Ranking:
        """Make a ranking by cosines."""
        nothing = np.zeros(len(rows))
        return cls(rows, scores, nothing, scores, nothing.astype(bool), {})

    def take(self, order: Array) -> Ranking:
        """Return some rows, in an order."""
        words, space = self.from_words[order], self.from_space[order]
        found = self.rows[order], self.scores[order]
        return Ranking(*found, words, space, self.weak[order], self.exact)

    def hits(self, items: Mapping[int, Item]) -> list[Hit]:
        """Return the items in the rows as hits, without those that are gone."""
        parts = (self.rows, self.scores, self.from_words, self.from_space, self.weak)
        found = []
        for row, score, words, space, weak in zip(*(part.tolist() for part in parts), strict=True):
            item = items.get(row)
            if item is not None:
                own = item.id, item.text, item.labels, item.metadata
                found.append(Hit(*own, score, words, space, self.exact.get(row), weak))
        return found


# --- mask -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Filter:
    """Condition on the labels and metadata of items.

    A label is a name, or a prefix of names: ``use::*`` stands for all labels that begin with
    ``use::``. In an index with a vocabulary it may be an alternative name, and ``graves*`` stands
    for the label graves and everything narrower.

    Attributes
    ----------
    labels : tuple of str
        An item must have all of them.
    without : tuple of str
        An item must have none of them.
    linked : tuple of str
        Ids of items; an item must be linked with all of them, to or from them.
    metadata : mapping
        For each key a value, a list of accepted values, a range ``{"from": low, "to": high}`` of
        numbers or dates with one or both of its ends, or a function of the value that returns
        True or False. A value is accepted as it is, or as a text: "2002" finds 2002. Dates may be
        years or months: ``{"to": "2010"}`` includes all of 2010.
    without_metadata : mapping
        An item must fulfil none of these conditions.

    See Also
    --------
    labelspan.SemanticIndex.search : Takes it.
    labelspan.SemanticIndex.browse : Takes it.

    Examples
    --------
    >>> from labelspan import SemanticIndex
    >>> from labelspan.index import Filter
    >>> texts = ["a chess game", "chess online", "edit photos", "crop pictures"]
    >>> labels = [["game"], ["game"], ["image"], ["image"]]
    >>> years = [{"year": 2001}, {"year": 2003}, {"year": 2005}, {"year": 2007}]
    >>> index = SemanticIndex().fit(texts, labels, metadata=years)
    >>> recent = Filter(labels=("game",), metadata={"year": {"from": 2003}})
    >>> [hit.id for hit in index.search("chess", filter=recent)]
    ['1']
    """

    labels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    without_metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any) -> Filter:
        """Create a filter from a dict with its fields; return a given filter unchanged."""
        if given is None or isinstance(given, Filter):
            return cls() if given is None else given
        names = {*_LABELS, *_METADATA}
        if not isinstance(given, Mapping) or not given.keys() <= names:
            raise InvalidInput(
                f"filter must be a Filter, or a dict with {', '.join(sorted(names))}, "
                f"but {given!r} was given; for example "
                "filter={'labels': ['game'], 'metadata': {'year': {'from': 2005}}}."
            )
        for name in _METADATA:
            if not isinstance(given.get(name, {}), Mapping):
                raise InvalidInput(f"filter: {name} must be a dict, but {given[name]!r} was given.")
        labels: dict[str, Any] = {name: as_names(given.get(name, ())) for name in _LABELS}
        return cls(**labels, **{name: given.get(name, {}) for name in _METADATA})


def mask_rows(store: ItemStore, wanted: Filter, leave_out: Sequence[str] = ()) -> Array:
    """Mark the rows of the items that pass a filter, without some items."""
    mask = store.vectors.alive
    if wanted == Filter() and not leave_out:
        return mask
    mask = mask.copy()
    for label in wanted.labels:
        mask &= _with_labels(store, [label])
    if wanted.without:
        mask &= ~_with_labels(store, wanted.without)
    for row in store.rows(wanted.linked).tolist():
        near = np.zeros_like(mask)
        if store.graph is not None:
            near[store.graph.near(row)] = True
        mask &= near
    for key, choice in wanted.metadata.items():
        mask &= _with_metadata(store, key, choice)
    for key, choice in wanted.without_metadata.items():
        mask &= ~_with_metadata(store, key, choice)
    mask[store.rows(leave_out)] = False
    return mask


def _with_labels(store: ItemStore, names: Sequence[str]) -> Array:
    """Mark the rows with one label of several, or with one that begins so or is narrower."""
    table = store.labels
    mask = np.zeros(store.vectors.alive.size, dtype=bool)
    for given in names:
        for one in _labels_named(store, given):
            mask[table.rows(one)] = True
    return mask


def _labels_named(store: ItemStore, given: Any) -> list[Any]:
    """Return the labels of items that a name in a filter stands for."""
    there, vocabulary, name = store.labels.totals, store.vocabulary, label_name(given)
    if not isinstance(name, str) or name in there:
        return [given]
    if vocabulary is not None and (found := vocabulary.preferred(name)) is not None:
        return [found]
    if not name.endswith("*"):
        return [name]
    begin = name[:-1]
    if vocabulary is not None and (top := vocabulary.preferred(begin)) is not None:
        below = [one for one in (top, *vocabulary.narrower(top)) if one in there]
        return below or [top]
    found_names = [one for one in there if one.startswith(begin)]
    if not found_names:
        raise NotFound(f"No item has a label that begins with {begin!r}.")
    return found_names


def _with_metadata(store: ItemStore, key: str, choice: Any) -> Array:
    fields = store.fields()
    if key not in fields:
        keys = ", ".join(fields) or "none"
        raise NotFound(f"No item has metadata {key!r}; the keys are: {keys}.")
    # The last entry stands for -1: rows without this key.
    accepted = np.append(fields[key].chosen(choice), False)
    return np.asarray(accepted[fields[key].codes])


# --- queries --------------------------------------------------------------------------------


class Query:
    """What is searched for: a text, several texts or vectors, items, labels, or some of these."""

    def __init__(
        self,
        model: IndexModel,
        store: ItemStore,
        query: Any = None,
        items: Sequence[str] = (),
        labels: Sequence[str] = (),
    ) -> None:
        self.model, self.store, self.query = model, store, query
        self.items, self.labels = as_names(items), as_names(labels)

    @property
    def has_text(self) -> bool:
        """Whether words are searched for."""
        given = self.query is not None and self.store.words is not None
        return given and not _is_vector(self.model, self.query)

    def vectors(self, query: Any = None) -> tuple[Array, bool]:
        """Compute unit vectors, and whether it is a single query.

        Each is the mean of the unit vectors of a text, the items and the labels. ``query`` may
        stand in place of the one that was given.
        """
        query, store, fixed = self.query if query is None else query, self.store, []
        if self.items:
            fixed.append(store.vectors.rows(store.rows(self.items)).mean(axis=0))
        if self.labels:
            fixed.append(np.mean([_label_direction(store, name) for name in self.labels], axis=0))
        if query is None and not fixed:
            raise InvalidInput("search: give a text, items or labels to search for.")
        total: Any = sum(unit_rows(np.array(fixed))) if fixed else 0.0
        if query is None:
            return unit_rows(total[None, :]), True
        texts, single = text_vectors(self.model, query)
        return unit_rows(texts + total), single

    def places(self) -> tuple[UnitVectors, Array] | None:
        """Return the vectors of all items with their labels, and the mean vector of the given ones.

        None if the query has more than items, or if the embedding has no label directions.
        """
        found = self.model.space.directions
        if self.query is not None or self.labels or not self.items or found is None:
            return None
        places = self.store.label_places(found)
        return places, unit_rows(places.rows(self.store.rows(self.items)).mean(axis=0)[None])[0]

    def texts(self, balance: float, *, explained: bool = False) -> tuple[list[TextSearch], bool]:
        """Return a search for each text, and whether it is a single one.

        Words need no vectors, unless a result is to be explained.
        """
        texts, single = several_texts(self.query, "search")
        parsed = [parse_query(text) for text in texts]
        for text, own in zip(texts, parsed, strict=True):
            if own.excludes and not own.text.strip():
                raise InvalidInput(
                    f"search: {text!r} only says what to leave out; add a word to search for."
                )
        vectors: Array = np.zeros((len(texts), self.store.vectors.width), dtype=np.float32)
        if balance > 0 or explained:
            vectors, _ = self.vectors([own.text for own in parsed])
        parts = zip(texts, parsed, vectors, strict=True)
        return [TextSearch(self.store, *own, balance) for own in parts], single


def rank(asked: Query, *, k: int, mask: Array, balance: float) -> tuple[list[Ranking], bool]:
    """Rank the best rows of a mask for each query; tell also whether it is a single query."""
    places = asked.places()
    if places is not None:
        found = places[0].top(places[1][None], k, mask)
        return [Ranking.by_space(*found[0])], True
    if asked.has_text:
        texts, single = asked.texts(balance)
        return [text.top(k, mask) for text in texts], single
    vectors, single = asked.vectors()
    return [Ranking.by_space(*one) for one in asked.store.vectors.top(vectors, k, mask)], single


def match_all(
    asked: Query, *, mask: Array, balance: float, close: int
) -> tuple[Ranking, Ranking, tuple[str, ...]]:
    """Rank all marked items that match a text or a vector, and the closest weak matches.

    The last are only looked for if few items match. Words that no item has come third.
    """
    if not asked.has_text:
        vector, rows = asked.vectors()[0][0], np.flatnonzero(mask)
        found = Ranking.by_space(*asked.store.vectors.rank(vector, rows, len(mask)))
        enough = found.scores >= _WEAK_COSINE
        weak = found.take(np.flatnonzero(~enough)[:close])
        return found.take(np.flatnonzero(enough)), weak, ()
    (text,), _ = asked.texts(balance)
    return text.all(mask, close)


def weak(hits: Sequence[Hit]) -> str:
    """Return a sentence that says that there are only weak matches; empty if there are others."""
    if not hits or not all(hit.weak for hit in hits):
        return ""
    return (
        "Only weak matches: no item has more than a few of these words; these are the closest "
        "in meaning."
    )


def check_balance(owner: str, balance: Any, model: IndexModel) -> float:
    """Return a weight of the space, by default that of the model; refuse all but 0 to 1."""
    if balance is None:
        return model.balance
    fine = isinstance(balance, int | float | np.number) and not isinstance(balance, bool)
    if not fine or not 0 <= float(balance) <= 1:
        raise InvalidParameter(
            f"{owner}: balance must be a number from 0 (only words) to 1 (only the embedding), "
            f"but {balance!r} was given."
        )
    return float(balance)


def text_vectors(model: IndexModel, query: Any) -> tuple[Array, bool]:
    """Map texts, or vectors if the index takes these, to unit vectors in the space."""
    if model.reads_texts and not _is_vector(model, query):
        texts, single = several_texts(query, "search")
        return model.space.vectors(model.query_features(texts)), single
    rows = np.asarray(query)
    if rows.dtype.kind not in "fiub" or rows.ndim not in (1, 2):
        raise Mismatch("This index takes vectors: a query is a vector, or rows of vectors.")
    several = np.atleast_2d(rows)
    return model.given_queries(several), rows.ndim == 1


def _is_vector(model: IndexModel, query: Any) -> bool:
    """Return whether a query is a vector, for an index of words and vectors."""
    return model.block is not None and isinstance(query, np.ndarray) and query.dtype.kind in "fiu"


def similar_labels(store: ItemStore, label: str, k: int) -> list[tuple[str, float]]:
    """Find the labels whose items have the most similar mean vector."""
    names, centres, own = _centre(store, label)
    units = unit_rows(centres)
    scores = np.clip(units @ units[own], 0.0, 1.0)
    order = [j for j in np.argsort(-scores, kind="stable") if j != own]
    return [(names[j], float(scores[j])) for j in order[:k] if scores[j] > 0]


def _centre(store: ItemStore, label: str) -> tuple[list[str], Array, int]:
    """Return names and centres of all labels, and the number of one of them."""
    names, centres = store.centred_labels()
    if label_name(label) not in names:
        raise store.labels.unknown(label)
    return names, centres, names.index(label_name(label))


def _label_direction(store: ItemStore, label: str) -> Array:
    """Compute the unit vector that predicts a label best, by least squares on all items."""
    mean, second = store.moments()
    _, centres, own = _centre(store, label)
    ridge = max(float(np.trace(second)) / mean.size, np.finfo(float).tiny) / max(1, len(store))
    direction = np.linalg.solve(second + ridge * np.eye(mean.size), mean + centres[own])
    norm = float(np.linalg.norm(direction))
    return np.asarray(direction / norm if norm > 0 else direction)


# --- ranking by words and space -------------------------------------------------------------


class TextSearch:
    """Search for a text: its scores by words, its unit vector, and how both count."""

    def __init__(
        self, store: ItemStore, text: str, parsed: ParsedQuery, vector: Array, balance: float
    ) -> None:
        assert store.words is not None
        self._store, self._text, self._balance = store, text, balance
        self.parsed, self.vector = parsed, vector
        self._found = found = store.words.score(parsed)
        # The two scores are standardised, and the largest possible sum becomes 1.
        words = (1 - balance) / found.deviation if found.deviation > 0 else 0.0
        space = 0.0
        if balance > 0 and vector.any():
            space = balance / _deviation(vector, store.moments())
        largest = words * found.most + space or 1.0
        self._words, self._space = words / largest, space / largest

    def top(self, k: int, mask: Array) -> Ranking:
        """Rank the best rows of a mask."""
        return self._ranked(self._candidates(mask, k), self._exact(mask), k)

    def all(self, mask: Array, close: int) -> tuple[Ranking, Ranking, tuple[str, ...]]:
        """Do the same as :func:`match_all` for this text."""
        allowed = self._allowed(mask)
        if self._balance < 1:
            rows = np.flatnonzero(allowed & (self._found.coverage >= _WEAK_COVERAGE))
        else:
            rows = np.flatnonzero(allowed)
            rows = rows[self._store.vectors.cosines(self.vector, rows) >= _WEAK_COSINE]
        strong = self._ranked(rows, self._exact(mask), len(mask))
        near = np.zeros(0, dtype=np.intp)
        if len(strong.rows) <= _FEW_MATCHES:
            others = mask.copy()
            others[strong.rows] = False
            near = self._candidates(others, close)
        return strong, self._ranked(near, {}, close), self._found.unknown

    def match(self, row: int) -> tuple[Ranking, dict[str, float]]:
        """Rank one item as a search does, and compute the contribution of each word."""
        only = np.zeros_like(self._store.vectors.alive)
        only[row] = True
        shares = {}
        if self._words and self._store.words is not None:
            found = self._store.words.explain(self.parsed, row)
            shares = {word: self._words * share for word, share in found.items()}
        return self._ranked(np.array([row]), self._exact(only), 1), shares

    def _allowed(self, mask: Array) -> Array:
        """Mark the rows of a mask with all phrases and without exclusions."""
        return mask if self._found.allowed is None else mask & self._found.allowed

    def _candidates(self, mask: Array, k: int) -> Array:
        """Return the marked rows that may be among the k best, in order.

        A cosine is at most 1, so that only rows are compared in the space whose words reach, with
        it, the scores of those with the best words.
        """
        words, vectors, space = self._words * self._found.scores, self._store.vectors, self._space
        words[~self._allowed(mask)] = -1.0
        # Half of the slack bounds the rounding of a cosine.
        slack = space * vectors.slack

        def totals(rows: Array, cosines: Array) -> Array:
            return words[rows] + space * np.maximum(cosines, 0.0)

        def reached(values: Array) -> float:
            return kth_largest(values, k) - slack if len(values) > k else 0.0

        rows = np.flatnonzero(words > 0)
        if not space:
            total = words[rows]
        else:
            best = rows[_largest(words[rows], k)]
            least = reached(totals(best, vectors.estimates(self.vector, best))) - space - slack
            rows = np.flatnonzero(words >= max(0.0, least))
            if len(rows) <= len(words) // _FEW:
                total = totals(rows, vectors.estimates(self.vector, rows))
            else:
                total = totals(rows, vectors.products(self.vector[None])[0][rows])
        return rows[(total >= max(reached(total), slack / 2)) & (total > 0)]

    def _exact(self, mask: Array) -> Exact:
        """Return the rows that may be found whose id or title is the query."""
        assert self._store.words is not None
        found: dict[int, Literal["id", "title"]] = {}
        own = self._store.find(self._text.strip())
        if own is not None and mask[own]:
            found[own] = "id"
        for row in self._store.words.named(self._text):
            if mask[row]:
                found.setdefault(int(row), "title")
        return found

    def _ranked(self, rows: Array, exact: Exact, k: int) -> Ranking:
        """Rank rows, and those of exact names, by scores in float64; exact names first."""
        if exact:
            rows = np.union1d(rows, np.array(list(exact), dtype=np.intp))
        cosines = np.zeros(len(rows))
        if self._space:
            cosines = self._store.vectors.cosines(self.vector, rows)
        from_words = self._words * self._found.scores[rows]
        from_space = self._space * cosines
        scores = from_words + from_space
        first = np.zeros(len(rows), dtype=int)
        for row, how in exact.items():
            first[np.searchsorted(rows, row)] = 2 if how == "id" else 1
        # Equal ones stay in the order of the rows.
        order = np.lexsort((-scores, -first))
        order = order[(scores[order] > 0) | (first[order] > 0)][:k]
        unsure = cosines < _WEAK_COSINE
        if self._balance < 1:
            unsure = self._found.coverage[rows] < _WEAK_COVERAGE
        unsure &= first == 0
        shown = np.where(first > 0, 1.0, np.minimum(scores, 1.0))
        return Ranking(rows, shown, from_words, from_space, unsure, exact).take(order)


def _deviation(query: Array, moments: tuple[Array, Array]) -> float:
    """Compute the standard deviation of the cosines of a query with all items."""
    mean, second = moments
    wide = query.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(wide @ second @ wide) - float(wide @ mean) ** 2
    # If all items have the same vector, the embedding does not distinguish them; use the cosine
    # itself.
    return math.sqrt(spread) if 1e-12 < spread < math.inf else 1.0


def _largest(scores: Array, k: int) -> Array:
    """Return the indices of the largest scores, several for each answer."""
    most = max(_CANDIDATES, _CANDIDATES_PER_ANSWER * k)
    if len(scores) <= most:
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - most)[-most:]
