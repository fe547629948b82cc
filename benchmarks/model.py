"""Measure a language model next to the words, compared with each of the two alone.

``python -m benchmarks.model MODEL --out results.jsonl`` takes a model as ``labelspan fit --model``
does, and measures:

- search (cacm, cranfield): nDCG@10 and recall@100 of judged questions: BM25, the cosine of the
  model, the sum of both standardised scores, an index of words, and one of words and the model;
- tags (netflix, debtags, stackoverflow, reuters21578, makupalat): nDCG@5 of test texts, with all
  labels, with those of 5% of the training texts, and with about eight texts per label: the tagger
  with words only, with words and the model, ridge and logistic regression on the model's vectors,
  and linear SVMs on TF-IDF;
- neighbours (the same sets): nDCG@10 of the training texts nearest to test texts, by shared labels:
  by the cosine of the model, in an index of words, and in one of words and the model.

``--rows`` limits training and test texts; ``--longest`` the tokens of a text, which saves time;
``--part development`` holds out a fifth of the training texts instead of the test texts;
``--fresh SEED`` splits all texts again, at random. Ridge chooses its penalty by leave-one-out
errors, logistic regression by nDCG@5 on a fifth of the texts. Classifiers for each label are left
out where texts times labels are more than a million. Vectors are stored in the cache folder, so
that a second run does not encode them again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from labelspan import LSI, SemanticIndex
from labelspan.datasets import data_home
from labelspan.evaluation.tag_quality import tagging_quality
from labelspan.evaluation.text_features import learn_features
from labelspan.index.block_lengths import choose_tag_lengths
from labelspan.index.blocks import SPACE_LENGTH, TAG_LENGTH, Blocks
from labelspan.index.label_table import LabelTable
from labelspan.index.model_block import BlockSource, ModelBlock
from labelspan.metrics import retrieval_at_k
from labelspan.models import TextModel, VectorStore, open_model
from labelspan.operators.joined import JoinedRows
from labelspan.tagger.learning import learn_tagger
from labelspan.text import TAGS, parse_query

from .tagging import load_split

__all__ = ["SEARCHES", "TAGGED", "main", "measure_search", "measure_tags"]

SEARCHES = ("cacm", "cranfield")
TAGGED = ("netflix", "stackoverflow", "reuters21578", "debtags", "makupalat")
SETTINGS = ("all", "5%", "eight", "neighbours")
# Labels of texts up to which a classifier is learned for each label.
_MOST = 1_000_000
_EIGHT = 8


class Stored(TextModel):
    """A model whose vectors of queries are stored as well."""

    def __init__(self, model: TextModel) -> None:
        self.name, self._model = model.name, model

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        return VectorStore().vectors(self._model, texts)


class Shorter(TextModel):
    """A transformer that reads only the first tokens of a text."""

    def __init__(self, model: Any, longest: int) -> None:
        self.name, self._model = f"{model.name}, {longest} tokens", model
        model._tokenizer.enable_truncation(longest)

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        return self._model.vectors(texts, query=query)


# --- search -------------------------------------------------------------------------------


def load_questions(name: str) -> tuple[list[str], Any, list[str], list[dict[str, Any]]]:
    """Return texts, labels, ids, and judged questions."""
    home = data_home() / "corpora"
    with gzip.open(home / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    with (home / f"{name}_queries.jsonl").open(encoding="utf-8") as file:
        questions = [json.loads(line) for line in file]
    texts = [f"{row['title']}\n{row.get('abstract') or row.get('text') or ''}" for row in rows]
    labels = [row.get("categories") or None for row in rows]
    return texts, labels if any(labels) else None, [row["id"] for row in rows], questions


def measure_search(name: str, model: TextModel) -> list[dict[str, Any]]:
    """Measure the search of one collection."""
    texts, labels, ids, questions = load_questions(name)
    vectors = VectorStore().vectors(model, texts)
    asked = [one["query"] for one in questions]
    queries = model.vectors(asked, query=True)
    indexes = {}
    for key, given in (("words", {}), ("words and model", {"vectors": vectors})):
        start = time.process_time()
        estimator = None if labels is not None else LSI()
        index = SemanticIndex(estimator, model=model if given else None)
        indexes[key] = index.fit(texts, labels, ids, **given)
        print(name, key, f"fit {time.process_time() - start:.1f} s", flush=True)
    cosines = _unit(queries) @ _unit(vectors).T
    words = indexes["words"].store.words
    assert words is not None
    found: dict[str, list[list[str]]] = {"BM25": [], "model": [], "BM25 + model": []}
    for text, own in zip(asked, cosines, strict=True):
        scores = words.score(parse_query(text)).scores
        sums = scores / max(scores.std(), 1e-9) + own / own.std()
        for key, values in (("BM25", scores), ("model", own), ("BM25 + model", sums)):
            order = np.argsort(-values, kind="stable")[:100]
            found[key].append([ids[n] for n in order if values[n] > 0])
    for key, index in indexes.items():
        found[key] = [[hit.id for hit in index.search(text, 100)] for text in asked]
    return [
        {
            "set": name,
            "method": key,
            "nDCG@10": _mean_of([_ndcg(own, q["relevant"]) for own, q in zip(lists, questions)]),  # noqa: B905
            "recall@100": _mean_of(
                [_recall(own, q["relevant"]) for own, q in zip(lists, questions)]  # noqa: B905
            ),
            "questions": len(questions),
        }
        for key, lists in found.items()
    ]


def _mean_of(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _ndcg(found: Sequence[str], relevant: Sequence[str]) -> float:
    gains = 1 / np.log2(np.arange(10) + 2)
    hits = np.array([one in set(relevant) for one in found[:10]], dtype=float)
    return float((hits * gains[: hits.size]).sum() / gains[: min(10, len(relevant))].sum())


def _recall(found: Sequence[str], relevant: Sequence[str]) -> float:
    return len(set(found[:100]) & set(relevant)) / len(set(relevant))


def _unit(rows: Any) -> Any:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


# --- tags ---------------------------------------------------------------------------------


def tagged_split(
    name: str, rows: Sequence[int | None], part: str, fresh: int | None = None
) -> tuple[list[str], list[Sequence[str]], list[str], list[Sequence[str]]]:
    """Return training texts and labels, and those that are held out."""
    sides = []
    given = load_split(name)
    if fresh is not None:
        every = [pair for texts, labels in given for pair in zip(texts, labels, strict=True)]
        order = np.random.default_rng(fresh).permutation(len(every))
        parts = np.split(order, [len(given[0][0])])
        given = tuple(([every[n][0] for n in one], [every[n][1] for n in one]) for one in parts)
    for (texts, labels), count, seed in zip(given, rows, (1, 2), strict=True):
        order = np.arange(len(texts))
        if count and count < order.size:
            order = np.sort(np.random.default_rng(seed).permutation(order.size)[:count])
        sides.append(([texts[n] for n in order], [labels[n] for n in order]))
    (texts, labels), (new, truth) = sides
    if part == "development":
        held = np.random.default_rng(3).permutation(len(texts)) < len(texts) // 5
        new, truth = [t for t, h in zip(texts, held) if h], [t for t, h in zip(labels, held) if h]  # noqa: B905
        texts, labels = (
            [t for t, h in zip(texts, held) if not h],  # noqa: B905
            [t for t, h in zip(labels, held) if not h],  # noqa: B905
        )
    return texts, labels, new, truth


def labelled(labels: Sequence[Sequence[str]], setting: str) -> Any:
    """Return the numbers of the training texts whose labels are known."""
    rng = np.random.default_rng(0)
    if setting == "all":
        return np.arange(len(labels))
    order = rng.permutation(len(labels))
    if setting == "5%":
        return np.sort(order[: max(20, len(labels) // 20)])
    counts: dict[str, int] = {}
    chosen = []
    for row in order.tolist():
        if any(counts.get(one, 0) < _EIGHT for one in labels[row]):
            chosen.append(row)
            for one in labels[row]:
                counts[one] = counts.get(one, 0) + 1
    return np.sort(chosen)


Split = tuple[list[str], list[Sequence[str]], list[str], list[Sequence[str]]]


def measure_neighbours(name: str, model: TextModel, split: Split) -> list[dict[str, Any]]:
    """Measure the neighbours of texts that are held out."""
    texts, labels, new, wanted = split
    model = Stored(model)
    vectors, asked = model.vectors(texts), model.vectors(new)
    table = LabelTable.of([tuple(sorted(set(own))) for own in [*labels, *wanted]])
    gains = table.matrix()
    kept, unseen = gains[: len(texts)], gains[len(texts) :]
    block = ModelBlock.learn(BlockSource(), vectors, [])
    found = {"model": (block.rows(vectors), block.rows(asked), {})}
    for method, own in (("words", {}), ("words and model", {"vectors": vectors})):
        start = time.process_time()
        index = SemanticIndex(model=model if own else None).fit(texts, labels, **own)
        more = {"fit": round(time.process_time() - start, 1)}
        if index.model.block is not None:
            more["length"] = index.model.block.lengths[SPACE_LENGTH]
        found[method] = index.vectors(index.ids), index.embed(new), more
    records = []
    for method, (items, queries, more) in found.items():
        quality = retrieval_at_k(queries, unseen, items, kept, 10)
        one = {"set": name, "setting": "neighbours", "method": method, "nDCG@10": quality.ndcg}
        records.append({**one, "texts": len(texts), **more})
        print(json.dumps(records[-1]), flush=True)
    return records


def measure_tags(name: str, model: TextModel, setting: str, split: Split) -> list[dict[str, Any]]:
    """Measure the tags of one collection."""
    texts, labels, new, wanted = split
    vectors, asked = (VectorStore().vectors(model, own) for own in (texts, new))
    block = ModelBlock.learn(BlockSource(), vectors, [])
    known = labelled(labels, setting)
    table = LabelTable.of([tuple(sorted(set(labels[row]))) for row in known])
    targets, names = table.matrix(), tuple(table.names)
    number = {one: column for column, one in enumerate(names)}
    truth = np.zeros((len(new), len(names)), dtype=bool)
    for row, own in enumerate(wanted):
        truth[row, [number[one] for one in own if one in number]] = True
    some = [texts[row] for row in known]
    units, queries = block.rows(vectors[known]), block.rows(asked)
    features, words = learn_features(some, TAGS)
    new_words = features.of_texts(new)
    records = []

    def record(method: str, start: float, scores: Any, chosen: Any = None, **more: Any) -> None:
        found = tagging_quality(truth, scores, scores > np.inf if chosen is None else chosen)
        one = {"set": name, "setting": setting, "method": method, "nDCG@5": found["nDCG@5"]}
        one |= {"micro F1": found["micro F1"]} if chosen is not None else {}
        one |= {"labelled": len(known), "labels": len(names), **more}
        records.append({**one, "seconds": round(time.process_time() - start, 1)})
        print(json.dumps(records[-1]), flush=True)

    start = time.process_time()
    tagger = learn_tagger(names, targets, words, np.arange(len(known)))
    scores = tagger.probabilities(new_words)
    record("words", start, scores, scores >= tagger.thresholds)
    start = time.process_time()
    blocks = Blocks(block)
    choose_tag_lengths(blocks, units, None, words, targets, np.arange(len(known)))
    length = block.lengths[TAG_LENGTH]
    both = JoinedRows(words, np.float32(length) * units)
    tagger = learn_tagger(
        names, targets, both, np.arange(len(known)), block_lengths=blocks.column_lengths(TAG_LENGTH)
    )
    scores = tagger.probabilities(JoinedRows(new_words, np.float32(length) * queries))
    record("words and model", start, scores, scores >= tagger.thresholds, length=length)
    start = time.process_time()
    record("ridge on the model", start, _ridge(units, targets.toarray(), queries))
    if len(names) * len(some) <= _MOST:
        start = time.process_time()
        record("logistic on the model", start, _logistic(units, targets.toarray(), queries))
        start = time.process_time()
        record("SVM on TF-IDF", start, _svm(some, targets.toarray(), new))
    return records


def _ridge(X: Any, Y: Any, new: Any) -> Any:
    """Scores of a ridge regression whose penalty has the smallest leave-one-out error."""
    mean = Y.mean(axis=0)
    values, turned = np.linalg.eigh(X.T @ X)
    rotated, own = X @ turned, turned.T @ (X.T @ (Y - mean))
    best, chosen = np.inf, None
    for alpha in np.geomspace(1e-2, 1e3, 11):
        weights = own / (values + alpha)[:, None]
        leverage = (np.square(rotated) / (values + alpha)).sum(axis=1) + 1 / len(X)
        error = np.square((Y - mean - rotated @ weights) / (1 - leverage)[:, None]).sum()
        if error < best:
            best, chosen = error, turned @ weights
    return new @ chosen + mean


def _each(X: Any, Y: Any, new: Any, make: Any) -> Any:
    scores = np.full((new.shape[0], Y.shape[1]), -np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for column in range(Y.shape[1]):
            if 0 < Y[:, column].sum() < len(Y):
                one = make().fit(X, Y[:, column] > 0)
                scores[:, column] = one.decision_function(new)
    return scores


def _logistic(X: Any, Y: Any, new: Any) -> Any:
    held = np.random.default_rng(0).permutation(len(X)) < max(1, len(X) // 5)

    def quality(strength: float) -> float:
        found = _each(X[~held], Y[~held], X[held], lambda: LogisticRegression(C=strength))
        return tagging_quality(Y[held] > 0, found, found > np.inf)["nDCG@5"]

    best = max((1.0, 10.0, 100.0), key=quality)
    return _each(X, Y, new, lambda: LogisticRegression(C=best))


def _svm(texts: list[str], Y: Any, new: list[str]) -> Any:
    words = TfidfVectorizer(sublinear_tf=True, min_df=min(2, len(texts)), dtype=np.float32)
    rows = sparse.csr_matrix(words.fit_transform(texts))
    return _each(rows, Y, words.transform(new), LinearSVC)


# --- command ------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model")
    parser.add_argument("sets", nargs="*", default=[*SEARCHES, *TAGGED])
    parser.add_argument("--settings", nargs="*", default=SETTINGS, choices=SETTINGS)
    parser.add_argument("--rows", nargs=2, type=int, default=(None, None), metavar="N")
    parser.add_argument("--longest", type=int)
    parser.add_argument("--part", choices=["development", "test"], default="test")
    parser.add_argument("--fresh", type=int, metavar="SEED")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    model: TextModel = open_model(given.model)
    if given.longest:
        model = Shorter(model, given.longest)
    for name in given.sets:
        settings = ("",) if name in SEARCHES else given.settings
        for setting in settings:
            if name in SEARCHES:
                records = measure_search(name, model)
                print("\n".join(map(json.dumps, records)), flush=True)
            else:
                split = tagged_split(name, given.rows, given.part, given.fresh)
                if setting == "neighbours":
                    records = measure_neighbours(name, model, split)
                else:
                    records = measure_tags(name, model, setting, split)
            if given.out is not None:
                with given.out.open("a", encoding="utf-8") as file:
                    file.writelines(f"{json.dumps(one)}\n" for one in records)


if __name__ == "__main__":
    main()
