"""The tagger: ridge regression on features, and votes of the nearest labelled items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..errors import InvalidFile, InvalidInput, InvalidParameter
from ..graph.neighbors import NeighborSearch
from ..text import TAGS, TextFeatures, check_language
from ..text.vocabulary import pack_strings, unpack_strings
from .decision import NEVER, Decision, LabelRecord, LeftOutTags, emphasised
from .label_regression import LabelRegression, WeightPruner

__all__ = ["Tagger", "Voters", "pruner"]

# How many items vote.
_VOTERS = 20
# Features in more than this share of the items do not decide who votes, where there are many.
_FREQUENT, _MANY = 0.03, 1000
# Entries of a block of scores.
_ENTRIES = 1 << 22
# Weights of all labels that are kept whole; of larger models this share of each label's.
_WHOLE = 4_000_000
_KEPT, _FEWEST_KEPT = 0.05, 1000

_DAMAGED = "The parts of the tagger do not fit together; the index is damaged."


class Voters:
    """Labelled items, of which the nearest vote.

    Parameters
    ----------
    features : array or CSR matrix of shape (n, d)
        Compared by their cosine, without the most frequent features.
    labels : CSR matrix of shape (n, k)
        0 and 1.
    """

    def __init__(self, features: Any, labels: sparse.csr_matrix) -> None:
        self._features = features
        self._labels = labels

    @cached_property
    def _columns(self) -> Array | None:
        """Features by which items are compared; None for all."""
        n, d = self._features.shape
        if not sparse.issparse(self._features) or n < _MANY:
            return None
        counts = np.bincount(self._features.indices, minlength=d)
        return np.asarray(counts <= _FREQUENT * n)

    def _compared(self, features: Any) -> Any:
        keep = self._columns
        if keep is None:
            return features
        rows = sparse.csr_matrix(features)
        inside = keep[rows.indices]
        sums = np.concatenate([[0], np.cumsum(inside)])
        return sparse.csr_matrix(
            (rows.data[inside], rows.indices[inside], sums[rows.indptr]), shape=rows.shape
        )

    @cached_property
    def _search(self) -> NeighborSearch:
        return NeighborSearch(self._compared(self._features), metric="cosine")

    def nearest(self, features: Any, own: Array | None = None) -> tuple[Array, Array]:
        """Find the nearest items for each row, with their cosines, best first.

        ``own`` are the numbers of the rows among the items, which do not vote for themselves; -1
        for others. Where fewer items share a feature, the last cosines are 0.
        """
        found, cosines = self._search.nearest(
            _VOTERS, self._compared(features), exclude=own, search="auto"
        )
        cosines = np.where((found >= 0) & (cosines > 0), cosines, 0.0).astype(np.float32)
        return np.where(cosines > 0, found, 0), cosines

    def votes(self, features: Any, own: Array | None = None) -> sparse.csr_matrix:
        """Return for each row and label the share of the votes, weighted by the cosines."""
        items, cosines = self.nearest(features, own)
        total = cosines.sum(axis=1, keepdims=True)
        weights = cosines / np.where(total > 0, total, 1.0)
        starts = np.arange(0, weights.size + 1, max(1, weights.shape[1]))
        if not weights.size:
            return sparse.csr_matrix((len(items), self._labels.shape[1]), dtype=np.float32)
        shape = (len(items), self._labels.shape[0])
        choice = sparse.csr_matrix((weights.ravel(), items.ravel(), starts), shape=shape)
        choice.eliminate_zeros()
        return sparse.csr_matrix(choice @ self._labels)


@dataclass(frozen=True)
class Tagger:
    """Regression and voters of each label, and how to decide from their scores.

    The score of a label is ``x @ weights + intercept``, plus ``decision.weight`` times the share
    of votes; ``decision`` maps it to a probability. A label is chosen if its probability reaches
    its threshold. :func:`labelspan.tagger.learning.learn_tagger` makes one; a change makes another
    one by :meth:`updated`.

    Attributes
    ----------
    labels : tuple of str
        Name of each column.
    alpha : float
        Regularization strength of the regression.
    weights : CSR matrix of shape (k, d)
        The largest weights of every label.
    intercept, thresholds : arrays of shape (k,)
    decision : Decision
    record : LabelRecord
        Decisions on left-out items.
    rows : array of int64, shape (n,)
        Row numbers of the labelled items in the collection, rising.
    features : array or CSR matrix of shape (n, d)
        Their features.
    targets : CSR matrix of shape (n, k)
        Their labels, 0 and 1.
    diagonal : array of shape (n,)
        What their left-out scores are computed with.
    left_out : LeftOutTags
        Their most probable labels, predicted without the item.
    texts : TextFeatures or None
        Computes features of texts; None if others do.
    sampled : bool
        Whether the tagger has learned from a sample of the labelled items only.
    """

    labels: tuple[str, ...]
    alpha: float
    weights: sparse.csr_matrix
    intercept: Array
    thresholds: Array
    decision: Decision
    record: LabelRecord
    rows: Array
    features: Any
    targets: sparse.csr_matrix
    diagonal: Array
    left_out: LeftOutTags
    texts: TextFeatures | None = None
    sampled: bool = False

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.weights.shape[1])

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of each label."""
        return {label: column for column, label in enumerate(self.labels)}

    @cached_property
    def voters(self) -> Voters:
        """The labelled items."""
        return Voters(self.features, self.targets)

    @cached_property
    def _by_feature(self) -> Any:
        found = self.weights.T.tocsr()
        small = self.n_features * len(self.labels) <= _ENTRIES // 4
        return found.toarray() if small else found

    def places(self, rows: Array) -> Array:
        """Return the numbers of some rows of the collection among the labelled items, or -1."""
        if not self.rows.size:
            return np.full(len(rows), -1)
        at = np.minimum(np.searchsorted(self.rows, rows), self.rows.size - 1)
        return np.asarray(np.where(self.rows[at] == rows, at, -1))

    def regression(self, features: Any) -> Array:
        """Compute the score of every label by the regression."""
        found = features @ self._by_feature
        found = found.toarray() if sparse.issparse(found) else found
        return np.asarray(found, dtype=np.float32) + self.intercept

    def scores(self, features: Any, own: Array | None = None) -> Array:
        """Compute the score of every label for a few rows.

        ``own`` are the numbers of the rows among the labelled items, or -1: their scores are those
        of a model without them.
        """
        found = self.regression(features)
        if own is not None:
            known = np.flatnonzero(own >= 0)
            truth = emphasised(self.targets)[own[known]].toarray()
            shrunk = self.alpha * self.diagonal[own[known], None]
            found[known] = truth - (truth - found[known]) / shrunk
        if self.decision.weight:
            found += self.decision.weight * self.voters.votes(features, own).toarray()
        return found

    def _blocks(self, features: Any, own: Array | None) -> Iterator[tuple[slice, Array]]:
        step = max(1, _ENTRIES // max(1, len(self.labels)))
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
        """Return for each row the ``k`` best labels and their probabilities, best first.

        ``own`` as in :meth:`scores`.
        """
        k = min(k, len(self.labels))
        columns = np.zeros((features.shape[0], k), dtype=np.intp)
        chances = np.zeros((features.shape[0], k), dtype=np.float32)
        for part, scores in self._blocks(features, own):
            top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            columns[part] = top
            chances[part] = self.decision.probability(np.take_along_axis(scores, top, axis=1))
        return columns, chances

    def contributions(self, features: Any, column: int) -> Array:
        """Return what each feature of one row adds to the score of a label."""
        row = sparse.csr_matrix(features)
        weights = self.weights[[column]].toarray().ravel()
        found = np.zeros(weights.size)
        found[row.indices] = row.data * weights[row.indices]
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

        Only labels of these items are learned again, starting from their present weights. Alpha,
        the map to probabilities and the weights of other labels stay: for those a new item is
        only one more without the label.

        Parameters
        ----------
        labels : sequence of str
            Those of the tagger, in their order, and new ones.
        rows : array of int
            Row numbers of the items that are new or have other labels, rising.
        targets : CSR matrix of shape (len(rows), len(labels))
            Their labels, 0 and 1.
        features : array or CSR matrix or None
            Features of those that the tagger does not know yet, in the order of ``rows``.
        removed : sequence of int
            Row numbers of items that were removed, or whose labels are not known any more.
        """
        rows = np.asarray(rows, dtype=np.int64)
        at = self.places(rows)
        if tuple(labels[: len(self.labels)]) != self.labels:
            raise InvalidInput("updated: labels must begin with those of the tagger, in order.")
        if int((at < 0).sum()) != (0 if features is None else features.shape[0]):
            raise InvalidInput(
                f"updated: features must have a row for each of the {int((at < 0).sum())} items "
                "that the tagger does not know."
            )
        gone = self.places(np.asarray(removed, dtype=np.int64))
        change = _ChangedItems.of(self, len(labels), rows, at, targets, features, gone[gone >= 0])
        made = replace(
            self,
            labels=tuple(labels),
            rows=change.rows,
            features=change.features,
            targets=change.targets,
            diagonal=change.diagonal,
            left_out=change.left_out,
            record=change.record,
            intercept=_padded(self.intercept, len(labels)),
            weights=sparse.csr_matrix(
                (
                    self.weights.data,
                    self.weights.indices,
                    _longer(self.weights.indptr, len(labels)),
                ),
                shape=(len(labels), self.n_features),
            ),
            thresholds=change.thresholds,
        )
        made = made._learned_again(change.touched)
        return made._left_out_again(made.places(rows))

    def _learned_again(self, touched: Array) -> Tagger:
        """Learn some labels again, from their present weights on."""
        if not touched.size or not self.rows.size:
            return self
        regression = LabelRegression(self.features, self.alpha)
        prune = pruner(self.features, len(self.labels))
        wanted = emphasised(self.targets)[:, touched].toarray()
        before = np.vstack([self.weights[touched].toarray().T, self.intercept[touched]])
        start = (wanted - regression.predict(before)) / self.alpha
        found = regression.solve(wanted, start=start)
        kept, intercept = prune(regression.weights_of(found))
        place = sparse.csr_matrix(
            (np.ones(touched.size, np.float32), (touched, np.arange(touched.size))),
            shape=(len(self.labels), touched.size),
        )
        stay = np.ones(len(self.labels), dtype=np.float32)
        stay[touched] = 0.0
        others = sparse.csr_matrix(sparse.diags_array(stay) @ self.weights, dtype=np.float32)
        others.eliminate_zeros()
        constants = self.intercept.copy()
        constants[touched] = intercept
        weights = sparse.csr_matrix(others + place @ kept, dtype=np.float32)
        return replace(self, weights=weights, intercept=constants)

    def _left_out_again(self, changed: Array) -> Tagger:
        """Predict the labels of changed items again."""
        if not changed.size or not len(self.labels):
            return self
        width = self.left_out.columns.shape[1]
        columns, chances = self.left_out.columns.copy(), self.left_out.chances.copy()
        own = self.left_out.own.copy()
        starts = self.targets.indptr
        for part, scores in self._blocks(self.features[changed], changed):
            top = np.argsort(-scores, axis=1, kind="stable")[:, :width]
            likely = self.decision.probability(scores)
            columns[changed[part]] = top
            chances[changed[part]] = np.take_along_axis(likely, top, axis=1)
            for number, item in enumerate(changed[part].tolist()):
                entries = slice(starts[item], starts[item + 1])
                own[entries] = likely[number, self.targets.indices[entries]]
        return replace(self, left_out=LeftOutTags(columns, chances, own))

    # --- storage ----------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Return all that is stored except the names of the labels, by name."""
        decision = self.decision
        numbers = [self.alpha, decision.weight, decision.threshold, self.sampled, self.n_features]
        record = [self.record.chosen, self.record.right, self.record.support]
        texts: dict[str, Array] = {}
        if self.texts is not None:
            texts = {f"texts_{name}": array for name, array in self.texts.arrays().items()}
            texts["texts_language"] = pack_strings([self.texts.language])
        return {
            "numbers": np.array(numbers, dtype=np.float64),
            "intercept": self.intercept,
            "thresholds": self.thresholds,
            "levels": np.stack([self.decision.knots, self.decision.levels]),
            "record": np.stack(record).astype(np.int64),
            "rows": self.rows,
            "diagonal": self.diagonal,
            "left_out_columns": self.left_out.columns,
            "left_out_chances": self.left_out.chances,
            "left_out_own": self.left_out.own,
            **_packed("weights", self.weights),
            **_packed("targets", self.targets),
            **_packed("features", self.features),
            **texts,
        }

    @classmethod
    def from_arrays(cls, labels: Sequence[str], arrays: Mapping[str, Array]) -> Tagger:
        """Make the tagger that :meth:`arrays` described; raise InvalidFile if it is damaged."""
        try:
            return cls._read(labels, arrays)
        except KeyError as error:
            raise InvalidFile(f"The tagger has no array {error}; the index is damaged.") from error

    @classmethod
    def _read(cls, labels: Sequence[str], arrays: Mapping[str, Array]) -> Tagger:
        k = len(labels)
        names = ("rows", "diagonal", "intercept", "thresholds", "record", "levels", "numbers")
        parts = [arrays[name] for name in names]
        rows, diagonal, intercept, thresholds, record, levels, numbers = parts
        kinds = [part.dtype.str[1:] for part in parts]
        sound = (
            kinds == ["i8", "f4", "f4", "f4", "i8", "f8", "f8"]
            and [part.ndim for part in parts] == [1, 1, 1, 1, 2, 2, 1]
            and rows.shape == diagonal.shape
            and intercept.shape == thresholds.shape == (k,)
            and record.shape == (3, k)
            and levels.shape[0] == 2 < 2 + levels.shape[1]
            and bool((np.diff(rows) > 0).all())
            and bool(np.isfinite(levels).all() and (np.diff(levels) >= 0).all())
            and numbers.shape == (5,)
            and bool(np.isfinite(numbers).all() and numbers[0] > 0)
            and bool((diagonal > 0).all())
        )
        if not sound:
            raise InvalidFile(_DAMAGED)
        width = int(numbers[4])
        features = _unpacked("features", arrays, rows.size, width)
        weights = _unpacked("weights", arrays, k, width)
        targets = _unpacked("targets", arrays, rows.size, k)
        left_out = LeftOutTags(
            arrays["left_out_columns"], arrays["left_out_chances"], arrays["left_out_own"]
        )
        columns, chances, own = left_out.columns, left_out.chances, left_out.own
        sound = (
            [part.dtype.str[1:] for part in (columns, chances, own)] == ["i4", "f4", "f4"]
            and columns.ndim == 2
            and columns.shape == chances.shape
            and len(columns) == rows.size
            and own.shape == (targets.nnz,)
            and bool((own >= 0).all() and (own <= 1).all())
            and (not columns.size or (int(columns.min()) >= 0 and int(columns.max()) < k))
        )
        if not sound:
            raise InvalidFile(_DAMAGED)
        texts = _read_texts(arrays)
        if texts is not None and texts.size != features.shape[1]:
            raise InvalidFile(_DAMAGED)
        alpha, weight, threshold, sampled, _ = numbers.tolist()
        decision = Decision(weight, levels[0], levels[1], threshold)
        return cls(
            tuple(labels),
            alpha,
            weights,
            intercept,
            thresholds,
            decision,
            LabelRecord(*record),
            rows,
            features,
            targets,
            diagonal,
            left_out,
            texts,
            sampled > 0,
        )


@dataclass(frozen=True)
class _ChangedItems:
    """Labelled items after a change, and the labels that it touches."""

    rows: Array
    features: Any
    targets: sparse.csr_matrix
    diagonal: Array
    left_out: LeftOutTags
    record: LabelRecord
    thresholds: Array
    touched: Array

    @classmethod
    def of(  # noqa: PLR0917
        cls,
        tagger: Tagger,
        width: int,
        rows: Array,
        at: Array,
        targets: sparse.csr_matrix,
        features: Any,
        gone: Array,
    ) -> _ChangedItems:
        old = tagger.targets
        count = old.shape[0]
        wide = sparse.csr_matrix((old.data, old.indices, old.indptr), shape=(count, width))
        given = sparse.csr_matrix(targets, dtype=np.float32, shape=(len(rows), width))
        known, fresh = at[at >= 0], np.flatnonzero(at < 0)
        different = abs(wide[known] - given[at >= 0]).tocoo()
        touched = np.unique(
            np.concatenate(
                [
                    different.col[different.data > 0],
                    given[fresh].indices,
                    wide[gone].indices,
                ]
            )
        ).astype(np.int64)
        # Where the rows of the new tagger come from: old ones first, then the given ones.
        source = np.arange(count)
        source[known] = count + np.flatnonzero(at >= 0)
        kept = np.setdiff1d(np.arange(count), gone)
        every = np.concatenate([tagger.rows[kept], rows[fresh]])
        order = np.argsort(every, kind="stable")
        source = np.concatenate([source[kept], count + fresh])[order]
        labels = sparse.csr_matrix(sparse.vstack([wide, given], format="csr")[source])
        labels.sort_indices()
        held = np.concatenate([kept, count + np.arange(fresh.size)])[order]
        same = fresh.size == 0 and kept.size == count
        found, diagonal = tagger.features, tagger.diagonal
        if features is not None and features.shape[0]:
            stack = sparse.vstack if sparse.issparse(found) else np.vstack
            found = stack([found, features])
            squares = features.multiply(features) if sparse.issparse(features) else features**2
            lengths = np.asarray(squares.sum(axis=1)).ravel() + 1.0
            # The smallest that a row of this length can have.
            least = (1.0 / (lengths + tagger.alpha)).astype(np.float32)
            diagonal = np.concatenate([diagonal, least])
        if not same:
            found = sparse.csr_matrix(found)[held] if sparse.issparse(found) else found[held]
        support = np.asarray(labels.sum(axis=0)).ravel().astype(np.int64)
        limits = _padded(tagger.thresholds, width)
        limits[len(tagger.labels) :] = tagger.decision.threshold
        # One item cannot be predicted from the others.
        limits[support < 2] = NEVER
        record = LabelRecord(
            _padded(tagger.record.chosen, width), _padded(tagger.record.right, width), support
        )
        before = tagger.left_out
        size = before.columns.shape[1]
        extra = np.zeros((fresh.size, size), dtype=np.int32)
        own = np.zeros(labels.nnz, dtype=np.float32)
        stay = source < count
        own[np.repeat(stay, np.diff(labels.indptr))] = before.own[
            np.repeat(np.isin(np.arange(count), source[stay]), np.diff(old.indptr))
        ]
        left_out = LeftOutTags(
            np.vstack([before.columns, extra])[held],
            np.vstack([before.chances, extra.astype(np.float32)])[held],
            own,
        )
        return cls(every[order], found, labels, diagonal[held], left_out, record, limits, touched)


def pruner(features: Any, labels: int) -> WeightPruner:
    """Return what keeps the largest weights of a number of labels."""
    width = features.shape[1]
    if width * labels <= _WHOLE:
        return WeightPruner(features, width)
    return WeightPruner(features, max(_FEWEST_KEPT, int(_KEPT * width), _WHOLE // labels))


def _padded(values: Array, count: int) -> Array:
    return np.concatenate([values, np.zeros(count - values.size, dtype=values.dtype)])


def _longer(starts: Array, count: int) -> Array:
    return np.concatenate([starts, np.full(count + 1 - starts.size, starts[-1])])


def _read_texts(arrays: Mapping[str, Array]) -> TextFeatures | None:
    if "texts_language" not in arrays:
        return None
    language = "".join(unpack_strings(arrays["texts_language"]))
    own = {
        name.removeprefix("texts_"): array
        for name, array in arrays.items()
        if name.startswith("texts_")
    }
    try:
        return TextFeatures.from_arrays(check_language("load", language), own, stems=TAGS.stems)
    except InvalidParameter as error:
        raise InvalidFile(f"The language {language!r:.40} of the tagger is unknown.") from error


def _packed(name: str, matrix: Any) -> dict[str, Array]:
    if not sparse.issparse(matrix):
        return {f"{name}_data": np.asarray(matrix, dtype=np.float32)}
    return {
        f"{name}_data": matrix.data.astype(np.float32, copy=False),
        f"{name}_columns": matrix.indices.astype(np.int32, copy=False),
        f"{name}_starts": matrix.indptr.astype(np.int64),
    }


def _unpacked(name: str, arrays: Mapping[str, Array], count: int, width: int) -> Any:
    """Read a matrix; one with places outside would make products read foreign memory."""
    data = arrays[f"{name}_data"]
    if f"{name}_columns" not in arrays:
        if data.shape != (count, width) or data.dtype != np.float32:
            raise InvalidFile(_DAMAGED)
        return data
    columns, starts = arrays[f"{name}_columns"], arrays[f"{name}_starts"]
    sound = (
        (data.dtype.str[1:], columns.dtype.str[1:], starts.dtype.str[1:]) == ("f4", "i4", "i8")
        and 0 <= width < np.iinfo(np.int32).max
        and data.ndim == 1
        and columns.shape == data.shape
        and starts.shape == (count + 1,)
        and starts[0] == 0
        and starts[-1] == data.size
        and bool((np.diff(starts) >= 0).all())
        and (not data.size or (int(columns.min()) >= 0 and int(columns.max()) < width))
    )
    if not sound:
        raise InvalidFile(_DAMAGED)
    small = starts.astype(np.int32) if data.size < np.iinfo(np.int32).max else starts
    return sparse.csr_matrix((data, columns, small), shape=(count, width))
