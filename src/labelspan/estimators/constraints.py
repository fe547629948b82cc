"""The constraints that all estimators share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._params import Boolean, Choice, Constraint, Either, Integer, Null, Real
from ..solvers import SOLVERS, Solver

__all__ = ["FUNCTION", "LABEL_KERNELS", "OPTIONS", "SHARED"]

LABEL_KERNELS = ("linear", "poly", "rbf", "sigmoid", "cosine", "laplacian")
KERNELS = (*LABEL_KERNELS, "precomputed")


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


@dataclass(frozen=True)
class _Function:
    """Accepts a function."""

    def accepts(self, value: Any) -> bool:
        return callable(value)

    def describe(self) -> str:
        return "a function of two rows"


@dataclass(frozen=True)
class _Options:
    """Accepts a dictionary."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Mapping)

    def describe(self) -> str:
        return "a dictionary"


FUNCTION = _Function()
OPTIONS = Either((_Options(), Null()))

SHARED: Mapping[str, Constraint] = {
    "n_components": Either((Integer(1), Null())),
    "center": Boolean(),
    "kernel": Either((Choice(KERNELS), FUNCTION)),
    "gamma": Either((Real(0.0), Null())),
    "degree": Real(0.0),
    "coef0": Real(float("-inf")),
    "kernel_params": OPTIONS,
    "landmarks": Either((Integer(1), Null())),
    "solver": _SolverLike(),
    "tol": Either((Real(0.0), Null())),
    "max_iter": Either((Integer(1), Null())),
    "random_state": _RandomState(),
}
