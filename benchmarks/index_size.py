"""An index of all 30,300 tagged packages of Debian: learning, searching, memory, disk.

Needs ``debtags.jsonl.gz`` in the data folder. Queries are the summaries of 500 packages, one
at a time, with the index loaded from disk. Memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from labelspan import SemanticIndex

from .harness import Report, Row, make_parser


def main(args: argparse.Namespace) -> None:
    """One table."""
    report = Report("index_size", args)
    folder = Path(args.data or os.environ["LABELSPAN_DATA"])
    with gzip.open(folder / "debtags.jsonl.gz", "rt", encoding="utf-8") as lines:
        packages = [p for p in map(json.loads, lines) if p["tags"]]
    packages = packages[:3000] if args.quick else packages
    texts = [f"{p['package']}: {p['summary']}\n{p['description']}" for p in packages]
    start = time.perf_counter()
    index = SemanticIndex().fit(
        texts, [p["tags"] for p in packages], [str(n) for n in range(len(packages))]
    )
    learned = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "debtags.labelspan"
        index.save(place)
        size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        loaded = SemanticIndex.load(place)
        asked = np.random.default_rng(args.seed).permutation(len(packages))[:500]
        seconds = []
        for number in asked:
            start = time.perf_counter()
            loaded.search(packages[number]["summary"] or "nothing", k=10)
            seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    half, most = (f"{1000 * q:.1f}" for q in np.quantile(seconds, [0.5, 0.95]))
    notes = {"items": len(packages), "labels": len(index.labels), "fit s": f"{learned:.1f}"}
    notes |= {"search p50 ms": half, "p95 ms": most}
    notes |= {"peak GiB": f"{peak:.2f}", "disk MB": f"{size / 1e6:.1f}"}
    report.add("SemanticIndex on tagged packages", [Row("MLSI, 100 dimensions", notes=notes)])
    report.write()


if __name__ == "__main__":
    main(make_parser(__doc__, repeats=1).parse_args())
