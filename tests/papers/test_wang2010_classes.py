"""Classifiers for one class per row: closed forms, other libraries, and limits."""

import numpy as np
import pytest
from _support.graphs import known, laplacian, weights
from _support.support import angle, classes, features
from scipy import linalg
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from labelspan.errors import (
    LabelspanWarning,
)
from labelspan.graph import gaussian_graph
from labelspan.papers.wang2010.comparators import (
    MCGF,
    HarmonicFunction,
    KMeansLaplacian,
    LocalGlobalConsistency,
    SpectralGraphTransducer,
)


def problem(seed, rows=30, count=3):
    y = classes(rows, seed, count)
    partly, labelled = known(y, 0.4, seed)
    return weights(rows, seed), partly, labelled, np.eye(count)[y] * labelled[:, None]


X0 = np.zeros((30, 1))


# --- local and global consistency -----------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("seed", [0, 1])
def test_consistency_is_its_closed_form(alpha, seed):
    W, y, labelled, Y = problem(seed)
    S = np.eye(30) - laplacian(W, normalized=True)
    expected = (1 - alpha) * np.linalg.solve(np.eye(30) - alpha * S, Y)
    found = LocalGlobalConsistency(alpha=alpha, tol=1e-12).fit(X0, y, graph=W)
    np.testing.assert_allclose(found.scores_, expected, atol=1e-10)
    best = np.where(
        expected.any(axis=1), expected.argmax(axis=1), np.bincount(y[labelled]).argmax()
    )
    np.testing.assert_array_equal(found.transduction_, np.where(labelled, y, best))


def test_consistency_equals_label_spreading():
    X = features("tall", 0)
    y, labelled = known(classes(60, 0), 0.3, 0)
    W = gaussian_graph(X, 0.05)
    reference = LabelSpreading(kernel=lambda *_: W.toarray(), alpha=0.9, max_iter=5000, tol=1e-13)
    expected = reference.fit(X, y).label_distributions_
    model = LocalGlobalConsistency(alpha=0.9, affinity="rbf", gamma=0.05, tol=1e-12).fit(X, y)
    shares = model.scores_ / model.scores_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, expected, atol=1e-9)
    np.testing.assert_array_equal(
        model.transduction_[~labelled], reference.transduction_[~labelled]
    )


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_the_default_consistency_is_as_good_as_label_spreading(load):
    X, y = load(return_X_y=True)
    X = scale(X)
    ours, theirs = [], []
    for seed in range(3):
        labelled = np.random.default_rng(seed).random(y.size) < 0.1
        given = np.where(labelled, y, -1)
        reference = LabelSpreading(kernel="knn", n_neighbors=10).fit(X, given)
        found = LocalGlobalConsistency().fit_predict(X, given)
        theirs.append((reference.transduction_ == y)[~labelled].mean())
        ours.append((found == y)[~labelled].mean())
    assert np.mean(ours) > np.mean(theirs) - 0.01


# --- harmonic functions ---------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_harmonic_function_is_its_closed_form(seed):
    W, y, labelled, Y = problem(seed)
    L, free = laplacian(W), ~labelled
    expected = Y.copy()
    expected[free] = np.linalg.solve(L[np.ix_(free, free)], W[np.ix_(free, labelled)] @ Y[labelled])
    model = HarmonicFunction(tol=1e-12).fit(X0, y, graph=W)
    np.testing.assert_allclose(model.scores_, expected, atol=1e-10)
    np.testing.assert_array_equal(model.transduction_, expected.argmax(axis=1))
    # Each unlabelled row has the mean of its neighbours.
    means = (W @ model.scores_) / W.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.scores_[free], means[free], atol=1e-10)


def test_harmonic_function_equals_label_propagation():
    X = features("tall", 0)
    y, _ = known(classes(60, 0), 0.3, 0)
    W = gaussian_graph(X, 0.05)
    reference = LabelPropagation(kernel=lambda *_: W.toarray(), max_iter=20000, tol=1e-12).fit(X, y)
    model = HarmonicFunction(affinity="rbf", gamma=0.05, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.scores_, reference.label_distributions_, atol=1e-9)
    np.testing.assert_array_equal(model.transduction_, reference.transduction_)


def test_class_mass_is_as_printed_and_balances():
    # A chain with its one label of class 1 at the end: all the middle leans to class 0.
    W = np.diag(np.ones(29), 1) + np.diag(np.ones(29), -1)
    y = np.full(30, -1)
    y[[0, 20]], y[29] = 0, 1
    plain = HarmonicFunction(tol=1e-12).fit(X0, y, graph=W)
    even = HarmonicFunction(class_mass=True, tol=1e-12).fit(X0, y, graph=W)
    np.testing.assert_allclose(even.scores_, plain.scores_)
    free = y == -1
    F, q = plain.scores_, np.array([2 / 3, 1 / 3])
    weighed = q * F / F[free].sum(axis=0)
    np.testing.assert_array_equal(even.transduction_[free], weighed[free].argmax(axis=1))
    assert (even.transduction_ == 1).sum() > (plain.transduction_ == 1).sum()
    np.testing.assert_array_equal(plain.class_weight_, 1.0)


# --- K-means-Laplacian ----------------------------------------------------------------


@pytest.mark.parametrize(("shape", "rows"), [("tall", 60), ("wide", 18)])
def test_kmeans_laplacian_maximises_its_quotient(shape, rows):
    X, W = features(shape, 0), weights(rows, 0)
    L, Xc = laplacian(W), X - X.mean(axis=0)
    y, labelled = known(classes(rows, 0), 0.4, 0)
    model = KMeansLaplacian(tol=1e-12).fit(X, y, graph=W)
    Q = model.embedding_
    assert Q.shape == (rows, 3)
    np.testing.assert_allclose(Q.T @ L @ Q, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(Q.sum(axis=0), 0.0, atol=1e-9)
    # The generalised problem itself, in a basis of all vectors that sum to zero.
    basis = linalg.null_space(np.ones((1, rows)))
    values, vectors = linalg.eigh(basis.T @ Xc @ Xc.T @ basis, basis.T @ L @ basis)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-8)
    assert angle(Q, basis @ vectors[:, ::-1][:, :3]) < 1e-6
    quotient = np.trace(np.linalg.solve(Q.T @ L @ Q, Q.T @ Xc @ Xc.T @ Q))
    rng = np.random.default_rng(1)
    for _ in range(5):
        other = Q + 0.1 * np.abs(Q).max() * rng.standard_normal(Q.shape)
        assert (
            np.trace(np.linalg.solve(other.T @ L @ other, other.T @ Xc @ Xc.T @ other)) < quotient
        )
    nearest = KNeighborsClassifier(1).fit(Q[labelled], y[labelled]).predict(Q)
    np.testing.assert_array_equal(model.transduction_, np.where(labelled, y, nearest))


def test_kmeans_laplacian_on_a_complete_graph_is_principal_components():
    X = features("tall", 1)
    W = np.ones((60, 60)) - np.eye(60)
    model = KMeansLaplacian(n_components=4).fit(X, classes(60, 1), graph=W)
    left, lengths, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert angle(model.embedding_, left[:, :4]) < 1e-6
    # L is 60 times the centring.
    np.testing.assert_allclose(model.eigenvalues_, lengths[:4] ** 2 / 60, rtol=1e-8)


@pytest.mark.parametrize("kind", [KMeansLaplacian, MCGF])
def test_parts_are_joined_and_distinguished(kind):
    X, y = make_blobs([8, 8, 8], centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    partly = np.where(np.arange(24) % 3 == 0, y, -1)
    with pytest.warns(LabelspanWarning, match="the graph is not connected, so weak links"):
        model = kind(n_neighbors=4).fit(X, partly)
    np.testing.assert_array_equal(model.transduction_, y)
    # Links that rounding swallows do not count.
    with pytest.warns(LabelspanWarning, match="is not connected"):
        model = kind(n_neighbors=9).fit(X, partly)
    np.testing.assert_array_equal(model.transduction_, y)


# --- spectral graph transducer --------------------------------------------------------


@pytest.mark.parametrize("normalized", [False, True])
def test_transducer_solves_its_own_problem(normalized):
    W, y, labelled, Y = problem(0)
    model = SpectralGraphTransducer(c=20.0, n_eigenvectors=12, normalized=normalized)
    scores = model.fit(X0, y, graph=W).scores_
    L = laplacian(W, normalized)
    V = np.linalg.eigh(L)[1][:, 1:13]
    D = np.diag(np.arange(1.0, 13) ** 2)
    null = np.sqrt(W.sum(axis=1)) if normalized else np.ones(30)
    for column in range(3):
        p = Y[:, column].sum()
        q = labelled.sum() - p
        g = np.where(Y[:, column] == 1, np.sqrt(q / p), -np.sqrt(p / q)) * labelled
        C = np.where(Y[:, column] == 1, (p + q) / (2 * p), (p + q) / (2 * q)) * labelled
        z = scores[:, column] + (np.sqrt(q / p) - np.sqrt(p / q)) / 2
        np.testing.assert_allclose(null @ z, 0.0, atol=1e-9)
        np.testing.assert_allclose(z @ z, 30.0)
        w = V.T @ z
        np.testing.assert_allclose(V @ w, z, atol=1e-9)
        G, b = D + 20 * V.T @ (C[:, None] * V), 20 * V.T @ (C * g)
        shift = (w @ (G @ w - b)) / 30.0
        np.testing.assert_allclose(G @ w - shift * w, b, atol=1e-8)
        assert shift < np.linalg.eigvalsh(G)[0]


def test_transducer_limits():
    W, y, _, _ = problem(1, count=2)
    references = SpectralGraphTransducer().fit(X0, y, graph=W).scores_
    np.testing.assert_allclose(references[:, 0], -references[:, 1], atol=1e-9)
    faint = SpectralGraphTransducer(c=1e-9, normalized=False).fit(X0, y, graph=W)
    first = np.linalg.eigh(laplacian(W))[1][:, 1]
    z = faint.scores_[:, 0] - faint.scores_[:, 0].mean()
    assert abs(z @ first) > (1 - 1e-6) * np.sqrt(30)
