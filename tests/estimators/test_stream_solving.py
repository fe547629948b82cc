"""A stream is solved by partial_fit or by solve(), and fits are published whole, in any thread."""

import sys
import threading

import numpy as np
import pytest
from _support.support import classes, features, indicator
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from labelspan import CCA, HSL, LDA, LSI, MLSI, OPLS, PLSDA
from labelspan.errors import InvalidInput, InvalidParameter, NotConverged, NotStreaming

FAMILY = [
    LSI(3),
    MLSI(3, alpha=1.0),
    OPLS(3, alpha=0.0),
    CCA(3, alpha=0.0),
    LDA(3, alpha=0.0),
    HSL(3, laplacian="zhou", alpha=0.0),
    PLSDA(3),
]
X, Y = features("tall", 0), indicator(60, 0)


def streamed(model, **options):
    """The model after two batches."""
    y = labels_of(model)
    told = {"classes": np.arange(4)} if isinstance(model, LDA) else {}
    model = clone(model).partial_fit(X[:30], y[:30], **told, **options)
    return model.partial_fit(X[30:], y[30:], **options)


def labels_of(model):
    return classes(60, 0) if isinstance(model, LDA) else Y


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


@pytest.mark.parametrize("model", FAMILY, ids=str)
def test_readers_see_one_fit_or_the_other(model):
    """Threads that read while others refit met mixtures of two fits, and missing attributes."""
    other = np.ascontiguousarray(X[::-1] * 2.0 + 1.0)
    y = labels_of(model)
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
    y, shared = labels_of(model), clone(model)
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
    (LSI(3), {"n_components": 5}),
    (LSI(3), {"center": True}),
    (MLSI(3, alpha=1.0), {"beta": 0.9}),
    (MLSI(3, alpha=1.0), {"label_weight": None, "center": False}),
    (OPLS(3, alpha=0.0), {"alpha": 2.0}),
    (CCA(3, alpha=0.0), {"alpha": 2.0, "n_components": 2}),
    (LDA(3, alpha=0.0), {"center": False}),
    (HSL(3, laplacian="zhou", alpha=0.0), {"alpha": 2.0}),
]


@pytest.mark.parametrize(("model", "change"), CHANGES, ids=str)
def test_solve_takes_the_parameters_of_the_moment(model, change):
    stream = streamed(model)
    before = clone(model).fit(X, labels_of(model))
    stream.set_params(**change)
    # Nothing is computed when it is read.
    np.testing.assert_allclose(stream.components_, before.components_, atol=1e-8)
    whole = clone(model).set_params(**change).fit(X, labels_of(model))
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
    with pytest.raises(InvalidInput, match=r"no space yet after 2 batch\(es\).*call solve\(\)"):
        stream.transform(X)
    assert stream.solve().transform(X).shape == (60, 3)
    with pytest.raises(InvalidParameter, match="alpha must be"):
        stream.set_params(alpha=-1.0).solve()
    with pytest.raises(NotStreaming, match="not by solver='krylov'"):
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
