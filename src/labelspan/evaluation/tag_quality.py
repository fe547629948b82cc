"""Quality of predicted tags on held-out items, for labelspan's tagger and for baselines.

A part of the labelled items is held out. The methods learn from the others and predict the labels
of the held-out items:

- most frequent: the same labels for every item, the most frequent first.
- linear SVM: one scikit-learn ``LinearSVC`` per label, on TF-IDF of words and pairs of words. A
  label is chosen above one threshold, which has the best micro F1 on a fifth of the training
  items.
- labelspan: the tagger of an index.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from .._typing import Array
from ..corpus import LabelVocabulary
from ..errors import InvalidLabels
from ..index.inputs import LabelLists, read_label_lists, read_texts
from ..index.label_table import LabelTable
from ..tagger.learning import learn_tagger
from ..text import TAGS
from .measurements import Record, ReportTable, Results
from .text_features import learn_features

__all__ = ["TaggingEvaluation", "evaluate_tagging", "tagging_quality", "tagging_table"]

SYSTEMS = ("most frequent", "linear SVM", "labelspan")
MEASURES = ("P@1", "P@3", "P@5", "nDCG@5", "micro F1", "macro F1", "chosen / true")
# Maximum number of labels with an SVM: all their weights are in a dense array.
MOST_SVMS = 500
# Maximum number of items, beyond which a random sample is used; inverse of the held-out fraction;
# minimum number of items.
_MOST_ITEMS = 6000
_HELD_OUT = 5
_FEWEST = 5

Predictions = tuple[Array, Array]


@dataclass(frozen=True)
class TaggingEvaluation:
    """Results: a record for each system; sizes of the two parts; and notes."""

    results: Results
    items: int
    held_out: int
    notes: tuple[str, ...]


def evaluate_tagging(
    texts: Any,
    labels: Any,
    *,
    vocabulary: LabelVocabulary | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TaggingEvaluation:
    """Predict the labels of held-out items by the tagger, by linear SVMs and by frequency.

    Only items with a label are used. ``vocabulary`` has broader labels. ``progress`` is called
    with the number of completed steps and the total number of steps.

    Examples
    --------
    >>> from labelspan.evaluation.tag_quality import evaluate_tagging
    >>> texts = ["a chess game", "photo of a tree", "a song to sing", "chess rules"] * 10
    >>> labels = [["game"], ["image"], ["sound"], ["game"]] * 10
    >>> found = evaluate_tagging(texts, labels).results
    >>> found.only(system="most frequent").mean("P@1") < found.only(system="labelspan").mean("P@1")
    True
    """
    given = read_texts(texts, "evaluate")
    lists = read_label_lists(labels, len(given), "evaluate")
    rows = np.flatnonzero([bool(own) for own in lists])
    if rows.size < _FEWEST:
        raise InvalidLabels(
            f"evaluate: to hold items out, {_FEWEST} items with labels are needed, but there are "
            f"{rows.size}; label more."
        )
    sample = np.random.default_rng(0).permutation(rows)[:_MOST_ITEMS]
    count = max(1, sample.size // _HELD_OUT)
    held, train = np.sort(sample[:count]), np.sort(sample[count:])
    known: LabelLists = [tuple(sorted(set(lists[row] or ()))) for row in train]
    names = tuple(sorted({label for own in known for label in own or ()}))
    truth, missing = _truth([set(lists[row] or ()) for row in held], names)
    targets = LabelTable.of(known, names).matrix()
    notes = []
    if missing:
        notes.append(
            f"{missing} label(s) of held-out items do not occur in the training items; they "
            "count as not found."
        )
    if len(names) > MOST_SVMS:
        notes.append(
            f"Linear SVMs were fitted only for the {MOST_SVMS} most frequent of {len(names):,} "
            "labels."
        )
    old, new = [given[row] for row in train], [given[row] for row in held]
    methods: dict[str, Callable[[], Predictions]] = {
        "most frequent": lambda: _most_frequent(targets, len(new)),
        "linear SVM": lambda: _svms(old, targets, new),
        "labelspan": lambda: _tagger(old, targets, names, new, vocabulary),
    }
    records: list[Record] = []
    for done, system in enumerate(SYSTEMS, start=1):
        start = time.perf_counter()
        scores, chosen = methods[system]()
        seconds = time.perf_counter() - start
        measures = tagging_quality(truth, scores, chosen, missing)
        records.append({"system": system, **measures, "seconds": seconds})
        if progress is not None:
            progress(done, len(SYSTEMS))
    return TaggingEvaluation(Results(records), int(train.size), int(held.size), tuple(notes))


def tagging_quality(
    truth: Array, scores: Array, chosen: Array, missing: int = 0
) -> dict[str, float]:
    """Measure ranked and chosen labels; ``missing`` true labels have no column.

    Return means over rows of precision at 1, 3 and 5 and of nDCG at 5 (the latter over rows with a
    true label among the columns), micro F1, macro F1 over the labels that some row has, and the
    number of chosen labels divided by that of true ones.

    Examples
    --------
    >>> import numpy as np
    >>> from labelspan.evaluation.tag_quality import tagging_quality
    >>> truth = np.array([[True, False, False], [False, True, False]])
    >>> scores = np.array([[0.9, 0.5, 0.1], [0.8, 0.6, 0.2]])
    >>> found = tagging_quality(truth, scores, scores > 0.7)
    >>> found["P@1"], found["micro F1"], found["macro F1"], found["chosen / true"]
    (0.5, 0.5, 0.3333333333333333, 1.0)
    """
    depth = min(5, scores.shape[1])
    top = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    hits = np.zeros((len(truth), 5))
    hits[:, :depth] = np.take_along_axis(truth, top, axis=1)
    gains = 1 / np.log2(np.arange(5) + 2)
    sizes = truth.sum(axis=1)
    ideal = np.concatenate([[0.0], np.cumsum(gains)])[np.minimum(sizes, 5)]
    some = sizes > 0
    right = (truth & chosen).sum(axis=0)
    total = int(sizes.sum()) + missing
    carried = truth.any(axis=0)
    each = 2 * right[carried] / (truth.sum(axis=0) + chosen.sum(axis=0))[carried]
    return {
        **{f"P@{k}": float(hits[:, :k].mean()) for k in (1, 3, 5)},
        "nDCG@5": float(((hits @ gains)[some] / ideal[some]).mean()) if some.any() else 0.0,
        "micro F1": 2 * float(right.sum()) / max(1.0, float(total + chosen.sum())),
        "macro F1": float(each.mean()) if carried.any() else 0.0,
        "chosen / true": float(chosen.sum()) / max(1, total),
    }


def tagging_table(evaluation: TaggingEvaluation) -> ReportTable:
    """Create the table of all systems."""
    rows = []
    for record in evaluation.results.records:
        cells = [f"{record[name]:.3f}" for name in MEASURES]
        rows.append((str(record["system"]), *cells, f"{record['seconds']:.1f}"))
    title = f"Tags of {evaluation.held_out:,} held-out items, trained on {evaluation.items:,}"
    note = (
        "P@k: fraction of correct labels among the first k. F1 is for the chosen labels; macro "
        "F1 is the mean over the labels of held-out items. Chosen / true: number "
        "of chosen labels divided by that of true labels. Seconds: for training and prediction."
    )
    return ReportTable(title, ("system", *MEASURES, "seconds"), rows, note)


def _truth(wanted: Sequence[set[str]], names: tuple[str, ...]) -> tuple[Array, int]:
    """Return the known labels as a 0/1 array, and the number of the unknown ones."""
    known = set(names)
    matrix = LabelTable.of([tuple(sorted(own & known)) for own in wanted], names).matrix()
    missing = sum(len(own - known) for own in wanted)
    return matrix.toarray() > 0, missing


def _most_frequent(targets: Any, count: int) -> Predictions:
    support = np.asarray(targets.sum(axis=0)).ravel()
    usual = max(1, round(float(support.sum()) / targets.shape[0]))
    chosen = np.zeros(support.size, dtype=bool)
    chosen[np.argsort(-support, kind="stable")[:usual]] = True
    shape = (count, support.size)
    return np.broadcast_to(support, shape), np.broadcast_to(chosen, shape)


def _svms(texts: list[str], targets: Any, new: list[str]) -> Predictions:
    features, rows = learn_features(texts)
    support = np.asarray(targets.sum(axis=0)).ravel()
    columns = np.sort(np.argsort(-support, kind="stable")[:MOST_SVMS])
    wanted = targets[:, columns].toarray() > 0
    part = np.random.default_rng([0, 1]).permutation(len(texts)) < len(texts) // _HELD_OUT
    tried = _svm_scores(rows[~part], wanted[~part], rows[part])
    cut = best_cut(tried, wanted[part], int(targets[part].sum()))
    scores = np.full((len(new), support.size), -np.inf, dtype=np.float32)
    scores[:, columns] = _svm_scores(rows, wanted, features.of_texts(new))
    return scores, scores >= cut


def _svm_scores(rows: Any, wanted: Array, new: Any) -> Array:
    scores = np.full((new.shape[0], wanted.shape[1]), -np.inf, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for column in range(wanted.shape[1]):
            own = wanted[:, column]
            # A label that no item or every item in this part has cannot be learned.
            if own.any() and not own.all():
                scores[:, column] = LinearSVC().fit(rows, own).decision_function(new)
            elif own.all():
                scores[:, column] = 1.0
    return scores


def best_cut(scores: Array, truth: Array, total: int) -> float:
    """Return the score above which the labels have the best micro F1."""
    order = np.argsort(-scores, axis=None, kind="stable")
    hits = np.cumsum(truth.ravel()[order])
    if not hits.size:
        return 0.0
    best = int(np.argmax(2 * hits / (np.arange(1, hits.size + 1) + total)))
    return float(scores.ravel()[order[best]])


def _tagger(
    texts: list[str],
    targets: Any,
    names: tuple[str, ...],
    new: list[str],
    vocabulary: LabelVocabulary | None,
) -> Predictions:
    features, rows = learn_features(texts, TAGS)
    tagger = learn_tagger(names, targets, rows, np.arange(len(texts)))
    tagger = tagger.with_vocabulary(vocabulary)
    found = tagger.probabilities(features.of_texts(new))
    return found, found >= tagger.thresholds
