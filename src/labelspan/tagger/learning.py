"""Learn a tagger from the features and labels of items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._typing import Array
from ..operators.joined import JoinedRows, words_of
from ..operators.row_data import row_squares
from ..solvers.small_dense import orthonormalize, remove
from ..text import TextFeatures
from .decision import Decision, HeldOutScores, make_comparable
from .label_regression import (
    Directions,
    FeatureRows,
    LabelledRows,
    LabelRegression,
    add_sparse,
    column_sizes,
    select_columns,
    turned,
)
from .label_tagger import Tagger, Voters

__all__ = ["Fold", "leading_directions", "learn_tagger", "left_out_quality"]

# Items whose held-out scores choose the penalty and the weights, and then the map to
# probabilities and the thresholds.
_HELD_OUT = 3000
# The most scores of these items: with thousands of labels fewer items have enough of them.
_SCORED = 1 << 23
# Pairs of each of these items, in addition to its labels: with the highest scores, and at random.
_BEST, _RANDOM = 30, 30
# Penalty, and weights of remainders and votes, of the scores that select the pairs, for rows of
# length 1; multiples of the first two that are tried, and weights of votes.
_USUAL = (1.0, 0.15, 0.25)
_ALPHAS = (1.0, 3.0, 0.1)
# Columns in very different units, as a block of vectors may have, take smaller multiples too: each
# this fraction of the one before, down to this fraction of the square of the shortest column.
_LOWER, _LOWEST, _ALIKE = 0.1, 1e-2, 1e4
# The smallest multiple for each row, because products of rows have the digits of float32.
_DIGITS = 1e-6
_RESTS = (5.3, 3.3, 2.3, 1.7, 1.1, 0.8, 0.5, 0.33, 0.2, 0.13)
_VOTES = (0.0, 0.1, 0.25, 0.5, 1.0)
# Number of best labels of an item that count.
_DEPTH = 5
_GAINS = 1 / np.log2(np.arange(_DEPTH) + 2)
# F1 is highest within this multiple of the number of true pairs.
_LIKELY = 4
# Rows from which directions are learned: more change them little, and cost in proportion.
_ENOUGH = 20_000
# Directions: at most _MOST, and this multiple of the root of the number of rows. nDCG@5 on
# development parts with 500 and 800 directions: stackoverflow, 19,200 rows, .807 and .809; debtags,
# 18,663 rows, .807 and .808; makupalat, 12,170 rows, .626 and .630; smaller parts the same.
_ROOTS, _MOST = 6, 800
# Number of blocks of the Krylov space.
_BLOCKS = 3
# Features in fewer rows than 1 + n // _RARE_EACH, or _RARE, are left to the remainders: most of
# the features. It changes nDCG@5 by less than .002.
_RARE_EACH, _RARE = 200, 20
# Entries of a block of scores.
_ENTRIES = 1 << 22

# Items that are held out, and features of all others and of these, learned without them.
Fold = tuple[Array, Any, Any]


class _ScoredRows(NamedTuple):
    """Labelled rows, and others with labels to be scored by models of these.

    ``own`` are the numbers of the others among the labelled rows, None if they are not there.
    """

    rows: LabelledRows
    features: Any
    labels: sparse.csr_matrix
    own: Array | None

    def some(self, count: int, rng: np.random.Generator) -> _ScoredRows:
        """Select some of the rows that are scored, at random."""
        if count >= self.labels.shape[0]:
            return self
        chosen = np.sort(rng.permutation(self.labels.shape[0])[:count])
        own = None if self.own is None else self.own[chosen]
        return _ScoredRows(self.rows, self.features[chosen], self.labels[chosen], own)


def learn_tagger(
    labels: Sequence[str],
    targets: sparse.csr_matrix,
    features: Any,
    rows: Array,
    *,
    folds: Iterable[Fold] = (),
    unseen: Array | None = None,
    texts: TextFeatures | None = None,
    sampled: bool = False,
    block_lengths: Array | None = None,
    seed: int = 0,
) -> Tagger:
    """Learn to predict labels from the features (n, d) of labelled items.

    ``targets`` (n, k) has 0 and 1, and ``rows`` the increasing row numbers of the items in the
    collection. ``folds`` are for features that depend on the labels, for example those of a
    supervised embedding: numbers of held-out items, and features of all other items and of these,
    learned without them. Otherwise leave-one-out scores come from the regression in closed form:
    of the items with the numbers ``unseen``, if only the features of these do not.
    ``texts`` computed the features, if the tagger stores it; ``sampled`` says that these
    are not all labelled items; ``block_lengths`` are those of the columns of a dense block.
    """
    targets = sparse.csr_matrix(targets, dtype=np.float32)
    targets.sort_indices()
    items = FeatureRows(features, leading_directions(features, seed))
    known = LabelledRows(items, targets)
    parts = [_fold(targets, *fold, seed) for fold in folds]
    if not parts and unseen is None:
        parts = [_ScoredRows(known, features, targets, np.arange(targets.shape[0]))]
    elif unseen is not None:
        parts = [_ScoredRows(known, features[unseen], targets[unseen], unseen)]
    rng = np.random.default_rng(seed)
    held = [one.some(_held_out(targets) // len(parts), rng) for one in parts]
    pairs, chosen, _ = _settings(features, held, rng)
    found = HeldOutScores(pairs.scores(chosen), pairs.truth, pairs.weights, pairs.columns)
    expected = sum(
        one.labels.shape[0] / max(1, one.rows.labels.shape[0]) * one.rows.support for one in held
    )
    tagger = Tagger(
        tuple(labels),
        chosen.alpha,
        chosen.rest,
        chosen.scaled,
        Decision.choose(found, chosen.votes, expected),
        np.asarray(rows, dtype=np.int64),
        features,
        targets,
        items.directions,
        texts,
        sampled,
        block_lengths=block_lengths,
    )
    return tagger.with_items(FeatureRows(features, items.directions, items.gram))


def _held_out(targets: sparse.csr_matrix) -> int:
    """Return how many items are held out."""
    most = _SCORED // max(1, int(targets.shape[1]))
    return max(_HELD_OUT // 3, min(_HELD_OUT, most))


def left_out_quality(targets: sparse.csr_matrix, features: Any, seed: int = 0) -> float:
    """Return how well labels of items are predicted without the item: a mean of nDCG and F1."""
    targets = sparse.csr_matrix(targets, dtype=np.float32)
    targets.sort_indices()
    rows = LabelledRows(FeatureRows(features, leading_directions(features, seed)), targets)
    every = _ScoredRows(rows, features, targets, np.arange(targets.shape[0]))
    rng = np.random.default_rng(seed)
    # The penalty hardly depends on the features, and is not tried for each of them.
    return _settings(features, [every.some(_held_out(targets), rng)], rng, alphas=_ALPHAS[:1])[2]


def _settings(
    features: Any,
    held: Sequence[_ScoredRows],
    rng: np.random.Generator,
    alphas: Sequence[float] = _ALPHAS,
) -> tuple[_Pairs, _Weights, float]:
    """Choose the weights by the scores of held-out rows; return their pairs and quality too."""
    scale = max(_mean_square(features), 1e-12) if features.shape[0] else 1.0
    if len(alphas) > 1:
        alphas = (*alphas, *_lower_penalties(features, min(alphas), scale))
    usual = _Weights(_USUAL[0] * scale, _USUAL[1] / scale, _USUAL[2])
    pairs = _Pairs.join([block for one in held for block in _pairs(one, usual, rng, alphas)])
    return pairs, *_choose(pairs, usual)


def _mean_square(features: Any) -> float:
    """Return the mean of the squared lengths of rows."""
    found = float(row_squares(words_of(features)).mean())
    if isinstance(features, JoinedRows):
        found += float(row_squares(features.block).mean())
    return found


def _lower_penalties(features: Any, alpha: float, scale: float) -> list[float]:
    """Return penalties below alpha that columns in small units need; none in similar units."""
    squares, counts = column_sizes(features)
    found = squares[counts > 0] / counts[counts > 0]
    found = found[found > 0]
    lower: list[float] = []
    if found.size and found.max() > _ALIKE * found.min():
        lowest = _LOWEST * float(found.min() * counts[counts > 0].mean()) / scale
        lowest = max(lowest, _DIGITS * features.shape[0])
        while (alpha := _LOWER * alpha) > lowest:
            lower.append(alpha)
    return lower


def leading_directions(features: Any, seed: int = 0, most: int = _MOST) -> Directions:
    """Return directions that explain most of some rows, and their mean; not of rare features.

    The mean among them makes the remainders sum to zero. They are an orthonormal basis of a block
    Krylov space, rounded to half precision, because they are stored.
    """
    n, d = features.shape
    columns = np.arange(d, dtype=np.int32)
    if sparse.issparse(words := words_of(features)):
        counts = np.bincount(words.indices, minlength=words.shape[1])
        frequent = counts >= min(_RARE, 1 + n // _RARE_EACH)
        columns = columns[np.append(frequent, np.ones(d - frequent.size, dtype=bool))]
        features = select_columns(features, columns)
    rank = min(columns.size, n // 2, most, int(_ROOTS * np.sqrt(n)))
    if rank < 1:
        return Directions(columns, np.zeros((columns.size, 0), dtype=np.float16))
    mean = np.asarray(features.mean(axis=0), dtype=np.float32).reshape(-1, 1)
    if n > _ENOUGH:
        some = np.random.default_rng(seed).choice(n, _ENOUGH, replace=False)
        features = features[np.sort(some)]
    across = turned(features)
    width = -(-(rank - 1) // _BLOCKS)
    image = np.random.default_rng(seed).standard_normal((columns.size, width), dtype=np.float32)
    bases: list[Array] = []
    images = [mean]
    for _ in range(_BLOCKS):
        bases.append(orthonormalize(remove(features @ image, bases))[0])
        image = np.asarray(across @ bases[-1], dtype=np.float32)
        images.append(image)
    found = orthonormalize(np.hstack(images)[:, :rank])[0]
    return Directions(columns, np.asarray(found, dtype=np.float16))


def _fold(
    targets: sparse.csr_matrix, held: Array, others: Any, unseen: Any, seed: int
) -> _ScoredRows:
    inside = np.setdiff1d(np.arange(targets.shape[0]), held)
    items = FeatureRows(others, leading_directions(others, seed))
    rows = LabelledRows(items, targets[inside])
    return _ScoredRows(rows, unseen, targets[held], None)


class _Weights(NamedTuple):
    """Penalty of the regression, weights of the remainders, scaled or not, and of the votes."""

    alpha: float
    rest: float
    votes: float
    scaled: bool = False

    @property
    def vector(self) -> Array:
        """Weights of the parts of pairs."""
        rests = (0.0, self.rest) if self.scaled else (self.rest, 0.0)
        return np.array([1.0, *rests, self.votes])


class _Pairs(NamedTuple):
    """Pairs of an item and a label.

    ``parts`` (4, pairs) has for each penalty the first term of the scores, the second with
    features as they are and scaled, and the votes; ``truth`` says whether the items have the
    labels, ``weights`` how many pairs of all one stands for.
    """

    parts: dict[float, Array]
    items: Array
    columns: Array
    truth: Array
    weights: Array

    @classmethod
    def join(cls, blocks: Sequence[_Pairs]) -> _Pairs:
        """Put the pairs of blocks of items together, and number the items."""
        first = np.cumsum([0, *(int(one.items.max(initial=-1)) + 1 for one in blocks)])
        items = [start + one.items for start, one in zip(first, blocks, strict=False)]
        parts = {a: np.hstack([one.parts[a] for one in blocks]) for a in blocks[0].parts}
        rest = (np.concatenate(values) for values in zip(*(one[2:] for one in blocks), strict=True))
        return cls(parts, np.concatenate(items), *rest)

    def scores(self, weights: _Weights) -> Array:
        return np.asarray(weights.vector @ self.parts[weights.alpha])


def _pairs(
    held: _ScoredRows,
    usual: _Weights,
    rng: np.random.Generator,
    alphas: Sequence[float] = _ALPHAS,
) -> Iterator[_Pairs]:
    """Yield some pairs for blocks of held-out rows, selected by scores with the usual weights."""
    rows, features, labels, own = held
    voters = Voters(rows.items.features)
    models = [LabelRegression(rows, one * usual.alpha) for one in alphas]
    step = max(1, _ENTRIES // max(1, labels.shape[1]))
    for start in range(0, labels.shape[0], step):
        part = slice(start, start + step)
        truth, there = labels[part], None if own is None else own[part]
        view, scaled = (rows.view(features[part], there, kind) for kind in (False, True))
        votes = voters.votes(rows.labels, features[part], there)
        parts: dict[float, Array] = {}
        # The usual penalty is the first.
        for model in models:
            terms = model.terms(view, scaled)
            make_comparable(terms, rows.support, None if own is None else truth)
            if not parts:
                # What a model without the item cannot know is not learned from.
                known = np.isfinite(terms[0])
                scores = np.where(known, terms[0], 0.0) + usual.rest * terms[1]
                add_sparse(scores, votes, usual.votes)
                items, columns, stands_for = _listed(scores, truth, rng)
                some = known[items, columns]
                at = items[some], columns[some]
                own_votes = np.asarray(votes[at]).ravel()
            parts[model.alpha] = np.stack([*(term[at] for term in terms), own_votes])
        yield _Pairs(parts, *at, np.asarray(truth[at]).ravel() > 0, stands_for[some])


def _choose(pairs: _Pairs, usual: _Weights) -> tuple[_Weights, float]:
    """Choose the weights with the best tags of held-out items; return their quality too."""
    tags = _TagOrder.of(pairs)
    # The remainders of scaled features have another size.
    sizes = np.abs(pairs.parts[usual.alpha][1:3]).sum(axis=1) + 1e-30

    def quality(one: _Weights) -> float:
        return tags.quality(pairs.scores(one))

    def with_rest(one: _Weights) -> _Weights:
        factor = usual.rest * float(sizes[0] / sizes[int(one.scaled)])
        return max((one._replace(rest=rest * factor) for rest in _RESTS), key=quality)

    tried = []
    for kind in (False, True):
        found = with_rest(usual._replace(scaled=kind))
        tried.append(max((found._replace(votes=votes) for votes in _VOTES), key=quality))
    found = max(tried, key=quality)
    found = with_rest(max((found._replace(alpha=alpha) for alpha in pairs.parts), key=quality))
    return found, quality(found)


class _TagOrder(NamedTuple):
    """The pairs that stand for themselves only, by item: a line for each item that has a label.

    ``places`` are the numbers of its pairs, -1 after the last, ``ideal`` its best possible gain,
    ``sure`` all these pairs, of which ``right`` are true.
    """

    truth: Array
    sure: Array
    places: Array
    ideal: Array
    right: int

    @classmethod
    def of(cls, pairs: _Pairs) -> _TagOrder:
        # Others change little.
        sure = np.flatnonzero(pairs.weights == 1)
        sure = sure[np.argsort(pairs.items[sure], kind="stable")]
        items, truth = pairs.items[sure], pairs.truth[sure]
        counts = np.bincount(items)
        right = np.bincount(items[truth], minlength=counts.size)
        some = right > 0
        places = np.full((counts.size, max(_DEPTH, counts.max(initial=0))), -1)
        places[items, np.arange(items.size) - np.searchsorted(items, items)] = sure
        best = np.concatenate([[0.0], np.cumsum(_GAINS)])
        ideal = best[np.minimum(right[some], _DEPTH)]
        return cls(pairs.truth, sure, places[some], ideal, int(right.sum()))

    def quality(self, scores: Array) -> float:
        """Return the mean of nDCG and the best micro F1 of a common threshold."""
        if not self.ideal.size:
            return 0.0
        own = np.where(self.places >= 0, scores[self.places], -np.inf)
        top = np.argpartition(-own, _DEPTH - 1, axis=1)[:, :_DEPTH]
        order = np.argsort(-np.take_along_axis(own, top, axis=1), axis=1)
        chosen = np.take_along_axis(self.places, np.take_along_axis(top, order, axis=1), axis=1)
        gains = (self.truth[chosen] & (chosen >= 0)) @ _GAINS
        likely = min(self.sure.size, _LIKELY * self.right)
        highest = self.sure[np.argpartition(-scores[self.sure], likely - 1)[:likely]]
        hits = np.cumsum(self.truth[highest[np.argsort(-scores[highest])]])
        f1 = 2 * hits / (np.arange(1, likely + 1) + self.right)
        return float((gains / self.ideal).mean() + f1.max()) / 2


def _listed(
    scores: Array, truth: sparse.csr_matrix, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """List pairs of rows and labels: true ones, those with the highest scores, and some others.

    Returns rows, columns, and the number of pairs that each stands for.
    """
    n, k = scores.shape
    if k <= _BEST + _RANDOM:
        rows, columns = np.indices((n, k)).reshape(2, -1)
        return rows, columns, np.ones(n * k)
    first = np.arange(n)[:, None] * k
    top = first + np.argpartition(-scores, _BEST, axis=1)[:, :_BEST]
    has = np.repeat(np.arange(n), np.diff(truth.indptr)) * k + truth.indices
    sure = np.unique(np.concatenate([top.ravel(), has]))
    others = np.setdiff1d(first + rng.integers(k, size=(n, _RANDOM)), sure)
    missing = k - np.bincount(sure // k, minlength=n)
    stands_for = missing / np.maximum(1, np.bincount(others // k, minlength=n))
    found = np.concatenate([sure, others])
    return found // k, found % k, np.concatenate([np.ones(sure.size), stands_for[others // k]])
