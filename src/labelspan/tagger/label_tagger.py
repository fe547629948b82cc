"""The tagger: ridge regression on features, and votes of the nearest labelled items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..corpus import LabelVocabulary
from ..errors import InvalidInput
from ..graph.neighbors import NeighborSearch
from ..operators.joined import JoinedRows, words_of
from ..text import TextFeatures
from ..text.vocabulary import checked_parts, offsets_rise, require, within
from .decision import NEVER, Decision, LabelRecord, LeftOutTags, emphasis, make_comparable
from .implied_labels import ImpliedLabels
from .label_regression import (
    Directions,
    FeatureRows,
    LabelledRows,
    LabelRegression,
    add_sparse,
    labels_of,
    select_columns,
)

__all__ = ["Tagger", "Voters"]

# Number of items that vote, and the power of the cosines that weighs them: a near duplicate should
# count more than all others. On netflix nDCG@5 is .004 higher than with the first power.
_VOTERS, _POWER = 20, 3
# In large collections, features in more than this fraction or number of items are not used to
# find the voters, because they would take most of the time. With at most 50 items nDCG@5 is .003
# lower on netflix.
_FREQUENT, _MOST_ITEMS, _MANY = 0.03, 200, 1000
# Rows whose nearest items are found at once, and entries of a block of scores, or of coordinates
# along the directions.
_ROWS_AT_ONCE, _ENTRIES = 2000, 1 << 21

# Labels of each labelled item that are predicted without it.
_LEFT_OUT = 12

# Types and shapes of the arrays that are stored.
_SHAPES = {
    "rows": "i8 n",
    "levels": "f8 2 knots",
    "numbers": "f8 9",
    "thresholds": "f4 k",
    "columns": "i4 c",
    "directions": "f2 c r",
    "gram": "f4 r+1 r+1",
}
_DAMAGED = "The parts of the tagger do not match; the index is damaged."


class Voters:
    """Items, the nearest of which vote for their labels; frequent features are ignored."""

    def __init__(self, features: Any) -> None:
        self._features = words_of(features)

    @cached_property
    def _columns(self) -> Array:
        """Features by which items are compared."""
        n, d = self._features.shape
        if not sparse.issparse(self._features) or n < _MANY:
            return np.arange(d)
        counts = np.bincount(self._features.indices, minlength=d)
        return np.flatnonzero(counts <= min(_FREQUENT * n, _MOST_ITEMS))

    @cached_property
    def _search(self) -> NeighborSearch:
        return NeighborSearch(select_columns(self._features, self._columns), metric="cosine")

    def nearest(self, features: Any, own: Array | None = None) -> tuple[Array, Array]:
        """Find the nearest items of each row, with their cosines, best first.

        ``own`` are the numbers of the rows among the items, which do not vote for themselves; -1
        for others. If fewer items share a feature, the last cosines are 0.
        """
        if own is not None and "among" in vars(self) and (own >= 0).all():
            return self.among[0][own], self.among[1][own]
        found, cosines = self._search.nearest(
            _VOTERS, select_columns(words_of(features), self._columns), exclude=own, search="auto"
        )
        cosines = np.where((found >= 0) & (cosines > 0), cosines, 0.0).astype(np.float32)
        return np.where(cosines > 0, found, 0), cosines

    def fill(self, check: Callable[[], Any] | None = None) -> None:
        """Compute :attr:`among`; ``check`` is called often, and may raise to stop it."""
        if "among" not in vars(self):
            n, parts = self._features.shape[0], []
            for start in range(0, max(n, 1), _ROWS_AT_ONCE):
                own = np.arange(start, min(start + _ROWS_AT_ONCE, n))
                parts.append(self.nearest(self._features[own], own))
                if check is not None:
                    check()
            items, cosines = zip(*parts, strict=True)
            vars(self)["among"] = np.concatenate(items), np.concatenate(cosines)

    @cached_property
    def among(self) -> tuple[Array, Array]:
        """The nearest other items of each item, with their cosines."""
        self.fill()
        found: tuple[Array, Array] = vars(self)["among"]
        return found

    def votes(
        self, labels: sparse.csr_matrix, features: Any, own: Array | None = None
    ) -> sparse.csr_matrix:
        """Return for each row the fraction of the votes for each of the labels of the items."""
        items, cosines = self.nearest(features, own)
        weights = cosines**_POWER
        total = weights.sum(axis=1, keepdims=True)
        weights /= np.where(total > 0, total, 1.0)
        starts = np.arange(len(items) + 1) * items.shape[1]
        shape = (len(items), labels.shape[0])
        choice = sparse.csr_matrix((weights.ravel(), items.ravel(), starts), shape=shape)
        choice.eliminate_zeros()
        return sparse.csr_matrix(choice @ labels)


@dataclass(frozen=True)
class Tagger:
    """Regression and voters of each label, and the decision from their scores.

    Its fields are settings and the labelled items; everything else follows from these. The score of
    a label is that of the regression, plus ``decision.weight`` times the share of votes;
    ``decision`` maps it to a probability. A label is chosen if its probability reaches its
    threshold. Where items with a label also have what is broader in the ``vocabulary``, or by names
    such as a/b and a::b, a broader label is at least as probable, and is chosen with the label.
    :func:`labelspan.tagger.learning.learn_tagger` creates one; :meth:`updated` returns a changed
    copy.
    """

    # Name of each column; settings of the regression.
    labels: tuple[str, ...]
    alpha: float
    rest: float
    scaled: bool
    decision: Decision
    # For the labelled items: rows in the collection, increasing; features (n, d); labels (n, k), 0
    # and 1; and the directions of the regression.
    rows: Array
    features: Any
    targets: sparse.csr_matrix
    directions: Directions
    # Computes features of texts; None if they are computed elsewhere.
    texts: TextFeatures | None = None
    # Whether it was trained on only a sample of the labelled items.
    sampled: bool = False
    # How many labelled items had been changed in the collection when its settings were learned.
    learned: int = 0
    # Lengths of the columns of the dense block next to the words, if there is one.
    block_lengths: Array | None = None
    # Broader labels; not stored.
    vocabulary: LabelVocabulary | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of each label."""
        return {label: column for column, label in enumerate(self.labels)}

    @cached_property
    def voters(self) -> Voters:
        """The labelled items as voters."""
        return Voters(self.features)

    @cached_property
    def items(self) -> FeatureRows:
        """The labelled items, as far as labels do not matter.

        The products of their coordinates are stored, and follow the changes of the items.
        """
        return FeatureRows(self.features, self.directions)

    @cached_property
    def regression(self) -> LabelRegression:
        """The regression of the labels of these items."""
        return LabelRegression(LabelledRows(self.items, self.targets), self.alpha)

    def with_vocabulary(self, vocabulary: LabelVocabulary | None) -> Tagger:
        """Return a tagger that knows which labels are broader than others."""
        if vocabulary is self.vocabulary:
            return self
        return replace(self, vocabulary=vocabulary).with_items(self.items, self.voters)

    def with_names(self, names: Sequence[str]) -> Tagger:
        """Return a tagger whose labels have other names."""
        own = tuple(names[: len(self.labels)])
        if own == self.labels:
            return self
        return replace(self, labels=own).with_items(self.items, self.voters)

    def with_items(self, items: FeatureRows, voters: Voters | None = None) -> Tagger:
        """Take what was computed from the same features and directions. A copy does not have it."""
        vars(self)["items"] = items
        if voters is not None:
            vars(self)["voters"] = voters
        return self

    def forget(self) -> None:
        """Drop what takes much memory and is computed again when it is needed."""
        self.with_items(FeatureRows(self.features, self.directions, self.items.gram))
        for name in ("voters", "regression", "left_out", "record"):
            vars(self).pop(name, None)

    @cached_property
    def support(self) -> Array:
        """Number of items of each label."""
        return self.regression.rows.support

    @cached_property
    def thresholds(self) -> Array:
        """Probabilities from which labels are chosen; one item cannot be predicted from others."""
        return np.where(self.support < 2, np.float32(NEVER), self.decision.own)

    @cached_property
    def implied(self) -> ImpliedLabels:
        """Broader labels that labels imply."""
        return ImpliedLabels.of(self.labels, self.targets, self.vocabulary)

    @cached_property
    def limits(self) -> Array:
        """Scores from which labels are chosen."""
        return self.decision.scores_of(self.thresholds)

    @cached_property
    def left_out(self) -> LeftOutTags:
        """The most probable labels of all labelled items, each predicted without the item."""
        return self.leave_out()

    def leave_out(self, check: Callable[[], Any] | None = None) -> LeftOutTags:
        """Compute :attr:`left_out`; ``check`` is called often, and may raise to stop it."""
        if "left_out" not in vars(self):
            if self.decision.weight:
                # Computed once for all; an audit needs them again.
                self.voters.fill(check)
            vars(self)["left_out"] = self.without(np.arange(self.rows.size), check)
        found: LeftOutTags = vars(self)["left_out"]
        return found

    @cached_property
    def record(self) -> LabelRecord:
        """How often decisions on labelled items, each predicted without the item, are right."""
        return LabelRecord.of(self.left_out, self.thresholds, self.targets)

    def places(self, rows: Array) -> Array:
        """Return the positions of some rows of the collection among the labelled items, or -1."""
        if not self.rows.size:
            return np.full(len(rows), -1)
        at = np.minimum(np.searchsorted(self.rows, rows), self.rows.size - 1)
        return np.asarray(np.where(self.rows[at] == rows, at, -1))

    def scores(self, features: Any, own: Array | None = None) -> Array:
        """Compute the score of every label for a few rows.

        ``own`` are the numbers of the rows among the labelled items, or -1: their scores are those
        of a model without them.
        """
        found = self.own_scores(features, own)
        if self.implied.groups:
            self.implied.raise_scores(found, self.limits)
        return found

    def own_scores(self, features: Any, own: Array | None) -> Array:
        """Compute the score of every label, as if none implied another."""
        regression = self.regression
        if own is None:
            terms = regression.terms_of_new(features, self.scaled)
        else:
            terms = regression.terms(regression.rows.view(features, own, self.scaled))
        make_comparable(terms, self.support, None if own is None else labels_of(self.targets, own))
        found = np.asarray(terms[0] + self.rest * terms[1])
        if self.decision.weight:
            add_sparse(found, self.voters.votes(self.targets, features, own), self.decision.weight)
        return found

    def _blocks(self, features: Any, own: Array | None) -> Iterator[tuple[slice, Array]]:
        step = max(1, _ENTRIES // max(1, len(self.labels), self.directions.axes.shape[1]))
        for start in range(0, features.shape[0], step):
            part = slice(start, min(start + step, features.shape[0]))
            yield part, self.scores(features[part], None if own is None else own[part])

    def probabilities(self, features: Any, own: Array | None = None) -> Array:
        """Compute the probability of every label for every row; ``own`` as in :meth:`scores`."""
        out = np.zeros((features.shape[0], len(self.labels)), dtype=np.float32)
        for part, scores in self._blocks(features, own):
            out[part] = self.decision.probability(scores)
        return out

    def best(self, features: Any, k: int, own: Array | None = None) -> tuple[Array, Array]:
        """Return the ``k`` best labels of each row and their probabilities, best first.

        ``own`` as in :meth:`scores`.
        """
        k = min(k, len(self.labels))
        columns = np.zeros((features.shape[0], k), dtype=np.intp)
        chances = np.zeros((features.shape[0], k), dtype=np.float32)
        for part, scores in self._blocks(features, own):
            columns[part] = top = _highest(scores, k)
            chances[part] = self.decision.probability(np.take_along_axis(scores, top, axis=1))
        return columns, chances

    def without(self, places: Array, check: Callable[[], Any] | None = None) -> LeftOutTags:
        """Predict the labels of some labelled items, each by the model without the item.

        They are those of a tagger of the other items with the same settings, exactly.
        """
        width = min(_LEFT_OUT, len(self.labels))
        columns = np.zeros((places.size, width), dtype=np.int32)
        chances = np.zeros((places.size, width), dtype=np.float32)
        own: list[Array] = [np.zeros(0, dtype=np.float32)]
        for part, scores in self._blocks(self.features[places], places):
            columns[part] = top = _highest(scores, width)
            chances[part] = self.decision.probability(np.take_along_axis(scores, top, axis=1))
            if check is not None:
                check()
            labels = self.targets[places[part]]
            rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
            own.append(self.decision.probability(scores[rows, labels.indices]))
        return LeftOutTags(columns, chances, np.concatenate(own))

    def contributions(self, features: Any, column: int, own: int = -1) -> Array:
        """Return the contribution of each feature of one row to the score of a label.

        ``own`` is the number of the row among the labelled items, which are then used without it;
        -1 for another row.
        """
        lead, rest, _ = self.regression.feature_weights(column, own)
        has = own >= 0 and self.targets[own, column] > 0
        factors = emphasis(self.support[column] - has)
        asked = features
        if self.scaled:
            asked = self.items.scaled(features, np.array([own]))
        found = np.zeros(lead.size)
        for values, factor, weights in (
            (features, factors[0], lead),
            (asked, self.rest * factors[1], rest),
        ):
            row = sparse.csr_matrix(words_of(values))
            found[row.indices] += row.data * factor * weights[row.indices]
            if isinstance(values, JoinedRows):
                cut = values.words.shape[1]
                found[cut:] += values.block[0] * factor * weights[cut:]
        return found

    # --- changes ----------------------------------------------------------------------

    def updated(
        self,
        labels: Sequence[str],
        rows: Array,
        targets: sparse.csr_matrix,
        features: Any = None,
        removed: Sequence[int] = (),
    ) -> Tagger:
        """Return a tagger after some items were added, relabelled or removed.

        ``labels`` are those of the tagger, in order, followed by new ones; ``rows`` the increasing
        numbers of items that are new or have other labels, ``targets``; ``features`` those of the
        new ones; ``removed`` the numbers of items that were removed or lost their labels.

        The settings do not change; all that follows from the items does.
        """
        rows, width = np.asarray(rows, dtype=np.int64), len(labels)
        at = self.places(rows)
        if tuple(labels[: len(self.labels)]) != self.labels:
            raise InvalidInput("updated: labels must begin with those of the tagger, in order.")
        fresh = np.flatnonzero(at < 0)
        if fresh.size != (0 if features is None else features.shape[0]):
            raise InvalidInput(
                f"updated: features must have a row for each of the {fresh.size} items that are "
                "new to the tagger."
            )
        # Rows of the old items, then of the given ones; in the order of the new tagger.
        count = self.rows.size
        kept = np.setdiff1d(np.arange(count), self.places(np.asarray(removed, dtype=np.int64)))
        every = np.concatenate([self.rows[kept], rows[fresh]])
        order = np.argsort(every, kind="stable")
        source = np.arange(count)
        source[at[at >= 0]] = count + np.flatnonzero(at >= 0)
        source = np.concatenate([source[kept], count + fresh])[order]
        given = sparse.csr_matrix(targets, dtype=np.float32, shape=(rows.size, width))
        old = self.targets.copy()
        old.resize(count, width)
        found, rest = self.features, np.setdiff1d(np.arange(count), kept)
        same = not fresh.size and kept.size == count
        if fresh.size:
            found = _stacked(found, features)
        if not same:
            found = found[np.concatenate([kept, count + np.arange(fresh.size)])[order]]
        decision = self.decision
        fresh_labels = np.full(width - len(self.labels), decision.threshold, dtype=np.float32)
        changed = replace(
            self,
            labels=tuple(labels),
            decision=replace(decision, own=np.append(decision.own, fresh_labels)),
            rows=every[order],
            features=found,
            targets=_stacked(old, given)[source],
        )
        if same:
            return changed.with_items(self.items, self.voters)
        gram = self._products(self.features[rest], features)
        return changed.with_items(FeatureRows(found, self.directions, gram))

    def _products(self, removed: Any, added: Any) -> Array:
        """Return the products of the coordinates after items were removed and added."""
        found = np.asarray(self.items.gram, dtype=np.float64)
        for sign, features in ((-1, removed), (1, added)):
            if features is not None and features.shape[0]:
                own = self.items.coordinates(features).astype(np.float64)
                found = found + sign * (own.T @ own)
        return found

    # --- storage ----------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to store, by name, without the names of the labels."""
        decision = self.decision
        block: dict[str, Array] = {}
        width = 0
        if isinstance(self.features, JoinedRows):
            rows, lengths = self.features.block, self.block_lengths
            width = rows.shape[1]
            lengths = np.ones(width, dtype=np.float32) if lengths is None else lengths
            # Its rows of length 1 are numbers of half precision.
            block = {"block": (rows / lengths).astype(np.float16), "block_lengths": lengths}
        numbers = [
            *(self.alpha, self.rest, self.scaled, decision.weight, decision.threshold),
            *(self.sampled, self.n_features, self.learned),
            width,
        ]
        texts = {} if self.texts is None else self.texts.arrays()
        return {
            "numbers": np.array(numbers, dtype=np.float64),
            "levels": np.stack([decision.knots, decision.levels]),
            "rows": self.rows,
            "thresholds": decision.own,
            "columns": self.directions.columns,
            "directions": self.directions.axes,
            "gram": np.asarray(self.items.gram, dtype=np.float32),
            **_packed("targets", self.targets),
            **_packed("features", words_of(self.features)),
            **block,
            **{f"texts_{name}": array for name, array in texts.items()},
        }

    @classmethod
    def from_arrays(
        cls,
        labels: Sequence[str],
        arrays: Mapping[str, Array],
        texts: TextFeatures | None = None,
    ) -> Tagger:
        """Restore the tagger from :meth:`arrays`; raise InvalidFile if it is damaged.

        ``texts`` are the features whose arrays begin with ``texts_``.
        """
        parts = checked_parts(_SHAPES, arrays, _DAMAGED, k=len(labels))
        rows, levels, numbers, thresholds, columns, axes, gram = parts
        require(
            _DAMAGED,
            (np.diff(rows) > 0).all(),
            np.isfinite(levels).all() and (np.diff(levels) >= 0).all() and levels.size > 0,
            np.isfinite(numbers).all() and numbers[0] > 0 and numbers[2] in (0, 1),
            np.isfinite(thresholds).all() and (np.diff(columns) > 0).all(),
            np.isfinite(gram).all() and (gram == gram.T).all(),
        )
        alpha, rest, scaled, weight, threshold, sampled, width, learned = numbers[:8].tolist()
        m, lengths = int(numbers[8]), None
        if m:
            shapes = {"block": "f2 n m", "block_lengths": "f4 m"}
            block, lengths = checked_parts(shapes, arrays, _DAMAGED, n=rows.size, m=m)
            require(_DAMAGED, np.isfinite(block).all(), np.isfinite(lengths).all())
            require(_DAMAGED, (lengths > 0).all())
        own = int(width - m)
        features = _unpacked("features", arrays, rows.size, own)
        targets = _unpacked("targets", arrays, rows.size, len(labels))
        require(_DAMAGED, within(columns, int(width)), texts is None or texts.size == own)
        if lengths is not None:
            features = JoinedRows(features, lengths * block.astype(np.float32))
        found = cls(
            tuple(labels),
            alpha,
            rest,
            scaled > 0,
            Decision(weight, levels[0], levels[1], threshold, thresholds),
            rows,
            features,
            targets,
            Directions(columns, axes),
            texts,
            sampled > 0,
            int(learned),
            lengths,
        )
        return found.with_items(FeatureRows(features, found.directions, gram))


def _highest(scores: Array, k: int) -> Array:
    """Return the columns of the ``k`` highest scores of each row, best first."""
    if scores.shape[1] > 4 * k:
        some = np.sort(np.argpartition(-scores, k - 1, axis=1)[:, :k], axis=1)
        order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
        return np.take_along_axis(some, order, axis=1)
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def _stacked(first: Any, second: Any) -> Any:
    """Append rows to others."""
    if isinstance(first, JoinedRows):
        return JoinedRows.stacked(first, second)
    if not sparse.issparse(first):
        return np.vstack([first, second])
    found = sparse.csr_matrix(sparse.vstack([first, second], format="csr"))
    found.sort_indices()
    return found


def _packed(name: str, matrix: Any) -> dict[str, Array]:
    if not sparse.issparse(matrix):
        return {f"{name}_data": np.asarray(matrix, dtype=np.float32)}
    return {
        f"{name}_data": matrix.data.astype(np.float32, copy=False),
        f"{name}_columns": matrix.indices.astype(np.int32, copy=False),
        f"{name}_starts": matrix.indptr.astype(np.int64),
    }


def _unpacked(name: str, arrays: Mapping[str, Array], count: int, width: int) -> Any:
    """Read a matrix; indices out of range would make products read foreign memory."""
    if f"{name}_columns" not in arrays:
        shape = {f"{name}_data": "f4 n d"}
        return checked_parts(shape, arrays, _DAMAGED, n=count, d=width)[0]
    shapes = {f"{name}_data": "f4 p", f"{name}_columns": "i4 p", f"{name}_starts": "i8 n+1"}
    data, columns, starts = checked_parts(shapes, arrays, _DAMAGED, n=count)
    largest = np.iinfo(np.int32).max
    require(_DAMAGED, 0 <= width < largest, offsets_rise(starts, data.size), within(columns, width))
    small = starts.astype(np.int32) if data.size < largest else starts
    return sparse.csr_matrix((data, columns, small), shape=(count, width))
