"""What more threads gain: fits of sparse texts, and the products that they consist of.

Texts are those of ``rcv1_size``, in float32. Every number of threads runs in a process of its
own, which fits a small part first, with the loops that all texts need, so that these are compiled
and loaded before the clock starts; how long that takes is a line of the table. Ratios are to one
thread of the same case; ``TruncatedSVD`` is the peer. Run it on a machine that does nothing else.

With ``--serial`` each fit is made once more, to show how much of it no thread takes part in, and
where: on one thread as if there were as many as the largest number given, so that any machine
shows it.
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
from unittest.mock import patch

import numpy as np
from sklearn.decomposition import TruncatedSVD

from labelspan import LSI, MLSI, OPLS, as_operator
from labelspan.operators import sparse
from labelspan.operators.array_backend import inner
from labelspan.operators.machine import n_threads

from .harness import Report, Row, make_parser
from .rcv1_size import WORDS, draw, read
from .serial_time import watch

ROWS = 200_000
# Rows of the fit before the clock starts: as many as make the solvers those of all rows.
FIRST_ROWS = 10_000
WIDTH = 112
PEER, LOADING = "TruncatedSVD(100)", "first fits of 10,000 rows, loops compiled"
FITS: dict[str, Callable[[], Any]] = {
    PEER: lambda: TruncatedSVD(100, random_state=0),
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


def child(args: argparse.Namespace) -> dict[str, float]:
    """Seconds of every case in this process."""
    X, Y = read(Path(args.folder))
    found = {LOADING: 0.0}
    for name, make in FITS.items():
        if args.only not in name:
            continue
        start = time.perf_counter()
        make().fit(_first(X, name), Y[:FIRST_ROWS])
        if name != PEER:
            found[LOADING] += time.perf_counter() - start
        found[name] = clocked(lambda make=make: make().fit(X, Y), args.repeats)  # type: ignore[misc]
        if args.serial and name != PEER:
            with watch(args.serial, simulated=n_threads() == 1) as seen:
                make().fit(X, Y)
            print(f"{name}:", "\n".join(seen.lines()), file=sys.stderr, flush=True)
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


def _first(X: Any, name: str) -> Any:
    """The first rows, multiplied by the loops that more rows would be."""
    few = X[:FIRST_ROWS]
    if name == PEER:
        return few
    with patch.object(sparse, "_WORTH_COMPILING", 0):
        return as_operator(few)


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
            if args.serial:
                command += ["--serial", str(max(args.threads))]
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
    parser.add_argument(
        "--serial",
        type=int,
        nargs="?",
        const=1,
        help="show what no thread takes part in",
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(child(arguments)))
    else:
        main(arguments)
