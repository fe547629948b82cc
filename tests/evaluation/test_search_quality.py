"""Quality of search: the measures, the random queries, and files of judged queries."""

import json

import numpy as np
import pytest
from _support.topics import corpus

from labelspan.errors import InvalidFile, InvalidInput, MissingData
from labelspan.evaluation.search_quality import (
    SYSTEMS,
    JudgedQuery,
    _measures,
    evaluate_search,
    read_queries,
    search_tables,
)


@pytest.mark.parametrize("seed", range(4))
def test_measures_are_those_of_trec_eval(seed):
    ir_measures = pytest.importorskip("ir_measures", reason="ir-measures is not installed")
    rng = np.random.default_rng(seed)
    names = [f"n{n}" for n in range(150)]
    judged = rng.choice([*names, "absent", "gone"], 40, replace=False)
    # Unjudged items, irrelevant ones, a negative grade of spam, and relevant ones that are missing.
    grades = {str(name): int(rng.integers(-1, 4)) for name in judged} | {"absent": 2}
    found = _measures("judged", names, grades)
    run = [ir_measures.ScoredDoc("q", name, -float(n)) for n, name in enumerate(names)]
    qrels = [ir_measures.Qrel("q", name, grade) for name, grade in grades.items()]
    wanted = {
        "nDCG@10": ir_measures.nDCG @ 10,
        "MAP": ir_measures.AP,
        "P@10": ir_measures.P @ 10,
        "recall@100": ir_measures.R @ 100,
    }
    expected = ir_measures.calc_aggregate(list(wanted.values()), qrels, run)
    assert found == pytest.approx({name: expected[one] for name, one in wanted.items()}, abs=1e-12)


def test_items_are_found_again_and_judged_queries_measured():
    texts, labels, ids, _ = corpus(60)
    texts = [f"Number {n}\n{text}" for n, text in enumerate(texts)]
    asked = [JudgedQuery("chess", dict.fromkeys(ids[:3], 1)), JudgedQuery("x", {"nobody": 1})]
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
    assert found.notes[1].startswith("1 judged items are not in the corpus")
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
    for grades, what in (({"z": 1}, ", which has 'item0', but no 'z'"), ({ids[0]: -1}, "")):
        with pytest.raises(
            InvalidInput, match=f"No query has a relevant item in the corpus{what};"
        ):
            evaluate_search(texts, labels, ids, queries=[JudgedQuery("chess", grades)])


def test_judged_queries_are_read(tmp_path):
    path = tmp_path / "queries.jsonl"
    path.write_text(json.dumps({"query": "chess", "relevant": ["a", 7]}) + "\n\n")
    assert read_queries(path) == [JudgedQuery("chess", {"a": 1, "7": 1})]
    path.write_text(json.dumps({"query": "chess", "relevant": {"a": 2, "b": 0}}))
    assert read_queries(path) == [JudgedQuery("chess", {"a": 2, "b": 0})]
    # A line separator inside a text is not the end of a line.
    path.write_text('{"query": "chess\u2028clock", "relevant": ["a"]}\r\n', encoding="utf-8-sig")
    assert read_queries(path) == [JudgedQuery("chess\u2028clock", {"a": 1})]
    grades = [f'{{"query": "x", "relevant": {one}}}' for one in ('{"a": "much"}', '{"a": NaN}')]
    grades += ['{"query": "x", "relevant": [{"id": "a", "grade": 2}]}']
    grades += ['{"query": "x", "relevant": {"a": 1, "a": 2}}', '{"query": " ", "relevant": ["a"]}']
    for wrong in ("{", "[]", '{"query": 3, "relevant": []}', '{"query": "x"}', *grades):
        path.write_text(wrong)
        with pytest.raises(InvalidFile, match="line 1: a judged query is an object"):
            read_queries(path)
    # The same query counts once.
    path.write_text('{"query": "x", "relevant": ["a", "a"]}\r{"query": "x", "relevant": {"a": 1}}')
    assert read_queries(path) == [JudgedQuery("x", {"a": 1})]
    path.write_text('{"query": "x", "relevant": ["a"]}\n{"query": "x", "relevant": ["b"]}')
    with pytest.raises(InvalidFile, match="line 2: the query 'x' was there before, with other"):
        read_queries(path)
    path.write_text("\n")
    with pytest.raises(InvalidInput, match="has no queries"):
        read_queries(path)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InvalidFile, match="cannot be read"):
        read_queries(path)
    with pytest.raises(MissingData, match="correct --queries"):
        read_queries(tmp_path / "nowhere")


@pytest.mark.parametrize("queries", ["1\tchess\n2\tgo\n", '{"id": 1, "query": "chess"}\n2\tgo'])
def test_judgements_in_the_format_of_trec(tmp_path, queries):
    topics, qrels = tmp_path / "topics.tsv", tmp_path / "qrels.txt"
    topics.write_text(queries)
    qrels.write_text("1 0 a 2\n1 0 b 0\n\n3 0 c 1\n")
    assert read_queries(topics, qrels) == [
        JudgedQuery("chess", {"a": 2, "b": 0}),
        JudgedQuery("go", {}),
    ]
    # Between tabs, ids may have blanks; what is judged twice must have one grade.
    qrels.write_text("1\t0\ta b\t-1\r\n1\t0\ta b\t-1\r\n", encoding="utf-8-sig")
    assert read_queries(topics, qrels)[0] == JudgedQuery("chess", {"a b": -1})
    qrels.write_text("1 0 a 2\n1 0 a 0\n")
    with pytest.raises(InvalidFile, match="line 2: 'a' has two grades"):
        read_queries(topics, qrels)
    topics.write_text(queries + "\n1\tclock")
    qrels.write_text("1 0 a 2\n")
    with pytest.raises(InvalidFile, match="the query '1' was there before"):
        read_queries(topics, qrels)
    topics.write_text(queries)
    qrels.write_text("1 0 a inf\n")
    with pytest.raises(InvalidFile, match="line 1: a judgement is a query"):
        read_queries(topics, qrels)
    qrels.write_text("q1 0 a 1\n")
    with pytest.raises(InvalidInput, match=r"has '1', .* 'q1'"):
        read_queries(topics, qrels)
    qrels.write_text("1 0 a\n")
    with pytest.raises(InvalidFile, match="line 1: a judgement is a query, 0, an item and a grade"):
        read_queries(topics, qrels)
    topics.write_text("chess\n")
    qrels.write_text("1 0 a 1\n")
    with pytest.raises(InvalidFile, match="an id, a tab and the text"):
        read_queries(topics, qrels)
    with pytest.raises(MissingData, match="correct --qrels"):
        read_queries(topics, tmp_path / "nowhere")
