"""Fits on medium-sized sparse data, as multiples of scikit-learn's TruncatedSVD.

Sets of 1,000 to 5,000 rows, 800 to 30,000 columns and 20 to 250 labels, 50 dimensions. Everything
runs in turn in one process and is timed in CPU time, so that the number of threads is the same for
all (set OMP_NUM_THREADS) and other programs disturb the ratios little. ``--many`` adds a fit of
2,000 rows with 2,000 labels, with its peak memory.
"""

from __future__ import annotations

import gc
import resource
import tarfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

from labelspan import CCA, LSI, MLSI, OPLS
from labelspan.datasets import data_home

from .harness import Report, Row, make_parser
from .spaces_data import load_set, make_split

COMPONENTS = 50
# Name of a set, most rows, and most columns (the commonest are kept; None keeps all).
SETS = (
    ("rcv1", 3000, None),
    ("yahoo_arts", 3000, None),
    ("yahoo_science", 3000, 8000),
    ("reuters21578", 1600, None),
    ("cacm", 1000, 1004),
    ("netflix", 3000, None),
    ("stackoverflow", 3000, 2000),
    ("debtags", 3000, 842),
)
# What a ratio may be at most on every set.
LIMITS = {"LSI": 1.2, "MLSI": 4.0, "OPLS": 3.0, "CCA": 3.0}


class Medium(NamedTuple):
    """Features and labels of one set."""

    name: str
    X: Any
    Y: np.ndarray


def medium_sets(folder: str | None, *, quick: bool) -> Iterator[Medium]:
    """Yield the sets; the rows are those that ``spaces_quality`` learns from."""
    for name, rows, columns in SETS[4:5] if quick else SETS:
        split = make_split(load_set(name, folder), 0, quick=quick)
        X, Y = sparse.csr_array(split.X)[:rows], split.Y[:rows]
        counts = np.asarray((X != 0).sum(axis=0)).ravel()
        kept = np.flatnonzero(counts)
        if columns is not None:
            kept = np.sort(np.argsort(-counts, kind="stable")[:columns])
        yield Medium(name, sparse.csr_matrix(X[:, kept]), Y[:, Y.any(axis=0)])


def cases(data: Medium, seed: int) -> dict[str, Callable[[], Any]]:
    """Return the fits that are compared."""
    X, Y, count = data.X, data.Y, COMPONENTS
    return {
        "TruncatedSVD": lambda: TruncatedSVD(count, random_state=seed).fit(X),
        "LSI": lambda: LSI(count, random_state=seed).fit(X),
        "MLSI": lambda: MLSI(count, random_state=seed).fit(X, Y),
        "OPLS": lambda: OPLS(random_state=seed).fit(X, Y),
        "CCA": lambda: CCA(random_state=seed).fit(X, Y),
    }


def in_turn(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Run everything once without a clock, then in turn; return seconds of CPU."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            gc.collect()
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    return seconds


def many_labels(folder: str | None, seed: int) -> Row:
    """Fit 2,000 questions to librarians with their 2,000 commonest subjects."""
    texts, lists = {}, {}
    path = data_home(folder) / "corpora" / "kirjastonhoitaja.tar.gz"
    with tarfile.open(path) as archive:
        for member in archive:
            stem, _, kind = member.name.rpartition(".")
            file = archive.extractfile(member)
            if file is not None and kind == "txt":
                texts[stem] = file.read().decode()
            elif file is not None and kind == "tsv":
                lines = file.read().decode().splitlines()
                lists[stem] = [line.split("\t")[0] for line in lines if line]
    names = sorted(texts.keys() & lists.keys())[:2000]
    X = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform([texts[name] for name in names])
    binarizer = MultiLabelBinarizer(sparse_output=True)
    Y = sparse.csr_array(binarizer.fit_transform([lists[name] for name in names]))
    Y = Y[:, np.argsort(-np.asarray(Y.sum(axis=0)).ravel(), kind="stable")[:2000]]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    MLSI(COMPONENTS, random_state=seed).fit(X, Y)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shape = f"{X.shape[0]} x {X.shape[1]}"
    notes = {"shape": shape, "labels": Y.shape[1], "MiB above the start": (peak - before) / 1024}
    return Row("MLSI", (seconds,), notes=notes)


def main() -> None:
    """Print and write a table of ratios for every set, and their geometric means."""
    parser = make_parser(__doc__, repeats=3)
    parser.add_argument("--many", action="store_true", help="2,000 rows with 2,000 labels too")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report("medium_speed", args)
    ratios: dict[str, list[float]] = {name: [] for name in LIMITS}
    rows: list[Row] = []
    if args.many:
        report.add("2,000 rows with 2,000 labels", [many_labels(args.data, args.seed)])
    for data in medium_sets(args.data, quick=args.quick):
        seconds = in_turn(cases(data, args.seed), args.repeats)
        peer = min(seconds["TruncatedSVD"])
        notes: dict[str, Any] = {"labels": data.Y.shape[1], "TruncatedSVD s": peer}
        for name in LIMITS:
            ratio = min(seconds[name]) / peer
            ratios[name].append(ratio)
            notes[name] = round(ratio, 2)
        shape = f"{data.X.shape[0]} x {data.X.shape[1]}"
        rows.append(Row(data.name, notes={"shape": shape, **notes}))
        print(rows[-1].name, rows[-1].notes, flush=True)
    means = {
        name: round(float(np.exp(np.mean(np.log(found)))), 2) for name, found in ratios.items()
    }
    rows.append(Row("geometric mean", notes=means))
    rows.append(Row("limit on every set", notes=dict(LIMITS)))
    report.add("CPU time in multiples of TruncatedSVD", rows)
    report.write()


if __name__ == "__main__":
    main()
