"""Queries to an index: functions of what it learned and of its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._params import Integer
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from .ann import AnnIndex, nearest
from .filters import Filter
from .inputs import label_name, read_texts
from .items import ItemStore
from .label_places import LabelPlaces
from .model import IndexModel
from .query_syntax import parse_query
from .ranking import Match, TextQuery, rank_texts
from .results import Hit
from .vectors import unit_rows

__all__ = [
    "check_count",
    "item_places",
    "query_vectors",
    "search",
    "similar_labels",
    "text_queries",
    "text_vectors",
]


def search(
    model: IndexModel,
    store: ItemStore,
    query: Any,
    *,
    k: int,
    filter: Filter | Mapping[str, Any] | None,
    items: tuple[str, ...],
    labels: tuple[str, ...],
    ann: AnnIndex | None,
    balance: float,
) -> tuple[Any, bool]:
    """Find the best items; tell whether the index for approximate search was used.

    The items are a list of hits, or a list of such lists for a list of queries.
    """
    used = False

    def by_space(store: ItemStore, mask: Array) -> list[tuple[Array, Sequence[Match]]]:
        nonlocal used
        if ann is None:
            ranked = store.unit_vectors.top(vectors, k, mask)
        else:
            ranked, used = nearest(store.unit_vectors, ann, vectors, k, mask)
        return [
            (rows, [Match(score, 0.0, score, None, weak=False) for score in scores.tolist()])
            for rows, scores in ranked
        ]

    def by_both(store: ItemStore, mask: Array) -> list[tuple[Array, Sequence[Match]]]:
        nonlocal used
        assert store.words is not None
        ranked, used = rank_texts(
            texts,
            store.words,
            store.unit_vectors,
            store.find,
            store.spread(),
            k=k,
            mask=mask,
            balance=balance,
            ann=ann,
        )
        return list(ranked)

    def by_places(store: ItemStore, mask: Array) -> list[tuple[Array, Sequence[Match]]]:
        found = item_places(model, store, query, items, labels)
        assert found is not None
        places, vector = found
        rows, scores = places.top(vector, k, mask)
        return [(rows, [Match(score, 0.0, score, None, weak=False) for score in scores.tolist()])]

    if ann is None and item_places(model, store, query, items, labels) is not None:
        single, rank = True, by_places
    elif query is None or store.words is None:
        vectors, single = query_vectors(model, store, query, items, labels)
        rank = by_space
    else:
        texts, single = text_queries(model, store, query, items, labels)
        rank = by_both
    hits = [
        [
            Hit(
                item.id,
                match.score,
                item.labels,
                item.text,
                item.metadata,
                match.from_words,
                match.from_space,
                match.exact,
                match.weak,
            )
            for match, item in ranked
        ]
        for ranked in store.search(Filter.of(filter), items, rank)
    ]
    return (hits[0] if single else hits), used


def text_queries(
    model: IndexModel, store: ItemStore, query: Any, items: tuple[str, ...], labels: tuple[str, ...]
) -> tuple[list[TextQuery], bool]:
    """Read texts as queries, and tell whether it is a single one."""
    single = isinstance(query, str)
    texts = read_texts([query] if single else query, "search")
    parsed = [parse_query(text) for text in texts]
    for text, own in zip(texts, parsed, strict=True):
        if own.excludes and not own.text.strip():
            raise InvalidInput(
                f"search: {text!r} only says what to leave out; add a word to search for."
            )
    vectors, _ = query_vectors(model, store, [own.text for own in parsed], items, labels)
    return [TextQuery(*parts) for parts in zip(texts, parsed, vectors, strict=True)], single


def similar_labels(store: ItemStore, label: str, k: int) -> list[tuple[str, float]]:
    """Find the labels whose items have the most similar mean vector."""
    label = label_name(label)
    names, centres = store.centred_labels()
    if label not in names:
        raise store.catalogue.unknown_label(label)
    units = unit_rows(centres)
    scores = np.clip(units @ units[names.index(label)], 0.0, 1.0)
    order = [j for j in np.argsort(-scores, kind="stable") if names[j] != label]
    return [(names[j], float(scores[j])) for j in order[:k] if scores[j] > 0]


def query_vectors(
    model: IndexModel, store: ItemStore, query: Any, items: tuple[str, ...], labels: tuple[str, ...]
) -> tuple[Array, bool]:
    """Compute unit vectors of queries, and tell whether it is a single query.

    A query is the mean of the unit vectors of its text, its items and its labels.
    """
    fixed: list[Array] = []
    if items:
        fixed.append(store.vectors(items).mean(axis=0))
    if labels:
        fixed.append(np.mean([_label_direction(store, name) for name in labels], axis=0))
    if query is None:
        if not fixed:
            raise InvalidInput("search: give a text, items or labels to search for.")
        return unit_rows(np.mean(unit_rows(np.array(fixed)), axis=0)[None, :]), True
    texts, single = text_vectors(model, query)
    total = texts + sum(unit_rows(np.array(fixed))) if fixed else texts
    return unit_rows(total), single


def item_places(
    model: IndexModel, store: ItemStore, query: Any, items: tuple[str, ...], labels: tuple[str, ...]
) -> tuple[LabelPlaces, Array] | None:
    """Return the places of all items by their labels, and the mean place of those asked for.

    None if something else is asked for, or if the space does not tell where labels lie.
    """
    if query is not None or labels or not items or model.directions is None:
        return None
    places = store.label_places(model.directions)
    return places, places.query(np.array([store.place(name) for name in items]))


def check_count(owner: str, name: str, value: Any) -> None:
    """Raise an error unless a value is a whole number of at least 1."""
    if not Integer(1).accepts(value):
        raise InvalidParameter(
            f"{owner}: {name} must be {Integer(1).describe()}, but {value!r} was given."
        )


def text_vectors(model: IndexModel, query: Any) -> tuple[Array, bool]:
    """Map texts, or vectors if there is no vectorizer, to unit vectors in the space."""
    if not model.reads_texts:
        rows = np.asarray(query)
        if rows.dtype.kind not in "fiub" or rows.ndim not in (1, 2):
            raise Mismatch("This index has no vectorizer: a query is a vector, or rows of vectors.")
        single = rows.ndim == 1
        rows = rows[None, :] if single else rows
        return model.vectors(model.features([""] * len(rows), rows, "search")), single
    single = isinstance(query, str)
    texts = read_texts([query] if single else query, "search")
    if not texts:
        raise InvalidInput("search: the list of texts is empty.")
    return model.text_vectors(texts), single


def _label_direction(store: ItemStore, label: str) -> Array:
    """Compute the unit vector that predicts a label best, by least squares on all items."""
    mean, second = store.moments()
    names, centres = store.centred_labels()
    label = label_name(label)
    if label not in names:
        raise store.catalogue.unknown_label(label)
    own = mean + centres[names.index(label)]
    ridge = max(float(np.trace(second)) / mean.size, np.finfo(float).tiny) / max(1, len(store))
    direction = np.linalg.solve(second + ridge * np.eye(mean.size), own)
    norm = float(np.linalg.norm(direction))
    return np.asarray(direction / norm if norm > 0 else direction)
