"""An index of a synthetic corpus, by ``labelspan fit --stream``, in a process with limited memory.

Texts of 80 words, from 200,000 words by Zipf's law and from the words of a few of 100 topics,
which are the labels. The fit runs in a process whose address space is limited to 8 GiB; its steps
and its passes over the row files are timed, in seconds of CPU and of the clock. ``--record`` writes
what was measured to ``results/records/large_corpus.json``, and the tables of ``docs/howto/size.md``
that follow from it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .machine import describe_machine

__all__ = ["RECORD", "measure"]

RECORD = Path(__file__).parent.parent / "results" / "records" / "large_corpus.json"
WORDS, TOPICS, LENGTH, VOCABULARY, OWN = 80, 100, 80, 200_000, 300
LIMIT = 8 << 30
STEPS = (
    "read the corpus",
    "count words",
    "features",
    "learn the space",
    "vectors",
    "learn tags",
    "write the index",
)


def write_corpus(path: Path, count: int, seed: int = 0) -> None:
    """Write texts as JSON lines, a block at a time."""
    rng = np.random.default_rng(seed)
    words = [f"w{number:x}" for number in range(VOCABULARY)]
    chances = np.cumsum(1 / np.arange(1, VOCABULARY + 1) ** 1.05)
    topics = np.array([rng.integers(100, VOCABULARY, OWN) for _ in range(TOPICS)])
    with path.open("w", encoding="ascii") as file:
        for start in range(0, count, 10_000):
            n = min(10_000, count - start)
            chosen = np.searchsorted(chances, rng.random((n, LENGTH)) * chances[-1])
            own = rng.integers(0, TOPICS, (n, 2))
            chosen[:, :24] = topics[own[:, :, None], rng.integers(0, OWN, (n, 2, 12))].reshape(
                n, 24
            )
            for number, row, pair in zip(
                range(start, start + n), chosen.tolist(), own.tolist(), strict=True
            ):
                item = {
                    "id": f"item{number}",
                    "text": " ".join([words[place] for place in row]),
                    "labels": sorted({f"topic {topic}" for topic in pair}),
                }
                file.write(json.dumps(item) + "\n")


def fit(corpus: Path, out: Path, dimensions: int, tags: int) -> dict[str, Any]:
    """Fit in this process; return times of steps and of passes."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    from labelspan import MLSI  # noqa: PLC0415
    from labelspan.corpus import CorpusReader  # noqa: PLC0415
    from labelspan.index.fitting import FitOptions, fit_stream  # noqa: PLC0415
    from labelspan.operators import RowBlocks  # noqa: PLC0415

    passes: list[dict[str, Any]] = []

    def timed(kind: type, name: str) -> None:
        old = getattr(kind, name)

        def call(self: Any, block: Any, *labels: Any) -> Any:
            if self.shape[1] == TOPICS:
                return old(self, block, *labels)
            wall, cpu = time.perf_counter(), time.process_time()
            found = old(self, block, *labels)
            passes.append(
                {
                    "width": int(block.shape[1]),
                    "seconds": time.perf_counter() - wall,
                    "cpu": time.process_time() - cpu,
                }
            )
            return found

        setattr(kind, name, call)

    for name in ("joint_products", "label_products", "normal"):
        timed(RowBlocks, name)
    marks: list[tuple[int, float, float]] = []
    sizes: dict[str, int] = {}
    order = {"learning the space": 3, "computing vectors": 4, "learning tags": 5, "done": 6}

    def report(done: int, _: int, now: str) -> None:
        step = order.get(now, done)
        if not marks or marks[-1][0] != step:
            marks.append((step, time.perf_counter(), time.process_time()))
        if now == "learning the space":
            sizes["row bytes"] = disk(out / "unfinished" / "rows")
        elif now == "learning tags":
            sizes["unfinished bytes"] = disk(out / "unfinished")

    start = time.perf_counter()
    stream = CorpusReader(corpus)
    made = fit_stream(
        stream,
        out,
        FitOptions(MLSI(dimensions), "none", tag_sample=tags),
        report=report,
    )
    marks.append((len(STEPS), time.perf_counter(), time.process_time()))
    steps = {
        STEPS[one[0]]: {"seconds": other[1] - one[1], "cpu": other[2] - one[2]}
        for one, other in pairwise(marks)
    }
    return {
        "items": len(made.labels),
        "features": len(made.model.space.weights),
        "dimensions": made.model.space.n_dimensions,
        "tag sample": made.tag_sample,
        "undercount": made.undercount,
        **sizes,
        "steps": steps,
        "passes": _summed(passes, sizes["row bytes"]),
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time(),
        "peak bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def measure(count: int, dimensions: int, tags: int, folder: Path) -> dict[str, Any]:
    """Write a corpus and fit it in a process of its own."""
    corpus, out = folder / "corpus.jsonl", folder / "index"
    write_corpus(corpus, count)
    command = [sys.executable, "-m", "benchmarks.large_corpus", "--fit", str(corpus), str(out)]
    command += ["--dimensions", str(dimensions), "--tags", str(tags)]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(ended.stdout)
    return {**found, "corpus bytes": corpus.stat().st_size, "index bytes": disk(out)}


def disk(folder: Path) -> int:
    """Return the bytes of all files in a folder that may change meanwhile."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total


def _summed(passes: list[dict[str, Any]], size: int) -> dict[str, Any]:
    """Return number, time and bytes per second of passes with wide and with narrow blocks."""
    out = {}
    for name, wide in (("wide", True), ("narrow", False)):
        own = [one for one in passes if (one["width"] > 32) is wide]
        cpu = sum(one["cpu"] for one in own)
        out[name] = {
            "number": len(own),
            "columns": round(sum(one["width"] for one in own) / max(1, len(own))),
            "seconds": sum(one["seconds"] for one in own),
            "cpu": cpu,
            "MB per second of CPU": len(own) * size / max(cpu, 1e-9) / 1e6,
        }
    return out


# --- the page -----------------------------------------------------------------------------


def main(args: argparse.Namespace) -> None:
    """Fit in this process, or measure one size and add it to the record."""
    if args.fit:
        corpus, out = map(Path, args.fit)
        print(json.dumps(fit(corpus, out, args.dimensions, args.tags)))
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        found = measure(args.count, args.dimensions, args.tags, Path(folder))
    print(json.dumps(found, indent=1))
    if not args.record:
        return
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"runs": []}
    runs = [run for run in record["runs"] if run["items"] != found["items"]]
    record = {
        "made by": "python -m benchmarks.large_corpus --record",
        "machine": describe_machine(),
        "limit of the address space": LIMIT,
        "runs": sorted([*runs, found], key=lambda run: int(run["items"])),
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="number of texts")
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--tags", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where the corpus and the index are written")
    parser.add_argument("--record", action="store_true", help="add to the record")
    parser.add_argument("--fit", nargs=2, metavar=("CORPUS", "OUT"), help=argparse.SUPPRESS)
    main(parser.parse_args())
