"""Fill unknown entries of labels by the regressions of these labels.

If some entries of the labels are unknown, every label is regressed on the rows where it is
known, and unknown entries get its fitted values. The regression of the completed labels on *all*
rows is then the same regression: the residuals of the filled entries are zero, so that ``X'(L -
X B) = alpha B`` holds for all rows as for the known ones. A solver that regresses the completed
labels need not know that some were missing.
"""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..errors import NotConverged, warn_caller
from ..operators import Operator, as_operator
from ..operators.array_backend import column_norms, host
from .conjugate_gradients import block_cg
from .limits import accuracy_wanted, column_lengths
from .ridge import default_tolerance, ridge

__all__ = ["complete_labels"]

# The relative error of fitted values that replace unknown labels, and the maximum number of
# iterations if each label has its own rows.
_COMPLETED, _TURNS = 1e-2, 500


def complete_labels(
    X: Operator, values: Array, unknown: Array, alpha: float, *, intercept: bool, owner: str
) -> Array:
    """Fill unknown entries by ridge regression of each label on the rows where it is known.

    If whole rows are unknown, this is one regression on the other rows. For single
    entries, conjugate gradients solve for all labels at once, each with its own rows: an iteration
    costs one product with X and one with its transpose, with one column per label.
    """
    labelled, asked = np.flatnonzero(~unknown.all(axis=1)), np.flatnonzero(unknown.any(axis=1))
    missing = unknown[labelled]
    fit = _by_label if missing.any() else _by_rows
    slopes, shift, converged = fit(_rows(X, labelled), values[labelled], ~missing, alpha, intercept)
    if not converged:
        warn_caller(
            f"{owner}: the regression of labels with unknown entries stopped early; raise alpha.",
            NotConverged,
        )
    filled, asked_rows = values.copy(), _rows(X, asked)
    if not slopes.dense and asked.size < values.shape[1]:
        found = host(slopes.rmatmat(asked_rows.wide_rows(slice(None)).T)).T
    else:
        found = host(asked_rows.matmat(X.to_device(slopes.to_block())))
    filled[asked] = np.where(unknown[asked], found + shift, values[asked])
    return filled


def _rows(X: Operator, index: Array) -> Operator:
    return X if index.size == X.shape[0] else X.rows(index)


def _by_rows(
    X: Operator, values: Array, known: Array, alpha: float, intercept: bool
) -> tuple[Operator, Array, bool]:
    x_means, y_means = np.zeros(X.shape[1]), np.zeros(values.shape[1])
    if intercept:
        X, x_means = X.centered()
        y_means = values.mean(axis=0)
    fit = ridge(X, values - y_means, alpha, rtol=_COMPLETED**2, tol=_COMPLETED)
    slopes = as_operator(host(fit.slopes.to_block())) if fit.slopes.dense else fit.slopes
    return slopes, y_means - host(slopes.rmatmat(x_means[:, None]))[:, 0], fit.converged


def _by_label(
    X: Operator, values: Array, known: Array, alpha: float, intercept: bool
) -> tuple[Operator, Array, bool]:
    """Solve ``(X'C_j X + alpha I) b_j = X'C_j y_j`` for every label j by conjugate gradients.

    C_j selects the rows where j is known and centres them if there is an intercept. All labels,
    below each other and scaled alike, are one right-hand side of a block-diagonal matrix.
    """
    counts = np.maximum(known.sum(axis=0), 1)

    def select(block: Array) -> Array:
        block = np.where(known, block, 0.0)
        if intercept:
            block = np.where(known, block - block.sum(axis=0) / counts, 0.0)
        return block

    def product(column: Array) -> Array:
        block = column.reshape(shape) / scale
        image = host(X.matmat(X.to_device(block)))
        image = host(X.rmatmat(X.to_device(select(image)))) + alpha * block
        return (image / scale).reshape(-1, 1)

    shape = (X.shape[1], values.shape[1])
    scale = np.sqrt(np.square(column_lengths(X)) + alpha)[:, None]
    scale[scale == 0] = 1.0
    wanted = host(X.rmatmat(X.to_device(select(values)))) / scale
    sizes = column_norms(wanted)
    sizes[sizes == 0] = 1.0
    tol = default_tolerance(X.dtype)
    run = block_cg(product, (wanted / sizes).reshape(-1, 1), tol, _TURNS)
    slopes = run.solution.reshape(shape) * sizes / scale
    shift = np.zeros(values.shape[1])
    if intercept:
        image = host(X.matmat(X.to_device(slopes)))
        shift = np.where(known, values - image, 0.0).sum(axis=0) / counts
    return as_operator(slopes), shift, run.residual <= accuracy_wanted(X.dtype)
