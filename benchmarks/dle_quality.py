"""DLE with few labels: one class per row, and several labels per row.

Accuracy on the six sets of wang2010's table 3, features standardised, graph of ten neighbours, a
tenth of the rows labelled, ten draws (those of the reproduction): DLE with its default penalty and
with none, fitted on all rows or only on the labelled ones, and what else there is. And nDCG@10 of
neighbours that share labels, on emotions and on 800 rows of cacm, a tenth labelled, three splits.

Writes the record (results/records/dle_quality.json) and puts its tables into
docs/theory/dle.md, between ``<!-- DLE table: NAME -->`` and ``<!-- end of DLE table -->``. With
``--page`` the tables come from the record that is there. The best number of a column is bold; a
test compares the pages with the record.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import labelspan
from labelspan import DLE, LPP
from labelspan.datasets import load
from labelspan.errors import LabelspanWarning
from labelspan.graph import neighbor_graph
from labelspan.metrics import retrieval_at_k
from labelspan.papers.wang2010 import DLEClassifier
from labelspan.papers.wang2010.comparators import KMeansLaplacian, SpectralGraphTransducer

from .spaces_data import load_set, make_split

__all__ = ["PAGES", "RECORD", "main", "put", "tables"]

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "records" / "dle_quality.json"
PAGES = (ROOT / "docs" / "theory" / "dle.md",)
SETS = ("soybean", "housing", "protein", "wine", "balance", "iris")
SEVERAL = ("emotions", "cacm")
_DRAWS, _SPLITS, _ROWS = 10, 3, 800
# Parameters of DLE by name.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {"alpha": 0.0, "label_graph_weight": "auto"},
    "no penalty": {"alpha": 0.0},
    "default": {},
}
_BLOCK = re.compile(
    r"(<!-- DLE table: (?P<name>[\w -]+) -->\n).*?(<!-- end of DLE table -->)", re.DOTALL
)
Values = Mapping[str, Any]


def _known(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Choose a tenth of the rows at random, so that some class has two of them."""
    while True:
        known = np.zeros(y.size, dtype=bool)
        known[rng.permutation(y.size)[: round(0.1 * y.size)]] = True
        sizes = np.unique(y[known], return_counts=True)[1]
        if sizes.size > 1 and sizes.max() > 1:
            return known


def _classifiers(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], np.ndarray]]:
    """Return a function for each method, which labels all rows; -1 in y is unknown."""
    known = y >= 0
    graph = neighbor_graph(X, 10)

    def plain(model: Any) -> np.ndarray:
        return np.asarray(model.fit(X[known], y[known]).predict(X))

    def projected() -> np.ndarray:
        places = LPP(min(int(y.max()), X.shape[1])).fit(X, graph=graph).transform(X)
        return np.asarray(KNeighborsClassifier(1).fit(places[known], y[known]).predict(places))

    out: dict[str, Callable[[], np.ndarray]] = {
        "1-NN": lambda: plain(KNeighborsClassifier(1)),
        "SVM": lambda: plain(SVC(gamma="scale")),
        "LPP": projected,
        "KL": lambda: KMeansLaplacian().fit_predict(X, y, graph),
        "Transducer": lambda: SpectralGraphTransducer().fit_predict(X, y, graph),
    }
    out["DLE, posterior"] = lambda: np.asarray(DLE().fit(X, y, graph).predict(X))
    for name in ("no penalty", "default"):
        options = VARIANTS[name]
        out[f"DLE, {name}"] = lambda options=options: DLEClassifier(**options).fit_predict(  # type: ignore[misc]
            X, y, graph
        )
        out[f"DLE, {name}, labelled"] = lambda options=options: plain(DLEClassifier(**options))  # type: ignore[misc]
    return out


def one_class(name: str, folder: str | None) -> dict[str, float]:
    """Return the mean accuracy of each method on a set, in per cent."""
    data = load(name, folder)
    X = StandardScaler().fit_transform(np.asarray(data.X, dtype=np.float64))
    y = np.unique(np.asarray(data.y), return_inverse=True)[1]
    found: dict[str, list[float]] = {}
    for seed in range(_DRAWS):
        known = _known(y, np.random.default_rng(seed))
        for method, classify in _classifiers(X, np.where(known, y, -1)).items():
            found.setdefault(method, []).append(float((classify() == y)[~known].mean()))
    return {method: round(100 * float(np.mean(values)), 2) for method, values in found.items()}


def several_labels(name: str, folder: str | None) -> dict[str, float]:
    """Return nDCG@10 of each variant of DLE on a set."""
    found: dict[str, list[float]] = {}
    raw = load_set(name, folder)
    for seed in range(_SPLITS):
        split = make_split(raw, seed, quick=False)
        X, Y = split.X[:_ROWS], split.Y[:_ROWS]
        labelled = np.sort(np.random.default_rng(seed).permutation(len(Y))[: round(0.1 * len(Y))])
        counts = Y[labelled].sum(axis=0)
        columns = np.flatnonzero((counts > 0) & (counts < labelled.size))
        Y, truth = Y[:, columns], split.Y_test[:, columns]
        asked = np.flatnonzero(truth.any(axis=1))
        partly = np.full(Y.shape, -1.0)
        partly[labelled] = Y[labelled]
        for variant, options in VARIANTS.items():
            for ending, model in (
                ("", DLEClassifier(**options).fit(X, partly)),
                (", labelled", DLEClassifier(**options).fit(X[labelled], Y[labelled])),
            ):
                places = model.embedding_.transform
                near = retrieval_at_k(places(split.X_test[asked]), truth[asked], places(X), Y, k=10)
                found.setdefault(f"DLE, {variant}{ending}", []).append(near.ndcg)
    return {method: round(float(np.mean(values)), 4) for method, values in found.items()}


def tables(record: Values) -> dict[str, str]:
    """Return the tables by name, as Markdown."""
    classes, several = record["one class"], record["several labels"]
    per_class = {
        "`DLE()`": "DLE, posterior",
        "`DLEClassifier(alpha=0)`": "DLE, no penalty",
        "`DLEClassifier()`": "DLE, default",
        "nearest labelled row, all features": "1-NN",
        "SVM": "SVM",
        "LPP": "LPP",
        "KL": "KL",
        "spectral graph transducer": "Transducer",
    }
    pairs = {
        "`alpha=0`, all rows": "DLE, no penalty",
        "`alpha=0`, labelled only": "DLE, no penalty, labelled",
        '`alpha="mean"`, all rows': "DLE, default",
        '`alpha="mean"`, labelled only': "DLE, default, labelled",
    }
    variants = {
        "the paper: `alpha=0`, `with_label_graph`": "paper",
        "without the similarity of labels: `alpha=0`": "no penalty",
        'the default: `alpha="mean"`': "default",
    }
    columns = [(name, ending) for name in SEVERAL for ending in ("", ", labelled")]
    head = [f"{name}, {'labelled only' if ending else 'all rows'}" for name, ending in columns]
    neighbours = [
        [_share(several[name][f"DLE, {variant}{ending}"]) for name, ending in columns]
        for variant in variants.values()
    ]
    return {
        "one class": _table(SETS, per_class, [_row(classes, one) for one in per_class.values()]),
        "all rows": _table(SETS, pairs, [_row(classes, one) for one in pairs.values()]),
        "several labels": _table(head, variants, neighbours),
    }


def _row(classes: Values, method: str) -> list[str]:
    return [f"{classes[name][method]:.1f}" for name in SETS]


def _share(value: float) -> str:
    return f"{value:.3f}".lstrip("0")


def _table(head: Sequence[str], names: Mapping[str, str], cells: Sequence[Sequence[str]]) -> str:
    best = [max(row[j] for row in cells) for j in range(len(head))]
    lines = [["", *head], ["---"] * (len(head) + 1)]
    for name, row in zip(names, cells, strict=True):
        lines.append(
            [name, *(f"**{v}**" if v == top else v for v, top in zip(row, best, strict=True))]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def put(text: str, made: Mapping[str, str]) -> str:
    """Put tables into a page."""
    return _BLOCK.sub(lambda block: f"{block[1]}\n{made[block['name']]}\n\n{block[3]}", text)


def main() -> None:
    """Measure, unless only the pages are wanted, and write the pages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default=None, help="folder of the data sets")
    parser.add_argument("--page", action="store_true", help="only write the pages")
    args = parser.parse_args()
    if not args.page:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelspanWarning)
            record = {
                "version": labelspan.__version__,
                "made by": "python -m benchmarks.dle_quality",
                "one class": {name: one_class(name, args.data) for name in SETS},
                "several labels": {name: several_labels(name, args.data) for name in SEVERAL},
            }
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    made = tables(json.loads(RECORD.read_text(encoding="utf-8")))
    for page in PAGES:
        page.write_text(put(page.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
