"""Reading a space through words and labels: axes, and why an item was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_array

from .._typing import Array
from ..errors import InvalidParameter
from ..estimators._ends import Ends, ends
from .corpus import Corpus
from .items import Item
from .learn import Model
from .results import Axis, AxisShare, Explanation, LabelShare, WordShare

__all__ = ["explain", "label_direction", "read_axes"]

_NOTHING = Ends([], [])


def label_direction(corpus: Corpus, label: str) -> Array:
    """The unit vector whose cosines say best, by least squares, which items have a label."""
    mean, second = corpus.moments()
    names, centres = corpus.centred_labels()
    if label not in names:
        raise corpus.catalogue.unknown_label(label)
    own = mean + centres[names.index(label)]
    ridge = max(float(np.trace(second)) / mean.size, np.finfo(float).tiny) / max(1, len(corpus))
    direction = np.linalg.solve(second + ridge * np.eye(mean.size), own)
    norm = float(np.linalg.norm(direction))
    return np.asarray(direction / norm if norm > 0 else direction)


def read_axes(model: Model, corpus: Corpus, numbers: Sequence[int], n: int) -> list[Axis]:
    """Axes with the words and the labels at their ends."""
    count = int(model.estimator.n_components_)
    for number in numbers:
        if not 0 <= number < count:
            raise InvalidParameter(
                f"axes: there are axes 0 to {count - 1}, but {number!r} was asked for."
            )
    labels, centres = corpus.centred_labels()
    words = model.words
    components = getattr(model.estimator, "components_", None)
    return [
        Axis(
            number,
            float(model.estimator.eigenvalues_[number]),
            _NOTHING
            if words is None or components is None
            else ends("axes", components, words, number, n),
            ends("axes", centres.T, labels, number, n) if labels else _NOTHING,
        )
        for number in numbers
    ]


def explain(
    model: Model, corpus: Corpus, query: Array, *, features: Any, item: Item, n: int
) -> Explanation:
    """Why an item is near a query: a unit vector, and features where it was a text."""
    own = corpus.vectors([item.id])[0].astype(np.float64)
    shares = query.astype(np.float64) * own
    top = np.argsort(-shares, kind="stable")[:n]
    top = top[shares[top] > 0]
    axes = tuple(
        AxisShare(axis, float(shares[axis.number]), "high" if query[axis.number] > 0 else "low")
        for axis in read_axes(model, corpus, top.tolist(), 3)
    )
    score = float(np.clip(shares.sum(), 0.0, 1.0))
    words = () if features is None else _words(model, own, features, item, n)
    return Explanation(item.id, score, axes, words, _labels(model, query, item))


def _words(model: Model, own: Array, features: Any, item: Item, n: int) -> tuple[WordShare, ...]:
    names = model.words
    components = getattr(model.estimator, "components_", None)
    if names is None or components is None:
        return ()
    row = _entries(features)
    length = float(np.linalg.norm(model.estimator.transform(features)))
    if not length or not row:
        return ()
    columns = np.array(list(row), dtype=np.intp)
    values = np.array(list(row.values()))
    shares = values * (own @ components[:, columns].astype(np.float64)) / length
    there = set(model.vectorizer.transform([item.text]).nonzero()[1].tolist())
    order = np.argsort(-shares, kind="stable")[:n]
    return tuple(
        WordShare(str(names[columns[j]]), float(shares[j]), int(columns[j]) in there)
        for j in order
        if shares[j] > 0
    )


def _entries(features: Any) -> dict[int, float]:
    """The entries of one row that are not zero, by column."""
    row = check_array(features, accept_sparse="csr", dtype=[np.float32, np.float64])
    columns = row.nonzero()[1]
    values = np.asarray(row[:, columns].sum(axis=0)).reshape(-1) if columns.size else ()
    return {int(column): float(value) for column, value in zip(columns, values, strict=True)}


def _labels(model: Model, query: Array, item: Item) -> tuple[LabelShare, ...]:
    if model.tagger is None or item.labels is None:
        return ()
    found = model.tagger.probabilities(query[None, :])[0]
    column = {label: j for j, label in enumerate(model.tagger.labels)}
    shares = [
        LabelShare(name, float(found[column[name]])) for name in item.labels if name in column
    ]
    return tuple(sorted(shares, key=lambda share: -share.probability))
