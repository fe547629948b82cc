"""A comparison of spaces on a corpus of one's own, by cross-validation.

In every fold each method learns from the training items and a part of the labels, 70 in a
hundred. It is judged on the items left out: by the labels it has seen (yu2005's setting I)
and by the others (setting II), which tell what a space is worth for labels to come.

- Retrieval: the ten nearest training items of each item left out, by cosine: nDCG and the
  Jaccard index of the labels.
- Tagging: ridge regression in the space, each label given to as large a share of the items as
  carry it in training: macro and micro F1. Labels seen are learned on the training items; those
  held out on items that the space has not seen, by cross-validation over the items left out.

Items with unknown labels are training items for the methods that can use them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._params import Boolean, Integer, Real, check_params
from .._typing import Array
from ..errors import InvalidInput, InvalidLabels
from ..index.inputs import indicator, read_label_lists, read_texts
from ..index.learn import learn_words
from ..index.progress_steps import Progress, Steps
from ..index.vectorizer import default_vectorizer
from ..papers.paper import Record, Results
from .spaces import (
    METHODS,
    RAW,
    Vectors,
    embed,
    judge_retrieval,
    judge_tagging,
    tagging_scores,
)

__all__ = ["SETTINGS", "TUNED", "Evaluation", "Facts", "evaluate", "overall"]

SETTINGS = ("seen", "held out")
TUNED = "MLSI, tuned"
# Parts of the items left out, for tagging with labels held out.
_PARTS = 5
# What MLSI is tried with; the numbers of dimensions are multiples of the one asked for.
_ALPHAS, _BETAS, _SIZES = (0.3, 1.0, 3.0), (0.3, 0.5, 0.8), (0.5, 1.0, 2.0)


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
    """What was measured.

    ``results`` has a record for every fold, method and setting; ``tuned`` is what was chosen
    for MLSI (None where it was not tuned), and ``tried`` the choices with their scores.
    """

    facts: Facts
    results: Results
    tuned: Mapping[str, Any] | None = None
    tried: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


@dataclass(frozen=True, eq=False)
class _Corpus:
    """Texts, and labels as an indicator with -1 in the rows of unknown labels."""

    texts: list[str]
    Y: Array
    names: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Split:
    """Features and labels of a fold; ``seen`` and ``new`` are columns of labels."""

    train: Any
    test: Any
    Y_train: Array
    Y_test: Array
    seen: Array
    new: Array

    @property
    def items(self) -> Array:
        """The training rows with labels."""
        return np.flatnonzero((self.Y_train >= 0).all(axis=1))


def evaluate(
    texts: Any,
    labels: Any,
    *,
    folds: int = 3,
    dimensions: int = 100,
    held_out: float = 0.3,
    most_items: int = 6000,
    tune: bool = True,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Compare raw features, LSI, MLSI, OPLS, CCA, HSL and ridge scores on a corpus.

    Parameters
    ----------
    texts : list of str
    labels : list of lists of str
        None for an item whose labels are not known.
    folds : int, default=3
    dimensions : int, default=100
        Of each space; those of labels have no more than their labels allow.
    held_out : float, default=0.3
        The share of the labels that no space is learned from, drawn anew in every fold.
    most_items : int, default=6000
        Of more items so many are drawn at random.
    tune : bool, default=True
        Whether MLSI is also tried with other settings, on a part of the first fold's training
        items, and measured with the best of them.
    random_state : int, default=0
    progress : function or None, default=None
        Told how many of all steps are done.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from labelspan.evaluation.comparison import evaluate
    >>> texts = ["a chess game", "photo of a tree", "a song to sing"] * 12
    >>> labels = [["game"], ["image"], ["sound"]] * 12
    >>> found = evaluate(texts, labels, folds=2, dimensions=3, tune=False)
    >>> found.facts.held_out, found.results.distinct("method")[1:4]
    (1, ['LSI', 'MLSI', 'OPLS'])
    """
    params = {
        "folds": folds,
        "dimensions": dimensions,
        "held_out": held_out,
        "most_items": most_items,
        "tune": tune,
        "random_state": random_state,
    }
    check_params(
        "evaluate",
        params,
        {
            "folds": Integer(2),
            "dimensions": Integer(1),
            "held_out": Real(0.05, 0.95),
            "most_items": Integer(20),
            "tune": Boolean(),
            "random_state": Integer(0),
        },
    )
    corpus = _prepared(texts, labels, folds, most_items, random_state)
    k = len(corpus.names)
    count = min(max(1, round(held_out * k)), k - 2)
    labelled = np.flatnonzero((corpus.Y >= 0).all(axis=1))
    step = Steps(progress, folds * (len(METHODS) + tune) + tune * len(_ALPHAS) * len(_BETAS))
    parts = np.array_split(np.random.default_rng(random_state).permutation(labelled), folds)
    records: list[Record] = []
    tuned: Mapping[str, Any] | None = None
    tried: list[Mapping[str, Any]] = []
    for fold, left_out in enumerate(parts):
        rng = np.random.default_rng([random_state, fold])
        train = np.setdiff1d(np.arange(len(corpus.texts)), left_out)
        columns = rng.permutation(k)
        held, seen = np.sort(columns[:count]), np.sort(columns[count:])
        if tune and tuned is None:
            inner = rng.choice(np.intersect1d(train, labelled), left_out.size // 2, replace=False)
            split = _split(corpus, np.setdiff1d(train, inner), inner, seen, held)
            tried = list(_try(split, dimensions, step))
            best = max(tried, key=lambda one: one["score"])
            tuned = {name: best[name] for name in ("dimensions", "alpha", "beta")}
        split = _split(corpus, train, left_out, seen, held)
        choices: list[tuple[str, str, dict[str, Any]]] = [
            (method, method, {"dimensions": _most(split, dimensions)}) for method in METHODS
        ]
        if tuned is not None:
            choices.append(
                (TUNED, "MLSI", {**tuned, "dimensions": _most(split, tuned["dimensions"])})
            )
        for name, method, options in choices:
            for record in _measured(split, method, options):
                records.append({"fold": fold, "method": name, **record})
            step()
    facts = Facts(
        items=len(corpus.texts),
        labelled=int(labelled.size),
        unlabelled=len(corpus.texts) - int(labelled.size),
        labels=k,
        held_out=count,
        folds=folds,
        dimensions=dimensions,
        notes=corpus.notes,
    )
    return Evaluation(facts, Results(records), tuned, tried)


def overall(results: Results) -> float:
    """One number for a method: the mean of macro F1 and nDCG over both settings."""
    return float(np.mean([results.mean("macro F1"), results.mean("nDCG")]))


def _prepared(texts: Any, labels: Any, folds: int, most: int, seed: int) -> _Corpus:
    """Items in a number that can be handled, and labels that are frequent enough to judge."""
    given = read_texts(texts, "evaluate")
    lists = read_label_lists(labels, None, len(given), "evaluate")
    notes = []
    rows = np.arange(len(given))
    if rows.size > most:
        labelled = np.array([own is not None for own in lists])
        rng = np.random.default_rng(seed)
        # Items that can be judged come first.
        order = rng.permutation(rows)
        rows = np.sort(np.concatenate([order[labelled[order]], order[~labelled[order]]])[:most])
        notes.append(f"{most:,} of {len(given):,} items were drawn at random.")
    lists = [lists[row] for row in rows]
    counts: dict[str, int] = {}
    for own in lists:
        for label in own or ():
            counts[label] = counts.get(label, 0) + 1
    least = max(5, 2 * folds)
    names = tuple(sorted(name for name, count in counts.items() if count >= least))
    if len(names) < len(counts):
        notes.append(
            f"{len(counts) - len(names):,} of {len(counts):,} labels are carried by fewer than "
            f"{least} items, and were left out."
        )
    if len(names) < 3:
        raise InvalidLabels(
            f"evaluate: three labels with {least} items each are needed, to learn from two and "
            f"hold one out, but there are {len(names)}."
        )
    kept = [own if own is None else tuple(x for x in own if x in set(names)) for own in lists]
    Y = indicator(kept, names)
    if int((Y >= 0).all(axis=1).sum()) < 4 * folds:
        raise InvalidInput(f"evaluate: {folds} folds need {4 * folds} items with labels.")
    return _Corpus([given[row] for row in rows], Y, names, tuple(notes))


def _split(corpus: _Corpus, train: Array, test: Array, seen: Array, new: Array) -> _Split:
    """Features of a fold: the vectoriser has seen the training texts alone."""
    vectorizer = default_vectorizer(train.size)
    features = learn_words(vectorizer, [corpus.texts[row] for row in train])
    unseen = vectorizer.transform([corpus.texts[row] for row in test])
    return _Split(features, unseen, corpus.Y[train], corpus.Y[test], seen, new)


def _most(split: _Split, dimensions: int) -> int:
    return int(min(dimensions, *split.train.shape))


def _try(split: _Split, dimensions: int, step: Callable[[], None]) -> Iterator[Mapping[str, Any]]:
    """MLSI over a grid; directions come in order, so one fit serves all numbers of them."""
    sizes = sorted({_most(split, max(1, round(size * dimensions))) for size in _SIZES})
    for alpha in _ALPHAS:
        for beta in _BETAS:
            Y = split.Y_train[:, split.seen]
            vectors = embed("MLSI", split.train, Y, split.test, sizes[-1], alpha=alpha, beta=beta)
            for size in sizes:
                found = Results(list(_judged(split, vectors.first(size))))
                yield {"dimensions": size, "alpha": alpha, "beta": beta, "score": overall(found)}
            step()


def _measured(split: _Split, method: str, options: Mapping[str, Any]) -> Iterator[Record]:
    start = time.perf_counter()
    vectors = embed(method, split.train, split.Y_train[:, split.seen], split.test, **options)
    seconds = 0.0 if method == RAW else time.perf_counter() - start
    for record in _judged(split, vectors):
        yield {**record, "dimensions": vectors.dimensions, "seconds": seconds}


def _judged(split: _Split, vectors: Vectors) -> Iterator[Record]:
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
            **judge_tagging(truth, scores, known[:, columns].mean(axis=0)),
            **judge_retrieval(vectors, truth, items, known[:, columns]),
        }


def _unseen_scores(vectors: Vectors, truth: Array) -> Array:
    """Scores of labels held out, learned on rows that the space has not seen."""
    scores = np.empty(truth.shape)
    every = np.arange(len(truth))
    for part in np.array_split(every, min(_PARTS, len(truth))):
        others = np.setdiff1d(every, part)
        scores[part] = tagging_scores(vectors.test[others], truth[others], vectors.test[part])
    return scores
