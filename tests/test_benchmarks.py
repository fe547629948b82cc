"""Benchmarks: their tables are on the pages, and their pure parts compute what they say."""

import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

audit, dle_quality, spaces_page = (
    importlib.import_module(f"benchmarks.{name}")
    for name in ("audit", "dle_quality", "spaces_page")
)
cases, judge, processes, report, run, tasks = (
    importlib.import_module(f"benchmarks.peers.{name}")
    for name in ("cases", "judge", "processes", "report", "run", "tasks")
)

# A fork of a process with BLAS threads is what is wanted here.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.mark.parametrize(
    ("benchmark", "path"),
    [(one, path) for one in (dle_quality, spaces_page) for path in one.PAGES],
    ids=lambda one: getattr(one, "name", ""),
)
def test_pages_have_the_tables_of_the_record(benchmark, path):
    made = benchmark.tables(json.loads(benchmark.RECORD.read_text(encoding="utf-8")))
    text = path.read_text(encoding="utf-8")
    assert "able: " in text
    assert benchmark.put(text, made) == text
    assert benchmark.put(text.replace(" .", " .9"), made) != text.replace(" .", " .9")


@pytest.mark.parametrize("kind", audit.MISTAKES)
def test_the_audit_plants_as_many_mistakes_as_asked(kind):
    truth = np.random.default_rng(0).random((300, 12)) < 0.2
    found = audit.plant(truth, kind, 0.05, seed=1)
    many = round(0.05 * truth.sum())
    assert found.added.sum() == (0 if kind == "removed" else many)
    assert found.removed.sum() == (0 if kind == "added" else many)
    # Added where it was absent, removed where it was present, and nothing else differs.
    assert not (found.added & truth).any()
    assert not (found.removed & ~truth).any()
    np.testing.assert_array_equal(found.given ^ truth, found.added | found.removed)


def test_every_method_that_dle_is_compared_with_labels_all_rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 4)) + 3 * np.eye(3, 4)[y]
    known = dle_quality._known(y, rng)
    assert known.sum() == 6
    for method, classify in dle_quality._classifiers(X, np.where(known, y, -1)).items():
        found = classify()
        assert found.shape == (60,), method
        assert set(found) <= {0, 1, 2}, method


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


# --- other libraries ----------------------------------------------------------------------


def task(n=80, d=12, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = (X[:, :4] + rng.standard_normal((n, 4)) > 0).astype(float)
    return tasks.Task(X, Y, np.maximum(cases.rarest(Y), 0), **({"count": 2} | options))


def fit(one):
    weights = np.eye(one.X.shape[1])[:, : one.count]
    return tasks.Fitted(one.X @ weights, weights)


def dense_only(one):
    if sparse.issparse(one.X):
        raise TypeError("A sparse matrix was passed, but dense data is required.")
    return fit(one)


def play(*entries, on=None, **settings):
    settings = run.Settings(**({"repeats": 2, "limit": 300.0} | settings))
    scores, found = run.play(entries, task() if on is None else on, settings)
    return {score.name: score for score in scores}, found


def test_a_ratio_is_of_medians_with_the_extremes_of_the_rounds():
    ratio = report.Ratio.of([4.0, 6.0, 8.0], [2.0, 2.0, 1.0])
    assert (ratio.medians, ratio.lowest, ratio.highest) == (3.0, 2.0, 8.0)
    assert str(report.Ratio.of([6.0], [2.0, 3.0])) == "2.4 (2-3)"
    assert str(report.Ratio.of([2600.0], [2.0])) == "1,300"
    assert report.Ratio.of([], [1.0]) is None


def score(name, runs=(), **options):
    return processes.Score(name, runs=list(runs), **options).__dict__


def test_only_peers_that_do_the_same_work_count_as_the_best():
    own = score("ours", [3.0], ours=True)
    peers = [score("other", [0.1], same=False), score("slow", [2.0]), score("none", refused="x")]
    record = {"case": "a/b", "scores": [own, *peers]}
    assert report.best_peer(record)["name"] == "slow"
    assert report.slower([record]) == ["a/b: 1.50 times slow"]
    assert report.slower([record], aim=1.6) == []
    assert report.slower([{"case": "a/b", "scores": [own]}]) == []


def test_a_time_limit_is_recorded():
    def sleep(one):
        if one.X.shape[0] == 80:
            time.sleep(120)
        return fit(one)

    scores, found = play(tasks.Contender("slow", sleep), limit=2.0)
    assert (scores["slow"].over, scores["slow"].runs, found) == (2.0, [], {})
    lines = report.case_lines({"scores": [score("ours", [0.5], ours=True), vars(scores["slow"])]})
    assert (lines[1]["seconds"], lines[1]["ours is faster by"]) == ("more than 2", "> 4")


def test_refusals_crashes_and_absences_are_recorded():
    def refuse(_):
        raise np.linalg.LinAlgError("Singular matrix")

    def crash(one):
        if one.X.shape[0] == 80:
            sys.stdout.flush()
            __import__("os")._exit(3)
        return fit(one)

    scores, found = play(
        tasks.Contender("refuses", refuse),
        tasks.Contender("crashes", crash),
        tasks.Contender("absent", fit, package="no_such_package"),
        tasks.Contender("large", fit, square="n"),
        dense_limit=1e-6,
    )
    assert found == {}
    assert scores["refuses"].refused == "singular"
    assert "crash (3)" in scores["crashes"].refused
    assert scores["absent"].refused == "not installed"
    assert scores["large"].refused.startswith("not tried: square arrays of")


def test_a_peer_that_refuses_sparse_is_given_dense_and_the_table_says_so():
    one = task()
    wide = tasks.Task(sparse.csr_array(one.X), one.Y, one.y, count=2)
    peer = tasks.Contender("peer", dense_only)
    scores, found = play(peer, on=wide)
    assert scores["peer"].remark == "refuses sparse; made dense"
    np.testing.assert_allclose(found["peer"].mapped, one.X[:, :2])
    scores, _ = play(peer, on=wide, dense_limit=1e-9)
    assert scores["peer"].refused == "refuses sparse; 0.0 GiB dense"


@pytest.mark.parametrize("method", ["pca", "mlsi", "cca", "opls", "hsl", "lda", "kernel-lsi"])
def test_only_the_exact_answer_has_full_quality(method):
    one = task(alpha=0.5, gamma=0.1)
    exact = run.contenders(method, one)[0].run(one)
    weights = None if exact.weights is None else 3 * exact.weights
    scaled = tasks.Fitted(3 * exact.mapped, weights)
    found = {"exact": exact, "scaled": scaled, "first": fit(one)}
    marks = judge.judge(method, one, found)
    name = next(iter(marks["exact"]))
    assert marks["exact"][name] == pytest.approx(100.0, abs=1e-6)
    assert marks["scaled"][name] == pytest.approx(100.0, abs=1e-6)
    assert marks["first"][name] < 99.0
