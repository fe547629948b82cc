"""Partial least squares: singular directions of ``X'Y``, and components one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..operators import Operator, Product, as_operator
from ..operators.array_backend import host
from ..operators.label_columns import label_cross
from .krylov_space import truncated_svd

__all__ = [
    "CrossDirections",
    "PLSComponents",
    "cross_directions",
    "pls_components",
    "svd_directions",
]

# Entries up to which X'Y is formed; beyond, it is only multiplied by thin blocks.
_FORMED = 1 << 24
# The smaller side up to which the SVD of a formed X'Y is direct.
_DIRECT_SIDE = 1024
# The share of the energy to which the SVD of a larger X'Y is run.
_ENERGY = 1e-12
# Components after which the products of the labels are summed from scratch.
_REFRESH = 8
# Roundings of the whole below which what is left of X'Y is nothing.
_NOTHING = 64.0


@dataclass(frozen=True)
class CrossDirections:
    """The leading singular triplets of ``X'Y``.

    Attributes
    ----------
    left : array of shape (d, m)
        Directions of the features, of unit length.
    values : array of shape (m,)
        Singular values, falling.
    right : array of shape (k, m)
        Directions of the labels, of unit length.
    n_iter : int
        1 where the SVD was direct.
    converged : bool

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.solvers.partial_least_squares import svd_directions
    >>> svd_directions(np.diag([3.0, 2.0]), 1).values
    array([3.])
    """

    left: Array
    values: Array
    right: Array
    n_iter: int = 1
    converged: bool = True


def cross_directions(
    X: Operator, labels: Any, count: int, *, max_iter: int, seed: int
) -> CrossDirections:
    """Find the leading singular directions of ``X'Y``.

    ``X'Y`` is formed where it has at most 16 million entries and a side of at most 1,024, and
    otherwise multiplied by thin blocks: neither X nor Y is ever made dense.

    Parameters
    ----------
    X : Operator
    labels : array or Operator
        Y, of the same number of rows; both are centred where they should be.
    count : int
        Number of directions; fewer come back where ``X'Y`` has fewer.
    max_iter : int
    seed : int

    Returns
    -------
    CrossDirections
    """
    d, k = X.shape[1], labels.shape[1]
    if min(d, k) <= _DIRECT_SIDE and d * k <= _FORMED:
        return svd_directions(label_cross(X, labels), count)
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


def svd_directions(cross: Array, count: int) -> CrossDirections:
    """Do the same for a matrix that was formed."""
    left, values, right = np.linalg.svd(cross, full_matrices=False)
    floor = max(cross.shape) * float(np.finfo(np.float64).eps)
    count = min(count, int((values > floor * values[0]).sum())) if values[0] > 0 else 0
    return CrossDirections(left[:, :count], values[:count], right[:count].T)


@dataclass(frozen=True)
class PLSComponents:
    """The components of PLS regression, in the order in which they were found.

    Attributes
    ----------
    weights : array of shape (d, m)
        Unit directions in which the deflated features covary most with the labels.
    rotations : array of shape (d, m)
        Scores are ``X @ rotations``; those of different components are orthogonal.
    loadings : array of shape (d, m)
        Regression of the features on each score.
    label_loadings : array of shape (k, m)
        Regression of the labels on each score.
    score_squares : array of shape (m,)
        Squared lengths of the scores.
    explained : array of shape (m,)
        Squares of the labels that each component explains.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.solvers.partial_least_squares import pls_components
    >>> X, y = np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]]), np.array([[1.0], [-1.0], [0.0]])
    >>> found = pls_components(X.T @ y, lambda block: X.T @ (X @ block), 2)
    >>> (found.rotations @ found.label_loadings.T).round(6).ravel() + 0.0
    array([1., 0.])
    """

    weights: Array
    rotations: Array
    loadings: Array
    label_loadings: Array
    score_squares: Array
    explained: Array


def pls_components(
    cross: Array, square: Callable[[Array], Array], count: int, *, rounding: float | None = None
) -> PLSComponents:
    """Find PLS components from ``X'Y`` and products with ``X'X``; X is never deflated.

    Each component is the leading left singular direction w of the deflated ``X'Y``. With
    earlier rotations R and loadings P its rotation is ``w - R P'w``, and ``X'Y`` loses what its
    score explains: two products with one column per component.

    Parameters
    ----------
    cross : array of shape (d, k)
        ``X'Y`` of centred X and Y.
    square : callable
        Takes a block of d rows, returns ``X'X`` times it.
    count : int
        Number of components; fewer come back where the features or labels have no more.
    rounding : float or None, default=None
        Relative rounding of the products; None is that of float64.

    Returns
    -------
    PLSComponents
    """
    d, k = cross.shape
    noise = _NOTHING * (float(np.finfo(np.float64).eps) if rounding is None else rounding)
    whole = float(np.linalg.norm(cross))
    left = np.array(cross, dtype=np.float64)
    weights, rotations, loadings = np.empty((3, d, count))
    label_loadings = np.empty((k, count))
    squares = np.empty(count)
    inner = np.zeros((0, 0))
    longest, found = 0.0, 0
    while found < count:
        if found % _REFRESH == 0:
            inner = left.T @ left if k <= d else left @ left.T
        direction = _leading(left, inner)
        if direction is None or not np.linalg.norm(left.T @ direction) > noise * whole:
            break
        rotation = direction.copy()
        for _ in range(2):
            # The second time only rounding is left, which would add up over the components.
            along = loadings[:, :found].T @ rotation
            rotation -= rotations[:, :found] @ along
        image = square(rotation[:, None])[:, 0]
        length = float(rotation @ image)
        longest = max(longest, length / float(direction @ direction))
        if not length > noise * longest:
            break
        loading = image / length
        label_loading = cross.T @ rotation / length
        weights[:, found], rotations[:, found] = direction, rotation
        loadings[:, found], label_loadings[:, found] = loading, label_loading
        squares[found] = length
        inner = _deflate(left, inner, loading, length * label_loading, wide=k > d)
        found += 1
    part = slice(0, found)
    return PLSComponents(
        weights[:, part],
        rotations[:, part],
        loadings[:, part],
        label_loadings[:, part],
        squares[part],
        np.square(label_loadings[:, part]).sum(axis=0) * squares[part],
    )


def _leading(left: Array, inner: Array) -> Array | None:
    """Return the leading left singular direction, by the products of the shorter side."""
    _, axes = np.linalg.eigh((inner + inner.T) / 2)
    start = axes[:, -1]
    # Products keep half of the digits of short directions; one step by the matrix gives them back.
    direction = left @ start if inner.shape[0] == left.shape[1] else left @ (left.T @ start)
    length = float(np.linalg.norm(direction))
    if not length > 0:
        return None
    direction = direction / length
    again = left @ (left.T @ direction)
    return np.asarray(again / np.linalg.norm(again))


def _deflate(left: Array, inner: Array, loading: Array, gone: Array, *, wide: bool) -> Array:
    """Subtract ``loading gone'`` in place, and return the products of what is left."""
    if wide:
        seen, own, other = left @ gone, loading, float(gone @ gone)
    else:
        seen, own, other = left.T @ loading, gone, float(loading @ loading)
    across = np.outer(seen, own)
    left -= np.outer(loading, gone)
    return np.asarray(inner - across - across.T + other * np.outer(own, own))
