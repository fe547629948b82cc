"""Layouts of a map: neighbours kept, time and memory, compared with UMAP, openTSNE and PaCMAP.

The items are Debian packages (``debtags.jsonl.gz`` of LABELSPAN_DATA): TF-IDF of their
descriptions, LSI with 100 dimensions, rows of length 1. ``kept`` is the share of the 30 nearest
neighbours by cosine that are among the 30 nearest in the plane, over 2,000 items. Each method runs
in its own process, on one thread; seconds are CPU time, imports and compilation
included. A method whose package is not installed is left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from labelspan._typing import Array

from .harness import Report, Row, make_parser

METHODS = {
    "labelspan": None,
    "umap": "umap",
    "openTSNE": "openTSNE",
    "pacmap": "pacmap",
    "sklearn t-SNE": None,
}
NEIGHBOURS, MEASURED = 30, 2000


def vectors(count: int) -> Array:
    """Vectors of the first packages of a random order."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415
    from sklearn.preprocessing import normalize  # noqa: PLC0415

    from labelspan import LSI  # noqa: PLC0415

    path = Path(os.environ["LABELSPAN_DATA"]) / "debtags.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [f"{row['summary']} {row['description']}" for row in rows]
    tfidf = TfidfVectorizer(sublinear_tf=True, max_features=30_000, max_df=0.5)
    space = np.asarray(LSI(100).fit_transform(tfidf.fit_transform(texts)), dtype=np.float32)
    chosen = np.random.default_rng(0).permutation(len(space))[:count]
    return np.ascontiguousarray(normalize(space)[np.sort(chosen)])


def lay_out(method: str, table: Array) -> Array:
    """Places by one method."""
    if method == "umap":
        import umap  # noqa: PLC0415

        return np.asarray(umap.UMAP(metric="cosine", random_state=0).fit_transform(table))
    if method == "openTSNE":
        import openTSNE  # noqa: PLC0415

        return np.asarray(openTSNE.TSNE(metric="cosine", n_jobs=1, random_state=0).fit(table))
    if method == "pacmap":
        import pacmap  # noqa: PLC0415

        return np.asarray(pacmap.PaCMAP(random_state=0).fit_transform(table))
    if method == "sklearn t-SNE":
        from sklearn.manifold import TSNE  # noqa: PLC0415

        return np.asarray(TSNE(init="pca", random_state=0).fit_transform(table))
    from labelspan.display.layout import layout  # noqa: PLC0415

    return layout(table)


def kept(table: Array, places: Array) -> float:
    """The share of nearest neighbours that are nearest in the plane."""
    from scipy.spatial import cKDTree  # noqa: PLC0415

    rows = np.random.default_rng(0).choice(len(table), min(MEASURED, len(table)), replace=False)
    scores = table[rows] @ table.T
    scores[np.arange(rows.size), rows] = -9.0
    near = np.argpartition(-scores, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    flat = np.asarray(places, dtype=float)
    found = cKDTree(flat).query(flat[rows], NEIGHBOURS + 1)[1]
    shares = [
        len(set(own) & (set(other) - {row})) / NEIGHBOURS
        for own, other, row in zip(near.tolist(), found.tolist(), rows.tolist(), strict=True)
    ]
    return float(np.mean(shares))


def _peak() -> float:
    """The largest memory of this process in MB; what it had before ``exec`` does not count."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(method: str, path: str) -> None:
    """Lay out the vectors in a file, and print what came of it."""
    table = np.load(path)
    before = time.process_time()
    places = lay_out(method, table)
    seconds = time.process_time() - before
    memory = _peak()
    print(json.dumps({"kept": kept(table, places), "seconds": seconds, "memory": memory}))


def main(args: argparse.Namespace) -> None:
    """Run every method on every number of items."""
    report = Report("map_layout", args)
    for count in args.items[:1] if args.quick else args.items:
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "vectors.npy"
            np.save(path, vectors(count))
            for method, package in METHODS.items():
                if method not in args.methods or (package and find_spec(package) is None):
                    continue
                command = [sys.executable, "-W", "ignore", "-m", "benchmarks.map_layout"]
                done = subprocess.run(
                    [*command, "--measure", method, str(path)],
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                found = json.loads(done.stdout.splitlines()[-1])
                notes = {
                    "kept %": round(100 * found["kept"], 1),
                    "seconds": round(found["seconds"], 1),
                    "MB": round(found["memory"]),
                }
                rows.append(Row(method, notes=notes))
        report.add(f"{count:,} items", rows)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--items", type=int, nargs="+", default=[5000, 20_000, 63_620])
    parser.add_argument("--methods", nargs="+", default=list(METHODS)[:4])
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(*given.measure)
    else:
        main(given)
