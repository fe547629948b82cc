"""Benchmarks: their tables are on the pages, and their pure parts compute what they say."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

audit, spaces_page = (
    importlib.import_module(f"benchmarks.{name}") for name in ("audit", "spaces_page")
)


@pytest.mark.parametrize(
    ("benchmark", "path"),
    [(one, path) for one in (spaces_page,) for path in one.PAGES],
    ids=lambda one: getattr(one, "name", ""),
)
def test_pages_have_the_tables_of_the_record(benchmark, path):
    made = benchmark.tables(json.loads(benchmark.RECORD.read_text(encoding="utf-8")))
    text = path.read_text(encoding="utf-8")
    assert "able: " in text
    assert benchmark.put(text, made) == text
    assert benchmark.put(text.replace(" .", " .9"), made) != text.replace(" .", " .9")


def test_every_script_is_listed_and_every_result_cited():
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    scripts -= {"__init__", "data", "harness", "machine", "spaces_data"}
    listed = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert scripts - {"spaces_page"} == set(re.findall(r"^\| `(\w+)` \|", listed, re.M))
    pages = {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("docs/**/*.md")}
    pages |= {path: path.read_text(encoding="utf-8") for path in (ROOT / "results").glob("*.md")}
    named = {name for text in pages.values() for name in re.findall(r"-m benchmarks\.(\w+)", text)}
    assert named <= scripts
    cited = "".join(text for path, text in pages.items() if "docs" in path.parts)
    results = {path.name for path in (ROOT / "results").glob("*.md")}
    assert {name for name in results if f"results/{name}" not in cited} == set()


# --- quality of spaces --------------------------------------------------------------------


def result(name, split, method, value, setting="100%"):
    measures = dict.fromkeys(("nDCG", "AP", "row AP", "macro F1", "micro F1"), value)
    where = {"set": name, "split": split, "setting": setting, "method": method}
    return {**where, "quick": False, "rows": 10, "labels": 3, "commit": "abc", **measures}


def test_means_are_over_splits_and_then_over_sets():
    runs = [
        result("yeast", 0, "MLSI", 0.2),
        result("yeast", 1, "MLSI", 0.4),
        result("rcv1", 0, "MLSI", 0.9),
        result("emotions", 0, "MLSI", 0.5),
        {**result("rcv1", 0, "LSI", 0.1), "quick": True},
    ]
    record = spaces_page.summarise(runs)
    assert record["test"]["100%"]["MLSI"]["nDCG"] == pytest.approx(0.6)
    assert record["test"]["100%"]["MLSI"]["sets"] == 2
    assert record["development"]["100%"]["MLSI"]["macro-F1"] == pytest.approx(0.5)
    assert "LSI" not in record["test"]["100%"]


def test_other_packages_stay_in_the_record():
    before = spaces_page.summarise([result("rcv1", 0, "UMAP", 0.3), result("rcv1", 0, "LSI", 0.1)])
    record = spaces_page.summarise([result("rcv1", 0, "MLSI", 0.9)], before)
    assert record["test"]["100%"]["UMAP"]["nDCG"] == pytest.approx(0.3)
    assert "LSI" not in record["test"]["100%"]


def test_the_gain_of_unlabelled_rows_names_the_worst_set():
    runs = [
        result("yeast", 0, "MLSI", 0.5, "10%"),
        result("yeast", 0, "MLSI, labelled", 0.4, "10%"),
        result("rcv1", 0, "MLSI", 0.5, "10%"),
        result("rcv1", 0, "MLSI, labelled", 0.52, "10%"),
    ]
    found = spaces_page.summarise(runs)["unlabelled"]["MLSI"]["10%"]["AP"]
    assert found == {"mean": 0.04, "worst": -0.02, "where": "rcv1"}


def test_the_best_of_each_column_is_bold():
    text = spaces_page._markdown(["", "a", "b"], ["x", "y"], [[0.1, 0.5], [0.3, None]])
    assert text.splitlines()[2:] == ["| x | .100 | **.500** |", "| y | **.300** |  |"]
