"""A graph that is given: cora's words, its citations, and both, with a tenth of the rows labelled.

Words can say how similar two papers are (the 10 nearest by cosine), and citations can;
``both`` adds the two graphs so that each counts the same. DLE learns from words, graph and
the known classes, LPP from words and graph, LDA from words and known classes. All are
evaluated by the nearest labelled row in the space, on the rows without labels. Every alpha is
shown: none was chosen by looking at the rows that judge.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from labelspan import LDA, LPP, DLEClassifier
from labelspan.datasets import load
from labelspan.graph import combine, neighbor_graph
from labelspan.operators.row_graph import read_graph

from .harness import Report, Row, make_parser, summarise

ALPHAS = (0.0, 1.0, 10.0, 100.0)


def draw(data, graphs, known: np.ndarray) -> dict[tuple[str, str, float], float]:
    """The share of right classes of each method, graph and alpha."""
    X, y = data.X.astype(np.float64), np.asarray(data.y)
    given = np.where(known, y, -1)

    def right(found: np.ndarray) -> float:
        return float((found == y)[~known].mean())

    def nearest(places: np.ndarray) -> float:
        return right(KNeighborsClassifier(1).fit(places[known], y[known]).predict(places))

    scores = {("1-NN", "-", 0.0): nearest(X)}
    for alpha in ALPHAS:
        if alpha:
            scores["LDA", "-", alpha] = nearest(LDA(alpha=alpha).fit(X, given).transform(X))
        for name, graph in graphs.items():
            space = LPP(30, alpha=alpha).fit(X, graph=graph)
            scores["LPP", name, alpha] = nearest(space.transform(X))
            for projection in ("printed", "whitened"):
                model = DLEClassifier(projection=projection, alpha=alpha)
                found = model.fit_predict(X, given, graph)
                scores[f"DLE {projection}", name, alpha] = right(found)
    return scores


def main(args: argparse.Namespace) -> None:
    """One table: methods and graphs down, alpha across."""
    report = Report("cora_graphs", args)
    data = load("cora", args.data)
    rows = data.X.shape[0]
    links = read_graph(data.links, rows)
    words = neighbor_graph(data.X.astype(np.float64), 10, weight="cosine")
    graphs = {"links": links, "words": words, "both": combine([links, words])}
    draws = []
    for seed in range(1 if args.quick else args.draws):
        print(f"draw {seed} ...", file=sys.stderr)
        known = np.zeros(rows, dtype=bool)
        known[np.random.default_rng(args.seed + seed).permutation(rows)[: rows // 10]] = True
        draws.append(draw(data, graphs, known))
    lines = dict.fromkeys((method, graph) for method, graph, _ in draws[0])
    found = []
    for method, graph in lines:
        notes = {
            f"alpha={alpha:g}": summarise([one[method, graph, alpha] for one in draws])
            for alpha in ALPHAS
            if (method, graph, alpha) in draws[0]
        }
        found.append(Row(method, notes={"graph": graph, **notes}))
    report.add(f"right classes on {rows - rows // 10} rows, {len(draws)} draw(s)", found)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--draws", type=int, default=3, help="of the labelled rows")
    main(parser.parse_args())
