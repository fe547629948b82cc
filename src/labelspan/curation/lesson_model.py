"""Rank items by answers so far: weighted ridge regression on words and other labels, in the dual.

With the rows ``Z`` of the answered items, targets ``t`` of 1 and -1 and weights ``w``, the
coefficients solve ``(Z Z' + 11' + alpha diag(1 / w)) c = t``; the score of an item ``z`` is
``z' Z' c + 1'c``. All that belong weigh ten times as much as all that do not. The score of an
answered item from the model without it is ``t_i - c_i / g_i``, where ``g_i`` is the diagonal of the
inverse. From these scores a logistic regression gives probabilities, and its uncertainty the
interval of what is left. Answers say little about scores below almost all of theirs: there the
log-odds go in a line to what is presumed of an item of median score, with a slope of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse, special

from .._typing import Array
from ..index import SemanticIndex
from ..index.store import ItemStore
from ..operators.row_data import unit_rows
from ..text import TextFeatures

__all__ = ["Left", "LessonFeatures", "LessonModel"]

# Log-odds of an item of median score and slopes below and above the knot before any answer, for
# scores in units of their spread, and their standard deviations: such an item hardly ever belongs.
_PRIOR, _PRIOR_DEVIATIONS = np.array([-6.0, 2.0, 2.0]), np.array([1.0, 10.0, 10.0])
# Share of the answered items with a score below the knot, and its least distance from the median.
_BELOW, _APART = 0.1, 0.3
_STEPS = 50
_DRAWS = 400
_GROUPS = 1000
# Regularization strength; weight of all that belong, in multiples of that of all that do not; share
# of the words in the inner products, the rest is that of other labels. The first two are those of
# a support vector machine with C = 0.11; half and twice as large is not better on nine reviews.
_ALPHA, _RATIO, _WORDS = 4.5, 10.0, 0.85
# Factor of the uncertainty of the calibration, and quantiles of the simulated numbers of what is
# left: expected numbers are rather too high than too low.
_SPREAD, _INTERVAL = 2.0, (0.005, 0.9)


class LessonFeatures:
    """Words and labels of all rows of an index, each part of length 1.

    Those of words are computed once for all lessons.
    """

    def __init__(self, index: SemanticIndex, label: str) -> None:
        store = index.store
        texts = self.texts = _text_features(index)
        self.words = store.once("words of lessons", lambda: _words(store, texts))
        self.labels = unit_rows(_weighted_labels(store, store.labels.number.get(label, -1)))
        self.label_names = store.labels.names
        # Shares of words and labels in the inner products.
        self.shares = (_WORDS, 1.0 - _WORDS) if self.labels.nnz else (1.0, 0.0)

    def gram(self, rows: Array) -> Array:
        """Return the inner products of some rows."""
        total = np.zeros((len(rows), len(rows)))
        for share, part in zip(self.shares, (self.words, self.labels), strict=True):
            own = part[rows]
            total += share * (own @ own.T).toarray()
        return total

    def weights(self, rows: Array, coefficients: Array) -> tuple[Array, Array]:
        """Return the weights of words and labels from coefficients of rows."""
        words, labels = (
            share * np.asarray(part[rows].T @ coefficients).ravel()
            for share, part in zip(self.shares, (self.words, self.labels), strict=True)
        )
        return words.astype(np.float32), labels.astype(np.float32)


def _text_features(index: SemanticIndex) -> TextFeatures | None:
    """Return the features of texts that the tagger uses, or the space; None for vectors."""
    tagger = index.model.tagger
    if tagger is not None and tagger.texts is not None:
        return tagger.texts
    found = index.model.features
    return found if isinstance(found, TextFeatures) else None


def _words(store: ItemStore, texts: TextFeatures | None) -> sparse.csr_matrix:
    """Return the words of all rows, or their vectors in an index that takes these."""
    if texts is None or store.words is None:
        return sparse.csr_matrix(store.vectors.rows(np.arange(store.vectors.alive.size)))
    blocks = [texts.transform(one.block) for one in store.words.segments]
    return sparse.csr_matrix(unit_rows(sparse.vstack(blocks, format="csr")))


def _weighted_labels(store: ItemStore, without: int) -> sparse.csr_matrix:
    """Return the labels of all rows, rare ones with more weight, without one column."""
    table = store.labels
    scale = np.log((1.0 + len(table)) / (1.0 + table.support)) + 1.0
    if without >= 0:
        scale[without] = 0.0
    found = sparse.csr_matrix(table.matrix() @ sparse.diags(scale.astype(np.float32)))
    found.eliminate_zeros()
    return found


@dataclass(frozen=True)
class Left:
    """How many items that belong are probably among those without an answer.

    Attributes
    ----------
    expected : float
        Their expected number.
    low, high : int
        Ends of an interval. It is an estimate: on average it held the true number at .97 of the
        stops of sixteen lessons that chose its form, at least at .71 (``results/teach.md``).
    """

    expected: float
    low: int
    high: int


class _Calibration(NamedTuple):
    """Log-odds as a function of the score: a line from the median to the knot, another above it.

    Without a knot, at 0, there is one line.
    """

    centre: float
    spread: float
    knot: float
    found: Array
    covariance: Array

    def design(self, scores: Array) -> Array:
        values = (scores - self.centre) / self.spread
        low = np.minimum(values, self.knot) if self.knot else np.zeros_like(values)
        return np.column_stack([np.ones_like(values), low, values - low])


def _rising(found: Array) -> Array:
    """Make the slopes positive: a higher score never speaks against an item."""
    return np.concatenate([found[..., :1], np.maximum(found[..., 1:], 0.0)], axis=-1)


class LessonModel:
    """Scores of all rows, learned from rows that belong and rows that do not.

    Parameters
    ----------
    features : LessonFeatures
        Of all rows.
    yes, no : array of int
        Rows with answers.
    presumed : array of int
        Further rows that belong, but may be wrong: they are learned from, but not calibrated on.
    """

    def __init__(
        self,
        features: LessonFeatures,
        yes: Sequence[int],
        no: Sequence[int],
        *,
        presumed: Sequence[int] = (),
    ) -> None:
        groups = [np.asarray(one, dtype=np.intp) for one in (yes, no, presumed)]
        self.features = features
        self.rows = np.concatenate(groups)
        sizes = [len(one) for one in groups]
        self.targets = np.repeat([1.0, -1.0, 1.0], sizes)
        self.answered = np.repeat([True, True, False], sizes)
        positive = self.targets > 0
        against = max(1, len(groups[1]))
        # Probabilities need answers of both kinds, or items that have the label.
        self.calibrated = all(sizes[:2]) or sizes[2] > 0
        weights = np.where(positive, _RATIO * against / max(1, int(positive.sum())), 1.0)
        self._learn(weights * (len(weights) / float(weights.sum())))

    def _learn(self, weights: Array) -> None:
        gram = self.features.gram(self.rows) + 1.0
        gram[np.diag_indices_from(gram)] += _ALPHA / weights
        factor, lower = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        half, _ = linalg.lapack.dpotri(factor, lower=lower, overwrite_c=True)
        self.inverse = np.tril(half) + np.tril(half, -1).T
        self.coefficients = self.inverse @ self.targets
        self.left_out = self.targets - self.coefficients / np.diag(self.inverse)

    @cached_property
    def scores(self) -> Array:
        """Score of every row; of a row that was learned from, without that row."""
        words, labels = self.features.weights(self.rows, self.coefficients)
        found = self.features.words @ words + self.features.labels @ labels
        scores: Array = np.asarray(found, dtype=np.float64) + self.coefficients.sum()
        scores[self.rows] = self.left_out
        return scores

    def contributions(self, row: int) -> tuple[Array, Array]:
        """Return the shares of words and labels in the score of a row, learned without it."""
        coefficients = self.coefficients
        at = np.flatnonzero(self.rows == row)
        if at.size:
            one = int(at[0])
            known = coefficients[one] / self.inverse[one, one]
            coefficients = coefficients - self.inverse[:, one] * known
        words, labels = self.features.weights(self.rows, coefficients)
        own = self.features.words[[row]].toarray(), self.features.labels[[row]].toarray()
        return own[0].ravel() * words, own[1].ravel() * labels

    # --- probabilities ----------------------------------------------------------------

    @cached_property
    def _calibration(self) -> _Calibration:
        """Fit the logistic regression of the answers on their scores."""
        known = self.answered
        truth = self.targets[known] > 0
        centre, spread = float(np.median(self.scores)), float(self.scores.std()) or 1.0
        knot = (
            float(np.quantile((self.left_out[known] - centre) / spread, _BELOW))
            if truth.size
            else 0.0
        )
        made = _Calibration(centre, spread, knot if knot > _APART else 0.0, _PRIOR, np.eye(3))
        design = made.design(self.left_out[known])
        precision = np.diag(1.0 / _PRIOR_DEVIATIONS**2)
        found = _PRIOR.copy()
        hessian = precision
        for _ in range(_STEPS):
            chance = special.expit(design @ found)
            slope = design.T @ (chance - truth) + precision @ (found - _PRIOR)
            hessian = (design * (chance * (1 - chance))[:, None]).T @ design + precision
            step = linalg.solve(hessian, slope, assume_a="pos")
            found = found - np.clip(step, -2.0, 2.0)
            if np.abs(step).max() < 1e-8:
                break
        return made._replace(found=found, covariance=linalg.inv(hessian))

    def probabilities(self, rows: Array | None = None) -> Array:
        """Return the probability that each row belongs, by default of all rows."""
        made = self._calibration
        scores = self.scores if rows is None else self.scores[rows]
        return np.asarray(special.expit(made.design(scores) @ _rising(made.found)))

    def left(self, rows: Array) -> Left:
        """Estimate how many of some rows without an answer belong."""
        if not len(rows):
            return Left(0.0, 0, 0)
        made = self._calibration
        rng = np.random.default_rng(0)
        scale = linalg.cholesky(made.covariance, lower=True) * _SPREAD
        drawn = _rising(made.found + rng.standard_normal((_DRAWS, 3)) @ scale.T)
        values = np.sort(self.scores[rows])
        # Equal groups of rows instead of each row: the sums differ by less than a thousandth.
        starts = np.unique(np.linspace(0, len(values), _GROUPS, endpoint=False, dtype=np.intp))
        sizes = np.diff(np.append(starts, len(values)))
        values = np.add.reduceat(values, starts) / sizes
        chances = special.expit(drawn @ made.design(values).T)
        means, variances = chances @ sizes, (chances * (1 - chances)) @ sizes
        totals = means + np.sqrt(variances) * rng.standard_normal(_DRAWS)
        low, high = np.quantile(np.clip(totals, 0.0, len(rows)), _INTERVAL)
        expected = float(self.probabilities(rows).sum())
        return Left(expected, int(np.floor(low)), int(np.ceil(high)))
