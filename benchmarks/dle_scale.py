"""Multi-label DLE on more and more rows: time, memory, and how good the neighbours are.

The rows lie near a space of 20 dimensions among d features; labels say on which side of a
random direction of it a row lies, so that each goes to about a tenth of the rows. A tenth
of the rows, or ``--labelled`` of them, have labels. ``graph`` is the time of the
only the neighbours, exact up to 40,000 rows and approximate beyond; ``fit`` is that of
everything else, given the graph. ``found`` is the share of the true neighbours that 500
rows have in it. The exponents are those of a straight line through the logarithms.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from labelspan import DLE
from labelspan.graph import neighbor_graph
from labelspan.graph.neighbors import nearest_neighbors

from .harness import Report, Row, make_parser, measure


def make(n: int, args: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels, most of the rows unlabelled."""
    rng = np.random.default_rng(args.seed)
    latent = rng.standard_normal((n, 20))
    X = latent @ rng.standard_normal((20, args.features))
    X += 0.5 * rng.standard_normal(X.shape)
    scores = latent @ rng.standard_normal((20, args.labels))
    Y = (scores > np.quantile(scores, 0.9, axis=0)).astype(np.int8)
    labelled = n // 10 if args.labelled is None else min(args.labelled, n)
    Y[labelled:] = -1
    return X, Y


def share_found(X: np.ndarray, neighbors: int, seed: int) -> float:
    """How many of the true neighbours of some rows the search finds."""
    asked = np.random.default_rng(seed + 1).permutation(len(X))[:500]
    squares = (X**2).sum(axis=1)[None, :] - 2 * X[asked] @ X.T
    squares[np.arange(asked.size), asked] = np.inf
    true = np.argpartition(squares, neighbors, axis=1)[:, :neighbors]
    found = nearest_neighbors(X, neighbors, search="auto")[0][asked]
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(true, found, strict=True)]))


def main(args: argparse.Namespace) -> None:
    """One line a size, and the exponents."""
    report = Report("dle_scale", args)
    sizes = (1000, 2000) if args.quick else args.rows
    rows: list[Row] = []
    for n in sizes:
        print(f"{n} rows ...", file=sys.stderr)
        X, Y = make(n, args)
        graph = neighbor_graph(X, args.neighbors)
        cases = {
            "graph": lambda X=X: neighbor_graph(X, args.neighbors),
            "fit": lambda X=X, Y=Y, graph=graph: DLE().fit(X, Y, graph=graph),
            "both": lambda X=X, Y=Y: DLE(n_neighbors=args.neighbors).fit(X, Y),
        }
        lines = measure(cases, args.repeats, group=f"{n} x {args.features}")
        lines[0].notes = {"found": share_found(X, args.neighbors, args.seed)}
        rows += lines
    report.add(f"DLE, {args.labels} labels, {args.neighbors} neighbours", rows)
    exponents = []
    for name in ("graph", "fit", "both"):
        seconds = [row.median for row in rows if row.name == name]
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        exponents.append(Row(name, notes={"exponent of time": f"{slope:.2f}"}))
    report.add("growth with n", exponents)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    sizes = (12_500, 25_000, 50_000, 100_000)
    parser.add_argument("--rows", type=int, nargs="+", default=sizes)
    parser.add_argument("--features", type=int, default=300)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--labelled", type=int, help="rows with labels (default: a tenth)")
    main(parser.parse_args())
