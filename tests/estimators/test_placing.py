"""Rows placed by their features and their known labels."""

import numpy as np
import pytest
from _support.support import MLSI_SOLVERS
from scipy import sparse

from labelspan import CCA, MLSI, OPLS
from labelspan.errors import InvalidLabels
from labelspan.labels import reading

N, D, K = 60, 14, 4


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) * np.linspace(3.0, 0.5, D)
    Y = ((X @ rng.standard_normal((D, K)) + 2 * rng.standard_normal((N, K))) > 1) * 1.0
    return X, Y


def stack_places(X, Y, *, alpha, beta, count):
    """Return [c X, c'(X B + Y)] R, of the stack's right singular vectors, as it is written."""
    B = np.linalg.solve(X.T @ X + alpha * np.eye(D), X.T @ Y)
    size = np.linalg.norm(X @ B)
    c, c_labels = np.sqrt(1 - beta) / np.linalg.norm(X), np.sqrt(beta) / size
    stack = np.hstack([c * X, c_labels * X @ B])
    left, lengths, right = np.linalg.svd(stack, full_matrices=False)
    both = np.hstack([c * X, c_labels * (X @ B + Y)])
    return both @ right[:count].T, left[:, :count] * lengths[:count]


def signed(found, expected):
    return found * np.sign(np.sum(found * expected, axis=0))


@pytest.mark.parametrize("options", MLSI_SOLVERS, ids=lambda o: o["solver"])
def test_mlsi_places_rows_by_the_stack(data, options):
    X, Y = data
    # A label on most rows would not be centred.
    Y = np.where(Y.mean(axis=0) > 0.5, 1.0 - Y, Y)
    model = MLSI(5, alpha=3.0, beta=0.6, label_weight=None, **options).fit(X, Y)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    placed, trained = stack_places(Xc, Yc, alpha=3.0, beta=0.6, count=5)
    np.testing.assert_allclose(signed(model.transform(X), trained), trained, atol=1e-6)
    found = model.transform(X, labels=Y)
    np.testing.assert_allclose(signed(found, placed), placed, atol=1e-6)


def test_all_components_of_opls_place_by_fitted_and_known_labels(data):
    X, Y = data
    model = OPLS(alpha=2.0).fit(X, Y)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    fitted = Xc @ np.linalg.solve(Xc.T @ Xc + 2.0 * np.eye(D), Xc.T @ Yc)
    found = model.transform(X, labels=Y)
    both = fitted + Yc
    np.testing.assert_allclose(found @ found.T, both @ both.T, atol=1e-8)
    short = OPLS(alpha=2.0, scale=None).fit(X, Y)
    lengths = np.sqrt(model.eigenvalues_)
    np.testing.assert_allclose(short.transform(X, labels=Y), found / lengths, atol=1e-8)


@pytest.mark.parametrize("scale", ["eigenvalue", None])
def test_cca_places_by_the_whitened_labels(data, scale):
    X, Y = data
    model = CCA(alpha=2.0, scale="eigenvalue").fit(X, Y)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    U, _, Vt = np.linalg.svd(Yc, full_matrices=False)
    H = U @ Vt
    both = Xc @ np.linalg.solve(Xc.T @ Xc + 2.0 * np.eye(D), Xc.T @ H) + H
    found = model.transform(X, labels=Y)
    np.testing.assert_allclose(found @ found.T, both @ both.T, atol=1e-8)
    other = CCA(alpha=2.0, scale=scale).fit(X, Y)
    lengths = 1.0 if scale else np.sqrt(other.eigenvalues_)
    np.testing.assert_allclose(other.transform(X, labels=Y), found / lengths, atol=1e-8)
    added = other.transform(X, labels=Y) - other.transform(X)
    sides = other.transform_labels(Y) / (1.0 if scale else other.correlations_)
    np.testing.assert_allclose(added, sides, atol=1e-10)


@pytest.mark.parametrize("model", [MLSI(3, alpha=1.0), OPLS(alpha=1.0), CCA(alpha=1.0)], ids=str)
def test_forms_of_labels(data, model):
    X, Y = data
    model.fit(X, Y)
    expected = model.transform(X, labels=Y)
    assert not np.allclose(expected, model.transform(X))
    np.testing.assert_allclose(model.transform(X, labels=sparse.csr_array(Y)), expected)
    # Rows and entries that are unknown add nothing.
    partly = Y.copy()
    partly[:20] = -1
    found = model.transform(X, labels=partly)
    np.testing.assert_allclose(found[:20], model.transform(X)[:20])
    np.testing.assert_allclose(found[20:], expected[20:])
    hidden = np.where(np.arange(K) == 1, -1, Y)
    added = (Y - model.label_means_)[:, [1]] @ model._label_moves()[[1]]
    np.testing.assert_allclose(model.transform(X, labels=hidden), expected - added, atol=1e-12)
    # Fractions are no labels of an indicator.
    with pytest.raises(InvalidLabels, match="0/1 indicator in fit, but has other numbers"):
        model.transform(X, labels=Y / 2)
    with pytest.raises(InvalidLabels, match="y must have 4 columns as in fit"):
        model.transform(X, labels=Y[:, :2])
    with pytest.raises(InvalidLabels, match="one row for each row of X"):
        model.transform(X, labels=Y[:5])


def test_many_labels_and_streams_have_the_same_directions(data, monkeypatch):
    X, Y = data
    model = MLSI(4, alpha=1.0, tol=1e-10, max_iter=40)
    expected = model.fit(X, Y).transform(X, labels=Y)
    streamed = MLSI(4, alpha=1.0).partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    np.testing.assert_allclose(streamed.transform(X, labels=Y), expected, atol=1e-8)
    monkeypatch.setattr(reading, "DENSE_ENTRIES", 0)
    monkeypatch.setattr("labelspan.estimators._streams.DENSE_ENTRIES", 0)
    model.fit(X, sparse.csr_array(Y))
    found = model.transform(X, labels=sparse.csr_array(Y))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    empty = model.transform(X, labels=sparse.csr_array(np.zeros_like(Y)))
    expected = model.transform(X) - model.label_means_ @ model.label_directions_
    np.testing.assert_allclose(empty, expected, atol=1e-12)
    whitened = CCA(alpha=1.0).fit(X, Y)
    sides = whitened.transform_labels(Y)
    np.testing.assert_allclose(whitened.transform_labels(sparse.csr_array(Y)), sides, atol=1e-12)
