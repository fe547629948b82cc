"""What every estimator of the one idea shares: kernels, solving, and naming results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from .._params import Constraint
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from ..labels import Factor
from ..operators import Operator, as_operator
from ..operators.array_backend import is_tensor, like, on_host
from ..operators.kernel_map import Kernel, KernelMap, landmark_rows
from ..solvers import Problem, Solution, Solver
from ..solvers.penalties import L2, Penalty
from .constraints import SHARED
from .overflow import refuse_large_squares, refuse_overflow
from .solving import Solving
from .space import Space, fixed_signs, read_features

__all__ = ["Features", "Invertible", "SpaceEstimator"]

# Coordinates under a kernel that vary by less than this share of their size are constant.
_STEADY = 1e-12


@dataclass(frozen=True)
class Features:
    """X as an operator: as it came, or through a kernel."""

    operator: Operator
    dtype: Any
    kernel_map: KernelMap | None = None


class SpaceEstimator(Space):
    """Base of LSI, MLSI and the thin-factor methods: a map to a small space."""

    _constraints: ClassVar[Mapping[str, Constraint]] = SHARED

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

    dual_coef_: Array
    solver_: str
    n_iter_: int | Array

    # --- features ---------------------------------------------------------------------

    @property
    def _linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _validate(self, X: Any, *, reset: bool, least: int = 1) -> Any:
        if isinstance(X, Operator) or is_tensor(X):
            return self._validate_operator(as_operator(X), reset=reset, least=least)
        if not (isinstance(self.kernel, str) and self.kernel == "precomputed"):
            return super()._validate(X, reset=reset, least=least)
        return read_features(self, X, reset=reset, least=least, sparse=False)

    def _validate_operator(self, X: Operator, *, reset: bool, least: int) -> Operator:
        owner = type(self).__name__
        rows, columns = X.shape
        if rows < least:
            raise InvalidInput(f"{owner}: X has {rows} row(s); at least {least} are needed.")
        if reset:
            self.n_features_in_ = columns
            self.__dict__.pop("feature_names_in_", None)
        elif columns != self.n_features_in_:
            raise InvalidInput(
                f"{owner}: X has {columns} features, but {self.n_features_in_} were learned from."
            )
        if not np.isfinite(X.sum_of_squares()):
            raise InvalidInput(f"{owner}: X contains NaN or infinity, or numbers too large.")
        return X

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
        if isinstance(data, Operator):
            raise Mismatch(
                f"{type(self).__name__}: kernel={self.kernel!r} takes arrays and sparse matrices, "
                "but X is a tensor or an operator; use kernel='linear'."
            )
        refuse_large_squares(as_operator(data))
        kernel = Kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)
        rng = check_random_state(self.random_state)
        reference = landmark_rows(type(self).__name__, kernel, data, self.landmarks, rng)
        kernel_map, coordinates = self._map_kernel(kernel, reference)
        if reference is not data:
            coordinates = kernel_map.features(data)
        coordinates = coordinates.astype(data.dtype, copy=False)
        return Features(as_operator(coordinates), data.dtype, kernel_map)

    def _map_kernel(self, kernel: Kernel, reference: Any) -> tuple[KernelMap, Array]:
        """The map by which a kernel becomes features, and those of the reference rows."""
        return KernelMap.of(kernel, reference)

    def _center(self, X: Operator, kernel_map: KernelMap | None = None) -> tuple[Operator, Array]:
        """X centred where the estimator centres, and the row that was taken off."""
        if not self.center:
            return X, np.zeros(X.shape[1])
        return (X if kernel_map is None else _steady(X)).centered()

    # --- solving ----------------------------------------------------------------------

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
        home: Operator | None = None,
    ) -> Array:
        """Set what ``fit`` learned, signs fixed, all at once; gives back the signs."""
        for stale in ("components_", "mean_", "dual_coef_", "X_fit_", "_offset"):
            # An earlier fit may have been of the other kind.
            self.__dict__.pop(stale, None)
        self._kernel_map = kernel_map
        if kernel_map is None:
            signs = self._set_map(weights, means, solution.eigenvalues, dtype, home)
        else:
            visible = kernel_map.projection @ weights
            signs = fixed_signs(visible)
            self.dual_coef_ = (visible * signs).astype(dtype)
            self.X_fit_ = kernel_map.reference
            self._offset = (means @ (weights * signs)).astype(dtype)
            self.eigenvalues_ = solution.eigenvalues
            self.n_components_ = solution.eigenvalues.size
        self.solver_ = solution.solver
        self.status_ = solution.status
        self.n_iter_ = max(1, solution.n_iter)
        return signs

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
        return super().transform(X)

    def _project(self, data: Any) -> Array:
        if self._kernel_map is None:
            return super()._project(data)
        values = self._kernel_map.kernel(data, self.X_fit_).astype(self.dual_coef_.dtype)
        return np.asarray(values @ self.dual_coef_ - self._offset)

    def _linear_components(self, asked_for: str) -> Array:
        if self._kernel_map is not None:
            raise InvalidInput(
                f"{type(self).__name__}: {asked_for} needs weights on features, and "
                f"kernel={self.kernel!r} has none; use kernel='linear'."
            )
        return super()._linear_components(asked_for)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def _steady(X: Operator) -> Operator:
    """Coordinates under a kernel, those that vary by rounding alone made constant.

    Rows that are equal, or a design that is even, have coordinates with nothing else in
    them, and no solver could tell that from a feature in small units.
    """
    values = X.toarray()
    still = np.ptp(values, axis=0) <= _STEADY * np.abs(values).max(axis=0)
    if not still.any():
        return X
    values[:, still] = values[0, still]
    return as_operator(values)


class Invertible(SpaceEstimator):
    """For spaces that keep the features: a way back to them."""

    def _square(self, X: Operator) -> float:
        """The squared norm of X, centred where it is; refused where it is zero."""
        square = X.sum_of_squares()
        if not square > 0:
            what = "all rows of X are equal" if self.center else "X holds nothing but zeros"
            raise InvalidInput(
                f"{type(self).__name__}: {what}, so that there is no direction to find."
            )
        return square

    @refuse_overflow
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
        components = self._linear_components("inverse_transform")
        latent = Z if is_tensor(Z) else np.asarray(Z)
        m = components.shape[0]
        if latent.ndim != 2 or latent.shape[1] != m:
            raise InvalidInput(
                f"{type(self).__name__}: inverse_transform takes points of the space, "
                f"with {m} columns, but an array of shape {tuple(latent.shape)} was given."
            )
        wide = components.astype(np.float64)
        back = np.linalg.solve(wide @ wide.T, wide).astype(components.dtype)
        found: Array = latent @ like(back, latent) + like(on_host(self.mean_), latent)
        return found
