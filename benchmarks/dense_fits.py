"""Fits on dense data against the plain way: one Gram matrix and one dense eigenproblem.

PCA is ``LSI(center=True)`` next to scikit-learn's ``PCA(svd_solver="covariance_eigh")``; OPLS,
LDA and CCA are next to the eigenproblem of sun2009 in plain numpy and scipy, which centres a copy
of X, multiplies, and calls ``scipy.linalg.eigh`` for the components asked for. None of the plain
ways checks its answer. Only the fit is timed. Runs take turns, and the fastest counts: wall clock
on all threads, CPU time on one.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from labelspan import CCA, LDA, LSI, OPLS, datasets

from . import reference
from .data import load
from .harness import Report, Row, make_parser

# Rows, columns and labels of the synthetic data.
SIZES = (
    (500, 20, 5),
    (2_000, 64, 10),
    (2_000, 512, 10),
    (20_000, 256, 10),
    (20_000, 768, 50),
    (100_000, 64, 10),
    (100_000, 300, 100),
)
_ALPHA = 1.0


class Case(NamedTuple):
    """Two callables that do the same work."""

    name: str
    ours: Callable[[], Any]
    plain: Callable[[], Any]


def _plain(X: np.ndarray, factor: Callable[[], np.ndarray], count: int) -> np.ndarray:
    X = X.astype(np.float64)
    X = X - X.mean(axis=0)
    cross = X.T @ factor()
    metric = X.T @ X
    metric[np.diag_indices_from(metric)] += _ALPHA
    side = metric.shape[0]
    few = (side - count, side - 1)
    return np.asarray(linalg.eigh(cross @ cross.T, metric, subset_by_index=few)[1])


def _centred(Y: np.ndarray) -> np.ndarray:
    return np.asarray(Y - Y.mean(axis=0))


def _classes(y: np.ndarray) -> np.ndarray:
    one_hot = (y[:, None] == np.unique(y)).astype(np.float64)
    return _centred(one_hot / np.sqrt(one_hot.sum(axis=0)))


def cases(X: np.ndarray, Y: np.ndarray, y: np.ndarray) -> Iterator[Case]:
    """The methods on one data set, in float64 and float32."""
    rank = int(np.linalg.matrix_rank(_centred(Y)))
    for width in (np.float64, np.float32):
        data = np.ascontiguousarray(X, dtype=width)
        name = np.dtype(width).name
        for count in sorted({min(10, X.shape[1] - 1), min(50, X.shape[1] - 1)}):
            yield Case(
                f"PCA, {count}, {name}",
                partial(LSI(count, center=True).fit, data),
                partial(PCA(count, svd_solver="covariance_eigh").fit, data),
            )
        few = min(rank, X.shape[1] - 1)
        groups = min(np.unique(y).size - 1, X.shape[1] - 1)
        for model, labels, factor in (
            (OPLS(few, alpha=_ALPHA), Y, partial(_centred, Y)),
            (CCA(few, alpha=_ALPHA), Y, partial(reference.cca_factor, Y)),
            (LDA(groups, alpha=_ALPHA), y, partial(_classes, y)),
        ):
            yield Case(
                f"{type(model).__name__}, {name}",
                partial(model.fit, data, labels),
                partial(_plain, data, factor, model.n_components),
            )


def compare(case: Case, repeats: int, seconds: float) -> tuple[list[float], list[float]]:
    """Times of both in turn, wall and CPU: at least ``repeats`` rounds and some seconds."""
    found: list[list[tuple[float, float]]] = [[], []]
    case.ours(), case.plain()
    begin = time.perf_counter()
    while len(found[0]) < repeats or (
        time.perf_counter() - begin < seconds and len(found[0]) < 50 * repeats
    ):
        for runs, call in zip(found, (case.ours, case.plain), strict=True):
            start, busy = time.perf_counter(), time.process_time()
            call()
            runs.append((time.perf_counter() - start, time.process_time() - busy))
    gc.collect()
    return [min(run[0] for run in runs) for runs in found], [
        min(run[1] for run in runs) for runs in found
    ]


def data_sets(args: argparse.Namespace) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Real sets with synthetic ones of several sizes: features, labels, one class per row."""
    for name in ("yeast", "emotions", "usps"):
        data = load(name, args.data)
        if data.Y is None:
            y = np.unique(data.y, return_inverse=True)[1]
            Y = np.eye(y.max() + 1)[y]
        else:
            Y = np.asarray(data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y, dtype=float)
            y = Y.argmax(axis=1)
        X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X)
        yield name, X, Y, y
    for rows, columns, labels in SIZES[: 3 if args.quick else None]:
        data = datasets.make_tagged_vectors(
            rows, columns, labels, nuisance=min(20, columns // 4), random_state=args.seed
        )
        Y = np.asarray(data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y, dtype=float)
        y = np.where(Y > 0, Y.sum(axis=0), np.inf).argmin(axis=1)
        yield f"{rows:,} x {columns}, {labels} labels", np.asarray(data.X), Y, y


def main(args: argparse.Namespace) -> None:
    """Compare every method on every data set."""
    report = Report("dense_fits", args)
    for title, X, Y, y in data_sets(args):
        if args.only and not any(part in title for part in args.only):
            continue
        rows = []
        for case in cases(X, Y, y):
            if args.methods and not any(case.name.startswith(name) for name in args.methods):
                continue
            line = Row(case.name)
            for threads in (1,) if args.one_thread else (1, None):
                with nullcontext() if threads is None else threadpool_limits(threads):
                    wall, cpu = compare(case, args.repeats, args.seconds)
                ours, plain = cpu if threads else wall
                kind = "1 thread, CPU" if threads else "all threads, wall"
                line.notes |= {
                    f"ours ms ({kind})": f"{1e3 * ours:.2f}",
                    f"plain ms ({kind})": f"{1e3 * plain:.2f}",
                    f"ours/plain ({kind})": f"{ours / plain:.2f}",
                }
            rows.append(line)
        report.add(title, rows)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=5)
    parser.add_argument("--only", action="append", default=[], help="part of the name of a set")
    parser.add_argument("--methods", action="append", default=[], help="PCA, OPLS, CCA or LDA")
    parser.add_argument("--one-thread", action="store_true", help="only CPU time on one thread")
    parser.add_argument("--seconds", type=float, default=1.0, help="least seconds for a case")
    main(parser.parse_args())
