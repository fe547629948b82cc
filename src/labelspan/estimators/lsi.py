"""Latent semantic indexing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array
from ..labels import Factor
from ..operators import as_operator
from ..operators.array_backend import like
from ..operators.kernel_map import Kernel, KernelMap, symmetric_kernel
from ..solvers import Solver, Statistics, solve_statistics
from ..solvers.krylov import truncated_svd
from .base import Invertible
from .overflow import refuse_overflow
from .space import Limit
from .streaming import Stream, Streaming, when_streaming
from .whole import whole

__all__ = ["LSI"]

# A kernel's leading directions are found by iteration where the rows are so many times more.
_KERNEL_SHARE = 8
# Of their squared eigenvalues: the directions are then right to about six digits.
_KERNEL_TOL = 1e-12


class LSI(Invertible, Streaming):
    """Latent semantic indexing: the truncated SVD, without labels (yu2005, Eq. 1).

    Minimises ``|X - V A|^2`` over V with orthonormal columns. The space is that of
    scikit-learn's ``TruncatedSVD``, and with ``center=True`` that of ``PCA``; it is also
    :class:`MLSI` with ``beta=0``, up to one common scale.

    Parameters
    ----------
    n_components : int or None, default=None
        None keeps 100, or the rank where that is less.
    center : bool, default=False
        Whether to take off the columns' means; a sparse X stays sparse.
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed", or a function
        of two rows. Anything but "linear" is solved in the dual, exactly, up to 5,000 rows.
    gamma, degree, coef0 : float
        Parameters of the kernel, as in scikit-learn's ``KernelPCA``.
    kernel_params : dict or None, default=None
        For a kernel of one's own.
    landmarks : int or None, default=None
        The number of rows that stand for all in the kernel (Nystroem), for more rows than
        the exact dual takes.
    solver : str or solver, default="auto"
        "gram" and "eigen" are exact; "randomized" is block Krylov, to a stated share of
        the energy, and the choice for data with two long sides.
    tol : float or None, default=None
        For "randomized": stop when the energy still to come is below this share; 2e-3 by
        default.
    max_iter : int or None, default=None
        For "randomized": the most blocks.
    random_state : int, RandomState or None, default=0
        For "randomized".

    Attributes
    ----------
    components_ : array of shape (m, d)
        Orthonormal rows.
    eigenvalues_ : array of shape (m,)
        Squared singular values.
    mean_ : array of shape (d,)
    dual_coef_, X_fit_ : arrays of shape (n, m) and (n, d)
        With a kernel, instead of ``components_`` and ``mean_``.
    n_components_, n_iter_, n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X is a data frame.
    solver_, status_ : str
        What ran, and how it went.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from labelspan import LSI
    >>> X, _ = load_digits(return_X_y=True)
    >>> LSI(10).fit_transform(X).shape
    (1797, 10)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        center: bool = False,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        landmarks: int | None = None,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @whole
    @refuse_overflow
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the space from features.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        self._check_params()
        features = self._open(X)
        operator, means = self._center(features.operator, features.kernel_map)
        self._square(operator)
        count = self._count(self._limit(*operator.shape))
        solution = self._solve(operator, Factor(share=1.0), count)
        # W has V = X W orthonormal; LSI's own axes are orthonormal themselves.
        weights = solution.weights * like(np.sqrt(solution.eigenvalues), solution.weights)
        self._end_stream()
        self._publish(
            means,
            solution,
            weights,
            dtype=features.dtype,
            kernel_map=features.kernel_map,
            home=features.operator,
        )
        return self

    def _map_kernel(self, kernel: Kernel, reference: Any) -> tuple[KernelMap, Array]:
        """Of all coordinates LSI keeps the leading ones, so that no others are computed."""
        rows, count = reference.shape[0], self.n_components
        if count is None or _KERNEL_SHARE * count > rows:
            return super()._map_kernel(kernel, reference)
        if self.solver != "auto" or self.landmarks is not None:
            return super()._map_kernel(kernel, reference)
        gram = symmetric_kernel(kernel, reference)
        means = np.zeros(rows)
        if self.center:
            means = gram.mean(axis=0)
            gram -= means
            gram -= gram.mean(axis=1, keepdims=True)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        svd = truncated_svd(as_operator(gram), count, tol=_KERNEL_TOL, max_iter=100, rng=rng)
        values = np.sqrt(svd.values)
        negative = (svd.right * (gram @ svd.right)).sum(axis=0) <= 0.5 * values
        if not svd.converged or values.size < count or negative.any():
            return super()._map_kernel(kernel, reference)
        root = np.sqrt(values)
        projection = svd.right / root
        # The directions are orthogonal to the constant, so that centring takes the means off.
        return KernelMap(kernel, reference, projection), svd.right * root + means @ projection

    @when_streaming
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one more batch of rows; see :meth:`Streaming.merge` for joining models.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            At most 4,096 columns.
        y : ignored

        Returns
        -------
        self
        """
        return self._add(X, None, None)

    def _solve_stream(self, stream: Stream, statistics: Statistics) -> None:
        gram, _, _ = statistics.about(center=self.center)
        count = self._count(self._limit(statistics.n, gram.shape[0]))
        factor = Factor(share=1.0)
        solution = solve_statistics(gram, None, factor, alpha=0.0, count=count, rows=statistics.n)
        self._solving.accept(solution, count)
        weights = solution.weights * np.sqrt(solution.eigenvalues)
        means = statistics.x_mean * self.center
        self._publish(means, solution, weights, dtype=stream.dtype)

    def _limit(self, rows: int, columns: int) -> Limit:
        most = min(rows - self.center, columns)
        return Limit(most, f"X has {rows} rows and {columns} columns", default=100)
