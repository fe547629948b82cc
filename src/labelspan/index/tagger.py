"""Prediction of labels: scores in the space, calibrated probabilities, and thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from .._typing import Array

__all__ = ["Calibration", "Tagger", "calibrate", "fit_tagger", "label_regression"]

_RIDGE = 1e-4
_COLUMNS_AT_ONCE = 64
_NEWTON_STEPS = 50
_NEWTON_TOLERANCE = 1e-4
# Keeps slopes finite for labels that the scores separate without error.
_SLOPE_PENALTY = 1e-2


@dataclass(frozen=True)
class Tagger:
    """Logistic model of each label on unit vectors of the space.

    ``probability = 1 / (1 + exp(-(z @ weights + bias)))``; a label is chosen if its
    probability reaches its threshold.
    """

    labels: tuple[str, ...]
    weights: Array
    bias: Array
    thresholds: Array

    def probabilities(self, vectors: Array) -> Array:
        """Compute the probability of every label for every row."""
        return np.asarray(expit(vectors @ self.weights + self.bias))


@dataclass(frozen=True)
class Calibration:
    """For each label ``probability = expit(slope * score + offset)``, and a threshold."""

    slope: Array
    offset: Array
    thresholds: Array


def label_regression(vectors: Array, targets: Array) -> tuple[Array, Array]:
    """Regress labels on vectors, with a small ridge; return loadings and intercept."""
    wide, y = vectors.astype(np.float64), targets.astype(np.float64)
    centre, means = wide.mean(axis=0), y.mean(axis=0)
    wide -= centre
    gram = wide.T @ wide
    ridge = _RIDGE * max(float(np.trace(gram)) / gram.shape[0], np.finfo(float).tiny)
    loadings = np.linalg.solve(gram + ridge * np.eye(gram.shape[0]), wide.T @ (y - means))
    return loadings, means - centre @ loadings


def fit_tagger(
    labels: tuple[str, ...],
    vectors: Array,
    targets: Array,
    folds: list[Array],
    outside: Callable[[Array], tuple[Array, Array]],
) -> Tagger:
    """Learn scores from all rows, and calibrate them on out-of-fold scores.

    Parameters
    ----------
    labels : tuple of str
    vectors, targets : arrays of shape (n, m) and (n, k)
        Unit vectors and labels of the labelled rows.
    folds : list of arrays
        Row numbers of each fold; empty for too few rows, which are then calibrated on their
        own scores.
    outside : callable
        Called with the rows of a fold; returns the vectors of all rows, and of those rows, in
        a space that was learned without them. Of the former only the other rows are used.
    """
    loadings, intercept = label_regression(vectors, targets)
    scores = vectors @ loadings + intercept
    for held in folds:
        others = np.setdiff1d(np.arange(len(targets)), held)
        known, unseen = outside(held)
        part, constant = label_regression(known[others], targets[others])
        scores[held] = unseen @ part + constant
    fitted = calibrate(scores, targets)
    return Tagger(
        labels,
        (loadings * fitted.slope).astype(np.float32),
        (intercept * fitted.slope + fitted.offset).astype(np.float32),
        fitted.thresholds.astype(np.float32),
    )


def calibrate(scores: Array, targets: Array) -> Calibration:
    """Fit Platt's logistic curve, and choose the threshold with the best F1, for each column."""
    parts = [
        _calibrate(scores[:, block], targets[:, block])
        for block in (
            slice(start, start + _COLUMNS_AT_ONCE)
            for start in range(0, scores.shape[1], _COLUMNS_AT_ONCE)
        )
    ]
    return Calibration(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _calibrate(scores: Array, targets: Array) -> tuple[Array, Array, Array]:
    # One row per label: sums run along contiguous memory, where numpy uses pairwise summation.
    rows = np.ascontiguousarray(scores.T, dtype=np.float64)
    wanted = np.ascontiguousarray(targets.T > 0)
    centre, spread = rows.mean(axis=1), rows.std(axis=1)
    spread = np.where(spread > 0, spread, 1.0)
    slope, offset = _logistic(((rows - centre[:, None]) / spread[:, None]), wanted)
    slope = slope / spread
    offset = offset - slope * centre
    return slope, offset, _best_thresholds(expit(rows * slope[:, None] + offset[:, None]), wanted)


def _logistic(scores: Array, wanted: Array) -> tuple[Array, Array]:
    """Fit slope and offset of a logistic curve for each row of scores, all rows at once.

    Damped Newton steps on Platt's targets, which are shrunk a little from 0 and 1. Each pass over
    the scores evaluates the last step and computes the next one: where the loss grew, the row
    steps back and its damping grows.
    """
    s = scores.astype(np.float32)
    positive = wanted.sum(axis=1).astype(np.float64)
    negative = s.shape[1] - positive
    high, low = (positive + 1) / (positive + 2), 1 / (negative + 2)
    target = np.where(wanted, high[:, None], low[:, None]).astype(np.float32)
    prior = np.log((positive + 1) / (negative + 1))
    best = np.stack([np.zeros_like(prior), prior], axis=1)
    least, damping = np.full(prior.size, np.inf), np.full(prior.size, 1e-3)
    step, active = np.zeros_like(best), np.arange(prior.size)
    for _ in range(_NEWTON_STEPS):
        a, b = (best[active] - step[active]).T
        loss, gradient, hessian = _expansion(s[active], target[active], a, b)
        good = loss <= least[active]
        # Where the loss grew, the old expansion is not kept: try a shorter step.
        fell, grew = active[good], active[~good]
        best[fell] -= step[fell]
        least[fell] = loss[good]
        damping[fell] /= 10
        damping[grew] *= 10
        step[grew] /= 4
        curved = hessian[good] * (1 + damping[fell, None, None] * np.eye(2))
        step[fell] = np.linalg.solve(curved, gradient[good][..., None])[..., 0]
        active = active[np.abs(step[active]).max(axis=1) > _NEWTON_TOLERANCE]
        if not active.size:
            break
    # A falling curve would reverse the ranking of the scores; then only the prior is used.
    falling = best[:, 0] < 0
    return np.where(falling, 0.0, best[:, 0]), np.where(falling, prior, best[:, 1])


def _expansion(s: Array, target: Array, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Compute loss, gradient and Hessian with respect to slope and offset."""
    margin = s * a[:, None].astype(np.float32) + b[:, None].astype(np.float32)
    p = expit(margin)
    inside = np.clip(p, 1e-7, 1 - 1e-7)
    loss = -(target * np.log(inside) + (1 - target) * np.log(1 - inside)).sum(axis=1)
    rest, weight = p - target, p * (1 - p)
    weighted = weight * s
    gradient = np.stack([(rest * s).sum(axis=1) + _SLOPE_PENALTY * a, rest.sum(axis=1)], axis=1)
    aa = (weighted * s).sum(axis=1) + _SLOPE_PENALTY
    ab, bb = weighted.sum(axis=1), weight.sum(axis=1) + 1e-6
    hessian = np.stack([np.stack([aa, ab], axis=1), np.stack([ab, bb], axis=1)], axis=1)
    penalised = loss.astype(np.float64) + 0.5 * _SLOPE_PENALTY * a**2
    return penalised, gradient.astype(np.float64), hessian.astype(np.float64)


def _best_thresholds(probabilities: Array, wanted: Array) -> Array:
    """Choose for each row the threshold with the best F1, between two of its probabilities."""
    order = np.argsort(-probabilities, axis=1)
    ranked = np.take_along_axis(probabilities, order, axis=1)
    hits = np.cumsum(np.take_along_axis(wanted, order, axis=1), axis=1)
    taken = np.arange(1, wanted.shape[1] + 1)
    f1 = 2 * hits / (taken + wanted.sum(axis=1)[:, None])
    # A threshold cannot separate equal probabilities.
    f1[:, :-1][ranked[:, :-1] == ranked[:, 1:]] = -1.0
    best, rows = f1.argmax(axis=1), np.arange(f1.shape[0])
    below = np.concatenate([ranked[:, 1:], np.zeros((rows.size, 1))], axis=1)
    return np.asarray((ranked[rows, best] + below[rows, best]) / 2)


def labelled_folds(count: int, folds: int, rng: Any) -> list[Array]:
    """Split 0 to count - 1 into random folds; an empty list if there are too few."""
    folds = min(folds, count // 2)
    if folds < 2:
        return []
    return [np.sort(part) for part in np.array_split(rng.permutation(count), folds)]
