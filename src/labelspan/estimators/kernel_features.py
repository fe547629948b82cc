"""Kernels as features: rows become coordinates whose inner products are the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import lapack
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._params import Constraint, Either, Integer, Null, OneOf, Real, check_params
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, LabelspanWarning, warn_caller
from ..operators import as_operator
from ..operators.digits import rank_tolerance
from ..operators.row_data import far_means, less_means, product, translated
from ..operators.sparse import canonical
from .options import SHARED, described
from .training import FITTED_WITH, few_threads, fitting, refuse_large_squares, refuse_overflow

__all__ = ["FUNCTION", "InstanceOf", "KernelFeatures"]

KERNELS = ("linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed")
# Maximum number of rows for which the n x n kernel matrix and its eigenvectors are formed:
# 5,000 x 5,000 in float64 is 191 MiB.
_LIMIT = 5000
# Relative asymmetry, and negative eigenvalues, that rounding can explain.
_ASYMMETRY = 1e-6
_NEGATIVE = 1e-8
# Squared Cholesky pivots above this fraction of the largest are not rounding.
_SAFE = 1e-8


@dataclass(frozen=True)
class InstanceOf:
    """Accept objects of one type."""

    kind: Any
    name: str

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.kind)

    def describe(self) -> str:
        return self.name


FUNCTION = InstanceOf(Callable, "a function of two rows")


@described
class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Features whose inner products are a kernel.

    In a pipeline before a linear method, they give its kernel version. That estimator centres the
    features, as kernel PCA centres the kernel matrix. If a function is not positive semi-definite,
    such as the sigmoid, its positive part is used.

    Special cases: followed by :class:`LSI` with ``center=True`` it is kernel PCA, by :class:`CCA`
    kernel CCA, and by :class:`MLSI` the dual form of yu2005.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "precomputed", or a function of
        two rows; use ``functools.partial`` to set its parameters.
    gamma, degree, coef0 : float
        Parameters of the kernel, as in scikit-learn's ``KernelPCA``.
    landmarks : int or None, default=None
        Number of random rows that represent all rows (Nystroem approximation). None uses all
        rows, which is exact, for at most 5,000 rows.
    random_state : int, RandomState or None, default=0
        Seed of the choice of landmarks.

    Attributes
    ----------
    X_fit_ : array or sparse matrix of shape (r, d)
        The training rows, or the landmarks among them.
    projection_ : array of shape (r, m)
        The coordinates of rows X are ``k(X, X_fit_) @ projection_``.
    origin_ : array of shape (d,) or None
        For the linear kernel of rows far from zero: their mean, which is subtracted from X and
        ``X_fit_`` before the products; ``origin_coordinates_``, its own coordinates, are added
        to those of the rows.
    {features}

    See Also
    --------
    sklearn.decomposition.KernelPCA : Kernel PCA, ``make_pipeline(KernelFeatures(), LSI(...))``.
    sklearn.kernel_approximation.Nystroem : Only the approximation; it keeps null directions, which
        methods without a penalty would use.

    Notes
    -----
    With the kernel matrix of the fit

    .. math:: K = U \Gamma U^\top, \qquad \phi(x) = k(x, X) U \Gamma^{-1/2}

    the inner products of :math:`\phi` are the kernel: exactly between training rows, and
    approximately with landmarks. Here :math:`\phi` is rotated, which does not change
    the result of linear methods.

    References
    ----------
    .. [1] Williams and Seeger. Using the Nystroem method to speed up kernel machines. Advances in
       Neural Information Processing Systems 13, 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.pipeline import make_pipeline
    >>> from labelspan import LDA, KernelFeatures
    >>> X, y = make_circles(100, factor=0.3, noise=0.05, random_state=0)
    >>> Z = make_pipeline(KernelFeatures("rbf"), LDA()).fit_transform(X, y)
    >>> bool(Z[y == 0].max() < Z[y == 1].min() or Z[y == 1].max() < Z[y == 0].min())
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "kernel": Either((OneOf(KERNELS), FUNCTION)),
        "gamma": Either((Real(0.0), Null())),
        "degree": Real(0.0),
        "coef0": Real(float("-inf")),
        "landmarks": Either((Integer(1), Null())),
        "random_state": SHARED["random_state"],
    }

    origin_: Array | None
    origin_coordinates_: Array

    def __init__(
        self,
        kernel: str | Callable[..., float] = "rbf",
        *,
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        landmarks: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decompose the kernel between the rows.

        Parameters
        ----------
        X, y : features, and labels, which are ignored
            As in :meth:`fit_transform`.

        Returns
        -------
        self
            The fitted transformer.
        """
        self.fit_transform(X)
        return self

    @fitting
    @few_threads
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Decompose the kernel between the rows, and return their coordinates.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features; for "precomputed", the kernel between the rows, of shape (n, n).
        y : ignored
            The labels.

        Returns
        -------
        Z : array of shape (n, m)
            The coordinates, in float64.
        """
        given = {name: getattr(self, name) for name in self._constraints}
        check_params("KernelFeatures", given, self._constraints)
        rows = self._rows(X, reset=True)
        refuse_large_squares(as_operator(rows))
        reference = self._reference(rows)
        # Far from zero, inner products would keep the mean only.
        self.origin_ = far_means(reference) if self.kernel == "linear" else None
        gram = self._values(reference, reference)
        self._check_kernel(gram, reference)
        projection, coordinates = _decomposed((gram + gram.T) / 2, _null(reference))
        self.projection_ = projection
        # A copy: the array of the caller may change after the fit.
        self.X_fit_ = reference.copy() if reference is rows else reference
        if self.origin_ is not None:
            self.origin_coordinates_ = self._origin_coordinates(_null(reference))
        if reference is not rows:
            coordinates = self._values(rows, reference) @ projection
        return self._from_origin(coordinates)

    @refuse_overflow
    @few_threads
    def transform(self, X: Any) -> Array:
        """Return the coordinates of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features; for "precomputed", the kernel between the rows and those of ``fit``.

        Returns
        -------
        Z : array of shape (n, m)
            ``k(X, X_fit_) @ projection_``, in float64.
        """
        check_is_fitted(self)
        fitted = object.__new__(type(self))
        # Parameters that were set since then count from the next fit on.
        fitted.__dict__ = {**self.__dict__, **self.__dict__.get(FITTED_WITH, {})}
        rows = fitted._rows(X)
        return fitted._from_origin(fitted._values(rows, fitted.X_fit_) @ fitted.projection_)

    def _origin_coordinates(self, null: float) -> Array:
        """Return the coordinates of the origin: in the directions of the rows, and beyond."""
        assert self.origin_ is not None
        rows = less_means(self.X_fit_, self.origin_)
        inside = self.projection_.T @ product(rows, self.origin_[:, None])[:, 0]
        square = float(self.origin_ @ self.origin_)
        rest = square - float(inside @ inside)
        # One constant more, unless that is rounding.
        return np.append(inside, np.sqrt(rest)) if rest > null * square else np.asarray(inside)

    def _from_origin(self, coordinates: Array) -> Array:
        """Return coordinates about zero from those about the origin."""
        if self.origin_ is None:
            return coordinates
        more = self.origin_coordinates_.size - coordinates.shape[1]
        return np.pad(coordinates, ((0, 0), (0, more))) + self.origin_coordinates_

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        sparse = ("csr", "csc", "coo") if self.kernel != "precomputed" else False
        try:
            data = validate_data(
                self, X, reset=reset, accept_sparse=sparse, dtype=[np.float64, np.float32]
            )
        except ValueError as error:
            raise InvalidInput(f"KernelFeatures: {error}") from None
        return canonical(data)

    def _values(self, left: Any, right: Any) -> Array:
        """Return the kernel between the rows of two sets, in float64."""
        from sklearn.metrics.pairwise import pairwise_kernels  # noqa: PLC0415 - slow to import

        if self.kernel == "precomputed":
            return np.asarray(left, dtype=np.float64)
        options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        named = not callable(self.kernel)
        if self.kernel == "rbf":
            # Distances stay the same, but have more correct digits.
            right, left = translated(right, right if left is right else left)
        elif self.kernel == "linear" and self.origin_ is not None:
            left, right = less_means(left, self.origin_), less_means(right, self.origin_)
        if not named:
            options = {}
        values = pairwise_kernels(left, right, metric=self.kernel, filter_params=named, **options)
        return np.asarray(values, dtype=np.float64)

    def _reference(self, rows: Any) -> Any:
        """Return all rows, or a random sample if landmarks are given."""
        count, landmarks = rows.shape[0], self.landmarks
        if self.kernel == "precomputed":
            if landmarks is not None:
                raise InvalidParameter(
                    f"KernelFeatures: landmarks={landmarks} cannot be used with "
                    "kernel='precomputed'; pass the rows themselves and the name of a kernel."
                )
            if rows.shape[1] != count:
                raise InvalidInput(
                    "KernelFeatures: kernel='precomputed' takes a square matrix in fit, "
                    f"but X has shape {rows.shape}."
                )
            return rows
        if landmarks is None:
            if count > _LIMIT:
                raise InvalidInput(
                    f"KernelFeatures: kernel={self.kernel!r} on {count} rows would form a {count} "
                    f"x {count} array, above the limit of {_LIMIT}; give landmarks (Nystroem), "
                    "for example landmarks=1000."
                )
            return rows
        if landmarks > count:
            raise InvalidParameter(
                f"KernelFeatures: landmarks={landmarks} exceeds the {count} rows of X; "
                "use fewer, or None for all."
            )
        order = check_random_state(self.random_state).permutation(count)
        return rows[np.sort(order[:landmarks])]

    def _check_kernel(self, gram: Array, rows: Any) -> None:
        """Raise an error if a given matrix is not symmetric; warn if it is indefinite."""
        if not callable(self.kernel) and self.kernel != "precomputed":
            return
        name = getattr(self.kernel, "__name__", self.kernel)
        what = f"KernelFeatures: kernel={name!r}: the kernel matrix"
        largest, difference = np.abs(gram).max(), np.abs(gram - gram.T).max()
        bound = max(_ASYMMETRY, 10 * _null(rows)) * largest
        if name == "precomputed" and difference > bound:
            raise InvalidInput(
                f"{what} must be symmetric, but it differs from its transpose by up to "
                f"{difference:.3g}, and its largest entry is {largest:.3g}; give (K + K.T) / 2 if "
                "both directions mean the same."
            )
        slack = max(_NEGATIVE, 10 * _null(rows)) * float(np.linalg.norm(gram))
        shifted = (gram + gram.T) / 2 + slack * np.eye(gram.shape[0])
        # A Cholesky factor costs a tenth of the eigenvalues, and exists unless the matrix is
        # indefinite.
        if not lapack.dpotrf(shifted, lower=1, overwrite_a=1)[1]:
            return
        values = np.linalg.eigvalsh((gram + gram.T) / 2)
        if -values[0] > slack:
            warn_caller(
                f"{what} is not positive semi-definite: its eigenvalues lie between "
                f"{values[0]:.3g} and {values[-1]:.3g}. Directions with negative eigenvalues are "
                "left out; use a positive semi-definite kernel, or add "
                f"{-values[0]:.3g} to the diagonal.",
                LabelspanWarning,
            )

    @property
    def _n_features_out(self) -> int:
        found = self.projection_.shape[1] if self.origin_ is None else self.origin_coordinates_.size
        return int(found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = not pairwise
        tags.input_tags.pairwise = pairwise
        # Coordinates are in float64: the shortest are near the rounding of float32 data.
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _null(rows: Any) -> float:
    """Return the fraction of the largest eigenvalue below which others are rounding.

    The rows of a kernel have one unit, and are not scaled: the positive part of a function that is
    not a kernel would be another one.
    """
    return rank_tolerance(rows.dtype, (rows.shape[0], rows.shape[0]))


def _decomposed(gram: Array, null: float) -> tuple[Array, Array]:
    """Return P and L with ``L = K P`` and ``K = L L'``.

    Uses a Cholesky factor if K is safely positive definite, which costs a tenth of
    the eigenvectors, and otherwise the eigenvectors without null directions.
    """
    lower, failed = lapack.dpotrf(gram, lower=1, clean=1)
    pivots = np.square(np.diag(lower))
    if not failed and pivots.min() > max(_SAFE, 10 * null) * pivots.max():
        inverse, _ = lapack.dtrtri(lower, lower=1)
        return inverse.T, lower
    values, vectors = np.linalg.eigh(gram)
    keep = values > null * max(values[-1], 0.0)
    if not keep.any():
        raise InvalidInput(
            "KernelFeatures: no eigenvalue of the kernel matrix is above zero; "
            "choose another kernel or gamma."
        )
    root = np.sqrt(values[keep])
    projection, coordinates = vectors[:, keep] / root, vectors[:, keep] * root
    # Use the axes of the centred rows, one of which may be constant: on other axes, rows
    # that are centred later would be almost exactly dependent if the kernel is nearly singular.
    centred = coordinates - coordinates.mean(axis=0)
    lengths, axes = np.linalg.eigh(centred.T @ centred)
    projection, coordinates = projection @ axes, coordinates @ axes
    constant = lengths <= null * values[-1]
    coordinates[:, constant] = coordinates[:, constant].mean(axis=0)
    return projection, coordinates
