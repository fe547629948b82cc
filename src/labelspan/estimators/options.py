"""Parameters of estimators: constraints, and the descriptions in docstrings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import Any, TypeVar

import numpy as np

from .._params import Boolean, Constraint, Either, Integer, Null, OneOf, Real
from ..errors import (
    InvalidParameter,
)
from ..solvers import SOLVERS, Solver

__all__ = ["ALPHA", "METHOD_OPTIONS", "RANK", "SHARED", "described"]


@dataclass(frozen=True)
class _SolverLike:
    """Accept "auto", the name of a solver, or a solver."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str) and value == "least-squares":
            raise InvalidParameter(
                "solver='least-squares' is an object now: use "
                "labelspan.papers.sun2009.LeastSquares()."
            )
        if isinstance(value, str):
            return value == "auto" or value in SOLVERS
        return isinstance(value, Solver) and not isinstance(value, type)

    def describe(self) -> str:
        names = ", ".join(repr(name) for name in ("auto", *SOLVERS))
        return f"one of {names}, or a solver from labelspan.solvers"


@dataclass(frozen=True)
class _RandomState:
    """Accept the same values as scikit-learn."""

    def accepts(self, value: Any) -> bool:
        if Integer(0).accepts(value):
            return bool(value < 2**32)
        return value is None or isinstance(value, np.random.RandomState)

    def describe(self) -> str:
        return "a whole number from 0 to 2**32 - 1, None, or a numpy RandomState"


ALPHA = Either((Real(0.0), OneOf(("auto",))))
RANK = Either((Integer(1), Null(), OneOf(("auto",))))

SHARED: Mapping[str, Constraint] = {
    "n_components": Either((Integer(1), Null())),
    "center": Boolean(),
    "solver": _SolverLike(),
    "tol": Either((Real(0.0), Null())),
    "max_iter": Either((Integer(1), Null())),
    "random_state": _RandomState(),
}

# Parameters of OPLS, CCA, LDA and HSL.
METHOD_OPTIONS: Mapping[str, Constraint] = {
    **SHARED,
    "n_components": RANK,
    "alpha": ALPHA,
    "scale": Either((OneOf(("eigenvalue",)), Null())),
}


C = TypeVar("C", bound=type)

_DESCRIPTIONS = {
    "rank": """\
"auto" keeps 30 plus half the number of labels, at most 500 and at most a quarter of the
rows.""",
    "alpha": """\
alpha : float or "auto", default="auto"
    Regularization strength, added to the diagonal of ``X'X``; 0 is the classical method.
    "auto" chooses the value with which ridge regression of the labels on the features predicts
    best: by the exact leave-one-out error if X has up to 1,000 rows or columns, and in a
    stream, on held-out rows if both are larger.""",
    "scale": """\
"eigenvalue" gives ``sqrt(lambda_j) w_j'x``, so that better directions are longer, which
suits nearest neighbours; None gives ``w_j'x``, with ``W'(X'X + alpha I)W = I``.""",
    "graph": """\
affinity : {"nearest_neighbors", "rbf", "precomputed"}, default="nearest_neighbors"
    The graph if none is passed to ``fit``: nearest neighbours with Gaussian weights, or
    the full Gaussian, up to 5,000 rows. "precomputed" requires a given graph.
n_neighbors : int, default=10
    For "nearest_neighbors".
gamma : float or None, default=None
    The width of the Gaussian, ``exp(-gamma |x_i - x_j|^2)``; None takes half the inverse
    of the median squared distance.""",
    "center": """\
center : bool, default=True
    Whether to centre the columns; a sparse X stays sparse.""",
    "solver": """\
solver : str or solver, default="auto"
    "exact" or "krylov" (to a given accuracy, for large data).
tol, max_iter : float and int or None, default=None
    Tolerance and maximum number of iterations, for iterative solvers; None uses the
    solver's default. If both n and d are above 4,096 and alpha is above 0, None stops when the
    missing eigenvalues are estimated at 0.5% of those found; a small number, for example 1e-8,
    solves to full convergence.
random_state : int, RandomState or None, default=0
    Seed of solvers that use random numbers.""",
    "space": """\
components_ : array of shape (m, d)
eigenvalues_ : array of shape (m,)
mean_ : array of shape (d,)""",
    "labels": """\
classes_ : array of shape (k,)
    Names of the labels.
label_kind_, label_ndim_ : {"classes", "indicator", "targets"}, int
    How ``y`` was read, and its number of dimensions; every method reads labels in this way.
label_loadings_ : array of shape (m, k)
    Linear map from the embedding to the labels.
label_means_ : array of shape (k,)
    Offset of the label scores.
label_thresholds_ : array of shape (k,)
    For an indicator, the score above which :meth:`predict` gives a label: with the largest F1 on
    the scores of training rows without their own labels.""",
    "alpha_": """\
alpha_, alpha_curve_ : float, AlphaCurve or None
    Regularization strength, and the prediction error for each one tried if it was "auto".""",
    "counts": """\
n_components_, n_iter_ : int
    Number of components, and of iterations; 1 for a direct solver.""",
    "features": """\
n_features_in_, feature_names_in_ : int, array of shape (d,)
    Number of features, and their names if X is a data frame.""",
    "solver_": """\
solver_, status_ : str
    Name of the solver used, and its convergence message.""",
}


def described(kind: C, descriptions: Mapping[str, str] = _DESCRIPTIONS) -> C:
    """Complete the docstring of a class: a line ``{alpha, solver}`` is replaced by two entries."""

    def entries(line: re.Match[str]) -> str:
        margin, names = line.groups()
        return "\n".join(indent(descriptions[name], margin) for name in names.split(", "))

    kind.__doc__ = re.sub(r"^( +)\{([^\n]*)\}$", entries, kind.__doc__ or "", flags=re.MULTILINE)
    return kind
