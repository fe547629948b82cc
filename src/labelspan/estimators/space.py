"""What every linear map to a small space shares: reading features, and naming results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._params import Constraint, check_params
from .._typing import Array
from ..errors import InvalidInput, InvalidParameter
from ..operators import Operator, as_operator
from ..operators.array_backend import host, largest_entries, like, on_host
from .overflow import refuse_overflow
from .reading import Ends, ends

__all__ = ["Limit", "Space"]


@dataclass(frozen=True)
class Limit:
    """The most directions a problem has, and what limits them."""

    count: int
    reason: str
    default: int


class Space(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear map to a small space, learned from features."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {}
    # Taken as they come; others are converted to the first.
    _sparse_formats: ClassVar[tuple[str, ...]] = ("csr", "csc", "coo")

    n_components: int | None
    center: bool

    components_: Array
    eigenvalues_: Array
    mean_: Array
    n_components_: int
    status_: str

    def _check_params(self) -> None:
        given = {name: getattr(self, name) for name in self._constraints}
        check_params(type(self).__name__, given, self._constraints)

    def _validate(self, X: Any, *, reset: bool, least: int = 1) -> Any:
        return read_features(self, X, reset=reset, least=least, sparse=self._sparse_formats)

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

    def _set_map(
        self,
        weights: Array,
        means: Array,
        eigenvalues: Array,
        dtype: Any,
        home: Operator | None = None,
    ) -> Array:
        """Set the map, signs fixed; gives back the signs.

        It lives where ``home`` does, which holds the data: on a device, or on the host.
        """
        signs = fixed_signs(weights)
        components = (weights * like(signs, weights)).T
        if home is None or home.device is None:
            self.components_ = np.ascontiguousarray(on_host(components), dtype=dtype)
            self.mean_ = means.astype(dtype)
        else:
            self.components_, self.mean_ = home.place(components), home.place(means)
        self.eigenvalues_ = eigenvalues
        self.n_components_ = eigenvalues.size
        return signs

    def _ready(self) -> None:
        """See that there are results to use."""
        check_is_fitted(self)

    @refuse_overflow
    def transform(self, X: Any) -> Array:
        """Map rows to the learned space.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        Z : array of shape (n, m)
            ``(X - mean_) @ components_.T``.
        """
        self._ready()
        return self._project(self._validate(X, reset=False))

    def _project(self, data: Any) -> Array:
        operator = as_operator(data)
        if self.center:
            operator = operator.shifted(host(self.mean_))
        return operator.matmat(self.components_.T)

    def _linear_components(self, asked_for: str) -> Array:
        """``components_``, for what needs weights on features."""
        return on_host(self.components_)

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
        components = self._linear_components("top_features")
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
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def read_features(
    model: BaseEstimator, X: Any, *, reset: bool, least: int, sparse: tuple[str, ...] | bool
) -> Any:
    """X as scikit-learn reads it; what it refuses is an error of ours, in its words."""
    try:
        return validate_data(
            model,
            X,
            reset=reset,
            accept_sparse=sparse,
            dtype=[np.float64, np.float32],
            ensure_min_samples=least,
        )
    except ValueError as error:
        raise InvalidInput(str(error)) from None


def fixed_signs(weights: Array) -> Array:
    """The sign that makes the largest entry of each column positive."""
    return np.where(largest_entries(weights) < 0, -1.0, 1.0)
