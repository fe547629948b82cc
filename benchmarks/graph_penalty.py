"""The graph penalty where one row in ten is labelled: what it gains on the others.

``fit_with_graph(model, X, y, W, mu)`` sees the features of all rows, the labels of a tenth of them,
and a graph: nearest neighbours by features (``emotions``), the citations of the texts or
their nearest neighbours by words (``cora``). Weights are divided by the mean degree, so
that mu means about the same for every graph.

Everything is evaluated on the rows without labels: on ``cora`` by the share of rows whose
class is that of the nearest class mean, or of the nearest labelled row, in the space; on
``emotions`` by ``label_scores``, for F1 cut so that each label is given to as large a share
of the rows as among the labelled ones (a penalty shrinks scores, and a cut at one half
would measure that). alpha, for each mu, and the mu of the last line are chosen on the
only the labelled rows: random thirds of them lose their labels for it.

CCA is LDA on classes, and with all components all methods give the same space but for a
rotation: on ``cora`` OPLS therefore stands here with fewer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, kneighbors_graph
from sklearn.preprocessing import StandardScaler, normalize

from labelspan import CCA, LDA, OPLS
from labelspan.metrics import threshold_by_share
from labelspan.papers.sun2009 import fit_with_graph

from .classify import score
from .data import load
from .harness import Report, Row, make_parser

MUS = (0.0, 0.03, 0.3, 3.0, 30.0)
Judge = Callable[[Any, "Task", np.ndarray, np.ndarray], dict[str, float]]


@dataclass(frozen=True)
class Task:
    """Rows, their labels (classes or an indicator), graphs over them, and what to try."""

    name: str
    X: Any
    y: np.ndarray
    graphs: Mapping[str, Any]
    models: Mapping[str, Any]
    alphas: tuple[float, ...]
    judge: Judge
    measure: str


def neighbours(X: Any, count: int) -> Any:
    """The graph of the nearest rows, from either side."""
    graph = kneighbors_graph(X, count)
    return graph.maximum(graph.T)


def unit_degree(graph: Any) -> Any:
    """Weights with a mean degree of one."""
    return graph * (graph.shape[0] / graph.sum())


def judge_classes(model: Any, task: Task, known: np.ndarray, asked: np.ndarray) -> dict[str, float]:
    """The share of rows whose class is found, in two ways."""
    latent = model.transform(task.X)
    return {
        way: float(rule.fit(latent[known], task.y[known]).score(latent[asked], task.y[asked]))
        for way, rule in {
            "nearest mean": NearestCentroid(),
            "nearest row": KNeighborsClassifier(1),
        }.items()
    }


def judge_labels(model: Any, task: Task, known: np.ndarray, asked: np.ndarray) -> dict[str, float]:
    """AUC and F1 of the labels' scores, each label as frequent as among the known rows."""
    scores = model.label_scores(task.X[asked])
    return score(task.y[asked], scores - threshold_by_share(scores, task.y[known].mean(axis=0)))


def load_task(name: str, folder: str | None, near: int) -> Task:
    """One of the two data sets."""
    data = load(name, folder)
    if name == "emotions":
        X = StandardScaler().fit_transform(data.X.astype(np.float64))
        graphs = {"neighbours": unit_degree(neighbours(X, near))}
        models = {
            "CCA, 3": CCA(3, alpha=0.0),
            "OPLS, 3": OPLS(3, alpha=0.0, scale=None),
            "OPLS, all": OPLS(alpha=0.0, scale=None),
        }
        alphas = (10.0, 100.0, 1000.0, 10000.0)
        y = data.Y.astype(np.int64)
        return Task(name, X, y, graphs, models, alphas, judge_labels, "AUC")
    X = normalize(data.X)
    graphs = {"links": unit_degree(data.links), "words": unit_degree(neighbours(X, near))}
    models = {"LDA, all": LDA(alpha=0.0), "OPLS, 3": OPLS(3, alpha=0.0, scale=None)}
    alphas = (0.1, 1.0, 10.0, 100.0)
    return Task(name, X, data.y, graphs, models, alphas, judge_classes, "nearest mean")


def attempt(
    task: Task, model: Any, graph: Any, setting: tuple[float, float], known: np.ndarray
) -> Any:
    """The model with one alpha and mu, from the labels of some rows."""
    alpha, mu = setting
    labels = np.full_like(task.y, -1)
    labels[known] = task.y[known]
    return fit_with_graph(model.set_params(alpha=alpha), task.X, labels, graph, mu)


def run_draw(
    task: Task, model: Any, graph: Any, known: np.ndarray, args: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """Measures on the unlabelled rows, for every mu and for the mu that was chosen."""
    rng = np.random.default_rng(args.seed)
    orders = [rng.permutation(known) for _ in range(args.inner)]
    cut = known.size // 3

    def inner(setting: tuple[float, float]) -> float:
        found = [
            task.judge(
                attempt(task, model, graph, setting, order[cut:]), task, order[cut:], order[:cut]
            )[task.measure]
            for order in orders
        ]
        return float(np.mean(found))

    quality = {setting: inner(setting) for setting in product(task.alphas, args.mus)}
    asked = np.setdiff1d(np.arange(task.y.shape[0]), known)
    out: dict[str, dict[str, float]] = {}
    for mu in args.mus:
        best = max(((alpha, mu) for alpha in task.alphas), key=quality.__getitem__)
        fitted = attempt(task, model, graph, best, known)
        out[f"mu={mu:g}"] = task.judge(fitted, task, known, asked) | {"alpha": best[0], "mu": mu}
    out["mu chosen"] = out[f"mu={max(quality, key=quality.__getitem__)[1]:g}"]
    return out


def summary(draws: list[dict[str, dict[str, float]]], line: str, measure: str) -> dict[str, Any]:
    """Means and standard deviations over draws, and the gain over no graph, draw by draw."""
    notes: dict[str, Any] = {}
    for name in draws[0][line]:
        values = np.array([draw[line][name] for draw in draws])
        if name not in ("alpha", "mu"):
            notes[name] = f"{values.mean():.3f} ±{values.std():.3f}"
    gains = np.array([draw[line][measure] - draw["mu=0"][measure] for draw in draws])
    if line != "mu=0":
        notes[f"gain, {measure}"] = f"{gains.mean():+.3f} ±{gains.std():.3f}"
        notes["draws better, worse"] = f"{(gains > 0).sum()}, {(gains < 0).sum()}"
    for name in ("alpha", "mu"):
        middle = np.quantile([draw[line][name] for draw in draws], 0.5, method="lower")
        notes[f"median {name}"] = f"{middle:g}"
    return notes


def main(args: argparse.Namespace) -> None:
    """One table for each data set and graph."""
    args.mus = (0.0, 0.3, 3.0) if args.quick else MUS
    args.draws, args.inner = (2, 1) if args.quick else (args.draws, args.inner)
    report = Report("graph_penalty", args)
    for name in args.sets:
        task = load_task(name, args.data, args.neighbours)
        count = task.y.shape[0]
        size = round(args.share * count)
        rng = np.random.default_rng(args.seed)
        known = [np.sort(rng.permutation(count)[:size]) for _ in range(args.draws)]
        for kind, graph in task.graphs.items():
            rows: list[Row] = []
            for title, model in task.models.items():
                print(f"{name}, {kind}, {title} ...", file=sys.stderr)
                draws = [run_draw(task, model, graph, rows_of, args) for rows_of in known]
                rows += [
                    Row(line, notes=summary(draws, line, task.measure), group=title)
                    for line in draws[0]
                ]
            report.add(
                f"{name}, graph of {kind}, {size} of {count} rows labelled, {args.draws} draws, "
                f"alpha and mu chosen by {task.measure}",
                rows,
            )
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument(
        "--sets", nargs="+", choices=("emotions", "cora"), default=("emotions", "cora")
    )
    parser.add_argument("--draws", type=int, default=10, help="of the labelled rows")
    parser.add_argument("--inner", type=int, default=2, help="hold-outs for each choice")
    parser.add_argument("--share", type=float, default=0.1, help="of the rows that are labelled")
    parser.add_argument("--neighbours", type=int, default=10, help="in graphs of neighbours")
    main(parser.parse_args())
