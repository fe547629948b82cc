"""Multi-label classifiers: closed forms, limits, certificates, and thresholds."""

import numpy as np
import pytest
from _support.graphs import known, laplacian, weights
from _support.support import SHAPES, classes, features, indicator
from scipy import linalg
from sklearn.linear_model import Ridge

from labelspan.graph.label_graph import label_correlation
from labelspan.papers.wang2010.comparators import (
    MCGF,
    MLGF,
    MLLS,
    SMSE,
    HarmonicFunction,
    LocalGlobalConsistency,
    SpectralGraphTransducer,
)

X0 = np.zeros((40, 1))
SEEDS = [0, 1]


def problem(seed, rows=40, count=4):
    full = indicator(rows, seed, count)
    Y, labelled = known(full, 0.4, seed)
    return weights(rows, seed), Y, labelled, full * labelled[:, None]


def coupling(Y, labelled, normalized=False):
    C = label_correlation(Y[labelled])
    np.fill_diagonal(C, 0.0)
    return laplacian(C, normalized)


# --- MLGF -----------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.1, 3.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_mlgf_is_stationary_and_holds_the_labels(seed, mu):
    W, Y, labelled, zeroed = problem(seed)
    F = MLGF(mu=mu, tol=1e-12).fit(X0, Y, graph=W).scores_
    np.testing.assert_array_equal(F[labelled], zeroed[labelled])
    L, H, free = laplacian(W), coupling(Y, labelled), ~labelled
    scaled = mu * W.sum() / 40 / (np.trace(H) / 4)
    slope = L @ F + scaled * F @ H
    np.testing.assert_allclose(slope[free], 0.0, atol=1e-9)
    # The same as one system for all entries.
    system = np.kron(L[np.ix_(free, free)], np.eye(4)) + np.kron(np.eye(free.sum()), scaled * H)
    right = W[np.ix_(free, labelled)] @ zeroed[labelled]
    np.testing.assert_allclose(F[free].ravel(), np.linalg.solve(system, right.ravel()), atol=1e-9)


def test_mlgf_limits():
    W, Y, labelled, _ = problem(0)
    plain = HarmonicFunction(tol=1e-12).fit(X0, Y, graph=W).scores_
    np.testing.assert_allclose(MLGF(mu=0.0, tol=1e-12).fit(X0, Y, graph=W).scores_, plain)
    near = MLGF(mu=1e-7, tol=1e-12).fit(X0, Y, graph=W).scores_
    np.testing.assert_allclose(near, plain, atol=1e-6)
    # All labels of a row agree where nothing but their smoothness counts.
    far = MLGF(mu=1e7, tol=1e-13).fit(X0, Y, graph=W).scores_[~labelled]
    assert np.ptp(far, axis=1).max() < 1e-5
    y, _ = known(classes(40, 0), 0.4, 0)
    one_each = MLGF(mu=5.0, tol=1e-12).fit(X0, y, graph=W).scores_
    single = HarmonicFunction(tol=1e-12).fit(X0, y, graph=W).scores_
    np.testing.assert_allclose(one_each, single, atol=1e-10)


def test_mlgf_has_no_units():
    W, Y, _, _ = problem(1)
    one = MLGF(tol=1e-12).fit(X0, Y, graph=W).scores_
    np.testing.assert_allclose(MLGF(tol=1e-12).fit(X0, Y, graph=1e4 * W).scores_, one, atol=1e-9)


# --- SMSE -----------------------------------------------------------------------------


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_smse_solves_the_sylvester_equation(seed, normalized):
    W, Y, labelled, zeroed = problem(seed)
    mu, nu, J = 0.7, 0.3, np.diag(labelled.astype(float))
    L, H = laplacian(W, normalized), coupling(Y, labelled, normalized)
    expected = linalg.solve_sylvester(J + mu * L, nu * H, J @ zeroed)
    found = SMSE(mu=mu, nu=nu, normalized=normalized, tol=1e-12).fit(X0, Y, graph=W)
    np.testing.assert_allclose(found.scores_, expected, atol=1e-9)


def test_smse_limits():
    W, Y, labelled, zeroed = problem(0)
    apart = SMSE(nu=0.0, tol=1e-12).fit(X0, Y, graph=W).scores_
    single = SMSE(nu=0.0, tol=1e-12).fit(X0, Y[:, [2, 0]], graph=W).scores_
    np.testing.assert_allclose(apart[:, [2, 0]], single, atol=1e-9)
    together = SMSE(nu=0.5, tol=1e-12).fit(X0, Y, graph=W).scores_
    pair = SMSE(nu=0.5, tol=1e-12).fit(X0, Y[:, [2, 0]], graph=W).scores_
    assert np.abs(together[:, [2, 0]] - pair).max() > 1e-3
    # A falling mu keeps the labels, and smooths the rest all the same.
    loose = SMSE(mu=1e-7, nu=0.0, tol=1e-13).fit(X0, Y, graph=W).scores_
    np.testing.assert_allclose(loose[labelled], zeroed[labelled], atol=1e-5)
    harmonic = HarmonicFunction(tol=1e-12).fit(X0, Y, graph=W).scores_
    np.testing.assert_allclose(loose, harmonic, atol=1e-5)
    none = SMSE(mu=0.0, nu=0.0).fit(X0, Y, graph=W).scores_
    np.testing.assert_allclose(none, zeroed, atol=1e-12)


# --- MCGF -----------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_mcgf_is_its_closed_form(seed, mu):
    W, Y, labelled, zeroed = problem(seed)
    centred = np.where(labelled[:, None], zeroed - zeroed[labelled].mean(axis=0), 0.0)
    C = label_correlation(zeroed[labelled])
    expected = np.linalg.pinv(laplacian(W)) @ centred @ (np.eye(4) + mu * C)
    found = MCGF(mu=mu, tol=1e-12).fit(X0, Y, graph=W).scores_
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-9)


# --- MLLS -----------------------------------------------------------------------------


def objective(X, Y, U, theta, *, alpha, beta):
    """With the best V for this U and Theta."""
    outside = U - theta.T @ (theta @ U)
    fit = np.square(X @ U - Y).sum() / len(X)
    return fit + alpha * np.square(outside).sum() + beta * np.square(U).sum()


def best_slopes(X, Y, theta, alpha, beta):
    rows, columns = X.shape
    metric = X.T @ X / rows + (alpha + beta) * np.eye(columns) - alpha * theta.T @ theta
    return np.linalg.solve(metric, X.T @ Y / rows)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.5, 20.0])
def test_mlls_is_at_its_minimum(shape, alpha):
    X = features(shape, 0)
    Y = indicator(len(X), 0)
    model = MLLS(n_components=2, alpha=alpha, beta=0.2).fit(X, Y)
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    U, theta = model.coef_.T, model.components_
    np.testing.assert_allclose(theta @ theta.T, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(U, best_slopes(Xc, Yc, theta, alpha, 0.2), atol=1e-8)
    slope = Xc.T @ (Xc @ U - Yc) / len(X) + alpha * (U - theta.T @ (theta @ U)) + 0.2 * U
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)
    least = objective(Xc, Yc, U, theta, alpha=alpha, beta=0.2)
    rng = np.random.default_rng(0)
    for step in (0.01, 0.1, 100.0):
        for _ in range(10):
            moved = theta + step * rng.standard_normal(theta.shape)
            other = np.linalg.qr(moved.T)[0].T
            slopes = best_slopes(Xc, Yc, other, alpha, 0.2)
            assert objective(Xc, Yc, slopes, other, alpha=alpha, beta=0.2) > least
    np.testing.assert_allclose(model.label_scores(X), Xc @ U + Y.mean(axis=0), atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_mlls_is_ridge_regression_at_both_ends(shape):
    X = features(shape, 1)
    Y = indicator(len(X), 1)
    reference = Ridge(alpha=0.3 * len(X)).fit(X, Y)
    none = MLLS(alpha=0.0, beta=0.3).fit(X, Y)
    np.testing.assert_allclose(none.coef_, reference.coef_, atol=1e-8)
    np.testing.assert_allclose(none.intercept_, reference.intercept_, atol=1e-8)
    # A subspace for all labels costs nothing, however much the rest is penalised.
    whole = MLLS(n_components=4, alpha=50.0, beta=0.3).fit(X, Y)
    np.testing.assert_allclose(whole.coef_, reference.coef_, atol=1e-7)
    part = MLLS(n_components=1, alpha=50.0, beta=0.3).fit(X, Y)
    assert np.abs(part.coef_ - reference.coef_).max() > 1e-3


# --- labels from scores ---------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [MLGF, SMSE, MCGF, HarmonicFunction, LocalGlobalConsistency, SpectralGraphTransducer]
)
def test_each_label_goes_to_its_share_of_the_unlabelled_rows(kind):
    W, Y, labelled, zeroed = problem(0)
    model = kind().fit(X0, Y, graph=W)
    found = model.transduction_
    np.testing.assert_array_equal(found[labelled], zeroed[labelled])
    free = ~labelled
    shares = zeroed[labelled].mean(axis=0)
    np.testing.assert_allclose(found[free].mean(axis=0), shares, atol=1.0 / free.sum())
    for label in range(4):
        taken = found[free, label] == 1
        scores = model.scores_[free, label]
        assert scores[taken].min() > scores[~taken].max()
    np.testing.assert_array_equal(found[free], model.scores_[free] > model.thresholds_)
    np.testing.assert_array_equal(kind().fit_predict(X0, Y, graph=W), found)
