"""Fits on medium-sized sparse data, as multiples of scikit-learn's TruncatedSVD.

Sets of 1,000 to 5,000 rows, 800 to 30,000 columns and 20 to 800 labels, 50 dimensions; one has an
entry in a fifth of its cells. OPLS and CCA keep all dimensions, and 50 if there are more than 250
labels. Everything runs in turn in one process and is timed in CPU time, so that the number of
threads is the same for all (set OMP_NUM_THREADS) and other programs disturb the ratios little.
``--many`` only fits 6,000 texts with 6,000 labels, 14 of them on each, and reports the peak memory.
"""

from __future__ import annotations

import gc
import resource
import tarfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
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
LIMITS = {"LSI": 1.2, "MLSI": 3.0, "OPLS": 4.0, "CCA": 4.0}
# Up to this many labels OPLS and CCA keep all dimensions.
MOST_LABELS = 250


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


def more_sets(folder: str | None) -> Iterator[Medium]:
    """Yield a set with an entry in a fifth of its cells, and one with many labels."""
    raw = load_set("netflix", folder)
    rows = np.sort(np.random.default_rng(0).permutation(raw.labels.shape[0])[:1000])
    assert raw.texts is not None
    pairs = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), max_features=1004)
    Y = raw.labels[rows].toarray().astype(float)
    yield Medium("netflix letters", pairs.fit_transform(raw.texts[rows]), Y[:, Y.any(axis=0)])
    texts, lists = librarians(folder)
    X = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)
    Y = MultiLabelBinarizer().fit_transform(lists).astype(float)
    yield Medium("librarians", X, Y[:, np.argsort(-Y.sum(axis=0), kind="stable")[:800]])


def librarians(folder: str | None) -> tuple[list[str], list[list[str]]]:
    """Return 2,000 questions to librarians, and their subjects."""
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
    return [texts[name] for name in names], [lists[name] for name in names]


def cases(data: Medium, seed: int) -> dict[str, Callable[[], Any]]:
    """Return the fits that are compared."""
    X, Y, count = data.X, data.Y, COMPONENTS
    thin = None if Y.shape[1] <= MOST_LABELS else count
    return {
        "TruncatedSVD": lambda: TruncatedSVD(count, random_state=seed).fit(X),
        "LSI": lambda: LSI(count, random_state=seed).fit(X),
        "MLSI": lambda: MLSI(count, random_state=seed).fit(X, Y),
        "OPLS": lambda: OPLS(thin, random_state=seed).fit(X, Y),
        "CCA": lambda: CCA(thin, random_state=seed).fit(X, Y),
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
    """Fit 6,000 texts with 14 of 6,000 labels each, made of descriptions of packages.

    A text is three descriptions; its labels are words of it that are not too common, and the
    features are all words but these.
    """
    rng = np.random.default_rng(seed)
    raw = load_set("debtags", folder)
    assert raw.texts is not None
    joined = [" ".join(raw.texts[rng.integers(len(raw.texts), size=3)]) for _ in range(6000)]
    read = TfidfVectorizer(sublinear_tf=True, min_df=2)
    words = read.build_analyzer()
    lists = [sorted(set(words(text))) for text in joined]
    counts = Counter(word for found in lists for word in found)
    usual = [word for word, _ in counts.most_common()]
    labels = set(usual[200:6200])
    tags = []
    for number, found in enumerate(lists):
        mine = rng.permutation([word for word in found if word in labels])[:14].tolist()
        tags.append(mine)
        joined[number] = " ".join(word for word in words(joined[number]) if word not in set(mine))
    X = read.fit_transform(joined)
    Y = sparse.csr_array(MultiLabelBinarizer(sparse_output=True).fit_transform(tags))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    MLSI("auto", random_state=seed).fit(X, Y)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shape = f"{X.shape[0]} x {X.shape[1]}"
    notes = {"shape": shape, "labels": Y.shape[1], "each": round(Y.nnz / Y.shape[0], 1)}
    notes |= {"MiB": peak / 1024, "MiB before": before / 1024}
    return Row("MLSI('auto')", (seconds,), notes=notes)


def main() -> None:
    """Print and write a table of ratios for every set, and their geometric means."""
    parser = make_parser(__doc__, repeats=3)
    parser.add_argument("--many", action="store_true", help="only 6,000 rows with 6,000 labels")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report("medium_speed", args)
    ratios: dict[str, list[float]] = {name: [] for name in LIMITS}
    rows: list[Row] = []
    if args.many:
        report.add("6,000 rows with 6,000 labels", [many_labels(args.data, args.seed)])
        report.write()
        return
    sets = medium_sets(args.data, quick=args.quick)
    for data in sets if args.quick else chain(sets, more_sets(args.data)):
        seconds = in_turn(cases(data, args.seed), args.repeats)
        peer = min(seconds["TruncatedSVD"])
        fill = round(data.X.nnz / np.prod(data.X.shape), 3)
        notes: dict[str, Any] = {"labels": data.Y.shape[1], "fill": fill, "TruncatedSVD s": peer}
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
