"""What every estimator of the family shares: reading features, and naming results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import InvalidInput, InvalidParameter
from ..factors import Factor
from ..operators import Operator, as_operator
from ..operators.base import Array
from ..operators.kernels import Kernel, KernelMap, landmark_rows
from ..penalties import L2, Penalty
from ..solvers import Problem, Solution, Solver
from ..validation.params import Constraint, check_params
from .constraints import SHARED
from .reading import Ends, ends
from .solving import Solving

__all__ = ["Features", "Invertible", "Limit", "SpaceEstimator"]


@dataclass(frozen=True)
class Features:
    """X as an operator: as it came, or through a kernel."""

    operator: Operator
    dtype: Any
    kernel_map: KernelMap | None = None


@dataclass(frozen=True)
class Limit:
    """The most directions a problem has, and what limits them."""

    count: int
    reason: str
    default: int


class SpaceEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of LSI, MLSI and the thin-factor methods: a map to a small space."""

    _constraints: ClassVar[Mapping[str, Constraint]] = SHARED

    n_components: int | None
    center: bool
    kernel: Any
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: Mapping[str, Any] | None
    landmarks: int | None
    solver: str | Solver
    tol: float | None
    max_iter: int | None
    random_state: int | np.random.RandomState | None

    components_: Array
    dual_coef_: Array
    eigenvalues_: Array
    mean_: Array
    n_components_: int
    solver_: str
    status_: str
    n_iter_: int | Array

    def _check_params(self) -> None:
        given = {name: getattr(self, name) for name in self._constraints}
        check_params(type(self).__name__, given, self._constraints)

    # --- features ---------------------------------------------------------------------

    @property
    def _linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _validate(self, X: Any, *, reset: bool, least: int = 1) -> Any:
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=False if self.kernel == "precomputed" else ("csr", "csc", "coo"),
            dtype=[np.float64, np.float32],
            ensure_min_samples=least,
        )

    def _open(self, X: Any) -> Features:
        """Validate X; with a kernel, map it to coordinates."""
        data = self._validate(X, reset=True, least=2)
        if self._linear:
            if self.landmarks is not None:
                raise InvalidParameter(
                    f"{type(self).__name__}: landmarks={self.landmarks} has no meaning for "
                    "kernel='linear'; leave it at None, or choose another kernel."
                )
            return Features(as_operator(data), data.dtype)
        kernel = Kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)
        rng = check_random_state(self.random_state)
        reference = landmark_rows(type(self).__name__, kernel, data, self.landmarks, rng)
        kernel_map = KernelMap(kernel, reference)
        coordinates = kernel_map.features(data).astype(data.dtype)
        return Features(as_operator(coordinates), data.dtype, kernel_map)

    def _center(self, X: Operator) -> tuple[Operator, Array]:
        """X centred where the estimator centres, and the row that was taken off."""
        return X.centered() if self.center else (X, np.zeros(X.shape[1]))

    # --- solving ----------------------------------------------------------------------

    def _count(self, limit: Limit) -> int:
        """The number of components to look for."""
        owner = type(self).__name__
        if limit.count == 0:
            raise InvalidInput(f"{owner}: there is no direction to find, for {limit.reason}.")
        if self.n_components is None:
            return min(limit.default, limit.count)
        if self.n_components > limit.count:
            raise InvalidParameter(
                f"{owner}: n_components={self.n_components} is too large; at most {limit.count} "
                f"can be had, for {limit.reason}."
            )
        return int(self.n_components)

    @property
    def _solving(self) -> Solving:
        return Solving(
            type(self).__name__,
            self.n_components,
            self.solver,
            self.tol,
            self.max_iter,
            self.random_state,
        )

    def _solve(
        self, X: Operator, factor: Factor, count: int, penalty: Penalty | None = None
    ) -> Solution:
        return self._solving.solve(Problem(X, factor, count, penalty or L2()))

    # --- results ----------------------------------------------------------------------

    def _publish(
        self,
        means: Array,
        solution: Solution,
        weights: Array,
        *,
        dtype: Any,
        kernel_map: KernelMap | None = None,
    ) -> Array:
        """Set what ``fit`` learned, signs fixed, all at once; gives back the signs."""
        visible = weights if kernel_map is None else kernel_map.projection @ weights
        largest = np.abs(visible).argmax(axis=0)
        signs = np.where(visible[largest, np.arange(visible.shape[1])] < 0, -1.0, 1.0)
        for stale in ("components_", "mean_", "dual_coef_", "X_fit_", "_offset"):
            # An earlier fit may have been of the other kind.
            self.__dict__.pop(stale, None)
        self._kernel_map = kernel_map
        if kernel_map is None:
            self.components_ = np.ascontiguousarray((weights * signs).T, dtype=dtype)
            self.mean_ = means.astype(dtype)
        else:
            self.dual_coef_ = (visible * signs).astype(dtype)
            self.X_fit_ = kernel_map.reference
            self._offset = (means @ (weights * signs)).astype(dtype)
        self.eigenvalues_ = solution.eigenvalues
        self.n_components_ = solution.eigenvalues.size
        self.solver_ = solution.solver
        self.status_ = solution.status
        self.n_iter_ = max(1, solution.n_iter)
        return signs

    def _ready(self) -> None:
        """See that there are results to use."""
        check_is_fitted(self)

    def transform(self, X: Any) -> Array:
        """Map rows to the learned space.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            With ``kernel="precomputed"``, the kernel between the rows and those of ``fit``.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``; with a kernel, ``k(X, X_fit_) @ dual_coef_`` less
            the mean.
        """
        self._ready()
        data = self._validate(X, reset=False)
        if self._kernel_map is not None:
            values = self._kernel_map.kernel(data, self.X_fit_).astype(self.dual_coef_.dtype)
            return np.asarray(values @ self.dual_coef_ - self._offset)
        operator = as_operator(data)
        if self.center:
            operator = operator.shifted(self.mean_)
        return operator.matmat(self.components_.T)

    def top_features(
        self, component: int, n: int = 10, *, names: Sequence[Any] | Array | None = None
    ) -> Ends:
        """The features at both ends of an axis.

        Parameters
        ----------
        component : int
            The axis, counted from 0.
        n : int, default=10
            How many at each end, at most.
        names : sequence or None, default=None
            Names of the features, say a vectoriser's ``get_feature_names_out()``; None takes
            those of ``fit``, or the columns' numbers.

        Returns
        -------
        Ends
            With fields ``high`` and ``low``, lists of ``(name, weight)``.
        """
        self._ready()
        components = linear_components(self, "top_features")
        if names is None:
            names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.arange(components.shape[1])
        return ends(type(self).__name__, components, names, component, n)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Invertible(SpaceEstimator):
    """For spaces that keep the features: a way back to them."""

    def inverse_transform(self, Z: Any) -> Array:
        """The smallest features, off the mean, that ``transform`` maps to given points.

        For LSI that is the best reconstruction. A kernel has no way back.

        Parameters
        ----------
        Z : array of shape (n, m)

        Returns
        -------
        X : array of shape (n, d)
        """
        self._ready()
        components = linear_components(self, "inverse_transform")
        latent = np.asarray(Z)
        m = components.shape[0]
        if latent.ndim != 2 or latent.shape[1] != m:
            raise InvalidInput(
                f"{type(self).__name__}: inverse_transform takes points of the space, "
                f"with {m} columns, but an array of shape {latent.shape} was given."
            )
        wide = components.astype(np.float64)
        back = np.linalg.solve(wide @ wide.T, wide).astype(components.dtype)
        return np.asarray(latent @ back + self.mean_)


def linear_components(estimator: Any, asked_for: str) -> Array:
    """``components_``, or one sentence where a kernel leaves none."""
    if estimator._kernel_map is not None:
        raise InvalidInput(
            f"{type(estimator).__name__}: {asked_for} needs weights on features, and "
            f"kernel={estimator.kernel!r} has none; use kernel='linear'."
        )
    return np.asarray(estimator.components_)
