"""The benchmark of ``labelspan fit --stream``: its page shows what the record says."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.billion import Costs  # noqa: E402
from benchmarks.large_corpus import (  # noqa: E402
    LIMIT,
    PAGE,
    RECORD,
    STEPS,
    measure,
    rewrite,
    sizes_table,
    write_corpus,
)


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def test_the_page_shows_the_record(record):
    text = PAGE.read_text(encoding="utf-8")
    for name in ("measured", "worked", "sizes"):
        assert f"<!-- stream {name} -->" in text
    assert rewrite(text, record) == text, "python -m benchmarks.large_corpus --page writes it in"


def test_the_record_is_complete(record):
    assert [run["items"] for run in record["runs"]] == [200_000, 2_000_000, 5_000_000]
    for run in record["runs"]:
        assert set(run["steps"]) == set(record["runs"][0]["steps"]) >= {"learn tags"}
        assert 0 < sum(step["cpu"] for step in run["steps"].values()) <= run["cpu"]
        assert run["peak bytes"] < LIMIT
        assert run["passes"]["wide"]["number"] > 0


def test_sizes_follow_from_the_costs():
    costs = Costs(1.0, 1.0, 0.1, 0.4, 1.0, 1.0, 3.0, 0.2, 8.0)
    lines = sizes_table(costs).splitlines()
    assert len(lines) == 2 + 5 * 4
    # 10^5 rows of 75 words, 110 columns, 7 pairs of passes of 2 ns each.
    assert "| 11.6 s | 1.44 s |" in lines[2]
    assert "--stream" in lines[12]


def test_a_small_run(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = measure(300, 5, 60, tmp_path)
    assert (found["items"], found["dimensions"], found["tag sample"]) == (300, 5, 60)
    assert set(found["steps"]) == set(STEPS)
    assert found["row bytes"] > 0
    assert found["index bytes"] > found["corpus bytes"] > 0


def test_the_corpus_is_always_the_same(tmp_path):
    for name in ("a", "b"):
        write_corpus(tmp_path / name, 50)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    item = json.loads((tmp_path / "a").read_text().splitlines()[0])
    assert len(item["text"].split()) == 80
    assert 1 <= len(item["labels"]) <= 2
