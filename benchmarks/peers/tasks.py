"""What a contender is given, what it gives back, and what a contender is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["Contender", "Fitted", "Task", "is_sparse"]


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy matrix."""
    return hasattr(X, "toarray")


@dataclass(frozen=True)
class Task:
    """Rows to fit on, and how.

    ``Y`` is a dense indicator in float64, ``y`` one class a row. ``count`` is K, ``alpha``
    the 2-norm penalty in the units of X.
    """

    X: Any
    Y: np.ndarray
    y: np.ndarray
    count: int
    alpha: float = 0.0
    beta: float = 0.5
    gamma: float = 1.0
    batch: int = 2000
    seed: int = 0

    @property
    def dense_bytes(self) -> int:
        """What X takes as a dense array of float64, which most peers make of it."""
        return 8 * self.X.shape[0] * self.X.shape[1]

    def dense(self) -> Task:
        """The same, with X as a dense array."""
        return replace(self, X=self.X.toarray()) if is_sparse(self.X) else self

    def tiny(self) -> Task:
        """A corner of the same, on which a contender loads what it needs."""
        rows = slice(0, 60)
        # Features that occur and labels of both kinds, or a corner would be all zeros.
        used = np.argsort(-np.asarray(abs(self.X[:60]).sum(axis=0)).ravel())[:12]
        X = np.asarray(self.X[rows].toarray() if is_sparse(self.X) else self.X[rows])[:, used]
        X = X + np.random.default_rng(0).standard_normal(X.shape).astype(X.dtype)
        if is_sparse(self.X):
            X = type(self.X)(X)
        Y = np.resize(np.eye(4), (X.shape[0], 4))
        return replace(self, X=X, Y=Y, y=np.arange(X.shape[0]) % 4, count=2, batch=30)


@dataclass(frozen=True)
class Fitted:
    """The training rows mapped to K columns, and the weights, a column a component."""

    mapped: np.ndarray
    weights: np.ndarray | None = None
    remark: str = ""


@dataclass(frozen=True)
class Contender:
    """Something that does a task.

    ``same`` is False where it does other work than the rest, and ``remark`` says which;
    ratios to the best peer leave it out. ``square`` names the side, "n" or "d", of the
    square arrays that it forms; ``penalty`` says whether it takes one, and
    ``sparse_only`` that it is meant only for sparse data.
    """

    name: str
    run: Callable[[Task], Fitted]
    ours: bool = False
    same: bool = True
    remark: str = ""
    package: str = "sklearn"
    square: str = ""
    penalty: bool = True
    sparse_only: bool = False

    def on(self, task: Task) -> Contender:
        """Itself, marked as other work where the task has a penalty and it takes none."""
        if self.penalty or not task.alpha:
            return self
        return replace(self, same=False, remark="takes no penalty")

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return find_spec(self.package) is not None

    def square_bytes(self, task: Task) -> int:
        """The size of one of its square arrays."""
        side = {"n": task.X.shape[0], "d": task.X.shape[1], "": 0}[self.square]
        return 8 * side * side
