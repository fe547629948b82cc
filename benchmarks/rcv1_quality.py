"""What a hundred dimensions are worth on rcv1: classification and neighbours.

Each embedding is learned on the training rows; linear SVMs, one for each label, then
classify the test rows, and the ten nearest training rows (by cosine) are compared with a
test row by their labels. Everything that is chosen (C, and for the tuned MLSI beta and
alpha) is chosen by macro F1 on a hold-out, a quarter of the training rows that the
embedding of that choice did not see either: rows it was learned from look easier than
they are. Rows of every embedding are scaled to length one, so that C means the same for
all.

To stay quick, choices are made with SVMs stopped early (tol 0.05), and beta and alpha
only with C=10; the final SVMs use scikit-learn's default tolerance.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from labelspan import LSI, MLSI, OPLS
from labelspan.metrics import retrieval_at_k

from . import reference
from .classify import PENALTIES, choose_penalty, classify, score
from .data import DataSet, load
from .harness import Report, Row, make_parser, measure, summarise

PEER = "TruncatedSVD"
TUNED = "MLSI, tuned"
FEATURES = "all features"
BETAS = (0.3, 0.5, 0.8)
ALPHAS = (0.3, 1.0, 3.0, 10.0)
Embedding = Callable[[Any], Any]
Fit = Callable[[Any, np.ndarray], Embedding]


@dataclass(frozen=True)
class Split:
    """Training and test rows with the labels that both have enough of."""

    train: DataSet
    test: DataSet


def split(data: DataSet, n_train: int, n_test: int, seed: int) -> Split:
    """A random split; labels with 20 positives in training and 5 in the test."""
    order = np.random.default_rng(seed).permutation(data.X.shape[0])
    train, test = data.take(order[:n_train]), data.take(order[n_train : n_train + n_test])
    keep = (train.Y.sum(axis=0) >= 20) & (test.Y.sum(axis=0) >= 5)
    return Split(*(DataSet(part.name, part.X, part.Y[:, keep]) for part in (train, test)))


def hold_out(train: DataSet) -> Split:
    """A quarter of the training rows, which are in random order, for choices."""
    cut = 3 * train.X.shape[0] // 4
    rows = np.arange(train.X.shape[0])
    return Split(train.take(rows[:cut]), train.take(rows[cut:]))


def shortcut(X: Any, Y: np.ndarray) -> Embedding:
    """Ridge label scores as the embedding."""
    slopes = reference.ridge(X, Y, alpha=1.0, tol=1e-4).astype(X.dtype)
    return lambda rows: rows @ slopes


def fits(count: int, chosen: dict[str, Any]) -> dict[str, Fit]:
    """How each embedding is learned, by name; the features themselves are not here."""

    def fit(model: Any, X: Any, Y: np.ndarray) -> Embedding:
        # A copy, for earlier fits of the same model are still in use.
        embed: Embedding = clone(model).fit(X, Y).transform
        return embed

    return {
        PEER: partial(fit, TruncatedSVD(count, random_state=0)),
        "LSI": partial(fit, LSI(count)),
        "MLSI": partial(fit, MLSI(count)),
        TUNED: partial(fit, MLSI(count, **chosen)),
        "OPLS": partial(fit, OPLS(alpha=1.0)),
        "shortcut": shortcut,
    }


def tune(
    train: DataSet, count: int, grid: list[tuple[float, float]], jobs: int
) -> dict[str, float]:
    """The beta and alpha of MLSI with the best macro F1 on a hold-out."""
    best: tuple[float, dict[str, float]] = (-1.0, {})
    for beta, alpha in grid:
        setting = {"beta": beta, "alpha": alpha}
        fit = fits(count, setting)[TUNED]
        found, _ = choose(fit, train, jobs, penalties=(10.0,))
        print(f"  {setting}: macro F1 {found:.4f}", file=sys.stderr)
        best = max(best, (found, setting), key=lambda pair: pair[0])
    return best[1]


def choose(
    fit: Fit, train: DataSet, jobs: int, *, penalties: Sequence[float] = PENALTIES
) -> tuple[float, float]:
    """The best macro F1 on the hold-out of an embedding learned without it, and its C."""
    part = hold_out(train)
    embed = fit(part.train.X, part.train.Y)
    one, two = (normalize(embed(side.X)) for side in (part.train, part.test))
    return choose_penalty(one, part.train.Y, two, part.test.Y, penalties, jobs=jobs)


def judge(fit: Fit, embed: Embedding, parts: Split, jobs: int) -> dict[str, Any]:
    """All measures of one embedding."""
    penalty = choose(fit, parts.train, jobs)[1]
    train, test = (normalize(embed(side.X)) for side in (parts.train, parts.test))
    decisions = classify(train, parts.train.Y, test, penalty=penalty, jobs=jobs)
    near = retrieval_at_k(test, parts.test.Y, train, parts.train.Y, k=10)
    return {**score(parts.test.Y, decisions), "Jaccard at 10": near.jaccard, "C": f"{penalty:g}"}


def run_split(data: DataSet, seed: int, args: argparse.Namespace) -> list[Row]:
    """Learn, time and judge every embedding on one split."""
    n_train, n_test, count = (2000, 1000, 30) if args.quick else (12000, 6000, args.components)
    parts = split(data, n_train, n_test, seed)
    grid = [(0.5, 1.0), (0.8, 3.0)] if args.quick else list(product(BETAS, ALPHAS))
    print(f"split {seed}: {parts.train.Y.shape[1]} labels", file=sys.stderr)
    chosen = tune(parts.train, count, grid, args.jobs)
    ways = fits(count, chosen)
    cases = {name: partial(fit, parts.train.X, parts.train.Y) for name, fit in ways.items()}
    rows = [Row(FEATURES, value=lambda X: X)]
    rows += measure(cases, args.repeats, memory=False)
    ways[FEATURES] = lambda X, Y: lambda rows: rows
    for row in rows:
        row.notes = judge(ways[row.name], row.value, parts, args.jobs)
        print(f"  {row.name}", file=sys.stderr)
        row.notes["chosen"] = str(chosen) if row.name == TUNED else None
    return rows


def combine(splits: list[list[Row]]) -> list[Row]:
    """Means over splits of the measures, with half their range, and all times together."""
    out = []
    for rows in zip(*splits, strict=True):
        notes = {}
        for name in rows[0].notes:
            values = [row.notes[name] for row in rows]
            numeric = name not in ("C", "chosen")
            notes[name] = summarise(values) if numeric else ", ".join(map(str, values))
        if rows[0].name != TUNED:
            notes.pop("chosen")
        out.append(Row(rows[0].name, sum((row.runs for row in rows), ()), notes=notes))
    return out


def main(args: argparse.Namespace) -> None:
    """One table for each split, and one over all of them."""
    report = Report("rcv1_quality", args)
    data = load("rcv1", args.data)
    title = "linear SVM; times are only for learning the embedding"
    splits = []
    for seed in range(args.seed, args.seed + args.splits):
        splits.append(run_split(data, seed, args))
        report.add(f"rcv1, split {seed}, {title}", splits[-1], peer=PEER)
    if args.splits > 1:
        report.add(f"rcv1, mean of {args.splits} splits, {title}", combine(splits), peer=PEER)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=3)
    parser.add_argument("--splits", type=int, default=1, help="number of random splits")
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="SVMs at a time")
    main(parser.parse_args())
