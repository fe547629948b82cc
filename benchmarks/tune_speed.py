"""What ``tune`` costs on rcv1: thirty candidates in three folds, in units of one fit."""

from __future__ import annotations

import argparse

from labelspan import MLSI, tune

from .data import load
from .harness import Report, make_parser, measure

SIZES, ALPHAS, BETAS = (50, 100), (0.3, 1.0, 3.0), (0.3, 0.5, 0.7, 0.8, 0.9)


def main(args: argparse.Namespace) -> None:
    """One table: a fit, and a tuning of thirty candidates without the fit at its end."""
    report = Report("tune_speed", args)
    data = load("rcv1", args.data)
    X, Y = data.X, data.Y.astype(float)
    if args.quick:
        X, Y = X[:4000], Y[:4000]
    cases = {
        "one fit": lambda: MLSI(SIZES[-1]).fit(X, Y),
        "tune": lambda: tune(
            MLSI(), X, Y, n_components=SIZES, alpha=ALPHAS, beta=BETAS, refit=False
        ),
    }
    rows = measure(cases, args.repeats)
    best = rows[1].value
    rows[1].notes = {
        "candidates": len(best.candidates),
        "chosen": str(dict(best.best_params)),
        "average precision": best.best_score,
    }
    report.add("rcv1, 3 folds; the aim is at most five fits", rows, peer="one fit")
    report.write()


if __name__ == "__main__":
    main(make_parser(__doc__, repeats=3).parse_args())
