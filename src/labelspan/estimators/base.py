"""What every estimator of the family shares: reading input, solving, naming results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import InvalidInput, InvalidParameter, Mismatch, NotConverged
from ..factors import Factor
from ..operators import Operator, as_operator
from ..operators.base import Array
from ..penalties import L2, Penalty
from ..solvers import SOLVERS, Problem, Solution, Solver, choose_solver, refuse_unless_fit
from ..validation.params import (
    Boolean,
    Constraint,
    Either,
    Integer,
    Null,
    Real,
    check_params,
)

__all__ = ["SHARED", "Invertible", "Limit", "SpaceEstimator"]


@dataclass(frozen=True)
class _SolverLike:
    """Accepts "auto", a solver's name, or a solver."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str):
            return value == "auto" or value in SOLVERS
        return isinstance(value, Solver) and not isinstance(value, type)

    def describe(self) -> str:
        names = ", ".join(repr(name) for name in ("auto", *SOLVERS))
        return f"one of {names}, or a solver from labelspan.solvers"


@dataclass(frozen=True)
class _RandomState:
    """Accepts what scikit-learn accepts."""

    def accepts(self, value: Any) -> bool:
        return (
            Integer(0).accepts(value) or value is None or isinstance(value, np.random.RandomState)
        )

    def describe(self) -> str:
        return "a whole number of at least 0, None, or a numpy RandomState"


SHARED: Mapping[str, Constraint] = {
    "n_components": Either((Integer(1), Null())),
    "center": Boolean(),
    "solver": _SolverLike(),
    "tol": Either((Real(0.0), Null())),
    "max_iter": Either((Integer(1), Null())),
    "random_state": _RandomState(),
}


@dataclass(frozen=True)
class Limit:
    """The most directions a problem has, and what limits them."""

    count: int
    reason: str
    default: int


class SpaceEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of LSI, MLSI and the thin-factor methods: a linear map to a small space."""

    _constraints: ClassVar[Mapping[str, Constraint]] = SHARED

    n_components: int | None
    center: bool
    solver: str | Solver
    tol: float | None
    max_iter: int | None
    random_state: int | np.random.RandomState | None

    components_: Array
    eigenvalues_: Array
    mean_: Array
    n_components_: int
    solver_: str
    status_: str
    n_iter_: int | Array

    def _check_params(self) -> None:
        check_params(type(self).__name__, self.get_params(deep=False), self._constraints)

    def _read_features(self, X: Any, *, reset: bool) -> Operator:
        data = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc", "coo"),
            dtype=[np.float64, np.float32],
            ensure_min_samples=2 if reset else 1,
        )
        return as_operator(data)

    def _centered(self, X: Operator) -> Operator:
        """Set ``mean_``, and centre where the estimator does."""
        if not self.center:
            self.mean_ = np.zeros(X.shape[1], dtype=X.dtype)
            return X
        centered, means = X.centered()
        self.mean_ = means.astype(X.dtype)
        return centered

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

    def _solve(
        self, X: Operator, factor: Factor, count: int, penalty: Penalty | None = None
    ) -> Solution:
        """Pick the solver, run it, and say what ran."""
        problem = Problem(X, factor, count, penalty or L2())
        solver = self._pick_solver(problem)
        refuse_unless_fit(solver, problem)
        solution = solver.solve(problem)
        if not solution.converged:
            warnings.warn(f"{type(self).__name__}: {solution.status}", NotConverged, stacklevel=4)
        found = solution.eigenvalues.size
        if found == 0:
            raise InvalidInput(
                f"{type(self).__name__}: X says nothing about y, every eigenvalue is zero; "
                "check that X varies between rows."
            )
        if self.n_components is not None and found < count:
            raise InvalidParameter(
                f"{type(self).__name__}: n_components={count} was asked for, but only {found} "
                f"directions have an eigenvalue above zero; use n_components={found} or None."
            )
        self.eigenvalues_ = solution.eigenvalues
        self.n_components_ = found
        self.solver_ = solution.solver
        self.status_ = solution.status
        self.n_iter_ = max(1, solution.n_iter)
        return solution

    def _pick_solver(self, problem: Problem) -> Solver:
        if not isinstance(self.solver, str):
            for option in ("tol", "max_iter"):
                if getattr(self, option) is not None:
                    raise Mismatch(
                        f"{type(self).__name__}: {option} is set both here and on the solver "
                        f"given; set it on the solver alone."
                    )
            return self.solver
        automatic = self.solver == "auto"
        name = choose_solver(problem).solver if automatic else self.solver
        kind = SOLVERS[name]
        known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
        options: dict[str, Any] = {}
        for option in ("tol", "max_iter"):
            value = getattr(self, option)
            if value is None:
                continue
            if option in known:
                options[option] = value
            elif not automatic:
                raise Mismatch(
                    f"{type(self).__name__}: {option}={value!r} has no meaning for "
                    f"solver={name!r}, which is direct; leave {option} at None."
                )
        if "seed" in known:
            options["seed"] = int(check_random_state(self.random_state).randint(2**31 - 1))
        return kind(**options)

    def _set_components(self, weights: Array, dtype: Any) -> Array:
        """Store the map with its signs fixed; gives back the signs."""
        largest = np.abs(weights).argmax(axis=0)
        signs = np.where(weights[largest, np.arange(weights.shape[1])] < 0, -1.0, 1.0)
        self.components_ = np.ascontiguousarray((weights * signs).T, dtype=dtype)
        return signs

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
        check_is_fitted(self)
        operator = self._read_features(X, reset=False)
        if self.center:
            operator = operator.shifted(self.mean_)
        return operator.matmat(self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Invertible:
    """For spaces that keep the features: a way back to them."""

    components_: Array
    mean_: Array

    def inverse_transform(self, Z: Any) -> Array:
        """The smallest features, off the mean, that ``transform`` maps to given points.

        For LSI that is the best reconstruction.

        Parameters
        ----------
        Z : array of shape (n, m)

        Returns
        -------
        X : array of shape (n, d)
        """
        check_is_fitted(self)
        latent = np.asarray(Z)
        m = self.components_.shape[0]
        if latent.ndim != 2 or latent.shape[1] != m:
            raise InvalidInput(
                f"{type(self).__name__}: inverse_transform takes points of the space, "
                f"with {m} columns, but an array of shape {latent.shape} was given."
            )
        wide = self.components_.astype(np.float64)
        back = np.linalg.solve(wide @ wide.T, wide).astype(self.components_.dtype)
        return np.asarray(latent @ back + self.mean_)
