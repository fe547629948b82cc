"""Partial least squares: singular directions of ``X'Y``, and components one after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..operators import Operator, Product, as_operator
from ..operators.array_backend import host
from ..operators.operator import label_blocks, label_cross, label_square, seen_by
from .krylov import truncated_svd

__all__ = ["PLSComponents", "cross_directions", "pls_components"]

# Up to this many entries X'Y is formed; beyond, it is only multiplied by thin blocks.
_FORMED = 1 << 24
# Up to this size of the smaller side, the SVD of X'Y is direct.
_DIRECT_SIDE = 1024
# Relative accuracy of the energy in the SVD of a larger X'Y.
_ENERGY = 1e-12
# Number of components after which the products of the labels are computed again.
_REFRESH = 8
# A remainder below this multiple of the rounding of the whole is zero.
_NOTHING = 64.0
# The deflated X'Y is computed again from the labels if it has become this much
# shorter: otherwise rounding would dominate, next to a feature in large units.
_SHORTER = 1e-3


@dataclass(frozen=True)
class CrossDirections:
    """The leading singular triplets of ``X'Y``, of unit length: (d, m), (m,) and (k, m)."""

    left: Array
    values: Array
    right: Array
    n_iter: int = 1
    converged: bool = True


def cross_directions(
    X: Operator, labels: Any, count: int, *, max_iter: int, seed: int
) -> CrossDirections:
    """Find the leading singular directions of ``X'Y``; fewer if its rank is lower.

    ``X'Y`` is formed if it has at most 16 million entries and a side of at most 1,024, and
    otherwise multiplied by thin blocks: neither X nor Y is ever made dense.
    """
    d, k = X.shape[1], labels.shape[1]
    if min(d, k) <= _DIRECT_SIDE and d * k <= _FORMED:
        cross = label_cross(X, labels)
        left, values, right = np.linalg.svd(cross, full_matrices=False)
        floor = max(cross.shape) * float(np.finfo(np.float64).eps)
        count = min(count, int((values > floor * values[0]).sum()))
        return CrossDirections(left[:, :count], values[:count], right[:count].T)
    both = Product(X.T, as_operator(labels))
    found = truncated_svd(
        both, count, tol=_ENERGY, max_iter=max_iter, rng=np.random.default_rng(seed)
    )
    values = np.sqrt(found.values)
    right = host(found.right)
    left = host(both.matmat(found.right)) / values
    keep = values > _NOTHING * float(np.finfo(both.dtype).eps) * values[0]
    return CrossDirections(
        left[:, keep], values[keep], right[:, keep], found.n_iter, found.converged
    )


@dataclass(frozen=True)
class PLSComponents:
    """The components of PLS regression, in the order in which they were found.

    ``weights`` are unit directions in which the deflated features covary most with the labels.
    Scores are ``X @ rotations``, orthogonal to each other. ``label_loadings`` are the regressions
    of the labels on each score, which explains ``explained`` of their squares.
    """

    weights: Array
    rotations: Array
    label_loadings: Array
    explained: Array


def pls_components(X: Operator, labels: Any, count: int) -> PLSComponents:
    """Find PLS components of centred features and labels; X is never deflated in memory.

    Each component is the leading left singular direction w of the deflated ``X'Y``. Its score is
    ``X w``, orthogonal to the earlier scores, and ``X'Y`` is deflated by the score: two products
    with one column per component. If that leaves few digits, ``X'Y`` is computed again
    from deflated labels. Fewer components are returned if there are no more.
    """
    cross = label_cross(X, labels)
    d, k = cross.shape
    noise = _NOTHING * float(np.finfo(X.dtype).eps)
    lengths = np.sqrt(X.column_squares())
    square = label_square(labels)
    left = np.array(cross, dtype=np.float64)
    scores = np.empty((X.shape[0], count))  # T, orthonormal
    weights, rotations, loadings = np.empty((3, d, count))
    label_loadings, squares = np.empty((k, count)), np.empty(count)
    inner, longest, found = np.zeros((0, 0)), np.inf, 0
    while found < count:
        T = scores[:, :found]
        if found and np.linalg.norm(left) < _SHORTER * longest:
            left, longest = _without(X, labels, T), np.inf
        if found % _REFRESH == 0 or longest == np.inf:
            inner = left.T @ left if k <= d else left @ left.T
            longest = float(np.linalg.norm(left)) if longest == np.inf else longest
        direction = _leading(left, inner)  # w
        if direction is None:
            break
        score, rotation = host(X.matmat(X.place(direction[:, None])))[:, 0], direction
        score = score.astype(np.float64)
        size = max(float(np.linalg.norm(score)), float(np.linalg.norm(lengths * direction)))
        for _ in range(2):
            # The second pass removes rounding, which would accumulate over the components.
            along = T.T @ score
            score = score - T @ along
            rotation = rotation - (rotations[:, :found] / np.sqrt(squares[:found])) @ along
        length = float(np.linalg.norm(score))
        if not length > noise * size:
            break
        unit = score / length
        label_loading = seen_by(X.place(unit[:, None]), labels)[0]
        if not np.linalg.norm(label_loading) > noise * np.sqrt(square):
            break
        scores[:, found], squares[found] = unit, length**2
        weights[:, found], rotations[:, found] = direction, rotation
        loadings[:, found] = host(X.rmatmat(X.place(unit[:, None])))[:, 0] / length
        label_loadings[:, found] = label_loading / length
        inner = _deflate(left, inner, loadings[:, found], length * label_loading, wide=k > d)
        found += 1
    part = slice(0, found)
    return PLSComponents(
        weights[:, part],
        rotations[:, part],
        label_loadings[:, part],
        np.square(label_loadings[:, part]).sum(axis=0) * squares[part],
    )


def _without(X: Operator, labels: Any, scores: Array) -> Array:
    """Return ``X'(Y - T T'Y)`` for orthonormal scores T."""
    out = np.empty((X.shape[1], labels.shape[1]))
    for part, block in label_blocks(labels):
        rest = host(block).astype(np.float64)
        for _ in range(2):
            rest = rest - scores @ (scores.T @ rest)
        out[:, part] = X.cross(rest)
    return out


def _leading(left: Array, inner: Array) -> Array | None:
    """Return the leading left singular direction, by the products of the shorter side."""
    _, axes = np.linalg.eigh((inner + inner.T) / 2)
    start = axes[:, -1]
    # Products keep half of the digits of short directions; one step with the matrix restores them.
    direction = left @ start if inner.shape[0] == left.shape[1] else left @ (left.T @ start)
    length = float(np.linalg.norm(direction))
    if not length > 0:
        return None
    direction = direction / length
    again = left @ (left.T @ direction)
    return np.asarray(again / np.linalg.norm(again))


def _deflate(left: Array, inner: Array, loading: Array, gone: Array, *, wide: bool) -> Array:
    """Subtract ``loading gone'`` in place, and return the products of the remainder."""
    if wide:
        seen, own, other = left @ gone, loading, float(gone @ gone)
    else:
        seen, own, other = left.T @ loading, gone, float(loading @ loading)
    across = np.outer(seen, own)
    left -= np.outer(loading, gone)
    return np.asarray(inner - across - across.T + other * np.outer(own, own))
