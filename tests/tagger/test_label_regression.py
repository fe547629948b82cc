"""Ridge regression of labels: its equations, and the scores of left-out rows."""

import numpy as np
import pytest
from scipy import sparse

from labelspan.tagger.label_regression import LabelRegression, WeightPruner
from labelspan.tagger.learning import _penalty


def texts(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.1, "csr", np.float32, rng)
    weights = rng.standard_normal((d, k))
    Y = sparse.csr_matrix((X @ weights > 0.4).astype(np.float32))
    return X, Y


def constant(X):
    return np.hstack([X.toarray().astype(np.float64), np.ones((X.shape[0], 1))])


def solved(ridge, Y):
    parts = list(ridge.blocks(Y))
    return np.hstack([part[1] for part in parts]), np.hstack([part[2] for part in parts])


@pytest.mark.parametrize(("n", "d"), [(60, 100), (150, 40)])
@pytest.mark.parametrize("dense", [False, True])
def test_the_weights_solve_the_equations_of_ridge_regression(n, d, dense):
    X, Y = texts(n, d, 5)
    wide = constant(X)
    W, _ = solved(LabelRegression(X.toarray() if dense else X, 0.7), Y)
    rest = wide.T @ (wide @ W - Y.toarray()) + 0.7 * W
    assert np.abs(rest).max() < 1e-5 * np.abs(wide.T @ Y.toarray()).max()


@pytest.mark.parametrize(("n", "d"), [(60, 100), (150, 40)])
def test_scores_of_left_out_rows_are_those_of_models_without_them(n, d):
    X, Y = texts(n, d, 4, seed=1)
    _, unseen = solved(LabelRegression(X, 0.5), Y)
    wide, wanted = constant(X), Y.toarray()
    for row in range(0, n, 17):
        others = np.arange(n) != row
        gram = wide[others].T @ wide[others] + 0.5 * np.eye(wide.shape[1])
        weights = np.linalg.solve(gram, wide[others].T @ wanted[others])
        np.testing.assert_allclose(unseen[row], wide[row] @ weights, atol=1e-4)


@pytest.mark.parametrize(("n", "d"), [(300, 200), (150, 400)])
def test_iterations_agree_with_the_factorisation(n, d, monkeypatch):
    monkeypatch.setattr("labelspan.tagger.label_regression._TOLERANCE", 1e-4)
    X, Y = texts(n, d, 6, seed=2)
    exact, unseen = solved(LabelRegression(X, 1.0), Y)
    found, estimated = solved(LabelRegression(X, 1.0, direct=10), Y)
    assert np.linalg.norm(found - exact) < 1e-3 * np.linalg.norm(exact)
    # The diagonal of the inverse is estimated.
    assert np.corrcoef(estimated.ravel(), unseen.ravel())[0, 1] > 0.99
    diagonals = [LabelRegression(X, 1.0, direct=side).diagonal for side in (10, 500)]
    assert np.abs(diagonals[0] / diagonals[1] - 1).mean() < 0.1


def test_threads_change_no_bit_of_weights_and_scores(monkeypatch):
    X, Y = texts(300, 200, 6, seed=2)
    one = solved(LabelRegression(X, 1.0, direct=10), Y)
    monkeypatch.setattr("labelspan.operators.sparse._WORTH_A_THREAD", 1)
    for module in ("sparse", "machine"):
        monkeypatch.setattr(f"labelspan.operators.{module}.n_threads", lambda: 3)
    for found, wanted in zip(solved(LabelRegression(X, 1.0, direct=10), Y), one, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_noise_has_a_larger_penalty_than_signal():
    X, Y = texts(200, 50, 3, seed=4)
    noise = sparse.csr_matrix(np.random.default_rng(0).permutation(Y.toarray()))
    assert _penalty(X, noise) > 2 * _penalty(X, Y)


@pytest.mark.parametrize("dense", [False, True])
def test_pruning_keeps_what_matters_most_and_the_mean_score(dense, monkeypatch):
    X, _ = texts(40, 30, 3, seed=5)
    rows = X.toarray() * np.linspace(0.1, 2, 30, dtype=np.float32)
    features = rows if dense else sparse.csr_matrix(rows)
    weights = np.random.default_rng(0).standard_normal((31, 4)).astype(np.float32)
    whole, same = WeightPruner(features, 4)(weights)
    np.testing.assert_allclose(whole.toarray().T, weights[:-1], rtol=1e-6)
    np.testing.assert_array_equal(same, weights[-1])
    monkeypatch.setattr("labelspan.tagger.label_regression._WHOLE", 20)
    monkeypatch.setattr("labelspan.tagger.label_regression._FEWEST_KEPT", 1)
    kept, intercept = WeightPruner(features, 4)(weights)
    matter = np.abs(weights[:-1]) * np.sqrt((rows**2).mean(axis=0))[:, None]
    for column in range(4):
        largest = np.sort(np.argsort(-matter[:, column])[:5])
        own = kept.toarray()[column]
        assert np.flatnonzero(own).tolist() == largest.tolist()
        np.testing.assert_allclose(own[largest], weights[largest, column], rtol=1e-6)
    before = rows @ weights[:-1] + weights[-1]
    after = rows @ kept.toarray().T + intercept
    np.testing.assert_allclose(after.mean(axis=0), before.mean(axis=0), atol=1e-5)
