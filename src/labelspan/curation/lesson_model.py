"""Rank items by answers so far: weighted ridge regression on words and other labels, in the dual.

With the rows ``Z`` of the answered items, targets ``t`` of 1 and -1 and weights ``w``, the
coefficients solve ``(Z Z' + 11' + alpha diag(1 / w)) c = t``; the score of an item ``z`` is
``z' Z' c + 1'c``. All that belong weigh ten times as much as all that do not. The score of an
answered item from the model without it is ``t_i - c_i / g_i``, where ``g_i`` is the diagonal of the
inverse. From these scores a logistic regression gives probabilities, and its uncertainty the
lower end of what is left; the upper end follows from the order of the answers (:mod:`.stopping`).

Items are asked about because their scores are high, so what is answered with a low score is not
typical of the others: it was found by an earlier ranking. Answers weigh less the older they are,
and scores below a knot, which is below nine of ten answers by weight, count as the knot in the
regression. From there the log-odds go in a line to what is presumed of a median item that was not
learned from, but not in a steeper one than a ranking can be; below that they stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

# Log-odds of a median item, which hardly ever belongs, and their standard deviation; slope before
# any answer for scores in units of their spread, and its standard deviation.
_MEDIAN, _DEVIATION, _SLOPE, _SLOPES = -6.0, 1.5, 2.0, 10.0
# The largest slope below the knot, and the least that is drawn for it.
_STEEPEST, _FLATTEST = 6.0, 1.5
# Share of the answered items with a score below the knot, and its least distance from the median.
_BELOW, _APART = 0.1, 0.05
# Number of answers after which one weighs half.
_HALF = 30
_STEPS = 50
_DRAWS = 400
_GROUPS = 1000
# Regularization strength; weight of all that belong, in multiples of that of all that do not; share
# of the words in the inner products, the rest is that of other labels. The first two are those of
# a support vector machine with C = 0.11; half and twice as large is not better on nine reviews.
_ALPHA, _RATIO, _WORDS = 4.5, 10.0, 0.85
# Factor of the uncertainty of the calibration, and quantile of the simulated numbers of what is
# left: expected numbers are rather too high than too low.
_SPREAD, _LOW = 2.0, 0.005


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
        Ends of an interval: the lower one by the probabilities, the upper one by the order of the
        answers. ``results/teach.md`` says how often it held.
    """

    expected: float
    low: int
    high: int


class _Calibration(NamedTuple):
    """Log-odds as a function of the score: a line from the median to the knot, another above it.

    ``found`` are the log-odds at the knot and the slope above it.
    """

    centre: float
    spread: float
    knot: float
    found: Array
    covariance: Array

    def log_odds(
        self, scores: Array, median: Array | float, steepest: Array | float, found: Array
    ) -> Array:
        """Return the log-odds of scores; several of the parameters give a row each."""
        values = (scores - self.centre) / self.spread
        start = np.maximum(median, found[..., 0] - steepest * self.knot)[..., None]
        # A higher score never speaks against an item.
        at_knot = np.maximum(found[..., :1], start)
        slope = np.maximum(found[..., 1:], 0.0)
        share = np.clip(values / self.knot, 0.0, 1.0)
        above = np.maximum(values - self.knot, 0.0)
        return np.asarray(start + (at_knot - start) * share + slope * above)


def _low_quantile(values: Array, weights: Array) -> float:
    """Return the value that is above a share of the weights."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, _BELOW * total[-1])])


class LessonModel:
    """Scores of all rows, learned from rows that belong and rows that do not.

    Parameters
    ----------
    features : LessonFeatures
        Of all rows.
    answers : dict
        Whether each row with an answer belongs, in the order of the answers.
    presumed : sequence of int
        Further rows that belong, but may be wrong: they are learned from, but not calibrated on.
    """

    def __init__(
        self,
        features: LessonFeatures,
        answers: Mapping[int, bool],
        presumed: Sequence[int] = (),
    ) -> None:
        self.features = features
        self.rows = np.array([*answers, *presumed], dtype=np.intp)
        positive = np.array([*answers.values(), *(True for _ in presumed)], dtype=bool)
        self.targets = np.where(positive, 1.0, -1.0)
        self.answered = np.arange(len(self.rows)) < len(answers)
        against = max(1, int(np.count_nonzero(~positive)))
        # Probabilities need answers of both kinds, or items that have the label.
        self.calibrated = len(set(answers.values())) == 2 or len(presumed) > 0
        weights = np.where(positive, _RATIO * against / max(1, int(positive.sum())), 1.0)
        self._learn(weights * (len(weights) / float(weights.sum())))

    def _learn(self, weights: Array) -> None:
        gram = self.features.gram(self.rows) + 1.0
        gram[np.diag_indices_from(gram)] += _ALPHA / weights
        self._factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        self.coefficients = linalg.cho_solve(self._factor, self.targets, check_finite=False)

    @cached_property
    def inverse(self) -> Array:
        """Inverse of the system, for what a model without one of the items says."""
        half, _ = linalg.lapack.dpotri(*self._factor)
        inverse: Array = np.tril(half) + np.tril(half, -1).T
        return inverse

    @cached_property
    def left_out(self) -> Array:
        """Score of each row that was learned from, by a model without it."""
        return np.asarray(self.targets - self.coefficients / np.diag(self.inverse))

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
        truth = self.targets[self.answered] > 0
        others = np.delete(self.scores, self.rows)
        centre = float(np.median(others if len(others) else self.scores))
        spread = float(self.scores.std()) or 1.0
        values = (self.left_out[self.answered] - centre) / spread
        weights = 0.5 ** (np.arange(len(values))[::-1] / _HALF)
        knot = max(_low_quantile(values, weights) if len(values) else 0.0, _APART)
        design = np.column_stack([np.ones_like(values), np.maximum(values - knot, 0.0)])
        prior = np.array([_MEDIAN + _SLOPE * knot, _SLOPE])
        precision = np.diag([1.0 / (_DEVIATION**2 + (_SLOPES * knot) ** 2), 1.0 / _SLOPES**2])
        found, hessian = prior, precision
        for _ in range(_STEPS):
            chance = special.expit(design @ found)
            slope = design.T @ (weights * (chance - truth)) + precision @ (found - prior)
            curvature = weights * chance * (1 - chance)
            hessian = (design * curvature[:, None]).T @ design + precision
            step = linalg.solve(hessian, slope, assume_a="pos")
            found = found - np.clip(step, -2.0, 2.0)
            if np.abs(step).max() < 1e-8:
                break
        return _Calibration(centre, spread, knot, found, linalg.inv(hessian))

    def probabilities(self, rows: Array | None = None) -> Array:
        """Return the probability that each row belongs, by default of all rows."""
        made = self._calibration
        scores = self.scores if rows is None else self.scores[rows]
        return np.asarray(special.expit(made.log_odds(scores, _MEDIAN, _STEEPEST, made.found)))

    def left(self, rows: Array, limit: int) -> Left:
        """Estimate how many of some rows without an answer belong, where a limit is known."""
        if not len(rows):
            return Left(0.0, 0, 0)
        made = self._calibration
        rng = np.random.default_rng(0)
        scale = linalg.cholesky(made.covariance, lower=True) * _SPREAD
        drawn = made.found + rng.standard_normal((_DRAWS, 2)) @ scale.T
        median = _MEDIAN + _DEVIATION * _SPREAD * rng.standard_normal(_DRAWS)
        # Often as in the estimate, and sometimes much flatter: a poor ranking separates little.
        steepest = _FLATTEST / rng.uniform(1e-3, 1.0, _DRAWS)
        values = np.sort(self.scores[rows])
        # Equal groups of rows instead of each row: the sums differ by less than a thousandth.
        starts = np.unique(np.linspace(0, len(values), _GROUPS, endpoint=False, dtype=np.intp))
        sizes = np.diff(np.append(starts, len(values)))
        values = np.add.reduceat(values, starts) / sizes
        chances = special.expit(made.log_odds(values, median, steepest, drawn))
        means, variances = chances @ sizes, (chances * (1 - chances)) @ sizes
        totals = means + np.sqrt(variances) * rng.standard_normal(_DRAWS)
        low = int(np.floor(np.quantile(np.clip(totals, 0.0, len(rows)), _LOW)))
        return Left(min(float(self.probabilities(rows).sum()), limit), min(low, limit), limit)
