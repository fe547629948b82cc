"""Planted mistakes in labels, and how many of them an audit finds first.

``python -m benchmarks.audit debtags stackoverflow reuters21578`` prints a table. Of the labels of
a set a share is removed, as many wrong ones are added (at random, by the frequency of the labels),
or as many are replaced by wrong ones. Every method then ranks all pairs of item and label: those
that are present by how wrong they look, those that are absent by how much they look missing.
Columns: the share of planted mistakes among the first 50 and 100, and the average precision; and
of the labels that look wrong for sure their number, the share that was planted, and the share of
the planted ones that they are. The sets have mistakes of their own, which count as errors of every
method.

labelspan: the scores of ``SemanticIndex.audit``. one-vs-rest: probabilities of logistic regression
on TF-IDF of single words, out of five folds. votes: the share of the 20 nearest neighbours by the
same TF-IDF that have the label. cleanlab: its filter for several labels per item, on the
probabilities of one-vs-rest: what it flags comes first, ranked by its own scores. cleanlab, ours:
the same filter on the probabilities of labelspan.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import average_precision_score
from sklearn.multiclass import OneVsRestClassifier

from labelspan.curation.label_audit import SURE, left_out_scores
from labelspan.evaluation.text_features import learn_features
from labelspan.index.label_table import LabelTable
from labelspan.tagger.learning import learn_tagger
from labelspan.text import TAGS

from .tagging import load_split

__all__ = ["METHODS", "MISTAKES", "main", "measure", "plant"]

MISTAKES = ("added", "removed", "swapped")
METHODS = ("labelspan", "one-vs-rest", "votes", "cleanlab", "cleanlab, ours")
# A label of fewer items is left out of the sets: nobody can tell whether it is right.
FEWEST = 10


@dataclass(frozen=True)
class Planted:
    """Labels with mistakes, and where they are: arrays of shape (items, labels)."""

    given: Any
    added: Any
    removed: Any


def plant(truth: Any, kind: str, share: float, seed: int) -> Planted:
    """Return labels of which a share was removed, added or swapped."""
    rng = np.random.default_rng(seed)
    truth = np.asarray(truth, dtype=bool)
    rows, columns = np.nonzero(truth)
    chosen = rng.permutation(rows.size)[: round(share * rows.size)]
    added, removed = np.zeros_like(truth), np.zeros_like(truth)
    if kind != "added":
        removed[rows[chosen], columns[chosen]] = True
    if kind != "removed":
        frequency = truth.sum(axis=0) / truth.sum()
        for row in rows[chosen]:
            free = ~truth[row] & ~added[row]
            odds = frequency * free
            added[row, rng.choice(odds.size, p=odds / odds.sum())] = True
    return Planted((truth | added) & ~removed, added, removed)


def _labelspan(texts: list[str], given: Any) -> tuple[Any, Any]:
    names = tuple(f"{number:05d}" for number in range(given.shape[1]))
    _, rows = learn_features(texts, TAGS)
    targets = sparse.csr_matrix(given, dtype=np.float32)
    tagger = learn_tagger(names, targets, rows, np.arange(len(texts)))
    items, columns, truth, _, _, scores = left_out_scores(tagger)
    wrong, missing = np.zeros(given.shape), np.zeros(given.shape)
    wrong[items[truth], columns[truth]] = scores[truth]
    missing[items[~truth], columns[~truth]] = scores[~truth]
    return wrong, missing


def _votes(texts: list[str], given: Any) -> tuple[Any, Any]:
    rows = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32).fit_transform(texts)
    share = np.empty(given.shape)
    for start in range(0, len(texts), 500):
        near = (rows[start : start + 500] @ rows.T).toarray()
        own = np.arange(near.shape[0])
        near[own, start + own] = -1
        best = np.argpartition(-near, 20, axis=1)[:, :20]
        share[start : start + 500] = given[best].mean(axis=1)
    return 1 - share, share


def _probabilities(texts: list[str], given: Any) -> Any:
    rows = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32).fit_transform(texts)
    found = np.empty(given.shape)
    part = np.random.default_rng(0).permutation(len(texts)) % 5
    for fold in range(5):
        model = OneVsRestClassifier(SGDClassifier(loss="log_loss", alpha=1e-5, random_state=0))
        with warnings.catch_warnings():
            # A label that no row has in this part.
            warnings.simplefilter("ignore")
            model.fit(rows[part != fold], given[part != fold].astype(int))
        found[part == fold] = model.predict_proba(rows[part == fold])
    return found


def _one_vs_rest(texts: list[str], given: Any) -> tuple[Any, Any]:
    found = _probabilities(texts, given)
    return 1 - found, found


def _cleanlab(texts: list[str], given: Any) -> tuple[Any, Any]:
    return _filtered(_probabilities(texts, given), given)


def _cleanlab_ours(texts: list[str], given: Any) -> tuple[Any, Any]:
    return _filtered(_labelspan(texts, given)[1], given)


def _filtered(found: Any, given: Any) -> tuple[Any, Any]:
    from cleanlab.multilabel_classification import filter as issues  # noqa: PLC0415
    from cleanlab.multilabel_classification import rank  # noqa: PLC0415

    found = np.clip(found, 1e-6, 1 - 1e-6)
    lists = [np.flatnonzero(row).tolist() for row in given]
    flagged = np.asarray(issues.find_multilabel_issues_per_class(lists, found, n_jobs=1))
    scores = 1 - np.asarray(rank.get_label_quality_scores_per_class(lists, found))
    ranked = np.where(flagged, 1 + scores, scores)
    return ranked, ranked


FITS: dict[str, Callable[[list[str], Any], tuple[Any, Any]]] = {
    "labelspan": _labelspan,
    "one-vs-rest": _one_vs_rest,
    "votes": _votes,
    "cleanlab": _cleanlab,
    "cleanlab, ours": _cleanlab_ours,
}


def measure(
    name: str, rows: int, share: float, methods: list[str], *, draws: int = 1, sure: float = SURE
) -> list[dict[str, Any]]:
    """Plant each kind of mistake in a set and measure each method; means over some draws."""
    found = [_measured(name, rows, share, methods, 2 + n, sure) for n in range(draws)]
    lines = []
    for same in zip(*found, strict=True):
        line = dict(same[0])
        for key in list(line)[3:]:
            known = [one[key] for one in same if one[key] is not None]
            line[key] = float(np.mean(known)) if known else None
        lines.append(line)
    return lines


def _measured(  # noqa: PLR0917
    name: str, rows: int, share: float, methods: list[str], seed: int, limit: float
) -> list[dict[str, Any]]:
    (texts, labels), _ = load_split(name)
    chosen = np.random.default_rng(1).permutation(len(texts))[:rows]
    texts, labels = [texts[n] for n in chosen], [labels[n] for n in chosen]
    lists = [tuple(sorted(set(own))) for own in labels]
    names = tuple(sorted({label for own in lists for label in own}))
    truth = LabelTable.of(list(lists), names).matrix().toarray() > 0
    truth = truth[:, truth.sum(axis=0) >= FEWEST]
    lines = []
    for kind in MISTAKES:
        planted = plant(truth, kind, share, seed)
        for method in methods:
            start = time.process_time()
            wrong, missing = FITS[method](texts, planted.given)
            line: dict[str, Any] = {"set": name, "mistakes": kind, "method": method}
            for what, scores, where, among in (
                ("wrong", wrong, planted.added, planted.given),
                ("missing", missing, planted.removed, ~planted.given),
            ):
                hits, order = where[among], np.argsort(-scores[among], kind="stable")
                line[f"{what} P@50"] = float(hits[order[:50]].mean()) if hits.any() else None
                line[f"{what} P@100"] = float(hits[order[:100]].mean()) if hits.any() else None
                line[f"{what} AP"] = (
                    float(average_precision_score(hits, scores[among])) if hits.any() else None
                )
            # Of labelspan's labels that look wrong, those that are not marked as unsure.
            sure = planted.added[(wrong >= limit) & planted.given]
            if method == "labelspan" and planted.added.any():
                line["sure"] = sure.size
                line["right"] = float(sure.mean()) if sure.size else None
                line["recall"] = float(sure.sum() / planted.added.sum())
            else:
                line |= {"sure": None, "right": None, "recall": None}
            line["CPU s"] = time.process_time() - start
            lines.append(line)
    return lines


def main() -> None:
    """Print the table of some sets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=["debtags", "stackoverflow", "reuters21578"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--rows", type=int, default=6000, help="of a set, chosen at random")
    parser.add_argument("--share", type=float, default=0.05, help="of the labels")
    parser.add_argument("--draws", type=int, default=1, help="of mistakes, for means over these")
    parser.add_argument("--sure", type=float, default=SURE, help="score from which a label is sure")
    asked = parser.parse_args()
    head = False
    for name in asked.sets:
        given = (name, asked.rows, asked.share, asked.methods)
        for line in measure(*given, draws=asked.draws, sure=asked.sure):
            if not head:
                print("|", " | ".join(line), "|")
                print("| --- | --- | --- |", " | ".join("---:" for _ in list(line)[3:]), "|")
                head = True
            cells = (
                ""
                if v is None
                else v
                if isinstance(v, str)
                else f"{v:.0f}"
                if k in ("CPU s", "sure")
                else f"{v:.3f}"
                for k, v in line.items()
            )
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
