"""Streaming: any split and any order of the rows gives the batch answer, in any thread."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from _support.support import classes, features, indicator
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS
from labelspan.errors import (
    InvalidInput,
    InvalidLabels,
    InvalidParameter,
    Mismatch,
    NotConverged,
    NotStreaming,
)
from labelspan.solvers import limits

FAMILY = [
    LSI(3),
    LSI(3, center=True),
    MLSI(3, beta=0.5, alpha=1.0),
    MLSI(3, beta=0.3, label_weight=None, alpha=1.0),
    MLSI(3, beta=0.5, alpha=0.0, center=False),
    MLSI(3, beta=0.0, alpha=1.0, center=False),
    MLSI(beta=1.0, alpha=1.0),
    OPLS(alpha=0.3),
    CCA(alpha=0.3),
    CCA(alpha=0.0),
    LDA(alpha=0.3),
    HSL(laplacian="zhou", alpha=0.3),
    HSL(laplacian="zhou", alpha=0.0),
]


def labels_for(model, rows, seed=0):
    return classes(rows, seed) if isinstance(model, LDA) else indicator(rows, seed)


def check_same(one, two, X, atol=1e-8):
    """The same eigenvalues whatever the width of X; the same map up to its width."""
    np.testing.assert_allclose(one.eigenvalues_, two.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(one.transform(X), two.transform(X), atol=atol)
    if hasattr(two, "label_loadings_"):
        np.testing.assert_allclose(one.label_loadings_, two.label_loadings_, atol=atol)
        np.testing.assert_allclose(one.label_scores(X), two.label_scores(X), atol=atol)
    for name in ("mean_", "label_means_", "correlations_", "label_weights_"):
        if hasattr(two, name):
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=atol)


@pytest.mark.parametrize("hidden", [0, 20])
@pytest.mark.parametrize(("seed", "model"), enumerate(FAMILY), ids=str)
def test_any_split_order_and_merge_gives_the_batch_answer(model, seed, hidden):
    rng = np.random.default_rng(seed)
    X = features("tall", seed)
    y = labels_for(model, 60, seed)
    y[60 - hidden :] = -1
    kwargs = {"classes": np.arange(4)} if isinstance(model, LDA) else {}
    one, two = clone(model), clone(model)
    order = rng.permutation(60)
    if hidden:
        two.partial_fit(X[58:], y[58:], solve=False, **kwargs)  # a batch with no label at all
        order = order[order < 58]
    for number, part in enumerate(np.array_split(order, rng.integers(4, 9))):
        batch = sparse.csr_array(X[part]) if rng.random() < 0.3 else X[part]
        streamed = one if number % 2 else two
        streamed.partial_fit(batch, y[part], solve=False, **kwargs)
        if rng.random() < 0.3 and streamed._stream.n > 20:
            streamed.solve().transform(X)  # results in between must not stick
    before = two.solve().transform(X)
    check_same(one.merge(two), clone(model).fit(X, y), X)
    np.testing.assert_array_equal(two.transform(X), before)
    again = pickle.loads(pickle.dumps(one))
    assert again.partial_fit(X, y).transform(X).shape == before.shape


REFUSED = [
    (LSI(solver="krylov"), "does not support solver='krylov'; use solver='auto'"),
    (OPLS(solver="krylov", alpha=0.0), "does not support solver='krylov'"),
    (HSL(alpha=0.0), "does not support laplacian='clique'.*use laplacian='zhou', or fit"),
    (HSL(laplacian="star", alpha=0.0), "does not support laplacian='star'"),
]


@pytest.mark.parametrize(("model", "message"), REFUSED)
def test_parameters_that_need_all_rows(model, message):
    assert not hasattr(model, "partial_fit")
    with pytest.raises(NotStreaming, match=message):
        model.partial_fit(features("tall", 0), indicator(60, 0))


def test_refusals_in_a_stream(monkeypatch):
    X, Y, y = features("tall", 0), indicator(60, 0), classes(60, 0)
    model = LDA(alpha=1.0).partial_fit(X[:20], np.minimum(y[:20], 2))
    with pytest.raises(InvalidLabels, match=r"that the first batch did not have: \[3\]; give"):
        model.partial_fit(X[20:], y[20:])
    assert model.transform(X).shape == (60, 2)  # and nothing was lost
    with pytest.raises(InvalidLabels, match="y must have 4 columns as in the first batch"):
        OPLS(alpha=0.0).partial_fit(X, Y).partial_fit(X, Y[:, :3])
    with pytest.raises(InvalidLabels, match="0/1 indicator in the first batch, but has other"):
        OPLS(alpha=0.0).partial_fit(X, Y).partial_fit(X, Y + 0.5)
    with pytest.raises(InvalidLabels, match="classes names 3 labels, but y has 4 columns"):
        OPLS(alpha=0.0).partial_fit(X, Y, classes=["a", "b", "c"])
    some = Y.copy()
    some[3, 1] = np.nan
    with pytest.raises(InvalidLabels, match="single unknown entries; use fit"):
        OPLS(alpha=0.0).partial_fit(X, some)

    with pytest.raises(InvalidInput, match="fewer than two rows to learn from"):
        OPLS(alpha=0.0).partial_fit(X[:1], Y[:1]).transform(X)
    with pytest.raises(Mismatch, match="merge needs two models with the same parameters"):
        OPLS(alpha=0.0).partial_fit(X, Y).merge(OPLS(alpha=1.0).partial_fit(X, Y))
    with pytest.raises(InvalidLabels, match="merge needs the same labels"):
        LDA(alpha=0.0).partial_fit(X, y).merge(LDA(alpha=0.0).partial_fit(X, y + 1))

    from labelspan.estimators import _streams

    assert _streams.DIRECT_LIMIT == limits.DIRECT_LIMIT
    monkeypatch.setattr(_streams, "DIRECT_LIMIT", 10)
    with pytest.raises(InvalidInput, match="12 x 12 array, above the limit of 10 columns"):
        OPLS(alpha=0.0).partial_fit(X, Y)


OUT_OF_CORE = """
import os, resource, sys
import numpy as np
from labelspan import MLSI

path, rows, columns, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
assert limit < rows * columns * 4
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    np.memmap(path, dtype=np.float32, mode="r", shape=(rows, columns))
except (OSError, MemoryError):
    pass
else:
    raise SystemExit("the whole array fits below the limit")
model, step = MLSI(4, alpha=1.0, center=False), 80_000
for start in range(0, rows, step):
    size = min(step, rows - start)
    offset = start * columns * 4
    X = np.memmap(path, dtype=np.float32, mode="r", offset=offset, shape=(size, columns))
    model.partial_fit(X, (X[:, :3] > 0).astype(float))
np.save(path + ".out.npy", model.components_)
print(model._stream.n)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address-space limits are Linux's")
def test_a_stream_larger_than_memory(tmp_path):
    """1.5 GiB of float32, as a sparse file, under a limit of 1.25 GiB of address space."""
    rows, columns = 3 * 2**21, 64
    path = tmp_path / "stream.f32"
    rng = np.random.default_rng(0)
    known = rng.standard_normal((160_000, columns)).astype(np.float32)
    known[:, :3] *= 3
    with path.open("wb") as file:
        file.truncate(rows * columns * 4)
        file.seek(1_000_000 * columns * 4)
        file.write(known.tobytes())
    command = [sys.executable, "-c", OUT_OF_CORE, str(path), str(rows), str(columns)]
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)  # the labelspan that is tested
    done = subprocess.run(
        [*command, str(int(1.25 * 2**30))],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == [str(rows)]
    # The rest of the file is zeros, which add nothing to products about zero.
    found = np.load(f"{path}.out.npy")
    model = MLSI(4, alpha=1.0, center=False)
    expected = model.fit(known, (known[:, :3] > 0).astype(float)).components_
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("model", "dtype"),
    [(OPLS(), np.float64), (MLSI(2), np.float32), (HSL(alpha=0.1, laplacian="zhou"), np.float64)],
    ids=str,
)
def test_label_columns_are_matched_by_name(model, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)).astype(dtype)
    Y = (X[:, :3] > 0.2).astype(float)
    A = pd.DataFrame(Y, columns=list("pqr"))
    whole = clone(model).partial_fit(X[:30], A[:30]).partial_fit(X[30:], A[30:])
    mixed = clone(model).partial_fit(X[:30], A[:30]).partial_fit(X[30:], A[30:][list("rqp")])
    np.testing.assert_allclose(mixed.eigenvalues_, whole.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(mixed.label_loadings_, whole.label_loadings_, atol=1e-5)
    assert mixed.classes_.tolist() == list("pqr")
    other = A[30:].rename(columns={"q": "z"})
    with pytest.raises(InvalidLabels, match=r"\['p', 'q', 'r'\], in any order, but has \['p', 'z'"):
        mixed.partial_fit(X[30:], other)
    # Columns without names keep their positions, and numbers can be names too.
    B = pd.DataFrame(Y)
    for first, second in ((A[:30], Y[30:]), (Y[:30], A[30:]), (B[:30], B[30:][[2, 0, 1]])):
        found = clone(model).partial_fit(X[:30], first).partial_fit(X[30:], second)
        np.testing.assert_allclose(found.eigenvalues_, whole.eigenvalues_, rtol=1e-6)


@pytest.mark.parametrize("model", [LSI(), MLSI(beta=0.0, alpha=1.0), OPLS(alpha=1.0)], ids=str)
def test_columns_of_zeros_stay_zero_in_a_stream(model):
    """Eigenvectors of sums of products left rounding in them, which counted as directions."""
    X = np.array([[0.0, 1.0, 0.0, -2.0], [0.0, 1.0, 0.0, -2.0], [0.0, -2.0, 0.0, 4.0]])
    Y = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    whole = clone(model).fit(X, Y)
    stream = clone(model).partial_fit(X[:1], Y[:1]).partial_fit(X[1:], Y[1:])
    check_same(stream, whole, X)


# --- solutions and threads ---------------------------------------------------------------

SOLVED = [
    LSI(3),
    MLSI(3, alpha=1.0),
    OPLS(3, alpha=0.0),
    CCA(3, alpha=0.0),
    LDA(3, alpha=0.0),
    HSL(3, laplacian="zhou", alpha=0.0),
]
X, Y = features("tall", 0), indicator(60, 0)


def streamed(model, **options):
    """The model after two batches."""
    y = labels_for(model, 60)
    told = {"classes": np.arange(4)} if isinstance(model, LDA) else {}
    model = clone(model).partial_fit(X[:30], y[:30], **told, **options)
    return model.partial_fit(X[30:], y[30:], **options)


def in_threads(*tasks):
    """Run functions at the same time, with many switches between them; return their errors."""
    before, start, wrong = sys.getswitchinterval(), threading.Barrier(len(tasks)), []

    def run(task):
        start.wait()
        try:
            task()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    return wrong


@pytest.mark.parametrize("model", SOLVED, ids=str)
def test_readers_see_one_fit_or_the_other(model):
    """Threads that read while others refit met mixtures of two fits, and missing attributes."""
    other = np.ascontiguousarray(X[::-1] * 2.0 + 1.0)
    y = labels_for(model, 60)
    fits = [clone(model).fit(data, y) for data in (X, other)]
    answers = [fit.transform(X) for fit in fits]
    scores = [fit.label_scores(X) for fit in fits if not isinstance(fit, LSI)]
    shared, done = clone(model).fit(X, y), threading.Event()

    def refit():
        for _ in range(30):
            shared.fit(other, y)
            shared.fit(X, y)
        done.set()

    def read():
        while not done.is_set():
            found = shared.transform(X)
            assert any(np.allclose(found, answer, atol=1e-8) for answer in answers)
            if scores:
                found = shared.label_scores(X)
                assert any(np.allclose(found, score, atol=1e-8) for score in scores)

    assert in_threads(refit, read, read, read) == []


@pytest.mark.parametrize("model", [LSI(3), MLSI(3, alpha=1.0), LDA(3, alpha=0.0)], ids=str)
def test_batches_of_several_threads_are_all_counted(model):
    y, shared = labels_for(model, 60), clone(model)
    told = {"classes": np.arange(4)} if isinstance(model, LDA) else {}
    shared.partial_fit(X[:4], y[:4], solve=False, **told)

    def add(part):
        def task():
            for row in part:
                shared.partial_fit(X[row : row + 1], y[row : row + 1], solve=False)

        return task

    assert in_threads(*(add(part) for part in np.array_split(np.arange(4, 60), 7))) == []
    expected = clone(model).fit(X, y)
    found = shared.solve()
    assert found._stream.batches == 57
    np.testing.assert_allclose(found.transform(X), expected.transform(X), atol=1e-8)


CHANGES = [
    {"n_components": 2},
    {"beta": 0.9, "label_weight": None, "center": False},
    {"alpha": 2.0},
    {"alpha": 2.0, "n_components": 2},
    {"center": False},
    {"alpha": 2.0},
]


@pytest.mark.parametrize(("model", "change"), zip(SOLVED, CHANGES, strict=True), ids=str)
def test_solve_takes_the_parameters_of_the_moment(model, change):
    stream = streamed(model)
    before = clone(model).fit(X, labels_for(model, 60))
    stream.set_params(**change)
    # Nothing is computed when it is read.
    np.testing.assert_allclose(stream.components_, before.components_, atol=1e-8)
    whole = clone(model).set_params(**change).fit(X, labels_for(model, 60))
    stream.solve()
    np.testing.assert_allclose(stream.transform(X), whole.transform(X), atol=1e-8)
    np.testing.assert_allclose(stream.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
    if not isinstance(model, LSI):
        np.testing.assert_allclose(stream.label_scores(X), whole.label_scores(X), atol=1e-8)
    stream.set_params(**{name: getattr(model, name) for name in change}).solve()
    np.testing.assert_allclose(stream.transform(X), before.transform(X), atol=1e-8)


def test_a_stream_that_is_not_solved_says_so():
    stream = streamed(OPLS(3, alpha=0.0), solve=False)
    assert not hasattr(stream, "components_")
    with pytest.raises(InvalidInput, match=r"no embedding yet after 2 batch\(es\).*call solve\(\)"):
        stream.transform(X)
    assert stream.solve().transform(X).shape == (60, 3)
    with pytest.raises(InvalidParameter, match="alpha must be"):
        stream.set_params(alpha=-1.0).solve()
    with pytest.raises(NotStreaming, match="does not support solver='krylov'"):
        stream.set_params(alpha=0.0, solver="krylov").solve()
    with pytest.raises(InvalidInput, match="there is no batch to solve"):
        OPLS().solve()
    with pytest.raises(NotFittedError):
        OPLS().transform(X)


def near_equal_columns(n=200):
    rng = np.random.default_rng(1)
    G, z = rng.standard_normal((n, 5)), rng.standard_normal(n)
    rows = np.c_[G, G[:, 0] + 1e-7 * z]
    targets = [z + 0.3 * rng.standard_normal(n), G[:, 1] + rng.standard_normal(n)]
    return rows, np.stack(targets, axis=1)


@pytest.mark.parametrize("model", [CCA(2, alpha=0.0), OPLS(2, alpha=0.0)], ids=str)
def test_columns_that_differ_by_little_are_distinguished_without_a_penalty(model):
    """Sums of products cannot tell such a column from a repeated one; an R factor can."""
    rows, targets = near_equal_columns()
    whole = clone(model).fit(rows, targets)
    one = clone(model).partial_fit(rows[:90], targets[:90])
    two = clone(model).partial_fit(rows[90:], targets[90:])
    one.merge(two)
    np.testing.assert_allclose(one.eigenvalues_, whole.eigenvalues_, rtol=1e-6)


def test_a_penalty_too_small_for_sums_of_products_is_warned_about():
    rows, targets = near_equal_columns()
    with pytest.warns(NotConverged, match="sums of products.*Start again with alpha=0"):
        OPLS(2, alpha=1e-16).partial_fit(rows, targets)
    OPLS(2, alpha=1e-3).partial_fit(rows, targets)


@pytest.mark.filterwarnings("ignore::labelspan.errors.UncertainPenalty")
@pytest.mark.parametrize("alpha", [0.0, 1.0, "auto"])
def test_targets_that_nearly_repeat_each_other_are_distinguished_by_cca(alpha):
    """Whitened products of targets cannot tell a start from a start plus a duration."""
    rng = np.random.default_rng(77)
    rows, start = rng.standard_normal((400, 6)), 1.7e9 + rng.uniform(0, 1e8, 400)
    targets = np.c_[start, start + 600 + 300 * rows[:, 0]]
    stream = CCA(alpha=alpha)
    for part in np.array_split(np.arange(400), 4):
        stream.partial_fit(rows[part], targets[part])
    apart = CCA(alpha=stream.alpha_).fit(rows, np.c_[start, 600 + 300 * rows[:, 0]])
    np.testing.assert_allclose(stream.correlations_, apart.correlations_, rtol=1e-6)
    whole = CCA(alpha=stream.alpha_).fit(rows, targets)
    scores = whole.transform_labels(targets), stream.transform_labels(targets)
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-4 * np.abs(scores[0]).max())
