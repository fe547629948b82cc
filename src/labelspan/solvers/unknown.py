"""Ridge regression of labels of which some entries are unknown.

Every label is regressed on the rows where it is known, and unknown entries get its fitted
values. The regression of the completed labels on *all* rows is then the same regression: the
residuals of the entries that were filled in are zero, so that the equation
``X'(L - X B) = alpha B`` holds with all rows as with the known ones. A solver that regresses the
completed labels need not know that some were missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..operators import Operator
from ..operators.array_backend import host
from .accuracy import column_lengths
from .regression import default_tolerance, regress

__all__ = ["Completed", "complete_labels"]


@dataclass(frozen=True)
class Completed:
    """Labels with fitted values where they were unknown, and whether the fit converged."""

    values: Array
    converged: bool


def complete_labels(
    X: Operator, values: Array, unknown: Array, alpha: float, *, intercept: bool
) -> Completed:
    """Fill unknown entries by the ridge regression of each label on the rows that know it.

    Where whole rows are unknown, one regression on the other rows. Where single entries are,
    conjugate gradients on all labels at once, each with its own rows: an iteration costs one
    product with X and one with its transpose, as wide as there are labels.

    Parameters
    ----------
    X : Operator
        All rows.
    values : array of shape (n, k)
        Labels; what unknown entries hold is not read.
    unknown : array of bool of shape (n, k)
    alpha : float
    intercept : bool
        Whether each label has an intercept.
    """
    labelled = np.flatnonzero(~unknown.all(axis=1))
    missing = unknown[labelled]
    rows = X if labelled.size == X.shape[0] else X.rows(labelled)
    known = values[labelled]
    if missing.any():
        slopes, shift, converged = _by_label(rows, known, ~missing, alpha, intercept)
    else:
        slopes, shift, converged = _by_rows(rows, known, alpha, intercept)
    fitted = host(X.matmat(X.place(slopes))) + shift
    return Completed(np.where(unknown, fitted, values), converged)


def _by_rows(
    X: Operator, values: Array, alpha: float, intercept: bool
) -> tuple[Array, Array, bool]:
    shift = np.zeros(values.shape[1])
    if not intercept:
        fit = regress(X, values, alpha)
        return host(fit.slopes), shift, fit.converged
    X, x_means = X.centered()
    y_means = values.mean(axis=0)
    fit = regress(X, values - y_means, alpha)
    slopes = host(fit.slopes)
    return slopes, y_means - x_means @ slopes, fit.converged


def _by_label(
    X: Operator, values: Array, known: Array, alpha: float, intercept: bool
) -> tuple[Array, Array, bool]:
    """Solve ``(X'C_j X + alpha I) b_j = X'C_j y_j`` for every label j by conjugate gradients.

    C_j keeps the rows where j is known and centres them where there is an intercept.
    """
    counts = np.maximum(known.sum(axis=0), 1)

    def select(block: Array) -> Array:
        block = np.where(known, block, 0.0)
        if intercept:
            block = np.where(known, block - block.sum(axis=0) / counts, 0.0)
        return block

    def product(block: Array) -> Array:
        image = host(X.matmat(X.place(block)))
        return host(X.rmatmat(X.place(select(image)))) + alpha * block

    scale = np.square(column_lengths(X)) + alpha
    scale[scale == 0] = 1.0
    residual = host(X.rmatmat(X.place(select(values))))
    wanted = np.sqrt((np.square(residual) / scale[:, None]).sum(axis=0))
    slopes = np.zeros_like(residual)
    step = residual / scale[:, None]
    energy = (residual * step).sum(axis=0)
    tolerance = 10 * default_tolerance(X.dtype)
    converged = False
    for _ in range(500):
        active = np.sqrt(energy) > tolerance * wanted
        if not active.any():
            converged = True
            break
        image = product(step)
        curve = (step * image).sum(axis=0)
        length = np.divide(energy, curve, out=np.zeros_like(energy), where=active & (curve > 0))
        slopes += length * step
        residual = residual - length * image
        scaled = residual / scale[:, None]
        before, energy = energy, (residual * scaled).sum(axis=0)
        turn = np.divide(energy, before, out=np.zeros_like(energy), where=active & (before > 0))
        step = scaled + turn * step
    shift = np.zeros(values.shape[1])
    if intercept:
        image = host(X.matmat(X.place(slopes)))
        shift = np.where(known, values - image, 0.0).sum(axis=0) / counts
    return slopes, shift, converged
