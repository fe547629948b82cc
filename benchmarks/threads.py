"""What more threads gain: fits of sparse texts, and the products that they consist of.

Texts are those of ``rcv1_size``, in float32. Every number of threads runs in a process of its
own, which fits a small part first, so that compiled loops are loaded before the clock starts.
Ratios are to one thread of the same case; ``TruncatedSVD`` is the peer. Run it on a machine that
does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD

from labelspan import LSI, MLSI, OPLS, as_operator
from labelspan.operators.array_backend import inner

from .harness import Report, Row, make_parser
from .rcv1_size import WORDS, draw, read

ROWS = 200_000
WIDTH = 112
FITS: dict[str, Callable[[], Any]] = {
    "TruncatedSVD(100)": lambda: TruncatedSVD(100, random_state=0),
    "LSI(100)": lambda: LSI(100, random_state=0),
    "MLSI(100, alpha=1)": lambda: MLSI(100, alpha=1.0, random_state=0),
    "MLSI(100)": lambda: MLSI(100, random_state=0),
    "OPLS(alpha=1)": lambda: OPLS(alpha=1.0, random_state=0),
}
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def clocked(run: Callable[[], Any], repeats: int) -> float:
    """The median time of some runs."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def child(folder: Path, repeats: int, only: str) -> dict[str, float]:
    """Seconds of every case in this process."""
    X, Y = read(folder)
    few = max(2_000, X.shape[0] // 50)
    found = {}
    for name, make in FITS.items():
        if only in name:
            make().fit(X[:few], Y[:few])
            found[name] = clocked(lambda make=make: make().fit(X, Y), repeats)  # type: ignore[misc]
    operator = as_operator(X)
    rng = np.random.default_rng(0)
    U, V = (operator.random_block(side, WIDTH, rng) for side in operator.shape)
    parts: dict[str, Callable[[], Any]] = {
        "X V": lambda: operator.matmat(V),
        "X'U": lambda: operator.rmatmat(U),
        "U'U": lambda: inner(U, U),
    }
    for name, run in parts.items():
        # The first runs choose loops and store a transpose.
        clocked(run, 3)
        found[f"{name}, {WIDTH} columns"] = clocked(run, 5)
    return found


def main(args: argparse.Namespace) -> None:
    """A table of seconds by threads."""
    report = Report("threads", args)
    rows = 4_000 if args.quick else ROWS
    found: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        nonzeros = draw(rows, args.seed, Path(name))
        for count in args.threads:
            command = [sys.executable, "-m", __spec__.name, "--child", "--folder", name]
            command += ["--repeats", str(args.repeats), "--only", args.only]
            environment = os.environ | dict.fromkeys(VARIABLES, str(count))
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
            found[count] = json.loads(done.stdout.splitlines()[-1])
            print(count, found[count], flush=True)
    lines = []
    for case in found[args.threads[0]]:
        notes: dict[str, Any] = {str(count): f"{found[count][case]:.3f}" for count in args.threads}
        notes["gain"] = f"{found[args.threads[0]][case] / found[args.threads[-1]][case]:.1f}"
        lines.append(Row(case, notes=notes))
    report.add(f"seconds by threads, {rows:,} x {WORDS:,}, {nonzeros:,} nonzeros", lines)
    report.write()


if __name__ == "__main__":
    parser = make_parser(__doc__, repeats=1)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--only", default="", help="fits whose name has this")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(child(Path(arguments.folder), arguments.repeats, arguments.only)))
    else:
        main(arguments)
