"""Comparison of methods on a tagged corpus, by cross-validation.

In every fold each method is fitted on the training items and 70% of the labels. It is
evaluated on the test items: on the labels it was fitted on (setting I of yu2005) and on the
held-out labels (setting II), which show how well a space works for new labels.

- Retrieval: the ten nearest training items of each test item, by cosine: nDCG and the Jaccard
  index of the labels.
- Tagging: ridge regression in the space, each label given to the same share of the items as in
  training: macro and micro F1. For labels seen in training the regression is fitted on the
  training items; for held-out labels on test items, by cross-validation.

Items with unknown labels are training items for the methods that can use them.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._params import Integer, check_params
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels, NotConverged
from ..index.inputs import read_label_lists, read_texts
from ..index.store import LabelTable
from .measurements import Record, Results
from .spaces import (
    METHODS,
    RAW,
    SplitVectors,
    embed,
    retrieval_measures,
    tagging_measures,
    tagging_scores,
)
from .text_features import learn_features

__all__ = ["SETTINGS", "Evaluation", "Facts", "evaluate", "overall"]

SETTINGS = ("seen", "held out")
# Folds of the test items, for tagging with held-out labels.
_PARTS = 5
# Share of the labels that are held out.
_HELD_OUT = 0.3


@dataclass(frozen=True)
class Facts:
    """The corpus as it was used."""

    items: int
    labelled: int
    unlabelled: int
    labels: int
    held_out: int
    folds: int
    dimensions: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Evaluation:
    """The results of a comparison: a record for every fold, method and setting."""

    facts: Facts
    results: Results


@dataclass(frozen=True, eq=False)
class _PreparedCorpus:
    """Texts, and labels as an indicator with -1 in the rows of unknown labels."""

    texts: list[str]
    Y: Array
    names: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _FoldData:
    """Features and labels of a fold; ``seen`` and ``new`` are columns of labels."""

    train: Any
    test: Any
    Y_train: Array
    Y_test: Array
    seen: Array
    new: Array

    @property
    def items(self) -> Array:
        """Training rows with labels."""
        return np.flatnonzero((self.Y_train >= 0).all(axis=1))


def evaluate(
    texts: Any,
    labels: Any,
    *,
    folds: int = 3,
    dimensions: int = 100,
    most_items: int = 6000,
    random_state: int = 0,
    progress: Callable[[int, int], Any] | None = None,
) -> Evaluation:
    """Compare raw features, LSI, MLSI, OPLS, CCA, HSL and ridge scores on a corpus.

    Parameters
    ----------
    texts : list of str
        One text per item.
    labels : list of lists of str
        The labels of each item; None for an item whose labels are unknown.
    folds : int, default=3
        Number of folds of the cross-validation.
    dimensions : int, default=100
        Number of dimensions of each method, or fewer where the labels allow fewer.
    most_items : int, default=6000
        Maximum number of items; from more, a random sample of this size is used.
    random_state : int, default=0
        Seed of the sample, the folds and the held-out labels.
    progress : function or None, default=None
        Called with the number of steps done and the number of all steps.

    Returns
    -------
    Evaluation
        The measurements, and what they were made on.

    Examples
    --------
    >>> from labelspan.evaluation.comparison import evaluate
    >>> texts = ["a chess game", "photo of a tree", "a song to sing"] * 12
    >>> labels = [["game"], ["image"], ["sound"]] * 12
    >>> found = evaluate(texts, labels, folds=2, dimensions=2)
    >>> found.facts.held_out, found.results.distinct("method")[1:4]
    (1, ['LSI', 'MLSI', 'OPLS'])
    """
    params = {
        "folds": folds,
        "dimensions": dimensions,
        "most_items": most_items,
        "random_state": random_state,
    }
    check_params(
        "evaluate",
        params,
        {
            "folds": Integer(2),
            "dimensions": Integer(1),
            "most_items": Integer(20),
            "random_state": Integer(0),
        },
    )
    corpus = _prepared(texts, labels, folds, most_items, random_state)
    k = len(corpus.names)
    count = min(max(1, round(_HELD_OUT * k)), k - 2)
    labelled = np.flatnonzero((corpus.Y >= 0).all(axis=1))
    steps = itertools.count(1)
    parts = np.array_split(np.random.default_rng(random_state).permutation(labelled), folds)
    records: list[Record] = []
    unfinished: dict[str, int] = {}
    for fold, left_out in enumerate(parts):
        rng = np.random.default_rng([random_state, fold])
        train = np.setdiff1d(np.arange(len(corpus.texts)), left_out)
        columns = rng.permutation(k)
        held, seen = np.sort(columns[:count]), np.sort(columns[count:])
        split = _split(corpus, train, left_out, seen, held)
        for method in METHODS:
            with _convergence(method, unfinished):
                for record in _measured(split, method, int(min(dimensions, *split.train.shape))):
                    records.append({"fold": fold, "method": method, **record})
            if progress is not None:
                progress(next(steps), folds * len(METHODS))
    facts = Facts(
        items=len(corpus.texts),
        labelled=int(labelled.size),
        unlabelled=len(corpus.texts) - int(labelled.size),
        labels=k,
        held_out=count,
        folds=folds,
        dimensions=dimensions,
        notes=(*corpus.notes, *_approximate(unfinished)),
    )
    return Evaluation(facts, Results(records))


@contextmanager
def _convergence(name: str, unfinished: dict[str, int]) -> Iterator[None]:
    """Count fits that stopped before convergence; show all other warnings as usual."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        yield
    count = sum(issubclass(one.category, NotConverged) for one in caught)
    if count:
        unfinished[name] = unfinished.get(name, 0) + count
    for one in caught:
        if not issubclass(one.category, NotConverged):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _approximate(unfinished: Mapping[str, int]) -> list[str]:
    return [
        f"{name}: {count} fit(s) stopped before convergence, so its numbers are approximate."
        for name, count in unfinished.items()
    ]


def overall(results: Results) -> float:
    """Summarize a method by the mean of macro F1 and nDCG over both settings."""
    return float(np.mean([results.mean("macro F1"), results.mean("nDCG")]))


def _prepared(texts: Any, labels: Any, folds: int, most: int, seed: int) -> _PreparedCorpus:
    """Sample the items, and keep the labels that are frequent enough to evaluate."""
    given = read_texts(texts, "evaluate")
    lists = read_label_lists(labels, len(given), "evaluate")
    notes = []
    rows = np.arange(len(given))
    if rows.size > most:
        labelled = np.array([own is not None for own in lists])
        rng = np.random.default_rng(seed)
        # Labelled items, which can be evaluated, come first.
        order = rng.permutation(rows)
        rows = np.sort(np.concatenate([order[labelled[order]], order[~labelled[order]]])[:most])
        notes.append(f"A random sample of {most:,} of {len(given):,} items was used.")
    lists = [lists[row] for row in rows]
    counts: dict[str, int] = {}
    for own in lists:
        for label in own or ():
            counts[label] = counts.get(label, 0) + 1
    least = max(5, 2 * folds)
    names = tuple(sorted(name for name, count in counts.items() if count >= least))
    if len(names) < len(counts):
        notes.append(
            f"{len(counts) - len(names):,} of {len(counts):,} labels have fewer than {least} items "
            "and were left out."
        )
    if len(names) < 3:
        raise InvalidLabels(
            f"evaluate: at least three labels with {least} items each are needed, two to train on "
            f"and one to hold out, but there are {len(names)}; label more items."
        )
    table = LabelTable.of(
        [own if own is None else tuple(x for x in own if x in set(names)) for own in lists], names
    )
    Y = table.matrix().toarray()
    Y[~table.known] = np.nan
    if int((Y >= 0).all(axis=1).sum()) < 4 * folds:
        raise InvalidInput(
            f"evaluate: {folds} folds need {4 * folds} items with labels; label more, or use fewer."
        )
    return _PreparedCorpus([given[row] for row in rows], Y, names, tuple(notes))


def _split(
    corpus: _PreparedCorpus, train: Array, test: Array, seen: Array, new: Array
) -> _FoldData:
    """Make the features of a fold, with a vectorizer fitted only on the training texts."""
    chosen, features = learn_features([corpus.texts[row] for row in train])
    unseen = chosen.of_texts([corpus.texts[row] for row in test])
    return _FoldData(features, unseen, corpus.Y[train], corpus.Y[test], seen, new)


def _measured(split: _FoldData, method: str, dimensions: int) -> Iterator[Record]:
    start = time.perf_counter()
    vectors = embed(method, split.train, split.Y_train[:, split.seen], split.test, dimensions)
    seconds = 0.0 if method == RAW else time.perf_counter() - start
    items = split.items
    known = split.Y_train[items]
    for setting, columns in zip(SETTINGS, (split.seen, split.new), strict=True):
        truth = split.Y_test[:, columns]
        if not truth.any():
            continue
        if setting == "seen":
            scores = tagging_scores(vectors.train[items], known[:, columns], vectors.test)
        else:
            scores = _unseen_scores(vectors, truth)
        yield {
            "setting": setting,
            **tagging_measures(truth, scores, known[:, columns].mean(axis=0)),
            **retrieval_measures(vectors, truth, items, known[:, columns]),
            "dimensions": vectors.dimensions,
            "seconds": seconds,
        }


def _unseen_scores(vectors: SplitVectors, truth: Array) -> Array:
    """Score held-out labels by cross-validation on rows not used to fit the space."""
    scores = np.empty(truth.shape)
    every = np.arange(len(truth))
    for part in np.array_split(every, min(_PARTS, len(truth))):
        others = np.setdiff1d(every, part)
        scores[part] = tagging_scores(vectors.test[others], truth[others], vectors.test[part])
    return scores
