"""Tags for new texts: labelspan's tagger, linear SVMs, logistic regression and centroids.

``python -m benchmarks.tagging netflix kirjastonhoitaja`` prints a table. The features of the
labelspan tagger were chosen on netflix, debtags and the training part of makupalat (development).
Splits: makupalat and kirjastonhoitaja as they come, debtags by source package, Reuters ModApte,
others at random. The other methods get TF-IDF of single words, labelspan's gets stems, pairs and
word parts, so that differences are those of features and method together. Thresholds of the
others are those with the best F1 on a fifth of the training rows. ``--rows`` limits the training
rows.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tarfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import ndcg_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from labelspan.datasets import data_home, read_corpus
from labelspan.index.analysis import detect_language
from labelspan.index.tag_features import TagFeatures
from labelspan.index.tagger import fit_tagger, label_matrix

__all__ = ["METHODS", "SETS", "main", "measure"]

Texts = tuple[list[str], list[Sequence[str]]]
SETS = ("netflix", "debtags", "stackoverflow", "reuters21578", "makupalat", "kirjastonhoitaja")
METHODS = ("labelspan", "svm", "logistic", "centroids")


def load_split(name: str) -> tuple[Texts, Texts]:
    """Return training and test texts with their labels."""
    home = data_home()
    if name == "makupalat":
        parts = [
            read_corpus(home / f"corpora/makupalat-{part}.tsv.gz") for part in ("train", "test")
        ]
        return _plain(parts[0]), _plain(parts[1])
    if name == "kirjastonhoitaja":
        with tarfile.open(home / "corpora/kirjastonhoitaja.tar.gz") as packed:
            return _folder(packed, "train"), _folder(packed, "test")
    if name == "reuters21578":
        rows = [row for row in _lines(home / "reuters21578.jsonl.gz") if row["has_topics"] == "YES"]
        return tuple(
            (
                [f"{row['title']}\n{row['body']}" for row in rows if row["lewissplit"] == part],
                [row["topics"] for row in rows if row["lewissplit"] == part],
            )
            for part in ("TRAIN", "TEST")
        )  # type: ignore[return-value]
    if name == "debtags":
        rows = [row for row in _lines(home / "debtags.jsonl.gz") if row["tags"]]
        texts = [f"{row['summary']}\n{row['description']}" for row in rows]
        labels, groups = [row["tags"] for row in rows], [row["source"] for row in rows]
    else:
        file = {"netflix": "netflix_titles.csv.gz", "stackoverflow": "stackoverflow.tsv.gz"}[name]
        texts, labels = _plain(read_corpus(home / "corpora" / file))
        groups = [str(number) for number in range(len(texts))]
    names = sorted(set(groups))
    held = set(np.random.default_rng(0).permutation(names)[: len(names) // 5].tolist())
    sides: list[Texts] = [([], []), ([], [])]
    for text, own, group in zip(texts, labels, groups, strict=True):
        sides[group in held][0].append(text)
        sides[group in held][1].append(own)
    return sides[0], sides[1]


def _plain(corpus: Any) -> Texts:
    known = [n for n, own in enumerate(corpus.labels) if own]
    return [corpus.texts[n] for n in known], [corpus.labels[n] for n in known]


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _folder(packed: tarfile.TarFile, part: str) -> Texts:
    content = {
        entry.name: packed.extractfile(entry).read().decode()  # type: ignore[union-attr]
        for entry in packed.getmembers()
        if f"/{part}/" in entry.name and entry.isfile()
    }
    names = sorted(name[:-4] for name in content if name.endswith(".txt"))
    return (
        [content[f"{name}.txt"] for name in names],
        [
            [line.split("\t")[0] for line in content[f"{name}.tsv"].splitlines() if line.strip()]
            for name in names
        ],
    )


def _labelspan(texts: list[str], targets: Any, names: tuple[str, ...]) -> Callable[..., Any]:
    features = TagFeatures.learn(texts, detect_language(texts))
    rows = features.transform(texts)
    tagger = fit_tagger(names, targets, rows, places=np.arange(len(texts)), texts=features)

    def predict(new: list[str]) -> tuple[Any, Any]:
        found = tagger.probabilities(features.transform(new))
        return found, found >= tagger.thresholds

    return predict


def _words(kind: str) -> Callable[..., Any]:
    def fit(texts: list[str], targets: Any, names: tuple[str, ...]) -> Callable[..., Any]:
        words = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
        rows = words.fit_transform(texts)
        own = np.random.default_rng(0).permutation(len(texts)) < len(texts) // 5
        scores = _scores(kind, rows[~own], targets[~own])(rows[own])
        wanted = targets[own].toarray() > 0
        order = np.argsort(-scores, axis=None)
        hits = np.cumsum(wanted.ravel()[order])
        best = int(np.argmax(2 * hits / (np.arange(1, hits.size + 1) + wanted.sum())))
        cut = scores.ravel()[order[best]]
        final = _scores(kind, rows, targets)

        def predict(new: list[str]) -> tuple[Any, Any]:
            found = final(words.transform(new))
            return found, found >= cut

        return predict

    return fit


def _scores(kind: str, rows: Any, targets: Any) -> Callable[[Any], Any]:
    if kind == "centroids":
        centres = normalize(targets.T @ rows)
        return lambda new: (new @ centres.T).toarray()
    model = LinearSVC() if kind == "svm" else SGDClassifier(loss="log_loss", alpha=1e-5)
    with warnings.catch_warnings():
        # A label that no row, or every row, has in this part.
        warnings.simplefilter("ignore")
        fitted = OneVsRestClassifier(model).fit(rows, targets)
    return lambda new: np.asarray(fitted.decision_function(new)).reshape(new.shape[0], -1)


def measure(name: str, method: str, rows: int | None) -> dict[str, float]:
    """Fit a method on a set and measure it on the held-out texts."""
    (texts, labels), (new, wanted) = load_split(name)
    if rows is not None and rows < len(texts):
        chosen = np.random.default_rng(1).permutation(len(texts))[:rows]
        texts, labels = [texts[n] for n in chosen], [labels[n] for n in chosen]
    lists = [tuple(sorted(set(own))) for own in labels]
    names = tuple(sorted({label for own in lists for label in own}))
    targets = label_matrix(list(lists), names)
    known = set(names)
    truth = label_matrix([tuple(sorted(set(own) & known)) for own in wanted], names).toarray() > 0
    start = time.process_time()
    fit = _labelspan if method == "labelspan" else _words(method)
    predict = fit(texts, targets, names)
    scores, chosen_labels = predict(new)
    seconds = time.process_time() - start
    any_true = truth.any(axis=1)
    total = sum(len(set(own)) for own in wanted)
    hits = (chosen_labels & truth).sum()
    top = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    right = np.take_along_axis(truth, top, axis=1).sum(axis=1)
    sizes = np.array([len(set(own)) for own in wanted])
    per_label = (
        2
        * (chosen_labels & truth).sum(axis=0)
        / np.maximum(1, chosen_labels.sum(axis=0) + truth.sum(axis=0))
    )
    return {
        "nDCG@5": float(ndcg_score(truth[any_true], scores[any_true], k=5)),
        "F1@5": float(np.mean(2 * right / (5 + sizes))),
        "micro F1": float(2 * hits / (chosen_labels.sum() + total)),
        "macro F1": float(per_label[truth.any(axis=0)].mean()),
        "chosen / true": float(chosen_labels.sum() / total),
        "CPU s": seconds,
    }


def main() -> None:
    """Print the table of some sets and methods."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--rows", type=int)
    asked = parser.parse_args()
    head = False
    for name in asked.sets:
        for method in asked.methods:
            found = measure(name, method, asked.rows)
            if not head:
                print("| set | method |", " | ".join(found), "|")
                print("| --- | --- |", " | ".join("---:" for _ in found), "|")
                head = True
            cells = (f"{v:.0f}" if k == "CPU s" else f"{v:.3f}" for k, v in found.items())
            print(f"| {name} | {method} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
