"""The tables of spaces on the pages are those of the record, and a run is summarised as it says."""

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

page = importlib.import_module("benchmarks.spaces_page")


def result(name, split, method, value, setting="100%"):
    measures = dict.fromkeys(("nDCG", "AP", "row AP", "macro F1", "micro F1"), value)
    where = {"set": name, "split": split, "setting": setting, "method": method}
    return {**where, "quick": False, "rows": 10, "labels": 3, "commit": "abc", **measures}


@pytest.mark.parametrize("path", page.PAGES, ids=lambda path: path.name)
def test_pages_have_the_tables_of_the_record(path):
    made = page.tables(json.loads(page.RECORD.read_text(encoding="utf-8")))
    text = path.read_text(encoding="utf-8")
    assert "<!-- table: " in text
    assert page.put(text, made) == text


def test_means_are_over_splits_and_then_over_sets():
    runs = [
        result("yeast", 0, "MLSI", 0.2),
        result("yeast", 1, "MLSI", 0.4),
        result("rcv1", 0, "MLSI", 0.9),
        result("emotions", 0, "MLSI", 0.5),
        {**result("rcv1", 0, "LSI", 0.1), "quick": True},
    ]
    record = page.summarise(runs)
    assert record["test"]["100%"]["MLSI"]["nDCG"] == pytest.approx(0.6)
    assert record["test"]["100%"]["MLSI"]["sets"] == 2
    assert record["development"]["100%"]["MLSI"]["macro-F1"] == pytest.approx(0.5)
    assert "LSI" not in record["test"]["100%"]


def test_what_unlabelled_rows_add_names_the_worst_set():
    runs = [
        result("yeast", 0, "MLSI", 0.5, "10%"),
        result("yeast", 0, "MLSI, labelled", 0.4, "10%"),
        result("rcv1", 0, "MLSI", 0.5, "10%"),
        result("rcv1", 0, "MLSI, labelled", 0.52, "10%"),
    ]
    found = page.summarise(runs)["unlabelled"]["MLSI"]["10%"]["AP"]
    assert found == {"mean": 0.04, "worst": -0.02, "where": "rcv1"}


def test_the_best_of_each_column_is_bold():
    text = page._markdown(["", "a", "b"], ["x", "y"], [[0.1, 0.5], [0.3, None]])
    assert text.splitlines()[2:] == ["| x | .100 | **.500** |", "| y | **.300** |  |"]
