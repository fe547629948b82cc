"""Differences between two solutions, and the time of a fit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from ..._typing import Array
from ...estimators.base import LabelledEmbedding
from ...evaluation.measurements import Results
from ...metrics import principal_angles
from ...operators import as_operator

__all__ = ["centred_rank", "gaps", "leading_angle", "seconds", "worst"]

# Fits are repeated for at least this many seconds, and the fastest counts.
_LEAST = 0.1
# A leading space is defined only if the spectrum has a relative gap of this size after it.
_STEP = 1e-4


def gaps(reference: LabelledEmbedding, other: LabelledEmbedding) -> dict[str, float]:
    """Compare eigenvalues, weights up to a rotation, and spaces.

    Weights that differ by a rotation give the same distances between rows.
    """
    wide = max(reference.n_components_, other.n_components_)
    values, others = (_widened(model.eigenvalues_, wide) for model in (reference, other))
    ours, theirs = (_widened(_weights(model), wide) for model in (reference, other))
    rotation, _ = orthogonal_procrustes(theirs, ours)
    return {
        "eigenvalue gap": float(np.abs(values - others).max() / values.max()),
        "weights gap": float(np.linalg.norm(theirs @ rotation - ours) / np.linalg.norm(ours)),
        "angle": float(principal_angles(ours, theirs).max()),
    }


def leading_angle(reference: LabelledEmbedding, other: LabelledEmbedding) -> float | None:
    """Return the largest angle between the leading halves; None if these are not defined."""
    half = (reference.eigenvalues_.size + 1) // 2
    values = reference.eigenvalues_
    if half == values.size or values[half - 1] - values[half] < _STEP * values[0]:
        return None
    return float(principal_angles(_weights(reference)[:, :half], _weights(other)[:, :half]).max())


def centred_rank(X: Any) -> int:
    """Return the rank of X with centred columns."""
    centred, _ = as_operator(X).centered()
    rows, columns = centred.shape
    values = np.linalg.eigvalsh(centred.gram() if columns <= rows else centred.cogram())
    return int((values > 4 * max(rows, columns) * np.finfo(np.float64).eps * values[-1]).sum())


def seconds(fit: Callable[[], Any]) -> float:
    """Return the time of the fastest of a few runs, or of one long run.

    This is CPU time, because other jobs may run in parallel.
    """
    times: list[float] = []
    while sum(times) < _LEAST:
        start = time.process_time()
        fit()
        times.append(time.process_time() - start)
    return min(times)


def worst(results: Results, measure: str) -> str:
    """Format the largest value of a measure, for a table."""
    values = results.values(measure)
    return f"{values.max():.1e}" if values.size else "-"


def _weights(model: LabelledEmbedding) -> Array:
    return np.asarray(model.components_.T)


def _widened(array: Array, width: int) -> Array:
    """Append zeros for directions that a solver dropped because their eigenvalue is zero."""
    lacking = width - array.shape[-1]
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, lacking)])
