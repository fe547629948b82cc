"""The base class of all estimators: a linear map to a small space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._axis_ends import Ends, ends
from .._params import Constraint, check_params
from .._typing import Array
from ..errors import InvalidInput, LabelspanWarning, warn_caller
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
from ..operators.row_data import canonical
from ..solvers import Solution

__all__ = [
    "BaseEmbedding",
    "Features",
    "all_or_nothing",
    "fixed_signs",
    "invert",
    "refuse_large_squares",
    "refuse_overflow",
    "snapshot",
    "squared_norm",
]

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


@dataclass(frozen=True)
class Features:
    """X as an operator, None in a stream, and the type of its numbers."""

    operator: Any
    dtype: Any

    def place(self, values: Array) -> Array:
        """Move fitted numbers to where X is: its device, or the host in the dtype of X."""
        if self.operator is None or self.operator.device is None:
            return contiguous(values, self.dtype)
        return cast(Array, self.operator.place(values))


# --- the base class -----------------------------------------------------------------------


class BaseEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear map to a small space, learned from features."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {}
    # Sparse formats that are used as they are; others are converted to the first.
    _sparse_formats: ClassVar[tuple[str, ...]] = ("csr", "csc", "coo")
    # Whether fit and transform take tensors and operators.
    _takes_operators: ClassVar[bool] = True
    _needs_labels: ClassVar[bool] = False

    n_components: Any
    center: bool
    random_state: int | np.random.RandomState | None

    components_: Array
    mean_: Array
    eigenvalues_: Array
    n_components_: int
    n_iter_: int | Array
    solver_: str
    status_: str

    # --- input ------------------------------------------------------------------------

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
                accept_sparse=self._sparse_formats,
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
        # Others take products only, and as_operator sums duplicates itself.
        return data if self._takes_operators else canonical(data)

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
        """Validate X of ``fit``."""
        # Centring needs the column sums, which are finite only where every entry is: one pass.
        by_sums = bool(self.center) and isinstance(X, np.ndarray)
        data = self._validate(X, reset=True, least=2, check_finite=not by_sums)
        operator = as_operator(data)
        if by_sums and not np.isfinite(operator.column_means()).all():
            # Where only the sums overflow, this passes.
            with np.errstate(invalid="ignore"):
                self._validate(X, reset=True, least=2)
        return Features(operator, data.dtype)

    def _center(self, X: Operator) -> tuple[Operator, Array]:
        """Return X, centred where the estimator centres, and the means that were subtracted."""
        return X.centered() if self.center else (X, np.zeros(X.shape[1]))

    def _count(self, most: int, reason: str, default: int) -> int:
        """Return the number of components to look for; ``reason`` says what limits it."""
        owner = type(self).__name__
        if most == 0:
            raise InvalidInput(f"{owner}: there is no direction to find, because {reason}.")
        if self.n_components is None or isinstance(self.n_components, str):
            return min(default, most)
        # A stream may have more in the end.
        if self.n_components > most and "_stream" not in vars(self):
            warn_caller(
                f"{owner}: n_components={self.n_components} is more than the {most} that there "
                f"are, because {reason}; {most} are used.",
                LabelspanWarning,
            )
        return min(int(self.n_components), most)

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
        signs = fixed_signs(weights)
        self.components_ = features.place(scaled_transpose(weights, signs))
        self.mean_ = features.place(means)
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
            if name.endswith("_") or name == "_stream":
                del self.__dict__[name]

    def _fitted(self) -> Self:
        """Return the fit of this moment, which a later one does not change."""
        fitted = snapshot(self)
        check_is_fitted(fitted)
        stream = vars(fitted).get("_stream")
        if stream is not None:
            stream.refuse_unless_solved(type(self).__name__)
        return fitted

    @refuse_overflow
    def transform(self, X: Any) -> Array:
        """Map rows to the learned space.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The features.

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``.
        """
        fitted = self._fitted()
        rows = as_operator(fitted._validate(X, reset=False))
        means = host(fitted.mean_)
        if means.any():
            rows = rows.shifted(means)
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
        fitted = self._fitted()
        components = on_host(fitted.components_)
        if names is None:
            names = getattr(fitted, "feature_names_in_", None)
        if names is None:
            names = np.arange(components.shape[1])
        return ends(type(self).__name__, components, names, component, n)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
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
        what = "all rows of X are equal" if model.center else "X holds only zeros"
        raise InvalidInput(f"{type(model).__name__}: {what}, so there is no direction to find.")
    return square


def invert(model: BaseEmbedding, Z: Any) -> Array:
    """Return the features of minimum norm, relative to the mean, that map to Z."""
    fitted = model._fitted()
    components = on_host(fitted.components_)
    latent = as_block(Z)
    m = components.shape[0]
    if latent.ndim != 2 or latent.shape[1] != m:
        raise InvalidInput(
            f"{type(model).__name__}: inverse_transform takes points of the space, "
            f"with {m} columns, but an array of shape {tuple(latent.shape)} was given."
        )
    wide = components.astype(np.float64)
    back = np.linalg.solve(wide @ wide.T, wide).astype(components.dtype)
    found: Array = latent @ like(back, latent) + like(on_host(fitted.mean_), latent)
    return found
