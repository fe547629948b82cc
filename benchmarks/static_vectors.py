"""Measure whether static word vectors next to TF-IDF help hidden labels, tags and search.

``python -m benchmarks.static_vectors FILE --out results.jsonl`` adds a block of pooled word vectors
(centred, length one, times ``--weight``) to the features of an index, and compares:

- hidden: MLSI learns a space from half of the labels; nDCG@10 of the nearest training texts of
  test texts, gain = Jaccard index of the other half of the labels;
- tags: nDCG@5 and micro F1 of labelspan's tagger on test texts;
- search (only cacm): nDCG@10 of judged queries, by the space and by words and space together.

``plain`` is the mean of the vectors of the words of a text, ``weighted`` that by
``(1 + log tf) idf``. Every corpus is split three times at random (debtags by source package).
FILE has word vectors, as ``SemanticIndex(static=FILE)`` reads them; those of the results are from
the wheel of wordllama (English, 256 dimensions). ``--rows`` limits the training texts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from labelspan import MLSI
from labelspan.corpus import read_corpus
from labelspan.datasets import data_home
from labelspan.evaluation.search_quality import read_queries
from labelspan.evaluation.tag_quality import tagging_quality
from labelspan.evaluation.text_features import learn_features
from labelspan.index.label_table import LabelTable
from labelspan.index.model import Space
from labelspan.index.vectors import unit_rows
from labelspan.metrics import retrieval_at_k
from labelspan.tagger.learning import learn_tagger
from labelspan.text import SPACE, TAGS, Vocabulary, WordSearch, WordSegment, parse_query
from labelspan.text.static_vectors import word_vectors

SETS = ("debtags", "netflix", "cacm", "stackoverflow", "reuters21578")
POOLS = ("none", "plain", "weighted")
# Weight of the space in a search for a text.
_BALANCE = 0.4


def load(name: str) -> tuple[list[str], list[list[str]], list[str], list[str]]:
    """Return texts, labels, groups that stay together, and ids."""
    home = data_home()
    if name in ("debtags", "reuters21578", "cacm"):
        place = home / "corpora" if name == "cacm" else home
        with gzip.open(place / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        if name == "debtags":
            rows = [row for row in rows if row["tags"]]
            texts = [f"{row['summary']}\n{row['description']}" for row in rows]
            return texts, [row["tags"] for row in rows], [row["source"] for row in rows], []
        if name == "cacm":
            texts = [f"{row['title']}\n{row['abstract']}" for row in rows]
            labels = [row["categories"] or [] for row in rows]
            ids = [row["id"] for row in rows]
            return texts, labels, ids, ids
        rows = [row for row in rows if row["topics"]]
        texts = [f"{row['title']}\n{row['body']}" for row in rows]
        labels = [row["topics"] for row in rows]
    else:
        file = {"netflix": "netflix_titles.csv.gz", "stackoverflow": "stackoverflow.tsv.gz"}[name]
        corpus = read_corpus(home / "corpora" / file)
        known = [n for n, own in enumerate(corpus.labels) if own]
        texts, labels = [corpus.texts[n] for n in known], [list(corpus.labels[n]) for n in known]
    return texts, labels, [str(n) for n in range(len(texts))], []


class Pool:
    """Pooled word vectors of texts, centred on the training texts."""

    def __init__(self, vectors: Path, texts: list[str], kind: str) -> None:
        self.counter = CountVectorizer(token_pattern=r"(?u)\b\w+\b", dtype=np.float32)
        counts = self.counter.fit_transform(texts)
        self.kind = kind
        df = np.asarray((counts > 0).sum(axis=0)).ravel()
        self.idf = np.log((1 + len(texts)) / (1 + df)) + 1
        names = self.counter.get_feature_names_out().tolist()
        places, found = word_vectors(vectors, names)
        self.words = np.zeros((len(names), found.shape[1]), dtype=np.float32)
        self.words[places] = found
        self.mean = 0.0
        self.mean = self._pooled(counts).mean(axis=0)

    def _pooled(self, counts: Any) -> np.ndarray:
        if self.kind == "weighted":
            counts = counts.copy()
            counts.data = 1 + np.log(counts.data)
            counts = counts @ sparse.diags(self.idf)
        sums = np.maximum(np.asarray(counts.sum(axis=1)), 1e-9)
        return np.asarray(counts @ self.words) / sums - self.mean

    def of_texts(self, texts: list[str]) -> np.ndarray:
        """Return a row of length one for each text."""
        return unit_rows(self._pooled(self.counter.transform(texts)).astype(np.float32))


def joined(rows: Any, pool: Pool | None, texts: list[str], weight: float) -> Any:
    """Put pooled vectors next to features."""
    if pool is None:
        return rows
    block = sparse.csr_matrix(weight * pool.of_texts(texts))
    return sparse.csr_matrix(sparse.hstack([rows, block], format="csr"), dtype=np.float32)


def split(groups: list[str], seed: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Hold out a fifth of the groups."""
    rng = np.random.default_rng(seed)
    names = sorted(set(groups))
    held = set(rng.permutation(names)[: len(names) // 5].tolist())
    inside = np.array([group in held for group in groups])
    order = rng.permutation(len(groups))
    train, test = order[~inside[order]][:most], order[inside[order]][: most // 4]
    return np.sort(train), np.sort(test)


def measure(name: str, seed: int, most: int, weight: float, vectors: Path) -> list[Any]:
    """Measure all ways of pooling on one split."""
    every, lists, groups, _ = load(name)
    kept = [n for n, own in enumerate(lists) if own]
    texts, labels = [every[n] for n in kept], [tuple(sorted(set(lists[n]))) for n in kept]
    train, test = split([groups[n] for n in kept], seed, most)
    old, new = [texts[n] for n in train], [texts[n] for n in test]
    known = [labels[n] for n in train]
    names = tuple(sorted({label for own in known for label in own}))
    inside = set(names)
    targets = LabelTable.of(known, names).matrix()
    wanted = [tuple(sorted(set(labels[n]) & inside)) for n in test]
    truth = LabelTable.of(wanted, names).matrix()
    hidden = np.random.default_rng([seed, 1]).permutation(len(names)) < len(names) // 2
    space_features, space_rows = learn_features(old, SPACE)
    tag_features, tag_rows = learn_features(old, TAGS)
    records = []
    for pool in POOLS:
        made = None if pool == "none" else Pool(vectors, old, pool)
        X = joined(space_rows, made, old, weight)
        model = MLSI("auto").fit(X, targets[:, np.flatnonzero(~hidden)].toarray())
        space = Space.of(model)
        own = space.vectors(X)
        asked = space.vectors(joined(space_features.of_texts(new), made, new, weight))
        columns = np.flatnonzero(hidden)
        near = retrieval_at_k(asked, truth[:, columns], own, targets[:, columns], 10)
        rows = joined(tag_rows, made, old, weight)
        tagger = learn_tagger(names, targets, rows, np.arange(len(old)))
        found = tagger.probabilities(joined(tag_features.of_texts(new), made, new, weight))
        tags = tagging_quality(truth.toarray() > 0, found, found >= tagger.thresholds)
        record = {
            "set": name,
            "seed": seed,
            "pool": pool,
            "rows": len(old),
            "hidden": near.ndcg,
            "nDCG@5": tags["nDCG@5"],
            "micro F1": tags["micro F1"],
        }
        records.append(record)
        print(json.dumps(record), flush=True)
    return records


def measure_search(weight: float, vectors: Path) -> list[Any]:
    """Measure judged queries of cacm, with all of its labels."""
    texts, lists, _, ids = load("cacm")
    queries = read_queries(data_home() / "corpora/cacm_queries.jsonl")
    names = tuple(sorted({label for own in lists for label in own}))
    targets = LabelTable.of([tuple(sorted(set(own))) for own in lists], names).matrix().toarray()
    targets[[n for n, own in enumerate(lists) if not own]] = -1
    features, rows = learn_features(texts)
    vocabulary = Vocabulary("en")
    words = WordSearch(vocabulary, [WordSegment.build(vocabulary.number(texts))])
    records = []
    for pool in POOLS:
        made = None if pool == "none" else Pool(vectors, texts, pool)
        X = joined(rows, made, texts, weight)
        space = Space.of(MLSI("auto").fit(X, targets))
        own = space.vectors(X)
        scores: dict[str, list[float]] = {"space": [], "fused": []}
        for query in queries:
            row = joined(features.of_texts([query.text]), made, [query.text], weight)
            near = own @ space.vectors(row)[0]
            bm25 = words.score(parse_query(query.text)).scores
            both = (1 - _BALANCE) * bm25 / bm25.std() + _BALANCE * near / near.std()
            for kind, values in (("space", near), ("fused", both)):
                order = np.argsort(-values, kind="stable")[:10]
                hits = [ids[n] in query.relevant for n in order]
                gains = 1 / np.log2(np.arange(10) + 2)
                ideal = gains[: min(10, len(query.relevant))].sum()
                scores[kind].append(float(gains @ hits / ideal) if ideal else 0.0)
        record = {"set": "cacm search", "seed": 0, "pool": pool, "rows": len(texts)}
        record |= {kind: float(np.mean(values)) for kind, values in scores.items()}
        records.append(record)
        print(json.dumps(record), flush=True)
    return records


def table(records: list[Any]) -> str:
    """Return the means over splits, and in how many splits a pool is better than none."""
    lines = ["| corpus | measure | none | plain | weighted | better splits |", "| --- " * 6 + "|"]
    for name in dict.fromkeys(one["set"] for one in records):
        own = [one for one in records if one["set"] == name]
        measures = [key for key in own[0] if key not in ("set", "seed", "pool", "rows")]
        for key in measures:
            by = {
                pool: {one["seed"]: one[key] for one in own if one["pool"] == pool}
                for pool in POOLS
            }
            means = [f"{np.mean(list(by[pool].values())):.3f}" for pool in POOLS]
            better = [
                f"{sum(by[pool][seed] > by['none'][seed] for seed in by['none'])}"
                for pool in POOLS[1:]
            ]
            lines.append(
                f"| {name} | {key} | {' | '.join(means)} | {' and '.join(better)} "
                f"of {len(by['none'])} |"
            )
    return "\n".join(lines)


def main(given: list[str]) -> None:
    """Run all sets and splits, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("vectors", type=Path, metavar="FILE")
    parser.add_argument("sets", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--weight", type=float, default=0.5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(given)
    records: list[Any] = []
    for name in asked.sets or [*SETS, "cacm search"]:
        if name == "cacm search":
            records += measure_search(asked.weight, asked.vectors)
        else:
            for seed in range(asked.seeds):
                records += measure(name, seed, asked.rows, asked.weight, asked.vectors)
        if asked.out is not None:
            asked.out.write_text("".join(json.dumps(one) + "\n" for one in records))
    print(table(records))


if __name__ == "__main__":
    main(sys.argv[1:])
