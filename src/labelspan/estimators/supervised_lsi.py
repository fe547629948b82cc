"""yu2005's supervised LSI: the space of Theorem 1, without a map for new rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from ..errors import InvalidInput, InvalidParameter
from ..labels import read_labels
from ..operators import HStack, Operator, Scaled, as_operator
from ..solvers.krylov import truncated_svd
from ..solvers.problem import DIRECT_LIMIT
from ..solvers.small_dense import leading

__all__ = ["SupervisedLSI", "supervised_lsi"]


class SupervisedLSI(NamedTuple):
    """The optimum of yu2005's problem (2).

    Attributes
    ----------
    V : array of shape (n, m)
        The space, with orthonormal columns.
    A, B : arrays of shape (m, d) and (m, k)
        Maps from the space back to features and labels.
    objective : float
        The weighted squared error of both.

    See Also
    --------
    supervised_lsi : Compute it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan import supervised_lsi
    >>> found = supervised_lsi(np.eye(4), [0, 0, 1, 1], 2)
    >>> found.V.shape, found.A.shape, found.B.shape
    ((4, 2), (2, 4), (2, 2))
    """

    V: Array
    A: Array
    B: Array
    objective: float


def supervised_lsi(
    X: Any,
    Y: Any,
    n_components: int,
    *,
    beta: float = 0.5,
    balance: bool = True,
    tol: float = 1e-10,
    seed: int = 0,
) -> SupervisedLSI:
    """Minimise ``(1 - beta) |X - V A|^2 + beta |Y - V B|^2`` over orthonormal V.

    Theorem 1 of yu2005: V holds the leading eigenvectors of
    ``C = (1 - beta) X X' + beta Y Y'``, ``A = V'X``, ``B = V'Y``, and the optimum is
    ``Tr C`` minus the leading eigenvalues. Nothing maps a new row to the space: that is
    what :class:`MLSI` adds.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    Y : labels of n rows, as in :meth:`MLSI.fit`
        The labels.
    n_components : int
        Number of dimensions.
    beta : float, default=0.5
        Weight of the labels, from 0 to 1.
    balance : bool, default=True
        Whether X and Y are divided by their Frobenius norms; A and B then belong to the
        divided matrices.
    tol : float, default=1e-10
        For large data: the fraction of the objective that may be missing.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    SupervisedLSI
        With fields ``V`` (n x m), ``A`` (m x d), ``B`` (m x k) and ``objective``.

    See Also
    --------
    MLSI : With a map for new rows.

    References
    ----------
    .. [1] Yu, K., Yu, S., & Tresp, V. (2005). Multi-label informed latent semantic indexing.
           SIGIR. https://doi.org/10.1145/1076034.1076080

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from labelspan import supervised_lsi
    >>> X, y = load_iris(return_X_y=True)
    >>> result = supervised_lsi(X, y, 3)
    >>> result.V.shape, result.A.shape, result.B.shape
    ((150, 3), (3, 4), (3, 3))
    """
    if not 0 <= beta <= 1:
        raise InvalidParameter(f"supervised_lsi: beta must be from 0 to 1, but {beta!r} was given.")
    features = as_operator(X)
    with np.errstate(over="ignore"):
        square = features.sum_of_squares()
    if not np.isfinite(square):
        raise InvalidInput("supervised_lsi: X contains NaN or infinity, or numbers too large.")
    values = read_labels(Y, features.shape[0], "supervised_lsi").values
    most = min(features.shape[0], features.shape[1] + values.shape[1])
    if not 1 <= n_components <= most:
        raise InvalidParameter(
            f"supervised_lsi: n_components must be from 1 to {most}, "
            f"but {n_components!r} was given."
        )
    x_scale, y_scale = 1.0, 1.0
    if balance:
        x_scale = 1.0 / np.sqrt(square or 1.0)
        y_scale = 1.0 / np.sqrt(np.square(values).sum() or 1.0)
    labels = as_operator((values * y_scale).astype(features.dtype))
    both = HStack(
        [
            _times(features, np.sqrt(1 - beta) * x_scale),
            _times(labels, np.sqrt(beta)),
        ]
    )
    V, eigenvalues = _left_vectors(both, n_components, tol, seed)
    if eigenvalues.size < n_components:
        raise InvalidInput(
            f"supervised_lsi: X and Y together have rank {eigenvalues.size}, "
            f"so that n_components={n_components} is too large."
        )
    objective = both.sum_of_squares() - float(eigenvalues.sum())
    return SupervisedLSI(V, x_scale * features.rmatmat(V).T, labels.rmatmat(V).T, objective)


def _times(operator: Operator, scale: float) -> Operator:
    return Scaled(operator, columns=np.full(operator.shape[1], scale))


def _left_vectors(both: Operator, count: int, tol: float, seed: int) -> tuple[Array, Array]:
    if both.shape[0] <= min(DIRECT_LIMIT, both.shape[1]):
        values, vectors = leading(both.cogram(), count)
        keep = values > 1e-12 * values[0]
        return vectors[:, keep], values[keep]
    if both.shape[1] <= DIRECT_LIMIT:
        values, vectors = leading(both.gram(), count)
        keep = values > 1e-12 * values[0]
        values, right = values[keep], vectors[:, keep]
    else:
        svd = truncated_svd(both, count, tol=tol, max_iter=1000, rng=np.random.default_rng(seed))
        values, right = svd.values, svd.right
    return both.matmat(right / np.sqrt(values)), values
