"""An index of a synthetic corpus, by ``labelspan fit --stream``, in a process with limited memory.

Texts of 80 words, from 200,000 words by Zipf's law and from the words of a few of 100 topics,
which are the labels. The fit runs in a process whose address space is limited to 8 GiB; its steps
and its passes over the row files are timed, in seconds of CPU and of the clock. ``--record`` writes
what was measured to ``docs/records/large_corpus.json``, and the tables of ``docs/howto/size.md``
that follow from it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .billion import Costs, Setting, size, span
from .machine import describe_machine

__all__ = ["PAGE", "RECORD", "measured_table", "rewrite", "sizes_table", "worked_table"]

DOCS = Path(__file__).parent.parent / "docs"
RECORD = DOCS / "records" / "large_corpus.json"
PAGE = DOCS / "howto" / "size.md"
WORDS, TOPICS, LENGTH, VOCABULARY, OWN = 80, 100, 80, 200_000, 300
LIMIT = 8 << 30
# Bytes of memory per text: hashes of names and ids while they are sorted. Counts of words and
# pairs are bounded, and were full in the largest run.
_PER_TEXT = 64.0
# The sizes that the page works out from what was measured.
SIZES = (10**6, 5 * 10**6, 5 * 10**7)
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
    from labelspan.operators.paired_rows import PairedRows  # noqa: PLC0415

    passes: list[dict[str, Any]] = []

    def timed(kind: type, name: str) -> None:
        old = getattr(kind, name)

        def call(self: Any, block: Any) -> Any:
            if kind is RowBlocks and self.shape[1] == TOPICS:
                return old(self, block)
            wall, cpu = time.perf_counter(), time.process_time()
            found = old(self, block)
            passes.append(
                {
                    "width": int(block.shape[1]),
                    "seconds": time.perf_counter() - wall,
                    "cpu": time.process_time() - cpu,
                }
            )
            return found

        setattr(kind, name, call)

    timed(PairedRows, "both")
    timed(PairedRows, "back")
    timed(RowBlocks, "normal")
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
        sample=stream.head.texts,
        report=report,
    )
    marks.append((len(STEPS), time.perf_counter(), time.process_time()))
    steps = {
        STEPS[one[0]]: {"seconds": other[1] - one[1], "cpu": other[2] - one[2]}
        for one, other in pairwise(marks)
    }
    return {
        "items": made.items,
        "features": made.features,
        "dimensions": made.dimensions,
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


def measured_table(record: dict[str, Any]) -> str:
    """What was measured, one column per size."""
    runs = record["runs"]
    head = ["", *(f"{run['items']:,} texts" for run in runs)]
    rows = [head, ["---"] * len(head)]
    # Those of the runs: an older fit had others.
    for step in dict.fromkeys(step for run in runs for step in run["steps"]):
        times = [run["steps"].get(step) for run in runs]
        shown = ["" if one is None else f"{one['cpu']:.0f}" for one in times]
        rows.append([f"{step}, s of CPU", *shown])
    rows.append(["all, s of CPU", *(f"{run['cpu']:.0f}" for run in runs)])
    for name in ("wide", "narrow"):
        passes = [run["passes"][name] for run in runs]
        shown = [
            f"{one['number']} of {one['columns']} columns, {one['MB per second of CPU']:.0f} MB/s"
            for one in passes
        ]
        rows.append([f"{name} passes over the row files", *shown])
    rows.append(["peak memory", *(_size(run["peak bytes"]) for run in runs)])
    for name, key in (
        ("corpus", "corpus bytes"),
        ("row files", "row bytes"),
        ("disk while fitting", "unfinished bytes"),
        ("index", "index bytes"),
    ):
        rows.append([name, *(_size(run[key]) for run in runs)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def worked_table(record: dict[str, Any]) -> str:
    """What the measured sizes say of others: times grow with the texts, memory a little."""
    large = record["runs"][-1]
    # Tags are learned from a sample, whatever the number of texts.
    tags = large["steps"]["learn tags"]["cpu"]
    each = (large["cpu"] - tags) / large["items"]
    rows = [
        [
            "texts",
            "one core",
            "passes on 16 cores",
            "memory",
            "disk",
            "index",
        ],
        ["---"] * 6,
    ]
    wide = sum(large["passes"][name]["cpu"] for name in ("wide", "narrow")) / large["items"]
    for count in SIZES:
        peak = large["peak bytes"] + _PER_TEXT * max(0, count - large["items"])
        share = count / large["items"]
        rows.append(
            [
                f"{count:,}",
                _time(each * count + tags),
                _time((each - wide + wide / 8) * count + tags),
                _size(peak),
                _size(share * large["unfinished bytes"]),
                _size(share * large["index bytes"]),
            ]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


# Columns of a dense table, and bytes of memory that count as one machine.
_DENSE, _MACHINE = 768, 64e9
# Dense products of one core, in operations per second: assumed.
_PRODUCTS = 2e10
# Bytes that a disk reads per second: assumed.
_DISK = 1e9


def sizes_table(costs: Costs) -> str:
    """Work out ways, memory and time of MLSI with 100 dimensions, from the costs of billion.md."""
    head = ["rows", "features", "labels", "way", "memory", "disk", "one core", "16 cores"]
    rows = [head, ["---"] * len(head)]
    for n in (1e5, 1e6, 1e7, 1e8, 1e9):
        for labels in (1e2, 1e4, 1e6):
            rows.append(_sparse_row(costs, n, labels))
        rows.append(_dense_row(n))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _sparse_row(costs: Costs, n: float, labels: float) -> list[str]:
    at = Setting()
    b, q, d = at.width(100), at.blocks, 3e4
    held = n * at.words * costs.held
    inside = held + 4 * n * b * q + 4 * d * b * q + 12 * n * at.labels + 12 * b * labels
    # Row files: two blocks of 20,000 rows, the space on the side of features and labels.
    lean = 4 * (2 * d + labels) * b * q + 3 * 20_000 * at.words * costs.held + 5e8
    products = n * at.words * b * (costs.xv + costs.xtu) * 1e-9
    disk = 0.0 if inside <= _MACHINE / 4 else held
    if not disk:
        way, memory, passes = "`fit`", inside, q
    elif n < 1e9:
        way, memory, passes = "row files, `labelspan fit --stream`", lean, q + 2
    else:
        way, memory, passes = "row files, or [a cluster](../billion.md)", lean, q + 2
    one_core = passes * products
    many = max(one_core / 8, passes * disk / _DISK)
    cells = (f"{n:.0e}", "30,000 words, 75 each", f"{labels:.0e}", way)
    stored = size(disk) if disk else ""
    return [*map(_power, cells), size(memory), stored, span(one_core), span(many)]


def _dense_row(n: float) -> list[str]:
    one_core = 2 * n * _DENSE**2 / _PRODUCTS
    memory = 8 * (_DENSE**2 + _DENSE * 1e2) + 4 * 10_000 * _DENSE
    many = max(one_core / 8, 4 * n * _DENSE / _DISK)
    cells = (f"{n:.0e}", f"{_DENSE} dense", "1e+02", "`partial_fit`, one pass")
    return [*map(_power, cells), size(memory), size(4 * n * _DENSE), span(one_core), span(many)]


def _power(cell: str) -> str:
    found = re.fullmatch(r"1e\+0*(\d+)", cell)
    return f"10^{found[1]}" if found else cell


def _size(count: float) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _time(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"


def rewrite(text: str, record: dict[str, Any]) -> str:
    """Put the tables that follow from a record into a page."""
    costs = Costs.of_page((DOCS / "billion.md").read_text(encoding="utf-8"))
    tables = {
        "measured": measured_table(record),
        "worked": worked_table(record),
        "sizes": sizes_table(costs),
    }
    for name, table in tables.items():
        text = re.sub(
            rf"(<!-- stream {name} -->\n).*?(<!-- /stream {name} -->)",
            lambda found, table=table: f"{found[1]}{table}\n{found[2]}",
            text,
            flags=re.S,
        )
    return text


def main(args: argparse.Namespace) -> None:
    """Fit in this process, or measure one size and add it to the record."""
    if args.fit:
        corpus, out = map(Path, args.fit)
        print(json.dumps(fit(corpus, out, args.dimensions, args.tags)))
        return
    if args.page:
        _write_page(json.loads(RECORD.read_text(encoding="utf-8")))
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
    _write_page(record)


def _write_page(record: dict[str, Any]) -> None:
    PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="number of texts")
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--tags", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where the corpus and the index are written")
    parser.add_argument("--record", action="store_true", help="add to the record and the page")
    parser.add_argument("--page", action="store_true", help="write the page from the record")
    parser.add_argument("--fit", nargs=2, metavar=("CORPUS", "OUT"), help=argparse.SUPPRESS)
    main(parser.parse_args())
