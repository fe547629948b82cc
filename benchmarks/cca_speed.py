"""All components of CCA on small dense data: labelspan, scikit-learn and cca-zoo.

Next to the time is how far the correlations of the fitted pairs, computed from the
mapped rows, are from those of a dense singular value decomposition. The target is fifty
times scikit-learn's speed.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import cross_decomposition
from sklearn.exceptions import ConvergenceWarning

from labelspan import CCA

from . import reference
from .data import load
from .harness import Report, make_parser, measure

try:
    from cca_zoo import linear as zoo
except ImportError:
    zoo = None

PEER = "scikit-learn"
TARGET = 50.0


def fit_cases(X: np.ndarray, Y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """The fits to time; each gives back the fitted model."""
    count = Y.shape[1]
    cases: dict[str, Callable[[], Any]] = {
        PEER: lambda: cross_decomposition.CCA(n_components=count, scale=False).fit(X, Y),
        "labelspan": lambda: CCA(alpha=0.0).fit(X, Y),
        "labelspan, eigen": lambda: CCA(solver="exact", alpha=0.0).fit(X, Y),
    }
    if zoo is not None:
        cases["cca-zoo"] = lambda: zoo.CCA(n_components=count).fit([X, Y])
    return cases


def mapped(model: Any, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of the pairs, on the training rows."""
    if isinstance(model, CCA):
        return model.transform(X), model.transform_labels(Y)
    if isinstance(model, cross_decomposition.CCA):
        return model.transform(X, Y)
    one, two = model.transform([X, Y])
    return one, two


def main(args: argparse.Namespace) -> None:
    """One table for each data set."""
    report = Report("cca_speed", args)
    for name in args.sets:
        data = load(name, args.data)
        X, Y = data.X.astype(np.float64), data.Y.astype(np.float64)
        if args.quick:
            some = np.random.default_rng(args.seed).permutation(X.shape[0])[:300]
            X, Y = X[some], Y[some]
        truth = reference.canonical_correlations(X, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rows = measure(fit_cases(X, Y), args.repeats)
        for row in rows:
            found = reference.pair_correlations(*mapped(row.value, X, Y))
            padded = np.zeros(truth.size)
            padded[: found.size] = found[: truth.size]
            row.notes = {
                "components": found.size,
                "sum of correlations": float(found.sum()),
                "mean squared difference": f"{np.mean((padded - truth) ** 2):.1e}",
            }
        report.add(
            f"CCA, {name} {X.shape[0]} x {X.shape[1]}, {Y.shape[1]} labels; "
            f"true sum of correlations {truth.sum():.4f}, target {TARGET:g} times {PEER}",
            rows,
            peer=PEER,
        )
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=7)
    parser.add_argument("--sets", nargs="+", default=["yeast", "emotions"], help="data sets")
    main(parser.parse_args())
