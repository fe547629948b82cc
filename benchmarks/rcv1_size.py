"""RCV1's full size on one machine: MLSI against TruncatedSVD as the rows grow, and a stream.

*Texts*: synthetic, from ``make_tagged_corpus``, weighted by TF-IDF, 47,236 words, 103 labels,
about 75 words per text, up to 804,414 texts; K = 100, float32. Every fit runs in its own process,
whose peak memory counts the data. The exponent is that of time against the nonzeros.

*Stream*: a million dense rows with 768 columns and 50 labels pass through ``partial_fit`` in
batches, compared with the bare products in float64 that the statistics need, ``B'B`` and ``B'Y``
of batches that are float64 already. The rows are one pool, passed several times.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from labelspan import LSI, MLSI
from labelspan.datasets import make_tagged_vectors

from .harness import Report, Row, make_parser, measure
from .tagged_corpus import make_tagged_corpus

ROWS, WORDS, LABELS = 804_414, 47_236, 103
WORDS_PER_TEXT = 85.0
PEER = "TruncatedSVD"
CASES: dict[str, Callable[[int], Any]] = {
    PEER: lambda seed: TruncatedSVD(100, random_state=seed),
    "LSI": lambda seed: LSI(100, random_state=seed),
    "MLSI": lambda seed: MLSI(100, random_state=seed, alpha=1.0),
}


def draw(rows: int, seed: int, folder: Path) -> int:
    """Draw a corpus into a folder; the number of its nonzeros."""
    corpus = make_tagged_corpus(
        rows, WORDS, LABELS, words_per_text=WORDS_PER_TEXT, random_state=seed
    )
    X = TfidfTransformer(sublinear_tf=True).fit_transform(corpus.X).astype(np.float32)
    for name in ("data", "indices", "indptr"):
        np.save(folder / f"{name}.npy", getattr(X, name))
    np.save(folder / "Y.npy", np.asarray(corpus.Y.todense(), dtype=np.int8))
    return int(X.nnz)


def read(folder: Path) -> tuple[Any, Any]:
    """The texts and labels of a folder."""
    data, indices, indptr = (
        np.load(folder / f"{part}.npy") for part in ("data", "indices", "indptr")
    )
    X = sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, WORDS))
    return X, np.load(folder / "Y.npy")


def fit(name: str, folder: Path, seed: int) -> dict[str, Any]:
    """Fit in this process: seconds, peak memory, and the energy of X that the space keeps."""
    X, Y = read(folder)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = CASES[name](seed)
    start = time.perf_counter()
    model.fit(X, Y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    basis = np.linalg.qr(model.components_.T.astype(np.float64))[0].astype(np.float32)
    kept = sum(
        float(np.square(X[start : start + 50_000] @ basis, dtype=np.float64).sum())
        for start in range(0, X.shape[0], 50_000)
    )
    return {
        "seconds": seconds,
        "peak": 1024 * peak,
        "base": 1024 * base,
        "kept": kept / float(np.square(X.data, dtype=np.float64).sum()),
        "blocks": getattr(model, "n_iter_", None),
        "status": getattr(model, "status_", None),
    }


def in_a_process(name: str, folder: Path, seed: int) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, "--child", name, "--folder", str(folder)]
    done = subprocess.run([*command, "--seed", str(seed)], stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def texts(args: argparse.Namespace, report: Report) -> None:
    """Time, memory and energy as the rows grow."""
    top = 20_000 if args.quick else ROWS
    sizes = [top // 8, top // 4, top // 2, top]
    entries: list[int] = []
    medians: dict[str, list[float]] = {name: [] for name in CASES}
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            entries.append(draw(rows, args.seed, folder))
            found: dict[str, list[dict[str, Any]]] = {case: [] for case in CASES}
            for _ in range(args.repeats):
                for case in CASES:
                    found[case].append(in_a_process(case, folder, args.seed))
        lines = []
        for case, runs in found.items():
            line = Row(case, tuple(run["seconds"] for run in runs))
            line.notes = {
                "process GiB": f"{max(run['peak'] for run in runs) / 2**30:.2f}",
                "with data loaded": f"{max(run['base'] for run in runs) / 2**30:.2f}",
                "energy of X, %": f"{100 * runs[0]['kept']:.2f}",
                "blocks": runs[0]["blocks"],
                "status": runs[0]["status"],
            }
            lines.append(line)
            medians[case].append(float(np.median(line.runs)))
        report.add(f"{rows:,} x {WORDS:,}, {entries[-1]:,} nonzeros", lines, peer=PEER)
    slopes = [
        Row(case, notes={"exponent": f"{np.polyfit(np.log(entries), np.log(times), 1)[0]:.2f}"})
        for case, times in medians.items()
    ]
    report.add("time against nonzeros", slopes)


def stream(args: argparse.Namespace, report: Report) -> None:
    """``partial_fit`` compared with the products that it needs."""
    pool, passes, size = (20_000, 2, 5_000) if args.quick else (100_000, 10, 10_000)
    data = make_tagged_vectors(pool, 768, 50, random_state=args.seed)
    Y = np.asarray(data.Y.todense() if sparse.issparse(data.Y) else data.Y, dtype=np.float64)
    wide = np.asarray(data.X, dtype=np.float64)
    parts = [slice(at, at + size) for _ in range(passes) for at in range(0, pool, size)]

    def bare() -> Any:
        square, cross = np.zeros((768, 768)), np.zeros((768, 50))
        for part in parts:
            batch = wide[part]
            square += batch.T @ batch
            cross += batch.T @ Y[part]
        return square, cross

    def ours(X: Any) -> Any:
        model = MLSI(100, center=True, alpha=1.0)
        labels = Y.astype(np.int8)
        for part in parts:
            model.partial_fit(X[part], labels[part], solve=False)
        return model.solve()

    narrow = wide.astype(np.float32)
    cases = {
        "bare products, float64": bare,
        "partial_fit, float64": lambda: ours(wide),
        "partial_fit, float32": lambda: ours(narrow),
    }
    rows = measure(cases, args.repeats, memory=False)
    report.add(f"{pool * passes:,} x 768, 50 labels, batches of {size:,}", rows, peer=rows[0].name)


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--only", choices=["texts", "stream"])
    parser.add_argument("--child", choices=list(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(fit(options.child, options.folder, options.seed)))
    else:
        out = Report("rcv1_size", options)
        if options.only != "stream":
            texts(options, out)
        if options.only != "texts":
            stream(options, out)
        out.write()
