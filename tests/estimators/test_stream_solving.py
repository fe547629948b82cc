"""A stream is solved when it is used, for the parameters of that moment, in any thread."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest
from _support.support import classes, features, indicator
from sklearn.base import clone

import labelspan
from labelspan import CCA, DLE, HSL, LDA, LSI, MLSI, OPLS
from labelspan.errors import InvalidInput, Mismatch, NotStreaming

FAMILY = [
    LSI(3),
    MLSI(3, alpha=1.0),
    OPLS(3, alpha=0.0),
    CCA(3, alpha=0.0),
    LDA(3, alpha=0.0),
    HSL(3, laplacian="zhou", alpha=0.0),
]
X, Y = features("tall", 0), indicator(60, 0)


def streamed(model):
    """The model after two batches, not solved."""
    y = classes(60, 0) if isinstance(model, LDA) else Y
    told = {"classes": np.arange(4)} if isinstance(model, LDA) else {}
    model = clone(model).partial_fit(X[:30], y[:30], **told)
    return model.partial_fit(X[30:], y[30:])


def labels_of(model):
    return classes(60, 0) if isinstance(model, LDA) else Y


@pytest.mark.parametrize("model", FAMILY, ids=str)
def test_many_threads_may_ask_first(model):
    """Each thread that met another one's solving in progress raised RuntimeError."""
    before = sys.getswitchinterval()
    expected = clone(model).fit(X, labels_of(model)).transform(X)
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            shared, start, wrong = streamed(model), threading.Barrier(6), []

            def ask(shared=shared, start=start, wrong=wrong):
                start.wait()
                try:
                    np.testing.assert_allclose(shared.transform(X), expected, atol=1e-8)
                    assert shared.eigenvalues_.size == shared.n_components_
                except BaseException as error:
                    wrong.append(error)

            threads = [threading.Thread(target=ask) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert wrong == []
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("model", FAMILY, ids=str)
def test_threads_share_one_solution(model, monkeypatch):
    solve, calls = type(model)._fit_statistics, []

    def counted(self, *args):
        calls.append(1)
        return solve(self, *args)

    monkeypatch.setattr(type(model), "_fit_statistics", counted)
    shared = streamed(model)
    threads = [threading.Thread(target=shared.transform, args=(X,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.components_.shape == (3, 12)
    assert len(calls) == 1


CHANGES = [
    (LSI(3), {"n_components": 5}),
    (LSI(3), {"center": True}),
    (MLSI(3, alpha=1.0), {"beta": 0.9}),
    (MLSI(3, alpha=1.0), {"form": "direct", "alpha": 0.3}),
    (MLSI(3, alpha=1.0), {"scale": None, "center": True}),
    (OPLS(3, alpha=0.0), {"alpha": 2.0}),
    (CCA(3, alpha=0.0), {"alpha": 2.0, "n_components": 2}),
    (LDA(3, alpha=0.0), {"center": False}),
    (HSL(3, laplacian="zhou", alpha=0.0), {"alpha": 2.0}),
]


@pytest.mark.parametrize(("model", "change"), CHANGES, ids=str)
@pytest.mark.parametrize("read_first", [False, True])
def test_an_answer_belongs_to_the_parameters_of_the_moment(model, change, read_first):
    """What was read before ``set_params`` used to stay."""
    stream = streamed(model)
    if read_first:
        assert stream.components_.shape == (3, 12)
        stream.transform(X)
    stream.set_params(**change)
    whole = clone(model).set_params(**change).fit(X, labels_of(model))
    np.testing.assert_allclose(stream.transform(X), whole.transform(X), atol=1e-8)
    np.testing.assert_allclose(stream.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-8)
    if not isinstance(model, LSI):
        np.testing.assert_allclose(stream.label_scores(X), whole.label_scores(X), atol=1e-8)
        assert stream.top_labels(0) == stream.top_labels(0)
    # And back again.
    stream.set_params(**{name: getattr(model, name) for name in change})
    before = clone(model).fit(X, labels_of(model))
    np.testing.assert_allclose(stream.transform(X), before.transform(X), atol=1e-8)


@pytest.mark.parametrize("model", FAMILY, ids=str)
@pytest.mark.parametrize("read_first", [False, True])
def test_copies_and_pickles_are_streams_of_their_own(model, read_first):
    stream = streamed(model)
    expected = clone(model).fit(X, labels_of(model)).transform(X)
    if read_first:
        stream.transform(X)
    for other in (copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
        np.testing.assert_allclose(other.transform(X), expected, atol=1e-8)
        more = other.partial_fit(X[:20], labels_of(model)[:20])
        assert not np.allclose(more.eigenvalues_, stream.eigenvalues_)
        np.testing.assert_allclose(stream.transform(X), expected, atol=1e-8)
    assert not hasattr(clone(stream), "components_")


def test_parameters_that_rule_streams_out_are_refused_when_it_is_used():
    stream = streamed(MLSI(3, alpha=1.0))
    stream.transform(X)
    stream.set_params(kernel="rbf")
    with pytest.raises(NotStreaming, match="partial_fit needs kernel='linear'"):
        stream.transform(X)
    assert not hasattr(stream, "components_")
    with pytest.raises(InvalidInput, match="beta must be a number from 0 to 1"):
        stream.set_params(kernel="linear", beta=2.0).transform(X)


def test_what_the_sums_depend_on_must_not_change():
    stream = streamed(HSL(3, laplacian="zhou", alpha=0.0))
    stream.set_params(edge_weight=[1.0, 2.0, 0.5, 3.0])
    with pytest.raises(Mismatch, match="HSL: edge_weight has changed since the first partial_fit"):
        stream.transform(X)
    with pytest.raises(Mismatch, match="edge_weight has changed"):
        stream.partial_fit(X, Y)
    weights = np.array([1.0, 2.0, 0.5, 3.0])
    stream = streamed(HSL(3, laplacian="zhou", edge_weight=weights, alpha=0.0))
    stream.transform(X)
    weights[0] = 9.0
    stream.set_params(edge_weight=weights)
    with pytest.raises(Mismatch, match="edge_weight has changed"):
        stream.transform(X)
    hidden = Y.copy()
    hidden[40:] = -1
    stream = MLSI(3, alpha=1.0).partial_fit(X, hidden)
    stream.transform(X)
    with pytest.raises(Mismatch, match=r"form='direct' and beta=0\.5 cannot take rows"):
        stream.set_params(center=True, form="direct").transform(X)


def test_a_stream_of_one_row_says_so():
    stream = OPLS(alpha=0.0).partial_fit(X[:1], Y[:1])
    for read in (lambda: stream.components_, lambda: stream.transform(X)):
        with pytest.raises(InvalidInput, match="fewer than two rows to learn from"):
            read()


def test_missing_attributes_raise_attribute_errors():
    for model in (OPLS(alpha=0.0), streamed(OPLS(3, alpha=0.0)), OPLS(alpha=0.0).fit(X, Y)):
        with pytest.raises(AttributeError, match="correlations_"):
            model.correlations_  # noqa: B018
    with pytest.raises(AttributeError, match="'OPLS' object has no attribute 'components_'"):
        OPLS(alpha=0.0).components_  # noqa: B018
    with pytest.raises(AttributeError, match="components_"):
        OPLS.components_  # noqa: B018


def test_a_graph_method_has_no_partial_fit():
    assert not hasattr(DLE(), "partial_fit")
    with pytest.raises(NotStreaming, match="DLE: partial_fit is not available"):
        DLE().partial_fit(X, Y)


@pytest.mark.parametrize(
    "name", [name for name in labelspan.__all__ if isinstance(getattr(labelspan, name), type)]
)
def test_a_public_class_has_at_most_two_bases_of_ours(name):
    kind = getattr(labelspan, name)
    ours = [base for base in kind.__mro__[1:] if base.__module__.startswith("labelspan")]
    assert len(ours) <= 2, ours
