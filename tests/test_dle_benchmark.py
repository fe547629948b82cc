"""The tables of DLE on the pages are those of the record."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

benchmark = importlib.import_module("benchmarks.dle_quality")


@pytest.mark.parametrize("path", benchmark.PAGES, ids=lambda path: path.name)
def test_pages_have_the_tables_of_the_record(path):
    made = benchmark.tables(json.loads(benchmark.RECORD.read_text(encoding="utf-8")))
    text = path.read_text(encoding="utf-8")
    assert "<!-- DLE table: " in text
    assert benchmark.put(text, made) == text


def test_every_method_labels_all_rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 4)) + 3 * np.eye(3, 4)[y]
    known = benchmark._known(y, rng)
    assert known.sum() == 6
    for method, classify in benchmark._classifiers(X, np.where(known, y, -1)).items():
        found = classify()
        assert found.shape == (60,), method
        assert set(found) <= {0, 1, 2}, method
