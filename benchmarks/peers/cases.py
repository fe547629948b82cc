"""Which methods are compared on which data, and at what size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.feature_extraction.text import TfidfTransformer

from labelspan import datasets

from ..data import load
from .tasks import Task, is_sparse

__all__ = ["Case", "all_cases", "make_task", "rarest", "read", "select"]

VECTORS = "vectors"
# The rows of a kernel matrix, of which every contender forms at least one.
KERNEL_ROWS = 3000
# Methods that go by singular values take the data in its own width, as anyone would;
# the others in float64, which most peers make of it in any case.
_OWN_WIDTH = {"lsi", "pca", "mlsi", "stream"}


@dataclass(frozen=True)
class Case:
    """One method on one data set; contenders are compared inside it."""

    data: str
    method: str
    count: int
    alpha: float = 0.0
    note: str = ""

    @property
    def name(self) -> str:
        """What ``--only`` is matched against."""
        return f"{self.data}/{self.method}"


def _rows(data: str, counts: dict[str, int], alpha: float) -> list[Case]:
    unpenalised = {"lsi", "pca", "kernel-lsi"}
    return [
        Case(data, method, count, 0.0 if method in unpenalised else alpha)
        for method, count in counts.items()
    ]


def all_cases() -> list[Case]:
    """Every case of a full run."""
    thin = ("cca", "opls", "hsl", "lda")
    return [
        *_rows("rcv1", {"lsi": 100, "pca": 100, "mlsi": 100, "cca": 50}, 1.0),
        *_rows("yahoo_arts", {"lsi": 50, "mlsi": 50, **dict.fromkeys(thin, 20)}, 1.0),
        *_rows("yahoo_science", {"lsi": 50, "mlsi": 50, "opls": 20, "hsl": 20}, 1.0),
        *_rows("reuters21578", {"lsi": 50, "pca": 50, "mlsi": 50}, 1.0),
        Case("reuters21578", "mlsi-printed", 50, 1e-3, "gamma of the balanced X"),
        *_rows("reuters21578", dict.fromkeys(thin, 20), 1.0),
        *_rows("yeast", {"pca": 50, "mlsi": 20, "cca": 13, "opls": 13, "hsl": 13}, 0.0),
        *_rows("yeast", {"kernel-lsi": 20, "kernel-mlsi": 20}, 1e-2),
        *_rows("usps", {"pca": 50, "lda": 9, "cca": 9}, 0.0),
        *_rows("usps", {"kernel-lsi": 20, "kernel-mlsi": 20}, 1e-2),
        *_rows(VECTORS, {"pca": 50, "mlsi": 50, "stream": 50, **dict.fromkeys(thin, 20)}, 1.0),
    ]


def select(cases: Sequence[Case], only: Sequence[str]) -> list[Case]:
    """The cases whose name matches one of the patterns, or all without any."""
    if not only:
        return list(cases)
    return [case for case in cases if any(fnmatch(case.name, pattern) for pattern in only)]


def read(name: str, folder: str | None, *, quick: bool, seed: int) -> Task:
    """A data set as a task without a method: weighted words, dense labels, one class a row."""
    if name == VECTORS:
        n, d = (3000, 96) if quick else (100_000, 768)
        data = datasets.make_tagged_vectors(n, d, 50, nuisance=20, random_state=seed)
    else:
        data = load(name, folder)
        if quick:
            some = np.random.default_rng(seed).permutation(data.X.shape[0])[:600]
            data = data.take(np.sort(some))
    X = data.X[:, _common(data.X)] if quick else data.X
    if name.startswith("yahoo"):
        X = type(X)(TfidfTransformer().fit_transform(X))
    if data.Y is None:
        classes = np.unique(data.y, return_inverse=True)[1]
        Y = np.eye(classes.max() + 1)[classes]
    else:
        Y = data.Y.toarray() if is_sparse(data.Y) else np.asarray(data.Y)
        Y = Y[:, Y.any(axis=0) & ~Y.all(axis=0)].astype(np.float64)
    return Task(X, Y, rarest(Y), count=1, seed=seed)


def _common(X: Any, most: int = 1500) -> np.ndarray:
    """The features that occur in the most rows, in order."""
    counts = np.asarray((X != 0).sum(axis=0)).ravel()
    return np.sort(np.argsort(-counts, kind="stable")[:most])


def rarest(Y: np.ndarray) -> np.ndarray:
    """One class a row: the rarest of its labels, and -1 for rows that have none."""
    sizes = Y.sum(axis=0)
    place = np.where(Y > 0, sizes, np.inf).argmin(axis=1)
    return np.asarray(np.where(Y.any(axis=1), place, -1))


def make_task(case: Case, data: Task, *, quick: bool) -> Task:
    """The rows, the width and the parameters of one case."""
    X, Y, y = data.X, data.Y, data.y
    if case.method == "lda":
        known = np.flatnonzero(y >= 0)
        X, Y, y = _take(X, known), Y[known], y[known]
    if case.method.startswith("kernel"):
        some = np.random.default_rng(data.seed).permutation(X.shape[0])[:KERNEL_ROWS]
        X, Y, y = _take(X, some), Y[some], y[some]
    if case.method == "mlsi-printed":
        some = _independent(X)
        X, Y, y = _take(X, some), Y[some], y[some]
    if case.method not in _OWN_WIDTH and case.data != VECTORS:
        X = X.astype(np.float64)
    task = replace(data, X=X, Y=Y, y=y, alpha=case.alpha, gamma=1.0 / X.shape[1])
    if case.method.startswith("kernel"):
        task = replace(task, gamma=1.0 / float(X.shape[1] * X.var()))
    labels = {"lda": np.unique(y).size - 1, "cca": _rank(Y), "hsl": _rank(Y), "opls": _rank(Y)}
    most = min(case.count, *(side - 1 for side in X.shape), labels.get(case.method, case.count))
    return replace(task, count=min(most, 10) if quick else most)


def _take(X: Any, rows: np.ndarray) -> Any:
    return X[rows] if rows.size < X.shape[0] else X


def _independent(X: Any) -> np.ndarray:
    """Rows without those that depend on others, whose kernel matrix has no inverse."""
    kernel = np.asarray((X @ X.T).toarray() if is_sparse(X) else X @ X.T, dtype=np.float64)
    _, order, rank, _ = lapack.dpstrf(kernel, tol=1e-8 * kernel.max())
    return np.sort(order[:rank] - 1)


def _rank(Y: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(Y - Y.mean(axis=0)))
