"""MLSI with the axes of LSI and the leading directions of the labels as one space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Array
from ..labels import Factor
from ..labels.factor import block_rank, shifted_weight
from ..operators import Operator
from ..operators.array_backend import column_norms, concatenate, inner, like
from ..solvers import Problem
from ..solvers.penalties import L2
from ._options import solve

__all__ = ["fit_concatenated"]

# How much more than the features the labels weigh at beta = 0.5. On five data sets, labels of the
# fit gain most of what they can, and new labels are still found better than by LSI.
_LABELS = 4.0
# A part of the dimensions that is this much more than a whole number is that number.
_ROUNDING = 1e-6


def fit_concatenated(
    model: Any,
    features: Any,
    centered: tuple[Operator, Array],
    values: Array,
    alpha: float,
    *,
    weights: Array | None = None,
    trust: float = 1.0,
) -> tuple[Array, Array]:
    """Fit both blocks, publish them as one space, and return its loadings and label directions.

    The label block is that of OPLS, ``X B U``; the other the leading axes of X. Each is divided by
    its norm and weighted by 4 beta or 1 - beta. A label is predicted from the label block, and what
    that leaves of it from the axes of X.

    Parameters
    ----------
    model : MLSI
    features : Features
    centered : (Operator, array)
        X and its means.
    values : array of shape (n, k)
        The labels, centred where X is and without unknown entries.
    alpha : float
    weights : array of shape (k,) or None, default=None
        What each label is multiplied by in the label block.
    trust : float, default=1.0
        What the weight of the labels is multiplied by, where a part of them is unknown; they
        weigh at least as ``beta`` says.

    Returns
    -------
    loadings : array of shape (m, k)
    directions : array of shape (k, m)
        What known labels add to a place.
    """
    X, means = centered
    k = values.shape[1]
    rank = block_rank(values)
    total = model._components(X.shape, rank)
    beta = shifted_weight(model.beta, max(1.0, _LABELS * trust))
    # As large a part of the dimensions as of the weight: few labels leave most to the features.
    most = min(rank, int(np.ceil(beta * total - _ROUNDING)))
    blocks, lengths, loadings, directions = [], [], [], []
    solution = None
    left = values
    if most:
        each = np.ones(k) if weights is None else weights
        informed = values if weights is None else values * like(weights, values)
        solution = solve(model, Problem(X, Factor(labels=informed), most, L2(alpha)), fewest=0)
        roots = np.sqrt(solution.eigenvalues)
        axes = inner(solution.weights, X.cross(informed)).T / roots  # U
        ways = solution.weights * like(roots, solution.weights)
        image = X.matmat(X.place(ways))  # X B U
        norms = np.square(column_norms(image))
        level = np.sqrt(beta / norms.sum())
        blocks.append(level * ways)
        lengths.append(level**2 * norms)
        back = axes.T / each
        loadings.append(back / level)
        directions.append(level * each[:, None] * axes)
        left = values - image @ like(back, image)
    count = total - (0 if solution is None else solution.eigenvalues.size)
    if beta < 1 and count:
        found = solve(model, Problem(X, Factor(share=1.0), count), fewest=0)
        roots = np.sqrt(found.eigenvalues)
        level = np.sqrt((1 - beta) / found.eigenvalues.sum())
        blocks.append(found.weights * like(level * roots, found.weights))
        lengths.append(level**2 * found.eigenvalues)
        seen = inner(found.weights, X.cross(left))  # V'(Y - X B U U')
        loadings.append(seen / (level * roots)[:, None])
        directions.append(np.zeros((k, found.eigenvalues.size)))
        solution = _both(solution, found)
    assert solution is not None
    values_of = np.concatenate(lengths)
    order = np.argsort(-values_of, kind="stable")
    scale = np.ones(order.size) if model.scale else 1 / np.sqrt(values_of[order])
    together = concatenate(blocks, axis=1)[:, order]
    together = together * like(scale, together)
    signs = model._publish(features, together, means, values_of[order], solution)
    back = np.concatenate(loadings)[order] * (signs / scale)[:, None]
    return back, np.concatenate(directions, axis=1)[:, order] * (signs * scale)


def _both(labels: Any, features: Any) -> Any:
    """Return one solution that says how both blocks were found."""
    if labels is None:
        return features
    return replace(
        labels,
        status=f"Labels: {labels.status} Features: {features.status}",
        n_iter=max(labels.n_iter, features.n_iter),
        converged=labels.converged and features.converged,
    )
