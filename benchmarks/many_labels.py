"""Spaces for very many labels: time, memory and quality where labels stay sparse.

Synthetic texts: every row has two of some topics, few of which are common; words and labels come
from the topics, each with its own distribution (Zipf), and from a common one. Every method is
fitted in a process of its own, whose peak memory is what the system counts (data included), with a
fixed alpha. Quality on rows that were not fitted: the share of a row's true labels among the five
best by ``label_scores`` (recall at 5), and the share of labels that a row has in common with its
ten nearest rows of the training data (Jaccard index), compared with LSI.

``--rows 1000000 --features 100000 --labels 100000`` is the full size.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from labelspan import HSL, LSI, MLSI, OPLS

from .harness import Report, Row, make_parser

_WORDS, _TAGS, _OWN = 40, 5, 200
_TEST, _SEARCHED = 1000, 20_000

METHODS: dict[str, Callable[[int, float], Any]] = {
    "LSI": lambda count, alpha: LSI(count),
    "MLSI": lambda count, alpha: MLSI(count, alpha=alpha),
    "OPLS": lambda count, alpha: OPLS(count, alpha=alpha),
    "HSL": lambda count, alpha: HSL(count, alpha=alpha),
}


def make_data(
    rows: int, features: int, labels: int, seed: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return TF-IDF-like rows of length one in float32, and a 0/1 indicator."""
    rng = np.random.default_rng(seed)
    topics = max(20, min(labels // 20, 2000))
    own = (np.minimum(rng.zipf(1.4, size=(rows, 2)), 10**6) - 1) % topics
    words = _drawn(rng, own, features, _WORDS, 0.5)
    tags = _drawn(rng, own, labels, _TAGS, 0.8)
    X = _counts(words, features)
    X.data = 1 + np.log(X.data)
    spread = np.bincount(X.indices, minlength=features)
    X.data *= np.log((1 + rows) / (1 + spread)).astype(np.float32)[X.indices]
    Y = _counts(tags, labels)
    Y.data[:] = 1
    return sparse.csr_array(normalize(X, copy=False)), Y


def _drawn(
    rng: np.random.Generator, topics: np.ndarray, size: int, count: int, share: float
) -> np.ndarray:
    """Draw columns for every row: a share from its topics, the others from all columns."""
    rows = topics.shape[0]
    topic = np.take_along_axis(topics, rng.integers(2, size=(rows, count)), axis=1)
    rank = np.minimum(rng.zipf(1.5, size=(rows, count)) - 1, 10**6) % _OWN
    place = (topic.astype(np.int64) * 7919 + rank * 104_729) % size
    common = np.minimum(rng.zipf(1.2, size=(rows, count)) - 1, 10**9) % size
    return np.where(rng.random((rows, count)) < share, place, common)


def _counts(columns: np.ndarray, size: int) -> sparse.csr_array:
    rows, count = columns.shape
    indptr = np.arange(0, rows * count + 1, count)
    data = np.ones(rows * count, dtype=np.float32)
    out = sparse.csr_array((data, columns.ravel().astype(np.int32), indptr), shape=(rows, size))
    out.sum_duplicates()
    return out


def fit_one(args: argparse.Namespace, method: str) -> dict[str, Any]:
    """Fit one method, in this process; return its costs and its quality."""
    X, Y = make_data(args.rows + _TEST, args.features, args.labels, args.seed)
    data = X.data.nbytes + X.indices.nbytes + Y.data.nbytes + Y.indices.nbytes
    test, truth = X[args.rows :], Y[args.rows :]
    X, Y = X[: args.rows], Y[: args.rows]
    model = METHODS[method](args.components, args.alpha)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X) if method == "LSI" else model.fit(X, Y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    notes: dict[str, Any] = {
        "CPU s": round(cpu, 1),
        "wall s": round(wall, 1),
        "peak GB": round(peak / 1e9, 2),
        "data GB": round(data / 1e9, 2),
        "blocks": int(np.max(model.n_iter_)),
        "components": model.n_components_,
    }
    if method != "LSI":
        best = np.argpartition(-model.label_scores(test), 5, axis=1)[:, :5]
        found = np.asarray(truth.todense())[np.arange(_TEST)[:, None], best].sum()
        notes["R@5"] = round(float(found) / float(truth.sum()), 3)
    notes["Jaccard@10"] = round(_shared(model, X, Y, test, truth), 3)
    return notes


def _shared(model: Any, X: Any, Y: Any, test: Any, truth: Any) -> float:
    searched = X[:_SEARCHED]
    near = normalize(model.transform(test)) @ normalize(model.transform(searched)).T
    best = np.argpartition(-near, 10, axis=1)[:, :10]
    labels = Y[:_SEARCHED]
    both = truth @ labels.T
    both = np.asarray(both.todense())[np.arange(_TEST)[:, None], best]
    sizes = np.asarray(truth.sum(axis=1)).ravel()[:, None] + np.asarray(labels.sum(axis=1))[best]
    return float(np.mean(both / np.maximum(sizes - both, 1)))


def main() -> None:
    """Run every method in a process of its own and print the table."""
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50_000)
    parser.add_argument("--labels", type=int, default=20_000)
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--alpha", type=float, default=10.0)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--one", choices=METHODS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.rows, args.features, args.labels, args.components = 4000, 3000, 5000, 20
    if args.one:
        print(json.dumps(fit_one(args, args.one)))
        return
    report = Report("many_labels", args)
    rows = []
    for method in args.methods:
        sizes = ("rows", "features", "labels", "components", "alpha", "seed")
        options = [f"--{name}={getattr(args, name)}" for name in sizes]
        command = [sys.executable, "-m", "benchmarks.many_labels", f"--one={method}", *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(Row(method, notes=json.loads(done.stdout.splitlines()[-1])))
        print(method, rows[-1].notes, flush=True)
    report.add("many labels", rows)
    report.write()


if __name__ == "__main__":
    main()
