"""Search among 10^5 and 10^6 vectors of 100 dimensions.

The vectors are those that MLSI gives to sums of directions of labels with noise; the queries are
further rows. Recall is the share of the ten exact neighbours that are found. One query at a
time, then all in batches; fetching the items themselves is not part of it. Peers: a product and
``argpartition`` in numpy, and scikit-learn's ``NearestNeighbors``.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from labelspan import MLSI
from labelspan.index.vectors import UnitVectors, unit_rows

from .harness import Report, Row, make_parser

WIDTH, LABELS, ANSWERS = 100, 300, 10
# Rows of the array of vectors for each unit query, best first.
Search = Callable[[Any], Any]


def main(args: argparse.Namespace) -> None:
    """A table for each size."""
    report = Report("search_size", args)
    for size in [10_000] if args.quick else args.sizes:
        base, queries = make_vectors(size, args)
        vectors = UnitVectors(base)
        exact = [rows for rows, _ in vectors.top(queries, ANSWERS)]

        def add(name: str, search: Search, exact: Any = exact, asked: Any = queries, **notes: Any):
            return Row(name, notes={**measure(search, asked, exact, args.repeats), **notes})

        rows = [add("labelspan, exact", lambda q, v=vectors: [r for r, _ in v.top(q, ANSWERS)])]
        rows.append(add("numpy, argpartition", lambda q, b=base: by_numpy(q, b)))
        peer = NearestNeighbors(n_neighbors=ANSWERS, metric="cosine", algorithm="brute").fit(base)
        rows.append(
            add("scikit-learn, brute", lambda q, p=peer: p.kneighbors(q, return_distance=False))
        )
        report.add(f"{size:,} vectors of {WIDTH} dimensions, {ANSWERS} answers", rows)
    report.write()


def make_vectors(size: int, args: argparse.Namespace) -> tuple[Any, Any]:
    """Unit vectors of items and of queries in a space that MLSI learned."""
    count = size + args.queries
    rng, step = np.random.default_rng(args.seed), 20_000
    directions = rng.standard_normal((LABELS, 120)) @ rng.standard_normal((120, 256)) / 120
    found, space = np.empty((count, WIDTH), dtype=np.float32), MLSI(WIDTH, alpha=1.0)
    for start in range(0, count, step):
        part = found[start : start + step]
        Y = (rng.random((len(part), LABELS)) < 2.5 / LABELS).astype(np.float32)
        X = (Y @ directions + rng.standard_normal((len(part), 256)) / 32).astype(np.float32)
        part[:] = unit_rows((space.transform if start else space.fit(X, Y).transform)(X))
    return found[:size], found[size:]


def by_numpy(queries: Any, base: Any) -> Any:
    """What anyone would write first."""
    scores = queries @ base.T
    best = np.argpartition(scores, -ANSWERS, axis=1)[:, -ANSWERS:]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def measure(search: Search, queries: Any, exact: Any, repeats: int) -> dict[str, Any]:
    """Recall, times of one query, queries per second in batches of 100, and memory of a batch."""
    batches = [queries[start : start + 100] for start in range(0, len(queries), 100)]
    found = [rows for batch in batches for rows in search(batch)]
    same = [len(set(own) & set(other)) for own, other in zip(found, exact, strict=True)]
    single, seconds = [], []
    for _ in range(repeats):
        for query in queries[:200]:
            start = time.perf_counter()
            search(query[None])
            single.append(time.perf_counter() - start)
        start = time.perf_counter()
        for batch in batches:
            search(batch)
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    search(batches[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    half, most = 1000 * np.quantile(single, [0.5, 0.95])
    return {
        "recall": f"{np.mean(same) / ANSWERS:.4f}",
        "p50 ms": f"{half:.2f}",
        "p95 ms": f"{most:.2f}",
        "queries/s": round(len(queries) / float(np.median(seconds))),
        "batch MiB": f"{peak / 2**20:.1f}",
    }


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=1000)
    main(parser.parse_args())
