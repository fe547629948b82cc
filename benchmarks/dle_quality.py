"""DLE with few labels, several per row: with its default penalty, and as in the paper.

nDCG@10 of neighbours that share labels, on emotions and on 800 rows of cacm, a tenth labelled,
three splits, fitted on all rows or only on the labelled ones. Writes the record
results/records/dle_quality.json, from which the table of docs/theory/dle.md is made
(results/tables.toml). One class per row is measured by ``labelspan reproduce wang2010``.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import labelspan
from labelspan.errors import LabelspanWarning
from labelspan.metrics import retrieval_at_k
from labelspan.papers.wang2010 import DLEClassifier

from .spaces_data import load_set, make_split

__all__ = ["RECORD", "main", "several_labels"]

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "records" / "dle_quality.json"
SEVERAL = ("emotions", "cacm")
_SPLITS, _ROWS = 3, 800
# Parameters of DLE by name.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {"alpha": 0.0, "label_graph_weight": "auto"},
    "no-penalty": {"alpha": 0.0},
    "default": {},
}


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
                ("-labelled", DLEClassifier(**options).fit(X[labelled], Y[labelled])),
            ):
                places = model.embedding_.transform
                near = retrieval_at_k(places(split.X_test[asked]), truth[asked], places(X), Y, k=10)
                found.setdefault(f"{variant}{ending}", []).append(near.ndcg)
    return {method: round(float(np.mean(values)), 4) for method, values in found.items()}


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default=None, help="folder of the data sets")
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelspanWarning)
        record = {
            "version": labelspan.__version__,
            "made by": "python -m benchmarks.dle_quality",
            **{name: several_labels(name, args.data) for name in SEVERAL},
        }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
