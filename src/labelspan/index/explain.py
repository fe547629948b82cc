"""Interpretation of a space by words and labels: its axes, and why an item was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._axis_ends import Ends, ends
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter
from .model import IndexModel
from .results import Axis, AxisShare, Explanation, Hit, Item, Tag, WordShare
from .searching import item_places, query_vectors, text_match, text_queries
from .store import ItemStore
from .tagging import tagged_features

if TYPE_CHECKING:
    from ..tagger import Tagger

__all__ = ["explain", "read_axes"]


def read_axes(model: IndexModel, store: ItemStore, numbers: Sequence[int], n: int) -> list[Axis]:
    """Describe axes by the words and labels at both ends."""
    nothing = Ends([], [])
    count = model.space.n_dimensions
    for number in numbers:
        if not 0 <= number < count:
            raise InvalidParameter(
                f"axes: numbers must be 0 to {count - 1}, but {number!r} was given."
            )
    labels, centres = store.centred_labels()
    return [
        Axis(
            number,
            float(model.space.eigenvalues[number]),
            model.space.axis_words(number, n, model.names),
            ends("axes", centres.T, labels, number, n) if labels else nothing,
        )
        for number in numbers
    ]


def explain(
    model: IndexModel,
    store: ItemStore,
    tagger: Tagger | None,
    query: Any,
    item: Item,
    *,
    n: int,
    items: tuple[str, ...],
    labels: tuple[str, ...],
    balance: float,
) -> Explanation:
    """Explain the score of an item, for a query as in a search."""
    row = store.row(item.id)
    own = store.vectors.rows(np.array([row]))[0].astype(np.float64)
    text, single = None, True
    placed = item_places(model, store, query, items, labels)
    if placed is not None:
        places, vector = placed
        own = places.rows(np.array([row]))[0]
    elif store.words is None or query is None:
        vectors, single = query_vectors(model, store, query, items, labels)
        vector = vectors[0]
    else:
        texts, single = text_queries(model, store, query, items, labels, 1.0)
        text, vector = texts[0], texts[0].vector
    if not single:
        raise InvalidInput("explain: give one query, not several.")
    shares = vector.astype(np.float64) * own
    top = np.argsort(-shares, kind="stable")[:n]
    axes = tuple(
        AxisShare(axis, float(shares[axis.number]), "high" if vector[axis.number] > 0 else "low")
        for axis in read_axes(model, store, top[shares[top] > 0].tolist(), 3)
    )
    cosine = float(np.clip(shares.sum(), 0.0, 1.0))
    words: tuple[WordShare, ...] = ()
    if text is not None and not items and not labels:
        words = _words(model, own, text.parsed.text, item, n)
    found: Hit | None = Hit(item.id, "", None, {}, cosine, 0.0, cosine)
    added: dict[str, float] = {}
    if text is not None:
        found, added = text_match(text, store, row, balance)
    found = found or Hit(item.id, "", None, {})
    best = sorted(added.items(), key=lambda pair: -pair[1])[:n]
    return Explanation(
        item.id,
        found.score,
        axes,
        words,
        _labels(model, store, tagger, query, items, item),
        cosine=cosine,
        matches=tuple(WordShare(word, share, shared=True) for word, share in best),
        from_words=found.from_words,
        from_space=found.from_space,
        exact=found.exact,
    )


def _words(model: IndexModel, own: Array, text: str, item: Item, n: int) -> tuple[WordShare, ...]:
    if model.names is None:
        return ()
    features = model.features_of([text, item.text], "explain")
    row, there = features[0], set(features[1].indices.tolist())
    length = model.space.length(row)
    if not length or not row.nnz:
        return ()
    # Static vectors, the last features, are not words.
    named = row.indices < len(model.names)
    columns = row.indices[named]
    shares = row.data[named] * (model.space.weights[columns].astype(np.float64) @ own) / length
    order = np.argsort(-shares, kind="stable")[:n]
    return tuple(
        WordShare(str(model.names[columns[j]]), float(shares[j]), int(columns[j]) in there)
        for j in order.tolist()
        if shares[j] > 0
    )


def _labels(  # noqa: PLR0917
    model: IndexModel,
    store: ItemStore,
    tagger: Tagger | None,
    query: Any,
    items: tuple[str, ...],
    item: Item,
) -> tuple[Tag, ...]:
    """Return the labels of the item with their probabilities for the query, without its labels."""
    if tagger is None or item.labels is None or (query is None and not items):
        return ()
    names = () if query is not None else items
    found = tagger.probabilities(tagged_features(model, store, tagger, query, names)[0])
    shares = [
        Tag(name, float(found[:, column].mean()), float(tagger.thresholds[column]))
        for name in item.labels
        if (column := tagger.columns.get(name)) is not None
    ]
    return tuple(sorted(shares, key=lambda share: -share.probability))
