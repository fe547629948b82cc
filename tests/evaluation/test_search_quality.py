"""Quality of search: the measures, the random queries, and files of judged queries."""

import json

import numpy as np
import pytest
from _support.topics import corpus
from sklearn.metrics import average_precision_score, ndcg_score

from labelspan.errors import InvalidFile, InvalidInput, MissingData
from labelspan.evaluation.search_quality import (
    SYSTEMS,
    JudgedQuery,
    _measures,
    evaluate_search,
    read_queries,
    search_tables,
)


@pytest.mark.parametrize("seed", range(2))
def test_measures_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    names = [f"n{n}" for n in range(30)]
    relevant = frozenset(rng.choice(names, 7, replace=False))
    found = _measures("judged", names, relevant)
    truth = np.array([[name in relevant for name in names]], dtype=float)
    scores = -np.arange(30.0)[None]
    assert found["nDCG@10"] == pytest.approx(ndcg_score(truth, scores, k=10))
    assert found["MAP"] == pytest.approx(average_precision_score(truth[0], scores[0]))
    assert found["P@10"] == truth[0, :10].mean()


def test_items_are_found_again_and_judged_queries_measured():
    texts, labels, ids, _ = corpus(60)
    texts = [f"Number {n}\n{text}" for n, text in enumerate(texts)]
    asked = [JudgedQuery("chess", frozenset(ids[:3])), JudgedQuery("x", frozenset({"nobody"}))]
    steps = []
    found = evaluate_search(
        texts,
        labels,
        ids,
        queries=asked,
        known_items=20,
        dimensions=5,
        progress=lambda *step: steps.append(step),
    )
    assert steps == [(n, 5) for n in range(1, 6)]
    assert found.results.distinct("system") == list(SYSTEMS)
    for system in ("BM25", "space", "words + space"):
        assert found.results.only(system=system, kind="title").mean("first") == 1
    assert len(found.results.only(kind="judged")) == len(SYSTEMS)
    assert found.notes[0].startswith("1 of 2 judged queries have no relevant item")
    tables = search_tables(found)
    assert [table.title.partition(" (")[0] for table in tables] == [
        "Items found by their title",
        "Items found by five of their words",
        "Judged queries",
    ]
    same = evaluate_search(texts, labels, ids, known_items=20, dimensions=5)
    assert same.results.only(kind="words").mean("MRR") == found.results.only(kind="words").mean(
        "MRR"
    )
    with pytest.raises(InvalidInput, match="nothing to search for"):
        evaluate_search(texts, labels, ids, known_items=0)


def test_judged_queries_are_read(tmp_path):
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps({"query": "chess", "relevant": ["a", 7]}) + "\n\n")
    assert read_queries(path) == [JudgedQuery("chess", frozenset({"a", "7"}))]
    for wrong in ("{", "[]", '{"query": 3, "relevant": []}', '{"query": "x"}'):
        path.write_text(wrong)
        with pytest.raises(InvalidFile, match="line 1: a judged query is an object"):
            read_queries(path)
    path.write_text("\n")
    with pytest.raises(InvalidInput, match="has no queries"):
        read_queries(path)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InvalidFile, match="cannot be read"):
        read_queries(path)
    with pytest.raises(MissingData, match="correct --queries"):
        read_queries(tmp_path / "nowhere")
