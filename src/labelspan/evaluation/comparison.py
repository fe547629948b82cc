"""Comparison of methods on a tagged corpus, by cross-validation.

In every fold each method is fitted on the training items and 70% of the labels. It is
evaluated on the test items: on the labels it was fitted on (setting I of yu2005) and on the
held-out labels (setting II), which show how well an embedding works for new labels.

- Retrieval: the ten nearest training items of each test item, by cosine: nDCG and the Jaccard
  index of the labels.
- Tagging: ridge regression on the embedding, with each label predicted for the same fraction of
items as in
  training: macro and micro F1. For labels seen in training the regression is fitted on the
  training items; for held-out labels on test items, by cross-validation.

Items with unknown labels are training items for the methods that can use them.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._params import Integer, check_params
from .._typing import Array
from ..errors import InvalidLabels, NotConverged
from ..index.inputs import read_label_lists, read_texts
from ..index.label_table import LabelTable
from .measurements import Record, ReportTable, Results
from .spaces import (
    ESTIMATORS,
    MEASURES,
    METHODS,
    NEIGHBOURS,
    RAW,
    RIDGE,
    SplitVectors,
    embed,
    retrieval_measures,
    tagging_measures,
    tagging_scores,
)
from .text_features import learn_features

__all__ = ["SETTINGS", "Evaluation", "evaluate", "recommend", "tables"]

SETTINGS = ("seen", "held out")
# For a larger corpus, a random sample of this size is used.
_MOST_ITEMS = 6000
# Number of folds of the test items, for tagging with held-out labels.
_PARTS = 5
# Fraction of the labels that are held out.
_HELD_OUT = 0.3
_TITLES = {
    "seen": "Labels seen in training (setting I)",
    "held out": "Labels held out (setting II)",
}
_NOTES = {
    "seen": "The methods were fitted on these labels, on other items.",
    "held out": "No method was fitted on these labels; they show how well it works for new labels.",
}


@dataclass(frozen=True)
class Evaluation:
    """A record for every fold, method and setting; sizes of the data; and notes."""

    results: Results
    facts: Mapping[str, int]
    notes: tuple[str, ...] = ()


def evaluate(
    texts: Any,
    labels: Any,
    *,
    folds: int = 3,
    dimensions: int = 100,
    random_state: int = 0,
    progress: Callable[[int, int], Any] | None = None,
) -> Evaluation:
    """Compare raw features, LSI, MLSI, OPLS, CCA, HSL and ridge scores on a corpus.

    ``labels`` has a list for each text, or None if its labels are unknown. ``random_state`` is the
    seed of the sample, the folds and the held-out labels. ``progress`` is called with the number
    of completed steps and the total number of steps.

    Examples
    --------
    >>> from labelspan.evaluation.comparison import evaluate
    >>> texts = ["a chess game", "photo of a tree", "a song to sing"] * 12
    >>> labels = [["game"], ["image"], ["sound"]] * 12
    >>> found = evaluate(texts, labels, folds=2, dimensions=2)
    >>> found.facts["held_out"], found.results.distinct("method")[1:4]
    (1, ['LSI', 'MLSI', 'OPLS'])
    """
    check_params(
        "evaluate",
        {"folds": folds, "dimensions": dimensions, "random_state": random_state},
        {"folds": Integer(2), "dimensions": Integer(1), "random_state": Integer(0)},
    )
    given, Y, notes = _prepared(texts, labels, folds, random_state)
    n, k = Y.shape
    count = min(max(1, round(_HELD_OUT * k)), k - 2)
    known = np.asarray((Y >= 0).all(axis=1))
    shuffled = np.random.default_rng(random_state).permutation(np.flatnonzero(known))
    steps = itertools.count(1)
    records: list[Record] = []
    unfinished: Counter[str] = Counter()
    for fold, test in enumerate(np.array_split(shuffled, folds)):
        train = np.setdiff1d(np.arange(n), test)
        columns = np.random.default_rng([random_state, fold]).permutation(k)
        settings = np.sort(columns[count:]), np.sort(columns[:count])
        # Features are chosen only from the training texts.
        features, rows = learn_features([given[row] for row in train])
        unseen = features.of_texts([given[row] for row in test])
        items = np.flatnonzero(known[train])
        most = int(min(dimensions, *rows.shape))
        for method in METHODS:
            with _convergence(method, unfinished):
                start = time.perf_counter()
                vectors = embed(method, rows, Y[train][:, settings[0]], unseen, most)
                seconds = 0.0 if method == RAW else time.perf_counter() - start
                about = {"fold": fold, "method": method, "dimensions": vectors.dimensions}
                for measured in _measured(vectors, items, Y[train[items]], Y[test], settings):
                    records.append({**about, **measured, "seconds": seconds})
            if progress is not None:
                progress(next(steps), folds * len(METHODS))
    for name, times in unfinished.items():
        notes.append(
            f"{name}: {times} fit(s) stopped before convergence, so the numbers are approximate."
        )
    facts = {"items": n, "labelled": int(known.sum()), "unlabelled": int((~known).sum())}
    facts |= {"labels": k, "held_out": count, "folds": folds, "dimensions": dimensions}
    return Evaluation(Results(records), facts, tuple(notes))


@contextmanager
def _convergence(name: str, unfinished: Counter[str]) -> Iterator[None]:
    """Count fits that stopped before convergence; show all other warnings as usual."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        yield
    for one in caught:
        if issubclass(one.category, NotConverged):
            unfinished[name] += 1
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _prepared(texts: Any, labels: Any, folds: int, seed: int) -> tuple[list[str], Array, list[str]]:
    """Sample the items, and keep the labels that are frequent enough to evaluate.

    Return the texts, an indicator of the labels, with NaN for unknown ones, and notes.
    """
    given = read_texts(texts, "evaluate")
    lists = read_label_lists(labels, len(given), "evaluate")
    notes = []
    rows = np.arange(len(given))
    if rows.size > _MOST_ITEMS:
        # Labelled items, which can be evaluated, come first.
        order = np.random.default_rng(seed).permutation(rows)
        unknown = np.array([lists[row] is None for row in order])
        rows = np.sort(order[np.argsort(unknown, kind="stable")][:_MOST_ITEMS])
        notes.append(f"A random sample of {_MOST_ITEMS:,} of {len(given):,} items was used.")
    lists = [lists[row] for row in rows]
    counts = Counter(label for own in lists for label in own or ())
    least = max(5, 2 * folds)
    names = tuple(sorted(name for name, count in counts.items() if count >= least))
    if len(names) < len(counts):
        notes.append(
            f"{len(counts) - len(names):,} of {len(counts):,} labels have fewer than {least} items "
            "and were left out."
        )
    if len(names) < 3:
        raise InvalidLabels(
            f"evaluate: at least three labels with {least} items each are needed, two for "
            f"training and one to hold out, but there are {len(names)}; label more items."
        )
    frequent = set(names)
    kept = [own if own is None else tuple(x for x in own if x in frequent) for own in lists]
    table = LabelTable.of(kept, names)
    if table.known.sum() < 4 * folds:
        raise InvalidLabels(
            f"evaluate: {folds} folds need {4 * folds} items with labels; label more, or use fewer."
        )
    Y = table.matrix().toarray()
    Y[~table.known] = np.nan
    return [given[row] for row in rows], Y, notes


def _measured(
    vectors: SplitVectors, items: Array, known: Array, truth: Array, settings: tuple[Array, Array]
) -> Iterator[Record]:
    """Measure tagging and retrieval; ``items`` are the training rows with labels, ``known``."""
    for setting, columns in zip(SETTINGS, settings, strict=True):
        wanted, own = truth[:, columns], known[:, columns]
        if not wanted.any():
            continue
        if setting == "seen":
            scores = tagging_scores(vectors.train[items], own, vectors.test)
        else:
            scores = _unseen_scores(vectors, wanted)
        yield {
            "setting": setting,
            **tagging_measures(wanted, scores, own.mean(axis=0)),
            **retrieval_measures(vectors, wanted, items, own),
        }


def _unseen_scores(vectors: SplitVectors, truth: Array) -> Array:
    """Score held-out labels by cross-validation on rows not used to fit the embedding."""
    scores = np.empty(truth.shape)
    every = np.arange(len(truth))
    for part in np.array_split(every, min(_PARTS, len(truth))):
        others = np.setdiff1d(every, part)
        scores[part] = tagging_scores(vectors.test[others], truth[others], vectors.test[part])
    return scores


# --- the report -----------------------------------------------------------------------------


def recommend(evaluation: Evaluation) -> tuple[dict[str, Any], list[str]]:
    """Return options of ``labelspan fit`` with the best method, and the reasons.

    The best has the largest mean of macro F1 and nDCG over both settings.
    """
    results = evaluation.results
    scores = {}
    for name in results.distinct("method"):
        own = results.only(method=name)
        scores[name] = float(np.mean([own.mean("macro F1"), own.mean("nDCG")]))
    best = max((name for name in scores if name in ESTIMATORS), key=lambda name: scores[name])
    others = ", ".join(f"{name} {scores[name]:.3f}" for name in (RAW, "LSI") if name in scores)
    reasons = [
        f"{best} scores {scores[best]:.3f}, compared with {others}: the mean of macro F1 and nDCG "
        "over labels seen in training and held-out labels."
    ]
    if scores[RAW] >= scores[best]:
        reasons.append("By this mean no method beats the raw features on this corpus.")
    gaps = []
    for setting in SETTINGS:
        ridge, own = (results.only(method=name, setting=setting) for name in (RIDGE, best))
        gap = ridge.mean("nDCG") - own.mean("nDCG")
        gaps += [f"{gap:+.3f} for labels {setting}"] if np.isfinite(gap) else []
    reasons.append(
        f"Ridge scores, a simple baseline, differ from it in nDCG by {' and '.join(gaps)}."
    )
    count = int(results.only(method=best).mean("dimensions"))
    return {"method": best.lower(), "dimensions": count}, reasons


def tables(evaluation: Evaluation) -> list[ReportTable]:
    """Create a table for each setting, with means over the folds."""
    made = []
    at = {name: f"{name}@{NEIGHBOURS}" for name in ("nDCG", "Jaccard")}
    head = ("method", "dimensions", *(at.get(name, name) for name in MEASURES), "seconds")
    for setting in SETTINGS:
        here = evaluation.results.only(setting=setting)
        rows = []
        for method in here.distinct("method"):
            found = here.only(method=method)
            cells = [f"{found.mean(name):.3f}" for name in MEASURES]
            seconds = "-" if method == RAW else f"{found.mean('seconds'):.1f}"
            rows.append((method, f"{found.mean('dimensions'):,.0f}", *cells, seconds))
        made.append(ReportTable(_TITLES[setting], head, rows, _NOTES[setting]))
    return made
