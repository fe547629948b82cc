"""Faults in a fit: stopped, refused, out of memory or room; what was there before is there."""

import sys
from inspect import CO_GENERATOR

import numpy as np
import pytest
from _support.stored import answers, made
from _support.support import classes, features
from _support.topics import corpus
from sklearn.base import clone

from labelspan import CCA, DLE, HSL, LDA, LPP, LSI, MLSI, OPLS, KernelFeatures
from labelspan.errors import InvalidInput
from labelspan.papers.wang2010 import DLEClassifier

# --- stopped at any moment ----------------------------------------------------------------


class Stopped(BaseException):
    """What Ctrl-C raises is not an Exception either."""


def counts(frame, event):
    """Whether a function of labelspan is entered; what a generator raises may be lost."""
    code = frame.f_code
    return (
        event == "call" and "/labelspan/" in code.co_filename and not code.co_flags & CO_GENERATOR
    )


def calls(task, step=None):
    """Run a task until some call of labelspan; return the calls, and whether it was stopped."""
    count = 0

    def watch(frame, event, argument):
        nonlocal count
        count += counts(frame, event)
        if count == step:
            sys.setprofile(None)
            raise Stopped

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        task()
    except Stopped:
        return count, True
    finally:
        sys.setprofile(before)
    return count, False


def stopped(task, step):
    """Whether a task came to a step, at which it was stopped."""
    return calls(task, step)[1]


def moments(task):
    """Some steps from the first call of a task to its last."""
    return sorted({1, 2, *np.linspace(3, calls(task)[0], 14).astype(int).tolist()})


ESTIMATORS = [
    LSI(3), MLSI(3), KernelFeatures(gamma=0.1), OPLS(2), CCA(2, alpha=1.0),
    HSL(2, alpha=1.0), LDA(2), DLE(2), LPP(2), DLEClassifier(n_components=2),
]  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_that_is_stopped_leaves_what_was_there(estimator):
    X, y = features("tall", 0), classes(60, 0)
    other = X[:, :9] * 2 + 1
    fresh = clone(estimator)
    for step in moments(lambda: clone(estimator).fit(X, y)):
        if stopped(lambda: fresh.fit(X, y), step):
            assert vars(fresh) == vars(clone(estimator)), step
    once = clone(estimator).fit(X, y)
    use = once.predict if isinstance(once, DLEClassifier) else once.transform
    kept, names = use(X), set(vars(once))
    hits = 0
    for step in moments(lambda: clone(estimator).fit(other, y)):
        again = stopped(lambda: once.fit(other, y), step)
        hits += again
        if not again:
            once.fit(X, y)
        np.testing.assert_array_equal(use(X), kept)
        assert set(vars(once)) == names
    assert hits > 5


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_that_is_refused_leaves_what_was_there(estimator):
    X, y = features("tall", 1), classes(60, 1)
    once = clone(estimator).fit(X, y)
    use = once.predict if isinstance(once, DLEClassifier) else once.transform
    kept = use(X)
    broken = X[:, :9].copy()
    broken[50, 3] = np.nan
    wrongs = [(broken, y)]
    if not isinstance(estimator, LSI | LPP | KernelFeatures):  # these do not read y
        wrongs.append((X[:, :9], y[:30]))
    if not isinstance(estimator, KernelFeatures):  # to which one row is enough
        wrongs.append((X[:1, :9], y[:1]))
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"."):
            once.fit(*wrong)
        np.testing.assert_array_equal(use(X), kept)
        assert once.n_features_in_ == 12


def test_an_index_whose_fit_is_stopped_stays_the_same():
    index = made()
    before = answers(index)
    texts, labels, ids, metadata = corpus(30, seed=5)

    def again():
        index.fit(texts, labels, ids, metadata=metadata)

    hits = 0
    for step in moments(again)[:-1]:
        index = made()
        if stopped(again, step):
            hits += 1
            assert answers(index) == before
    assert hits > 8


# --- streams ------------------------------------------------------------------------------


def blocks(count, rows=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((count, rows, 5)) + 0.3
    Y = (X[:, :, :3] + rng.standard_normal((count, rows, 3)) > 0.3).astype(float)
    return X, Y


WRONG = {
    "a number that is none": (lambda X, Y: (np.where(X.max() - 1e-9 < X, np.nan, X), Y), "NaN"),
    "another width": (lambda X, Y: (X[:, :4], Y), "4 features"),
    "fewer labels": (lambda X, Y: (X, Y[:, :2]), "y must have 3 columns"),
    "fewer rows of labels": (lambda X, Y: (X, Y[:3]), "."),
    "targets": (lambda X, Y: (X, Y + 0.25), "read as a 0/1 indicator"),
    "no rows": (lambda X, Y: (X[:0], Y[:0]), "."),
    "texts": (lambda X, Y: (np.full(X.shape, "a"), Y), "."),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_batch_that_does_not_fit_the_stream(name):
    change, message = WRONG[name]
    X, Y = blocks(6)
    model = MLSI(3, alpha=1.0).partial_fit(X[0], Y[0]).partial_fit(X[1], Y[1])
    before = model.transform(X[5])
    with pytest.raises(InvalidInput, match=f"batch 3 is not taken.*{message}"):
        model.partial_fit(*change(X[2], Y[2]))
    np.testing.assert_array_equal(model.transform(X[5]), before)
    model.partial_fit(X[3], Y[3])
    whole = MLSI(3, alpha=1.0).fit(X[[0, 1, 3]].reshape(-1, 5), Y[[0, 1, 3]].reshape(-1, 3))
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-8)


@pytest.mark.parametrize(
    "model", [LSI(3), MLSI(3, alpha=1.0), OPLS(alpha=1.0), CCA(alpha=1.0)], ids=str
)
def test_a_stream_continues_after_a_stop(model):
    X, Y = blocks(4)
    whole = clone(model).fit(X.reshape(-1, 5), Y.reshape(-1, 3))
    sketch = clone(model).partial_fit(X[0], Y[0])
    steps = moments(lambda: clone(sketch).partial_fit(X[1], Y[1]).transform(X[0]))
    hits = 0
    for step in steps:
        streamed = clone(model).partial_fit(X[0], Y[0])
        before = streamed.transform(X[0])

        def more(streamed=streamed):
            streamed.partial_fit(X[1], Y[1])

        if stopped(more, step):
            hits += 1
            np.testing.assert_array_equal(streamed.transform(X[0]), before)
            streamed.partial_fit(X[1], Y[1])
        streamed.partial_fit(X[2], Y[2])
        streamed.partial_fit(X[3], Y[3])
        stopped(streamed.solve, step)
        np.testing.assert_allclose(streamed.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
        np.testing.assert_allclose(streamed.transform(X[0]), whole.transform(X[0]), atol=1e-8)
    assert hits > 3
