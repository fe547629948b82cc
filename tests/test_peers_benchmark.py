"""The pure parts of the peer benchmark, and what it records of contenders that fail."""

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

cases = importlib.import_module("benchmarks.peers.cases")
growth = importlib.import_module("benchmarks.peers.growth")
judge = importlib.import_module("benchmarks.peers.judge")
main = importlib.import_module("benchmarks.peers.__main__")
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


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 3.0])
def test_the_exponent_of_a_power_is_found(power):
    sizes = np.array([10, 20, 40, 160])
    assert growth.exponent(sizes, 7.0 * sizes**power) == pytest.approx(power, abs=1e-12)


def test_one_size_has_no_exponent():
    assert growth.exponent([10, 10], [1.0, 2.0]) is None
    assert growth.exponent([10, 20], [1.0, 0.0]) is None


def test_exponents_come_from_the_medians_of_every_contender():
    def at(n, seconds, peak):
        scores = [{"name": "one", "runs": seconds, "peak": peak}, {"name": "two", "runs": []}]
        return {"kind": "sparse", "axis": "n", "n": n, "scores": scores}

    (line,) = growth.exponents([at(200, [4.0, 4.0, 90.0], 20), at(100, [1.0, 1.0, 2.0], 10)])
    assert line["sizes"] == [100, 200]
    assert line["time exponent"] == pytest.approx(2.0)
    assert line["memory exponent"] == pytest.approx(1.0)


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


def test_the_later_record_counts():
    old = [{"case": "a", "n": 1}, {"case": "b", "n": 1}]
    assert report.join(old, [{"case": "b", "n": 2}, {"case": "c", "n": 2}]) == [
        {"case": "a", "n": 1},
        {"case": "b", "n": 2},
        {"case": "c", "n": 2},
    ]


def test_pieces_run_in_different_ways_are_not_joined(tmp_path):
    path = tmp_path / "peers.json"
    assert main.load_pieces(path, run.Settings()) == []
    content = {"settings": run.Settings(threads=1).__dict__, "records": [{"case": "a"}]}
    main.write(path, json.dumps(content))
    assert main.load_pieces(path, run.Settings(threads=1)) == [{"case": "a"}]
    with pytest.raises(SystemExit, match=r"threads=1; resume with the same"):
        main.load_pieces(path, run.Settings(threads=2))
    assert [one.name for one in tmp_path.iterdir()] == ["peers.json"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TypeError("Sparse data was passed, but dense data is required"), "refuses sparse"),
        (ValueError("setting an array element with a sequence."), "refuses sparse"),
        (MemoryError(), "out of memory"),
        (np.linalg.LinAlgError("Singular matrix"), "singular"),
        (ValueError("Input X contains NaN."), "refuses NaN"),
        (ValueError("n_components too large\n" + 80 * "x"), "ValueError: n_components too large"),
    ],
)
def test_reasons_are_a_few_words(error, words):
    assert processes.refusal(error).startswith(words)
    assert len(processes.refusal(error)) < 80


def test_every_round_is_timed_and_the_result_comes_back():
    scores, found = play(tasks.Contender("a", fit), tasks.Contender("b", fit))
    assert [len(one.runs) for one in scores.values()] == [2, 2]
    assert found["a"].mapped.shape == (80, 2)


def test_memory_is_that_of_the_contender():
    def hungry(one):
        block = np.ones((one.X.shape[0], 2**17))
        return tasks.Fitted(block[:, : one.count] + one.X[:, : one.count])

    scores, _ = play(tasks.Contender("a", hungry), tasks.Contender("b", fit))
    if scores["a"].peak is None:
        pytest.skip("the system does not forget the highest memory of a process")
    assert 0.9 * 80 * 2**20 < scores["a"].peak < 2 * 80 * 2**20
    assert (scores["b"].peak or 0) < 20 * 2**20


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


def test_a_penalty_that_a_peer_does_not_take_makes_it_other_work():
    peer = tasks.Contender("peer", fit, penalty=False)
    assert peer.on(task()).same
    assert not peer.on(task(alpha=1.0)).same


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


def test_patterns_choose_cases():
    chosen = cases.select(cases.all_cases(), ["yeast/*", "rcv1/mlsi"])
    assert {case.data for case in chosen} == {"yeast", "rcv1"}
    assert [case.method for case in chosen if case.data == "rcv1"] == ["mlsi"]


def test_the_rarest_label_is_the_class():
    Y = np.array([[1, 1], [1, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(cases.rarest(Y), [1, 0, 0, -1])
