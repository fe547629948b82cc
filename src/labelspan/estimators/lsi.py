"""Latent semantic indexing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from .._params import Constraint
from ..operators.array_backend import scale_columns
from ..solvers import Problem, Solver
from ._streams import Stream, why_no_stream
from .base import Embedding, inverse_transform
from .options import SHARED, described
from .solving import threads_for
from .training import TrainingRows, feature_rows, fitting, squared_norm, stream_rows

__all__ = ["LSI"]


@described
class LSI(Embedding):
    r"""Latent semantic indexing: the truncated SVD, without labels (yu2005, Eq. 1).

    Minimises ``|X - V A|^2`` over V with orthonormal columns. The embedding is that of
    scikit-learn's ``TruncatedSVD``, and with ``center=True`` that of ``PCA``; it is also that of
    :class:`MLSI` with ``beta=0``, up to one common scale.

    Parameters
    ----------
    n_components : int or None, default=None
        None keeps 100, or the rank if that is smaller.
    center : bool, default=False
        Whether to centre the columns; a sparse X stays sparse.
    solver : str or solver, default="auto"
        "exact" decomposes the data; "krylov" is a block Krylov method with a given accuracy, for
        data where both n and d are large.
    tol : float or None, default=None
        For "krylov": stop when the estimated missing variance is below this fraction of the
        variance found; None means 5e-3.
    max_iter : int or None, default=None
        For "krylov": maximum number of blocks.
    random_state : int, RandomState or None, default=0
        Seed of "krylov".

    Attributes
    ----------
    components_ : array of shape (m, d)
        Orthonormal rows.
    eigenvalues_ : array of shape (m,)
        Squared singular values.
    mean_ : array of shape (d,)
    {counts, features, solver_}

    See Also
    --------
    MLSI : With labels.
    sklearn.decomposition.TruncatedSVD : The same space.
    sklearn.decomposition.PCA : The same space if the columns are centred.

    Notes
    -----
    .. math:: X^\top X w = \lambda w

    The singular values of X are the square roots of the eigenvalues.

    References
    ----------
    .. [1] Deerwester, S., Dumais, S. T., Furnas, G. W., Landauer, T. K., & Harshman, R. (1990).
           Indexing by latent semantic analysis. Journal of the American Society for Information
           Science, 41, 391-407.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from labelspan import LSI
    >>> X, _ = load_digits(return_X_y=True)
    >>> LSI(10).fit_transform(X).shape
    (1797, 10)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = SHARED

    def __init__(
        self,
        n_components: int | None = None,
        *,
        center: bool = False,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the embedding from features.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.
        y : ignored
            The labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_params()
        self._fit_rows(feature_rows(self, X))
        return self

    def _fit_rows(self, rows: TrainingRows) -> None:
        with threads_for(rows.X):
            squared_norm(self, rows.X)
            columns = rows.X.shape[1]
            most = min(rows.n - self.center, columns)
            count = self._count(most, f"X has {rows.n} rows and {columns} columns", default=100)
            solution = self._solve(Problem(rows.X, None, count, feature_weight=1.0))  # W, lambda
            # V = X W is orthonormal; the axes of LSI, sqrt(lambda) W, are orthonormal themselves.
            axes = scale_columns(solution.weights, np.sqrt(solution.eigenvalues))
            self._set_fitted(rows, axes, solution.eigenvalues, solution)

    inverse_transform = inverse_transform
    _why_no_stream = why_no_stream

    def _fit_stream(self, stream: Stream) -> None:
        self._fit_rows(stream_rows(self, stream))
