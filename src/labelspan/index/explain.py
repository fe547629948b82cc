"""Interpretation of a space by words and labels: its axes, and why an item was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._axis_ends import Ends, ends
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter
from .model import IndexModel
from .results import Axis, AxisShare, Explanation, Hit, Item, Tag, WordShare
from .searching import Query, Ranking
from .store import ItemStore
from .tagging import ItemTagger

if TYPE_CHECKING:
    from ..tagger import Tagger

__all__ = ["explain", "read_axes"]


def read_axes(model: IndexModel, store: ItemStore, numbers: Sequence[int], n: int) -> list[Axis]:
    """Describe axes by the words and labels at both ends."""
    nothing, names, weights = Ends([], []), model.names, model.space.weights
    count = model.space.n_dimensions
    for number in numbers:
        if not 0 <= number < count:
            raise InvalidParameter(
                f"axes: numbers must be 0 to {count - 1}, but {number!r} was given."
            )
    labels, centres = store.centred_labels()

    def words(number: int) -> Ends:
        if names is None:
            return nothing
        # The dimensions of a block, the last features, have no names. Kept, because all others
        # are looked at.
        own = weights[: len(names), number][None]
        return store.once(f"{n} words of axis {number}", lambda: ends("axes", own, names, 0, n))

    return [
        Axis(
            number,
            float(model.space.eigenvalues[number]),
            words(number),
            ends("axes", centres.T, labels, number, n) if labels else nothing,
        )
        for number in numbers
    ]


def explain(
    asked: Query, tagger: Tagger | None, item: Item, *, n: int, balance: float
) -> Explanation:
    """Explain the score of an item, for a query as in a search."""
    model, store = asked.model, asked.store
    row = store.row(item.id)
    own = store.vectors.rows(np.array([row]))[0].astype(np.float64)
    text, single = None, True
    placed = asked.places()
    if placed is not None:
        places, vector = placed
        own = places.rows(np.array([row]))[0].astype(np.float64)
    elif not asked.has_text:
        vectors, single = asked.vectors()
        vector = vectors[0]
    else:
        texts, single = asked.texts(balance, explained=True)
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
    if text is not None and not asked.items and not asked.labels:
        words = _words(model, own, text.parsed.text, item, n)
    found, added = Ranking.by_space(np.array([row]), np.array([cosine])), dict[str, float]()
    if text is not None:
        found, added = text.match(row)
    hit = next(iter(found.hits({row: item})), Hit(item.id, "", None, {}))
    best = sorted(added.items(), key=lambda pair: -pair[1])[:n]
    return Explanation(
        item.id,
        hit.score,
        axes,
        words,
        _labels(ItemTagger(model, store, tagger), asked, item) if tagger else (),
        cosine=cosine,
        matches=tuple(WordShare(word, share, shared=True) for word, share in best),
        from_words=hit.from_words,
        from_space=hit.from_space,
        exact=hit.exact,
    )


def _words(model: IndexModel, own: Array, text: str, item: Item, n: int) -> tuple[WordShare, ...]:
    if model.names is None:
        return ()
    assert model.features is not None
    both = model.features.of_texts([text, item.text])
    row, there = both[0], set(both[1].indices.tolist())
    asked = model.query_features([text])
    length = float(np.linalg.norm(asked @ model.space.weights - model.space.offset))
    if not length or not row.nnz:
        return ()
    columns = row.indices
    shares = row.data * (model.space.weights[columns].astype(np.float64) @ own) / length
    order = np.argsort(-shares, kind="stable")[:n]
    return tuple(
        WordShare(str(model.names[columns[j]]), float(shares[j]), int(columns[j]) in there)
        for j in order.tolist()
        if shares[j] > 0
    )


def _labels(tagger: ItemTagger, asked: Query, item: Item) -> tuple[Tag, ...]:
    """Return the labels of the item with their probabilities for the query, without its labels."""
    if item.labels is None or (asked.query is None and not asked.items):
        return ()
    found = tagger.probabilities(asked.query, () if asked.query is not None else asked.items)
    known = [found[name] for name in item.labels if name in found]
    return tuple(sorted(known, key=lambda tag: -tag.probability))
