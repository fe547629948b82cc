"""Sparse loadings on Reuters: which words make an axis, and what sparseness costs.

``OPLS(penalty="l1")`` is sun2009's least squares form: it minimises
``|X w - t|^2 + alpha |w|_1`` for each target t, which has length one and is made from the
labels only, as are rows of X. The texts are yu2005's part of Reuters-21578 (two topics or
more, topics with 14 such texts); features are TF-IDF of the words (only letters, without
scikit-learn's stop words) that five texts or more contain.

The first table shows five axes learned from all texts, by their heaviest words. The second
learns twenty on 70% of the texts, words and weights included, and classifies the rest by
linear SVMs on the projection, whose rows are scaled by one common factor; C is chosen on a
quarter of the training texts that the axes of that choice did not see. Labels count where
both parts have them.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from labelspan import OPLS
from labelspan.errors import NotConverged

from .classify import choose_penalty, classify, score
from .data import DataSet, load
from .harness import Report, Row, make_parser, measure

ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
AXES = 5
DENSE = "dense, l2, alpha=1"
FEATURES = "all words"


def vectorizer() -> TfidfVectorizer:
    """TF-IDF of words, rows of length one."""
    return TfidfVectorizer(min_df=5, stop_words="english", token_pattern=r"[a-z]{2,}")


def sparse_model(count: int, alpha: float, tol: float) -> OPLS:
    """OPLS with the 1-norm."""
    return OPLS(count, penalty="l1", alpha=alpha, tol=tol)


def show_axes(report: Report, data: DataSet, args: argparse.Namespace) -> None:
    """The heaviest words of the first axes, with signs, and the topics they speak of."""
    words = vectorizer()
    X = words.fit_transform(data.texts)
    names = words.get_feature_names_out()
    for alpha in args.show:
        model = sparse_model(AXES, alpha, args.tol).fit(X, data.Y)
        rows = []
        for axis, weights in enumerate(model.components_):
            heaviest = np.argsort(-np.abs(weights), kind="stable")[: args.words]
            heaviest = heaviest[weights[heaviest] != 0]
            topics = np.argsort(-np.abs(model.label_loadings_[axis]), kind="stable")[:3]
            signed = zip(topics, model.label_loadings_[axis][topics], strict=True)
            notes = {
                "nonzeros": int(np.count_nonzero(weights)),
                "topics": " ".join(
                    f"{'-' if value < 0 else '+'}{data.label_names[t]}" for t, value in signed
                ),
                "words": " ".join(f"{names[w]} {weights[w]:+.2f}" for w in heaviest),
            }
            rows.append(Row(f"axis {axis + 1}", notes=notes))
        report.add(f"{X.shape[0]} texts x {X.shape[1]} words, OPLS, l1, alpha={alpha:g}", rows)


def scaled(model: Any, *parts: Any) -> list[np.ndarray]:
    """Parts mapped to the space; the first, the training part, gets entries of mean square 1."""
    mapped = [np.asarray(model.transform(part)) for part in parts]
    size = np.sqrt(np.square(mapped[0]).mean())
    return [part / (size or 1.0) for part in mapped]


def judge(model: Any, train: DataSet, test: DataSet, jobs: int) -> dict[str, float]:
    """F1 and AUC of SVMs on the space of a fitted model (None: on the words themselves)."""
    cut = 3 * train.X.shape[0] // 4
    whole: Any = (train.X, test.X)
    sides: Any = (train.X[:cut], train.X[cut:])
    if model is not None:
        whole = scaled(model, *whole)
        sides = scaled(model.fit(sides[0], train.Y[:cut]), *sides)
    penalty = choose_penalty(sides[0], train.Y[:cut], sides[1], train.Y[cut:], jobs=jobs)[1]
    decisions = classify(whole[0], train.Y, whole[1], penalty=penalty, jobs=jobs)
    return score(test.Y, decisions) | {"C": penalty}


def walk(report: Report, data: DataSet, args: argparse.Namespace) -> None:
    """Nonzeros and classification along alpha, compared with dense loadings."""
    order = np.random.default_rng(args.seed).permutation(len(data.texts))
    cut = round(0.7 * order.size)
    words = vectorizer()
    X = words.fit_transform([data.texts[row] for row in order[:cut]])
    X_test = words.transform([data.texts[row] for row in order[cut:]])
    Y, Y_test = data.Y[order[:cut]], data.Y[order[cut:]]
    keep = Y.any(axis=0) & Y_test.any(axis=0)
    train, test = DataSet("reuters", X, Y[:, keep]), DataSet("reuters", X_test, Y_test[:, keep])
    count = args.components
    models = {DENSE: OPLS(count, alpha=1.0)}
    models |= {f"l1, alpha={alpha:g}": sparse_model(count, alpha, args.tol) for alpha in args.path}

    rows = [Row(FEATURES, notes=judge(None, train, test, args.jobs))]
    for name, model in models.items():
        print(f"{name} ...", file=sys.stderr)
        fit = partial(model.fit, train.X, train.Y)
        row = measure({name: fit}, args.repeats, memory=False)
        weights = model.components_
        notes = {
            "nonzeros an axis": f"{np.count_nonzero(weights, axis=1).mean():.0f}",
            "words used": int(weights.any(axis=0).sum()),
            "empty axes": int((~weights.any(axis=1)).sum()),
            "iterations": model.n_iter_,
        }
        row[0].notes = notes | judge(model, train, test, args.jobs)
        rows += row
    report.add(
        f"OPLS with {count} axes, {X.shape[0]} texts x {X.shape[1]} words, "
        f"{X_test.shape[0]} test texts, {keep.sum()} labels; linear SVM, times of fit",
        rows,
    )


def main(args: argparse.Namespace) -> None:
    """The axes, then the path."""
    data = load("reuters21578", args.data)
    if args.quick:
        data = data.take(np.random.default_rng(args.seed).permutation(len(data))[:600])
        keep = data.Y.sum(axis=0) >= 10
        names = [name for name, kept in zip(data.label_names, keep, strict=True) if kept]
        data = replace(data, Y=data.Y[:, keep], label_names=names)
        args.path, args.show, args.components = (0.3, 0.03), (0.1,), min(args.components, 8)
    report = Report("sparse_loadings", args)
    with warnings.catch_warnings():
        # The table shows the number of iterations.
        warnings.simplefilter("ignore", NotConverged)
        show_axes(report, data, args)
        walk(report, data, args)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--components", type=int, default=20, help="axes along the path")
    parser.add_argument("--path", type=float, nargs="+", default=ALPHAS, help="values of alpha")
    parser.add_argument("--show", type=float, nargs="+", default=(0.3, 0.1), help="alpha to show")
    parser.add_argument("--words", type=int, default=10, help="shown of each axis")
    parser.add_argument("--tol", type=float, default=1e-5, help="of the coordinate descent")
    parser.add_argument("--jobs", type=int, default=2, help="SVMs at a time")
    main(parser.parse_args())
