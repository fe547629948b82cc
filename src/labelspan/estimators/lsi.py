"""Latent semantic indexing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from .._params import Constraint
from .._typing import Array
from ..labels import Factor
from ..operators import Operator, as_operator
from ..operators.array_backend import scale_columns
from ..operators.kernel_map import Kernel, KernelMap, symmetric_kernel
from ..solvers import Problem, Solver, Statistics, solve_statistics
from ..solvers.krylov_space import truncated_svd
from . import _partial_fit
from ._base import (
    BaseEmbedding,
    Features,
    all_or_nothing,
    invert,
    refuse_overflow,
    refuse_zero,
)
from ._options import SHARED, accept, solve
from ._partial_fit import Stream, add_batch, when_streaming, why_no_stream

__all__ = ["LSI"]

# The leading directions of a kernel are found by iteration where rows are this many times more.
_KERNEL_SHARE = 8
# Relative to squared eigenvalues: the directions are then right to about six digits.
_KERNEL_TOL = 1e-12


class LSI(BaseEmbedding):
    r"""Latent semantic indexing: the truncated SVD, without labels (yu2005, Eq. 1).

    Minimises ``|X - V A|^2`` over V with orthonormal columns. The space is that of
    scikit-learn's ``TruncatedSVD``, and with ``center=True`` that of ``PCA``; it is also
    :class:`MLSI` with ``beta=0``, up to one common scale.

    Parameters
    ----------
    n_components : int or None, default=None
        None keeps 100, or the rank where that is less.
    center : bool, default=False
        Whether to centre the columns; a sparse X stays sparse.
    kernel : str or callable, default="linear"
        "linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed", or a function
        of two rows. Anything but "linear" is solved in the dual, exactly, up to 5,000 rows.
    gamma, degree, coef0 : float
        Parameters of the kernel, as in scikit-learn's ``KernelPCA``.
    kernel_params : dict or None, default=None
        Parameters of a kernel that is a function.
    landmarks : int or None, default=None
        Number of rows that represent all rows in the kernel (Nystroem approximation), for data
        with more rows than the exact dual takes.
    solver : str or solver, default="auto"
        "exact" decomposes the data; "krylov" is a block Krylov method with a stated
        accuracy, for data where both n and d are large.
    tol : float or None, default=None
        For "krylov": stop when the estimated energy not yet found is below this fraction
        of the energy found; None is 6e-3.
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
    dual_coef_, X_fit_ : arrays of shape (n, m) and (n, d)
        With a kernel, instead of ``components_`` and ``mean_``.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of iterations; 1 for a direct solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, where X is a data frame.
    solver_ : str
        Name of the solver used.
    status_ : str
        Convergence message.

    See Also
    --------
    MLSI : With labels.
    sklearn.decomposition.TruncatedSVD : The same space.
    sklearn.decomposition.PCA : The same space where the columns are centred.

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

    @all_or_nothing
    @refuse_overflow
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the space from features.

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
        features = self._read_features(X)
        operator, means = self._center(features.operator, features.kernel_map)
        refuse_zero(self, operator)
        count = self._components(*operator.shape)
        solution = solve(self, Problem(operator, Factor(share=1.0), count))  # W, lambda
        # V = X W is orthonormal; the axes of LSI, sqrt(lambda) W, are orthonormal themselves.
        weights = scale_columns(solution.weights, np.sqrt(solution.eigenvalues))
        self._publish(features, weights, means, solution.eigenvalues, solution)
        return self

    def _components(self, rows: int, columns: int) -> int:
        most = min(rows - self.center, columns)
        return self._count(most, f"X has {rows} rows and {columns} columns", default=100)

    def _map_kernel(self, kernel: Kernel, reference: Any) -> tuple[KernelMap, Array]:
        """Compute only the leading coordinates, where LSI keeps only those."""
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
        # The directions are orthogonal to the constant, so centring removes the means.
        return KernelMap(kernel, reference, projection), svd.right * root + means @ projection

    @refuse_overflow
    def inverse_transform(self, Z: Any) -> Array:
        """Map points of the space back to features: the best reconstruction.

        Not available with a kernel.

        Parameters
        ----------
        Z : array of shape (n, m)
            Rows of the space.

        Returns
        -------
        X : array of shape (n, d)
            The features.
        """
        return invert(self, Z)

    # --- partial_fit ------------------------------------------------------------------

    @when_streaming
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one more batch of rows.

        Any split and any order of the rows gives the same result as :meth:`fit` on all of
        them. The space is computed when it is first used, with the parameters of that moment.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            At most 4,096 columns.
        y : ignored
            The labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        return add_batch(self, X)  # type: ignore[no-any-return]

    merge = when_streaming(_partial_fit.merge)

    def _why_no_stream(self) -> str | None:
        return why_no_stream(self)

    def _open_stream(self, operator: Operator, y: Any, classes: Any) -> Stream:
        return Stream.opened(self, np.zeros(0), None, operator.dtype, ())

    def _batch(self, X: Operator, y: Any, stream: Stream) -> tuple[Operator, Array, None]:
        return X, np.zeros((X.shape[0], 0)), None

    @refuse_overflow
    def _fit_statistics(self, stream: Stream, statistics: Statistics) -> None:
        """Set what ``fit`` sets, from the sums of a stream."""
        gram, _, _ = statistics.about(center=self.center)  # X'X
        count = self._components(statistics.n, gram.shape[0])
        factor = Factor(share=1.0)
        solution = solve_statistics(gram, None, factor, alpha=0.0, count=count, rows=statistics.n)
        accept(self, solution, count)
        weights = solution.weights * np.sqrt(solution.eigenvalues)
        means = statistics.x_mean * self.center
        features = Features(None, stream.dtype)
        self._publish(features, weights, means, solution.eigenvalues, solution)
