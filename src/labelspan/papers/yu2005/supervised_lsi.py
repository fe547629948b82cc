"""Supervised LSI of yu2005: the embedding of Theorem 1, without a map for new rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from ..._typing import Array
from ...errors import InvalidInput, InvalidParameter
from ...labels import read_labels

__all__ = ["SupervisedLSI", "supervised_lsi"]


class SupervisedLSI(NamedTuple):
    """The optimum of yu2005's problem (2).

    Attributes
    ----------
    V : array of shape (n, m)
        The embedding, with orthonormal columns.
    A, B : arrays of shape (m, d) and (m, k)
        Maps from the embedding to features and labels.
    objective : float
        The weighted squared error of both.

    See Also
    --------
    supervised_lsi : Compute it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.papers.yu2005 import supervised_lsi
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
    scaling: bool = True,
) -> SupervisedLSI:
    """Compute the embedding of the rows that reconstructs features and labels best.

    Minimises ``(1 - beta) |X - V A|^2 + beta |Y - V B|^2`` over orthonormal V.
    Theorem 1 of yu2005: V holds the leading eigenvectors of
    ``C = (1 - beta) X X' + beta Y Y'``, ``A = V'X``, ``B = V'Y``, and the optimum is
    ``Tr C`` minus the leading eigenvalues. It does not embed new rows, which
    :class:`labelspan.MLSI` does.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The features.
    Y : labels of n rows, as in :meth:`labelspan.MLSI.fit`
        The labels.
    n_components : int
        Number of dimensions.
    beta : float, default=0.5
        Weight of the labels, from 0 to 1.
    scaling : bool, default=True
        Whether X and Y are divided by their Frobenius norms; A and B then refer to the
        scaled matrices.

    Returns
    -------
    SupervisedLSI
        With fields ``V`` (n x m), ``A`` (m x d), ``B`` (m x k) and ``objective``.

    See Also
    --------
    labelspan.MLSI : With a map for new rows.

    References
    ----------
    .. [1] Yu, K., Yu, S., & Tresp, V. (2005). Multi-label informed latent semantic indexing.
           SIGIR. https://doi.org/10.1145/1076034.1076080

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from labelspan.papers.yu2005 import supervised_lsi
    >>> X, y = load_iris(return_X_y=True)
    >>> result = supervised_lsi(X, y, 3)
    >>> result.V.shape, result.A.shape, result.B.shape
    ((150, 3), (3, 4), (3, 3))
    """
    if not 0 <= beta <= 1:
        raise InvalidParameter(f"supervised_lsi: beta must be from 0 to 1, but {beta!r} was given.")
    try:
        data = check_array(X, accept_sparse=True, dtype=np.float64)
    except ValueError as error:
        raise InvalidInput(f"supervised_lsi: {error}") from None
    features = data.toarray() if hasattr(data, "toarray") else data
    labels = read_labels(Y, features.shape[0], "supervised_lsi").values
    most = min(features.shape[0], features.shape[1] + labels.shape[1])
    if not 1 <= n_components <= most:
        raise InvalidParameter(
            f"supervised_lsi: n_components must be from 1 to {most}, "
            f"but {n_components!r} was given."
        )
    if scaling:
        features = features / (np.linalg.norm(features) or 1.0)
        labels = labels / (np.linalg.norm(labels) or 1.0)
    both = np.c_[np.sqrt(1 - beta) * features, np.sqrt(beta) * labels]  # C = both both'
    V, singular, _ = np.linalg.svd(both, full_matrices=False)
    rank = int((singular > max(both.shape) * np.finfo(np.float64).eps * singular[0]).sum())
    if rank < n_components:
        raise InvalidInput(
            f"supervised_lsi: X and Y together have rank {rank}, so that "
            f"n_components={n_components} is too large."
        )
    V = V[:, :n_components]
    objective = float(np.square(singular[n_components:]).sum())
    return SupervisedLSI(V, V.T @ features, V.T @ labels, objective)
