"""The label factor, which defines a method for a solver; and the rank of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from .._typing import Array
from ..errors import Mismatch
from ..operators.array_backend import host, inner, width_of

__all__ = [
    "RANK_TOLERANCE",
    "Factor",
    "Regression",
    "block_rank",
    "equalizing_weights",
    "orthonormal_columns",
    "orthonormal_map",
    "rank_tolerance",
    "square_rank",
]

# Directions whose squared length is below this fraction of the longest are rounding.
RANK_TOLERANCE = 1e-10
# Products of columns have enough digits of directions with this fraction of the longest.
_CLEAR = 1e-6


@dataclass(frozen=True)
class Regression:
    """The replacement of labels by their regression on the features: ``X B``.

    Parameters
    ----------
    alpha : float
        Regularization strength: ``B = (X'X + alpha I)^+ X'L``.
    norm : float or None, default=None
        If given, the regressed labels are rescaled to this Frobenius norm: a strong penalty shrinks
        them, and they would lose their weight.

    See Also
    --------
    Factor : The factor that it is part of.

    Examples
    --------
    >>> from labelspan.labels import Regression
    >>> Regression(1.0, norm=3.0).rescale(2.0)
    1.5
    """

    alpha: float
    norm: float | None = None

    def rescale(self, length: float) -> float:
        """Return what regressed labels of a Frobenius norm are multiplied by."""
        if self.norm is None or not length > 0:
            return 1.0
        return self.norm / length


@dataclass(frozen=True)
class Factor:
    """The label agreement ``S = share * X X' + L L'`` that a method maximises.

    Parameters
    ----------
    labels : array or Operator of shape (n, s), or None, default=None
        L, a thin array, or an operator if there are many labels; None for a method without labels.
    share : float, default=0.0
        Weight of the features themselves. 0 for OPLS, CCA, LDA and HSL.
    regression : Regression or None, default=None
        If given, L is replaced by its regression on X, so that S stays within range(X). Needed if
        both features and labels contribute.
    mixing : array of shape (k,) or (k, s), or None, default=None
        Factors of the k columns of an operator, or a matrix that combines them: L is then the
        labels times ``mixing``.

    See Also
    --------
    read_labels : Read labels of any type.
    opls_factor, cca_factor, lda_factor, hsl_factor : Blocks L of the methods.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels import Factor
    >>> Factor(labels=np.ones((3, 1))).thin, Factor(share=1.0).thin
    (True, False)
    """

    labels: Any = None
    share: float = 0.0
    regression: Regression | None = None
    mixing: Array | None = None

    def __post_init__(self) -> None:
        if self.labels is not None and self.share and self.regression is None:
            raise Mismatch("A factor of features and labels needs the regression of the labels.")

    @property
    def thin(self) -> bool:
        """Whether S is ``L L'`` only, without the features and without a regression."""
        return self.share == 0 and self.regression is None


def block_rank(block: Array) -> int:
    """Count the independent columns of a thin block, whatever their scales.

    Parameters
    ----------
    block : array of shape (n, s)

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.factor import block_rank
    >>> block_rank(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]]))
    1
    >>> block_rank(np.array([[1.0, 1.0 + 1e-7], [1.0, 1.0], [0.0, 0.0]]))
    2
    """
    found = _independent(block)
    return _singular(block, found)[0].shape[1] if found.close else found.columns.size


def orthonormal_columns(block: Array) -> Array:
    """Return an orthonormal basis of the columns of a thin block, whatever their scales.

    Parameters
    ----------
    block : array of shape (n, s)

    Returns
    -------
    array of shape (n, rank)

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.factor import orthonormal_columns
    >>> np.abs(orthonormal_columns(np.array([[3.0, 6.0, 0.0], [4.0, 8.0, 0.0]]))).round(6).ravel()
    array([0.6, 0.8])
    """
    found = _independent(block)
    if found.close:
        return _singular(block, found)[0]
    if not found.columns.size:
        return np.zeros((block.shape[0], 0))
    mixing = np.zeros((block.shape[1], found.columns.size))
    mixing[found.columns] = lapack.dtrtri(found.lower, lower=1)[0].T
    return np.asarray(host(block) @ (mixing / found.lengths[:, None]))


def orthonormal_map(block: Array) -> Array:
    """Return T such that the columns of ``block T`` are orthonormal and span those of the block.

    ``T T'`` is the pseudo-inverse of the products of the columns, at unit length.

    Parameters
    ----------
    block : array of shape (n, s)

    Returns
    -------
    array of shape (s, rank)

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.factor import orthonormal_map
    >>> np.abs(orthonormal_map(np.array([[3.0, 0.0], [4.0, 0.0]]))).ravel()
    array([0.2, 0. ])
    """
    found = _independent(block)
    if found.close:
        _, singular, axes = _singular(block, found)
        return np.asarray(axes / singular / found.lengths[:, None])
    if found.columns.size == block.shape[1]:
        mixing = np.empty((block.shape[1],) * 2)
        mixing[found.columns] = lapack.dtrtri(found.lower, lower=1)[0].T
        return np.asarray(mixing / found.lengths[:, None])
    square = inner(block, block, dtype=np.float64) / np.outer(found.lengths, found.lengths)
    values, axes = np.linalg.eigh((square + square.T) / 2)
    leading = slice(values.size - found.columns.size, None)
    return np.asarray(axes[:, leading] / np.sqrt(values[leading]) / found.lengths[:, None])


class _Independent(NamedTuple):
    """Columns that are clear of each other, and ``lower lower'``, their products at unit length.

    ``close`` tells that some other column is near them but not among their combinations.
    """

    columns: Array
    lower: Array
    lengths: Array
    close: bool


def _independent(block: Array) -> _Independent:
    """Choose independent columns by a pivoted Cholesky factor of their products.

    Products keep half of the digits of a short direction: whether the other columns are
    combinations of those chosen is computed from the columns themselves.
    """
    square = inner(block, block, dtype=np.float64)
    lengths = np.sqrt(square.diagonal())
    alive = np.flatnonzero(lengths > 0)
    unit = square[np.ix_(alive, alive)] / np.outer(lengths[alive], lengths[alive])
    if not alive.size:
        return _Independent(alive, unit, np.ones(lengths.size), close=False)
    lower, order, rank, _ = lapack.dpstrf(unit, tol=_CLEAR, lower=1)
    order, lower = order[: alive.size] - 1, np.tril(lower[:rank, :rank])
    index, others = alive[order[:rank]], alive[order[rank:]]
    close = False
    if others.size:
        rows = host(block).astype(np.float64, copy=False)
        rest, seen = rows[:, others] / lengths[others], unit[order[:rank]][:, order[rank:]]
        for _ in range(2):
            mixing = np.zeros((lengths.size, others.size))
            mixing[index] = lapack.dpotrs(lower, seen, lower=1)[0] / lengths[index][:, None]
            rest = rest - rows @ mixing
            seen = (rest.T @ rows).T[index] / lengths[index][:, None]
        tolerance = rank_tolerance(width_of(block), block.shape)
        close = bool(np.linalg.norm(rest) > tolerance * np.sqrt(alive.size))
    return _Independent(index, lower, np.where(lengths > 0, lengths, 1.0), close)


def _singular(block: Array, found: _Independent) -> tuple[Array, Array, Array]:
    """Decompose the columns at unit length, without null directions."""
    rows = host(block).astype(np.float64, copy=False) / found.lengths
    left, singular, axes = np.linalg.svd(rows, full_matrices=False)
    keep = singular > rank_tolerance(width_of(block), rows.shape) * singular[0]
    return left[:, keep], singular[keep], axes[keep].T


def rank_tolerance(dtype: Any, shape: tuple[int, int]) -> float:
    """Return the singular value, relative to the largest, below which a direction is null.

    To be applied after columns are scaled to unit length. Rounding of the entries of X in
    their own width has singular values of about eps then, whatever the number of rows:
    8 eps times the root of the smaller side. Sums over rows and columns, in float64, add
    8 eps times the root of both sides. Data in float32 is assumed to have been computed in float32:
    its rank is that at float32 precision.

    Parameters
    ----------
    dtype : dtype
    shape : (int, int)

    Returns
    -------
    float
    """
    rows, columns = max(1, shape[0]), max(1, shape[1])
    entries = float(np.finfo(dtype).eps) * np.sqrt(min(rows, columns))
    return float(8 * max(entries, float(np.finfo(np.float64).eps) * np.sqrt(rows * columns)))


def square_rank(square: Array) -> int:
    """Count the independent columns of a block B from ``B'B``.

    Parameters
    ----------
    square : array of shape (s, s)

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.factor import square_rank
    >>> square_rank(np.diag([1.0, 1e-20, 0.0]))
    2
    """
    norms = np.sqrt(square.diagonal())
    alive = norms > 0
    if not alive.all():
        square, norms = square[np.ix_(alive, alive)], norms[alive]
    if not norms.size:
        return 0
    unit = square / norms / norms[:, None]
    spectrum = np.linalg.eigvalsh((unit + unit.T) / 2)
    return int((spectrum > RANK_TOLERANCE * spectrum[-1]).sum())


def equalizing_weights(squares: Array) -> Array:
    """Return what labels are multiplied by so that rare ones count more: one over the root of s.

    s is the standard deviation of a label. As they are, labels count by how much they vary, and
    frequent ones take the space; divided by s, each counts alike, and those of few rows bring
    noise. On five data sets the root of s is ahead of both, in neighbours and in label scores.

    Parameters
    ----------
    squares : array of shape (k,)
        Mean square of each label, centred where it is used so.

    Returns
    -------
    array of shape (k,)
        1 for a label without variation.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.labels.factor import equalizing_weights
    >>> equalizing_weights(np.array([1.0, 16.0, 0.0])).tolist()
    [1.0, 0.5, 1.0]
    """
    varied = squares > 0
    return np.where(varied, np.where(varied, squares, 1.0) ** -0.25, 1.0)
