"""The pure parts of the peer benchmark, and what it records of contenders that fail."""

import importlib
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

cases = importlib.import_module("benchmarks.peers.cases")
judge = importlib.import_module("benchmarks.peers.judge")
processes = importlib.import_module("benchmarks.peers.processes")
report = importlib.import_module("benchmarks.peers.report")
run = importlib.import_module("benchmarks.peers.run")
tasks = importlib.import_module("benchmarks.peers.tasks")

# A fork of a process with BLAS threads is what is wanted here.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


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
