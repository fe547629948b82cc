"""CCA and HSL on yahoo_arts: how ``krylov`` and ``exact`` grow with n and d.

Features are the most frequent ones, rows a random sample, X sparse and centred without
being formed. The memory bound of ``krylov`` is three times the bytes of X plus dense
blocks of (n + d)(k + K) numbers, for k labels and K components. ``residual`` certifies
each answer by the eigenproblem itself, so it also stands where ``exact`` is left out.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from labelspan import CCA, HSL
from labelspan.errors import NotConverged

from . import reference
from .data import DataSet, load
from .harness import Report, Row, make_parser, measure

TABLES = ("n fixed", "d fixed", "whole")
EXACT = "exact"
KRYLOV = "krylov"
METHODS: dict[str, tuple[Callable[..., Any], Callable[[np.ndarray], np.ndarray]]] = {
    "CCA": (CCA, reference.cca_factor),
    "HSL star": (lambda **kw: HSL(laplacian="star", **kw), reference.star_factor),
}


def sizes(data: DataSet, *, quick: bool) -> dict[str, list[tuple[int, int]]]:
    """Rows and columns of each table."""
    rows, columns = data.X.shape
    if quick:
        shapes = [(300, 500), (300, 2000)], [(600, 500)], [(600, 2000)]
    else:
        shapes = (
            [(1000, d) for d in (1000, 2000, 5000, 10000, columns)],
            [(n, 5000) for n in (500, 1000, 2000, 4000, rows)],
            [(rows, columns)],
        )
    return dict(zip(TABLES, shapes, strict=True))


def part(data: DataSet, n: int, d: int, args: argparse.Namespace) -> DataSet:
    """A sample of n rows with the d most frequent features, weighted."""
    frequency = np.bincount(data.X.indices, minlength=data.X.shape[1])
    columns = np.sort(np.argsort(-frequency, kind="stable")[:d])
    rows = np.random.default_rng(args.seed).permutation(data.X.shape[0])[:n]
    X = data.X[np.sort(rows)][:, columns].astype(args.dtype)
    if args.weighting == "tfidf":
        X = TfidfTransformer().fit_transform(X)
    return DataSet(data.name, X, data.Y[np.sort(rows)])


def bound(data: DataSet, components: int) -> int:
    """Bytes that ``krylov`` may use above the data it was given."""
    X, labels = data.X, data.Y.shape[1]
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return int(3 * stored + X.data.itemsize * sum(X.shape) * (labels + components))


def compare(method: str, data: DataSet, args: argparse.Namespace) -> list[Row]:
    """Both solvers on one part, with their agreement."""
    make, factor_of = METHODS[method]
    n, d = data.X.shape
    left_out = min(n, d) > args.eigen_limit
    solvers = [KRYLOV] if left_out else [EXACT, KRYLOV]

    def fit(solver: str) -> Any:
        return make(alpha=args.alpha, solver=solver).fit(data.X, data.Y)

    cases = {name: lambda name=name: fit(name) for name in solvers}
    size = f"{n} x {d}"
    rows = measure(cases, args.repeats, group=size)
    factor = factor_of(data.Y)
    models = {row.name: row.value for row in rows}
    for row in rows:
        model = row.value
        residual = reference.eigen_residual(
            data.X, factor, args.alpha, model.components_, model.eigenvalues_
        )
        row.notes = {"K": model.n_components_, "residual": f"{residual:.0e}"}
        row.notes |= {"eigenvalues differ by": None, "peak / bound": None}
        if row.name == KRYLOV:
            assert row.peak is not None
            gap = None if left_out else f"{_gap(model, models[EXACT]):.0e}"
            share = row.peak / bound(data, model.n_components_)
            row.notes |= {"eigenvalues differ by": gap, "peak / bound": f"{share:.2f}"}
        row.notes |= {"iterations": int(np.max(model.n_iter_)), "status": model.status_}
    if left_out:
        reason = f"left out, min(n, d) > {args.eigen_limit}"
        rows.append(Row(EXACT, notes={"status": reason}, group=size))
    return rows


def _gap(one: Any, two: Any) -> float:
    """The largest relative difference of eigenvalues; infinite where their number differs."""
    if one.eigenvalues_.size != two.eigenvalues_.size:
        return np.inf
    return float(np.max(np.abs(one.eigenvalues_ / two.eigenvalues_ - 1)))


def main(args: argparse.Namespace) -> None:
    """One table for each part and method."""
    report = Report("yahoo_growth", args)
    data = load("yahoo_arts", args.data)
    with warnings.catch_warnings():
        # The last column of the table says whether an iteration stopped early.
        warnings.simplefilter("ignore", NotConverged)
        for title, shapes in sizes(data, quick=args.quick).items():
            if title not in args.tables:
                continue
            found: dict[str, list[Row]] = {method: [] for method in args.methods}
            for n, d in shapes:
                sample = part(data, n, d, args)
                for method in args.methods:
                    print(f"{method}, {n} x {d} ...", file=sys.stderr)
                    found[method] += compare(method, sample, args)
            for method, rows in found.items():
                heading = f"{method}, {title}, {args.weighting}, alpha={args.alpha:g}, {args.dtype}"
                report.add(heading, rows, peer=EXACT)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=3)
    parser.add_argument("--weighting", choices=("tfidf", "raw"), default="tfidf")
    parser.add_argument("--alpha", type=float, default=1.0, help="the penalty")
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    parser.add_argument("--eigen-limit", type=int, default=4000, help="largest min(n, d)")
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=tuple(METHODS))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    main(parser.parse_args())
