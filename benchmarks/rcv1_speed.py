"""LSI, MLSI, OPLS and CCA against scikit-learn's TruncatedSVD on all of rcv1, in CPU time.

Every case is timed to the same end: the fitted model and the embedded training rows. The cases
run in turn, and ratios are taken in each round.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD

from labelspan import CCA, LSI, MLSI, OPLS

from .data import load
from .harness import Report, Row, make_parser

PEER = "TruncatedSVD"


def main() -> None:
    """Time all cases in turn, and report ratios to the peer."""
    parser = make_parser(__doc__, repeats=3)
    parser.add_argument("--components", type=int, default=100, help="K")
    args = parser.parse_args()
    report = Report("rcv1_speed", args)
    data = load("rcv1", args.data)
    count = args.components
    if args.quick:
        some = np.random.default_rng(args.seed).permutation(len(data))[:5000]
        data, count = data.take(some), min(count, 30)
    X = data.X.astype(np.float32)
    models: dict[str, Callable[[], Any]] = {
        PEER: lambda: TruncatedSVD(count, random_state=args.seed),
        "LSI": lambda: LSI(count),
        "MLSI": lambda: MLSI(count),
        "MLSI(alpha=1)": lambda: MLSI(count, alpha=1.0),
        "OPLS(alpha=1)": lambda: OPLS(alpha=1.0),
        "CCA(alpha=1)": lambda: CCA(alpha=1.0),
    }
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(args.repeats):
        for name, make in models.items():
            start = time.process_time()
            make().fit_transform(X, data.Y)
            seconds[name].append(time.process_time() - start)
    rows = [Row(name, tuple(runs)) for name, runs in seconds.items()]
    for row in rows:
        ratios = [own / peer for own, peer in zip(row.runs, seconds[PEER], strict=True)]
        row.notes = {f"time, {PEER} = 1": f"{median(ratios):.2f}"}
    report.add(f"rcv1 {data.X.shape[0]} x {data.X.shape[1]}, K={count}, CPU seconds", rows)
    report.write()


if __name__ == "__main__":
    main()
