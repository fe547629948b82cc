"""Embeddings from few labelled rows to all, and with a label on most rows.

``python -m benchmarks.label_rates adapter`` compares ``Adapter`` with the vectors, PCA to its
number of dimensions, and ``MLSI(64)``, with two labelled training rows, and with 2 to 100% of them:
dense sets, and LSI vectors of texts (200 dimensions). ``frequent`` removes rows without the most
frequent label until it is on a given fraction of the rows, and compares ways to centre in 50
dimensions.

Each test row looks for its ten nearest training rows by cosine, which should share its labels
(nDCG). usps, emotions, orl, pie, netflix, cacm and debtags are development sets.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from labelspan import LSI, MLSI, Adapter
from labelspan.metrics import retrieval_at_k

from .data import load
from .spaces_data import SETS, Split, load_set, make_split

__all__ = ["ADAPTER", "FREQUENT", "adapter_lines", "frequent_lines", "main"]

FACES = ("usps", "orl", "yale", "pie")
ADAPTER = (
    *("usps", "emotions", "orl", "pie", "netflix", "cacm", "debtags"),
    *("mediamill", "yeast", "yale", "yahoo_arts", "stackoverflow"),
)
FREQUENT = ("yahoo_arts", "reuters21578", "stackoverflow", "rcv1")
RATES = (0.0, 0.02, 0.1, 0.5, 1.0)
SHARES = (0.0, 0.6, 0.87)
_MOST, _MOST_TEST, _VECTORS = 2000, 500, 200


def split_of(name: str, folder: str | None) -> Split:
    """Return at most 2,000 training and 500 test rows, texts as LSI vectors."""
    if name not in FACES:
        found = make_split(load_set(name, folder), 0, quick=False)
        X, X_test = found.X[:_MOST], found.X_test[:_MOST_TEST]
        if not isinstance(X, np.ndarray):
            space = LSI(_VECTORS).fit(X)
            X, X_test = space.transform(X), space.transform(X_test)
        return Split(name, 0, X, found.Y[:_MOST], X_test, found.Y_test[:_MOST_TEST])
    data = load(name, folder)
    assert data.y is not None
    X, Y = np.asarray(data.X, dtype=float), np.eye(data.y.max() + 1)[data.y]
    order = np.random.default_rng(0).permutation(len(X))
    cut = len(X) * 4 // 5
    train, test = order[:cut][:_MOST], order[cut:][:_MOST_TEST]
    return Split(name, 0, X[train], Y[train], X[test], Y[test])


def quality(split: Split, train: Any, test: Any) -> float:
    """NDCG of the ten nearest training rows of each test row."""
    return float(retrieval_at_k(test, split.Y_test, train, split.Y).ndcg)


def adapter_lines(split: Split) -> Iterator[list[str]]:
    """Yield a line for each fraction of labelled rows, which are at least two."""
    n, columns = split.X.shape
    order = np.random.default_rng(0).permutation(n)
    vectors = quality(split, split.X, split.X_test)
    for rate in RATES:
        count = max(2, round(rate * n))
        Y = np.full(split.Y.shape, np.nan)
        Y[order[:count]] = split.Y[order[:count]]
        used = (Y == 1).any(axis=0)
        start = time.process_time()
        model = Adapter().fit(split.X, Y[:, used])
        seconds = time.process_time() - start
        pca = PCA(min(model.n_components_, n, columns), random_state=0).fit(split.X)
        same = quality(split, pca.transform(split.X), pca.transform(split.X_test))
        found = quality(split, model.transform(split.X), model.transform(split.X_test))
        mlsi = "-"
        if count == n:
            space = MLSI(min(64, columns, n - 1)).fit(split.X, Y[:, used])
            mlsi = f"{quality(split, space.transform(split.X), space.transform(split.X_test)):.3f}"
        cells = [split.name, str(count), f"{vectors:.3f}", f"{same:.3f}", f"{found:.3f}", mlsi]
        gap = found - max(vectors, same)
        yield [*cells, f"{gap:+.3f}", str(model.n_components_), f"{seconds:.1f}"]


def frequent_lines(name: str, folder: str | None) -> Iterator[list[str]]:
    """Yield a line for each fraction of the rows that have the most frequent label."""
    found = make_split(load_set(name, folder), 0, quick=False)
    X, Y = found.X[:1500], found.Y[:1500]
    X_test, Y_test = found.X_test[:500], found.Y_test[:500]
    label = int(Y.sum(axis=0).argmax())
    rng = np.random.default_rng(0)
    for share in SHARES:
        rows = _with_label(Y[:, label] > 0, share, rng)
        test = _with_label(Y_test[:, label] > 0, share, rng)
        split = Split(name, 0, X[rows], Y[rows], X_test[test], Y_test[test])
        cells = [name, f"{split.Y[:, label].mean():.0%}"]
        model = MLSI(50).fit(split.X, split.Y)
        near = [model.transform(part) for part in (split.X, split.X_test)]
        # The images of the means become the origin: everything is centred.
        shift = model.transform(split.X).mean(axis=0)
        plain = MLSI(50, center=False).fit(split.X, split.Y)
        other = [plain.transform(part) for part in (split.X, split.X_test)]
        ways = (near, [part - shift for part in near], other)
        yield [*cells, *(f"{quality(split, *way):.3f}" for way in ways)]


def _with_label(has: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return the rows with the label, and so many others that it is on this fraction of them."""
    rows, others = np.flatnonzero(has), rng.permutation(np.flatnonzero(~has))
    most = others.size if share == 0 else round(rows.size * (1 - share) / share)
    return np.sort(np.concatenate([rows, others[:most]]))


TABLES = {
    "adapter": ("labelled", "vectors", "PCA", "Adapter", "`MLSI(64)`", "gain", "size", "CPU s"),
    "frequent": ("label on", "`MLSI`", "everything centred", "`center=False`"),
}


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--sets", nargs="+", choices=(*FACES, *SETS))
    parser.add_argument("--data", help="the folder of the data sets")
    asked = parser.parse_args()
    head = TABLES[asked.table]
    print("| |", " | ".join(head), "|\n| --- |", " | ".join("---:" for _ in head), "|", flush=True)
    for name in asked.sets or (ADAPTER if asked.table == "adapter" else FREQUENT):
        if asked.table == "adapter":
            found = adapter_lines(split_of(name, asked.data))
        else:
            found = frequent_lines(name, asked.data)
        for cells in found:
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
