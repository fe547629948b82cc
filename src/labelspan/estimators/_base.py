"""The base class of all estimators: a linear or kernel map to a small space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._axis_ends import Ends, ends
from .._params import Constraint, check_params
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter, Mismatch
from ..operators import Operator, as_operator
from ..operators.array_backend import (
    as_block,
    contiguous,
    host,
    largest_entries,
    like,
    on_host,
    scaled_transpose,
)
from ..operators.convert import operator_or_none
from ..operators.kernel_map import Kernel, KernelMap, landmark_rows
from ..operators.row_data import canonical
from ..solvers import Solution

__all__ = [
    "BaseEmbedding",
    "Features",
    "all_or_nothing",
    "fixed_signs",
    "invert",
    "learned",
    "refuse_large_squares",
    "refuse_overflow",
    "refuse_zero",
    "snapshot",
    "squared_norm",
]

# Kernel coordinates that vary by less than this fraction of their size are constant.
_CONSTANT = 1e-12

# Types of numbers that are not converted.
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M")


# --- decorators ---------------------------------------------------------------------------


def all_or_nothing(method: F) -> F:
    """Run a method on a copy of its estimator, and publish the attributes in one assignment.

    A reader in another thread sees the fit before or the fit after, never a mixture; and a fit
    that fails, or is interrupted, leaves the estimator unchanged.
    """

    @wraps(method)
    def publishing(self: Any, *args: Any, **options: Any) -> Any:
        working = snapshot(self)
        working.__dict__ = dict(vars(self))
        result = method(working, *args, **options)
        self.__dict__ = working.__dict__
        return self if result is working else result

    return cast(F, publishing)


def snapshot(model: M) -> M:
    """Return an estimator with the attributes of this moment, whatever is fitted later."""
    still = object.__new__(type(model))
    still.__dict__ = vars(model)
    return still


def refuse_overflow(method: F) -> F:
    """Make a method raise :class:`InvalidInput` where numpy would continue with infinity."""

    @wraps(method)
    def refusing(self: Any, *args: Any, **options: Any) -> Any:
        try:
            with np.errstate(over="raise"):
                return method(self, *args, **options)
        # Sparse products overflow silently; the eigensolver then meets infinity.
        except (FloatingPointError, OverflowError, np.linalg.LinAlgError):
            raise InvalidInput(
                f"{type(self).__name__}: X or y holds numbers that are too large or too small "
                "to calculate with; rescale them, for example with scikit-learn's "
                "StandardScaler, and give float64 where they are float32."
            ) from None

    return cast(F, refusing)


def refuse_large_squares(X: Operator) -> None:
    """Raise where squared distances between rows overflow; for use under ``refuse_overflow``.

    A neighbour search among infinite distances finds nothing, or fails with an error of its own.
    """
    if not np.isfinite(4.0 * X.sum_of_squares()):
        raise FloatingPointError


# --- fitted attributes --------------------------------------------------------------------


class _Learned:
    """A fitted attribute. ``fit`` sets it on the instance, where Python finds it first.

    After ``partial_fit`` the instance holds only the stream; the attribute is then read
    from the solution of the stream for the present parameters.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        stream = None if model is None else vars(model).get("_stream")
        found = {} if stream is None else vars(stream.solved(model))
        if self._name in found:
            return found[self._name]
        kind = (owner or type(model)).__name__
        raise AttributeError(f"{kind!r} object has no attribute {self._name!r}")


def learned() -> Any:
    """Declare a fitted attribute that also exists after ``partial_fit``."""
    return _Learned()


@dataclass(frozen=True)
class Features:
    """X as an operator, as given or through a kernel; the operator is None in a stream."""

    operator: Any
    dtype: Any
    kernel_map: KernelMap | None = None

    def place(self, values: Array) -> Array:
        """Move fitted numbers to where X is: its device, or the host in the dtype of X."""
        if self.operator is None or self.operator.device is None:
            return contiguous(values, self.dtype)
        return cast(Array, self.operator.place(values))


# --- the base class -----------------------------------------------------------------------


class BaseEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear or kernel map to a small space, learned from features."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {}
    # Sparse formats that are used as they are; others are converted to the first.
    _sparse_formats: ClassVar[tuple[str, ...]] = ("csr", "csc", "coo")
    # Whether fit and transform take tensors and operators.
    _takes_operators: ClassVar[bool] = True
    _needs_labels: ClassVar[bool] = False

    n_components: Any
    center: bool
    # Estimators without these parameters are linear.
    kernel: Any = "linear"
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: Mapping[str, Any] | None
    landmarks: int | None = None
    random_state: int | np.random.RandomState | None

    components_: Array = learned()
    mean_: Array = learned()
    eigenvalues_: Array = learned()
    n_components_: int = learned()
    n_iter_: int | Array = learned()
    solver_: str = learned()
    status_: str = learned()
    dual_coef_: Array
    X_fit_: Any

    # --- input ------------------------------------------------------------------------

    @property
    def _linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_params(self) -> None:
        given = {name: getattr(self, name) for name in self._constraints}
        check_params(type(self).__name__, given, self._constraints)

    def _validate(self, X: Any, *, reset: bool, least: int = 1, check_finite: bool = True) -> Any:
        """Return X as an array, a sparse matrix or an operator, with ``least`` rows or more."""
        operator = operator_or_none(X) if self._takes_operators else None
        if operator is not None:
            self._validate_operator(operator, reset=reset, least=least)
            return operator
        if reset and not check_finite and _is_plain(X, least):
            # What scikit-learn does with such an array, in a tenth of the time of a small fit.
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X
        try:
            data = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=False if self._precomputed else self._sparse_formats,
                dtype=[np.float64, np.float32],
                ensure_min_samples=least,
                ensure_all_finite=check_finite,
            )
        except ValueError as error:
            raise InvalidInput(f"{type(self).__name__}: {error}") from None
        except TypeError as error:
            # scikit-learn's checks want its own error for objects that are not numbers.
            if getattr(getattr(X, "dtype", None), "kind", None) == "O":
                raise
            raise InvalidInput(
                f"{type(self).__name__}: {error}; X was {type(X).__name__}, and must be a "
                "two-dimensional array, a sparse matrix or a data frame of numbers."
            ) from None
        # Linear methods take products only, and as_operator sums duplicates itself.
        return data if self._linear and self._takes_operators else canonical(data)

    def _validate_operator(self, X: Operator, *, reset: bool, least: int) -> None:
        owner = type(self).__name__
        rows, columns = X.shape
        if rows < least:
            raise InvalidInput(f"{owner}: X has {rows} row(s); at least {least} are needed.")
        if reset:
            self.n_features_in_ = columns
            self.__dict__.pop("feature_names_in_", None)
        elif columns != self.n_features_in_:
            raise InvalidInput(
                f"{owner}: X has {columns} features, but fit had {self.n_features_in_}."
            )
        if not np.isfinite(X.sum_of_squares()):
            raise InvalidInput(f"{owner}: X contains NaN or infinity, or numbers too large.")

    def _read_features(self, X: Any) -> Features:
        """Validate X of ``fit``; with a kernel, map it to coordinates."""
        # Centring needs the column sums, which are finite only where every entry is: one pass.
        by_sums = self._linear and bool(self.center) and isinstance(X, np.ndarray)
        data = self._validate(X, reset=True, least=2, check_finite=not by_sums)
        if self._linear:
            if self.landmarks is not None:
                raise InvalidParameter(
                    f"{type(self).__name__}: landmarks={self.landmarks} has no meaning for "
                    "kernel='linear'; leave it at None, or choose another kernel."
                )
            operator = as_operator(data)
            if by_sums and not np.isfinite(operator.column_means()).all():
                # Where only the sums overflow, this passes.
                with np.errstate(invalid="ignore"):
                    self._validate(X, reset=True, least=2)
            return Features(operator, data.dtype)
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
        # In float64: the shortest coordinates are near the rounding of float32 data.
        coordinates = coordinates.astype(np.float64, copy=False)
        return Features(as_operator(coordinates), data.dtype, kernel_map)

    def _map_kernel(self, kernel: Kernel, reference: Any) -> tuple[KernelMap, Array]:
        """Return the map from a kernel to features, and the features of the reference rows."""
        return KernelMap.of(kernel, reference, center=self.center)

    def _center(self, X: Operator, kernel_map: KernelMap | None = None) -> tuple[Operator, Array]:
        """Return X, centred where the estimator centres, and the means that were subtracted."""
        if not self.center:
            return X, np.zeros(X.shape[1])
        return (X if kernel_map is None else _flatten_rounding(X)).centered()

    def _count(self, most: int, reason: str, default: int) -> int:
        """Return the number of components to look for; ``reason`` says what limits it."""
        owner = type(self).__name__
        if most == 0:
            raise InvalidInput(f"{owner}: there is no direction to find, because {reason}.")
        if self.n_components is None or isinstance(self.n_components, str):
            return min(default, most)
        if self.n_components > most:
            raise InvalidParameter(
                f"{owner}: n_components={self.n_components} is too large; the maximum is {most}, "
                f"because {reason}."
            )
        return int(self.n_components)

    # --- output -----------------------------------------------------------------------

    def _publish(
        self,
        features: Features,
        weights: Array,
        means: Array,
        eigenvalues: Array,
        solution: Solution | None = None,
    ) -> Array:
        """Set the fitted attributes, with signs fixed; return the signs."""
        self._forget()
        kernel_map = features.kernel_map
        self._kernel_map = kernel_map
        if kernel_map is None:
            signs = fixed_signs(weights)
            self.components_ = features.place(scaled_transpose(weights, signs))
            self.mean_ = features.place(means)
        else:
            visible = kernel_map.projection @ weights
            signs = fixed_signs(visible)
            self.dual_coef_ = (visible * signs).astype(features.dtype)
            self.X_fit_ = kernel_map.reference
            self._offset = (means @ (weights * signs)).astype(features.dtype)
        self.eigenvalues_ = eigenvalues
        self.n_components_ = eigenvalues.size
        if solution is not None:
            self.solver_ = solution.solver
            self.status_ = solution.status
            self.n_iter_ = max(1, solution.n_iter)
        return signs

    def _forget(self) -> None:
        """Remove what an earlier fit or stream has left."""
        kept = {"n_features_in_", "feature_names_in_"}
        for name in vars(self).keys() - kept:
            if name.endswith("_") or name in {"_stream", "_kernel_map", "_offset"}:
                del self.__dict__[name]

    def _fitted(self) -> Self:
        """Return what holds the fitted attributes: itself, or the solution of its stream."""
        check_is_fitted(self)
        stream = vars(self).get("_stream")
        return self if stream is None else stream.solved(self)

    @refuse_overflow
    def transform(self, X: Any) -> Array:
        """Map rows to the learned space.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            With ``kernel="precomputed"``, the kernel between the rows and those of ``fit``.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``; with a kernel, ``k(X, X_fit_) @ dual_coef_`` minus
            the mean.
        """
        fitted = self._fitted()
        data = self._validate(X, reset=False)
        kernel_map = vars(fitted).get("_kernel_map")
        if kernel_map is not None:
            values = kernel_map.kernel(data, fitted.X_fit_)
            return np.asarray(
                values.astype(fitted.dual_coef_.dtype) @ fitted.dual_coef_ - fitted._offset
            )
        rows = as_operator(data)
        if self.center:
            rows = rows.shifted(host(fitted.mean_))
        return rows.matmat(fitted.components_.T)

    def top_features(
        self, component: int, n: int = 10, *, names: Sequence[Any] | Array | None = None
    ) -> Ends:
        """Return the features at both ends of an axis.

        Parameters
        ----------
        component : int
            The axis, counted from 0.
        n : int, default=10
            Maximum number of features at each end.
        names : sequence or None, default=None
            Names of the features, for example a vectorizer's ``get_feature_names_out()``; None
            uses those of ``fit``, or the column numbers.

        Returns
        -------
        Ends
            With fields ``high`` and ``low``, lists of ``(name, weight)``.
        """
        components = self._feature_weights("top_features")
        if names is None:
            names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.arange(components.shape[1])
        return ends(type(self).__name__, components, names, component, n)

    def _feature_weights(self, wanted_by: str) -> Array:
        """Return ``components_`` on the host; a kernel has none."""
        fitted = self._fitted()
        if vars(fitted).get("_kernel_map") is not None:
            raise InvalidInput(
                f"{type(self).__name__}: {wanted_by} needs weights on features, which "
                f"kernel={self.kernel!r} does not have; use kernel='linear'."
            )
        return on_host(fitted.components_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._precomputed
        tags.input_tags.pairwise = self._precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = self._needs_labels
        tags.target_tags.multi_output = self._needs_labels
        return tags


# --- functions ----------------------------------------------------------------------------


def _is_plain(X: Any, least: int) -> bool:
    """Return whether X is an array that is used as it is, whatever its entries are."""
    return (
        type(X) is np.ndarray
        and X.dtype in _PLAIN
        and X.ndim == 2
        and X.shape[0] >= least
        and X.shape[1] > 0
    )


def fixed_signs(weights: Array) -> Array:
    """Return the signs that make the largest entry of each column positive."""
    return np.where(largest_entries(weights) < 0, -1.0, 1.0)


def squared_norm(model: BaseEmbedding, X: Operator) -> float:
    """Return the squared Frobenius norm of X, centred where it is; refuse zero."""
    square = X.sum_of_squares()
    if not square > 0:
        refuse_zero(model, X)
    return square


def refuse_zero(model: BaseEmbedding, X: Operator) -> None:
    """Raise where X, centred where it is, is zero."""
    if X.is_zero():
        what = "all rows of X are equal" if model.center else "X holds only zeros"
        raise InvalidInput(f"{type(model).__name__}: {what}, so there is no direction to find.")


def invert(model: BaseEmbedding, Z: Any) -> Array:
    """Return the features of minimum norm, relative to the mean, that map to Z."""
    components = model._feature_weights("inverse_transform")
    latent = as_block(Z)
    m = components.shape[0]
    if latent.ndim != 2 or latent.shape[1] != m:
        raise InvalidInput(
            f"{type(model).__name__}: inverse_transform takes points of the space, "
            f"with {m} columns, but an array of shape {tuple(latent.shape)} was given."
        )
    wide = components.astype(np.float64)
    back = np.linalg.solve(wide @ wide.T, wide).astype(components.dtype)
    found: Array = latent @ like(back, latent) + like(on_host(model._fitted().mean_), latent)
    return found


def _flatten_rounding(X: Operator) -> Operator:
    """Make kernel coordinates constant where they vary only by rounding.

    Equal rows, or an even design, have coordinates that hold only rounding, which a
    solver could not distinguish from a feature in small units.
    """
    values = X.toarray()
    constant = np.ptp(values, axis=0) <= _CONSTANT * np.abs(values).max(axis=0)
    if not constant.any():
        return X
    values[:, constant] = values[0, constant]
    return as_operator(values)
