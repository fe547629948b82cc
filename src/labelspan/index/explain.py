"""Interpretation of a space by words and labels: its axes, and why an item was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._axis_ends import Ends, ends
from .._typing import Array
from ..errors import InvalidParameter
from ..tagger import Tagger
from .model import IndexModel
from .results import Axis, AxisShare, Explanation, Hit, Item, LabelShare, WordShare
from .searching import TextQuery, text_match
from .store import ItemStore

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
    query: Array,
    *,
    text: str | None,
    asked: TextQuery | None,
    balance: float,
    tagged: tuple[Tagger, Any] | None,
    item: Item,
    n: int,
    own: Array | None = None,
) -> Explanation:
    """Explain the score of an item for a unit vector.

    ``text`` is what was asked for if it is only a text, and ``asked`` what is searched for in the
    words.
    ``tagged`` are the tagger and the features that it takes of the query, if there are any.
    ``own`` is the unit vector of the item, if it is not that of its text.
    """
    if own is None:
        own = store.vectors.rows(store.rows([item.id]))[0].astype(np.float64)
    shares = query.astype(np.float64) * own
    top = np.argsort(-shares, kind="stable")[:n]
    top = top[shares[top] > 0]
    axes = tuple(
        AxisShare(axis, float(shares[axis.number]), "high" if query[axis.number] > 0 else "low")
        for axis in read_axes(model, store, top.tolist(), 3)
    )
    cosine = float(np.clip(shares.sum(), 0.0, 1.0))
    words = () if text is None else _words(model, own, text, item, n)
    labels = _labels(tagged, item)
    if asked is None or store.words is None:
        return Explanation(item.id, cosine, axes, words, labels, cosine=cosine, from_space=cosine)
    hit, added = text_match(asked, store, store.row(item.id), balance)
    matches = tuple(
        WordShare(word, share, shared=True)
        for word, share in sorted(added.items(), key=lambda pair: -pair[1])[:n]
    )
    found = hit or Hit(item.id, item.text, item.labels, item.metadata)
    return Explanation(
        item.id,
        found.score,
        axes,
        words,
        labels,
        cosine=cosine,
        matches=matches,
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
    columns = row.indices
    shares = row.data * (model.space.weights[columns].astype(np.float64) @ own) / length
    order = np.argsort(-shares, kind="stable")[:n]
    return tuple(
        WordShare(str(model.names[columns[j]]), float(shares[j]), int(columns[j]) in there)
        for j in order.tolist()
        if shares[j] > 0
    )


def _labels(tagged: tuple[Tagger, Any] | None, item: Item) -> tuple[LabelShare, ...]:
    if tagged is None or item.labels is None:
        return ()
    tagger, features = tagged
    found = tagger.probabilities(features).mean(axis=0)
    shares = [
        LabelShare(name, float(found[tagger.columns[name]]))
        for name in item.labels
        if name in tagger.columns
    ]
    return tuple(sorted(shares, key=lambda share: -share.probability))
